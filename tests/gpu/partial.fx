# Reductions of a contraction's result that begin in its epilogue: over columns, rows and both, beside the result and without it; exact on integers, at extents on and off runs and tiles.
kernel rows(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[M] { y = sum[N](relu(x @ w + b)) }
kernel rows_nk(x: bf16[M,K], w: bf16[N,K], b: f32[M]) -> y: f32[M] { y = max[N](x @ w * b) }
kernel rows_mk(x: bf16[K,M], w: bf16[K,N]) -> y: f32[M] { y = sum[N](x @[K] w) }
kernel cols(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[N] { y = sum[M](relu(x @ w + b)) }
kernel cols_nk(x: f16[M,K], w: f16[N,K], g: f16[M,N]) -> y: f32[N] { y = min[M](x @ w + g) }
kernel whole(x: f16[M,K], w: f16[K,N]) -> y: f32 { y = sum[M,N](abs(x @ w)) }
kernel stored(x: f16[M,K], w: f16[K,N]) -> (y: f32[M,N], r: f32[M], c: f32[N], a: f32, b: f32) {
  y = x @ w
  r = sum[N](y)
  c = max[M](y)
  a = max[M,N](abs(y))
  b = min[M,N](y)
}
kernel stored_nm(x: bf16[M,K], w: bf16[K,N]) -> (y: f32[N,M], r: f32[M], c: f32[N]) {
  y = x @ w
  r = sum[N](abs(y))
  c = sum[M](abs(y))
}
kernel rows_f32(x: f32[M,K], w: f32[K,N], b: f32[N]) -> (y: f32[M], z: f32[N], s: f32) {
  h = relu(x @ w + b)
  y = sum[N](h)
  z = max[M](h)
  s = sum[M,N](h)
}
kernel batched(x: f16[B,M,K], w: f16[B,K,N]) -> (r: f32[B,M], c: f32[B,N], s: f32[B], m: f32[M]) {
  h = x @ w
  r = sum[N](h)
  c = max[M](h)
  s = sum[M,N](h)
  m = sum[B,N](h)
}
kernel causal(x: f16[M,K], w: f16[N,K]) -> (y: f32[M], z: f32[N]) {
  s = where(idx(N) <= idx(M), x @ w, 0)
  y = sum[N](s)
  z = max[M](s)
}
kernel counts(x: f16[M,K], w: f16[K,N]) -> (a: bool[M], b: i32[N], c: i64, p: f32[M], n: f32[N]) {
  h = x @ w
  a = any[N](h > 9)
  b = sum[M](i32(h > 0))
  c = sum[M,N](i64(h))
  p = prod[N](where(h > 0, 1.0, -1.0))
  n = max[M](where(h > 12, nan, h))
}
kernel wide(x: f32[M,K], w: f32[K,N]) -> (r: f64[M], c: f64[N], s: f64) {
  h = f64(x @ w)
  r = sum[N](h)
  c = sum[M](h)
  s = max[M,N](h)
}
kernel gated(x: f16[M,K], w: f16[K,N], v: f16[K,N]) -> y: f32[M] { y = sum[N](relu(x @ w) * (x @ v)) }
kernel layers(x: f16[M,K], w: f16[K,N], v: f16[N,J]) -> (y: f32[M,J], d: f32[N]) {
  h = f16(relu(x @ w))
  y = h @ v
  d = sum[M](h)
}
kernel scaled(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] {
  h = x @ w
  y = h / (1 + max[M,N](abs(h)))
}
kernel centred(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] {
  h = x @ w
  y = h - sum[M](h)
}
kernel accumulated(x: f16[M,K], w: f16[K,N], r: inout f32[M,N]) -> (s: f32[M], t: f32) {
  h = r + x @ w
  r = h
  s = sum[N](h)
  t = max[M,N](abs(h))
}
kernel bytes(x: i8[M,K], w: i8[K,N]) -> (s: i32[M], t: i32[N], m: i32) {
  h = x @ w
  s = sum[N](h)
  t = max[M](h)
  m = min[M,N](h)
}
kernel doubles(x: f64[M,K], w: f64[K,N]) -> (s: f64[M], t: f64[N], m: f64) {
  h = x @ w
  s = sum[N](h)
  t = max[M](h)
  m = min[M,N](h)
}
kernel longs(x: i64[M,K], w: i64[K,N]) -> (s: i64[M], t: i64[N]) {
  h = x @ w
  s = sum[N](h)
  t = max[M](h)
}
kernel tf32s(x: f32[M,K], w: f32[K,N]) -> (s: f32[M], t: f32[N]) with { precision: tf32 } {
  h = x @ w
  s = sum[N](h)
  t = max[M](h)
}
kernel strides(x: f16[M,K] strided, w: f16[K,N] strided) -> (s: f32[M], t: f32[N]) {
  h = x @ w
  s = sum[N](h)
  t = max[M](h)
}
kernel required(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f32[M] with { fuse: require } { y = sum[N](relu(x @ w + b)) }
test rows { M=1 N=7 K=5 init: integers(-2,2) seed: 1 tol: exact }
test rows_nk { M=1 N=7 K=5 init: integers(-2,2) seed: 2 tol: exact }
test rows_mk { M=1 N=7 K=5 init: integers(-2,2) seed: 3 tol: exact }
test cols { M=1 N=7 K=5 init: integers(-2,2) seed: 4 tol: exact }
test cols_nk { M=1 N=7 K=5 init: integers(-2,2) seed: 5 tol: exact }
test whole { M=1 N=7 K=5 init: integers(-2,2) seed: 6 tol: exact }
test stored { M=1 N=7 K=5 init: integers(-2,2) seed: 7 tol: exact }
test stored_nm { M=1 N=7 K=5 init: integers(-2,2) seed: 8 tol: exact }
test rows_f32 { M=1 N=7 K=5 init: integers(-2,2) seed: 9 tol: exact }
test causal { M=1 N=7 K=5 init: integers(-2,2) seed: 10 tol: exact }
test counts { M=1 N=7 K=5 init: integers(-2,2) seed: 11 tol: exact }
test wide { M=1 N=7 K=5 init: integers(-2,2) seed: 12 tol: exact }
test gated { M=1 N=7 K=5 init: integers(-2,2) seed: 13 tol: exact }
test required { M=1 N=7 K=5 init: integers(-2,2) seed: 14 tol: exact }
test rows { M=7 N=1 K=63 init: integers(-2,2) seed: 15 tol: exact }
test rows_nk { M=7 N=1 K=63 init: integers(-2,2) seed: 16 tol: exact }
test rows_mk { M=7 N=1 K=63 init: integers(-2,2) seed: 17 tol: exact }
test cols { M=7 N=1 K=63 init: integers(-2,2) seed: 18 tol: exact }
test cols_nk { M=7 N=1 K=63 init: integers(-2,2) seed: 19 tol: exact }
test whole { M=7 N=1 K=63 init: integers(-2,2) seed: 20 tol: exact }
test stored { M=7 N=1 K=63 init: integers(-2,2) seed: 21 tol: exact }
test stored_nm { M=7 N=1 K=63 init: integers(-2,2) seed: 22 tol: exact }
test rows_f32 { M=7 N=1 K=63 init: integers(-2,2) seed: 23 tol: exact }
test causal { M=7 N=1 K=63 init: integers(-2,2) seed: 24 tol: exact }
test counts { M=7 N=1 K=63 init: integers(-2,2) seed: 25 tol: exact }
test wide { M=7 N=1 K=63 init: integers(-2,2) seed: 26 tol: exact }
test gated { M=7 N=1 K=63 init: integers(-2,2) seed: 27 tol: exact }
test required { M=7 N=1 K=63 init: integers(-2,2) seed: 28 tol: exact }
test rows { M=63 N=65 K=7 init: integers(-2,2) seed: 29 tol: exact }
test rows_mk { M=63 N=65 K=7 init: integers(-2,2) seed: 30 tol: exact }
test cols_nk { M=63 N=65 K=7 init: integers(-2,2) seed: 31 tol: exact }
test stored { M=63 N=65 K=7 init: integers(-2,2) seed: 32 tol: exact }
test rows_f32 { M=63 N=65 K=7 init: integers(-2,2) seed: 33 tol: exact }
test counts { M=63 N=65 K=7 init: integers(-2,2) seed: 34 tol: exact }
test gated { M=63 N=65 K=7 init: integers(-2,2) seed: 35 tol: exact }
test rows_nk { M=65 N=63 K=67 init: integers(-2,2) seed: 36 tol: exact }
test cols { M=65 N=63 K=67 init: integers(-2,2) seed: 37 tol: exact }
test whole { M=65 N=63 K=67 init: integers(-2,2) seed: 38 tol: exact }
test stored_nm { M=65 N=63 K=67 init: integers(-2,2) seed: 39 tol: exact }
test causal { M=65 N=63 K=67 init: integers(-2,2) seed: 40 tol: exact }
test wide { M=65 N=63 K=67 init: integers(-2,2) seed: 41 tol: exact }
test required { M=65 N=63 K=67 init: integers(-2,2) seed: 42 tol: exact }
test rows { M=127 N=129 K=64 init: integers(-2,2) seed: 43 tol: exact }
test rows_mk { M=127 N=129 K=64 init: integers(-2,2) seed: 44 tol: exact }
test cols_nk { M=127 N=129 K=64 init: integers(-2,2) seed: 45 tol: exact }
test stored { M=127 N=129 K=64 init: integers(-2,2) seed: 46 tol: exact }
test rows_f32 { M=127 N=129 K=64 init: integers(-2,2) seed: 47 tol: exact }
test counts { M=127 N=129 K=64 init: integers(-2,2) seed: 48 tol: exact }
test gated { M=127 N=129 K=64 init: integers(-2,2) seed: 49 tol: exact }
test rows_nk { M=129 N=127 K=72 init: integers(-2,2) seed: 50 tol: exact }
test cols { M=129 N=127 K=72 init: integers(-2,2) seed: 51 tol: exact }
test whole { M=129 N=127 K=72 init: integers(-2,2) seed: 52 tol: exact }
test stored_nm { M=129 N=127 K=72 init: integers(-2,2) seed: 53 tol: exact }
test causal { M=129 N=127 K=72 init: integers(-2,2) seed: 54 tol: exact }
test wide { M=129 N=127 K=72 init: integers(-2,2) seed: 55 tol: exact }
test required { M=129 N=127 K=72 init: integers(-2,2) seed: 56 tol: exact }
test rows { M=257 N=64 K=65 init: integers(-2,2) seed: 57 tol: exact }
test rows_mk { M=257 N=64 K=65 init: integers(-2,2) seed: 58 tol: exact }
test cols_nk { M=257 N=64 K=65 init: integers(-2,2) seed: 59 tol: exact }
test stored { M=257 N=64 K=65 init: integers(-2,2) seed: 60 tol: exact }
test rows_f32 { M=257 N=64 K=65 init: integers(-2,2) seed: 61 tol: exact }
test counts { M=257 N=64 K=65 init: integers(-2,2) seed: 62 tol: exact }
test gated { M=257 N=64 K=65 init: integers(-2,2) seed: 63 tol: exact }
test rows_nk { M=64 N=257 K=33 init: integers(-2,2) seed: 64 tol: exact }
test cols { M=64 N=257 K=33 init: integers(-2,2) seed: 65 tol: exact }
test whole { M=64 N=257 K=33 init: integers(-2,2) seed: 66 tol: exact }
test stored_nm { M=64 N=257 K=33 init: integers(-2,2) seed: 67 tol: exact }
test causal { M=64 N=257 K=33 init: integers(-2,2) seed: 68 tol: exact }
test wide { M=64 N=257 K=33 init: integers(-2,2) seed: 69 tol: exact }
test required { M=64 N=257 K=33 init: integers(-2,2) seed: 70 tol: exact }
test rows { M=128 N=256 K=64 init: integers(-2,2) seed: 71 tol: exact }
test rows_nk { M=128 N=256 K=64 init: integers(-2,2) seed: 72 tol: exact }
test rows_mk { M=128 N=256 K=64 init: integers(-2,2) seed: 73 tol: exact }
test cols { M=128 N=256 K=64 init: integers(-2,2) seed: 74 tol: exact }
test cols_nk { M=128 N=256 K=64 init: integers(-2,2) seed: 75 tol: exact }
test whole { M=128 N=256 K=64 init: integers(-2,2) seed: 76 tol: exact }
test stored { M=128 N=256 K=64 init: integers(-2,2) seed: 77 tol: exact }
test stored_nm { M=128 N=256 K=64 init: integers(-2,2) seed: 78 tol: exact }
test rows_f32 { M=128 N=256 K=64 init: integers(-2,2) seed: 79 tol: exact }
test causal { M=128 N=256 K=64 init: integers(-2,2) seed: 80 tol: exact }
test counts { M=128 N=256 K=64 init: integers(-2,2) seed: 81 tol: exact }
test wide { M=128 N=256 K=64 init: integers(-2,2) seed: 82 tol: exact }
test gated { M=128 N=256 K=64 init: integers(-2,2) seed: 83 tol: exact }
test required { M=128 N=256 K=64 init: integers(-2,2) seed: 84 tol: exact }
test rows { M=256 N=136 K=72 init: integers(-2,2) seed: 85 tol: exact }
test rows_nk { M=256 N=136 K=72 init: integers(-2,2) seed: 86 tol: exact }
test rows_mk { M=256 N=136 K=72 init: integers(-2,2) seed: 87 tol: exact }
test cols { M=256 N=136 K=72 init: integers(-2,2) seed: 88 tol: exact }
test cols_nk { M=256 N=136 K=72 init: integers(-2,2) seed: 89 tol: exact }
test whole { M=256 N=136 K=72 init: integers(-2,2) seed: 90 tol: exact }
test stored { M=256 N=136 K=72 init: integers(-2,2) seed: 91 tol: exact }
test stored_nm { M=256 N=136 K=72 init: integers(-2,2) seed: 92 tol: exact }
test rows_f32 { M=256 N=136 K=72 init: integers(-2,2) seed: 93 tol: exact }
test causal { M=256 N=136 K=72 init: integers(-2,2) seed: 94 tol: exact }
test counts { M=256 N=136 K=72 init: integers(-2,2) seed: 95 tol: exact }
test wide { M=256 N=136 K=72 init: integers(-2,2) seed: 96 tol: exact }
test gated { M=256 N=136 K=72 init: integers(-2,2) seed: 97 tol: exact }
test required { M=256 N=136 K=72 init: integers(-2,2) seed: 98 tol: exact }
test batched { B=3 M=7 N=65 K=33 init: integers(-2,2) seed: 7 tol: exact }
test batched { B=2 M=129 N=72 K=64 init: integers(-2,2) seed: 129 tol: exact }
test layers { M=65 N=129 K=33 J=7 init: integers(-2,2) seed: 65 tol: exact }
test layers { M=128 N=136 K=64 J=72 init: integers(-2,2) seed: 128 tol: exact }
test scaled { M=65 N=129 K=33 init: integers(-2,2) seed: 65 }
test rows { M=65 N=129 K=33 init: normal seed: 65 }
test cols { M=65 N=129 K=33 init: normal seed: 65 }
test whole { M=65 N=129 K=33 init: normal seed: 65 }
test stored { M=65 N=129 K=33 init: normal seed: 65 }
test rows_f32 { M=65 N=129 K=33 init: normal seed: 65 }
test gated { M=65 N=129 K=33 init: normal seed: 65 }
test required { M=65 N=129 K=33 init: normal seed: 65 }
test scaled { M=256 N=136 K=64 init: integers(-2,2) seed: 256 }
test rows { M=256 N=136 K=64 init: normal seed: 256 }
test cols { M=256 N=136 K=64 init: normal seed: 256 }
test whole { M=256 N=136 K=64 init: normal seed: 256 }
test stored { M=256 N=136 K=64 init: normal seed: 256 }
test rows_f32 { M=256 N=136 K=64 init: normal seed: 256 }
test gated { M=256 N=136 K=64 init: normal seed: 256 }
test required { M=256 N=136 K=64 init: normal seed: 256 }
test rows { M=5 N=0 K=8 tol: exact }
test cols { M=5 N=9 K=0 init: integers(-2,2) tol: exact }
test centred { M=257 N=136 K=64 init: integers(-2,2) seed: 9 tol: exact }
test centred { M=65 N=63 K=33 init: integers(-2,2) seed: 9 tol: exact }
test accumulated { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test accumulated { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
test bytes { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test bytes { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
test doubles { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test doubles { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
test longs { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test longs { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
test tf32s { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test tf32s { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
test strides { M=129 N=136 K=40 init: integers(-2,2) seed: 129 tol: exact }
test strides { M=65 N=67 K=33 init: integers(-2,2) seed: 65 tol: exact }
# a run of 64 that is cut, filled with what does not begin a sum: not the epilogue's own
kernel filled(x: bf16[M,K], w: bf16[K,N], v: f32[I=64], u: f32[P]) -> y: f32[M,P] { h = x @ w; y = sum[I](h[N: P * 64 + I] ?? 1) + sum[I](v) + u }
test filled { M=20 K=24 N=100 P=2 }
# squares of distances, from a mean, from what else is the same along the rows, beside what is stored of the elements; runs that are cut
kernel variances(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> (h: bf16[M,N], m: f32[N], t: f32[N], q: f32[N]) {
  v = x @ w + b
  h = v
  m = mean[M](v)
  t = sum[M]((v - m) * (v - m))
  q = max[M](v)
}
kernel about(x: f16[B,M,K], w: f16[B,N,K]) -> (h: f16[B,M,N], t: f32[B,N]) {
  v = x @ w
  h = relu(v)
  s = 2 * max[M](v)
  t = sum[M]((v - s) * (v - s))
}
kernel variances_alone(x: bf16[M,K], w: bf16[N,K]) -> t: f32[N] { v = x @ w; m = mean[M](v); t = mean[M]((v - m) * (v - m)) }
kernel variances_of_rows(x: bf16[M,K], w: bf16[N,K]) -> t: f32[M] { v = x @ w; m = mean[N](v); t = mean[N]((v - m) * (v - m)) }
kernel batch_norm(x: bf16[M,K], w: bf16[N,K], g: f32[N]) -> y: bf16[M,N] { y = layernorm[M](x @ w + g) * g }
test variances { M=130 N=72 K=16 init: normal seed: 1 }
test variances { M=65 N=68 K=33 init: integers(-2,2) seed: 2 }
test variances { M=256 N=136 K=24 init: normal(1,0.1) seed: 3 }
test about { B=2 M=130 N=64 K=16 init: normal seed: 4 }
test about { B=2 M=127 N=62 K=17 init: integers(-2,2) seed: 5 }
test variances_alone { M=300 N=72 K=16 init: normal seed: 6 }
test variances_of_rows { M=72 N=300 K=16 init: normal seed: 7 }
# distances from what is no mean are infinite where an element is, not NaN
kernel distances(x: bf16[M,K], w: bf16[K,N]) -> t: f32[N] { z = where(idx(M) % 500 == 3 && idx(N) % 2 == 0, -inf, x @[K] w); t = sum[M]((z - max[M](z)) ** 2) }
test distances { M=17000 N=4 K=8 }
test batch_norm { M=300 N=72 K=16 init: normal seed: 8 }
test batch_norm { M=67 N=60 K=20 init: normal seed: 9 }
# what elements share with their runs, in each of the runs that are narrower than those of results: a thread may hold columns that are not adjacent
kernel runs_of_2(x: bf16[M,K], w: bf16[N=128,K], g: f32[N]) -> y: f32[M] { v = (x @ w){N->(G=64,C)}; y = min[N]((v - sum[C](v)){(G,C)->N} * g) }
kernel runs_of_4(x: bf16[M,K], w: bf16[N=128,K], g: f32[N]) -> y: f32[M] { v = (x @ w){N->(G=32,C)}; y = sum[N]((v - max[C](v)){(G,C)->N} * g) }
kernel runs_of_8(x: bf16[M,K], w: bf16[N=192,K], g: f32[N]) -> y: f32[M] { v = (x @ w){N->(G=24,C)}; y = max[N]((v - sum[C](v)){(G,C)->N} * g) }
kernel runs_of_16(x: bf16[M,K], w: bf16[N=256,K], g: f32[N]) -> y: f32[M] { v = (x @ w){N->(G=16,C)}; y = min[N]((v - sum[C](v)){(G,C)->N} * g) }
kernel runs_of_32(x: bf16[M,K], w: bf16[N=192,K], g: f32[N]) -> y: f32[M] { v = (x @ w){N->(G=6,C)}; y = sum[N]((v - max[C](v)){(G,C)->N} * g) }
kernel runs_tf32(x: f32[M,K], w: f32[N=128,K], g: f32[N]) -> y: f32[M] with { precision: tf32 } { v = (x @ w){N->(G=16,C)}; y = min[N]((v - sum[C](v)){(G,C)->N} * g) }
test runs_of_2 { M=70 K=24 init: integers(-2,2) seed: 2 tol: exact }
test runs_of_4 { M=70 K=24 init: integers(-2,2) seed: 4 tol: exact }
test runs_of_8 { M=70 K=24 init: integers(-2,2) seed: 8 tol: exact }
test runs_of_16 { M=70 K=24 init: integers(-2,2) seed: 16 tol: exact }
test runs_of_32 { M=70 K=24 init: integers(-2,2) seed: 32 tol: exact }
test runs_tf32 { M=70 K=24 init: integers(-2,2) seed: 5 tol: exact }
# Runs of columns that a spec counts itself: as many as there are, fewer, more.
kernel counted_runs[I=64](x: f32[M,K], w: f32[K,N], a: f32[P]) -> y: f32[M,P] { y = sum[I]((x @ w)[N: 64 * P + I] ?? 0) * a }
test counted_runs { M=65 K=24 N=300 P=5 init: integers(-2,2) tol: exact }
test counted_runs { M=65 K=24 N=300 P=2 init: integers(-2,2) tol: exact }
test counted_runs { M=65 K=24 N=300 P=9 init: integers(-2,2) tol: exact }
kernel fixed_runs[I=64](x: f32[M,K], w: f32[K,N=300], a: f32[P=9,M]) -> y: f32[P] { y = sum[M](sum[I]((x @ w)[N: 64 * P + I] ?? 0) * a) }
test fixed_runs { M=65 K=24 init: integers(-2,2) tol: exact }
# runs of one label of several that a product's rows have
kernel of_several(x: bf16[P,Q,K], w: bf16[K,N], d: f32[P,Q,N]) -> (t: f32[P,N], r: f32[P,Q]) { v = x @ w + d; t = sum[Q](v); r = logsumexp[N](v) }
test of_several { P=16 Q=2100 K=8 N=128 }
