# The second kernel of the notebook: one product of interleaved weights, split into even and odd columns behind it. The notebook's own went wrong by a stride of M in
# the place of K, by storing `left`, and by a grid of one block; here no stride, no store and no grid can be written. In full f32, as its reference is.
kernel interleaved(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] with { precision: ieee, fuse: require } {
  l, r = evenodd[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}

test interleaved { M=1024 K=2048 N=2048 tol: abs <= 2e-4 }
test interleaved { M=40 K=72 N=24 }       # M, K and N apart: a stride of the wrong extent would not do
test interleaved { M=7 K=130 N=3 }
bench interleaved { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
