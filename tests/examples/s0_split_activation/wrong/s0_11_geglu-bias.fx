# The bias of the left half for both.
kernel geglu(x: f32[M,K], w: f32[F=2*N, K], b: f32[F]) -> y: f32[M,N] {
  z, g = halves[F->N](x @ w)
  y = (z + b[F: N]) * gelu(g + b[F: N])
}
