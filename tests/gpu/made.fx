# An operand that consumers of wgmma make in registers: casts, integers and their scales, scales along k and of rows; A or B; either order of the other operand; edges of tiles; epilogues.
kernel cast_a(x: f32[M,K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @[K] w }
kernel cast_kn(x: f32[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } { y = gelu(f16(x) @ w + b) }
kernel cast_b(x: bf16[K,M], w: f32[N,K], r: bf16[M,N]) -> y: bf16[M,N] with { fuse: require } { y = x @[K] bf16(w) + r }
kernel squares(x: f16[B,M,K], w: f16[B,K,N]) -> y: f32[B,M,N] with { fuse: require } { y = f16(x * x) @[K] w }
kernel int8(x: bf16[M,K], w: i8[N,K], s: bf16[N], b: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = silu(x @[K] bf16(w * s) + b) }
kernel int8_f32(x: f16[M,K], w: i8[N,K], s: f32[N]) -> y: f32[M,N] with { fuse: require } { y = x @[K] f16(w * s) }
kernel uint8(x: u8[M,K], z: f32, s: f32[M], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x - z) @[K] w * s }
kernel along_k(x: bf16[M,K], s: bf16[K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = (x * s) @ w }
kernel normed(x: bf16[M,K], m: f32[M], d: f32[M], g: f32[K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16((x - m) * d * g) @[K] w }
# fields of 4 bits in words, with scales and zero points of groups of k
kernel int4(x: bf16[M,K], q: u4[N,K] packed(i32, K, lsb), s: bf16[N,G=K/128]) -> (y: bf16[M,N]) with { fuse: require } { y = x @[K] bf16((q - 8) * s[G: K/128]) }
kernel int4_zero(x: bf16[M,K], q: u4[N,K] packed(i32, K, lsb), z: u8[N,G=K/64], s: bf16[N,G]) -> (y: bf16[M,N]) with { fuse: require } { y = x @[K] bf16((q - i32(z[G: K/64])) * s[G: K/64]) }
kernel int4_row(x: f16[M,K], q: i4[N,K] packed(i32, K, msb), s: f16[N]) -> (y: f32[M,N]) with { fuse: require } { y = x @[K] f16(q * s) }
kernel int4_a(q: i4[B,M,K] packed(i32, K, lsb), s: f16[B,M,G=K/192], x: f16[B,N,K]) -> (y: f16[B,M,N]) with { fuse: require } { y = f16(q * s[G: K/192]) @[K] x }
test cast_a { M=1030 K=1048 N=2072 init: integers(-2,2) tol: exact }
test cast_a { M=70 K=72 N=136 init: integers(-2,2) tol: exact }
test squares { B=2 M=66 K=40 N=72 init: integers(-2,2) tol: exact }
test uint8 { M=67 K=80 N=72 init: integers(0,3) tol: exact }
test cast_a { M=1024 K=1024 N=2048 }
test cast_kn { M=1030 K=1048 N=2072 }
test cast_b { M=2072 K=1048 N=1032 init: integers(-2,2) tol: exact }
test cast_b { M=2070 K=1048 N=1028 }
test squares { B=2 M=520 K=1032 N=2072 init: integers(-2,2) tol: exact }
test int8 { M=2072 K=1056 N=1032 }
test int8 { M=300 K=1024 N=5000 }
test int8_f32 { M=2072 K=1072 N=1032 init: integers(-3,3) tol: exact }
test uint8 { M=1030 K=1072 N=2072 init: integers(0,3) tol: exact }
test along_k { M=1030 K=1048 N=2072 init: integers(-2,2) tol: exact }
test normed { M=1030 K=1048 N=2072 init: integers(-2,2) tol: exact }
test normed { M=2048 K=2056 N=2048 }
test int4 { M=40 K=1152 N=14344 init: integers(-2,2) tol: exact }
test int4 { M=72 K=640 N=14344 init: integers(-1,1) }
test int4_zero { M=72 K=1088 N=14344 x.init: normal s.init: normal }
test int4_row { M=132 K=1056 N=8200 init: integers(-2,2) tol: exact }
test int4_a { B=2 M=4104 K=1920 N=72 init: integers(-2,2) tol: exact }
