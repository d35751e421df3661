kernel f(x: f32[M], z: f32[S], w: f32[T], q: f32[Q=M//4], v: f32[W]) -> y: f32[Q] {
  require M % 4 == 0
  require W > 0
  a = q + x[M: 4*Q]
  t = q{Q->(S,T)}
  y = a + v[W: size(M)]
}
