kernel k(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32, fast_math: true, round: op, tile: [128,128] } { y = x @ w }
