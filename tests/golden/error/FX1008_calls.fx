kernel k(x: f32[M,N], w: f32[N,K]) -> y: f32[M] {
  a = einsum("mn,nk->mk", x, w)
  b = stack([x, x], dim=0)
  c = cat((x, x), dim=1)
  d = std(x, dim=1)
  e = torch.topk(x, 3)
  f = x.scatter(0, x)
  g = sum[N](x, keepdim=True)
  h = gelu(x, approximate="tanh")
  i = sum[1](x)
  j = sum{N}(x)
  y = x
}
