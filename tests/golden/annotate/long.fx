# Long expressions are shortened, deep ones indented up to a limit.
kernel long_sum(x: f32[M], a: f32[M], b: f32[M,K]) -> y: f32[M,K] {
  y = sqrt(x * a) + a + b + x + a + sqrt(x * a) + x + a + b + x + sqrt(x * a) + b + x + a + b + sqrt(x * a) + a + b + x + a + sqrt(x * a) + x + a + b + x + sqrt(x * a) + b + x + a + b + sqrt(x * a) + a + b + x + a + sqrt(x * a) + x + a
}
