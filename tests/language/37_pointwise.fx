# 37 every pointwise function
kernel activations(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N], g: f32[N], h: f32[N]) {
  a = relu(x)
  b = relu6(x)
  c = leaky_relu(x)
  d = gelu(x)
  e = gelu_tanh(x)
  f = silu(x)
  g = sigmoid(x)
  h = tanh(x)
}
kernel more(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N], g: f32[N]) {
  a = elu(x)
  b = selu(x)
  c = softplus(x)
  d = mish(x)
  e = hardswish(x)
  f = hardtanh(x)
  g = dgelu(x)
}
kernel given(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N]) {
  a = leaky_relu(x, 0.25)
  b = elu(x, 0.5)
  c = clamp(x, -0.5, 1.5)
}
kernel elementary(x: f32[N], y: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N], g: f32[N], h: f32[N], i: f32[N]) {
  a = exp(x)
  b = exp2(x)
  c = log(y)
  d = log2(y)
  e = sqrt(y)
  f = rsqrt(y)
  g = erf(x)
  h = sin(x)
  i = cos(x)
}
kernel stepped(x: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N]) {
  a = abs(x)
  b = sign(x)
  c = floor(x)
  d = ceil(x)
  e = round(x)
}
kernel several(x: f32[N], y: f32[N], z: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N]) {
  a = min(x, z)
  b = max(x, z)
  c = pow(y, x)
  d = fma(x, y, z)
  e = y ** 2
  f = where(x < z, x, y)
}
kernel near_zero(x: f32[N]) -> (a: f32[N], b: f32[N]) {
  a = log1p(x)
  b = expm1(x)
}
kernel softplus_far(x: f32[N]) -> y: f32[N] { y = softplus(x) }
