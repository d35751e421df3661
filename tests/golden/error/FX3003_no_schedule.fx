kernel k(x: f32[M,K] strided, w: f32[K,N]) -> y: f32[M,N] { y = x @ w }
kernel l(x: inout f32[M], b: f32[M]) { x = x + b }
