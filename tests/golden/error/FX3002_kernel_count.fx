kernel k(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { kernels: 2 } { y = x @ w }
