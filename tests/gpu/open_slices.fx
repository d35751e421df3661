# Contractions with a long k whose extents only the launch knows: as many slices as keep the multiprocessors busy, of factors as they lie, and of computed ones in equal lengths.
kernel nk(x: bf16[M,K], w: bf16[N,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }
kernel kn(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] { y = relu(x @ w) }
kernel km_kn(x: bf16[K,M], w: bf16[K,N]) -> y: f32[M,N] { y = x @[K] w }
kernel batched(x: bf16[B,M,K], w: bf16[B,N,K]) -> y: f32[B,M,N] { y = x @[K] w }
kernel parts(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @[K] w }
kernel scaled(x: f32[M,K], s: f32[K], w: f32[N,K]) -> y: f32[M,N] { y = (x * s) @[K] w }
kernel gate(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }
kernel joined(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) }
kernel outer(c: f32[B,P], w: f32[H,P,Q=P]) -> h: f32[B,H] with { fuse: require } { h = relu((c * c{P->Q}) @[P,Q] w) }
kernel gram(x: f32[K,D]) -> c: f32[D,E=D] { c = sum[K](x * x{D->E}) }
kernel gram_half(x: bf16[D,K]) -> c: f32[D,E=D] { c = sum[K](x * x{D->E}) }

test gram { K=13001 D=40 init: integers(-2,2) tol: exact }
test gram { K=13001 D=37 init: integers(-2,2) tol: exact }
test gram_half { K=19001 D=24 init: integers(-2,2) tol: exact }
test nk { M=20 K=50008 N=16 }
test nk { M=20 K=50001 N=17 init: integers(-2,2) }
test nk { M=3 K=30000 N=40 init: integers(-2,2) }
test nk { M=300 K=70 N=40 }
test nk { M=20 K=0 N=16 }
test kn { M=24 K=9080 N=40 init: integers(-2,2) tol: exact }
test kn { M=24 K=9083 N=40 init: integers(-2,2) tol: exact }
test kn { M=3 K=30083 N=40 init: integers(-2,2) tol: exact }
test km_kn { M=72 K=15377 N=24 init: integers(-2,2) tol: exact }
test km_kn { M=61 K=15377 N=23 init: integers(-2,2) tol: exact }
test batched { B=3 M=24 K=9001 N=40 init: integers(-2,2) tol: exact }
test parts { M=40 K=13001 N=24 }
test parts { M=40 K=13000 N=24 init: integers(-2,2) tol: exact }
test scaled { M=40 K=13000 N=24 init: integers(-2,2) tol: exact }
test scaled { M=40 K=13001 N=24 init: integers(-2,2) tol: exact }
test gate { M=24 K=19001 N=40 init: integers(-2,2) }
test joined { M=20 K=8192 N=20 init: integers(-2,2) tol: exact }
test joined { M=20 K=8191 N=21 init: integers(-2,2) tol: exact }
test outer { B=20 P=96 H=24 init: integers(-2,2) tol: exact }
test outer { B=20 P=97 H=24 init: integers(-2,2) tol: exact }
