# args: --with=fuse.split,fuse.halves
# x once with powers of two along K, once along M; v, which is computed, as three bf16, and so what it meets.
kernel halves(x: f32[M=64,K=72], w: f32[K,N=40], v: f32[M,N]) -> (y: f32[M,N], z: f32[K,N], u: f32[K,N]) {
  y = x @ w
  z = x @[M] v
  u = x @[M] exp(v)
}
