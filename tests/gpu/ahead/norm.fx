kernel norm(x: bf16[M,N], g: bf16[N], e: f32) -> y: bf16[M,N] { y = bf16(rmsnorm[N](f32(x)) * (f32(g) + e)) }
