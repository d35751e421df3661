# What reads whole rows of a product and its epilogue begins by runs of 64: sums of shifted exponentials, places of extremes, elements at positions; around the edges of runs and tiles, beside ties, NaN and rows of -inf.
kernel lse(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M] { y = logsumexp[N](x @ w) }
test lse { M=70 N=192 K=64 }
test lse { M=70 N=203 K=72 }
test lse { M=3 N=7 K=40 }
test lse { M=130 N=300 K=32 }
kernel xent(h: bf16[M,K], w: bf16[V,K], t: i64[M]) -> l: f32 { z = h @ w; l = mean[M](logsumexp[V](z) - (z[V: t] ?? 0)) }
test xent { M=65 K=64 V=130 init: integers(-10,140) }
kernel pick(h: bf16[M,K], w: bf16[V,K], t: i32[M]) -> (m: f32[M], p: f32[M]) { z = h @ w; m = logsumexp[V](z); p = z[V: t] ?? -7 }
test pick { M=65 K=64 V=130 init: integers(-10,140) }
kernel place(x: bf16[M,K], w: bf16[N,K]) -> (a: i64[M], i: i64[M], m: f32[M]) { z = x @ w; a = argmax[N](z); i = argmin[N](z); m = max[N](z) }
test place { M=70 N=192 K=64 }
test place { M=70 N=203 K=16 init: integers(-1,1) }
kernel place_special(x: bf16[M,K], w: bf16[N,K]) -> (a: i64[M], i: i64[M], e: i64[M]) {
  z = x @ w
  v = where((idx(N) + idx(M)) % 37 == 5, nan, z)
  a = argmax[N](v)
  i = argmin[N](v)
  e = argmax[N](where(idx(N) < idx(M) - 1, z, -inf))
}
test place_special { M=70 N=203 K=16 }
kernel weighed(x: bf16[M,K], w: bf16[N,K], u: f32[N], c: bool[M,N]) -> y: f32[M] { z = (x @ w) * 0.5; m = max[N](z); y = sum[N](where(c, exp(z - m) * u, 0)) + m }
test weighed { M=66 N=140 K=64 }
kernel masked(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M] { z = where(idx(N) < idx(M) * 3, x @ w, -inf); y = logsumexp[N](z) }
test masked { M=66 N=140 K=64 }
kernel columns(x: bf16[M,K], w: bf16[N,K]) -> y: f32[N] { y = logsumexp[M](x @ w) }
test columns { M=70 N=192 K=64 }
test columns { M=201 N=30 K=64 }
kernel kept(x: bf16[M,K], w: bf16[N,K]) -> (z: bf16[M,N], y: f32[M]) { z = x @ w; y = logsumexp[N](x @ w) }
test kept { M=70 N=192 K=64 }
kernel batch(x: bf16[B,M,K], w: bf16[B,N,K]) -> y: f32[B,M] { y = logsumexp[N](x @ w) }
test batch { B=3 M=70 N=100 K=64 }
kernel full(x: f32[M,K], w: f32[N,K]) -> (y: f32[M], a: i64[M]) { z = x @ w; y = logsumexp[N](z); a = argmax[N](z) }
test full { M=70 N=203 K=64 }
# Along both labels of one product: stored, and read by a row program a side.
kernel contrastive(a: bf16[B,D], b: bf16[B,D], s: f32 = 20.0) -> l: f32 {
  z = (a @ b{B->J}) * s
  d = sum[D](a * b) * s
  l = (mean[B](logsumexp[J](z) - d) + mean[J](logsumexp[B](z) - d{B->J})) / 2
}
test contrastive { B=130 D=64 }
kernel byte(x: i8[M,K], w: i8[N,K]) -> y: i64[M] { y = argmax[N](f32(x @ w)) }
test byte { M=70 N=203 K=64 }
kernel nearest(x: bf16[N,D], c: bf16[J,D]) -> k: i64[N] { k = argmin[J](sum[D](f32(c) * c) - 2 * (x @[D] c)) }
test nearest { N=70 J=192 D=64 }
test nearest { N=70 J=203 D=64 init: integers(-2,2) }
kernel biased(x: f16[M,K], w: f16[K,N], b: f16[N], s: f32[M]) -> (y: f32[M], i: i64[M]) { z = (x @ w + b) * s; y = logsumexp[N](z); i = argmax[N](z) }
test biased { M=135 N=192 K=64 }
test biased { M=70 N=203 K=16 }
kernel both(x: f16[M,K], u: f16[N,K], v: f16[N,K]) -> y: f32[M] { y = logsumexp[N](silu(x @ u) * (x @ v)) }
test both { M=135 N=192 K=64 }
# places of no elements
kernel none(x: f32[M,K], w: f32[K,N]) -> y: i64[M] { y = argmax[N](x @[K] w) }
test none { M=8 N=0 K=16 tol: exact }
# runs whose maximum is infinite and masked: nothing of it is added
kernel beyond(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M] {
  z = where(idx(N) % 70 == 3 && idx(M) % 2 == 0, inf, x @ w)
  m = max[N](z)
  y = sum[N](where(idx(N) % 70 > 4, exp(z - where(abs(m) < inf, m, 0)), 0))
}
test beyond { M=4 N=4096 K=16 init: normal(0,0.2) }
kernel beyond_all(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M] {
  z = where(idx(N) % 64 == 3 && idx(M) % 2 == 0, inf, x @ w)
  m = max[N](z)
  y = sum[N](where(idx(N) % 64 > 4 && idx(N) < 60, exp(z - m), 0))
}
test beyond_all { M=4 N=4096 K=16 init: normal(0,0.2) }
# products that one mainloop adds up, whose rows and columns are read whole: runs are columns of one label alone
kernel crossed(x: bf16[M=70,K=16], w: bf16[N=72,K], v: bf16[N,K]) -> (z: bf16[M,N], i: i64[N], j: i64[M]) with { fuse: require } {
  a = x @ w
  b = x @ v
  z = a + b
  i = argmax[M](a)
  j = argmax[N](b)
}
test crossed { init: integers(-2,2) tol: exact }
kernel crossed_runs(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> (y: f32[M,N], i: i64[N]) {
  b = x @ v
  a = (x @ w){N->(G,C=16)}
  y = (a - max[C](a)){(G,C)->N} + b
  i = argmax[M](b)
}
test crossed_runs { M=70 N=96 K=16 init: integers(-2,2) tol: exact }
# What weighs the exponentials is computed from itself twice, over and over: it is no tree.
kernel weighed_twice(x: bf16[M,K], w: bf16[N,K], u: i32[M,N]) -> y: f32[M] {
  z = x @ w
  e = exp(z - row_shift[N](z))
  c0 = min(u + u, 7 - u)
  c1 = min(c0 + c0, 6 - c0)
  c2 = min(c1 + c1, 5 - c1)
  c3 = min(c2 + c2, 7 - c2)
  c4 = min(c3 + c3, 6 - c3)
  c5 = min(c4 + c4, 5 - c4)
  c6 = min(c5 + c5, 7 - c5)
  c7 = min(c6 + c6, 6 - c6)
  c8 = min(c7 + c7, 5 - c7)
  c9 = min(c8 + c8, 7 - c8)
  c10 = min(c9 + c9, 6 - c9)
  c11 = min(c10 + c10, 5 - c10)
  c12 = min(c11 + c11, 7 - c11)
  c13 = min(c12 + c12, 6 - c12)
  c14 = min(c13 + c13, 5 - c13)
  c15 = min(c14 + c14, 7 - c14)
  c16 = min(c15 + c15, 6 - c15)
  c17 = min(c16 + c16, 5 - c16)
  c18 = min(c17 + c17, 7 - c17)
  c19 = min(c18 + c18, 6 - c18)
  c20 = min(c19 + c19, 5 - c19)
  c21 = min(c20 + c20, 7 - c20)
  c22 = min(c21 + c21, 6 - c21)
  c23 = min(c22 + c22, 5 - c22)
  y = sum[N](where(c23 < 1, e, 0))
}
test weighed_twice { M=66 N=140 K=64 init: integers(-2,2) }
