# args: --with=fuse.split,fuse.halves --skip=split_k
# Contractions of f32 stored as two f16, whatever it costs: in every storage order, at the edges of tiles and of blocks of k.
kernel mm(x: f32[M=72,K=136], w: f32[K,N=88], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel mm_nk(x: f32[M=65,K=64], w: f32[N=136,K]) -> y: f32[M,N] { y = x @[K] w }
kernel mm_km(x: f32[K=80,M=72], w: f32[K,N=72]) -> y: f32[M,N] { y = x @[K] w }
kernel mm_km_nk(x: f32[K=72,M=136], w: f32[N=61,K]) -> y: f32[M,N] { y = x @[K] w }
kernel odd_k(x: f32[K=65,M=72], w: f32[K,N=80]) -> y: f32[M,N] { y = x @[K] w }
kernel batched(x: f32[B=3,M=40,K=72], w: f32[B,K,N=24]) -> y: f32[B,M,N] { y = x @[K] w }
kernel tall(x: f32[B=3,M=136,K=72], w: f32[B,N=200,K]) -> y: f32[B,M,N] { y = x @[K] w }
kernel rows(x: f32[B=3,T=40,K=72], w: f32[K,N=24]) -> y: f32[B,T,N] { y = x @ w }    # rows of all B are one matrix
kernel heads(x: f32[T=40,K=72], w: f32[K,H=3,D=24]) -> y: f32[T,H,D] { y = x @ w }
kernel apart(x: f32[B=3,T=40,K=72], w: f32[K,N=24]) -> y: f32[T,B,N] { y = x @ w }   # rows are none, as y has them
kernel gram(x: f32[M=72,K=136]) -> (y: f32[M,M2=M], z: f32[K,K2=K]) {
  y = x @[K] x[M: M2]
  z = sum[M](x * x[K: K2])
}
kernel twice(x: f32[M=72,K=72], w: f32[K,N=72], v: f32[M,N]) -> (y: f32[M,N], z: f32[K,N]) {
  y = x @ w                                                                           # x with powers of two along K
  z = x @[M] v                                                                        # and along M
}
kernel two(x: f32[M=64,K=72], w: f32[K,N=40], v: f32[K,N]) -> y: f32[M,N] { y = silu(x @ w) * (x @ v) }
kernel segments(x: f32[M=64,K=72], w: f32[K,N=40], u: f32[M,R=64], v: f32[R,N]) -> y: f32[M,N] { y = x @ w + 0.5 * (u @ v) }
kernel columns(x: f32[M=72,K=64], w: f32[K,N=72]) -> (y: f32[M,N], s: f32[N]) {
  y = x @ w
  s = sum[M](y)
}
kernel mlp(x: f32[M=40,K=64], w: f32[K,H=72], v: f32[H,N=40], b: f32[H]) -> y: f32[M,N] { y = relu(x @ w + b) @ v }
kernel constant(x: f32[M=40,K=72], w: const f32[K,N=40]) -> y: f32[M,N] { y = x @ w }
kernel narrow(x: f32[M=64,K=64], w: f32[K,N=72]) -> y: bf16[M,N] { y = x @ w }

kernel beside(x: f32[M=72,K=64], w: f32[K,N=72]) -> (y: f32[M,N], z: f32[M,K]) {      # x is read for itself, too
  y = x @ w
  z = x * 2
}

test beside { init: integers(-20,20) }
test mm {}
test mm { init: integers(-200,200) }
test mm { x.init: integers(-8388607,8388607) w.init: integers(0,0) b.init: integers(-2,2) }
test mm { init: uniform(0,1) }
test mm_nk { init: integers(-200,200) }
test mm_nk {}
test mm_km { init: integers(-200,200) }
test mm_km_nk { init: integers(-200,200) }
test mm_km_nk {}
test odd_k { init: integers(-200,200) }
test batched { init: integers(-200,200) }
test batched { init: uniform(0,1) }
test tall { init: integers(-200,200) }
test rows { init: integers(-200,200) }
test rows {}
test heads { init: integers(-200,200) }
test apart { init: integers(-200,200) }
test gram { init: integers(-200,200) }
test twice { init: integers(-200,200) }
test twice {}
test two { init: integers(-2,2) }
test two {}
test segments { init: integers(-20,20) }
test segments {}
test columns { init: integers(-20,20) }
test mlp { init: integers(-2,2) }
test constant {}
test narrow {}

# One term a sum, whose factors have 23 and few bits; many terms of one sign.
kernel one(x: f32[M=72,K=136], w: f32[K,N=72]) -> y: f32[M,N] { y = x @ w }
kernel long_k(x: f32[M=64,K=4096], w: f32[K,N=64]) -> y: f32[M,N] { y = x @ w }
test one { x.init: integers(-8388607,8388607) w.init: integers(0,1) tol: worst }
test long_k {}
test long_k { init: uniform(0,1) tol: worst }

# Elements of a block of k far apart: on one side; on both, so that what is small there is multiplied by what is large here.
kernel outlier(x: f32[M=72,K=136], w: f32[K,N=72]) -> y: f32[M,N] { y = x @ w }
kernel zeros(x: f32[M=72,K=136], w: f32[K,N=72]) -> y: f32[M,N] { y = x @ w }
test outlier { x.init: outlier(1,10000) }
test outlier { x.init: outlier(1,1e12) }
test outlier { x.init: outlier(1,1e12) w.init: outlier(1,1e12) }
test zeros { x.init: integers(0,1) w.init: outlier(1,1e12) }

# Infinities, NaN, subnormal numbers, and numbers next to either end of the range.
kernel ends(x: f32[M=40,K=64], w: f32[K,N=40]) -> y: f32[M,N] { y = x @ w }
test ends { x.init: uniform(-1e-40,1e-40) w.init: uniform(-1e30,1e30) }
test ends { x.init: uniform(-1e-43,1e-43) w.init: uniform(1e36,1e37) }
test ends { x.init: uniform(1e36,1e37) w.init: uniform(-1e-43,1e-43) }
test ends { x.init: uniform(-3e-38,3e-38) w.init: uniform(-1e20,1e20) }
test ends { x.init: uniform(-1e-17,1e-17) w.init: uniform(-1e-16,1e-16) }
test ends { x.init: uniform(-1e-23,1e-23) w.init: uniform(-1e17,1e17) }
test ends { x.init: uniform(-1e17,1e17) w.init: uniform(-1e9,1e9) }
test ends { x.init: uniform(-3.4e38,3.4e38) w.init: uniform(-1e-10,1e-10) }
test ends { x.init: 3.4028234e38 w.init: uniform(-1e-10,1e-10) }

# Extents that the launch knows alone, also those that are no multiples of anything: rows of what is stored are padded.
kernel open_mm(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel open_nk(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
kernel open_km(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }
kernel open_batches(x: f32[B,C,M,K], w: f32[C,B,N,K]) -> y: f32[C,B,M,N] { y = x @[K] w }
kernel open_heads(x: f32[B,T,K], w: f32[K,H,D]) -> y: f32[B,T,H,D] { y = x @ w }
kernel open_two(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] { y = silu(x @ w) * (x @ v) }
kernel open_segments(x: f32[M,K], w: f32[K,N], u: f32[M,R], v: f32[R,N]) -> y: f32[M,N] { y = x @ w + 0.5 * (u @ v) }
kernel open_constant(x: f32[M,K], w: const f32[K,N]) -> y: f32[M,N] { y = x @ w }
kernel odd(x: f32[M=67,K=71], w: f32[K,N=77]) -> y: f32[M,N] { y = x @ w }
test open_mm { M=72 K=136 N=88 init: integers(-200,200) }
test open_mm { M=71 K=135 N=87 init: integers(-200,200) }
test open_mm { M=71 K=135 N=87 }
test open_mm { M=1 K=1 N=1 init: integers(-200,200) }
test open_mm { M=5 K=0 N=7 init: integers(-200,200) }
test open_nk { M=33 K=65 N=130 init: integers(-200,200) }
test open_nk { M=130 K=200 N=130 }
test open_km { M=67 K=77 N=130 init: integers(-200,200) }
test open_batches { B=3 C=2 M=41 K=73 N=25 init: integers(-200,200) }
test open_heads { B=3 T=41 K=73 H=3 D=25 init: integers(-200,200) }
test open_two { M=65 K=73 N=41 init: integers(-2,2) }
test open_segments { M=65 K=73 N=41 R=65 init: integers(-20,20) }
test open_constant { M=65 K=73 N=41 init: integers(-20,20) }
test odd { init: integers(-200,200) }

# A cluster of blocks shares out k, as few tiles want it: slices of one length, of several, of none; blocks that are added up as f32 among them.
test open_mm { M=72 K=1032 N=88 init: integers(-20,20) }
test open_mm { M=200 K=2000 N=88 init: integers(-20,20) }
test open_mm { M=71 K=135 N=88 }
test open_nk { M=300 K=1200 N=136 }
test open_nk { M=130 K=1200 N=136 x.init: outlier(1,1e12) w.init: outlier(1,1e12) }
test open_segments { M=65 K=700 N=40 R=320 init: integers(-20,20) }
test open_batches { B=1 C=2 M=41 K=400 N=24 init: integers(-200,200) }

# Where a contract says how many kernels there are, phases of a launch store both factors, tiles of these are more than blocks.
kernel req_mm(x: f32[M=72,K=136], w: f32[K,N=88], b: f32[N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) }
kernel req_nk(x: f32[M=130,K=200], w: f32[N=330,K]) -> y: f32[M,N] with { fuse: require } { y = x @[K] w }
kernel req_odd(x: f32[K=65,M=71], w: f32[K,N=61]) -> y: f32[M,N] with { fuse: require } { y = x @[K] w }
kernel req_km(x: f32[K=78,M=68], w: f32[K,N=130]) -> y: f32[M,N] with { fuse: require } { y = x @[K] w }
kernel req_batched(x: f32[B=3,M=41,K=72], w: f32[B,K,N=24]) -> y: f32[B,M,N] with { fuse: require } { y = x @[K] w }
kernel req_two(x: f32[M=65,K=73], w: f32[K,N=41], v: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = (x @ w) * relu(x @ v) }
kernel req_const(x: f32[M=65,K=73], w: const f32[K,N=41]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel req_many(x: f32[M=600,K=520], w: f32[K,N=300]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel req_rows(x: f32[M=130,K=72], w: f32[K,N=140]) -> y: f32[M,N] with { kernels: 2 } { y = softmax[N](x @ w) }
test req_mm { init: integers(-200,200) }
test req_nk { }
test req_odd { init: integers(-200,200) }
test req_odd { x.init: outlier(1,1e12) w.init: outlier(1,1e12) }
test req_km { init: integers(-200,200) }
test req_batched { init: integers(-200,200) }
test req_two { init: integers(-2,2) }
test req_const { init: integers(-200,200) }
test req_many { init: integers(-20,20) }
test req_rows { }

# Epilogues that reduce runs, or share something with them, one sum after the other of either consumer.
kernel red_group(x: f32[M=130,K=72], w: f32[N=256,K], b: f32[N], g: f32[N]) -> y: f32[M,N] with { fuse: require } {
  h = silu(x @[K] w + b)
  n = layernorm[C](h{N->(G=4,C)})
  y = n{(G,C)->N} * g
}
kernel red_rows(x: f32[M=200,K=136], w: f32[K,N=140]) -> (y: f32[M,N], s: f32[N]) with { kernels: 2 } {
  y = x @ w
  s = sum[M](y * y)
}
kernel red_free(x: f32[M=130,K=72], w: f32[K,N=320]) -> (s: f32[M]) { s = max[N](x @ w) }
test red_group { }
test red_group { x.init: outlier(1,1e12) w.init: outlier(1,1e12) }
test red_rows { init: integers(-20,20) }
test red_rows { }
test red_free { init: integers(-200,200) }
