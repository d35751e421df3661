kernel k(x: f32[M], y: f64[M]) -> (z: f32[M], w: i32[M]) {
  z = x * y + y * x
  w = x
}
