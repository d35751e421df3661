# How safe the statistics are: rows with a mean of 0, 3, 30 and 300 deviations, and rows with one element 1000 away from the others. The output is f32, so that its rounding
# hides nothing; the bound is 0.06 throughout. A variance by E[x^2] - E[x]^2 is wrong by 20 at 300 deviations; summing squared deviations from the mean,
# as here, by 1e-3.
kernel ln_linear_safe(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}
kernel ln_linear_safe_f32(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { precision: ieee, fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

test ln_linear_safe { M=16 K=1024 N=24 x.init: normal tol: abs <= 0.06 }
test ln_linear_safe { M=16 K=1024 N=24 x.init: normal(3,1) tol: abs <= 0.06 }
test ln_linear_safe { M=16 K=1024 N=24 x.init: normal(30,1) tol: abs <= 0.06 }
test ln_linear_safe { M=16 K=1024 N=24 x.init: normal(300,1) tol: abs <= 0.06 }
test ln_linear_safe { M=16 K=1024 N=24 x.init: outlier(0,1000) tol: abs <= 0.06 }
test ln_linear_safe { M=512 K=1024 N=4096 x.init: normal tol: abs <= 0.06 }
test ln_linear_safe { M=512 K=1024 N=4096 x.init: normal(3,1) tol: abs <= 0.06 }
test ln_linear_safe { M=512 K=1024 N=4096 x.init: normal(30,1) tol: abs <= 0.06 }
test ln_linear_safe { M=512 K=1024 N=4096 x.init: normal(300,1) tol: abs <= 0.06 }
test ln_linear_safe { M=512 K=1024 N=4096 x.init: outlier(0,1000) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=16 K=1024 N=24 x.init: normal tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=16 K=1024 N=24 x.init: normal(3,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=16 K=1024 N=24 x.init: normal(30,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=16 K=1024 N=24 x.init: normal(300,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=16 K=1024 N=24 x.init: outlier(0,1000) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=512 K=1024 N=4096 x.init: normal tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=512 K=1024 N=4096 x.init: normal(3,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=512 K=1024 N=4096 x.init: normal(30,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=512 K=1024 N=4096 x.init: normal(300,1) tol: abs <= 0.06 }
test ln_linear_safe_f32 { M=512 K=1024 N=4096 x.init: outlier(0,1000) tol: abs <= 0.06 }

bench ln_linear_safe { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused] }
bench ln_linear_safe_f32 { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused] }
