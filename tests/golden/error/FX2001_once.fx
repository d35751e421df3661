# A value that has an error is an argument of fns: the error is said once.
kernel a(x: f32[M,D]) -> y: f32[M,D] {
  s = foo(x)
  t = layernorm[D](s)
  y = silu(t) + s
}
