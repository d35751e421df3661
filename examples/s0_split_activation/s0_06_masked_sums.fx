# The split as the notebook's kernel does it, with no access: pairs of adjacent columns, each masked and summed. A sum of which one term is left is that term,
# so this comes to the kernel of s0_05.
kernel masked_sums(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] with { precision: ieee, fuse: require } {
  c = (a @ w){F->(N,P=2)}
  l = sum[P](where(idx(P) == 0, c, 0))
  r = sum[P](where(idx(P) == 1, c, 0))
  d = sigmoid(l) * tanh(r)
}

test masked_sums { M=1024 K=2048 N=2048 tol: abs <= 2e-4 }
test masked_sums { M=33 K=65 N=17 }
bench masked_sums { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
