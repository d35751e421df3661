kernel k(x: f32[M]) -> y: f32[M] {
  a = !x
  b = where(x, x, x)
  c = x && x > 0
  y = x
}
kernel l(x: f32[M]) -> y: f32 { y = x }
