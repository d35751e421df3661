# The fold of the norm into the product, as the notebook's kernel means it: y = (x @ w - mean * sum(w)) * rstd + b. The bias belongs behind the scale; the notebook
# adds it before, which is wrong by up to 11. Here what is written is what is computed, so the mistake would have to be written. The variance is two-pass; the
# difference x @ w - mean * sum(w) still cancels where the mean is large (s1_08 does not fold).
kernel folded(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { precision: ieee, fuse: require } {
  m = mean[K](x)
  rstd = rsqrt(var[K](x) + 1e-5)
  y = gelu_tanh((x @ w - m * sum[K](w)) * rstd + b)
}

test folded { M=512 K=1024 N=4096 tol: abs <= 1e-3 }
test folded { M=33 K=65 N=17 tol: abs <= 1e-3 }
test folded { M=16 K=48 N=24 x.init: 1 tol: abs <= 1e-3 }   # rows without a deviation: what is left is the bias, unscaled
bench folded { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused] }
