# Contractions with a long k, cut in slices whose number and length the launch has: in every storage order, by every engine, with a last slice that is shorter, of one element and of none.
kernel nk(x: bf16[M,K], w: bf16[N,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }
kernel kn(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = relu(x @ w) }
kernel km_kn(x: bf16[K,M], w: bf16[K,N]) -> y: f32[M,N] { y = x @[K] w }
kernel batched(x: bf16[B,M,K], w: bf16[B,N,K]) -> y: f32[B,M,N] { y = x @[K] w }
kernel parts(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
kernel parts_kn(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }
kernel double(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @ w }
kernel bytes(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] { y = x @[K] w }
kernel gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }
kernel fixed(x: bf16[M=72,K=4099], w: bf16[N=40,K]) -> y: f32[M,N] { y = x @[K] w }
kernel fixed_kn(x: bf16[K=4099,M=72], w: bf16[K,N=40]) -> y: f32[M,N] { y = x @[K] w }

test nk { M=8 N=16 K=50000 init: integers(-1,1) }
test nk { M=20 N=16 K=50008 init: integers(-1,1) }
test nk { M=20 N=16 K=50001 init: integers(-1,1) }
test kn { M=24 N=40 K=3080 init: integers(-2,2) tol: exact }
test kn { M=24 N=40 K=3083 init: integers(-2,2) tol: exact }
test kn { M=3 N=40 K=3083 init: integers(-2,2) tol: exact }
test km_kn { M=72 N=24 K=5000 init: integers(-2,2) tol: exact }
test km_kn { M=72 N=24 K=5377 init: integers(-2,2) tol: exact }
test km_kn { M=61 N=23 K=5377 init: integers(-2,2) tol: exact }
test batched { B=3 M=24 N=40 K=9000 init: integers(-2,2) tol: exact }
test parts { M=40 N=24 K=3000 init: integers(-200,200) }
test parts { M=40 N=24 K=3001 init: integers(-200,200) }
test parts_kn { M=40 N=24 K=3000 init: integers(-200,200) }
test parts_kn { M=8 N=24 K=3001 init: integers(-200,200) }
test double { M=9 N=8 K=3001 init: integers(-200,200) tol: exact }
test bytes { M=24 N=40 K=18000 init: integers(-9,9) tol: exact }
test gate { M=24 N=40 K=9000 init: integers(-2,2) }
test fixed { init: integers(-2,2) tol: exact }
test fixed_kn { init: integers(-2,2) tol: exact }
