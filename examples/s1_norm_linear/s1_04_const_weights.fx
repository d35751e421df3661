# The same layer as s1_01, folded, with weights that are promised not to change, which is what the notebook's second kernel asks a vector of column sums for. That vector, summed in f16,
# is wrong by 1.1 where rows have a mean of 30; in f32 it is a sum of the spec like any other.
kernel ln_linear_gelu_const(x: f16[M,K], w: const f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh((x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) + b)
}
kernel column_sums(w: f16[K,N]) -> s: f32[N] with { fuse: require } { s = sum[K](w) }

test ln_linear_gelu_const { M=512 K=1024 N=4096 tol: abs <= 0.063 }
test ln_linear_gelu_const { M=512 K=1024 N=4096 x.init: normal(30,1) tol: abs <= 0.07 }
test ln_linear_gelu_const { M=33 K=65 N=17 x.init: normal(30,1) tol: abs <= 0.03 }
test column_sums { K=1024 N=4096 }
test column_sums { K=65 N=17 }
bench ln_linear_gelu_const { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused, cublaslt] }
bench column_sums { K=1024 N=4096 }
