# 11 batched matmul: B is shared and kept, K is contracted
kernel bmm(x: f32[B,M,K], y: f32[B,K,N]) -> z: f32[B,M,N] { z = x @ y }
