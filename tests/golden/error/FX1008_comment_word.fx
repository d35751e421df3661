kernel k(x: f32[M]) -> y: f32[M] {
  a = x // twice
  y = a
}
