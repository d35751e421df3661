# An operand that consumers make: A, and B, whose tiles are turned
kernel cast(x: f32[M,K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @[K] w }
kernel dequantised(x: bf16[M,K], q: i8[N,K], s: bf16[N]) -> y: bf16[M,N] with { fuse: require } { y = x @[K] bf16(q * s) }
