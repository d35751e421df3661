# Chains: a contraction, pointwise work and reductions of its rows, a contraction, in one kernel. Every kernel here must be one; shapes take every tile, aligned or not,
# ends of blocks along every axis, none at all, rows that are masked throughout. `fxc test tests/gpu/chain.fx` compares each with the oracle.
kernel causal(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,D], scale: f32) -> (o: f16[B,H,S,D], lse: f32[B,H,S]) with { fuse: require } {
  s   = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
test causal { B=1 H=1 S=1 T=1 D=8 scale=0.3 }
test causal { B=2 H=3 S=65 T=63 D=64 scale=0.3 }
test causal { B=1 H=2 S=129 T=127 D=128 scale=0.1 }
test causal { B=1 H=2 S=127 T=300 D=40 scale=0.2 }
test causal { B=1 H=2 S=130 T=60 D=256 scale=0.2 }
test causal { B=1 H=2 S=63 T=65 D=63 scale=0.2 }
test causal { B=1 H=2 S=64 T=129 D=7 scale=0.2 }
test causal { B=2 H=1 S=7 T=0 D=64 scale=0.3 tol: exact }
test causal { B=1 H=1 S=33 T=1000 D=127 scale=0.3 init: integers(-3,3) }
test causal { B=2 H=1 S=400 T=500 D=128 scale=0.1 }
# factors that turn the order of scores round, or leave none
test causal { B=1 H=1 S=140 T=300 D=64 scale=-0.3 }
test causal { B=1 H=2 S=65 T=70 D=128 scale=0 }
test causal { B=1 H=1 S=65 T=70 D=63 scale=-0.2 }
test causal { B=1 H=1 S=300 T=420 D=64 scale=0.1 v.init: outlier(0,100000) }
test causal { B=3 H=1 S=300 T=420 D=64 scale=0.1 v.init: outlier(0,100000) }
# so many batches are done anew that a block stores several last tiles one after the other
test causal { B=800 H=1 S=192 T=192 D=8 scale=0.1 v.init: outlier(0,100000) }
test causal { B=800 H=1 S=192 T=264 D=8 scale=0.1 v.init: outlier(0,100000) }

# a window and keys that are left out: rows end, whatever else a mask says
kernel window(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,N], keep: bool[B,T]) -> o: bf16[B,S,N] with { fuse: require } {
  o = softmax[T](where(idx(T) <= idx(S) && keep && idx(T) > idx(S) - 90, (q @ k) * 0.1, -inf)) @ v
}
test window { B=2 S=300 T=400 D=64 N=64 }
test window { B=1 S=65 T=130 D=40 N=33 }

# rows begin, too, by a difference of indices, limits recur along R; where v is not finite beyond them, all tiles of a batch are done anew
kernel slide(q: bf16[B,R,S,D], k: bf16[B,T,D], v: bf16[B,T,N], W: i32) -> o: bf16[B,R,S,N] with { fuse: require } {
  o = softmax[T](where(idx(T) <= idx(S) && idx(S) - idx(T) < W, (q @[D] k) * 0.1, -inf)) @[T] v
}
test slide { B=1 R=2 S=384 T=384 D=64 N=64 W=100 }
test slide { B=1 R=2 S=200 T=330 D=64 N=64 W=64 }
test slide { B=1 R=1 S=400 T=300 D=40 N=129 W=65 init: integers(-3,3) }
test slide { B=2 R=1 S=300 T=700 D=128 N=128 W=1 v.init: outlier(0,4e38) }

# lengths, and what must not be: limits by negated conditions
kernel lengths(q: f16[G,R,D], k: f16[G,T,D], v: f16[G,T,D], n: i32[G], o: i32[G]) -> y: f16[G,R,D] with { fuse: require } {
  y = softmax[T](where(idx(T) >= n || idx(T) + o < 0, -inf, (q @[D] k) * 0.1)) @[T] v
}
test lengths { G=7 R=4 T=300 D=64 n.init: integers(1,300) o.init: integers(-300,50) }
test lengths { G=1 R=8 T=400 D=128 n.init: integers(1,400) o.init: integers(-300,50) }
test lengths { G=40 R=8 T=1500 D=128 n.init: integers(1,1500) o.init: integers(-1500,50) }

# few rows: the intermediate is cut in pieces, of one tile, of several, within blocks and at their ends; what rows sum besides, what is not finite, rows that take nothing
kernel few(q: bf16[B,H,R,D], k: bf16[B,H,T,D], v: bf16[B,H,T,N], n: i32[B]) -> (y: bf16[B,H,R,N], l: f32[B,H,R], some: i32[B,H,R]) with { fuse: require } {
  s    = where(idx(T) < n, (q @[D] k) * 0.1, -inf)
  l    = logsumexp[T](s)
  some = i32(max[T](s) > 0)
  y    = softmax[T](s) @[T] v
}
test few { B=2 H=3 R=4 T=1000 D=128 N=128 n.init: integers(0,1000) }
test few { B=1 H=1 R=1 T=64 D=128 N=64 n.init: integers(64,64) }
test few { B=1 H=2 R=70 T=333 D=64 N=64 n.init: integers(300,333) }
test few { B=1 H=2 R=4 T=1200 D=256 N=256 n.init: integers(900,1200) }
test few { B=1 H=1 R=5 T=700 D=40 N=200 n.init: integers(600,700) v.init: outlier(0,4e38) }
test few { B=3 H=7 R=8 T=100 D=64 N=40 n.init: integers(-3,3) }
test few { B=1 H=1 R=1 T=3000 D=128 N=72 n.init: integers(2900,3000) }

