# 7 residual + dropout, the mask a second output; bits depend on (seed, off, element), never on tiling
kernel res_drop(x: f16[M,K], w: f16[K,N], b: f16[N], r: f16[M,N], p: f32, seed: u64, off: u64)
    -> (y: f16[M,N], keep: bool[M,N]) {
  keep = rand[M,N](seed, off) >= p
  y = r + where(keep, (x @ w + b) / (1 - p), 0)
}
