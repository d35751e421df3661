kernel k(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { tile: [64,128], warps: 4 } { y = x @ w }
