fn g(v) -> r { v[T: 0] = 1; r = v }
kernel output(k: f32[S,D]) -> c: f32[T,D] { c[T: S] = k }
kernel input(c: f32[T,D], k: f32[S,D]) -> y: f32[D] { c[T: S] = k; y = 1 }
kernel name(k: f32[S,D]) -> y: f32[S,D] { c = k; c[S: 0] = 1; y = c }
kernel one(c: inout f32[], k: f32[D]) { c[D: 0] = k }
kernel label(c: inout f32[T,D], k: f32[T,D], pos: i32) { c[T: pos + S] = k{T->S} + k }
kernel position(c: inout f32[T,D], k: f32[D], pos: i32[T]) { c[T: pos] = k }
kernel within(c: f32[T]) -> y: f32[T] { y = g(c) }
kernel both(c: inout f32[B,T,D], p: inout i32[B], k: f32[B,D]) { c[T: p] = k; p[B: 0] = 1 }
kernel all(c: inout f32[B,T], k: f32[B,T]) { c[B, T] = k }
