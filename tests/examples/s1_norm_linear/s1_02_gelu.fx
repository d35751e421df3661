# By tanh, and by erf of half the square.
kernel fast_gelu(x: f32[A,B]) -> y: f32[A,B] with { fuse: require } {
  y = (tanh(0.7978845608028654 * (0.044715 * x * x * x + x)) + 1) * x * 0.5
}
kernel exact_gelu(x: f32[A,B]) -> y: f32[A,B] with { fuse: require } { y = 0.5 * (erf(x / sqrt(2)) + 1) * x }
kernel gelu_difference(x: f32[A,B]) -> d: f32[A,B] with { fuse: require } {
  t = tanh(0.7978845608028654 * (0.044715 * x * x * x + x))
  d = (erf(0.7071067811865476 * x) - t) * x * 0.5
}
