# The first kernel of the notebook: one tile of a, two transposed tiles of weights, two accumulators. `fxc explain` lists both products under one mainloop.
kernel two_sums(a: f32[M,K], bl: f32[N,K], br: f32[N,K]) -> d: f32[M,N] with { precision: ieee, fuse: require } {
  l = a @ bl
  r = a @ br
  d = sigmoid(l) * tanh(r)
}

test two_sums { M=1024 K=2048 N=2048 tol: abs <= 2e-4 }
test two_sums { M=65 K=33 N=18 }
test two_sums { M=64 K=64 N=64 init: integers(-2,2) }
bench two_sums { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