# without any maximum
kernel hidden(x: f16[M,K], a: f16[F,K], b: f16[F,N]) -> (y: f16[M,N], c: f32[M]) with { fuse: require } {
  h = relu(x @[K] a)
  c = sum[F](h)
  y = h @[F] b
}
test hidden { M=3 K=64 F=900 N=64 init: integers(-2,2) tol: exact }
test hidden { M=100 K=128 F=500 N=200 init: integers(-1,1) tol: exact }

# strides of what the intermediate reads, and of results
kernel strides(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,D], m: f32[S,T] strided, r: f16[S] strided) -> (o: bf16[B,S,D] strided, l: f32[B,S] strided) with { fuse: require } {
  s = (q @ k) * r + m
  o = softmax[T](s) @ v
  l = logsumexp[T](s)
}
test strides { B=2 S=17 T=70 D=64 }

# a logit that no element has, in the maximum and in the denominator: of every head, of every row, a number; divided ahead of the second contraction and behind it
kernel sinks(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,D], sink: f32[H], scale: f32) -> y: bf16[B,H,S,D] with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  m = max(max[T](s), sink)
  e = exp(s - m)
  y = (e / (sum[T](e) + exp(sink - m))) @ v
}
test sinks { B=1 H=2 S=300 T=300 D=64 scale=0.3 }
test sinks { B=1 H=2 S=70 T=200 D=40 scale=0.3 sink.init: integers(-90,90) }
test sinks { B=3 H=7 S=4 T=2000 D=128 scale=0.3 sink.init: integers(-9,9) }
test sinks { B=1 H=2 S=33 T=65 D=7 scale=0.3 }
# two exponentials of the same scores, one above their maximum
kernel sinks_beside(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,D], sink: f32[H], scale: f32) -> (y: bf16[B,H,S,D], l: f32[B,H,S]) with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  m = max(max[T](s), sink)
  e = exp(s - m)
  y = (e @[T] v) / (sum[T](e) + exp(sink - m))
  l = logsumexp[T](s)
}
test sinks_beside { B=1 H=2 S=130 T=140 D=64 scale=0.3 sink.init: integers(-9,9) }
test sinks_beside { B=2 H=3 S=5 T=300 D=64 scale=0.3 sink.init: integers(-9,9) }
kernel sinks16(q: f16[B,R,S,D], k: f16[B,T,D], v: f16[B,T,D], sink: f32[B,R,S], n: i32[B]) -> (y: f16[B,R,S,D], l: f32[B,R,S]) with { fuse: require } {
  s = where(idx(T) < n, (q @[D] k) * 0.3, -inf)
  m = max(max[T](s), sink * 2)
  e = exp(s - m)
  l = sum[T](e) + exp(sink * 2 - m)
  y = (e @[T] v) / l
}
test sinks16 { B=2 R=2 S=130 T=300 D=64 n.init: integers(0,300) sink.init: integers(-20,20) }
test sinks16 { B=2 R=2 S=9 T=130 D=128 n.init: integers(0,130) sink.init: integers(-20,20) }
kernel softmax_plus_one(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,D]) -> (y: f16[B,S,D], l: f32[B,S]) with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * 0.3, -inf)
  m = max(max[T](s), 0)
  e = exp(s - m)
  l = sum[T](e) + exp(-m)
  y = (e / l) @ v
}
test softmax_plus_one { B=2 S=130 T=300 D=64 }
test softmax_plus_one { B=2 S=33 T=0 D=64 tol: exact }
kernel epsilon(q: bf16[S,D], k: bf16[T,D], v: bf16[T,D]) -> y: bf16[S,D] with { fuse: require } {
  s = (q @ k) * 0.1
  e = exp(s - max[T](s))
  y = (e / (sum[T](e) + 0.001)) @ v
}
test epsilon { S=130 T=300 D=64 }

# what is stored of a row is as exact as the cap that its elements have, also where they are small
kernel capped_rows(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E]) -> (o: bf16[B,S,E], m: f32[B,S], l: f32[B,S]) with { fuse: require } {
  s = tanh((q @[D] k) * 0.05) * 6
  m = max[T](s)
  l = logsumexp[T](s)
  o = softmax[T](s) @[T] v
}
test capped_rows { B=3 S=64 T=1 D=8 E=64 }
test capped_rows { B=1 S=20 T=3 D=8 E=8 }
test capped_rows { B=3 S=40 T=17 D=31 E=0 } # no columns: rows have their results

