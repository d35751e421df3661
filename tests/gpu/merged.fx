kernel two(x: bf16[M,K], w: bf16[K,N], a: bf16[M,R], c: bf16[R,N]) -> (y: bf16[M,N]) with { fuse: require } { y = x @ w + a @ c }
kernel swapped(x: bf16[M,K], w: bf16[K,N], a: bf16[M,R], c: bf16[R,N], b: f32[N]) -> (y: f32[M,N]) with { fuse: require } { y = relu(a @ c + b + x @ w) }
kernel three(x: f16[M,K], w: f16[N,K], a: f16[M,R], c: f16[N,R], u: f16[S,M], v: f16[S,N]) -> (y: f32[M,N]) with { fuse: require } { y = x @[K] w + (a @[R] c + u @[S] v) * 2 }
kernel gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K], a: bf16[M,R], c: bf16[N,R]) -> (y: bf16[M,N]) with { fuse: require } { y = silu(x @[K] w + a @[R] c) * (x @[K] v) }
kernel same_a(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> (y: bf16[M,N]) with { fuse: require } { y = x @[K] w + x @[K] v }
kernel bytes(x: i8[M,K], w: i8[N,K], a: i8[M,R], c: i8[N,R]) -> (y: i32[M,N]) with { fuse: require } { y = x @[K] w + a @[R] c }
kernel kept(x: bf16[M,K], w: bf16[K,N], a: bf16[M,R], c: bf16[R,N]) -> (y: f32[M,N], z: f32[M,N]) with { fuse: require } { z = a @ c
  y = x @ w + z }
test two { M=70 K=192 N=136 R=16 init: integers(-2,2) tol: exact }
test two { M=200 K=64 N=264 R=200 }
test two { M=8 K=64 N=264 R=200 }
test swapped { M=70 K=192 N=136 R=16 init: integers(-2,2) tol: exact }
test swapped { M=65 K=33 N=67 R=5 }
test three { M=72 K=192 N=136 R=16 S=24 init: integers(-2,2) tol: exact }
test gate { M=72 K=192 N=136 R=16 }
test same_a { M=72 K=192 N=136 }
test bytes { M=72 K=192 N=136 R=32 init: integers(-9,9) tol: exact }
test kept { M=72 K=192 N=136 R=16 init: integers(-2,2) tol: exact }
