# 24 one tensor on both sides, access by storage order, diagonals
kernel gram(x: f32[M,K]) -> y: f32[M, J=M] { y = x @ x{M->J} }
kernel transposed(x: f32[M, N=M]) -> y: f32[M,N] { y = x[N,M] }
kernel turned(x: f32[M,N]) -> y: f32[J=N, I=M] { y = x[I,J] }
kernel diagonal(x: f32[M, N=M]) -> (d: f32[M], t: f32[]) {
  d = x[M,M]
  t = sum[M](x[M,M])
}
kernel pairwise(x: f32[M,D]) -> y: f32[M, J=M] { y = sum[D]((x - x{M->J}) ** 2) }
