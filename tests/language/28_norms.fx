# 28 norms, softmax and logsumexp over one axis and several, infinities among them
kernel norms(x: f32[M,K], g: f32[K], b: f32[K]) -> (r: f32[M,K], l: f32[M,K], a: f32[M,K], c: f32[M,K]) {
  r = rmsnorm[K](x, eps: 1e-6) * g
  l = layernorm[K](x, eps: 1e-3) * g + b
  a = layernorm[M,K](x, eps: 0.5)
  c = layernorm[M](x, eps: 1e-5)
}
kernel shares(x: f32[M,K]) -> (s: f32[M,K], c: f32[M,K], a: f32[M,K], l: f32[M], t: f32[]) {
  s = softmax[K](x)
  c = softmax[M](x)
  a = softmax[M,K](x)
  l = logsumexp[K](x)
  t = logsumexp[M,K](x)
}
kernel by_hand(x: f32[M,K]) -> (s: f32[M,K], l: f32[M], n: f32[M,K]) {
  m = max[K](x)
  e = exp(x - m)
  z = sum[K](e)
  s = e / z
  l = log(z) + m
  d = x - mean[K](x)
  n = d / sqrt(mean[K](d * d) + 1e-5)
}
kernel attend(q: f32[S,D], k: f32[T,D], v: f32[T,E]) -> o: f32[S,E] { o = softmax[T](q @ k) @ v }
