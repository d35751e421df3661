# The weights of a split activation in the layouts they come in, none of them repacked. (K, 2N) is that of s0_01. As (2N, K), one half behind the other, only the
# declaration differs; two halves that are tensors of their own are named; interleaved rows, left ones even and right ones odd, are split by evenodd. An axis of two
# in the declaration, (2, N, K) or (N, 2, K) of the same memory, says either without a split.
kernel split_halves(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
kernel split_pair(a: f32[M,K], wl: f32[N,K], wr: f32[N,K]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  d = sigmoid(a @ wl) * tanh(a @ wr)
}
kernel split_interleaved(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  l, r = evenodd[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
kernel split_axis_halves(a: f32[M,K], w: f32[P=2,N,K]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  c = a @[K] w
  d = sigmoid(c[P: 0]) * tanh(c[P: 1])
}
kernel split_axis_interleaved(a: f32[M,K], w: f32[N,P=2,K]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  c = a @[K] w
  d = sigmoid(c[P: 0]) * tanh(c[P: 1])
}

test split_halves      { M=1024 K=2048 N=2048 tol: abs <= 6e-2 }
test split_pair        { M=1024 K=2048 N=2048 tol: abs <= 6e-2 }
test split_interleaved { M=1024 K=2048 N=2048 tol: abs <= 6e-2 }
test split_halves           { M=33 K=65 N=17 }
test split_pair             { M=32 K=64 N=48 }
test split_interleaved      { M=33 K=65 N=17 }
test split_interleaved      { M=32 K=64 N=48 init: integers(-2,2) }
test split_axis_halves      { M=32 K=64 N=48 }
test split_axis_interleaved { M=33 K=65 N=17 }

bench split_halves           { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_pair             { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_interleaved      { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_axis_halves      { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_axis_interleaved { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
