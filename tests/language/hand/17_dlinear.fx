# 17 the derivative of gelu by erf and exp, the magnitude by two operands, outputs in another order
kernel dlinear(g: f16[I,J], pre: f16[I,J], w: f16[C,J]) -> (dx: f16[I,C], db: f32[J], amax: f32) {
  d = 0.5 * (1 + erf(0.7071067811865476 * pre)) + pre * 0.3989422804014327 * exp(pre * pre * -0.5)
  dz = d * g
  amax = max[J,I](max(dz, -dz))
  db = sum[I](dz)
  dx = sum[J](w * dz)
}
