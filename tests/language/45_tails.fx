# 45 functions where they are nearly 0: no digits are lost
kernel tails(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N]) {
  a = softplus(x)
  b = sigmoid(x)
  c = silu(x)
  d = gelu(x * 0.25)
  e = mish(x)
}
kernel near_zero(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N]) {
  a = elu(x)
  b = selu(x)
  c = tanh(x)
  d = mish(x)
}
