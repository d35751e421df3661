# The least problem of each driver and engine that still has edges: what `make sanitize-gpu` runs under compute-sanitizer, by every variant.
kernel pointwise(x: f32[M,N], y: bf16[M,N]) -> z: f16[M,N] { z = relu(x * y + 1) }
test pointwise { M=9 N=37 }
kernel moved(x: f32[M,N], ids: i32[M]) -> z: f32[N,M] { z = x[M: ids] ?? 0 }
test moved { M=9 N=37 }
kernel row(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
test row { B=3 T=67 }
test row { B=2 T=1031 }
kernel streamed(x: f32[B,T]) -> (z: f32[B,T], a: i64[B]) {
  z = layernorm[T](x)
  a = argmax[T](x)
}
test streamed { B=2 T=20001 }
kernel columns(x: f32[B,T]) -> z: f32[T] { z = sum[B](x) }
test columns { B=65 T=33 }
kernel scan(x: f32[B,T]) -> z: f32[B,T] { z = cumsum[T](x) }
test scan { B=3 T=1031 }
kernel recurrence(a: f32[B,T], b: f32[B,T]) -> h: f32[B,T] { h = recur[T](a, b) }
test recurrence { B=3 T=1031 a.init: integers(-1,1) b.init: integers(-2,2) }
kernel scan_down(x: f32[K,N], a: f32[K]) -> (y: f32[K,N], h: f32[K,N]) {
  y = cumsum[K](x) / (1 + sum[K](abs(x)))
  h = recur[K](a, x)
}
test scan_down { K=67 N=33 a.init: integers(-1,1) }
kernel simt(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
test simt { M=17 K=33 N=65 }
kernel simt_f64(x: f64[M,K], w: f64[N,K]) -> y: f64[M,N] with { precision: fma } { y = x @ w }
test simt_f64 { M=17 K=33 N=65 }
kernel simt_i32(x: i32[M,K], w: i32[K,N]) -> y: i32[M,N] { y = x @ w }
test simt_i32 { M=17 K=33 N=65 }
kernel mma(x: bf16[M,K], w: bf16[K,N], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }
test mma { M=17 K=72 N=136 }
test mma { M=17 K=33 N=65 }
kernel mma_tf32(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
test mma_tf32 { M=17 K=36 N=68 }
test mma_tf32 { M=17 K=33 N=65 }
kernel mma_f64(x: f64[M,K], w: f64[N,K]) -> y: f64[M,N] { y = x @ w }
test mma_f64 { M=17 K=34 N=66 }
test mma_f64 { M=17 K=33 N=65 }
kernel mma_i8(x: i8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
test mma_i8 { M=17 K=48 N=80 }
test mma_i8 { M=17 K=33 N=65 }
kernel made(x: f32[M,K], q: i8[K,N], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @ bf16(q * s) }
test made { M=17 K=72 N=136 }
test made { M=17 K=33 N=65 }
kernel made_held(x: f32[M,K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require, warps: 12 } { y = bf16(x) @[K] w }
test made_held { M=66 K=136 N=40 init: integers(-2,2) tol: exact }
kernel fields_held(x: bf16[M,K], q: u4[N,K] packed(i32, K, lsb), s: bf16[N,G=K/128]) -> y: bf16[M,N] with { fuse: require, warps: 12 } { y = x @[K] bf16((q - 8) * s[N, K//128]) }
test fields_held { M=8 K=640 N=136 init: integers(-2,2) tol: exact }
kernel int4(sc: f32[J, G=L/8], zp: u4[J, G=L/8] packed(i32, G, lsb), wq: u4[J, L] packed(i32, L, lsb), y: f32[L,C]) -> z: f32[J,C] with { fuse: require } {
  z = (sc[G: L/8] * (wq - zp[G: L/8])) @[L] y
}
test int4 { J=9 L=64 C=33 }
# of two groups in a chunk, and rounded to less than it is multiplied in
kernel groups(s: f32[J, G=L/6], q: i8[J,L], y: bf16[L,C]) -> z: f32[J,C] with { fuse: require } { z = f8e4m3(s[G: L/6] * q) @[L] y }
test groups { J=9 L=48 C=33 }
kernel conv(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3]) -> z: f16[B,O,H,W] with { fuse: require } { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
test conv { B=1 C=3 H=5 W=7 O=4 }
kernel split(a: bf16[M,K], w: bf16[K, F=2*N], b: bf16[F]) -> d: f32[M,N] with { fuse: require } {
  l, r = halves[F->N](a @ w + b)
  d = relu(l) * r + l
}
test split { M=17 K=40 N=72 }
test split { M=17 K=33 N=35 }
kernel chain(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,D]) -> (o: bf16[B,S,D], l: f32[B,S]) with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * 0.125, -inf)
  l = logsumexp[T](s)
  o = softmax[T](s) @ v
}
test chain { B=1 S=17 T=70 D=64 }
test chain { B=1 S=17 T=35 D=33 }
kernel chain_f32(x: f32[M,K], w: f32[K,H], u: f32[H,N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w) @ u }
test chain_f32 { M=17 K=33 H=40 N=24 }
kernel phases(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } { y = rsqrt(mean[K](x * x) + 1e-5) * (x @ w) }
test phases { M=17 K=33 N=65 }
test phases { M=70 K=72 N=136 }
kernel partial(x: f16[M,K], w: f16[K,N]) -> (y: f32[M,N], r: f32[M], c: f32[N], a: f32) {
  y = x @ w
  r = sum[N](y)
  c = max[M](y)
  a = max[M,N](abs(y))
}
test partial { M=17 K=72 N=136 }
test partial { M=35 K=33 N=65 }
