# args: --with=fuse.split --skip=fuse.halves
# Contractions of f32 in parts: what is written with fixed extents, in every storage order, at the edges of tiles and of blocks of k, whatever it costs.
kernel mm(x: f32[M=72,K=136], w: f32[K,N=88], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel mm_nk(x: f32[M=65,K=64], w: f32[N=136,K]) -> y: f32[M,N] { y = x @[K] w }
kernel mm_km(x: f32[K=80,M=72], w: f32[K,N=72]) -> y: f32[M,N] { y = x @[K] w }
kernel mm_km_nk(x: f32[K=72,M=136], w: f32[N=61,K]) -> y: f32[M,N] { y = x @[K] w }
kernel odd_k(x: f32[K=65,M=72], w: f32[K,N=80]) -> y: f32[M,N] { y = x @[K] w }      # m and n are contiguous
kernel odd_all(x: f32[M=61,K=72], w: f32[K,N=75]) -> y: f32[M,N] { y = x @ w }       # w is turned, as its rows are no multiple of 16 bytes
kernel batched(x: f32[B=3,M=40,K=72], w: f32[B,K,N=24]) -> y: f32[B,M,N] { y = x @[K] w }
kernel shared(x: f32[B=3,M=40,K=72], w: f32[K,N=24]) -> y: f32[B,M,N] { y = x @ w }
kernel two(x: f32[M=64,K=72], w: f32[K,N=40], v: f32[K,N]) -> y: f32[M,N] { y = silu(x @ w) * (x @ v) }
kernel halves_of[F=2*N](x: f32[M=64,K=72], w: f32[K,F], b: f32[F]) -> y: f32[M,N=40] {
  l, r = halves[F->N](x @ w + b)
  y = tanh(l) * r
}
kernel segments(x: f32[M=64,K=72], w: f32[K,N=40], u: f32[M,R=64], v: f32[R,N]) -> y: f32[M,N] { y = x @ w + 0.5 * (u @ v) }
kernel bytes(x: i8[M=72,K=144], w: u8[K,N=90]) -> y: i32[M,N] { y = x @ w }           # both as tensor cores take them: w is turned
kernel bytes_km(x: u8[K=80,M=65], w: i8[K,N=72], s: f32[N]) -> y: bf16[M,N] { y = (x @[K] w) * s }
kernel bytes_odd(x: i8[M=40,K=75], w: i8[K,N=72]) -> y: i32[M,N] { y = x @ w }         # rows of k would be no multiple of 16 bytes
kernel mlp(x: f32[M=40,K=64], w: f32[K,H=72], v: f32[H,N=40], b: f32[H]) -> y: f32[M,N] { y = relu(x @ w + b) @ v }
kernel normed(x: f32[M=40,K=72], g: f32[K], w: f32[K,N=40]) -> y: f32[M,N] { y = (layernorm[K](x) * g) @ w }
kernel window(x: f32[M=40,T=100], w: f32[K=64,N=40]) -> y: f32[M,N] { y = x[T: K + 8] @ w }
kernel columns(x: f32[M=72,K=64], w: f32[K,N=72]) -> (y: f32[M,N], s: f32[N]) {
  y = x @ w
  s = sum[M](y)
}
kernel narrow(x: f32[M=64,K=64], w: f32[K,N=72]) -> y: bf16[M,N] { y = x @ w }
kernel strided_x(x: f32[M=40,K=72] strided, w: f32[K,N=40]) -> y: f32[M,N] { y = x @ w }
kernel strict(x: f32[M=40,K=72], w: f32[K,N=40]) -> y: f32[M,N] with { precision: fma } { y = x @ w }

test mm {}
test mm { init: integers(-300,300) }
test mm { x.init: integers(-8388607,8388607) w.init: integers(0,0) b.init: integers(-2,2) }
test mm_nk { init: integers(-200,200) }
test mm_nk {}
test mm_km { init: integers(-200,200) }
test mm_km_nk { init: integers(-200,200) }
test mm_km_nk {}
test odd_k { init: integers(-200,200) }
test odd_all { init: integers(-200,200) }
test batched { init: integers(-200,200) }
test batched { init: uniform(0,1) }
test shared { init: integers(-200,200) }
test two { init: integers(-2,2) }
test two {}
test halves_of {}
test segments { init: integers(-20,20) }
test bytes { init: integers(0,100) }
test bytes_km { init: integers(0,100) }
test bytes_odd { init: integers(0,100) }
test mlp { init: integers(-2,2) }
test mlp {}
test normed {}
test window { init: integers(-200,200) }
test columns { init: integers(-20,20) }
test narrow {}
test strided_x { init: integers(-200,200) }
test strict {}

# tf32: factors whose m or n is contiguous are turned.
kernel turned(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @ w + b) }
kernel both_turned(x: f32[B,K,M], w: f32[B,K,N]) -> y: f32[B,M,N] with { precision: tf32 } { y = x @[K] w }
kernel gate_turned(x: f32[M,K], w: f32[K,N], v: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = (x @[K] w) * tanh(x @[K] v) }
kernel as_it_lies(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = where(idx(K) == 3 * idx(M), -inf, x) @[K] w }
test turned { M=72 K=80 N=72 init: integers(-9,9) }
test turned { M=72 K=81 N=70 init: integers(-9,9) }
test turned { M=136 K=36 N=200 }
test both_turned { B=2 M=68 K=40 N=72 init: integers(-9,9) }
test both_turned { B=2 M=68 K=40 N=72 }
test gate_turned { M=72 K=64 N=72 init: integers(-2,2) }
test as_it_lies { M=72 K=64 N=40 init: integers(0,2) }

# Sums that are computed again: of subnormal numbers, infinities and NaN. Numbers beyond the largest bf16, and next to subnormal ones.
kernel ends(x: f32[M=40,K=64], w: f32[K,N=40]) -> y: f32[M,N] { y = x @ w }
kernel infinite(x: f32[M=40,K=64], w: f32[K,N=40]) -> y: f32[M,N] { y = where(idx(K) == 3 * idx(M), inf, x) @ w }
kernel two_infinite(x: f32[M=40,K=64], w: f32[K,N=40], v: f32[K,N]) -> y: f32[M,N] {
  z = where(idx(K) == 3 * idx(M), -inf, x)
  y = max(z @ w, z @ v)
}
test ends { x.init: uniform(-1e-40,1e-40) w.init: uniform(-1e30,1e30) }
test ends { x.init: uniform(-1e-43,1e-43) w.init: uniform(1e36,1e37) }
test ends { x.init: uniform(1e36,1e37) w.init: uniform(-1e-43,1e-43) }
test ends { x.init: uniform(-3e-38,3e-38) w.init: uniform(-1e20,1e20) }
test ends { x.init: uniform(-3.4e38,3.4e38) w.init: uniform(-1e-10,1e-10) }
test ends { x.init: 3.4028234e38 w.init: uniform(-1e-10,1e-10) }
test infinite { init: integers(0,2) }
test infinite {}
test two_infinite { init: integers(0,2) }
