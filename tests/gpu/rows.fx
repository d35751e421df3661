# Row programs at every shape that takes another path: a fraction of a warp, a warp, a block, kept in registers or read again, aligned or not, empty, down columns.
# `fxc test tests/gpu/rows.fx` compares each with the oracle.
kernel soft(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
test soft { B=1 T=1 }
test soft { B=40 T=24 }
test soft { B=70 T=7 }
test soft { B=9 T=128 }
test soft { B=9 T=129 }
test soft { B=9 T=520 }
test soft { B=9 T=1000 }
test soft { B=3 T=2049 }
test soft { B=3 T=4096 }
test soft { B=2 T=8192 }
test soft { B=2 T=9999 }
test soft { B=2 T=16384 }
test soft { B=2 T=33000 }
test soft { B=2 T=33001 }

# written out by hand
kernel by_hand(a: f32[B,T]) -> (y: f32[B,T], l: f32[B]) {
  m = max[T](a)
  e = exp(a - m)
  s = sum[T](e)
  y = e / s
  l = m + log(s)
}
test by_hand { B=5 T=100 }
test by_hand { B=5 T=101 }
test by_hand { B=2 T=6000 }
test by_hand { B=2 T=20000 }

kernel norm(x: bf16[B,T], g: f32[T], b: f32[T]) -> (y: bf16[B,T], r: f32[B]) {
  y = layernorm[T](x) * g + b
  r = rsqrt(mean[T](x * x) + 1e-5)
}
test norm { B=6 T=96 }
test norm { B=3 T=1023 }
test norm { B=3 T=8192 }
test norm { B=2 T=20000 }

# One output is empty, another is not, so that something is compared.
kernel hollow(x: bf16[B,T]) -> (z: bf16[B,T], s: f32[B], c: f32[T]) {
  z = softmax[T](x)
  s = sum[T](x)
  c = sum[B](x)
}
test hollow { B=3 T=0 tol: exact }
test hollow { B=0 T=8 tol: exact }

kernel sums(x: f32[B,T], i: i8[B,T], d: f64[B,T]) -> (s: f32[B], n: i32[B], p: i32[B], f: f64[B], some: bool[B], every: bool[B], at: i64[B], low: i64[B]) {
  s = sum[T](x)
  n = sum[T](i)
  p = prod[T](i)
  f = sum[T](d)
  some = any[T](i > 3)
  every = all[T](i > -4)
  at = argmax[T](i)
  low = argmin[T](x)
}
test sums { B=4 T=0 tol: exact }
test sums { B=4 T=1 }
test sums { B=33 T=31 }
test sums { B=4 T=640 }
test sums { B=4 T=3001 }
test sums { B=2 T=40000 }

kernel down(x: f32[K,N]) -> (s: f32[N], m: f32[N], at: i64[N]) {
  s = sum[K](x)
  m = max[K](x)
  at = argmax[K](x)
}
test down { K=0 N=4 tol: exact }
test down { K=1 N=1 }
test down { K=33 N=260 }
test down { K=300 N=67 }
test down { K=2000 N=64 }
test down { K=40 N=40000 }

kernel soft_down(x: f16[B,C,H,W]) -> y: f16[B,C,H,W] { y = softmax[C](x) }
test soft_down { B=2 C=5 H=4 W=8 }
test soft_down { B=2 C=70 H=3 W=7 }
test soft_down { B=1 C=600 H=2 W=8 }
test soft_down { B=1 C=600 H=3 W=3 }

kernel several(x: f32[B,C,H,W], w: f32[C]) -> (m: f32[C], v: f32[C], y: f32[B,C,H,W]) {
  m = mean[B,H,W](x)
  v = var[B,H,W](x)
  y = (x - m) * rsqrt(v + 1e-5) * w
}
test several { B=3 C=5 H=4 W=6 }
test several { B=3 C=5 H=3 W=5 }
test several { B=8 C=2 H=16 W=16 }

kernel run(x: f32[B,T]) -> (c: f32[B,T], q: f32[B,T]) {
  c = cumsum[T](x)
  q = cumsum[T](x) / (1 + sum[T](abs(x)))
}
test run { B=3 T=1 }
test run { B=3 T=60 }
test run { B=3 T=61 }
test run { B=3 T=2000 }
test run { B=2 T=5001 }
test run { B=2 T=20000 }

kernel of_runs(x: i32[B,T]) -> (y: i64[B,T], s: i64[B], t: i32[B,T]) {
  c = cumsum[T](x)
  y = cumsum[T](i64(c))
  s = max[T](i64(c))
  t = cumsum[T](x - max[T](c))
}
test of_runs { B=3 T=40 }
test of_runs { B=3 T=501 }
test of_runs { B=2 T=9000 }

# A recurrence's first factor stands for nothing before it: it may be anything.
kernel recurrence(a: f32[B,T], b: f32[B,T], s: f32[B]) -> (h: f32[B,T], g: f32[B,T]) {
  h = recur[T](a, b)
  g = recur[T](sigmoid(a), b, from: s)
}
test recurrence { B=3 T=1 }
test recurrence { B=3 T=60 a.init: uniform(-1,1) }
test recurrence { B=3 T=61 a.init: uniform(-1,1) }
test recurrence { B=3 T=2000 a.init: uniform(0.5,1) }
test recurrence { B=2 T=5001 a.init: uniform(-1,1) }
kernel recurrence_f16(a: f16[B,T], b: f16[B,T]) -> h: f16[B,T] { h = recur[T](a, b) }
test recurrence_f16 { B=300 T=200 a.init: uniform(-1,1) }
test recurrence_f16 { B=2 T=20000 a.init: integers(-1,1) b.init: integers(-1,1) tol: exact }
kernel recurrence_f64(a: f64[B,T], b: f64[B,T]) -> h: f64[B,T] { h = recur[T](a, b) }
test recurrence_f64 { B=2 T=5001 a.init: uniform(-1,1) }
kernel recurrence_i64(a: i32[B,T], b: i64[B,T]) -> (h: i64[B,T], p: i64[B]) {
  h = recur[T](a, b)
  p = max[T](h)
}
test recurrence_i64 { B=3 T=501 }
test recurrence_i64 { B=3 T=5000 }
kernel recurrence_down(a: f32[B,K], b: f32[B,K,N]) -> (h: f32[B,K,N], m: f32[B,K,N]) {
  h = recur[K](a, b)
  m = cummax[K](b) - cummin[K](b)
}
test recurrence_down { B=2 K=50 N=9 a.init: uniform(-1,1) }
test recurrence_down { B=2 K=50 N=128 a.init: uniform(-1,1) }
test recurrence_down { B=2 K=5000 N=7 a.init: uniform(-1,1) }
kernel recurrences(a: f32[H,W], x: f32[H,W], u: inout f32[W,H]) -> (y: f32[H,W], l: f32[H]) {
  h = recur[W](a, recur[H](a, x))
  y = recur[W](a, h) + cumsum[W](h)
  l = sum[W](y)
  u = recur[W](a, u)
}
test recurrences { H=40 W=50 a.init: uniform(-0.5,0.5) }
test recurrences { H=7 W=1100 a.init: uniform(-0.5,0.5) }
kernel extremes(x: f32[B,T]) -> (a: f32[B,T], i: f32[B,T]) {
  a = cummax[T](x)
  i = cummin[T](x) + sum[T](x)
}
test extremes { B=3 T=61 }
test extremes { B=2 T=5001 x.init: integers(-2,2) }

kernel run_down(x: f32[K,N]) -> y: f32[K,N] { y = cumsum[K](x) }
test run_down { K=50 N=9 }
test run_down { K=50 N=128 }
test run_down { K=13 N=70000 x.init: integers(-2,2) tol: exact }
test run_down { K=700 N=4200 x.init: integers(-2,2) tol: exact }
test run_down { K=5000 N=9 x.init: integers(-2,2) tol: exact }
test run_down { K=3000 N=68 x.init: integers(-2,2) tol: exact }
kernel runs_down(x: f16[K,N]) -> (y: f16[K,N], t: f32[K,N], m: f32[N]) {
  c = cumsum[K](x)
  y = c / (1 + sum[K](abs(x)))
  t = cummax[K](cumsum[K](c))
  m = max[K](c)
}
test runs_down { K=70 N=40 }
test runs_down { K=1000 N=9 }
test runs_down { K=300 N=4160 x.init: integers(-1,1) }

kernel masked(x: f32[B,S,T]) -> y: f32[B,S,T] { y = softmax[T](where(idx(T) <= idx(S), x, -inf)) }
test masked { B=2 S=5 T=5 }
test masked { B=2 S=40 T=64 }

kernel dot(a: f32[B,K], b: f32[B,K]) -> d: f32[B] { d = sum[K](a * b) }
kernel apply(w: bf16[N,K], x: bf16[K]) -> y: f32[N] { y = w @ x }
kernel apply_down(w: f32[K,N], x: f32[K]) -> y: f32[N] { y = x @ w }
test dot { B=7 K=100 }
test dot { B=7 K=4001 }
test apply { N=50 K=512 }
test apply { N=50 K=77 }
test apply_down { N=50 K=512 }
test apply_down { N=64 K=77 }

kernel whole(x: f32[M,N]) -> (s: f32, t: f32, a: f32[M,N]) {
  s = max[M,N](abs(x))
  t = sum[M,N](x * x)
  a = x / max[M,N](abs(x))
}
test whole { M=3 N=5 }
test whole { M=64 N=64 }
test whole { M=131 N=131 }

kernel spread(x: f32[B,T], w: f32[T,B]) -> y: f32[T,B] { y = softmax[T](x + w) }
test spread { B=12 T=20 }
test spread { B=16 T=33 }

kernel small(x: f32[B,C=10]) -> (p: f32[B,C], l: f32[B]) {
  p = softmax[C](x)
  l = logsumexp[C](x)
}
test small { B=100 }

kernel shifted(x: f32[B,T]) -> y: f32[B,T] { y = softmax[T](x[T: T-1] ?? 0) + sum[T](x[T: T+1] ?? 1) }
test shifted { B=4 T=90 }
test shifted { B=2 T=3000 }

# few rows: each cut in parts
kernel few(x: f32[R=3,K]) -> (s: f32[R], at: i64[R], y: f32[R,K]) {
  s = sum[K](x)
  at = argmax[K](x)
  y = x - mean[K](x) * rsqrt(var[K](x) + 1)
}
kernel few_down(x: bf16[K,R=8], v: f32[K]) -> (s: f32[R], m: f32[R]) {
  s = sum[K](x * v)
  m = logsumexp[K](x)
}
kernel every(x: i32[A,B]) -> (n: i64[], m: bool[], at: i64[A]) {
  n = sum[A,B](i64(x))
  m = all[A,B](x < 4)
  at = argmin[B](x)
}
test few { K=0 tol: exact }
test few { K=1 }
test few { K=70001 }
test few { K=150000 }
test few_down { K=0 tol: exact }
test few_down { K=999 }
test few_down { K=40000 }
test every { A=0 B=5 }
test every { A=9 B=5 }
test every { A=400 B=399 }

# what is made of a row's own values stands in results of rows without elements too
kernel beside(x: f32[B,T], g: f32[B]) -> y: f32[B] { y = sum[T](x * exp(g)) + exp(g) }
test beside { B=3 T=0 }
test beside { B=3 T=65 }

# Three positions of a filled access beside the names of its uses.
kernel folded_access(x: f32[N,M,K], b: i32[B]) -> y: f32[N,M] {
  y = -(sum[B](x[N: (idx(M) * size(M)) + idx(M), M: (size(M) - 1) - idx(B)] ?? 1){K->N})
}
test folded_access { N=5 M=3 K=5 B=70 init: integers(-2,2) }
test folded_access { N=1 M=1 K=1 B=7 init: integers(-2,2) }

# A loop of no turns names what it reads.
kernel no_turns(x: f16[P=0,Q], i: i16[Q]) -> y: f32[Q] { y = i + sum[P](x * i) }
test no_turns { Q=3 init: integers(-4,9) }

# No element of a label fixed at 0 is read for those of another.
kernel none_of_them(x: f32[M,K], w: f32[N=0,K]) -> (y: f32[M,N], z: f32[M]) {
  h = (x @ w){N->(G,C=4)}
  y = (h - max[C](h)){(G,C)->N}
  z = sum[K](x)
}
test none_of_them { M=9 K=3 }

# Labels of outputs alone: a table of positions, noise, a value repeated.
kernel positions(x: f32[M]) -> (y: f32[M,N], z: i32[P,Q=2*P]) {
  y = x * f32(idx(N))
  z = i32(idx(P) * size(Q) + idx(Q))
}
test positions { M=5 N=7 P=3 }
test positions { M=33 N=130 P=0 }

# What needs no row, or no column, is computed ahead of the elements that share it.
kernel column_alone(x: f32[K,M], w: f32[K], c: f32[K], at: i32[K], a: f32) -> (y: f32[K,M], z: f32[M,K]) {
  y = softmax[K](x) * (a + 1) + (w * a) * sin(c[K: at] ?? 2)
  z = y * w - cumsum[K](c)
}
test column_alone { K=5 M=132 at.init: integers(-1,5) }
test column_alone { K=37 M=7 at.init: integers(-1,40) }

# Sums of what each row comes to: the rows are reduced first. What is computed element by element beside a row's reduction is stored by the same walk.
kernel of_rows(z: f32[M,V]) -> l: f32 { l = mean[M](logsumexp[V](z)) }
test of_rows { M=37 V=1000 }
test of_rows { M=1 V=1 }
kernel with_sum(x: bf16[M,D], r: inout bf16[M,D], g: bf16[D]) -> y: bf16[M,D] {
  s = x + r
  r = s
  y = rmsnorm[D](s) * g
}
test with_sum { M=5 D=4096 }
test with_sum { M=7 D=130 }
kernel beside_columns(x: f32[M,N]) -> (s: f32[N], y: f32[M,N]) {
  s = sum[M](x)
  y = relu(x)
}
test beside_columns { M=70 N=130 init: integers(-4,4) }
kernel beside_all(x: f32[M,N]) -> (s: f32, y: f32[M,N]) {
  s = sum[M,N](x)
  y = relu(x)
}
test beside_all { M=65 N=129 init: integers(-4,4) }
kernel turned_beside(x: inout f32[M,N]) -> y: f32[M,N] {
  x = x[M: size(M) - 1 - idx(M)]
  y = softmax[N](x)
}
test turned_beside { M=6 N=9 }

# Groups of a split axis: rows of the input as it lies.
kernel group_norm(x: f16[B,C=24,H,W], g: f16[C], b: f16[C]) -> y: f16[B,C,H,W] {
  y = silu(layernorm[C2,H,W](x{C->(G=8,C2)}){(G,C2)->C} * g + b)
}
test group_norm { B=2 H=5 W=8 }
test group_norm { B=1 H=1 W=7 }
kernel by_groups(x: bf16[M,D=256]) -> (q: i8[M,D], s: f32[M,G=4]) {
  t = x{D->(G,E)}
  s = max[E](abs(t)) / 127
  q = i8(round(t / s)){(G,E)->D}
}
test by_groups { M=5 }

# Columns of which a block keeps all.
kernel column_norm(x: bf16[M,N], g: bf16[N]) -> y: bf16[M,N] { y = relu(layernorm[M](x) * g) }
test column_norm { M=1030 N=24 }
test column_norm { M=3000 N=16 }
test column_norm { M=257 N=8 }

# Tensors whose rows are contiguous beside one whose columns are.
kernel turned_sum(x: f32[M,N], y: f32[N,M]) -> z: f32[M,N] { z = x + y }
test turned_sum { M=64 N=128 init: integers(-9,9) }
test turned_sum { M=37 N=131 init: integers(-9,9) }
kernel turned_both(x: bf16[M,N]) -> (y: bf16[M,N], z: bf16[N,M]) {
  y = -x
  z = relu(x)
}
test turned_both { M=72 N=136 }
test turned_both { M=33 N=35 }
kernel channels_first(x: f16[B,H,W,C]) -> y: f16[B,C,H,W] { y = x }
test channels_first { B=2 H=5 W=8 C=24 }
test channels_first { B=2 H=5 W=7 C=3 }
kernel turned_bytes(x: f16[M,N]) -> y: i8[N,M] { y = i8(x[M: size(M) - 1 - idx(M)]) }
test turned_bytes { M=64 N=40 init: integers(-100,100) }
test turned_bytes { M=65 N=41 init: integers(-100,100) }

# Groups of what is computed, and rows of few rows.
kernel gated_groups(g: bf16[M,D=256], u: bf16[M,D]) -> (q: i8[M,D], s: f32[M,G=4]) {
  t = (silu(g) * u){D->(G,E)}
  s = max[E](abs(t)) / 127
  q = i8(round(t / s)){(G,E)->D}
}
test gated_groups { M=5 }
kernel dice(x: f32[B=8,N], t: f32[B,N]) -> l: f32 { l = 1 - mean[B]((2 * sum[N](x * t) + 1) / (sum[N](x * x) + sum[N](t * t) + 1)) }
test dice { N=513 }
kernel triplet(a: f32[B=8,D], p: f32[B,D], n: f32[B,D]) -> l: f32 {
  l = mean[B](max(0, sqrt(sum[D]((a - p) * (a - p))) - sqrt(sum[D]((a - n) * (a - n))) + 1))
}
test triplet { D=300 }

# Split inputs, in either order and not.
kernel split_input(x: f32[B,D=64], w: f32[D]) -> m: f32[B,G=4] { m = max[E]((x * w){D->(G,E)}) }
kernel split_crossed(x: f32[D=64], y: f32[E=16]) -> z: f32[G=4,E] { z = x[D: idx(E) * size(G) + idx(G)] + y }
kernel two_splits(x: f32[B,D=64]) -> (m: f32[B,G=4], n: f32[B,A=8]) {
  m = max[E](x{D->(G,E)})
  n = max[F](x{D->(A,F)})
}
kernel split_summed(x: f32[B,D=64]) -> (m: f32[B,G=4], s: f32[B]) {
  m = max[E](x{D->(G,E)})
  s = sum[D](x)
}
kernel split_shifted[E=16](x: f32[B,D=64]) -> m: f32[B,G=4] { m = max[E](x[D: idx(G) * 16 + idx(E) + 1] ?? 0) }
test split_input { B=3 }
test split_crossed {}
test two_splits { B=3 }
test split_summed { B=3 }
test split_shifted { B=3 }

# Rows of a table added up: what is gathered lies along the rows of the result.
kernel bags(ids: i32[B,L], table: f32[V,D], w: f32[B,L]) -> (y: f32[B,D], z: f32[B,D]) {
  y = sum[L](table[V: ids] ?? 0)
  z = max[L]((table[V: ids] ?? 0) * w)
}
test bags { B=5 L=7 V=9 D=33 init: integers(-3,3) ids.init: integers(-1,9) }
test bags { B=3 L=70 V=300 D=64 init: integers(-3,3) ids.init: integers(-1,300) }

# Elements over a value of their row, rounded as a division is: of any size, of 0, of no number, by what has no inverse to multiply by.
kernel quotients(x: f32[B,T], s: f32[B]) -> (y: f32[B,T], z: f32[B,T]) {
  y = x / s
  z = x / max[T](abs(x))
}
test quotients { B=40 T=130 x.init: normal(0,1) tol: exact }
test quotients { B=9 T=67 x.init: normal(0,1e-30) s.init: normal(0,1e12) tol: exact }
test quotients { B=9 T=67 x.init: normal(0,1e30) s.init: normal(0,1e-12) tol: exact }
test quotients { B=9 T=64 x.init: integers(-1,1) s.init: integers(-2,2) tol: exact }

# rows of which a vector is half a sector, the next row's behind it
kernel turned[G, P=8](x: f16[N,H,C=G*P], w: f16[C]) -> y: f16[N,H,C] { y = layernorm[P,H](x{C->(G,P)}){(G,P)->C} * w }
test turned { N=2 G=3 H=1100 }
test turned { N=1 G=3 H=2100 }

# a result of const rows is computed ahead: what is left of the row program reads no column
kernel ahead(x: const f32[N,B,M], s: f32) -> (y: f32[M], z: f32[M,N,B], w: f16[N,B,M]) {
  y = sum[N,B](x)
  z = where(s > y, x @[M] y, y / 3.0)
  w = log2(x)
}
test ahead { M=5 N=3 B=4 x.init: integers(1,3) s.init: integers(-1,1) }

# a maximum and the sums that it shifts in one pass over columns that are read again: maxima that rise late, none, infinite ones, weights
kernel joined(z: f32[V,M], g: f32[V]) -> (s: f32[V,M], w: f32[M], l: f32[M]) {
  s = softmax[V](z)
  m = max[V](z)
  w = sum[V](exp(z - m) * g) / sum[V](where(idx(V) % 3 == 0, 0, exp(z - m)))
  l = logsumexp[V](z)
}
test joined { V=5003 M=9 z.init: normal(0,9) }
test joined { V=331 M=40 }
kernel joined_late(z: f32[V,M]) -> (l: f32[M], e: f32[M], i: f32[M]) {
  l = logsumexp[V](where(idx(V) < 4000, -inf, z))
  e = logsumexp[V](where(idx(M) % 2 == 0, -inf, z))
  i = logsumexp[V](where(idx(V) == 2500 && idx(M) == 1, inf, z))
}
test joined_late { V=5003 M=5 z.init: normal(0,9) }
kernel joined_rows(z: f32[M,V]) -> (l: f32[M], m: f32[M]) {
  l = logsumexp[V](z)
  m = max[V](z)
}
test joined_rows { M=34 V=33001 }

# likewise the mean of a row and what its elements are away from it: many rounds, large means, one element that stands apart, both kinds at once
kernel joined_mean(x: f32[V,M]) -> (y: f32[V,M], v: f32[M]) {
  y = layernorm[V](x)
  v = mean[V]((x - mean[V](x)) ** 2)
}
test joined_mean { V=5003 M=9 x.init: normal(100,3) }
test joined_mean { V=5003 M=9 x.init: outlier(0,1000) }
test joined_mean { V=331 M=40 }
kernel joined_both(x: f32[V,M]) -> (l: f32[M], v: f32[M]) {
  l = logsumexp[V](x)
  v = mean[V]((x - mean[V](x)) ** 2)
}
test joined_both { V=5003 M=9 x.init: normal(3,9) }
kernel joined_mean_rows(x: bf16[M,V], g: f32[V]) -> y: bf16[M,V] { y = layernorm[V](x) * g }
test joined_mean_rows { M=34 V=66001 }

# Losses of elements of which each is made by a short reduction, weighted: the short rows are stored first.
kernel pixels(x: f16[B,C=21,H,W], t: i64[B,H,W]) -> l: f32[] {
  k = t % 32
  w = f32(k < size(C))
  l = sum[B,H,W](w * (logsumexp[C](x) - (x[C: k] ?? 0))) / sum[B,H,W](w)
}
kernel dots(x: f16[M,C=7], y: f32[M]) -> (l: f32[], d: f32[M]) {
  l = sum[M](y * max[C](x))
  d = sum[C](x * x)
}
test pixels { B=2 H=30 W=40 init: normal t.init: integers(0,31) seed: 1 }
test dots { M=3000 init: integers(-3,3) seed: 1 tol: exact }
test dots { M=5 init: integers(-3,3) seed: 2 tol: exact }

# A sum of products beside a long reduction of the same rows: not a loop of each thread of the product's epilogue.
kernel product_and_max(x: bf16[M,D], g: bf16[D]) -> y: f32[M] { y = sum[D](x * g) + max[D](x) }
test product_and_max { M=3 D=5003 init: integers(-2,2) seed: 1 tol: exact }
# scores made of gathered ones are a softmax in a kernel of their own; the one that gathers by it reads them, and nothing that they are made of
kernel gathered_scores(h: f32[N,F], s: f32[F], d: f32[F], at: i32[N,K]) -> y: f32[N,F] {
  e = leaky_relu(sum[F](h * s) + (sum[F](h * d)[N: at] ?? 0), slope: 0.2)
  y = sum[K](softmax[K](e) * (h[N: at] ?? 0))
}
test gathered_scores { N=70 F=16 K=5 }

# Columns that share a reduction or a running sum are results of one row.
kernel forces(p: f32[N,C=3], m: f32[N]) -> (f: f32[N,C], e: f32[N]) {
  d = p{N->J} - p
  r = sum[C](d * d) + 0.01
  f = sum[J](m{N->J} * d * rsqrt(r) ** 3)
  e = sum[J](rsqrt(r))
}
kernel rays(s: f32[R,N], c: f32[R,N,C=3]) -> (y: f32[R,C], o: f32[R]) {
  t = cumprod[N](1 - sigmoid(s))[N: N-1] ?? 1
  y = sum[N](sigmoid(s) * t * c)
  o = sum[N](sigmoid(s) * t)
}
kernel few_columns(x: f32[P,G], c: f32[G,C=4]) -> y: f32[P,C] { y = sum[G](cumsum[G](x) * c) }
kernel most_columns(x: f32[P,G,C=2]) -> y: f32[P,C] { y = max[G](x - max[G,C](abs(x)) * cumsum[G](sum[C](x))) }
test forces { N=70 seed: 1 }
test rays { R=9 N=70 seed: 1 }
test rays { R=3 N=1 seed: 2 }
test few_columns { P=5 G=130 init: integers(-2,2) seed: 1 tol: exact }
test most_columns { P=5 G=40 init: integers(-2,2) seed: 1 tol: exact }

# Short sums that no tensor holds: distances between points, and rows that are gathered, of which a thread reads vectors. What an access reads stays a reduction.
kernel nearest(a: f32[B,N,C=3], b: f32[B,M,C]) -> (l: f32[B,N], i: i64[B,N]) {
  r = sum[C]((a - b) ** 2)
  l = min[M](r)
  i = argmin[M](r)
}
kernel neighbours(u: f16[N,F], v: f16[N,F], at: i32[N,K=5]) -> (y: f16[N,F], z: f32[N,F]) {
  y = max[K](relu(u + (v[N: at] ?? 0)))
  z = sum[K](v[N: at] ?? 1)
}
kernel resized[U=4,V=4](x: f32[B,H,W]) -> y: f32[B,P=2*H,Q=2*W] {
  r = sum[U](x[W: clamp((Q + 1) // 2 - 2 + U, 0, size(W) - 1)])
  y = sum[V](r[H: clamp((P + 1) // 2 - 2 + V, 0, size(H) - 1)] * f32(idx(V)))
}
test nearest { B=2 N=40 M=33 init: integers(-3,3) seed: 1 tol: exact }
test resized { B=2 H=5 W=7 init: integers(-3,3) seed: 1 tol: exact }
test neighbours { N=40 F=24 init: integers(-3,3) at.init: integers(-2,45) seed: 1 tol: exact }

# One tensor lies along the rows, the other along what is reduced: neighbouring threads have neighbouring rows, for which the other is the same.
kernel scores(a: f32[B,I], t: f32[I,J], e: f32[B,J]) -> (y: f32[B,J], p: i64[B,J]) {
  y = logsumexp[I](a + t) + e
  p = argmax[I](a + t)
}
kernel least(a: f32[M,K], b: f32[K,N]) -> c: f32[M,N] { c = min[K](a + b) }
test scores { B=5 I=33 J=70 seed: 1 }
test least { M=9 K=300 N=70 init: integers(-9,9) seed: 1 tol: exact }
test least { M=3 K=7 N=5 init: integers(-9,9) seed: 2 tol: exact }

# Nine sums of the same elements: the gradient of a filter by channel by its taps. A running sum of running sums.
kernel filter_by_taps(d: f32[B,C,H,W], x: f32[B,C,H,W]) -> k: f32[C,U=3,V=3] { k = sum[B,H,W](d * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel integral(x: f32[B,H,W]) -> y: f32[B,H,W] { y = cumsum[H](cumsum[W](x)) }
test filter_by_taps { B=2 C=3 H=5 W=8 init: integers(-2,2) seed: 1 tol: exact }
test integral { B=2 H=33 W=70 init: integers(-2,2) seed: 1 tol: exact }

kernel pooled(x: bf16[B,T,D], u: bf16[D]) -> y: bf16[B,D] { y = sum[T](softmax[T](sum[D](x * u) * 0.03) * x) }
test pooled { B=3 T=50 D=72 }
test pooled { B=2 T=130 D=33 }
# Maximum and sum of one product's rows, for a mean of all: one row program, as both wait for the product alone.
kernel hard_loss(x: f16[M,K], w: f16[N,K], s: f32[N]) -> (l: f32, p: bf16[M,N]) { z = (x @ w) * s; l = mean[M](logsumexp[N](z)); p = softmax[N](z) }
test hard_loss { M=40 N=70 K=24 }
# Rows that four threads hold, and places in rows that eight read.
kernel soft_short(x: bf16[M,D=32]) -> y: bf16[M,D] { y = softmax[D](x) }
test soft_short { M=70 }
kernel place_short(x: bf16[M,D=312]) -> y: i64[M] { y = argmax[D](x * 2) }
test place_short { M=70 }

# Rows that one, two or four threads hold: as many vectors, or fewer, with an end that is no row's.
kernel short(x: f32[M,N], r: bf16[M,N], w: bf16[N]) -> (y: f32[M,N], z: bf16[M,N], k: i64[M]) {
  y = layernorm[N](x) * w
  z = softmax[N](r)
  k = argmax[N](x)
}
test short { M=70 N=2 }
test short { M=300 N=3 }
test short { M=70 N=4 }
test short { M=70 N=6 }
test short { M=300 N=8 }
test short { M=70 N=12 }
test short { M=70 N=16 }
test short { M=70 N=32 }
kernel shortest(x: bf16[M,N]) -> (s: f32[M], k: i64[M]) { s = sum[N](f32(x)); k = argmin[N](x) }
test shortest { M=300 N=2 }
test shortest { M=300 N=3 }
test shortest { M=70 N=8 }
test shortest { M=70 N=16 }
test shortest { M=70 N=24 }
test shortest { M=70 N=32 }
kernel short16(x: f16[B,M,N], g: f16[M,N]) -> y: f16[B,M,N] { y = x * rsqrt(mean[N](x * x) + 1e-5) * g }
test short16 { B=3 M=25 N=2 }
test short16 { B=3 M=25 N=4 }
test short16 { B=3 M=25 N=8 }
test short16 { B=3 M=25 N=16 }
test short16 { B=3 M=25 N=24 }

# Longer rows than a block holds with what passes share: without that, and by clusters of two blocks, whose parts are even.
kernel longer(x: bf16[B,T]) -> (z: bf16[B,T], n: bf16[B,T]) { z = softmax[T](x); n = layernorm[T](x) }
test longer { B=3 T=24576 }
test longer { B=34 T=50000 }
test longer { B=34 T=65536 }

# Rows that begin and end anywhere: vectors begin at boundaries of memory, tensors that not all rows have are shifted.
kernel odd(x: bf16[M,D], g: bf16[D], b: f32[D]) -> (y: bf16[M,D], t: f32[M]) {
  v = x * g
  y = rmsnorm[D](v) * g + b
  t = max[D](v)
}
test odd { M=5 D=37 }
test odd { M=7 D=130 }
test odd { M=3 D=1027 }
test odd { M=3 D=4001 }
test odd { M=2 D=33001 }
kernel odd_parts(x: f16[B,T,D], r: f16[B,D], q: f32[T,D]) -> y: f32[B,T,D] { y = softmax[D](x + r) + q }
test odd_parts { B=2 T=3 D=9 }
test odd_parts { B=2 T=3 D=61 }
test odd_parts { B=2 T=2 D=2049 }
test odd_parts { B=2 T=2 D=32771 }
kernel odd_sums(x: bf16[M,D]) -> (s: f32[M], l: f32[M], k: i64[M]) { s = sum[D](x); l = logsumexp[D](x); k = argmax[D](x) }
test odd_sums { M=5 D=51 }
test odd_sums { M=3 D=5001 }
test odd_sums { M=3 D=50001 }
kernel odd_bytes(x: i8[M,D], w: f8e4m3[M,D], b: i8[D]) -> (y: i32[M,D], z: f32[M,D]) {
  v = i32(x) * i32(b)
  y = v - max[D](v)
  z = f32(w) / (max[D](abs(f32(w))) + 1)
}
test odd_bytes { M=5 D=8 }
test odd_bytes { M=5 D=51 }
test odd_bytes { M=5 D=702 }
test odd_bytes { M=3 D=32775 }
kernel odd_words(x: f32[M,D], d: f64[M,D]) -> (y: f32[M,D], e: f64[M,D]) { y = silu(layernorm[D](x)); e = d - max[D](d) }
test odd_words { M=5 D=2 }
test odd_words { M=5 D=87 }
test odd_words { M=3 D=9001 }
kernel odd_in_place(x: bf16[M,D], r: inout bf16[M,D]) -> y: bf16[M,D] { s = x + r; r = s; y = rmsnorm[D](s) }
test odd_in_place { M=9 D=131 }
test odd_in_place { M=3 D=32803 }
kernel odd_blocks(x: bf16[B,D,T], g: f32[T]) -> y: bf16[B,D,T] { v = x * g; y = v * rsqrt(sum[D,T](v * v) + 1e-6) }
test odd_blocks { B=3 D=5 T=7 }
test odd_blocks { B=3 D=20 T=101 }
test odd_blocks { B=3 D=331 T=101 }
