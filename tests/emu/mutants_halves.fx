# args: --with=fuse.split,fuse.halves --skip=split_k
# Contractions of f32 stored as two f16, whatever it costs, for tests/emu/mutants.c.
kernel two_halves(x: f32[M=72,K=136], w: f32[K,N=88], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
test two_halves { init: integers(-20,20) }
test two_halves { x.init: outlier(0,4e38) w.init: integers(-2,2) }
test two_halves { x.init: uniform(1e-26,2e-26) w.init: uniform(1,2) b.init: 0 }
kernel two_halves_nk(x: f32[A=2,M=136,K=64], w: f32[A,N=264,K]) -> y: f32[A,M,N] { y = x @[K] w }
test two_halves_nk { init: integers(-20,20) }
test two_halves_nk {}
kernel two_halves_powers(x: f32[M=65,K=72], p: i32[N=72,K]) -> y: f32[M,N] { y = x @[K] exp2(f32(p)) }
test two_halves_powers { x.init: integers(-2000000,2000000) p.init: integers(-3,3) }
kernel two_halves_odd(x: f32[K=65,M=72], w: f32[K,N=80], v: f32[K,N]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }
test two_halves_odd { init: integers(-20,20) }
