# args: --arch=sm_80
# Extents that are known beside one that is not: what is constant, what is asked of alignments, shared memory that is set once.
kernel matmul(x: f16[M,K=512], w: f16[K,N=1024], b: f32[N], s: f32 = 0.5) -> y: f16[M,N] {
  require s > 0 && s <= 2
  y = s * (x @ w) + b
}
