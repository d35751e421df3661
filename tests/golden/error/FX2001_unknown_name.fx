kernel k(x: f32[M]) -> y: f32[M] {
  y = foo(x) + z
  q = gelu
}
