# Contractions of every dtype an engine has, in every storage order, at extents beside those of tiles and vectors; integers over their whole range, so that sums wrap.
# `fxc test tests/gpu/contractions.fx` compares each with the oracle: integers bit by bit.
kernel tf32_kk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
# small products of which there are many: sums of terms in the pointwise driver
kernel small(a: f32[B,M=16,K=16], b: f32[B,K,N=16]) -> y: f32[B,M,N] { y = a @ b }
kernel small_half(a: bf16[B,M=5,K=7], b: bf16[B,N=9,K]) -> y: bf16[B,M,N] { y = a @[K] b }
kernel narrow(x: f32[M=16500,K=6], w: f32[N=7,K]) -> y: f32[M,N] { y = relu(x @[K] w) }
kernel twice(p: f32[N=6000,I=3,J=3], f: f32[A=3,I]) -> y: f32[N,A,C=A] { y = sum[I,J](p * f * f[A: idx(C), I: idx(J)]) }
kernel shallow(x: bf16[M,K=3], w: bf16[N,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
test shallow { M=130 N=67 init: integers(-3,3) tol: exact }
test shallow { M=64 N=128 init: integers(-3,3) tol: exact }
test small { B=512 init: integers(-3,3) tol: exact }
test small_half { B=600 init: integers(-3,3) tol: exact }
test narrow { init: integers(-3,3) tol: exact }
test twice { init: integers(-3,3) tol: exact }

test tf32_kk { M=129 N=65 K=127 }
test tf32_kk { M=7 N=63 K=65 }
test tf32_kk { M=128 N=192 K=256 }
kernel tf32_kn(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
test tf32_kn { M=129 N=65 K=127 }
test tf32_kn { M=7 N=63 K=65 }
test tf32_kn { M=128 N=192 K=256 }
kernel tf32_mk(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = x @[K] w }
test tf32_mk { M=129 N=65 K=127 }
test tf32_mk { M=7 N=63 K=65 }
test tf32_mk { M=128 N=192 K=256 }
kernel tf32_mn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } { y = x @[K] w }
test tf32_mn { M=129 N=65 K=127 }
test tf32_mn { M=7 N=63 K=65 }
test tf32_mn { M=128 N=192 K=256 }
kernel f32_kk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @ w }
test f32_kk { M=129 N=65 K=127 }
test f32_kk { M=7 N=63 K=65 }
test f32_kk { M=128 N=192 K=256 }
kernel f32_kn(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }
test f32_kn { M=129 N=65 K=127 }
test f32_kn { M=7 N=63 K=65 }
test f32_kn { M=128 N=192 K=256 }
kernel f32_mk(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
test f32_mk { M=129 N=65 K=127 }
test f32_mk { M=7 N=63 K=65 }
test f32_mk { M=128 N=192 K=256 }
kernel f32_mn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }
test f32_mn { M=129 N=65 K=127 }
test f32_mn { M=7 N=63 K=65 }
test f32_mn { M=128 N=192 K=256 }
kernel f64_kk(x: f64[M,K], w: f64[N,K]) -> y: f64[M,N] { y = x @ w }
test f64_kk { M=129 N=65 K=127 }
test f64_kk { M=7 N=63 K=65 }
test f64_kk { M=128 N=192 K=256 }
kernel f64_kn(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @ w }
test f64_kn { M=129 N=65 K=127 }
test f64_kn { M=7 N=63 K=65 }
test f64_kn { M=128 N=192 K=256 }
kernel f64_mk(x: f64[K,M], w: f64[N,K]) -> y: f64[M,N] { y = x @[K] w }
test f64_mk { M=129 N=65 K=127 }
test f64_mk { M=7 N=63 K=65 }
test f64_mk { M=128 N=192 K=256 }
kernel f64_mn(x: f64[K,M], w: f64[K,N]) -> y: f64[M,N] { y = x @[K] w }
test f64_mn { M=129 N=65 K=127 }
test f64_mn { M=7 N=63 K=65 }
test f64_mn { M=128 N=192 K=256 }
kernel i8_kk(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @ w }
test i8_kk { M=129 N=65 K=127 init: integers(-128,127) }
test i8_kk { M=7 N=63 K=65 init: integers(-128,127) }
test i8_kk { M=128 N=192 K=256 init: integers(-128,127) }
kernel i8_kn(x: i8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
test i8_kn { M=129 N=65 K=127 init: integers(-128,127) }
test i8_kn { M=7 N=63 K=65 init: integers(-128,127) }
test i8_kn { M=128 N=192 K=256 init: integers(-128,127) }
kernel i8_mk(x: i8[K,M], w: i8[N,K]) -> y: i32[M,N] { y = x @[K] w }
test i8_mk { M=129 N=65 K=127 init: integers(-128,127) }
test i8_mk { M=7 N=63 K=65 init: integers(-128,127) }
test i8_mk { M=128 N=192 K=256 init: integers(-128,127) }
kernel i8_mn(x: i8[K,M], w: i8[K,N]) -> y: i32[M,N] { y = x @[K] w }
test i8_mn { M=129 N=65 K=127 init: integers(-128,127) }
test i8_mn { M=7 N=63 K=65 init: integers(-128,127) }
test i8_mn { M=128 N=192 K=256 init: integers(-128,127) }
kernel i8u8_kk(x: i8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @ w }
test i8u8_kk { M=129 N=65 K=127 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_kk { M=7 N=63 K=65 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_kk { M=128 N=192 K=256 x.init: integers(-128,127) w.init: integers(0,255) }
kernel i8u8_kn(x: i8[M,K], w: u8[K,N]) -> y: i32[M,N] { y = x @ w }
test i8u8_kn { M=129 N=65 K=127 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_kn { M=7 N=63 K=65 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_kn { M=128 N=192 K=256 x.init: integers(-128,127) w.init: integers(0,255) }
kernel i8u8_mk(x: i8[K,M], w: u8[N,K]) -> y: i32[M,N] { y = x @[K] w }
test i8u8_mk { M=129 N=65 K=127 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_mk { M=7 N=63 K=65 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_mk { M=128 N=192 K=256 x.init: integers(-128,127) w.init: integers(0,255) }
kernel i8u8_mn(x: i8[K,M], w: u8[K,N]) -> y: i32[M,N] { y = x @[K] w }
test i8u8_mn { M=129 N=65 K=127 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_mn { M=7 N=63 K=65 x.init: integers(-128,127) w.init: integers(0,255) }
test i8u8_mn { M=128 N=192 K=256 x.init: integers(-128,127) w.init: integers(0,255) }
kernel u8i8_kk(x: u8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @ w }
test u8i8_kk { M=129 N=65 K=127 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_kk { M=7 N=63 K=65 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_kk { M=128 N=192 K=256 x.init: integers(0,255) w.init: integers(-128,127) }
kernel u8i8_kn(x: u8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
test u8i8_kn { M=129 N=65 K=127 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_kn { M=7 N=63 K=65 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_kn { M=128 N=192 K=256 x.init: integers(0,255) w.init: integers(-128,127) }
kernel u8i8_mk(x: u8[K,M], w: i8[N,K]) -> y: i32[M,N] { y = x @[K] w }
test u8i8_mk { M=129 N=65 K=127 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_mk { M=7 N=63 K=65 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_mk { M=128 N=192 K=256 x.init: integers(0,255) w.init: integers(-128,127) }
kernel u8i8_mn(x: u8[K,M], w: i8[K,N]) -> y: i32[M,N] { y = x @[K] w }
test u8i8_mn { M=129 N=65 K=127 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_mn { M=7 N=63 K=65 x.init: integers(0,255) w.init: integers(-128,127) }
test u8i8_mn { M=128 N=192 K=256 x.init: integers(0,255) w.init: integers(-128,127) }
kernel u8_kk(x: u8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @ w }
test u8_kk { M=129 N=65 K=127 init: integers(0,255) }
test u8_kk { M=7 N=63 K=65 init: integers(0,255) }
test u8_kk { M=128 N=192 K=256 init: integers(0,255) }
kernel u8_kn(x: u8[M,K], w: u8[K,N]) -> y: i32[M,N] { y = x @ w }
test u8_kn { M=129 N=65 K=127 init: integers(0,255) }
test u8_kn { M=7 N=63 K=65 init: integers(0,255) }
test u8_kn { M=128 N=192 K=256 init: integers(0,255) }
kernel u8_mk(x: u8[K,M], w: u8[N,K]) -> y: i32[M,N] { y = x @[K] w }
test u8_mk { M=129 N=65 K=127 init: integers(0,255) }
test u8_mk { M=7 N=63 K=65 init: integers(0,255) }
test u8_mk { M=128 N=192 K=256 init: integers(0,255) }
kernel u8_mn(x: u8[K,M], w: u8[K,N]) -> y: i32[M,N] { y = x @[K] w }
test u8_mn { M=129 N=65 K=127 init: integers(0,255) }
test u8_mn { M=7 N=63 K=65 init: integers(0,255) }
test u8_mn { M=128 N=192 K=256 init: integers(0,255) }
kernel i32_kk(x: i32[M,K], w: i32[N,K]) -> y: i32[M,N] { y = x @ w }
test i32_kk { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i32_kk { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i32_kk { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i32_kn(x: i32[M,K], w: i32[K,N]) -> y: i32[M,N] { y = x @ w }
test i32_kn { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i32_kn { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i32_kn { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i32_mk(x: i32[K,M], w: i32[N,K]) -> y: i32[M,N] { y = x @[K] w }
test i32_mk { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i32_mk { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i32_mk { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i32_mn(x: i32[K,M], w: i32[K,N]) -> y: i32[M,N] { y = x @[K] w }
test i32_mn { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i32_mn { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i32_mn { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel u32_kk(x: u32[M,K], w: u32[N,K]) -> y: u32[M,N] { y = x @ w }
test u32_kk { M=129 N=65 K=127 init: integers(0,2147483647) }
test u32_kk { M=7 N=63 K=65 init: integers(0,2147483647) }
test u32_kk { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u32_kn(x: u32[M,K], w: u32[K,N]) -> y: u32[M,N] { y = x @ w }
test u32_kn { M=129 N=65 K=127 init: integers(0,2147483647) }
test u32_kn { M=7 N=63 K=65 init: integers(0,2147483647) }
test u32_kn { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u32_mk(x: u32[K,M], w: u32[N,K]) -> y: u32[M,N] { y = x @[K] w }
test u32_mk { M=129 N=65 K=127 init: integers(0,2147483647) }
test u32_mk { M=7 N=63 K=65 init: integers(0,2147483647) }
test u32_mk { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u32_mn(x: u32[K,M], w: u32[K,N]) -> y: u32[M,N] { y = x @[K] w }
test u32_mn { M=129 N=65 K=127 init: integers(0,2147483647) }
test u32_mn { M=7 N=63 K=65 init: integers(0,2147483647) }
test u32_mn { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel i64_kk(x: i64[M,K], w: i64[N,K]) -> y: i64[M,N] { y = x @ w }
test i64_kk { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i64_kk { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i64_kk { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i64_kn(x: i64[M,K], w: i64[K,N]) -> y: i64[M,N] { y = x @ w }
test i64_kn { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i64_kn { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i64_kn { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i64_mk(x: i64[K,M], w: i64[N,K]) -> y: i64[M,N] { y = x @[K] w }
test i64_mk { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i64_mk { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i64_mk { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel i64_mn(x: i64[K,M], w: i64[K,N]) -> y: i64[M,N] { y = x @[K] w }
test i64_mn { M=129 N=65 K=127 init: integers(-2147483648,2147483647) }
test i64_mn { M=7 N=63 K=65 init: integers(-2147483648,2147483647) }
test i64_mn { M=128 N=192 K=256 init: integers(-2147483648,2147483647) }
kernel u64_kk(x: u64[M,K], w: u64[N,K]) -> y: u64[M,N] { y = x @ w }
test u64_kk { M=129 N=65 K=127 init: integers(0,2147483647) }
test u64_kk { M=7 N=63 K=65 init: integers(0,2147483647) }
test u64_kk { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u64_kn(x: u64[M,K], w: u64[K,N]) -> y: u64[M,N] { y = x @ w }
test u64_kn { M=129 N=65 K=127 init: integers(0,2147483647) }
test u64_kn { M=7 N=63 K=65 init: integers(0,2147483647) }
test u64_kn { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u64_mk(x: u64[K,M], w: u64[N,K]) -> y: u64[M,N] { y = x @[K] w }
test u64_mk { M=129 N=65 K=127 init: integers(0,2147483647) }
test u64_mk { M=7 N=63 K=65 init: integers(0,2147483647) }
test u64_mk { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel u64_mn(x: u64[K,M], w: u64[K,N]) -> y: u64[M,N] { y = x @[K] w }
test u64_mn { M=129 N=65 K=127 init: integers(0,2147483647) }
test u64_mn { M=7 N=63 K=65 init: integers(0,2147483647) }
test u64_mn { M=128 N=192 K=256 init: integers(0,2147483647) }
kernel f16_kk(x: f16[M,K], w: f16[N,K]) -> y: f32[M,N] { y = x @ w }
test f16_kk { M=129 N=65 K=127 }
test f16_kk { M=7 N=63 K=65 }
test f16_kk { M=128 N=192 K=256 }
kernel f16_kn(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = x @ w }
test f16_kn { M=129 N=65 K=127 }
test f16_kn { M=7 N=63 K=65 }
test f16_kn { M=128 N=192 K=256 }
kernel f16_mk(x: f16[K,M], w: f16[N,K]) -> y: f32[M,N] { y = x @[K] w }
test f16_mk { M=129 N=65 K=127 }
test f16_mk { M=7 N=63 K=65 }
test f16_mk { M=128 N=192 K=256 }
kernel f16_mn(x: f16[K,M], w: f16[K,N]) -> y: f32[M,N] { y = x @[K] w }
test f16_mn { M=129 N=65 K=127 }
test f16_mn { M=7 N=63 K=65 }
test f16_mn { M=128 N=192 K=256 }
kernel bf16_kk(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M,N] { y = x @ w }
test bf16_kk { M=129 N=65 K=127 }
test bf16_kk { M=7 N=63 K=65 }
test bf16_kk { M=128 N=192 K=256 }
kernel bf16_kn(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = x @ w }
test bf16_kn { M=129 N=65 K=127 }
test bf16_kn { M=7 N=63 K=65 }
test bf16_kn { M=128 N=192 K=256 }
kernel bf16_mk(x: bf16[K,M], w: bf16[N,K]) -> y: f32[M,N] { y = x @[K] w }
test bf16_mk { M=129 N=65 K=127 }
test bf16_mk { M=7 N=63 K=65 }
test bf16_mk { M=128 N=192 K=256 }
kernel bf16_mn(x: bf16[K,M], w: bf16[K,N]) -> y: f32[M,N] { y = x @[K] w }
test bf16_mn { M=129 N=65 K=127 }
test bf16_mn { M=7 N=63 K=65 }
test bf16_mn { M=128 N=192 K=256 }

# batch axes, labels that do not merge, none at all
kernel batched(x: i8[B,M,K], w: u8[B,N,K]) -> y: i32[B,M,N] { y = x @ w }
test batched { B=3 M=65 N=33 K=130 }
test batched { B=1 M=1 N=1 K=1 }
test batched { B=2 M=5 N=7 K=0 tol: exact }
kernel apart(x: f32[K,M,P], w: f32[K,N,P]) -> y: f32[P,M,N] with { precision: tf32 } { y = x @[K] w }
test apart { P=3 M=65 N=66 K=67 }
kernel bytes_apart(x: u8[K,M,P], w: i8[K,N,P]) -> y: i32[P,M,N] { y = x @[K] w }
test bytes_apart { P=3 M=65 N=66 K=67 }
kernel two_sums(x: f64[M,J,K], w: f64[K,N,J]) -> y: f64[M,N] { y = sum[J,K](x * w) }
test two_sums { M=33 N=65 J=5 K=17 }

# factors that an engine reads in another dtype than they are stored in
kernel eights(x: f8e4m3[M,K], w: f8e5m2[N,K]) -> y: f32[M,N] { y = x @ w }
test eights { M=65 N=64 K=96 }
kernel eights_beside(x: f8e4m3[M,K], w: bf16[K,N]) -> y: bf16[M,N] with { precision: ieee } { y = x @ w }
test eights_beside { M=65 N=64 K=96 }
kernel bytes_beside(x: bf16[M,K], w: u8[K,N]) -> y: f32[M,N] with { precision: ieee } { y = x @ w }
test bytes_beside { M=65 N=64 K=96 w.init: integers(0,255) }
kernel nibbles(x: u8[M,K], w: i4[N,K] packed(i32, K, msb)) -> y: i32[M,N] { y = x @ w }
test nibbles { M=65 N=64 K=97 x.init: integers(0,255) }
kernel masked(x: bool[M,K], w: u8[K,N]) -> y: i32[M,N] { y = x @ w }
test masked { M=65 N=64 K=96 w.init: integers(0,255) }
kernel shorts(x: i16[M,K], w: i16[K,N]) -> y: i32[M,N] { y = x @ w }
test shorts { M=65 N=64 K=96 init: integers(-32768,32767) }
kernel wide(x: u32[M,K], w: i32[K,N]) -> y: i64[M,N] { y = x @ w }
test wide { M=65 N=64 K=96 x.init: integers(0,2147483647) w.init: integers(-2147483648,2147483647) }
kernel scaled(x: i8[M,K], w: i8[N,K], s: f32[N]) -> y: f16[M,N] { y = (x @ w) * s * 0.001 }
test scaled { M=65 N=64 K=96 init: integers(-100,100) }
kernel windowed(x: i8[B,C,H], k: i8[O,C,U=3]) -> y: i32[B,H,O] { y = sum[C,U]((x[H: H+U-1] ?? 0) * k) }
test windowed { B=3 C=17 H=40 O=33 init: integers(-128,127) }

# the same as they are loaded, and other operands that are computed, in every engine
kernel made_f8_kk(x: f8e4m3[M,K], w: f8e5m2[N,K]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
test made_f8_kk { M=65 N=63 K=129 }
test made_f8_kk { M=72 N=80 K=144 }
kernel made_f8_kn(x: f8e4m3[M,K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
test made_f8_kn { M=65 N=63 K=129 }
test made_f8_kn { M=72 N=80 K=144 }
kernel made_f8_mn(x: bf16[K,M], w: f8e4m3[K,N]) -> y: f32[M,N] with { fuse: require } { y = x @[K] w }
test made_f8_mn { M=65 N=63 K=129 }
test made_f8_mn { M=72 N=80 K=144 }
kernel made_f8_f16(x: f8e4m3[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } { y = x @ w }
test made_f8_f16 { M=65 N=63 K=129 }
test made_f8_f16 { M=72 N=80 K=144 }
kernel made_i8_scaled(x: bf16[M,K], w: i8[N,K], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = x @ (w * s) }
test made_i8_scaled { M=65 N=63 K=129 w.init: integers(-128,127) }
test made_i8_scaled { M=72 N=80 K=144 w.init: integers(-128,127) }
kernel made_u8(x: bf16[M,K], w: u8[K,N]) -> y: bf16[M,N] with { fuse: require, precision: ieee } { y = x @ w }
test made_u8 { M=65 N=63 K=129 w.init: integers(0,255) }
test made_u8 { M=72 N=80 K=144 w.init: integers(0,255) }
kernel made_nibbles_kk(x: u8[M,K], w: i4[N,K] packed(i32, K, msb)) -> y: i32[M,N] with { fuse: require } { y = x @ w }
test made_nibbles_kk { M=65 N=63 K=129 x.init: integers(0,255) }
test made_nibbles_kk { M=72 N=80 K=144 x.init: integers(0,255) }
kernel made_nibbles_kn(x: u8[M,K], w: i4[K,N] packed(i32, N, lsb), z: i32[N]) -> y: i32[M,N] with { fuse: require } { y = x @ w + z }
test made_nibbles_kn { M=65 N=63 K=129 x.init: integers(0,255) }
test made_nibbles_kn { M=72 N=80 K=144 x.init: integers(0,255) }
kernel made_nibbles_mk(x: u4[K,M] packed(i32, M, lsb), w: i8[N,K], z: i32[M]) -> y: i32[M,N] with { fuse: require } { y = x @[K] w + z }
test made_nibbles_mk { M=65 N=63 K=129 w.init: integers(-128,127) }
test made_nibbles_mk { M=72 N=80 K=144 w.init: integers(-128,127) }
kernel made_mask_kn(x: bool[M,K], w: u8[K,N]) -> y: i32[M,N] with { fuse: require } { y = x @ w }
test made_mask_kn { M=65 N=63 K=129 w.init: integers(0,255) }
test made_mask_kn { M=72 N=80 K=144 w.init: integers(0,255) }
kernel made_mask_b(x: i8[M,K], w: bool[K,N]) -> y: i32[M,N] with { fuse: require } { y = x @ w }
test made_mask_b { M=65 N=63 K=129 x.init: integers(-128,127) }
test made_mask_b { M=72 N=80 K=144 x.init: integers(-128,127) }
kernel made_masks(x: bool[K,M], w: bool[K,N]) -> y: i32[M,N] with { fuse: require } { y = x @[K] w }
test made_masks { M=65 N=63 K=129 }
test made_masks { M=72 N=80 K=144 }
kernel made_shorts(x: i16[M,K], w: i16[K,N]) -> y: i32[M,N] with { fuse: require } { y = x @ w }
test made_shorts { M=65 N=63 K=129 init: integers(-32768,32767) }
test made_shorts { M=72 N=80 K=144 init: integers(-32768,32767) }
kernel made_shorts_kk(x: i16[M,K], w: i32[N,K]) -> y: i32[M,N] with { fuse: require } { y = x @ w }
test made_shorts_kk { M=65 N=63 K=129 init: integers(-32768,32767) }
test made_shorts_kk { M=72 N=80 K=144 init: integers(-32768,32767) }
kernel made_longs(x: u32[M,K], w: i32[K,N]) -> y: i64[M,N] with { fuse: require } { y = x @ w }
test made_longs { M=65 N=63 K=129 x.init: integers(0,2147483647) w.init: integers(-2147483648,2147483647) }
test made_longs { M=72 N=80 K=144 x.init: integers(0,2147483647) w.init: integers(-2147483648,2147483647) }
kernel made_doubles(x: f32[M,K], w: f64[K,N], s: f64[K]) -> y: f64[M,N] with { fuse: require } { y = (x * s) @ w }
test made_doubles { M=65 N=63 K=129 }
test made_doubles { M=72 N=80 K=144 }
kernel made_tf32_kk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, precision: tf32 } { y = relu(x) @ w }
test made_tf32_kk { M=65 N=63 K=129 }
test made_tf32_kk { M=72 N=80 K=144 }
kernel made_tf32_kn(x: f32[M,K], w: f16[K,N], s: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } { y = x @ exp(w * s) }
test made_tf32_kn { M=65 N=63 K=129 }
test made_tf32_kn { M=72 N=80 K=144 }
kernel made_tf32_mn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } { y = relu(x) @[K] exp(w) }
test made_tf32_mn { M=65 N=63 K=129 }
test made_tf32_mn { M=72 N=80 K=144 }

# several sums in one mainloop
kernel sums_tf32(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] with { precision: tf32, fuse: require } { y = (x @ w) * sigmoid(x @ v) }
test sums_tf32 { M=65 N=63 K=129 }
test sums_tf32 { M=72 N=80 K=144 }
kernel sums_tf32_three(x: f32[M,K], w: f32[K,N], v: f32[K,N], u: f32[K,N]) -> y: f32[M,N] with { precision: tf32, fuse: require } { y = (x @ w) * sigmoid(x @ v) + (x @ u) }
test sums_tf32_three { M=65 N=63 K=129 }
test sums_tf32_three { M=72 N=80 K=144 }
kernel sums_tf32_made(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] with { precision: tf32, fuse: require } { y = (relu(x) @ w) * sigmoid(relu(x) @ v) }
test sums_tf32_made { M=65 N=63 K=129 }
test sums_tf32_made { M=72 N=80 K=144 }
kernel sums_i8_kk(x: i8[M,K], w: i8[N,K], v: i8[N,K]) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_i8_kk { M=65 N=63 K=129 init: integers(-128,127) }
test sums_i8_kk { M=72 N=80 K=144 init: integers(-128,127) }
kernel sums_i8_kn(x: i8[M,K], w: i8[K,N], v: i8[K,N]) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_i8_kn { M=65 N=63 K=129 init: integers(-128,127) }
test sums_i8_kn { M=72 N=80 K=144 init: integers(-128,127) }
kernel sums_nibbles(x: i8[M,K], w: i4[N,K] packed(i32, K, lsb), v: i4[N,K] packed(i32, K, lsb)) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_nibbles { M=65 N=63 K=129 x.init: integers(-128,127) }
test sums_nibbles { M=72 N=80 K=144 x.init: integers(-128,127) }
kernel sums_f64(x: f64[M,K], w: f64[K,N], v: f64[K,N]) -> y: f64[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_f64 { M=65 N=63 K=129 }
test sums_f64 { M=72 N=80 K=144 }
kernel sums_f64_four(x: f64[M,K], w: f64[N,K], v: f64[N,K], a: f64[N,K], b: f64[N,K]) -> y: f64[M,N] with { fuse: require } { y = (x @ w) * (x @ v) + (x @ a) * (x @ b) }
test sums_f64_four { M=65 N=63 K=129 }
test sums_f64_four { M=72 N=80 K=144 }
kernel sums_i64_four(x: i64[M,K], w: i64[K,N], v: i64[K,N], a: i64[K,N], b: i64[K,N]) -> y: i64[M,N] with { fuse: require } { y = (x @ w) * (x @ v) + (x @ a) * (x @ b) }
test sums_i64_four { M=65 N=63 K=129 init: integers(-2147483648,2147483647) }
test sums_i64_four { M=72 N=80 K=144 init: integers(-2147483648,2147483647) }
kernel sums_i32(x: i32[M,K], w: i32[K,N], v: i32[K,N]) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_i32 { M=65 N=63 K=129 init: integers(-2147483648,2147483647) }
test sums_i32 { M=72 N=80 K=144 init: integers(-2147483648,2147483647) }
kernel sums_shorts(x: i16[M,K], w: i16[K,N], v: i16[K,N]) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
test sums_shorts { M=65 N=63 K=129 init: integers(-32768,32767) }
test sums_shorts { M=72 N=80 K=144 init: integers(-32768,32767) }
kernel sums_f64_made(x: f32[M,K], w: f64[K,N], v: f64[K,N], a: f64[K,N], b: f64[K,N]) -> y: f64[M,N] with { fuse: require } { y = (x @ w) * (x @ v) + (x @ a) * (x @ b) }
test sums_f64_made { M=65 N=63 K=129 }
test sums_f64_made { M=72 N=80 K=144 }
# elements chosen, not computed: none is rounded, whatever the other factor is; bytes stay bytes
kernel chosen_f8(a: f8e4m3[M,P], b: f32[M,Q], w: f8e4m3[K=P+Q,N]) -> y: f32[M,N] { y = concat[K](a{P->K}, b{Q->K}) @ w }
test chosen_f8 { M=65 P=40 Q=24 N=72 }
test chosen_f8 { M=17 P=9 Q=22 N=33 }
kernel chosen_f32(x: f32[M,K], m: bool[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = where(m, x, 0) @ w }
test chosen_f32 { M=65 K=64 N=72 }
kernel chosen_f16(x: f16[M,K], m: bool[M,K], w: f16[K,N]) -> y: f32[M,N] with { fuse: require, precision: ieee } { y = where(m, x, 0) @ w }
test chosen_f16 { M=65 K=64 N=72 }
test chosen_f16 { M=17 K=31 N=33 }
kernel chosen_i8(x: i8[M,K], m: bool[M,K], w: i8[K,N]) -> y: i32[M,N] with { fuse: require } { y = where(m, x, -128) @ w }
test chosen_i8 { M=65 K=64 N=72 init: integers(-128,127) m.init: integers(0,1) }
test chosen_i8 { M=17 K=31 N=33 init: integers(-128,127) m.init: integers(0,1) }
# a loop that reads the accumulator, to one value for all elements of a tile
kernel most_of_q(x: f32[K,Q=4,N,M=1], w: bf16[Q]) -> y: f32[K,N,M,Q] { h = sigmoid(sin(gelu(w))) * (w - 0); y = exp(max(w @[Q] x, w * 0.25)) * max[Q](max(h @[Q] w, w)) }
test most_of_q { K=3 N=5 }

# A segment whose rows are no multiple of 16 bytes, which tensor maps cannot describe, beside one that may be aligned; as long as nothing; over two axes.
kernel never_aligned(x: bf16[M,K], w: bf16[N,K], u: bf16[M,R=5], v: bf16[R,N]) -> y: bf16[M,N] { y = x @[K] w + u @ v }
test never_aligned { M=136 K=72 N=264 init: integers(-2,2) }
kernel two_segments(x: f16[M,K], w: f16[N,K], u: f16[M,R], v: f16[R,N], b: f16[N]) -> y: f16[M,N] { y = gelu(x @[K] w + u @ v + b) }
test two_segments { M=136 K=72 R=8 N=264 init: integers(-2,2) }
test two_segments { M=136 K=72 R=0 N=264 init: integers(-2,2) }
test two_segments { M=136 K=0 R=8 N=264 init: integers(-2,2) }

# slices of k: of 16-bit floats, f32, bytes, a computed factor, with batches, an epilogue and two labels
kernel slices(x: bf16[M=40,K=4096], w: bf16[K,N=72], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }
test slices { init: integers(-2,2) }
kernel slices_f32(x: f32[M=33,K=2048], w: f32[N=40,K]) -> (y: f32[M,N], s: f32[M]) { y = relu(x @[K] w); s = sum[N](y) }
test slices_f32 { init: integers(-2,2) }
kernel slices_i8(x: i8[M=40,K=4096], w: i8[N=64,K]) -> y: i32[M,N] { y = x @[K] w }
test slices_i8 { init: integers(-128,127) }
kernel slices_computed(x: f16[B=3,M=16,K=4096], w: i8[B,N=64,K], s: f32[N]) -> y: f32[B,M,N] { y = s * (x @[K] w) }
test slices_computed { init: integers(-2,2) }
kernel slices_of_two(x: f16[M=32,K=2048,P=3], w: f16[K,P,N=64]) -> y: f16[M,N] { y = sum[K,P](x * w) }
test slices_of_two { init: integers(-1,1) }
# operands that tensor maps describe, outputs that they do not
kernel odd_store(x: f16[M,K], w: f16[N,K]) -> y: f16[M,N] { y = x @[K] w }
test odd_store { M=127 N=129 K=64 init: integers(-2,2) }
test odd_store { M=70 N=133 K=72 init: integers(-2,2) }
kernel slices_of_outer(x: f32[B=24,I=256], w: f32[O=20,I,J=256], v: f32[B,J]) -> z: f32[B,O] { z = sum[I,J](x * w * v) }
test slices_of_outer { init: integers(-1,1) }
# labels of m and of n apart: each factor is stored with them as one run, as long as a tile
kernel pieces(a: bf16[A,K,B,L], b: bf16[L,D,K,E]) -> c: bf16[A,B,D,E] { c = sum[K,L](a * b) }
test pieces { A=3 K=5 B=16 L=8 D=3 E=8 init: integers(-3,3) tol: exact }
test pieces { A=5 K=3 B=24 L=16 D=9 E=16 }
kernel pieces_turned(a: bf16[A,K,B,L], b: bf16[L,D,K,E]) -> c: f32[E,D,B,A] { c = sum[K,L](a * b) }
test pieces_turned { A=3 K=5 B=16 L=8 D=3 E=8 init: integers(-3,3) tol: exact }

# The batch label lies contiguous in both factors, which long sums copy with it outermost.
kernel triangle(a: bf16[I,K,C], b: bf16[J,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel triangle_read(a: bf16[I,K,C], b: bf16[J,K,C]) -> (z: bf16[I,J,C], m: f32[C]) {
  z = sum[K](a * b)
  m = max[I,J](z)
}
test triangle { I=130 J=70 K=72 C=24 init: integers(-2,2) seed: 1 tol: exact }
test triangle_read { I=130 J=70 K=72 C=24 init: integers(-2,2) seed: 1 tol: exact }
test triangle { I=130 J=70 K=344 C=24 init: integers(-2,2) seed: 2 tol: exact } # copied
test triangle_read { I=130 J=70 K=344 C=24 init: integers(-2,2) seed: 2 tol: exact }

# A sum that the kernel has in registers, read at other elements too: there it is read from memory, in another kernel.
kernel sum_turned(x: f16[M,K], w: f16[K,N], u: f16[K,N]) -> (a: f32[M,N], b: f32[M,N]) {
  p = x @ w
  q = x @ u
  a = p * q
  b = p + q[N: size(N) - 1 - N]
}
test sum_turned { M=37 K=40 N=24 init: integers(-2,2) tol: exact }
test sum_turned { M=3 K=16 N=8 seed: 1 }
