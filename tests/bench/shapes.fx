# Kernels whose best partition depends on extents that a launch binds: tests/bench/shapes.py.
kernel lin_gelu(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }
kernel softmax_rows(x: f32[B,T]) -> y: f32[B,T] { y = softmax[T](x) }
kernel norm_rows(x: bf16[B,T], g: bf16[T]) -> y: bf16[B,T] { y = rmsnorm[T](x, eps: 1e-5) * g }
kernel attention(q: bf16[H,S,D=128], k: bf16[H,T,D], v: bf16[H,T,E=128]) -> o: bf16[H,S,E] {
  o = softmax[T](q @ k * 0.08838834764) @ v
}
kernel sum_rows(x: f32[B,T]) -> y: f32[B] { y = sum[T](x) }
kernel sum_columns(x: f32[B,T]) -> y: f32[T] { y = sum[B](x) }
kernel product(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @ w }
kernel norm_linear(x: bf16[M,K], g: bf16[K], w: bf16[K,N]) -> y: bf16[M,N] { y = (rmsnorm[K](x, eps: 1e-5) * g) @ w }
kernel mlp(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N]) -> y: bf16[M,N] { y = relu(x @ w) @ v }
kernel weights8(x: f16[M,K], w: i8[N,K], s: f32[N]) -> y: f16[M,N] { y = (x @ w) * s }
kernel pool_max(x: f32[M,K], w: f32[K,N]) -> (y: f32[N], s: f32[M]) { h = x @ w
 y = max[M](h)
 s = sum[N](h) }
