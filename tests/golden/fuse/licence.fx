# Which computed factors may be rounded to 16 bits on the way to a contraction: beside one that is stored so, or both where both are computed from tensors of one such dtype alone.
kernel stored(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = exp(x) @ w }
kernel computed(x: f32[M,K], w: f16[K,N]) -> y: f32[M,N] { y = exp(x) @ (w * 1) }
kernel both(x: bf16[M,K], g: bf16[K], w: bf16[K,N]) -> y: f32[M,N] { y = (x * g) @ exp(w) } # each rounded to bf16
kernel beside_f32(x: bf16[M,K], g: f32[K], w: bf16[K,N]) -> y: f32[M,N] { y = (x * g) @ exp(w) } # neither
kernel cast_to_f32(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = f32(x) @ exp(w) } # neither
kernel exact(x: bf16[M,K], g: bf16[K], w: bf16[K,N]) -> y: f32[M,N] with { precision: ieee } { y = (x * g) @ exp(w) }
kernel one_label(x: bf16[M,K], w: bf16[M,K]) -> y: f32[M] { y = sum[K](exp(x) * exp(w)) } # no product of matrices
kernel rounded(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = bf16(x) @ bf16(w) }
kernel ieee(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] with { precision: ieee } { y = exp(x) @ w }
kernel one(x: f32[M,K,U=1], w: f32[K,N]) -> y: f32[M,U,N] { y = x @[K] w }