# no softmax at all, and a mask all the same: rows begin and end where what is weighted is 0
kernel sigmoids(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,D], b: f32, scale: f32) -> (y: bf16[B,H,S,D], r: f32[B,H,S]) with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * scale + b, -inf)
  r = sum[T](sigmoid(s))
  y = sigmoid(s) @ v
}
test sigmoids { B=1 H=2 S=300 T=130 D=64 scale=0.3 b=-1 }
test sigmoids { B=2 H=2 S=130 T=330 D=128 scale=0.3 b=-1 v.init: outlier(0,4e38) }
test sigmoids { B=1 H=2 S=3 T=330 D=128 scale=0.3 b=-1 }
test sigmoids { B=1 H=1 S=65 T=63 D=33 scale=0.3 b=-1 }
kernel squared(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,D]) -> y: bf16[B,S,D] with { fuse: require } {
  y = where(idx(T) > idx(S) || idx(S) - idx(T) > 70, 0, relu((q @ k) * 0.2) ** 2) @ v
}
test squared { B=2 S=300 T=330 D=64 }
test squared { B=2 S=130 T=500 D=128 init: integers(-2,2) }

# a gate on what the chain gives, from another tensor and from the row's statistics
kernel gate(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,D], g: bf16[B,S,D], sink: f32) -> y: bf16[B,S,D] with { fuse: require } {
  s = where(idx(T) <= idx(S), (q @ k) * 0.2, -inf)
  y = (softmax[T](s) @ v) * sigmoid(g) * sigmoid(logsumexp[T](s) - sink)
}
test gate { B=2 S=300 T=330 D=64 sink=0.5 }

# written out by hand, heads behind the sequence, keys shared by all heads
kernel by_hand(q: bf16[B,S,H,D], k: bf16[B,T,D], v: bf16[B,T,N]) -> (o: bf16[B,S,H,N], l: f32[B,H,S]) with { fuse: require } {
  a = (k @[D] q) * 0.125
  m = max[T](a)
  e = exp(a - m)
  r = sum[T](e)
  o = v @[T] (e / r)
  l = m + log(r)
}
test by_hand { B=2 H=3 S=70 T=130 D=64 N=64 }
test by_hand { B=1 H=2 S=9 T=63 D=72 N=129 }
test by_hand { B=1 H=1 S=1 T=1 D=1 N=2 }
test by_hand { B=1 H=5 S=33 T=65 D=65 N=33 }

# divided behind the second contraction, in f32, with a bias and a mask that is a tensor
kernel biased(q: f32[B,S,D], k: f32[B,T,D], v: f32[B,T,N], bias: f32[S,T], keep: bool[B,T], g: f32[N]) -> (o: f32[B,S,N], some: bool[B,S], n: i32[B,S]) with { fuse: require } {
  a = where(keep, q @ k + bias, -inf)
  m = max[T](a)
  c = where(m > -inf, m, 0)
  e = exp(a - c)
  r = sum[T](e)
  o = (e @ v) / where(r == 0, 1, r) * g
  some = r > 0
  n = i32(r)
}
test biased { B=2 S=70 T=130 D=64 N=64 }
test biased { B=2 S=129 T=65 D=128 N=128 }
test biased { B=2 S=7 T=63 D=33 N=65 }
test biased { B=2 S=1 T=1 D=1 N=2 }
test biased { B=3 S=20 T=1 D=16 N=300 }
test biased { B=1 S=64 T=0 D=16 N=16 tol: exact }

# two-layer perceptrons
kernel mlp(x: f32[M,K], W1: f32[H,K], b1: f32[H], W2: f32[N,H], b2: f32[N]) -> y: f32[M,N] with { fuse: require } {
  h = relu(x @ W1 + b1)
  y = sigmoid(h @ W2 + b2)
}
test mlp { M=70 K=512 H=130 N=64 }
test mlp { M=129 K=65 H=63 N=129 }
test mlp { M=65 K=64 H=512 N=256 }
test mlp { M=1 K=1 H=1 N=2 }
test mlp { M=64 K=0 H=64 N=64 }
test mlp { M=64 K=9 H=0 N=64 }
test mlp { M=200 K=96 H=96 N=132 init: integers(-2,2) }

kernel mlp16(x: bf16[M,K], W1: bf16[K,H], b1: bf16[H], W2: bf16[H,N], b2: bf16[N], r: bf16[M,N]) -> (y: bf16[M,N], p: f32[M], q: f32[M]) with { fuse: require } {
  h = gelu(x @ W1 + b1)
  y = h @ W2 + b2 + r
  p = max[H](h)
  q = sum[H](h * h)
}
test mlp16 { M=70 K=512 H=130 N=64 }
test mlp16 { M=129 K=64 H=64 N=136 }
test mlp16 { M=65 K=64 H=512 N=256 }
test mlp16 { M=3 K=7 H=9 N=11 }
test mlp16 { M=128 K=200 H=1 N=64 }

