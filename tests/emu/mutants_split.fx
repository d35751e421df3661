# args: --with=fuse.split --skip=split_k
# Contractions of f32 in parts, whatever it costs, for tests/emu/mutants.c.
kernel in_parts(x: f32[M=72,K=136], w: f32[K,N=88], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
test in_parts { init: integers(-200,200) }
kernel in_parts_nk(x: f32[A=3,M=136,K=64], w: f32[A,N=264,K]) -> y: f32[M,N] { y = x @[A,K] w }
test in_parts_nk { init: integers(-20,20) }
test in_parts_nk { x.init: outlier(0,4e38) }
kernel in_parts_two(x: f32[K=72,M=64], w: f32[K,N=40], v: f32[K,N]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }
test in_parts_two { init: integers(-20,20) }
