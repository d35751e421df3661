# Softmax over the columns of gelu of a linear layer: the row program does gelu and softmax in one reading. Written out.
kernel gelu_softmax(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { kernels: 2, precision: ieee } {
  h = gelu(w @[L] x + b)
  m = max[J](h)
  z = abs(m) < inf ? m : 0
  e = exp(h - z)
  s = sum[J](e)
  y = e / (s == 0 ? 1 : s)
}
kernel gelu_softmax_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { kernels: 2, precision: tf32 } {
  h = gelu(w @[L] x + b)
  m = max[J](h)
  z = abs(m) < inf ? m : 0
  e = exp(h - z)
  s = sum[J](e)
  y = e / (s == 0 ? 1 : s)
}
