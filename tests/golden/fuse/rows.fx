kernel soft(x: bf16[B,T]) -> (z: bf16[B,T], l: f32[B]) {
  z = softmax[T](x)
  l = logsumexp[T](x)
}
kernel by_hand(a: f32[B,T]) -> y: f32[B,T] {
  e = exp(a - max[T](a))
  y = e / sum[T](e)
}
kernel two_ways(x: f32[M,N]) -> (r: f32[M], c: f32[N], y: f32[M,N]) {
  r = sum[N](x)
  c = max[M](x)
  y = cumsum[N](x) / sum[N](x)
}
kernel before_product(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = layernorm[K](x) @ w }
kernel after_product(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = softmax[N](x @ w) }
kernel dot(a: f32[B,K], b: f32[B,K]) -> d: f32[B] { d = sum[K](a * b) }
kernel pool[U=3](x: f32[B,T]) -> z: f32[B, Q=(T-1)//2] { z = max[U](x[T: 2*Q+U] ?? -inf) }
kernel after(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = (x @ w) * rsqrt(mean[K](x * x)) }
kernel circle(x: f16[M,K], w: f16[K,N], v: f16[K,R]) -> (y: f16[M,N], z: f16[M,R]) {
  h = x @ w
  g = x @ v
  y = h * max[R](g)
  z = g * max[N](h)
}
kernel of_rows(z: bf16[M,V]) -> l: f32 { l = mean[M](logsumexp[V](z)) }
kernel of_windows[U=3](x: f32[B,T]) -> l: f32 { l = sum[B,T](max[U](x[T: idx(T) + idx(U) - 1] ?? -inf)) }
kernel with_sum(x: bf16[M,D], r: inout bf16[M,D], g: bf16[D]) -> y: bf16[M,D] {
  s = x + r
  r = s
  y = rmsnorm[D](s) * g
}
kernel apart(x: f32[M,D], z: f32[M,D]) -> (y: f32[M,D], r: f32[M,D]) {
  y = softmax[D](x)
  r = relu(z)
}
# Weights of positions, made of dot products and their softmax, are stored once for all columns that they weigh.
kernel pooled(x: bf16[B=64,T=1024,D=1024], u: bf16[D]) -> y: bf16[B,D] { y = sum[T](softmax[T](sum[D](x * u) * 0.03) * x) }
