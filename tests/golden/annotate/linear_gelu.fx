# Parameters show what is stored, values what is computed with.
kernel linear_gelu(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] {
  y = gelu(x @ w + b)
}
