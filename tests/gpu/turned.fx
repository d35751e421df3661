# Tensors with rows contiguous where columns are stored: words of two and four rows, of which some rows have no whole ones; few tiles, which are read element by element.
kernel i8_turned(x: i8[K,N]) -> y: i8[N,K] { y = x }
kernel u8_both(x: u8[K,N], z: u8[K,N], t: u8[K]) -> y: u8[N,K] { y = max(max(x, z), t) }
kernel bool_turned(x: bool[K,N], z: u8[N,K]) -> y: u8[N,K] { y = where(x, z, 0) }
kernel f8_turned(x: f8e5m2[K,N]) -> y: f8e5m2[N,K] { y = x }
kernel bf16_turned(x: bf16[K,N], z: f32[N,K]) -> y: bf16[N,K] { y = silu(x) * z }
kernel i16_turned(x: i16[B,K,N]) -> y: i16[B,N,K] { y = x }
kernel f16_both(x: f16[K,N], z: f16[K,N], w: f16[N,K]) -> y: f16[N,K] { y = x * z + w }
kernel widths(x: i8[K,N], z: f16[K,N]) -> y: f16[N,K] { y = x * z }
kernel planes(x: f8e4m3[B,K,H,W]) -> y: f8e4m3[B,H,W,K] { y = x }
kernel f8_product(x: f8e5m2[M,K], w: f8e5m2[K,N]) -> y: f32[M,N] { y = x @[K] w }
test i8_turned { K=48 N=20 init: integers(-128,127) tol: exact }
test i8_turned { K=272 N=260 init: integers(-128,127) tol: exact }
test i8_turned { K=272 N=259 init: integers(-128,127) tol: exact }
test i8_turned { K=293 N=260 init: integers(-128,127) tol: exact }
test u8_both { K=208 N=200 init: integers(0,255) tol: exact }
test u8_both { K=208 N=201 init: integers(0,255) tol: exact }
test bool_turned { K=208 N=204 init: integers(0,1) tol: exact }
test bool_turned { K=208 N=205 init: integers(0,1) tol: exact }
test f8_turned { K=272 N=200 }
test bf16_turned { K=136 N=198 }
test bf16_turned { K=136 N=199 }
test i16_turned { B=3 K=136 N=134 init: integers(-32768,32767) tol: exact }
test i16_turned { B=3 K=136 N=133 init: integers(-32768,32767) tol: exact }
test f16_both { K=136 N=198 init: integers(-8,8) tol: exact }
test widths { K=80 N=68 init: integers(-8,8) tol: exact }
test planes { B=2 K=144 H=10 W=12 init: integers(-8,8) tol: exact }
test planes { B=2 K=144 H=11 W=10 init: integers(-8,8) tol: exact }
test f8_product { M=40 K=272 N=200 init: integers(-4,4) tol: exact }
# Factors of 16 bits that are stored as the tensor lies that they are computed from, where its last extent may be copied as vectors.
kernel kept(x: bf16[M,K], w: i8[K,N=72]) -> y: bf16[M,N] with { fuse: never } { y = x @[K] w }
kernel not_kept(x: bf16[M,K], w: i8[K,N=70]) -> y: bf16[M,N] with { fuse: never } { y = x @[K] w }
kernel kept_words(x: bf16[M,K], w: i4[K,N] packed(i32, N, lsb), s: f32[N]) -> y: bf16[M,N] with { fuse: never } { y = x @[K] bf16(w * s) }
kernel kept_batch(x: bf16[B,M,K], w: f32[B,K,N=136]) -> y: bf16[B,M,N] with { fuse: never } { y = x @[K] bf16(w) }
kernel kept_first(x: f32[K,M=136], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: never } { y = bf16(x) @[K] w }
kernel kept_phase(x: bf16[M,K], w: i8[K,N=72], s: f32[N], t: f32[K]) -> y: bf16[M,N] with { fuse: require } { y = x @[K] bf16(w * s + t) }
test kept { M=40 K=136 init: integers(-4,4) tol: exact }
test not_kept { M=40 K=136 init: integers(-4,4) tol: exact }
test kept_words { M=40 K=136 N=72 init: integers(-4,4) tol: exact }
test kept_words { M=40 K=136 N=69 init: integers(-4,4) tol: exact }
test kept_batch { B=2 M=40 K=72 init: integers(-4,4) tol: exact }
test kept_first { N=40 K=72 init: integers(-4,4) tol: exact }
test kept_phase { M=40 K=136 init: integers(-4,4) }
