kernel f(x: f32[M,K=2147483659], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }
