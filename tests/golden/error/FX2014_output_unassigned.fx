kernel k(x: f32[M]) -> (y: f32[M], z: f32[M]) {
  y = x
}
kernel l(x: f32[M]) { a = x }
