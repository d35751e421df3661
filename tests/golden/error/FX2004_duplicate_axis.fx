fn sums[A,B](v) = sum[A](sum[B](v))
fn labels[A,A](v) = sum[A](v)
kernel k(x: f32[M,M], w: f32[K,N]) -> y: f32[K,N] {
  y = w @[K,K] w
}
kernel l(w: f32[K,N]) -> y: f32[] { y = sums[K,K](w) }
