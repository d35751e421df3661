# Split activation: the columns of a @ w in two halves, D = sigmoid(left) * tanh(right). One kernel with two sums a tile: the [M,2N] product is never in memory.
# The same for four ways to multiply: f32 in full, f32 rounded to tf32, f16 and bf16 with sums in f32.
kernel split_act(a: f32[M,K], w: f32[K, F=2*N]) -> d: f32[M,N] with { precision: ieee, fuse: require } {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
kernel split_act_tf32(a: f32[M,K], w: f32[K, F=2*N]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
kernel split_act_f16(a: f16[M,K], w: f16[K, F=2*N]) -> d: f16[M,N] with { fuse: require } {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
kernel split_act_bf16(a: bf16[M,K], w: bf16[K, F=2*N]) -> d: bf16[M,N] with { fuse: require } {
  l, r = halves[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}

test split_act      { M=1024 K=2048 N=2048 tol: abs <= 2e-4 }
test split_act_tf32 { M=1024 K=2048 N=2048 tol: abs <= 6e-2 }
test split_act_f16  { M=1024 K=2048 N=2048 tol: abs <= 6e-2 }
test split_act_bf16 { M=1024 K=2048 N=2048 tol: abs <= 0.4 }
test split_act      { M=33 K=65 N=17 }
test split_act_tf32 { M=32 K=128 N=48 }
test split_act_f16  { M=33 K=65 N=17 }
test split_act_bf16 { M=32 K=64 N=48 }
test split_act_f16  { M=64 K=128 N=64 init: integers(-2,2) }

bench split_act      { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_act_tf32 { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_act_f16  { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench split_act_bf16 { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