# exact on integers: products and sums of small numbers alone
kernel exact(x: f16[M,K], w: f16[K,H], u: f16[H,N]) -> y: f32[M,N] with { fuse: require } {
  y = (max(x @ w, 0) * 2) @ u
}
test exact { M=129 K=16 H=65 N=130 init: integers(-1,1) tol: exact }
test exact { M=64 K=128 H=128 N=128 init: integers(-1,1) tol: exact }
test exact { M=63 K=17 H=63 N=9 init: integers(-1,1) tol: exact }
test exact { M=150 K=120 H=700 N=120 init: integers(-1,1) tol: exact }
test exact { M=70 K=250 H=300 N=200 init: integers(-1,1) tol: exact }
kernel exact_turned(x: bf16[K,M], w: bf16[K,H], u: bf16[N,H]) -> y: f32[M,N] with { fuse: require } {
  y = max(x @[K] w, -3) @[H] u
}
test exact_turned { M=136 K=64 H=520 N=72 init: integers(-1,1) tol: exact }

# several walks: what the second contraction reads is known only after two of the intermediate
kernel walks(q: f32[S,D], k: f32[T,D], v: f32[T,N]) -> (o: f32[S,N], d: f32[S]) with { fuse: require } {
  a = q @ k
  z = layernorm[T](a)
  o = z @ v
  d = sum[T](abs(z))
}
test walks { S=65 T=130 D=40 N=64 }
test walks { S=7 T=65 D=129 N=33 }

kernel sharp(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N]) -> o: f32[S,N] with { fuse: require } {
  a = tanh((q @ k) * 0.1)
  p = softmax[T](a * 3)
  o = where(p > 0.01, p, 0) @ v
}
test sharp { S=65 T=130 D=64 N=64 }
test sharp { S=7 T=65 D=24 N=40 }

# operands stored the other way round, and none of the axes contiguous
kernel turned(q: f16[D,S], k: f16[D,T], v: f16[N,T]) -> o: f16[N,S] with { fuse: require } {
  o = v @[T] softmax[T]((q @[D] k) * 0.2)
}
test turned { S=64 T=128 D=64 N=64 }
test turned { S=65 T=63 D=65 N=63 }
test turned { S=8 T=136 D=16 N=72 }
kernel spread(q: f16[D,S,J=2], k: f16[T,D,J], v: f16[T,N,J]) -> o: f16[S,N,J] with { fuse: require } {
  o = softmax[T]((q @[D] k) * 0.2) @[T] v
}
test spread { S=65 T=63 D=65 N=63 }
test spread { S=64 T=128 D=64 N=128 }

# several contractions over the intermediate: that share a factor, as halves of one weight, with factors of their own, three of them
kernel gated(x: f16[M,K], w: f16[K,H], u: f16[K,H], v: f16[H,N]) -> y: f16[M,N] with { fuse: require } {
  y = (silu(x @ w) * (x @ u)) @ v
}
test gated { M=70 K=64 H=130 N=64 init: integers(-1,1) }
test gated { M=129 K=200 H=65 N=136 init: integers(-1,1) }
test gated { M=64 K=128 H=64 N=200 init: integers(-1,1) }
test gated { M=9 K=7 H=9 N=11 }
test gated { M=5 K=16 H=0 N=16 tol: exact }
kernel halved(x: f32[M,K], w: f32[F=2*H,K], v: f32[H,N]) -> (y: f32[M,N], p: f32[M]) with { fuse: require } {
  l, r = halves[F->H](x @ w)
  h = l * sigmoid(r)
  y = h @ v
  p = max[H](h)
}
test halved { M=70 K=64 H=130 N=64 init: integers(-1,1) }
test halved { M=65 K=33 H=63 N=130 }
kernel apart(x: bf16[M,K], z: bf16[M,L], w: bf16[K,H], u: bf16[H,L], v: bf16[H,N]) -> y: f32[M,N] with { fuse: require } {
  y = max(x @ w - (z @ u), 0) @ v
}
test apart { M=70 K=64 L=24 H=130 N=64 init: integers(-1,1) tol: exact }
test apart { M=65 K=33 L=0 H=63 N=130 init: integers(-1,1) tol: exact }
test apart { M=3 K=0 L=9 H=64 N=8 init: integers(-1,1) tol: exact }
kernel thrice(x: f16[M,K], a: f16[K,H], b: f16[K,H], c: f16[K,H], v: f16[H,N]) -> y: f16[M,N] with { fuse: require } {
  y = softmax[H]((x @ a) * 0.1 + sigmoid(x @ b) - tanh(x @ c)) @ v
}
test thrice { M=70 K=64 H=130 N=64 }
test thrice { M=65 K=33 H=63 N=130 }

