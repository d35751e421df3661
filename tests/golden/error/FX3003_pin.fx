# args: --arch=sm_80
kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { tile: [100, 100] } { y = x @ w }
