# Contractions of one A, whose tiles one launch computes beside each other: on sm_90a by tensor maps and by the skinny driver, elsewhere and unaligned as phases.
# By extents: fewer tiles than blocks and more, columns of unequal number, ragged ends, a few rows, no alignment, no elements.
kernel beside_qkv(x: bf16[M,K], wq: bf16[K,N], wk: bf16[K,P], wv: bf16[K,Q]) -> (q: bf16[M,N], k: bf16[M,P], v: bf16[M,Q]) with { fuse: require } {
  q = x @ wq
  k = x @ wk
  v = x @ wv
}
test beside_qkv { M=200 K=136 N=328 P=72 Q=200 init: integers(-2,2) }
test beside_qkv { M=520 K=200 N=264 P=136 Q=8 init: integers(-2,2) }
test beside_qkv { M=64 K=64 N=64 P=64 Q=64 }
test beside_qkv { M=5 K=264 N=200 P=40 Q=72 init: integers(-2,2) }
test beside_qkv { M=13 K=264 N=40 P=104 Q=8 init: integers(-2,2) }
test beside_qkv { M=70 K=100 N=65 P=30 Q=129 init: integers(-2,2) }
test beside_qkv { M=72 K=96 N=64 P=0 Q=32 init: integers(-2,2) }
# Each with an epilogue of its own, weights in either order, some written whole and some by the staged epilogue, with as many stages as fit all.
kernel beside_ends(x: f16[M,K], a: f16[N,K], b: f16[K,P], c: f16[Q,K], bias: f16[N], r: f16[M,P]) -> (p: f16[M,N], q: f32[M,P], s: f16[M,Q], t: f16[M,Q])
  with { fuse: require } {
  p = gelu(x @ a + bias)
  q = x @ b + r
  s = x @ c
  t = relu(s)
}
test beside_ends { M=136 K=136 N=264 P=72 Q=136 }
test beside_ends { M=260 K=72 N=136 P=200 Q=72 init: integers(-2,2) }
test beside_ends { M=3 K=136 N=64 P=72 Q=40 }
test beside_ends { M=66 K=100 N=65 P=30 Q=129 }
# Batches, A turned, joined by price.
kernel beside_batches(x: bf16[B,K,M], a: bf16[B,K,N], b: bf16[K,P]) -> (p: bf16[B,M,N], q: bf16[B,M,P]) {
  p = x @[K] a
  q = x @[K] b
}
test beside_batches { B=3 K=72 M=136 N=72 P=136 }
kernel beside_heads(x: bf16[B,S,D], a: bf16[D,H,E], b: bf16[D,G,E]) -> (p: bf16[B,H,S,E], q: bf16[B,G,S,E]) {
  p = x @[D] a
  q = x @[D] b
}
test beside_heads { B=2 S=72 D=136 H=3 G=2 E=64 init: integers(-2,2) }
# Two gates, two sums each; segments of unequal k.
kernel beside_gates(x: bf16[M,K], a: bf16[N,K], b: bf16[N,K], c: bf16[P,K], d: bf16[P,K]) -> (p: bf16[M,N], q: bf16[M,P]) with { fuse: require } {
  p = silu(x @ a) * (x @ b)
  q = (x @ c) * (x @ d)
}
test beside_gates { M=136 K=136 N=200 P=136 }
test beside_gates { M=72 K=64 N=72 P=200 init: integers(-2,2) }
kernel beside_lora(x: bf16[M,K], w: bf16[N,K], u: bf16[M,R], v: bf16[R,N], c: bf16[P,K], s: bf16[M,T], t: bf16[T,P]) -> (p: bf16[M,N], q: bf16[M,P])
  with { fuse: require } {
  p = x @ w + u @ v
  q = x @ c + s @ t
}
test beside_lora { M=200 K=136 N=264 R=16 P=136 T=200 init: integers(-2,2) }
test beside_lora { M=264 K=264 N=136 R=72 P=328 T=8 init: integers(-2,2) }
# Others run between them: those that need nothing of these come first.
kernel beside_turned(x: bf16[S,D], wq: bf16[D,N], wk: bf16[D,P], wv: bf16[D,P], c: f32[S,N], s: f32[S,N]) -> (q: bf16[S,N], k: f32[S], v: bf16[S,P]) {
  a = x @ wq
  q = a * c + (a[N: idx(N) + 1] ?? 0) * s
  b = x @ wk
  k = logsumexp[P](b)
  v = x @ wv
}
test beside_turned { S=72 D=136 N=136 P=200 }
# What one of them needs of another keeps them apart.
kernel beside_not(x: bf16[M,K], a: bf16[K,J], b: bf16[J,N]) -> (p: bf16[M,J], q: bf16[M,N]) {
  p = x @ a
  q = p @ b
}
test beside_not { M=136 K=72 J=64 N=136 }
