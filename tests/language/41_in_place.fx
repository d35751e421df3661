# 41 tensors written in place: where each element is read by the thread that writes it, and where the new contents must pass through memory
kernel softmax(x: inout f32[B,T]) { x = softmax[T](x) }
kernel columns(x: inout f16[T,B]) { x = x - mean[T](x) }
kernel few(x: inout f32[B=2,T]) -> s: f32[B] {
  s = sum[T](x)
  x = x / (1 + abs(s))
}
kernel accumulate(c: inout f32[M,N], a: f16[M,K], b: f16[K,N]) -> y: f32[M,N] {
  y = c
  c = c + a @ b
}
kernel operand(x: inout f32[M,K], w: f32[K,N=K]) { x = relu((x @ w){N->J})[J: idx(K)] }
kernel first(x: inout f16[M,N]) -> y: f16[N] {
  y = x[M: 0] ?? 0
  x = 2 * x
}
kernel late(x: inout f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  y = x @ w
  x = 0.5 * x
}
kernel reversed(x: inout i32[M], n: i32) { x = x[M: size(M) - 1 - idx(M)] + n }
kernel swapped(a: inout f32[M,N], b: inout f32[M,N]) {
  t = a
  a = b
  b = t
}
kernel crossed(a: inout f32[M,N], b: inout f32[N,M]) {
  s = sum[M](b)
  a = a + s
  b = b + sum[N](a)
}
kernel scaled(a: f32[R,K], s: inout f32[R]) -> y: f32[R,K] {
  y = a * s / sum[K](abs(a))
  s = s + sum[K](a)
}
kernel counted(n: inout i32[R], a: bool[R,K]) { n = n + sum[K](a) }
kernel running(x: inout f32[B,T]) { x = cumsum[T](x) + max[T](x) }
kernel shifted(x: inout f32[B,T]) { x = 0.5 * x + (x[T: idx(T) - 1] ?? 0) }
kernel picked(p: inout i64[N], t: i64[V]) { p = t[V: p] ?? -1 }
kernel filled(x: inout bf16[M,N], b: f32[N]) -> y: f32[M] {
  y = max[N](x)
  x = b
}
