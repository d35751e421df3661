kernel f(x: f32[M], z: f32[S], w: f32[T], q: f32[Q=M//4], v: f32[W]) -> y: f32[Q] {
  require M % 4 == 0 && W > 0
  a = x[M: 4*Q]
  t = q{Q->(S,T)}
  b = t + z
  y = a + v[W: size(M)]
}
