# Contractions with a few rows on one side, which the skinny driver takes: every dtype, storage order and way in which operands are made; extents beside those of chunks, lanes and
# warps. Integers are small enough for every sum to be exact.
kernel bf16_kk(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }
test bf16_kk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test bf16_kk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test bf16_kk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test bf16_kk { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test bf16_kk { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel bf16_kn(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @[K] w }
test bf16_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test bf16_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test bf16_kn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test bf16_kn { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test bf16_kn { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel bf16_mk(x: bf16[K,M], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }
test bf16_mk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test bf16_mk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test bf16_mk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test bf16_mk { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test bf16_mk { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel bf16_mn(x: bf16[K,M], w: bf16[K,N]) -> y: bf16[M,N] { y = x @[K] w }
test bf16_mn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test bf16_mn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test bf16_mn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test bf16_mn { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test bf16_mn { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel f16_kk(x: f16[M,K], w: f16[N,K]) -> y: f16[M,N] { y = x @[K] w }
test f16_kk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f16_kk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f16_kk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f16_kk { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test f16_kk { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel f16_kn(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = x @[K] w }
test f16_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f16_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f16_kn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f16_kn { M=16 N=48 K=128 init: integers(-2,2) tol: exact }
test f16_kn { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
kernel f32_kk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
test f32_kk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f32_kk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f32_kk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f32_kk { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f32_kn(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }
test f32_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f32_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f32_kn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f32_kn { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f32_mk(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
test f32_mk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f32_mk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f32_mk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f32_mk { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f32_mn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }
test f32_mn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f32_mn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f32_mn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f32_mn { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f64_kk(x: f64[M,K], w: f64[N,K]) -> y: f64[M,N] { y = x @[K] w }
test f64_kk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f64_kk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f64_kk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f64_kk { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f64_kn(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @[K] w }
test f64_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f64_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f64_kn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f64_kn { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
test f64_kn { M=3 N=34 K=70 init: integers(-2,2) tol: exact } # k ends within a product's four, and with the tensor
kernel f64_mk(x: f64[K,M], w: f64[N,K]) -> y: f64[M,N] { y = x @[K] w }
test f64_mk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f64_mk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f64_mk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f64_mk { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel f64_mn(x: f64[K,M], w: f64[K,N]) -> y: f64[M,N] { y = x @[K] w }
test f64_mn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test f64_mn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test f64_mn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test f64_mn { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel i32_kk(x: i32[M,K], w: i32[N,K]) -> y: i32[M,N] { y = x @[K] w }
test i32_kk { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test i32_kk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test i32_kk { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test i32_kk { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel i32_kn(x: i32[M,K], w: i32[K,N]) -> y: i32[M,N] { y = x @[K] w }
test i32_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test i32_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test i32_kn { M=8 N=64 K=1000 init: integers(-2,2) tol: exact }
test i32_kn { M=6 N=9 K=61 init: integers(-2,2) tol: exact }
kernel i8_i8(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @ w }
test i8_i8 { M=1 N=40 K=256 init: integers(-128,127) }
test i8_i8 { M=16 N=33 K=96 init: integers(-128,127) }
test i8_i8 { M=5 N=20 K=77 init: integers(-128,127) }
kernel u8_i8(x: u8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @ w }
test u8_i8 { M=1 N=40 K=256 x.init: integers(0,255) w.init: integers(-128,127) }
test u8_i8 { M=16 N=33 K=96 x.init: integers(0,255) w.init: integers(-128,127) }
test u8_i8 { M=5 N=20 K=77 x.init: integers(0,255) w.init: integers(-128,127) }
kernel i8_u8(x: i8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @ w }
test i8_u8 { M=1 N=40 K=256 w.init: integers(0,255) x.init: integers(-128,127) }
test i8_u8 { M=16 N=33 K=96 w.init: integers(0,255) x.init: integers(-128,127) }
test i8_u8 { M=5 N=20 K=77 w.init: integers(0,255) x.init: integers(-128,127) }
kernel swapped(x: bf16[J,L], v: bf16[L,C]) -> z: bf16[J,C] { z = x @[L] v }
test swapped { J=70 L=256 C=1 init: integers(-2,2) tol: exact }
test swapped { J=33 L=80 C=5 init: integers(-2,2) tol: exact }
test swapped { J=40 L=72 C=16 init: integers(-2,2) tol: exact }
kernel swapped_f32(x: f32[J,L], v: f32[C,L]) -> z: f32[J,C] { z = x @[L] v }
test swapped_f32 { J=70 L=256 C=1 init: integers(-2,2) tol: exact }
test swapped_f32 { J=33 L=80 C=3 init: integers(-2,2) tol: exact }
test swapped_f32 { J=40 L=74 C=8 init: integers(-2,2) tol: exact }
kernel swapped_mn(x: f16[L,J], v: f16[L,C]) -> z: f16[J,C] { z = x @[L] v }
test swapped_mn { J=72 L=256 C=2 init: integers(-2,2) tol: exact }
test swapped_mn { J=33 L=83 C=9 init: integers(-2,2) tol: exact }
kernel gate_swapped(x: bf16[J,L], v: bf16[L,C], u: bf16[L,C]) -> z: bf16[J,C] { z = x @[L] v + 2 * (x @[L] u) }
test gate_swapped { J=70 L=256 C=2 init: integers(-2,2) tol: exact }
test gate_swapped { J=33 L=80 C=9 init: integers(-2,2) tol: exact }
kernel gate(x: bf16[M,K], w: bf16[N,K], u: bf16[N,K]) -> y: bf16[M,N] { y = (x @ w) * 2 + x @ u }
test gate { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test gate { M=12 N=24 K=64 init: integers(-2,2) tol: exact }
kernel gate_kn(x: f32[M,K], w: f32[K,N], u: f32[K,N]) -> y: f32[M,N] { y = (x @ w) * 2 + x @ u }
test gate_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test gate_kn { M=7 N=24 K=64 init: integers(-2,2) tol: exact }
kernel segments(x: bf16[M,K], w: bf16[N,K], a: bf16[M,R], b: bf16[N,R=5]) -> y: bf16[M,N] { y = x @ w + a @[R] b }
test segments { M=2 N=40 K=256 init: integers(-2,2) tol: exact }
test segments { M=9 N=24 K=64 init: integers(-2,2) tol: exact }
kernel batches(x: bf16[H,M,D], w: bf16[H,N,D]) -> y: bf16[H,M,N] { y = x @[D] w }
test batches { H=3 M=1 N=40 D=64 init: integers(-2,2) tol: exact }
test batches { H=2 M=7 N=20 D=72 init: integers(-2,2) tol: exact }
kernel outer(x: bf16[M,P,K], w: bf16[P,N,K]) -> y: bf16[M,N] { y = x @[P,K] w }
test outer { M=3 N=24 K=64 P=3 init: integers(-2,2) tol: exact }
test outer { M=9 N=24 K=33 P=2 init: integers(-2,2) tol: exact }
kernel strided_w(x: bf16[M,K], w: bf16[N,K] strided) -> y: bf16[M,N] { y = x @ w }
test strided_w { M=3 N=24 K=64 init: integers(-2,2) tol: exact }
kernel w8(x: bf16[M,K], w: i8[N,K], s: bf16[N]) -> y: bf16[M,N] with { fuse: require } { y = (x @ bf16(w)) * s }
test w8 { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test w8 { M=16 N=33 K=96 init: integers(-2,2) tol: exact }
test w8 { M=5 N=20 K=77 init: integers(-2,2) tol: exact }
kernel w8_kn(x: bf16[M,K], w: i8[K,N], s: bf16[N]) -> y: bf16[M,N] with { fuse: require } { y = (x @ bf16(w)) * s }
test w8_kn { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test w8_kn { M=16 N=33 K=96 init: integers(-2,2) tol: exact }
kernel w8_f32(x: f32[M,K], w: i8[N,K]) -> y: f32[M,N] with { fuse: require } { y = x @ f32(w) }
test w8_f32 { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test w8_f32 { M=6 N=33 K=96 init: integers(-2,2) tol: exact }
kernel wf8(x: bf16[M,K], w: f8e4m3[N,K]) -> y: bf16[M,N] with { fuse: require } { y = x @ w }
test wf8 { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test wf8 { M=16 N=33 K=80 init: integers(-2,2) tol: exact }
kernel w4_128(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), s: bf16[N, G=K/128], z: u4[N, G=K/128] packed(i32, G, lsb)) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - z[G: idx(K) // 128]) * s[G: idx(K) // 128]) }
test w4_128 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_128 { M=16 N=17 K=512 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_128 { M=5 N=20 K=384 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
kernel w4_64(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), s: bf16[N, G=K/64], z: u4[N, G=K/64] packed(i32, G, lsb)) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - z[G: idx(K) // 64]) * s[G: idx(K) // 64]) }
test w4_64 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_64 { M=16 N=17 K=512 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_64 { M=5 N=20 K=384 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
kernel w4_16(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), s: bf16[N, G=K/16], z: u4[N, G=K/16] packed(i32, G, lsb)) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - z[G: idx(K) // 16]) * s[G: idx(K) // 16]) }
test w4_16 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_16 { M=16 N=17 K=512 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_16 { M=5 N=20 K=384 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
kernel w4_8(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), s: bf16[N, G=K/8], z: u4[N, G=K/8] packed(i32, G, lsb)) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - z[G: idx(K) // 8]) * s[G: idx(K) // 8]) }
test w4_8 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_8 { M=16 N=17 K=512 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
test w4_8 { M=5 N=20 K=384 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) tol: exact }
kernel i4_n(x: f16[M,K], w: i4[K,N] packed(i32, N, lsb), s: f16[G=K/32,N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16(w * s[G: idx(K) // 32]) }
test i4_n { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test i4_n { M=16 N=24 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
kernel quant(scale: f32[J, G=L/8], offset: u4[J, G=L/8] packed(i32, G, lsb), weight: u4[J, L] packed(i32, L, lsb), activation: f32[L,C]) -> z: f32[J,C] with { fuse: require } { z = (scale[G: L/8] * (weight - offset[G: L/8])) @[L] activation }
test quant { J=40 L=256 C=1 init: integers(-2,2) weight.init: integers(-2000000000,2000000000) offset.init: integers(-2000000000,2000000000) tol: exact }
test quant { J=17 L=192 C=8 init: integers(-2,2) weight.init: integers(-2000000000,2000000000) offset.init: integers(-2000000000,2000000000) tol: exact }
kernel normed(x: bf16[M,K], g: bf16[K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = (x * g) @ w }
test normed { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test normed { M=9 N=33 K=75 init: integers(-2,2) tol: exact }
kernel scaled_rows(x: bf16[M,K], g: bf16[M], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] with { fuse: require } { y = relu(bf16(x * g) @ w + b) }
test scaled_rows { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test scaled_rows { M=9 N=33 K=75 init: integers(-2,2) tol: exact }
kernel epilogue(x: bf16[M,K], w: bf16[N,K], b: bf16[N], r: bf16[M,N]) -> (y: bf16[M,N], h: f32[M,N]) { h = x @ w + b
  y = relu(h) + r }
test epilogue { M=1 N=40 K=256 init: integers(-2,2) tol: exact }
test epilogue { M=9 N=33 K=75 init: integers(-2,2) tol: exact }
# Two 16-bit floats of a word at a time: fields of either order and sign, bytes, zero points on either side.
kernel h_const(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), s: bf16[N, G=K/128]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - 8) * s[G: idx(K) // 128]) }
test h_const { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_const { M=16 N=17 K=512 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_const { M=40 N=72 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
kernel h_msb(x: f16[M,K], w: u4[N,K] packed(u32, K, msb), s: f16[N, G=K/32]) -> y: f32[M,N] with { fuse: require } { y = x @ f16((8 - w) * s[G: idx(K) // 32]) }
test h_msb { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,4000000000) tol: exact }
test h_msb { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,4000000000) tol: exact }
test h_msb { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,4000000000) tol: exact }
kernel h_signed(x: bf16[M,K], w: i4[N,K] packed(i32, K, lsb), s: bf16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w + 3) * s) }
test h_signed { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_signed { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_signed { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
kernel h_signed_msb(x: f16[M,K], w: i4[N,K] packed(i32, K, msb)) -> y: f32[M,N] with { fuse: require } { y = x @ f16(w) }
test h_signed_msb { M=1 N=40 K=256 x.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_signed_msb { M=16 N=17 K=96 x.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_signed_msb { M=40 N=72 K=128 x.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
kernel h_i8_bf16(x: bf16[M,K], w: i8[N,K], s: bf16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16(w * s) }
test h_i8_bf16 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_i8_bf16 { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_i8_bf16 { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
kernel h_u8_bf16(x: bf16[M,K], w: u8[N,K], s: bf16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - 128) * s) }
test h_u8_bf16 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
test h_u8_bf16 { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
test h_u8_bf16 { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
kernel h_i8_f16(x: f16[M,K], w: i8[N,K], s: f16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16(w * s) }
test h_i8_f16 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_i8_f16 { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_i8_f16 { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
kernel h_u8_f16(x: f16[M,K], w: u8[N,K], s: f16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16((w - 128) * s) }
test h_u8_f16 { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
test h_u8_f16 { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
test h_u8_f16 { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) tol: exact }
kernel h_u8_z(x: f16[M,K], w: u8[N,K], z: u8[N], s: f16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16((w - z) * s) }
test h_u8_z { M=1 N=40 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) z.init: integers(0,255) tol: exact }
test h_u8_z { M=16 N=17 K=96 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) z.init: integers(0,255) tol: exact }
test h_u8_z { M=40 N=72 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(0,255) z.init: integers(0,255) tol: exact }
# What is rounded is rounded once, as the spec says: beside the same stored, any scale.
kernel h_rounds(x: bf16[M,K], w: u4[N,K] packed(i32, K, lsb), z: u4[N, G=K/128] packed(i32, G, lsb), s: bf16[N, G=K/128]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - z[G: idx(K) // 128]) * s[G: idx(K) // 128]) }
test h_rounds { M=3 N=24 K=256 w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) }
test h_rounds { M=20 N=24 K=256 w.init: integers(-2000000000,2000000000) z.init: integers(-2000000000,2000000000) }
# So many columns that a lane has four of them.
kernel h_many(x: bf16[M,K], w: u4[N=8500,K] packed(i32, K, lsb), s: bf16[N, G=K/128]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16((w - 8) * s[G: idx(K) // 128]) }
test h_many { M=1 K=256 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
test h_many { M=13 K=128 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-2000000000,2000000000) tol: exact }
kernel h_many_i8(x: f16[M,K], w: i8[N=8500,K], s: f16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16(w * s) }
test h_many_i8 { M=3 K=160 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_many_i8 { M=16 K=80 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
# Rows of odd length: either side is read as windows, but for the ends of rows; of one row by multiply-adds.
test bf16_kk { M=1 N=37 K=1901 init: integers(-2,2) tol: exact }
test bf16_kk { M=1 N=300 K=1030 init: integers(-2,2) tol: exact }
test bf16_kk { M=1 N=1 K=13 init: integers(-2,2) tol: exact }
test bf16_kk { M=5 N=37 K=901 init: integers(-2,2) tol: exact }
test bf16_kk { M=16 N=37 K=517 init: integers(-2,2) tol: exact }
test bf16_kk { M=37 N=1 K=1901 init: integers(-2,2) tol: exact }
test f16_kk { M=1 N=33 K=4099 init: integers(-2,2) tol: exact }
# Likewise where the launch has the number of columns.
kernel h_open_i8(x: f16[M,K], w: i8[N,K], s: f16[N]) -> y: f32[M,N] with { fuse: require } { y = x @ f16(w * s) }
test h_open_i8 { M=3 N=8500 K=160 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
test h_open_i8 { M=16 N=8448 K=80 x.init: integers(-2,2) s.init: integers(-2,2) w.init: integers(-128,127) tol: exact }
# groups of few channels: a block takes several tiles, the last of a group fewer
kernel grouped(x: bf16[T=8475,G=32,C=8], k: bf16[G,O=8,V=3,C]) -> z: bf16[T,G,O] { z = sum[V,C](k * (x[T: T+V-1] ?? 0)) }
test grouped { init: integers(-3,3) }
