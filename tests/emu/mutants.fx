# What smallest.fx does not reach in drivers and engines, for tests/emu/mutants.c: several blocks of k, several tiles and runs, extents that fill tiles exactly, empty ones.
kernel simt(x: f32[M,K], w: f32[K,N], r: f32[M,N]) -> y: f32[M,N] { y = x @ w + r }
test simt { M=20 K=36 N=68 }
test simt { M=64 K=64 N=64 }
kernel simt_t(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
test simt_t { M=68 K=36 N=20 }
kernel mma(x: bf16[M,K], w: bf16[N,K], r: bf16[M,N]) -> y: bf16[M,N] { y = x @[K] w + r }
test mma { M=72 K=264 N=72 }
test mma { M=65 K=261 N=67 }
test mma { M=64 K=192 N=64 }
kernel mma_t(x: f16[K,M], w: f16[K,N]) -> y: f32[M,N] { y = x @[K] w }
test mma_t { M=72 K=264 N=72 }
test mma_t { M=65 K=261 N=67 }
kernel mma_tf32(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = x @[K] w }
test mma_tf32 { M=68 K=132 N=72 }
test mma_tf32 { M=65 K=131 N=67 }
kernel mma_i8(x: i8[K,M], w: u8[N,K]) -> y: i32[M,N] { y = x @[K] w }
test mma_i8 { M=80 K=400 N=80 }
test mma_i8 { M=65 K=401 N=67 }
kernel bytes_made(x: i8[M,K], m: bool[M,K], w: u8[K,N], c: bool[K,N]) -> y: i32[M,N] with { fuse: require } { y = i8(where(m, x, 0)) @ u8(where(c, w, 3)) }
test bytes_made { M=65 K=401 N=67 }
test bytes_made { M=64 K=400 N=80 }
kernel mma_f64_t(x: f64[K,M], w: f64[K,N]) -> y: f64[M,N] { y = x @[K] w }
test mma_f64_t { M=66 K=36 N=68 }
kernel outer(x: bf16[A,M,K], w: bf16[A,K,N]) -> y: f32[M,N] { y = x @[A,K] w }
test outer { A=3 M=72 K=64 N=72 }
test outer { A=3 M=65 K=67 N=67 }
test outer { A=4 M=64 K=128 N=64 }
kernel outer_f32(x: f32[A,M,K], w: f32[A,K,N]) -> y: f32[M,N] { y = x @[A,K] w }
test outer_f32 { A=3 M=36 K=32 N=36 }
test outer_f32 { A=3 M=33 K=35 N=37 }
kernel outer_made(x: f32[A,M,K], w: f32[A,K,N]) -> y: f32[M,N] with { fuse: require } { y = bf16(x + 1) @[A,K] bf16(w * 2) }
test outer_made { A=3 M=72 K=64 N=72 }
test outer_made { A=3 M=65 K=67 N=67 }
kernel outer_half(x: bf16[A,M,K], w: f32[A,K,N]) -> y: f32[M,N] with { fuse: require } { y = x @[A,K] bf16(w * 2) }
test outer_half { A=3 M=72 K=64 N=72 }
test outer_half { A=3 M=65 K=67 N=67 }
kernel inverse(x: f32[M,K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } { y = bf16(1 / x) @ w }
test inverse { M=17 K=264 N=72 init: uniform(1,2) }
test inverse { M=17 K=261 N=67 init: uniform(1,2) }
kernel inverse_t(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] with { fuse: require } { y = (1 / x) @[K] (1 / w) }
test inverse_t { M=20 K=68 N=20 init: uniform(1,2) }
test inverse_t { M=17 K=67 N=19 init: uniform(1,2) }
# What computed operands read, by way of shared memory: in pieces, with a context along k, values of the rows, along n; several blocks of k, also of several segments.
kernel staged(x: f32[M,K], s: f32[K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } { y = bf16(x * s) @ w }
test staged { M=72 K=264 N=72 }
test staged { M=17 K=448 N=72 }
kernel staged_rows(x: f32[M,K], g: f32[M], q: i8[N,K], s: f32[N]) -> y: f32[M,N] with { fuse: require } { y = bf16(x * g) @ bf16(q * s) }
test staged_rows { M=72 K=336 N=72 }
kernel staged_two(x: bf16[M,K], q: i8[N,K], u: i8[N,K], s: f32[N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64] } {
  y = relu(x @ bf16(q * s)) * (x @ bf16(u * s))
}
test staged_two { M=17 K=336 N=72 }
kernel staged_mixed(x: f32[M,K], m: bf16[M,K], s: f32[K], z: bf16[K], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } { y = bf16(x * m * s + z) @ w }
test staged_mixed { M=72 K=264 N=72 }
kernel staged_words(x: f32[M,K], q: i8[N,K], s: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } { y = x @ (q * s) }
test staged_words { M=17 K=144 N=72 }
kernel staged_t(x: bf16[M,K], w: f32[K,N], s: f32[K]) -> y: f32[M,N] with { fuse: require } { y = x @ bf16(w * s) }
test staged_t { M=17 K=264 N=72 }
kernel staged_segments(x: bf16[M,K], s: f32[K], w: bf16[N,K], h: f32[M,J], u: bf16[N,J]) -> y: f32[M,N] with { fuse: require } { y = (x * s) @[K] w + bf16(h) @[J] u }
test staged_segments { M=17 K=72 J=264 N=72 }
kernel segments(x: f16[M,K], w: f16[K,N], a: f16[J,M], b: f16[N,J]) -> y: f32[M,N] with { fuse: require } { y = x @ w + a @[J] b }
test segments { M=72 K=200 J=40 N=72 }
test segments { M=65 K=67 J=201 N=67 }
kernel partial(x: f16[M,K], w: f16[K,N], g: f32[M,N]) -> (y: f32[M,N], r: f32[M], c: f32[N], a: f32) {
  y = x @ w + g
  r = sum[N](y)
  c = sum[M](y)
  a = max[M,N](abs(y))
}
test partial { M=200 K=72 N=72 init: integers(-2,2) }
test partial { M=195 K=33 N=67 init: integers(-2,2) }
test partial { M=128 K=64 N=128 init: integers(-2,2) }
test partial { M=64 K=64 N=64 init: integers(-2,2) }
kernel partial_columns(x: f16[M,K], w: f16[K,N], b: f32[N], g: f32[M,N]) -> (y: f32[M,N], r: f32[M], c: f32[N]) {
  y = x @ w + b + g
  r = sum[N](y)
  c = sum[M](y)
}
test partial_columns { M=72 K=40 N=72 init: integers(-2,2) }
kernel shared(x: f16[M,K], w: f16[K,N], g: f32[M,N]) -> (y: f32[M,N], r: f32[M]) {
  h = (x @ w + g){N->(G,C=32)}
  e = h * 2 - max[C](h)
  y = (e - sum[C](e)){(G,C)->N}
  r = max[N](y)
}
test shared { M=67 K=33 N=96 init: integers(-2,2) }
test shared { M=64 K=64 N=64 init: integers(-2,2) }
kernel shared_pairs(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {
  h = (x @ w){N->(G,C=2)}
  y = (h - max[C](h)){(G,C)->N}
}
test shared_pairs { M=20 K=36 N=68 init: integers(-2,2) }
test shared_pairs { M=19 K=33 N=66 init: integers(-2,2) }
kernel tall(x: f16[M,K], w: f16[K,N], g: f32[M,N]) -> (y: f32[M,N], c: f32[N]) with { tile: [128, 128] } {
  y = x @ w + g
  c = sum[M](y)
}
test tall { M=128 K=64 N=72 init: integers(-2,2) }
test tall { M=195 K=33 N=131 init: integers(-2,2) }
kernel extremes(x: f32[B,T]) -> (a: i64[B], b: i64[B], c: i64[T]) {
  a = argmax[T](x)
  b = argmin[T](log(x))
  c = argmin[B](log(x))
}
test extremes { B=5 T=300 init: ones }
test extremes { B=5 T=300 init: integers(-1,2) }
test extremes { B=2 T=1000 init: integers(0,2) }
test extremes { B=64 T=3 init: integers(-1,2) }
kernel columns(x: f32[B,T]) -> y: f32[B,T] { y = softmax[B](x) }
test columns { B=65 T=33 }
test columns { B=300 T=8 }
test columns { B=64 T=64 }
kernel scan(x: f32[B,T], g: f32[B]) -> (y: f32[B,T], z: f32[B,T]) {
  c = cumsum[T](softmax[T](x * g))
  y = c - mean[T](c)
  z = cumsum[T](c * c)
}
test scan { B=3 T=1031 }
test scan { B=3 T=70 }
test scan { B=2 T=256 }
kernel rows(x: f32[B,T], g: f32[B]) -> y: f32[B,T] { y = softmax[T](x * exp(g)) + g }
test rows { B=5 T=64 }
test rows { B=3 T=20001 }
test rows { B=2 T=32768 }
kernel none(x: f32[B,T], g: f32[B]) -> (y: f32[B], z: f32[B]) {
  y = sum[T](x * exp(g))
  z = max[T](x - y)
}
test none { B=3 T=0 }
test none { B=3 T=65 }
kernel beside(x: f32[B,T], g: f32[B]) -> y: f32[B] { y = sum[T](x * exp(g)) + exp(g) }
test beside { B=3 T=0 }
test beside { B=3 T=65 }
kernel pointwise(x: f32[M,N]) -> y: f16[M,N] { y = 2 * x }
test pointwise { M=9 N=37 }
test pointwise { M=70 N=64 }
kernel attention(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N]) -> (o: f32[S,N], l: f32[S]) with { fuse: require } {
  s = (q @ k) * 0.5
  l = logsumexp[T](s)
  o = softmax[T](s) @ v
}
test attention { S=65 T=200 D=40 N=72 }
test attention { S=64 T=128 D=64 N=64 }
test attention { S=65 T=195 D=203 N=67 }
test attention { S=64 T=192 D=200 N=64 }
test attention { S=3 T=0 D=8 N=8 }
kernel causal(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f32[S,N] with { fuse: require } {
  o = softmax[T](where(idx(T) < idx(S), q @ k, -inf)) @ v
}
test causal { S=128 T=128 D=64 N=64 }
test causal { S=65 T=300 D=33 N=33 }
test causal { S=1 T=72 D=128 N=128 }
test causal { S=130 T=256 D=136 N=72 }
kernel attention_f32(q: f32[S,D], k: f32[T,D], v: f32[T,N]) -> o: f32[S,N] with { fuse: require } { o = softmax[T](where(idx(T) <= idx(S), q @ k, -inf)) @ v }
test attention_f32 { S=65 T=195 D=36 N=36 }
test attention_f32 { S=33 T=130 D=100 N=37 }
kernel walks(q: f32[S,D], k: f32[T,D], v: f32[T,N]) -> o: f32[S,N] with { fuse: require } { o = layernorm[T](q @ k) @ v }
test walks { S=65 T=130 D=33 N=35 }
test walks { S=64 T=128 D=72 N=36 }
kernel gated(x: f16[M,K], w: f16[K,H], u: f16[K,H], v: f16[H,N]) -> y: f16[M,N] with { fuse: require } {
  y = (relu(x @ w) * (x @ u)) @ v
}
test gated { M=65 K=200 H=130 N=72 }
test gated { M=64 K=64 H=128 N=67 }
kernel phases(x: f16[M,K], w: f16[K,N], r: f16[M,N]) -> (y: f16[M,N], s: f32[N]) with { fuse: require } {
  y = rsqrt(mean[K](x * x) + 1e-5) * (x @ w) + r
  s = sum[M](r * r)
}
test phases { M=200 K=72 N=200 }
test phases { M=130 K=67 N=131 }
kernel phases_rows(x: f16[M,K], w: f16[K,N], g: f32[B,T]) -> (y: f16[M,N], s: f32[B]) with { fuse: require } {
  y = rsqrt(mean[K](x * x) + 1e-5) * (x @ w)
  s = sum[T](g * g)
}
test phases_rows { M=70 K=72 N=72 B=70 T=2048 }
kernel chain_phases(x: f16[M,K], w: f16[K,H], u: f16[H,N]) -> y: f16[M,N] with { fuse: require } { y = relu(rsqrt(mean[K](x * x) + 1e-5) * (x @ w)) @ u }
test chain_phases { M=200 K=64 H=72 N=136 }
test chain_phases { M=130 K=33 H=67 N=131 }
kernel cut(x: f32[B=2,T], g: f32[B]) -> z: f32[B,T] { z = softmax[T](x * exp(g)) + g }
test cut { T=3000 }
kernel cut_sums(x: f32[B=2,T]) -> s: f32[B] { s = sum[T](x) }
test cut_sums { T=0 }
kernel cut_first(x: f32[B=2,T]) -> i: i64[B] { i = argmax[T](x) }
test cut_first { T=3000 init: ones }
kernel cut_scan(x: f32[B=2,T]) -> z: f32[B,T] { z = cumsum[T](x) }
test cut_scan { T=3000 init: integers(-2,2) }
kernel cut2(x: f32[M,N]) -> z: f32[M,N] { z = softmax[M,N](x) }
test cut2 { M=30 N=100 }
kernel band(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f32[S,N] with { fuse: require } {
  s = where(idx(T) >= 64, q @ k, -inf)
  e = exp(s - max[T](s))
  o = (e @ v) / sum[T](e)
}
test band { S=65 T=200 D=40 N=72 }
kernel first(x: f32[B,T]) -> y: f32[B,T] { y = where(idx(T) == argmax[T](x), x, 0) }
test first { B=3 T=300 init: ones }
test first { B=3 T=300 init: integers(0,1) }
test first { B=3 T=40 init: ones }
test first { B=3 T=37 init: ones }
