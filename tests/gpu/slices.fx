# Contractions with a long k, cut in slices, extents fixed: in every storage order, by every engine, with a last slice that is shorter.
kernel nk(x: bf16[M=20,K=50008], w: bf16[N=16,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }
kernel nk_odd(x: bf16[M=20,K=50001], w: bf16[N=16,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }
kernel kn(x: f16[M=24,K=3080], w: f16[K,N=40]) -> y: f32[M,N] { y = relu(x @ w) }
kernel kn_odd(x: f16[M=24,K=3083], w: f16[K,N=40]) -> y: f32[M,N] { y = relu(x @ w) }
kernel few(x: f16[M=3,K=30083], w: f16[K,N=40]) -> y: f32[M,N] { y = relu(x @ w) }
kernel km_kn(x: bf16[K=5377,M=72], w: bf16[K,N=24]) -> y: f32[M,N] { y = x @[K] w }
kernel km_kn_odd(x: bf16[K=5377,M=61], w: bf16[K,N=23]) -> y: f32[M,N] { y = x @[K] w }
kernel batched(x: bf16[B=3,M=24,K=9001], w: bf16[B,N=40,K]) -> y: f32[B,M,N] { y = x @[K] w }
kernel parts(x: f32[M=40,K=3001], w: f32[N=24,K]) -> y: f32[M,N] { y = x @[K] w }
kernel parts_kn(x: f32[M=40,K=3000], w: f32[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel double(x: f64[M=9,K=3001], w: f64[K,N=8]) -> y: f64[M,N] { y = x @ w }
kernel bytes(x: i8[M=24,K=18001], w: i8[N=40,K]) -> y: i32[M,N] { y = x @[K] w }
kernel gate(x: bf16[M=24,K=9001], w: bf16[N=40,K], v: bf16[N,K]) -> y: f32[M,N] { y = (x @[K] w) * (x @[K] v) }
kernel even(x: f16[M,K=65536], w: f16[K,N=64]) -> y: f16[M,N] { y = x @ w }

# one tensor twice, under other labels; what is computed in equal slices that end within blocks of k
kernel gram(x: f32[K=3001,D=40]) -> c: f32[D,E=D] { c = sum[K](x * x{D->E}) }
kernel gram_half(x: bf16[B=2,D=24,K=9001]) -> c: f32[B,D,E=D] { c = sum[K](x * x{D->E}) }
kernel cov(x: f32[K=13000,D=24]) -> c: f32[D,E=D] { z = x - max[K](x); c = sum[K](z * z{D->E}) }
kernel cov_half(x: bf16[K=13000,D=24]) -> c: f32[D,E=D] { z = bf16(x - 1); c = sum[K](z * z{D->E}) }
kernel short_cut(x: f16[M=24,K=9000], s: f16[K], w: f16[K,N=40]) -> y: f32[M,N] { y = f16(x * s) @ w }

# one launch: the slices, a barrier of the grid, and their sum with the epilogue; of a computed operand too
kernel joined(x: f32[M=20,K=4096], w: f32[K,N=20], b: f32[N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) }
kernel joined_half(x: bf16[M=20,K=50008], w: bf16[N=16,K], b: f32[N]) -> y: f32[M,N] with { kernels: 1 } { y = relu(x @[K] w + b) }
kernel padded(x: bf16[M=17,K=131075], w: bf16[N=18,K], b: bf16[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel joined_batched(x: i8[B=2,M=24,K=18001], w: i8[B,N=40,K]) -> y: i32[B,M,N] with { fuse: require } { y = x @[K] w }
kernel joined_outer(c: f32[M=12,P=64], w: f32[N=24,P,Q=P], b: f32[N]) -> y: f32[M,N] with { fuse: require } { y = relu((c * c{P->Q}) @[P,Q] w + b) }

# slices that a spec says, of which both labels are summed over, or a place is kept: no cut of one label
kernel both[S=3,I=64](a: bf16[M,K], b: bf16[K,N]) -> y: f32[M,N] { y = sum[S,I]((a[K: idx(S) * size(I) + idx(I)] ?? 0) * (b[K: idx(S) * size(I) + idx(I)] ?? 0)) }
kernel across[S=3](a: bf16[M,K], b: bf16[K,N], w: f32[I]) -> y: f32[I,M,N] { y = sum[S]((a[K: idx(S) * size(I) + idx(I)] ?? 0) * (b[K: idx(S) * size(I) + idx(I)] ?? 0)) + w }
kernel within[I=64](a: bf16[M,K], b: bf16[K,N], w: f32[S]) -> y: f32[S,M,N] { y = sum[I]((a[K: idx(S) * size(I) + idx(I)] ?? 0) * (b[K: idx(S) * size(I) + idx(I)] ?? 0)) * w }

test gram { init: integers(-2,2) tol: exact }
test gram_half { init: integers(-2,2) tol: exact }
test cov { init: integers(-2,2) tol: exact }
test cov_half { init: integers(-2,2) tol: exact }
test short_cut { init: integers(-1,1) tol: exact }
test joined { init: integers(-2,2) tol: exact }
test padded { init: integers(-2,2) tol: exact }
test joined_half { init: integers(-1,1) }
test joined_batched { init: integers(-2,2) tol: exact }
test joined_outer { init: integers(-2,2) tol: exact }
test nk { init: integers(-1,1) }
test nk_odd { init: integers(-1,1) }
test kn { init: integers(-2,2) tol: exact }
test kn_odd { init: integers(-2,2) tol: exact }
test few { init: integers(-2,2) tol: exact }
test km_kn { init: integers(-2,2) tol: exact }
test km_kn_odd { init: integers(-2,2) tol: exact }
test batched { init: integers(-2,2) tol: exact }
test parts { init: integers(-200,200) }
test parts_kn { init: integers(-200,200) }
test double { init: integers(-200,200) tol: exact }
test bytes { init: integers(-9,9) tol: exact }
test gate { init: integers(-2,2) }
test even { M=5 init: integers(-1,1) }
test both { M=20 N=24 K=180 init: integers(-2,2) tol: exact }
test across { M=20 N=24 K=180 I=64 init: integers(-2,2) tol: exact }
test within { M=20 N=24 K=180 S=3 init: integers(-2,2) }

# Slices that a spec cuts itself, of any length, the last one shorter: no block of k that is multiplied at a time may cross their ends.
kernel own(x: bf16[M=64,K=176], w: bf16[N=72,K], h: f32[S=3,I=80]) -> y: f32[S,M,N] {
  y = sum[I]((x[K: idx(S) * size(I) + idx(I)] ?? 0) * (w[K: idx(S) * size(I) + idx(I)] ?? 0)) + h[I: 0]
}
kernel own_bytes(x: i8[M=64,K=176], w: i8[N=72,K], h: i32[S=3,I=80]) -> y: i32[S,M,N] {
  y = sum[I]((x[K: idx(S) * size(I) + idx(I)] ?? 0) * (w[K: idx(S) * size(I) + idx(I)] ?? 0)) + h[I: 0]
}
kernel own_f32(x: f32[M=64,K=176], w: f32[N=72,K], h: f32[S=3,I=80]) -> y: f32[S,M,N] {
  y = sum[I]((x[K: idx(S) * size(I) + idx(I)] ?? 0) * (w[K: idx(S) * size(I) + idx(I)] ?? 0)) + h[I: 0]
}
kernel own_open(x: i8[M,K], w: i8[N,K], h: i32[S,I]) -> y: i32[S,M,N] {
  y = sum[I]((x[K: idx(S) * size(I) + idx(I)] ?? 0) * (w[K: idx(S) * size(I) + idx(I)] ?? 0)) + (h[I: 0] ?? 0)
}
test own { init: integers(-2,2) }
test own_bytes { init: integers(-2,2) }
test own_f32 { init: integers(-2,2) }
test own_open { M=64 K=176 N=72 S=3 I=80 init: integers(-2,2) }
test own_open { M=64 K=176 N=72 S=2 I=128 init: integers(-2,2) }
