# args: --with=algebra.row_scale_out,algebra.norm_fold,algebra.exp2,algebra.k_concat --skip=algebra.scale_out
# Rules that are off by default.
kernel attention(q: f32[S,D], k: f32[T,D], v: f32[T,D]) -> o: f32[S,D] { o = softmax[T](q @ k) @ v }
kernel normed(x: f32[M,K], w: f32[K,N], m: f32[M], r: f32[M]) -> y: f32[M,N] { y = ((x - m) * r) @ w }
kernel lora(x: f32[M,K], w: f32[K,N], a: f32[K,R], b: f32[R,N], alpha: f32) -> y: f32[M,N] { y = x @ w + alpha * (x @ a @ b) }
kernel left_alone(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = (0.5 * x) @ w }
