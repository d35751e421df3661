# The misspelt label: F and N are both 4096.
kernel k(x: f32[M,K], w: f32[K,N=4096], b: f32[F=4096]) -> y: f32[M,N] {
  y = relu(x @ w + b)
}
