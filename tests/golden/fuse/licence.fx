# Which computed factors may be rounded to 16 bits on the way to a contraction: only beside one that is stored so.
kernel stored(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = exp(x) @ w }
kernel computed(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = exp(x) @ (w * 1) }
kernel rounded(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = bf16(x) @ bf16(w) }
kernel ieee(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] with { precision: ieee } { y = exp(x) @ w }
kernel one(x: f32[M,K,U=1], w: f32[K,N]) -> y: f32[M,U,N] { y = x @[K] w }
