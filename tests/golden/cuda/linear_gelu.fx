# Linear, bias and gelu in one kernel: the product never reaches memory.
kernel linear_gelu(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] {
  y = gelu(x @ w + b)
}
