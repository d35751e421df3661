# Linear, bias and gelu in one kernel: the product never reaches memory.
kernel linear_gelu(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] {
  y = gelu(x @ w + b)
}

test linear_gelu { M=128 K=256 N=192 }
test linear_gelu { M=33 K=65 N=17 init: integers(-2,2) }
bench linear_gelu { M=4096 K=4096 N=4096 vs: unfused }
