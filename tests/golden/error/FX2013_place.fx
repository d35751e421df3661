kernel twice(c: inout f32[T,D], k: f32[D], pos: i32) { c[T: pos] = k; c[T: pos + 1] = k }
kernel whole(c: inout f32[T,D], k: f32[D], pos: i32) { c = 2 * c; c[T: pos] = k }
kernel behind(c: inout f32[T,D], k: f32[D], pos: i32) { c[T: pos] = k; c = 2 * c }
kernel float(c: inout f32[T,D], k: f32[D], pos: f32) { c[T: pos] = k }
kernel axis(c: inout f32[T,D], k: f32[D], pos: i32) { c[S: pos] = k }
kernel few(c: inout f32[T,D], k: f32[D], pos: i32) { c[pos] = k }
kernel renamed(c: inout f32[T,D], k: f32[D]) { c[T->S] = k }
kernel again(c: inout f32[T,D], k: f32[D], pos: i32) { c[T: pos, T: 0] = k }
kernel narrow(c: inout i8[T,D], k: f32[D], pos: i32) { c[T: pos] = k }
