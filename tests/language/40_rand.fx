# 40 random numbers are counted by the listed labels, not by storage
kernel listed(x: f32[M,N], seed: u64, off: u64) -> (a: f32[M,N], b: f32[M,N], c: f32[N]) {
  a = rand[M,N](seed, off) + 0 * x
  b = rand[N,M](seed, off)
  c = rand[N](seed, off + 1)
}
kernel noisy(x: f32[M,N], seed: u64) -> y: f32[M,N] { y = x + (rand[M,N](seed, 7) - 0.5) }
kernel beside(x: f32[M,N], seed: u64, off: u64) -> y: f32[N] { y = sum[M](where(rand[M,N](seed, off) < 0.5, x, 0)) }
