kernel k(x: f32[M], z: f32[N]) -> (y: f32[M,N], u: f32[M,N]) {
  y = x
  u = z + q
}
