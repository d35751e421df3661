kernel k(x: f32[M,K]) -> y: f32[M,K] {
  a = softmax[K](x)
  b = layernorm[K](x, eps: 1e-5)
  c = idx(M)
  y = a
}
