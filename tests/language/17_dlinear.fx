# 17 reductions in the epilogue, several outputs
kernel dlinear(g: f16[M,N], pre: f16[M,N], w: f16[K,N]) -> (dx: f16[M,K], db: f32[N], amax: f32) {
  dz = g * dgelu(pre)
  dx = dz @ w
  db = sum[M](dz)
  amax = max[M,N](abs(dz))
}
