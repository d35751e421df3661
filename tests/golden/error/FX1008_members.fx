kernel k(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {
  a = x @ x.T
  b = (x + 1).transpose(0, 1)
  c = x.mean(dim=1, keepdim=true)
  d = x.reshape(1, 2) + x.astype(f16) + x.shape[0]
  e = torch.relu(x)
  g = np.sum(x, axis=1)
  h = sum(x, axis=1)
  i = softmax[K](x, dim=1)
  j = x.exp()
  y = x.grad
}
