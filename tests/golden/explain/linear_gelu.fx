# args: -D M=512 -D K=4096 -D N=1000
kernel linear_gelu(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] {
  y = gelu(x @ w + b)
}
