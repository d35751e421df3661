# args: --arch=sm_89
# what computed operands read waits in shared memory only where a block may have as much: here no tile has
kernel cast(x: f32[M,K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @ w }
