# args: -D M=2048 -D N=2048 -D K=2048 -D R=16
# on wgmma: epilogues that reduce, that share among runs, that read what is the same for a row, and sums that an addition alone reads, of one accumulator
kernel rows(x: bf16[M,K], w: bf16[K,N]) -> (y: bf16[M,N], s: f32[M]) { z = x @ w
  y = z
  s = sum[N](z * z) }
kernel groups(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { h = x @[K] w
  y = layernorm[C](h{N->(G,C=16)}){(G,C)->N} }
kernel scaled(x: bf16[M,K], w: bf16[N,K], r: f32[M]) -> y: bf16[M,N] { y = (x @[K] w) * rsqrt(r) }
kernel added(x: bf16[M,K], w: bf16[N,K], b: f32[N], u: bf16[M,R], v: bf16[N,R]) -> y: bf16[M,N] { y = relu(u @[R] v + b + x @[K] w) }
kernel gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K], a: bf16[M,R], c: bf16[N,R]) -> y: bf16[M,N] { y = silu(x @[K] w + a @[R] c) * (x @[K] v) }
kernel odd(x: bf16[H=4095,I=4093], w: bf16[I,J=4097]) -> y: bf16[H,J] { y = x @ w }
