# Contractions of f32 whose operands are split on the way, in every storage order, at the edges of tiles and of blocks of k, whatever it costs: tiles that nothing else has are pinned.
kernel nk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K] w }
kernel kn(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = relu(x @ w + b) }
kernel km_kn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K] w }
kernel km_nk(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K] w }
kernel small_nk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @[K] w }
kernel small_kn(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = relu(x @ w + b) }
kernel small_km_kn(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @[K] w }
kernel small_km_nk(x: f32[K,M], w: f32[N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @[K] w }
kernel batched(x: f32[B,M,K], w: f32[B,K,N]) -> y: f32[B,M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K] w }
kernel shared(x: f32[B,M,K], w: f32[K,N]) -> y: f32[B,M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @ w }
kernel two(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = (x @ w) * relu(x @ v) }
kernel halves_of[F=2*N](x: f32[M,K], w: f32[F,K], b: f32[F]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } {
  l, r = halves[F->N](x @[K] w + b)
  y = tanh(l) * r
}
kernel segments(x: f32[M,K], w: f32[K,N], u: f32[M,R], v: f32[N,R]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @ w + 2 * (u @[R] v) }
kernel outer_k(x: f32[M,A,K], w: f32[A,N,K]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @[K,A] w }
kernel residual(x: f32[M,K], w: f32[K,N], r: f32[M,N]) -> (y: f32[M,N], z: f16[M,N]) with { fuse: require, tile: [128, 128, 64] } {
  y = x @ w + r
  z = y
}
kernel turned(x: f32[M,K], w: f32[K,N]) -> y: f32[N,M] with { fuse: require, tile: [128, 64, 64] } { y = x @ w }
kernel strided_x(x: f32[M,K] strided, w: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel strict(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, precision: fma } { y = x @ w }

test nk { M=72 K=136 N=88 init: integers(-200,200) }
test nk { M=200 K=68 N=196 init: integers(-200,200) }
test nk { M=130 K=4 N=132 init: integers(-2000,2000) }
test nk { M=65 K=64 N=137 }
test kn { M=72 K=136 N=88 init: integers(-200,200) }
test kn { M=200 K=68 N=196 init: integers(-200,200) }
test kn { M=72 K=136 N=88 x.init: integers(-8388607,8388607) w.init: integers(0,0) b.init: integers(-2,2) }
test kn { M=61 K=72 N=75 init: integers(-200,200) }
test kn { M=72 K=67 N=75 init: integers(-200,200) }
test km_kn { M=72 K=136 N=88 init: integers(-200,200) }
test km_kn { M=200 K=65 N=196 init: integers(-200,200) }
test km_kn { M=136 K=72 N=72 }
test km_nk { M=72 K=136 N=88 init: integers(-200,200) }
test km_nk { M=200 K=68 N=197 init: integers(-200,200) }
test small_nk { M=72 K=136 N=88 init: integers(-200,200) }
test small_nk { M=200 K=68 N=196 init: integers(-200,200) }
test small_kn { M=72 K=136 N=88 init: integers(-200,200) }
test small_kn { M=200 K=68 N=196 }
test small_km_kn { M=72 K=136 N=88 init: integers(-200,200) }
test small_km_nk { M=72 K=136 N=88 init: integers(-200,200) }
test batched { B=3 M=40 K=72 N=24 init: integers(-200,200) }
test batched { B=2 M=132 K=72 N=136 init: uniform(0,1) }
test shared { B=3 M=40 K=72 N=24 init: integers(-200,200) }
test two { M=64 K=72 N=40 init: integers(-9,9) }
test two { M=136 K=136 N=72 }
test halves_of { M=64 K=72 N=40 }
test segments { M=64 K=72 N=40 R=64 init: integers(-20,20) }
test segments { M=136 K=64 N=132 R=200 init: integers(-20,20) }
test outer_k { M=72 A=4 K=36 N=88 init: integers(-20,20) }
test residual { M=72 K=136 N=88 init: integers(-20,20) }
test turned { M=72 K=136 N=88 init: integers(-200,200) }
test turned { M=72 K=136 N=88 }
test strided_x { M=40 K=72 N=40 init: integers(-200,200) }
test strict { M=40 K=72 N=40 }

# Windows whose channels lie last, or are copied so: a step, what lies apart, tails of channels, 64 and more of them, nothing outside.
kernel window(x: f32[B,H,W,C], k: f32[U=3,V=3,C,O]) -> z: f32[B,H,W,O] with { fuse: require, tile: [128, 64, 64] } {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
kernel window_steps(x: f32[B,H,W,C], k: f32[O,U=3,V=2,C], b: f32[O]) -> z: f32[B,O,P=H,Q=W] with { fuse: require, tile: [128, 64, 64] } {
  z = relu(sum[U,V,C]((x[H: 2*idx(P) + 2*idx(U) - 2, W: 3*idx(Q) + 2 - 3*idx(V)] ?? 0) * k) + b)
}
kernel window_max(x: f32[T=S+K-1,C], k: f32[O,K=4,C]) -> z: f32[S] with { kernels: 2, tile: [128, 64, 64] } { z = max[O](sum[K,C](x[T: S+K] * k)) }
kernel window_planes(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3]) -> z: f32[B,O,H,W] with { tile: [128, 64, 64] } {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
kernel window_ends(x: f32[T=S+K-1,C], k: f32[O,K=2,C]) -> z: f32[S,O] with { fuse: require, tile: [128, 64, 64] } { z = sum[K,C](x[T: S+K] * k) }
test window { B=2 H=7 W=9 C=24 O=40 init: integers(-200,200) }
test window { B=3 H=5 W=6 C=68 O=64 }
test window { B=2 H=7 W=9 C=23 O=40 init: integers(-200,200) }
test window_steps { B=3 H=9 W=5 C=72 O=40 init: integers(-50,50) }
test window_steps { B=2 H=5 W=14 C=36 O=130 init: integers(-50,50) }
test window_max { S=150 C=40 O=70 init: integers(-50,50) }
test window_planes { B=2 H=7 W=8 C=24 O=40 init: integers(-50,50) }
test window_planes { B=3 H=5 W=12 C=132 O=16 init: integers(-50,50) }
test window_ends { S=40 C=64 O=40 x.init: uniform(-3.4e38,3.4e38) k.init: uniform(-1e-10,1e-10) }
test window_ends { S=40 C=64 O=40 x.init: uniform(-1e-40,1e-40) k.init: uniform(-1e30,1e30) }

# A factor that picks elements: they come out to the bit.
kernel pick(i: i32[M], w: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = where(idx(K) == i, 1.0, 0.0) @[K] w }
kernel picked(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } { y = x @ w }
test picked { M=40 K=64 N=40 x.init: 1 w.init: integers(-262143,262143) }
test pick { M=40 K=64 N=40 i.init: integers(0,63) }

# Subnormal numbers, infinities and NaN, numbers beyond the largest bf16, and next to subnormal ones.
kernel ends(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require, tile: [128, 64, 64] } { y = x @ w }
test ends { M=40 K=64 N=40 x.init: uniform(-1e-40,1e-40) w.init: uniform(-1e30,1e30) }
test ends { M=40 K=64 N=40 x.init: uniform(-1e-43,1e-43) w.init: uniform(1e36,1e37) }
test ends { M=40 K=64 N=40 x.init: uniform(1e36,1e37) w.init: uniform(-1e-43,1e-43) }
test ends { M=40 K=64 N=40 x.init: uniform(-3e-38,3e-38) w.init: uniform(-1e20,1e20) }
test ends { M=40 K=64 N=40 x.init: uniform(-3.4e38,3.4e38) w.init: uniform(-1e-10,1e-10) }
test ends { M=40 K=64 N=40 x.init: 3.4028234e38 w.init: uniform(-1e-10,1e-10) }

# Reductions of results, and what elements share with their runs.
kernel row_max(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { kernels: 2, tile: [128, 64, 64] } { y = max[N](x @[K] w + b) }
kernel column_sum(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], s: f32[N]) with { kernels: 2, tile: [128, 64, 64] } {
  y = x @ w
  s = sum[M](y)
}
kernel groups(x: f32[M,K], w: f32[N=256,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, tile: [128, 128, 64] } {
  h = relu(x @[K] w + b)
  n = layernorm[C](h{N->(G=4,C)})
  y = n{(G,C)->N}
}
test row_max { M=200 K=68 N=196 init: integers(-20,20) }
test row_max { M=72 K=64 N=61 init: integers(-20,20) }
test column_sum { M=200 K=68 N=196 init: integers(-20,20) }
test groups { M=136 K=68 }

# Rows of no multiple of 16 bytes: the factors are padded along k as they are stored in parts.
kernel odd_rows(x: f32[M=1100,K=1003], w: f32[K,N=1101], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
test odd_rows { x.init: integers(-20,20) w.init: integers(-20,20) b.init: integers(-20,20) }
test odd_rows { }