# operands that are computed as they are loaded, rows, intermediate and columns; parts of one tensor
kernel turned_pairs(q: f16[B,H,S,D], k: f16[B,T,D], v: i8[B,T,N], cs: f32[S,D], sn: f32[T,D], sv: f32[T]) -> o: f16[B,H,S,N] with { fuse: require } {
  o = f16(softmax[T]((f16(q * cs) @ f16(k * sn)) * 0.2)) @ f16(v * sv)
}
test turned_pairs { B=2 H=2 S=70 T=130 D=64 N=64 }
test turned_pairs { B=1 H=1 S=65 T=63 D=40 N=130 }
test turned_pairs { B=1 H=2 S=9 T=65 D=33 N=7 }
kernel parts[T=S](a: f16[B,S,J=3,H,D]) -> o: f16[B,S,H,N=D] with { fuse: require } {
  q = a[J: 0]
  k = a[S: T, J: 1]
  v = a[S: T, J: 2, D: N]
  o = softmax[T](where(idx(T) <= idx(S), q @[D] k * 0.125, -inf)) @[T] v
}
test parts { B=2 S=70 H=2 D=64 }
test parts { B=1 S=65 H=3 D=33 }
kernel scaled(x: f32[M,K], g: f32[K], w: i8[K,H], s: f32[H], v: f32[H,N]) -> y: f32[M,N] with { fuse: require } {
  y = relu((x * g) @ (w * s)) @ (v + 1)
}
test scaled { M=70 K=64 H=130 N=64 init: integers(-1,1) tol: exact }
test scaled { M=65 K=33 H=63 N=130 init: integers(-1,1) tol: exact }

# a chain whose result is reduced besides: the reduction is no part of its epilogue
kernel chain_reduced(x0: f16[M,C], x1: f16[N,C,U], x2: f16[R,M], x3: f16[R,N], x4: f16[N,R], x5: f32[R], x6: f16[P,N], x7: f16[M]) -> (y0: f16[M,P], y1: f16[P]) with { round: op } {
  h0 = relu(x1)
  h1 = sum[C,U](h0 * ((x0[M: (idx(M) + idx(U)) - 1] ?? 0) / 4.0)) + ((x2 @[R] (x5 * (x3 * x4))) * 0.25)
  h2 = layernorm[N](h1)
  h3 = gelu_tanh(x7 + (h2 @[N] x6))
  y0 = h3
  y1 = max[M](h3)
}
test chain_reduced { M=3 C=20 N=7 U=4 R=1 P=3 init: integers(-2,2) }

# what a row of the result has besides, read and computed ahead of its columns
kernel row_alone(q: f16[S,D], k: f16[T,D], v: f16[T,N], t: f32[V], ids: i32[S], u: f32[S]) -> o: f32[S,N] with { fuse: require } {
  o = (softmax[T](q @ k) @ v) * exp(u) + (t[V: ids] ?? 1)
}
test row_alone { S=5 T=9 D=8 N=7 V=4 ids.init: integers(-1,5) }
test row_alone { S=70 T=65 D=16 N=72 V=2 ids.init: integers(-1,3) }

