# 31 fns with labels, defaults, bodies and several results; constants; a name bound again
const half = 0.5
const three = 2 * half + 2
fn scaled(v, by = 2, plus = 0.25) = v * by + plus
fn centred[K](v) -> d, m {
  m = mean[K](v)
  d = v - m
}
fn norm2[K](v, eps = 1e-3) = sqrt(sum[K](v * v) + eps)
fn folded[K](v) -> r {
  p = v{K->(J=2,I)}
  r = sum[I](p[J: 0] * p[J: 1])
}
fn twice(v) = scaled(scaled(v, plus: half), three)
kernel defaults(x: f32[M]) -> (a: f32[M], b: f32[M], c: f32[M], d: f32[M]) {
  a = scaled(x)
  b = scaled(x, 3)
  c = scaled(x, plus: -1)
  d = twice(x)
}
kernel bodies(x: f32[M,K]) -> (d: f32[M,K], m: f32[M], n: f32[M], e: f32[], f: f32[M]) {
  d, m = centred[K](x)
  n = norm2[K](x)
  e = norm2[M,K](x, eps: 0.0)
  f = folded[K](x)
}
kernel fresh(x: f32[I,J]) -> y: f32[I] { y = folded[J](x) - folded[J](relu(x) * 2) }
kernel rebound(x: f32[M]) -> y: f32[M] {
  v = x + 1
  v = v * v
  v = v - x
  y = v * three
}
kernel read_back(x: f32[M]) -> (h: f16[M], r: f32[M]) {
  h = x / 3
  r = h * 3 + x
}
