# LayerNorm without gain, then a linear layer, then gelu by tanh, in one launch: the statistics of a row are two-pass, deviations from the mean summed, as a side
# product of the launch, and the rows are normalised as tiles of x are loaded. w is stored (K, N).
kernel ln_linear_gelu(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

# The same with the norm folded into the product by hand, so that nothing that is computed is rounded to f16 on its way to the tensor cores: what is left is half an ulp
# of the output, 0.0625 above 128. In the first kernel, as in PyTorch, rows are rounded once normalised: 1024 terms, each by about 2^-12 of itself, 0.008 together and six times
# that at most.
kernel ln_linear_gelu_folded(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh((x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) + b)
}

test ln_linear_gelu { M=512 K=1024 N=4096 seed: 0 tol: abs <= 0.11 }
test ln_linear_gelu_folded { M=512 K=1024 N=4096 seed: 0 tol: abs <= 0.063 }
test ln_linear_gelu_folded { M=33 K=65 N=17 }
test ln_linear_gelu_folded { M=64 K=64 N=64 }
test ln_linear_gelu { M=33 K=65 N=17 }
test ln_linear_gelu { M=64 K=64 N=64 }
bench ln_linear_gelu { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused, cublaslt] }
bench ln_linear_gelu_folded { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused] }
