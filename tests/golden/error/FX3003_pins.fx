# args: --arch=sm_90a
kernel one(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { tile: [100, 100] } { y = x @ w }
kernel several(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { tile: [128, 128], warps: 9, stages: 7 } { y = relu(x @ w) }
