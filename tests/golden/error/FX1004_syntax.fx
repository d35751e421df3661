kernel k(x: f32[M], w: f32[M) -> y: f32[M] {
  y = relu(x
  z = w
}
kernel l(x: f32[M]) -> y: f32[M] { y = x + }
