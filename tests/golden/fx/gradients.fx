# Gradients of the usual computations: sums over products stay contractions, nothing is made that is 0.
kernel mul_relu(x: f32[J,I], y: f32[J]) -> z: f32[J,I] { z = relu(x * y) }
kernel mul_relu_bwd = grad(mul_relu, wrt: x)

kernel dense(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } { y = relu(x @ w + b) }
kernel dense_bwd = grad(dense, wrt: x, w, b) with { fuse: prefer }

kernel conv(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], b: f16[O]) -> z: f16[B,O,H,W] {
  z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b
}
kernel conv_bwd = grad(conv, wrt: x, k, b)

kernel flash(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,D], scale: f32) -> (o: f16[B,H,S,D], lse: f32[B,H,S]) {
  s   = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
kernel flash_bwd = grad(flash, wrt: q, k, v)

kernel normed(x: f32[M,K], g: f32[K], b: f32[K]) -> y: f32[M,K] { y = layernorm[K](x) * g + b }
kernel normed_bwd = grad(normed, wrt: x, g, b)

kernel scaled(x: f32[A,B], s: f32) -> y: f32[A,B] { y = x * exp(s) }
kernel scaled_bwd = grad(scaled, wrt: s)
kernel scaled_bwd_bwd = grad(scaled_bwd, wrt: dy, s)

kernel first(x: f32[A], _y: f32[A]) -> z: f32[A] { z = x }
kernel first_bwd = grad(first, wrt: x, _y)

kernel update(x: inout f32[A], g: f32[A], rate: f32 = 0.1) { x = x - rate * g }
kernel update_bwd = grad(update, wrt: x, rate)
