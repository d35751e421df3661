kernel k(x: f32[M,N], y: f32[N,J]) -> z: f32[M,N] {
  a = x{M->N}
  b = x{(M,N)->(A,B)}
  c = x{M=4->A}
  z = x
}
