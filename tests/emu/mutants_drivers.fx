# What the drivers of sm_90a, of few rows and of sums by key take, at the least extents with edges: for tests/emu/mutants.c. Integers where every sum is exact.
kernel count(key: i32[N]) -> y: i32[Q] { y = sum[N](key == idx(Q)) }
test count { N=777 Q=40 init: integers(-2,41) }
test count { N=4200 Q=520 init: integers(-2,530) }
kernel weights(key: i64[B,N], w: f32[B,N]) -> y: f32[B,Q] { y = sum[N](where(key == idx(Q), w, 0)) }
test weights { B=2 N=700 Q=33 key.init: integers(-1,34) w.init: integers(-2,2) }
test weights { B=1 N=1500 Q=5000 key.init: integers(0,4999) w.init: integers(-2,2) }
kernel by_key(key: i32[N], x: f32[N,D]) -> y: f32[Q,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test by_key { N=301 D=1 Q=5 key.init: integers(-1,6) x.init: integers(-2,2) }
test by_key { N=301 D=70 Q=129 key.init: integers(0,130) x.init: integers(-2,2) }
test by_key { N=95 D=33 Q=600 key.init: integers(-9,610) x.init: integers(-2,2) }
test by_key { N=256 D=64 Q=32 key.init: integers(0,31) x.init: integers(-2,2) }
test by_key { N=3000 D=33 Q=600 key.init: integers(0,0) x.init: integers(-2,2) }
test by_key { N=2048 D=33 Q=600 key.init: integers(-9,610) x.init: integers(-2,2) }
test by_key { N=2048 D=33 Q=600 key.init: integers(0,40000) x.init: integers(-2,2) }
kernel by_fixed(key: i32[N=3000], x: f32[N,D=40]) -> y: f32[Q=50,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test by_fixed { key.init: integers(-1,51) x.init: integers(-2,2) }
kernel strip(x: f32[B,T]) -> y: f32[B,T] { y = x - 0.5 * (x[T: T-1] ?? 3) + (x[T: T+6] ?? 3) * (x[T: 2*T+5] ?? 0) }
test strip { B=3 T=24 }
test strip { B=3 T=19 }
kernel pool[U=3,V=3](x: f16[B,H,W]) -> z: f16[B,P=H//2,Q=W//2] { z = max[U,V](x[H: 2*P+U-1, W: 2*Q+V-1] ?? -inf) }
test pool { B=2 H=4 W=32 }
test pool { B=2 H=5 W=11 }
kernel runs(x: f32[M,D], w: f32[M,D]) -> (z: f32[M,D], s: f32[D], r: f32[M]) {
  r = max[D](x)
  z = x - r
  s = sum[M](x * w)
}
test runs { M=33 D=128 init: integers(-2,2) }
test runs { M=20 D=4095 init: integers(-2,2) }
test runs { M=37 D=512 init: integers(-2,2) }
kernel spread(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
test spread { B=3 T=16385 }
test spread { B=2 T=70008 }
kernel spread_sums(x: f32[B,T]) -> (s: f32[B], m: f32[B]) {
  s = sum[T](x)
  m = max[T](x - s)
}
test spread_sums { B=2 T=40000 init: integers(-2,2) }
kernel spread_down(x: f32[T,B]) -> s: f32[B] { s = sum[T](x) }
test spread_down { T=9000 B=33 init: integers(-2,2) }
kernel few_nk(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }
test few_nk { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test few_nk { M=11 N=7 K=61 init: integers(-2,2) tol: exact }
test few_nk { M=8 N=64 K=1024 init: integers(-2,2) tol: exact }
test few_nk { M=72 N=4 K=72 init: integers(-2,2) tol: exact }
kernel few_kn(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] { y = x @[K] w }
test few_kn { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test few_kn { M=8 N=64 K=1024 init: integers(-2,2) tol: exact }
kernel few_km(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
test few_km { M=3 N=33 K=70 init: integers(-2,2) tol: exact }
kernel few_i8(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @ w }
test few_i8 { M=3 N=33 K=81 }
kernel few_outer(x: bf16[M,P,K], w: bf16[P,N,K]) -> y: bf16[M,N] { y = x @[P,K] w }
test few_outer { M=3 P=3 N=17 K=40 init: integers(-2,2) tol: exact }
test few_outer { M=3 P=3 N=17 K=0 tol: exact }
kernel few_made(x: bf16[M,K], w: i8[N,K], s: bf16[N]) -> y: bf16[M,N] with { fuse: require } { y = x @ bf16(w * s) }
test few_made { M=4 N=33 K=72 init: integers(-2,2) tol: exact }
test few_made { M=3 N=17 K=45 init: integers(-2,2) tol: exact }
kernel few_made_kn(x: f32[M,K], g: f32[M], w: i8[K,N]) -> y: f32[M,N] with { fuse: require } { y = (x * g) @ f32(w) }
test few_made_kn { M=4 N=36 K=72 init: integers(-2,2) tol: exact }
test few_made_kn { M=3 N=17 K=45 init: integers(-2,2) tol: exact }
kernel few_made_km(x: f32[K,M], g: f32[M], w: i8[K,N]) -> y: f32[M,N] with { fuse: require } { y = (x * g) @[K] f32(w) }
test few_made_km { M=3 N=17 K=45 init: integers(-2,2) tol: exact }
# What is made of zeros behind the last k is infinite.
kernel few_inverse(x: bf16[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require } { y = x @[K] bf16(1 / w) }
test few_inverse { M=4 N=33 K=72 init: uniform(1,2) }
kernel few_inverse_f32(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require } { y = x @[K] (1 / w) }
test few_inverse_f32 { M=3 N=17 K=45 init: uniform(1,2) }
kernel few_f64(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @[K] w }
test few_f64 { M=3 N=34 K=38 init: integers(-2,2) tol: exact }
kernel parts_nk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K] w }
test parts_nk { M=130 K=136 N=132 init: integers(-200,200) }
kernel parts_kn(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = relu(x @ w + b) }
test parts_kn { M=72 K=136 N=88 init: integers(-200,200) }
test parts_kn { M=300 K=64 N=196 x.init: outlier(0,4e38) }
kernel parts_km(x: f32[A,K,M], w: f32[A,N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @[K,A] w }
test parts_km { A=2 M=72 K=68 N=88 init: integers(-200,200) }
test parts_km { A=3 M=130 K=192 N=64 init: integers(-20,20) }
kernel parts_shared(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } {
  h = (x @ w){N->(G,C=4)}
  y = (h - max[C](h)){(G,C)->N}
}
test parts_shared { M=72 K=72 N=88 init: integers(-200,200) }
test parts_shared { M=72 K=72 N=88 x.init: integers(-2,2) w.init: outlier(0,4e38) }
kernel made_nk(x: f32[M,K], w: bf16[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @[K] w }
test made_nk { M=70 K=200 N=136 init: integers(-2,2) tol: exact }
test made_nk { M=64 K=256 N=128 init: integers(-2,2) tol: exact }
test made_nk { M=264 K=128 N=136 init: integers(-2,2) tol: exact }
kernel made_kn(x: u8[M,K], s: f32[K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } { y = f16(x * s) @ w + b }
test made_kn { M=70 K=208 N=136 init: integers(0,2) tol: exact }
kernel made_b(x: bf16[K,M], w: f32[N,K], r: bf16[M,N], b: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = x @[K] bf16(w) + r + b }
test made_b { M=136 K=200 N=136 init: integers(-2,2) tol: exact }
kernel made_rows(x: u8[M,K], g: f32[M], w: bf16[N,K]) -> y: f32[M,N] with { fuse: require } { y = bf16(x * g) @[K] w }
test made_rows { M=72 K=80 N=72 x.init: integers(0,3) g.init: integers(-2,2) w.init: integers(-2,2) tol: exact }
kernel made_inverse(x: f32[M,K], w: bf16[N,K]) -> y: f32[M,N] with { fuse: require } { y = bf16(1 / x) @[K] w }
test made_inverse { M=72 K=72 N=72 init: uniform(1,2) }
test made_inverse { M=72 K=48 N=72 init: uniform(1,2) }
kernel cluster_nk(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @ w }
test cluster_nk { M=72 N=136 K=1032 init: integers(-2,2) }
test cluster_nk { M=150 N=300 K=136 init: integers(-2,2) }
kernel cluster_kn(x: f16[M,K], w: f16[K,N], b: f16[N], r: f16[M,N]) -> (y: f16[M,N], z: f32[M,N]) {
  z = x @ w
  y = relu(z + b) + r
}
test cluster_kn { M=130 N=72 K=520 init: integers(-2,2) }
kernel cluster_gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> y: bf16[M,N] { y = (x @ w) * (x @ v) }
test cluster_gate { M=40 N=72 K=1288 init: integers(-1,1) }
# What epilogues read of columns, rows and elements, whose last ones end where memory does.
kernel epilogue(x: bf16[M,K], w: bf16[N,K], b: f32[N], s: f32[M], r: bf16[M,N]) -> y: bf16[M,N] with { fuse: require } { y = (x @ w) * s + b + r }
test epilogue { M=72 N=72 K=72 init: integers(-2,2) }
test epilogue { M=200 N=136 K=64 init: integers(-2,2) }
test epilogue { M=67 N=65 K=72 init: integers(-2,2) }
kernel epilogue_rows(x: bf16[M,K], w: bf16[N,K], b: bf16[N], s: bf16[M]) -> y: bf16[M,N] with { fuse: require } { y = (x @ w) * s + b }
test epilogue_rows { M=136 N=72 K=72 init: integers(-2,2) }
kernel f8(x: f8e4m3[M,K], w: f8e4m3[N,K]) -> y: f32[M,N] { y = x @ w }
test f8 { M=72 K=272 N=136 init: integers(-2,2) }
kernel scaled(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/64,G]) -> y: f32[M,N] with { fuse: require } {
  y = sum[G](s * t[J: N/64] * (x{K->(G,R=128)} @[R] w{K->(G,R=128)}))
}
test scaled { M=70 N=128 K=384 init: integers(-3,3) tol: exact }
test scaled { M=130 N=192 K=128 init: integers(-3,3) tol: exact }
kernel scaled_columns(x: f8e5m2[M,K], w: f8e4m3[N,K], t: bf16[N,G=K/128]) -> y: f16[M,N] with { fuse: require } {
  y = sum[G](t * (x{K->(G,R=128)} @[R] w{K->(G,R=128)}))
}
test scaled_columns { M=72 N=136 K=256 init: integers(-3,3) tol: exact }
test scaled_columns { M=200 N=520 K=384 init: integers(-3,3) tol: exact }
test scaled_columns { M=136 N=64 K=640 init: integers(-3,3) tol: exact }
kernel few_rows(q: bf16[B,R,D], k: bf16[B,T,D], v: bf16[B,T,N], n: i32[B]) -> (y: bf16[B,R,N], l: f32[B,R]) with { fuse: require } {
  s = where(idx(T) < n, (q @[D] k) * 0.1, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @[T] v
}
test few_rows { B=2 R=4 T=300 D=64 N=64 n.init: integers(100,300) }
test few_rows { B=1 R=5 T=1100 D=40 N=136 n.init: integers(900,1100) }
test few_rows { B=3 R=70 T=200 D=64 N=64 n.init: integers(0,200) }
kernel few_all(q: f16[R,D], k: f16[T,D], v: f16[T,D]) -> y: f16[R,D] with { fuse: require } { y = softmax[T]((q @[D] k) * 0.1) @[T] v }
test few_all { R=3 T=256 D=128 }
test few_all { R=70 T=700 D=64 }
kernel turned(q: f16[S,D], k: f16[T,D], v: f16[T,D], scale: f32) -> o: f16[S,D] with { fuse: require } {
  o = softmax[T](where(idx(T) <= idx(S) && idx(S) - idx(T) < 90, (q @ k) * scale, -inf)) @ v
}
test turned { S=140 T=300 D=64 scale=-0.3 }
test turned { S=65 T=130 D=128 scale=0 }
test turned { S=260 T=260 D=64 scale=0.2 v.init: outlier(0,100000) }
# What is the same for a row, and for a column, of the intermediate.
kernel lengths(q: f16[S,D], k: f16[T,D], v: f16[T,D], n: i32[S], g: f32[S]) -> o: f16[S,D] with { fuse: require } {
  o = softmax[T](where(idx(T) < n, (q @ k) * g, -inf)) @ v
}
test lengths { S=72 T=136 D=64 n.init: integers(1,136) g.init: uniform(0.1,0.3) }
test lengths { S=4 T=200 D=64 n.init: integers(1,200) g.init: uniform(0.1,0.3) }
kernel along(q: f16[S,D], k: f16[T,D], v: f16[T,D], m: f32[T], keep: bool[T]) -> o: f16[S,D] with { fuse: require } {
  o = softmax[T](where(keep, (q @ k) * 0.25 + m, -inf)) @ v
}
test along { S=70 T=136 D=64 }
test along { S=4 T=72 D=64 }
test along { S=65 T=67 D=40 }
kernel along_f32(q: f32[S,D], k: f32[T,D], v: f32[T,D], m: f32[T]) -> o: f32[S,D] with { fuse: require } { o = softmax[T](q @ k + m) @ v }
test along_f32 { S=33 T=68 D=36 }
kernel attn(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,E]) -> y: bf16[H,S,E] { y = softmax[T](where(idx(T) <= idx(S), (q @ k) * 0.2, -inf)) @ v }
kernel attn_bwd = grad(attn, wrt: q, k, v) with { kernels: 2 }
test attn_bwd { H=1 S=20 T=24 D=16 E=16 }
test attn_bwd { H=2 S=200 T=136 D=64 E=64 }
# Sums of columns beside a result that is stored by tensor maps, and nothing stored but what is made of runs.
kernel columns_too(x: bf16[M,K], w: bf16[N,K], b: f32[N]) -> (y: bf16[M,N], c: f32[N]) {
  h = x @[K] w + b
  y = h
  c = sum[M](h)
}
test columns_too { M=200 N=136 K=72 init: integers(-2,2) }
test columns_too { M=64 N=64 K=64 init: integers(-2,2) }
kernel runs_held(x: bf16[M,K], w: bf16[N=128,K], g: f32[N]) -> y: f32[M] {
  v = (x @ w){N->(G=16,C)}
  y = max[N]((v - sum[C](v)){(G,C)->N} * g)
}
test runs_held { M=70 K=24 init: integers(-2,2) tol: exact }
test runs_held { M=128 K=64 init: integers(-2,2) tol: exact }

# Tensors with rows contiguous, by words: of four rows and of two, of whole ones and not, tiles that end within a row of chunks.
kernel by_words(x: i8[K,N], s: i8[N]) -> y: i8[N,K] { y = max(x, s) }
test by_words { K=208 N=260 init: integers(-8,8) tol: exact }
test by_words { K=208 N=259 init: integers(-8,8) tol: exact }
kernel by_halves(x: bf16[K,N], z: bf16[N,K]) -> y: bf16[N,K] { y = x + z }
test by_halves { K=136 N=198 init: integers(-8,8) tol: exact }
test by_halves { K=136 N=199 init: integers(-8,8) tol: exact }
