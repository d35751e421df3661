# 1 gelu by erf, the sum over a product written out, operands commuted
kernel linear_gelu(x: f16[I,C], w: f16[C,J], b: f16[J]) -> y: f16[I,J] {
  h = b + sum[C](w * x)
  y = 0.5 * (1 + erf(0.7071067811865476 * h)) * h
}