# two first contractions, each with a factor of its own, and one element by element behind both: the gradient of an attention, of what its forward has saved
kernel saved_dq(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], dy: bf16[B,H,S,E], lse: f32[B,H,S], delta: f32[B,H,S]) -> dq: bf16[B,H,S,D] with { fuse: require } {
  p  = exp((q @[D] k) * 0.1 - lse)
  dq = where(idx(T) <= idx(S), p * ((dy @[E] v) - delta) * 0.1, 0) @[T] k
}
test saved_dq { B=1 H=2 S=300 T=300 D=64 E=64 }
test saved_dq { B=2 H=1 S=130 T=200 D=128 E=128 }
test saved_dq { B=1 H=1 S=65 T=130 D=40 E=72 }
test saved_dq { B=1 H=1 S=33 T=63 D=33 E=7 }
kernel saved_dk(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], dy: bf16[B,H,S,E], lse: f32[B,H,S], delta: f32[B,H,S]) -> dk: bf16[B,H,T,D] with { fuse: require } {
  p  = exp((q @[D] k) * 0.1 - lse)
  dk = where(idx(T) <= idx(S), p * ((dy @[E] v) - delta) * 0.1, 0) @[S] q
}
test saved_dk { B=1 H=2 S=300 T=300 D=64 E=64 }
test saved_dk { B=2 H=1 S=130 T=200 D=128 E=128 q.init: outlier(0,1000) }
# a cap of scores, which only exponents are made of; of an f32 beside them too, whose tanh stays exact
kernel capped(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E], scale: f32) -> y: bf16[B,S,E] with { fuse: require } {
  y = softmax[T](where(idx(T) <= idx(S), tanh((q @ k) * scale) * 30, -inf)) @[T] v
}
test capped { B=2 S=140 T=140 D=64 E=64 scale=0.02 }
test capped { B=1 S=70 T=200 D=128 E=128 scale=1 init: integers(-2,2) }
kernel capped_sum(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,E]) -> (y: f16[B,S,E], c: f32[B,S]) with { fuse: require } {
  s = tanh((q @ k) * 0.05)
  y = softmax[T](s) @[T] v
  c = sum[T](s)
}
test capped_sum { B=2 S=70 T=140 D=64 E=64 }
# distances as floats, and as integers beside them
kernel distance_bias(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,E], slope: f32[H], scale: f32) -> y: bf16[H,S,E] with { fuse: require } {
  d = idx(S) - idx(T)
  y = softmax[T](where(d * d < 900 || d < -20, (q @[D] k) * scale - slope * f32(d) + 0.01 * f32(idx(T)), -inf)) @[T] v
}
test distance_bias { H=2 S=150 T=170 D=64 E=64 scale=0.125 }
test distance_bias { H=1 S=200 T=130 D=128 E=128 scale=0.1 }
test distance_bias { H=2 S=33 T=65 D=17 E=30 scale=0.125 }
# what is the same for all rows: numbers of documents, a bias of keys, both beside limits
kernel documents(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], id: i32[B,S], key_id: i32[B,T], bias: f32[T], scale: f32) -> y: bf16[B,H,S,E] with { fuse: require } {
  y = softmax[T](where(idx(T) <= idx(S) && id == key_id, (q @[D] k) * scale + bias, -inf)) @[T] v
}
test documents { B=2 H=2 S=140 T=140 D=64 E=64 scale=0.2 id.init: integers(0,1) key_id.init: integers(0,1) }
test documents { B=1 H=1 S=70 T=300 D=128 E=128 scale=0.2 id.init: integers(0,1) key_id.init: integers(0,1) }
# few rows that are copied by 16 bytes: caches whose last factor is a part of the first one's, pages by a table, lengths of their own; tables that point outside
kernel latent(q: bf16[B,H,D=576], kv: bf16[B,T,D], n: i32[B], scale: f32) -> (y: bf16[B,H,E=512]) with { fuse: require } {
  y = softmax[T](where(idx(T) < n, (q @[D] kv) * scale, -inf)) @[T] kv[D: idx(E)]
}
test latent { B=2 H=16 T=200 scale=0.05 n.init: integers(1,200) }
test latent { B=1 H=40 T=129 scale=0.05 n.init: integers(1,129) }
test latent { B=3 H=3 T=1 scale=0.05 n.init: integers(0,1) }
kernel latent_sums(q: f16[B,H,D=200], kv: f16[B,T,D]) -> (y: f32[B,H,E=136], s: f32[B,H]) with { fuse: require } {
  p = relu(q @[D] kv)
  s = sum[T](p)
  y = f16(p) @[T] kv[D: idx(E)]
}
test latent_sums { B=2 H=16 T=150 init: integers(-1,1) tol: exact }
test latent_sums { B=1 H=1 T=33 init: integers(-1,1) tol: exact }
kernel latent_same(q: f16[H,D=64], kv: f16[T,D]) -> (y: f32[H,E=64]) with { fuse: require } { y = relu(q @[D] kv) @[T] kv[D: idx(E)] }
test latent_same { H=9 T=1000 init: integers(-1,1) tol: exact }
kernel latent_128(q: bf16[H,D=128], kv: bf16[T,D]) -> (y: f32[H,E=128]) with { fuse: require } { y = relu(q @[D] kv) @[T] kv[D: idx(E)] }
test latent_128 { H=13 T=300 init: integers(-1,1) tol: exact }
kernel paged(q: bf16[B,G,R,D], kp: bf16[P,L=64,G,D], vp: bf16[P,L,G,D], table: i32[B,J], n: i32[B], _t: bool[T=64*J], scale: f32) -> (y: bf16[B,G,R,D]) with { fuse: require } {
  k = kp[P: table[J: idx(T) // 64], L: idx(T) % 64] ?? 0
  v = vp[P: table[J: idx(T) // 64], L: idx(T) % 64] ?? 0
  y = softmax[T](where(idx(T) < n, (q @[D] k) * scale, -inf)) @[T] v
}
test paged { B=2 G=2 R=4 D=128 J=5 P=12 scale=0.1 table.init: integers(-1,12) n.init: integers(1,320) }
test paged { B=1 G=2 R=16 D=64 J=3 P=2 scale=0.1 table.init: integers(0,1) n.init: integers(1,192) }
test paged { B=2 G=1 R=20 D=128 J=2 P=12 scale=0.1 table.init: integers(0,11) n.init: integers(1,128) }
test paged { B=2 G=1 R=40 D=64 J=2 P=12 scale=0.1 table.init: integers(0,11) n.init: integers(1,128) }
test paged { B=1 G=2 R=5 D=256 J=2 P=12 scale=0.1 table.init: integers(0,11) n.init: integers(1,128) }
test paged { B=1 G=2 R=40 D=248 J=2 P=12 scale=0.1 table.init: integers(0,11) n.init: integers(1,128) }
test paged { B=1 G=1 R=3 D=60 J=2 P=3 scale=0.1 table.init: integers(0,2) n.init: integers(1,128) }
kernel gathered(q: f16[B,R,D], kp: f16[P,D], vp: f16[P,N], at: i32[B,T]) -> (y: f32[B,R,N]) with { fuse: require } {
  y = relu(q @[D] (kp[P: at] ?? 0)) @[T] (vp[P: at] ?? 0)
}
test gathered { B=2 R=7 D=128 N=72 T=230 P=50 init: integers(-1,1) at.init: integers(-1,50) tol: exact }
test gathered { B=3 R=33 D=40 N=64 T=64 P=50 init: integers(-1,1) at.init: integers(0,49) tol: exact }
test gathered { B=1 R=4 D=64 N=64 T=0 P=5 init: integers(-1,1) at.init: integers(0,4) tol: exact }
# what elements compute of indices alone: in 32 bits, where it fits
kernel slopes(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], slope: f32[H]) -> y: bf16[B,H,S,E] with { fuse: require } {
  y = softmax[T](where(idx(T) <= idx(S), (q @ k) * 0.1 + slope * f32(idx(T) - idx(S)), -inf)) @[T] v
}
test slopes { B=1 H=2 S=140 T=140 D=64 E=64 slope.init: uniform(0,0.2) }
test slopes { B=1 H=1 S=33 T=63 D=33 E=7 slope.init: uniform(0,0.2) }
kernel distances(q: f16[S,D], k: f16[T,D], v: f16[T,E]) -> y: f32[S,E] with { fuse: require } {
  p = where(-idx(T) < 3 - idx(S) || idx(T) - idx(S) + size(S) > 4, (q @ k) * f32(idx(T) - idx(S)), f32(-idx(S) - size(T)))
  y = f16(p) @[T] v
}
test distances { S=70 T=65 D=8 E=64 init: integers(-1,1) tol: exact }
test distances { S=7 T=65 D=5 E=3 init: integers(-1,1) tol: exact }
# caches that the kernel appends to: what the chain reads lies where it was stored
kernel appended(q: bf16[B,G,R,D], kc: inout bf16[B,G,T,D], vc: inout bf16[B,G,T,D], k: f32[B,G,D], v: bf16[B,G,D], n: i32[B]) -> y: bf16[B,G,R,D] {
  kc[T: n] = bf16(k * 2)
  vc[T: n] = v
  y = softmax[T](where(idx(T) <= n, (q @[D] kc) * 0.1, -inf)) @[T] vc
}
test appended { B=3 G=2 R=4 T=130 D=64 n.init: integers(0,129) }
test appended { B=2 G=1 R=80 T=130 D=128 n.init: integers(0,129) }
kernel appended_run(q: f16[B,R,D], kc: inout f16[B,T,D], k: f16[B,U,D], n: i32[B]) -> (y: f32[B,R,D], z: f32[B,R,T], before: f32[B,R,T]) {
  before = q @[D] kc
  kc[T: n + U] = k
  z = q @[D] kc
  y = relu(z) @[T] kc
}
test appended_run { B=3 R=70 T=96 D=64 U=5 init: integers(-1,1) n.init: integers(-3,95) tol: exact }
test appended_run { B=2 R=3 T=7 D=24 U=9 init: integers(-1,1) n.init: integers(-3,6) tol: exact }
# rows of the result are no rows of the program that stores
kernel appended_rows(w: f32[T,P], kc: inout f32[T,D], k: f32[M,D], n: i32) -> (y: f32[M,D], z: f32[P,D]) {
  kc[T: n + M] = k - max[D](k)
  z = w @[T] kc
  y = k * max[D](k - max[P](z))
}
test appended_rows { M=40 T=50 D=48 P=40 n=3 init: integers(-2,2) tol: exact }
# windows of an image, whose patches are no more than a run, with a bias for each pair
kernel windows(q: f16[W,H,S,D=32], k: f16[W,H,T=64,D], v: f16[W,H,T,D], b: f16[H,S,T]) -> y: f16[W,S,H,D] with { fuse: require } { y = softmax[T]((q @[D] k) * 0.2 + b) @[T] v }
test windows { W=3 H=2 S=64 }
test windows { W=2 H=3 S=49 }

# Sums of exponentials that leave the chain: of large scores, whose multiples by log2(e) are rounded, by up to many exponents.
kernel row_sums(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E]) -> (o: f32[B,S,E], l: f32[B,S]) with { fuse: require } {
  e = exp(q @ k - max[T](q @ k))
  l = sum[T](e)
  o = e @ v / l
}
kernel row_sums_16(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,E]) -> (o: f32[B,S,E], l: f32[B,S]) with { fuse: require } {
  e = exp(q @ k - max[T](q @ k))
  l = sum[T](e)
  o = e @ v / l
}
# Quotients that are rounded before they are multiplied, in a pass of their own; the sums leave the chain all the same.
kernel row_sums_rounded(q: bf16[B,S,D], k: bf16[B,T,D], v: bf16[B,T,E]) -> (o: f32[B,S,E], l: f32[B,S]) with { fuse: require } {
  e = exp(q @ k - max[T](q @ k))
  l = sum[T](e)
  o = bf16(e / l) @ v
}
test row_sums_rounded { B=2 S=70 T=70 D=16 E=16 init: integers(-250,250) v.init: integers(-9,9) }
test row_sums { B=2 S=70 T=70 D=16 E=16 init: integers(-60,60) }
test row_sums { B=2 S=70 T=70 D=1 E=16 init: integers(-65000,65000) v.init: integers(-9,9) }
test row_sums { B=2 S=70 T=150 D=1 E=16 init: integers(-5000,5000) v.init: integers(-9,9) }
test row_sums_16 { B=2 S=70 T=70 D=1 E=16 init: integers(-22000,22000) v.init: integers(-9,9) }
test row_sums_16 { B=2 S=3 T=200 D=1 E=16 init: integers(-60000,60000) v.init: integers(-9,9) }

# The first sum of a chain in its epilogue: there it is another element than the one in registers.
kernel cubic(a: f32[N,I=16,J=16]) -> (e: f32[N,I,J], g: f32[N,I,J]) {
  square = a @[J] a{J->K}{I->J}
  cube = square @[K] a{I->K}
  e = a + square{K->J} / 2 + cube / 4
  g = cube - square[K: size(K) - 1 - J]
}
test cubic { N=3 init: integers(-2,2) tol: exact }
test cubic { N=2 seed: 1 }

# Scores that are divided by what a launch is given: the maximum of a row is, and exponents are multiplied by the reciprocal.
kernel divided(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,D]) -> (o: f16[B,S,D], m: f32[B,S], lse: f32[B,S]) with { fuse: require } {
  s   = where(idx(T) <= idx(S) + 9, (q @ k) / sqrt(size(D)), -inf)
  m   = max[T](s)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
test divided { B=2 S=65 T=70 D=24 }
test divided { B=1 S=130 T=300 D=96 init: integers(-3,3) }
test divided { B=1 S=200 T=200 D=130 q.init: outlier(0,1000) }
kernel divided_fixed(q: f16[S,D=72], k: f16[T,D], v: f16[T,D]) -> (o: f16[S,D], lse: f32[S]) with { fuse: require } {
  s   = q @ k / sqrt(size(D))
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
test divided_fixed { S=130 T=300 }
test divided_fixed { S=65 T=70 init: integers(-3,3) }
kernel divided_few(q: bf16[B,R,D], k: bf16[B,T,D], v: bf16[B,T,N]) -> y: bf16[B,R,N] with { fuse: require } { y = softmax[T](q @ k / 0.3) @ v }
test divided_few { B=2 R=4 T=1000 D=128 N=128 }
test divided_few { B=1 R=65 T=130 D=40 N=33 }
kernel divided_far(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N]) -> y: bf16[S,N] with { fuse: require } { y = softmax[T](q @ k / 3e29) @ v }
test divided_far { S=66 T=70 D=64 N=64 q.init: outlier(0,3e29) }
kernel scaled_by(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N], c: f32) -> (y: bf16[S,N], l: f32[S]) with { fuse: require } {
  s = q @ k * (c * rsqrt(size(D)))
  y = softmax[T](s) @ v
  l = logsumexp[T](s)
}
test scaled_by { S=66 T=70 D=64 N=64 c=2 }
test scaled_by { S=66 T=70 D=40 N=64 c=-2 }

