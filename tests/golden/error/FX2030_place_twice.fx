kernel data(c: inout f32[T,D], k: f32[B,D], pos: i32[B]) { c[T: pos] = k }
kernel left(c: inout f32[B,T,D], k: f32[B,S,D], pos: i32[B]) { c[T: pos] = k * 2 }
kernel two(c: inout f32[T,D], k: f32[S,U,D], pos: i32) { c[T: pos + S + U] = k }
kernel floored(c: inout f32[T,D], k: f32[S,D]) { c[T: S // 2] = k }
kernel wrapped(c: inout f32[T,D], k: f32[S,D]) { c[T: S % 4] = k }
kernel nothing(c: inout f32[T,D], k: f32[S,D], pos: i32) { c[T: pos + S - S] = k }
kernel pairs(c: inout f32[P,T], k: f32[B], p: i32[B], t: i32[B]) { c[p, t] = k }
kernel right(c: inout f32[B,P,T], k: f32[B,S], p: i32[B,S]) { c[P: p, T: 2 * S + 1] = k }
