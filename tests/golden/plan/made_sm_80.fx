# args: --arch=sm_80
# and here all but the largest
kernel cast(x: f32[M,K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @ w }
