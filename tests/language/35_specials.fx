# 35 NaN and infinities: max, min, clamp and relu pass NaN on, a masked row has no shares
kernel pointwise(a: f32[N], b: f32[N]) -> (hi: f32[N], lo: f32[N], c: f32[N], r: f32[N], s: f32[N], q: bool[N]) {
  hi = max(a, b)
  lo = min(a, b)
  c = clamp(a, -1, 1)
  r = relu(a)
  s = relu6(a)
  q = isnan(a + b)
}
kernel reduced(x: f32[M,N]) -> (hi: f32[M], lo: f32[M], s: f32[M], p: f32[M], a: i64[M], b: i64[M], m: f32[M]) {
  hi = max[N](x)
  lo = min[N](x)
  s = sum[N](x)
  p = prod[N](x)
  a = argmax[N](x)
  b = argmin[N](x)
  m = mean[N](x)
}
kernel divided(a: f32[N], b: f32[N]) -> (d: f32[N], e: f32[N], g: f32[N], l: f32[N]) {
  d = a / b
  e = exp(a)
  g = sigmoid(a) - tanh(a)
  l = log(abs(b))
}
kernel masked(x: f32[M,N], keep: bool[M,N]) -> (s: f32[M,N], l: f32[M]) {
  v = where(keep, x, -inf)
  s = softmax[N](v)
  l = logsumexp[N](v)
}
