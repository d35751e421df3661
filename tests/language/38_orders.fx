# 38 which axis @ contracts, batch axes, several labels, outputs permuted by name, broadcasts
kernel chain(a: f32[M,K], b: f32[K,L], c: f32[L,N]) -> y: f32[M,N] { y = a @ b @ c }
kernel batched(a: f32[M,B,K], b: f32[K,B,N]) -> y: f32[B,N,M] { y = a @ b }
kernel several(a: f32[K,M,L], b: f32[L,N,K]) -> y: f32[M,N] { y = a @[K,L] b }
kernel named(a: f32[K,M], b: f32[K,N]) -> y: f32[M,N] { y = a @[K] b }
kernel dot(x: f32[K], w: f32[K]) -> (y: f32[], z: f32) {
  y = x @ w
  z = sum[K](x * w) * 2
}
kernel outer(x: f32[M], w: f32[N], b: f32[M,N]) -> (y: f32[N,M], z: f32[M,N]) {
  y = x * w
  z = w * x - b
}
kernel fullest(b: f32[M], x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = (b * x) @ w }
kernel broadcast(b: f32[N], x: f32[M]) -> (y: f32[M,N], z: f32[M,N]) {
  y = b
  z = x
}
kernel both_stored(x: f32[M,K], w: f32[N,K], v: f32[N,L]) -> y: f32[L,M] { y = x @ w @ v }
kernel tighter(x: f32[M,K], A: f32[K,R], B: f32[R,N], c: f32[M,N]) -> y: f32[M,N] { y = 0.5 * x @ A @ B - c ** 2 / 4 }
kernel scalars(x: f32[N], a: f32, s: f32[], n: i32) -> y: f32[N] { y = a * x + s * n }
kernel laid_out(x: f32[M,K] strided, w: f32[K,N] align 16) -> y: f32[M,N] { y = x @ w }
