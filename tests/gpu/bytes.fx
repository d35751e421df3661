# Products of 8 bits on the tensor cores of sm_90a: f8 by f8 of either kind, integers of either sign; weights of either order, edges of tiles, rows that are no multiple of 16 bytes.
kernel f8_nk(x: f8e4m3[M,K], w: f8e4m3[N,K]) -> y: f32[M,N] { y = x @[K] w }
kernel f8_kn(x: f8e4m3[M,K], w: f8e4m3[K,N]) -> y: bf16[M,N] { y = x @[K] w }
kernel f8_wide(x: f8e5m2[M,K], w: f8e4m3[N,K]) -> y: f32[M,N] { y = x @[K] w }
kernel f8_weight(x: f8e4m3[M,K], w: f8e5m2[N,K], s: f32[N], b: f32[N]) -> y: bf16[M,N] { y = gelu((x @[K] w) * s + b) }
kernel f8_both(x: f8e5m2[B,M,K], w: f8e5m2[B,N,K]) -> y: f16[B,M,N] { y = x @[K] w }
kernel f8_gate(x: f8e4m3[M,K], w: f8e4m3[N,K], v: f8e4m3[N,K], s: f32[M]) -> y: bf16[M,N] { y = silu((x @[K] w) * s) * (x @[K] v) }
kernel f8_exactly(x: f8e4m3[M,K], w: f8e4m3[N,K]) -> y: f32[M,N] with { precision: ieee } { y = x @[K] w }
kernel f8_fixed(x: f8e4m3[M=256,K=512], w: const f8e4m3[K,N=192]) -> y: bf16[M,N] { y = x @[K] w }
kernel i8_nk(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @[K] w }
kernel i8_kn(x: i8[M,K], w: i8[K,N], s: f32[N], r: f32[M]) -> y: bf16[M,N] { y = (x @[K] w) * s * r }
kernel u8_i8(x: u8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @[K] w }
kernel i8_u8(x: i8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @[K] w }
kernel u8_u8(x: u8[M,K], w: u8[N,K], b: i32[N]) -> y: i32[M,N] { y = x @[K] w + b }
kernel i8_gate(x: i8[M,K], w: i8[N,K], v: i8[N,K], s: f32[N]) -> y: bf16[M,N] { y = silu((x @[K] w) * s) * f32(x @[K] v) }
test f8_nk { M=200 K=272 N=136 init: integers(-4,4) tol: exact }
test f8_nk { M=200 K=272 N=136 }
test f8_nk { M=130 K=129 N=70 }
test f8_kn { M=257 K=400 N=144 init: integers(-4,4) tol: exact }
test f8_kn { M=9 K=128 N=264 }
test f8_wide { M=136 K=144 N=200 init: integers(-4,4) tol: exact }
test f8_wide { M=136 K=1040 N=200 }
test f8_weight { M=130 K=256 N=72 }
test f8_both { B=3 M=70 K=160 N=136 init: integers(-2,2) tol: exact }
test f8_gate { M=264 K=208 N=136 }
test f8_exactly { M=136 K=144 N=72 }
test f8_fixed {}
test i8_nk { M=200 K=272 N=136 init: integers(-128,127) tol: exact }
test i8_nk { M=130 K=129 N=70 init: integers(-128,127) tol: exact }
test i8_kn { M=257 K=400 N=144 init: integers(-8,8) }
test u8_i8 { M=136 K=400 N=200 init: integers(0,127) tol: exact }
test i8_u8 { M=136 K=400 N=200 init: integers(0,127) tol: exact }
test u8_u8 { M=136 K=400 N=200 init: integers(0,255) tol: exact }
test i8_gate { M=264 K=208 N=136 init: integers(-3,3) }
# The same small enough for the emulator's suite: more k than is promoted at once, rows and columns that end within a tile.
test f8_nk { M=24 K=272 N=136 init: integers(-4,4) tol: exact }
test f8_nk { M=24 K=272 N=136 }
test f8_nk { M=40 K=129 N=70 }
test f8_kn { M=40 K=144 N=136 init: integers(-4,4) tol: exact }
test f8_wide { M=40 K=144 N=136 }
test f8_weight { M=40 K=144 N=136 }
test f8_both { B=2 M=20 K=144 N=136 init: integers(-2,2) tol: exact }
test f8_gate { M=33 K=144 N=72 }
test f8_exactly { M=40 K=144 N=72 }
test i8_nk { M=40 K=144 N=136 init: integers(-128,127) tol: exact }
test i8_nk { M=40 K=129 N=70 init: integers(-128,127) tol: exact }
test i8_kn { M=40 K=144 N=136 init: integers(-8,8) }
test u8_i8 { M=40 K=144 N=136 init: integers(0,127) tol: exact }
test i8_u8 { M=40 K=144 N=136 init: integers(0,127) tol: exact }
test u8_u8 { M=40 K=144 N=136 init: integers(0,255) tol: exact }
test i8_gate { M=33 K=144 N=72 init: integers(-3,3) }
