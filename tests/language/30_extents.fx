# 30 axes that no tensor carries, extents by equation, requirements
kernel pool[U=2, P=H//2](x: f32[H,C]) -> y: f32[P,C] { y = max[U](x[H: 2*P+U]) }
kernel window[U=3](x: f32[T]) -> y: f32[T] { y = mean[U](x[T: T+U-1] ?? 0) }
kernel linear(x: f32[L=3*(A+B)-A], a: f32[A], y: f32[L]) -> (b: i64[B], s: f32[A]) {
  b = size(B) + idx(B)
  s = a * sum[L](x * y)
}
kernel required(x: f32[M,K], w: f32[K,N], p: f32) -> y: f32[M,N] {
  require K % 2 == 0 && N >= 1
  require 0 <= p && p < 1
  y = x @ w / (1 - p)
}
kernel square(x: f32[S, T=S], v: f32[T,D]) -> y: f32[S,D] { y = x @ v }
kernel ceiling[I=4](x: f32[N]) -> y: f32[B=(N+3)//4] { y = sum[I](x[N: 4*B+I] ?? 0) }
