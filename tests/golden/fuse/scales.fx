# args: -D M=4096 -D N=4096 -D K=4096
# Sums of blocks of products of f8 that are scaled and added up: one contraction of scaled factors, whatever the scales are of; of blocks shorter than a mainloop's one of f32. Not where a block is longer than a mainloop's and no multiple of it, k is not contiguous, a sum of a block is read besides, a scale has labels of both sides, or `precision: ieee` stands.
kernel both(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/128,G]) -> y: bf16[M,N] { y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s * t[J: N/128]) }
kernel rows(x: f8e4m3[M,K], s: f32[M,G=K/256], w: f8e5m2[N,K]) -> y: bf16[M,N] { y = sum[G](s * (x{K->(G,R=256)} @[R] w{K->(G,R=256)})) }
kernel gate(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], v: f8e4m3[N,K], t: f32[N,G]) -> y: bf16[M,N] {
  p = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s * t)
  q = sum[G]((x{K->(G,R=128)} @[R] v{K->(G,R=128)}) * s)
  y = silu(p) * q
}
kernel short(x: f8e4m3[M,K], s: f32[M,G=K/64], w: f8e4m3[N,K]) -> y: bf16[M,N] { y = sum[G]((x{K->(G,R=64)} @[R] w{K->(G,R=64)}) * s) }
kernel longer(x: f8e4m3[M,G,R=192], s: f32[M,G], w: f8e4m3[N,G,R]) -> y: bf16[M,N] { y = sum[G]((x @[R] w) * s) }
kernel turned(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[K,N]) -> y: bf16[M,N] { y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s) }
kernel read(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K]) -> (y: bf16[M,N], z: f32[M,N,G]) {
  z = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = sum[G](z * s)
}
kernel of_both(x: f8e4m3[M,K], s: f32[M,N,G=K/128], w: f8e4m3[N,K]) -> y: bf16[M,N] { y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s) }
kernel exactly(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K]) -> y: bf16[M,N] with { precision: ieee } { y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s) }
