# 3 GEGLU with weights stored (out, in): only the declaration differs
kernel geglu(x: bf16[M,K], w: bf16[F=2*N, K], b: bf16[F]) -> y: bf16[M,N] {
  z, g = halves[F->N](x @ w + b)
  y = z * gelu(g)
}
