fn f(v, lo = 0) = max(v, lo)
kernel k(x: f32[M]) -> y: f32[M] {
  a = f(x, 1, 2)
  b = f(lo: 1)
  c = f(x, hi: 1)
  d = exp(x, x)
  e = exp(v: x)
  g = sum[M](x, x)
  h, i = max[M](x)
  j, l = split[M](x)
  m = f(x, low: 1)
  n = recur[M](x, x, form: 1)
  y = x
}