# Keys and values of two sequences: how many there are together is no multiple of a vector, how long their rows are is.
kernel joined_sequences(q: f16[H,S,D], a: f16[H,R,D], c: f16[H,R,E=24], k: f16[H,T,D], v: f16[H,T,E]) -> o: f16[H,S,E] {
  keys = concat[J](a{R->J}, k{T->J})
  values = concat[J](c{R->J}, v{T->J})
  o = softmax[J](q @[D] keys) @ values
}
test joined_sequences { H=2 S=9 R=3 T=66 D=16 }
# one query: a chain whose rows have no label, or one of extent 1; the intermediate in pieces
kernel one_query(q: bf16[B,H,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> y: bf16[B,H,E] with { fuse: require } { y = softmax[T]((q @[D] k) * scale) @[T] v }
test one_query { B=2 H=3 T=500 D=128 E=128 scale=0.1 }
test one_query { B=1 H=1 T=1 D=8 E=8 scale=0.1 }
test one_query { B=2 H=2 T=300 D=64 E=64 scale=0.1 }
test one_query { B=2 H=2 T=65 D=256 E=256 scale=0.1 }
test one_query { B=1 H=2 T=65 D=40 E=72 scale=0.1 }
test one_query { B=1 H=2 T=65 D=33 E=7 scale=0.1 }
kernel one_query_lengths(q: f16[B,H,S=1,D=64], k: f16[B,H,T,D], v: f16[B,H,T,E=64], n: i32[B]) -> (y: f32[B,H,S,E], l: f32[B,H]) with { fuse: require } {
  s = where(idx(T) < n, (q @[D] k) * 0.25, -inf)
  y = softmax[T](s) @[T] v
  l = max[S](logsumexp[T](s))
}
test one_query_lengths { B=5 H=2 T=200 n.init: integers(0,200) }
kernel one_row_integers(q: f16[D=128], k: f16[T,D], v: f16[T,E=128]) -> y: f32[E] with { fuse: require } { y = relu(q @[D] k) @[T] v }
test one_row_integers { T=300 init: integers(-1,1) tol: exact }
