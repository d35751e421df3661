# What is written in place: directly, after those that read the old contents, or through a buffer that a last kernel copies.
kernel update(x: inout f32[M,N] align 16, b: f32[N], t: f32[M,N]) { x = x + b * t }
kernel softmax(x: inout f32[B,T]) { x = softmax[T](x) }
kernel last(x: inout f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  y = x @ w
  x = 0.5 * x
}
kernel operand(x: inout f16[M,K], w: f16[K,N=K]) { x = relu((x @ w)[N: idx(K)]) }
kernel turned(x: inout i32[M]) { x = x[M: size(M) - 1 - idx(M)] }
kernel of_rows(a: f32[R,K], s: inout f32[R]) -> y: f32[R,K] {
  y = a * s / sum[K](abs(a))
  s = s + sum[K](a)
}
kernel running(x: inout f32[M,N]) {
  s = cumsum[N](x)              # in memory: what is read of x is read before
  x = s[N: size(N) - 1 - idx(N)]
}
