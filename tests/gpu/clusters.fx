# Contractions of 16-bit floats of few tiles and a long k: clusters of blocks on sm_90a, each of which takes a slice of k.
# By extents: slices of unequal length, ragged ends, blocks without any k, clusters of every size, several tiles a cluster.
kernel cluster_nk(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @ w }
test cluster_nk { M=1 N=8 K=2048 }
test cluster_nk { M=72 N=136 K=2056 init: integers(-2,2) }
test cluster_nk { M=64 N=320 K=1544 init: integers(-2,2) }
test cluster_nk { M=7 N=64 K=8 init: integers(-2,2) }
# Tiles beside and below each other, some of them outside: clusters whose blocks share operands.
test cluster_nk { M=150 N=300 K=136 init: integers(-2,2) }
kernel cluster_kn(x: f16[M,K], w: f16[K,N], b: f16[N], r: f16[M,N]) -> (y: f16[M,N], z: f32[M,N]) {
  z = x @ w
  y = relu(z + b) + r
}
test cluster_kn { M=64 N=64 K=1100 init: integers(-2,2) }
test cluster_kn { M=130 N=72 K=2000 }
kernel cluster_km(x: bf16[K,M], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }
test cluster_km { M=200 N=64 K=1240 init: integers(-2,2) }
# Two weights of one A, and four.
kernel cluster_gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> y: bf16[M,N] { y = silu(x @ w) * (x @ v) }
test cluster_gate { M=40 N=72 K=2312 }
test cluster_gate { M=64 N=448 K=1032 }
kernel cluster_four(x: bf16[M,K], a: bf16[N,K], b: bf16[N,K], c: bf16[N,K], d: bf16[N,K]) -> y: f32[M,N] {
  y = (x @ a) * (x @ b) + (x @ c) * (x @ d)
}
test cluster_four { M=33 N=48 K=2056 init: integers(-2,2) }
# Segments one after the other: the cut lies in any of them, some blocks have none of the second's sum.
kernel cluster_segments(x: bf16[M,K], w: bf16[K,N], u: bf16[M,R], v: bf16[R,N]) -> y: bf16[M,N] { y = x @ w + u @ v }
test cluster_segments { M=72 N=64 K=2048 R=8 init: integers(-2,2) }
test cluster_segments { M=16 N=136 K=200 R=1800 init: integers(-2,2) }
kernel cluster_two(x: bf16[M,K], w: bf16[K,N], u: bf16[M,R], v: bf16[R,N]) -> y: f32[M,N] { y = (x @ w) * sigmoid(u @ v) }
test cluster_two { M=72 N=64 K=2048 R=8 }
test cluster_two { M=72 N=64 K=64 R=1160 }
# Batches, and k of two labels that do not lie side by side.
kernel cluster_batched(x: bf16[B,M,K], w: bf16[B,N,K]) -> y: bf16[B,M,N] { y = x @[K] w }
test cluster_batched { B=3 M=24 N=40 K=1160 init: integers(-2,2) }
kernel cluster_outer(x: bf16[L,M,K], w: bf16[L,N,K]) -> y: bf16[M,N] { y = x @[L,K] w }
test cluster_outer { L=5 M=40 N=72 K=264 init: integers(-2,2) }
# One kernel is one kernel.
kernel cluster_require(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] with { fuse: require } {
  y = gelu(x @ w + b)
}
test cluster_require { M=72 N=64 K=2056 }
