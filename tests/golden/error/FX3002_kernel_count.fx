kernel k(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { kernels: 2 } { y = x @ w }
