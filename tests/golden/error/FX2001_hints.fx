const eps = 1e-5
fn scaled(v) = 2 * v
kernel k(x: f32[M,N], weight: f32[N]) -> y: f32[M,N] {
  a = gleu(x)
  b = sigmod(x) + scale(x) + smu[N](x)
  c = transpose(x)
  d = topk(x)
  e = one_hot(x)
  f = scatter(x) + float32(x) + complex64(x)
  g = x * wieght + epsilon + X
  h = x * pi + None
  i = mean(x, dim: 1)
  j = sum[N](x, keepdim: 1)
  l = softmax(x, 1) + relu[N](x)
  m = sum[n](x) + size(x) + sum[Q](x)
  y = nowhere(x) * nothing
}
