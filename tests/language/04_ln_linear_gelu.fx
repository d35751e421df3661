# 4 layernorm + linear + gelu as one kernel; w is a weight, so its column sums may be prepared once
kernel ln_linear_gelu(x: f16[M,K], w: const f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

test  ln_linear_gelu { M=512 K=1024 N=4096 init: normal seed: 0   tol: abs <= 0.063 }
test  ln_linear_gelu { M=512 K=1024 N=4096 init: normal(30,1)     tol: abs <= 0.07 }
bench ln_linear_gelu { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused, cublaslt] }
