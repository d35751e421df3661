kernel k(x: f32[M], c: f32[M], d: f32[M]) -> y: f32[M] {
  a = c & d
  b = c | d
  e = ~c
  f = c ^ d
  g = not c
  h = c or d
  i = x if c else d
  j = x > 0 and x < 1
  l = 0 <= x < 1
  m = x == c == d
  n = x[..., 0] + x[0:2]
  o = leaky_relu(x, slope=1e-5)
  y = x is d
}
