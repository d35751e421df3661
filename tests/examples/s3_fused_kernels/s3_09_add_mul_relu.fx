# the product first
const baked = 0.5
kernel add_mul_relu_fixed(x: inout f32[I, J=8], bias: f32[J], in: f32[I,J]) with { fuse: require } {
  t = in * baked
  x = max(t + (bias + x), 0)
}

kernel add_mul_relu(x: inout f32[I,J], bias: f32[J], in: f32[I,J], mult: f32) with { fuse: require } {
  t = in * mult
  x = max(t + (bias + x), 0)
}
