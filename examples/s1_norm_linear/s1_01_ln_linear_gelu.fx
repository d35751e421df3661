# LayerNorm without gain, then a linear layer, then gelu by tanh, in one launch: the statistics of a row are two-pass, deviations from the mean summed, as a side
# product of the launch, and the rows are normalised as tiles of x are loaded. w is stored (K, N).
kernel ln_linear_gelu(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

test ln_linear_gelu { M=512 K=1024 N=4096 seed: 0 tol: abs <= 0.063 }
test ln_linear_gelu { M=33 K=65 N=17 }
test ln_linear_gelu { M=64 K=64 N=64 }
bench ln_linear_gelu { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused, cublaslt] }
