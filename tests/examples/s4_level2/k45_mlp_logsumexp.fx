# Logsumexp over the columns of a perceptron of two layers, sigmoid between them. Written out.
kernel mlp_logsumexp(x: f32[R,L], w: f32[U,L], b: f32[U], w2: f32[J,U], b2: f32[J]) -> y: f32[R] with { precision: ieee } {
  p = sigmoid(b + w @[L] x)
  q = b2 + sum[U](w2 * p)
  m = max[J](q)
  z = abs(m) < inf ? m : 0
  s = sum[J](exp(q - z))
  y = s == 0 ? -inf : z + log(s == 0 ? 1 : s)
}
kernel mlp_logsumexp_tf32(x: f32[R,L], w: f32[U,L], b: f32[U], w2: f32[J,U], b2: f32[J]) -> y: f32[R] with { precision: tf32 } {
  p = sigmoid(b + w @[L] x)
  q = b2 + sum[U](w2 * p)
  m = max[J](q)
  z = abs(m) < inf ? m : 0
  s = sum[J](exp(q - z))
  y = s == 0 ? -inf : z + log(s == 0 ? 1 : s)
}
