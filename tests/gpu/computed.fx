# Operands computed as they are loaded, parts of contractions, several sums and segments: exact on integers, within the bound on random data; extents on and off tiles.
kernel cast(x: f32[M,K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @ w }
kernel scale(x: bf16[M,K], s: f32[K], w: bf16[K,N]) -> y: bf16[M,N] with { fuse: require } { y = (x * s) @ w }
kernel dequant(x: bf16[M,K], q: i8[K,N], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = x @ bf16(q * s) }
kernel dequant_nk(x: bf16[M,K], q: i8[N,K], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = x @ bf16(q * s) }
kernel w4(sc: f32[J, G=L/8], zp: u4[J, G=L/8] packed(i32, G, lsb), wq: u4[J, L] packed(i32, L, lsb), y: f32[L,C]) -> z: f32[J,C] with { fuse: require } {
  z = (sc[G: L/8] * (wq - zp[G: L/8])) @[L] y
}
kernel w4b(sc: f32[J, G=L/128], zp: u4[J, G=L/128] packed(i32, G, lsb), wq: u4[J, L] packed(i32, L, lsb), y: bf16[C,L]) -> z: bf16[C,J] with { fuse: require } {
  z = y @[L] (sc[G: L/128] * (wq - zp[G: L/128]))
}
kernel conv_relu(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], b: f16[O]) -> z: f16[B,O,H,W] with { fuse: require } {
  z = relu(sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b)
}
kernel conv_nhwc(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C], b: f16[O]) -> z: f16[B,H,W,O] with { fuse: require } {
  z = relu(sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b)
}
kernel top1(d: f32[B,E], s: f32[B,S,E], W1: f32[H, P=(S+1)*E, Q=P], b1: f32[H]) -> h: f32[B,H] with { fuse: require } {
  c = concat[P](d{E->P}, s{(S,E)->P})
  h = relu((c * c{P->Q}) @[P,Q] W1 + b1)
}
kernel lora(x: f16[M,K], W: f16[K,N], b: f16[N], A: f16[K,R=16], B: f16[R,N], alpha: f32 = 0.5) -> y: f16[M,N] {
  y = relu(x @ W + b + alpha * (x @ A @ B))
}
kernel lora5(x: f16[M,K], W: f16[K,N], b: f16[N], A: f16[K,R=5], B: f16[R,N]) -> y: f16[M,N] with { fuse: require } { y = relu(x @ W + b + x @ A @ B) }
kernel lora5f(x: f32[M,K], W: f32[K,N], b: f32[N], A: f32[K,R=5], B: f32[R,N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ W + b + x @ A @ B) }
kernel ragged(x: bf16[M,K], w: bf16[N,K], u: bf16[M,R=21], v: bf16[N,R]) -> y: f32[M,N] with { fuse: require } { y = (x @ w) + (u @ v) }
kernel ragged8(x: bf16[M,K], w: bf16[K,N], u: f32[M,R=12], v: bf16[R,N]) -> y: f32[M,N] with { fuse: require } { y = (x @ w) * ((2 * u) @ v) }
kernel rnn(x: f16[M,K], h: f16[M,L], W: f16[K,N], U: f16[L,N]) -> y: f16[M,N] with { fuse: require } { y = tanh(x @ W + h @ U) }
kernel gates(x: bf16[M,K], w1: bf16[K,N], w2: bf16[N,K], w3: bf16[K,N], s: f32[K]) -> y: bf16[M,N] with { fuse: require } { y = (x @ w1) * sigmoid(x @ w2) + x @ (w3 * s) }

kernel split(a: bf16[M,K], w: bf16[K, F=2*N], b: bf16[F]) -> d: f32[M,N] with { fuse: require } { l, r = halves[F->N](a @ w + b)
  d = relu(l) * r + l }
kernel splitt(a: f16[M,K], w: f16[F=2*N,K], b: f16[F]) -> d: f32[M,N] with { fuse: require } { l, r = evenodd[F->N](a @ w + b)
  d = relu(l) * r + l }
kernel evens(a: f16[M,K], w: f16[K,F=2*N]) -> d: f32[M,N] with { fuse: require } { l, r = evenodd[F->N](a @ w)
  d = l * r }
kernel four(x: f32[M,K], a: f32[K,N], b: f32[N,K], c: f32[K,N], d: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = (x @ a) * (x @ b) - (x @ c) * (x @ d) }
kernel convf(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3]) -> z: f32[B,O,H,W] with { fuse: require } { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel gather(t: bf16[V,K], ids: i32[M], w: bf16[K,N]) -> y: f32[M,N] with { fuse: require } { y = (t[V: ids] ?? 0) @ w }
kernel cat(a: f16[M,P], b: f16[M,Q], w: f16[K=P+Q,N]) -> y: f32[M,N] with { fuse: require } { y = concat[K](a{P->K}, b{Q->K}) @ w }
kernel mask(x: f16[M,K], w: f16[K,N]) -> y: f32[M,N] with { fuse: require } { y = where(idx(K) <= idx(M), x, 0) @ w }
kernel batched(x: f16[B,M,K], s: f32[B,K], w: f16[B,K,N]) -> y: f32[B,M,N] with { fuse: require } { y = (x * s) @ w }
kernel sk(x: f32[M,K], s: f32[K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = (x * s) @ w }
kernel two(x: bf16[M,K], w1: bf16[K,N], s: f32[N], w2: bf16[N,K], s2: f32[K]) -> y: f32[M,N] with { fuse: require } { y = (x @ (w1 * s)) * (x @ (w2 * s2)) }
# chunks within the last of the labels that they run over: what lacks those is one value a chunk, and pixels of a plane lie adjacent whatever the length of its lines
kernel heads(x: bf16[L,H,P=16], s: f32[L,H], b: bf16[L,N]) -> y: f32[H,P,N] with { fuse: require } { y = sum[L](x * (s - (s[L: 0] ?? 0)) * b) }
kernel groups(x: bf16[M,K=G*R], w: i8[N,G,R=24], s: bf16[N,G]) -> y: f32[M,N] with { fuse: require } { y = x{K->(G,R)} @[G,R] (w * s) }
kernel pairs(x: bf16[M,G,R=12], s: bf16[M,G], w: bf16[N,G,R]) -> y: f32[M,N] with { fuse: require } { y = (x * s) @[G,R] w }
kernel pixels(x: f16[B,C,H,W], s: f16[B,C], w: f16[O,C]) -> y: f16[B,O,H,W] with { fuse: require } { y = w @[C] (x * s) }
kernel bands(x: f16[B,C,H,W], s: f16[B,C,H], w: f16[O,C]) -> y: f16[B,O,H,W] with { fuse: require } { y = w @[C] (x * s) }
test heads { L=70 H=9 N=40 init: integers(-2,2) tol: exact }
test heads { L=33 H=3 N=7 init: integers(-2,2) tol: exact }
test groups { M=40 N=72 G=5 init: integers(-2,2) tol: exact }
test groups { M=7 N=65 G=3 init: integers(-2,2) tol: exact }
test pairs { M=40 N=72 G=6 init: integers(-2,2) tol: exact }
test pixels { B=3 C=40 H=6 W=12 O=24 init: integers(-2,2) tol: exact }
test pixels { B=3 C=40 H=5 W=7 O=24 init: integers(-2,2) tol: exact }
test pixels { B=2 C=24 H=4 W=8 O=16 init: integers(-2,2) tol: exact }
test bands { B=3 C=40 H=6 W=12 O=24 init: integers(-2,2) tol: exact }
test bands { B=2 C=40 H=5 W=16 O=24 init: integers(-2,2) tol: exact }
test cast { M=129 N=136 K=72 init: integers(-2,2) seed: 0 tol: exact }
test cast { M=65 N=63 K=67 init: integers(-2,2) seed: 1 tol: exact }
test cast { M=256 N=256 K=192 init: integers(-2,2) seed: 2 tol: exact }
test cast { M=1 N=1 K=1 init: integers(-2,2) seed: 3 tol: exact }
test cast { M=7 N=130 K=129 init: integers(-2,2) seed: 4 tol: exact }
test cast { M=128 N=128 K=0 init: integers(-2,2) seed: 5 tol: exact }
test scale { M=129 N=136 K=72 init: integers(-2,2) seed: 6 tol: exact }
test scale { M=65 N=63 K=67 init: integers(-2,2) seed: 7 tol: exact }
test scale { M=256 N=256 K=192 init: integers(-2,2) seed: 8 tol: exact }
test scale { M=1 N=1 K=1 init: integers(-2,2) seed: 9 tol: exact }
test scale { M=7 N=130 K=129 init: integers(-2,2) seed: 10 tol: exact }
test scale { M=128 N=128 K=0 init: integers(-2,2) seed: 11 tol: exact }
test dequant { M=129 N=136 K=72 init: integers(-2,2) seed: 12 tol: exact }
test dequant { M=65 N=63 K=67 init: integers(-2,2) seed: 13 tol: exact }
test dequant { M=256 N=256 K=192 init: integers(-2,2) seed: 14 tol: exact }
test dequant { M=1 N=1 K=1 init: integers(-2,2) seed: 15 tol: exact }
test dequant { M=7 N=130 K=129 init: integers(-2,2) seed: 16 tol: exact }
test dequant { M=128 N=128 K=0 init: integers(-2,2) seed: 17 tol: exact }
test dequant_nk { M=129 N=136 K=72 init: integers(-2,2) seed: 18 tol: exact }
test dequant_nk { M=65 N=63 K=67 init: integers(-2,2) seed: 19 tol: exact }
test dequant_nk { M=256 N=256 K=192 init: integers(-2,2) seed: 20 tol: exact }
test dequant_nk { M=1 N=1 K=1 init: integers(-2,2) seed: 21 tol: exact }
test dequant_nk { M=7 N=130 K=129 init: integers(-2,2) seed: 22 tol: exact }
test dequant_nk { M=128 N=128 K=0 init: integers(-2,2) seed: 23 tol: exact }
test rnn { M=129 N=136 K=72 L=80 init: integers(-2,2) seed: 24 tol: exact }
test rnn { M=65 N=63 K=67 L=5 init: integers(-2,2) seed: 25 tol: exact }
test rnn { M=256 N=256 K=192 L=200 init: integers(-2,2) seed: 26 tol: exact }
test rnn { M=1 N=1 K=1 L=5 init: integers(-2,2) seed: 27 tol: exact }
test rnn { M=7 N=130 K=129 L=5 init: integers(-2,2) seed: 28 tol: exact }
test rnn { M=128 N=128 K=0 L=8 init: integers(-2,2) seed: 29 tol: exact }
test split { M=129 N=136 K=72 init: integers(-2,2) seed: 30 tol: exact }
test split { M=65 N=63 K=67 init: integers(-2,2) seed: 31 tol: exact }
test split { M=256 N=256 K=192 init: integers(-2,2) seed: 32 tol: exact }
test split { M=1 N=1 K=1 init: integers(-2,2) seed: 33 tol: exact }
test split { M=7 N=130 K=129 init: integers(-2,2) seed: 34 tol: exact }
test split { M=128 N=128 K=0 init: integers(-2,2) seed: 35 tol: exact }
test splitt { M=129 N=136 K=72 init: integers(-2,2) seed: 36 tol: exact }
test splitt { M=65 N=63 K=67 init: integers(-2,2) seed: 37 tol: exact }
test splitt { M=256 N=256 K=192 init: integers(-2,2) seed: 38 tol: exact }
test splitt { M=1 N=1 K=1 init: integers(-2,2) seed: 39 tol: exact }
test splitt { M=7 N=130 K=129 init: integers(-2,2) seed: 40 tol: exact }
test splitt { M=128 N=128 K=0 init: integers(-2,2) seed: 41 tol: exact }
test evens { M=129 N=136 K=72 init: integers(-2,2) seed: 42 tol: exact }
test evens { M=65 N=63 K=67 init: integers(-2,2) seed: 43 tol: exact }
test evens { M=256 N=256 K=192 init: integers(-2,2) seed: 44 tol: exact }
test evens { M=1 N=1 K=1 init: integers(-2,2) seed: 45 tol: exact }
test evens { M=7 N=130 K=129 init: integers(-2,2) seed: 46 tol: exact }
test evens { M=128 N=128 K=0 init: integers(-2,2) seed: 47 tol: exact }
test mask { M=129 N=136 K=72 init: integers(-2,2) seed: 66 tol: exact }
test mask { M=65 N=63 K=67 init: integers(-2,2) seed: 67 tol: exact }
test mask { M=256 N=256 K=192 init: integers(-2,2) seed: 68 tol: exact }
test mask { M=1 N=1 K=1 init: integers(-2,2) seed: 69 tol: exact }
test mask { M=7 N=130 K=129 init: integers(-2,2) seed: 70 tol: exact }
test mask { M=128 N=128 K=0 init: integers(-2,2) seed: 71 tol: exact }
test four { M=129 N=136 K=72 init: integers(-2,2) seed: 72 tol: exact }
test four { M=65 N=63 K=67 init: integers(-2,2) seed: 73 tol: exact }
test four { M=256 N=256 K=192 init: integers(-2,2) seed: 74 tol: exact }
test four { M=1 N=1 K=1 init: integers(-2,2) seed: 75 tol: exact }
test four { M=7 N=130 K=129 init: integers(-2,2) seed: 76 tol: exact }
test four { M=128 N=128 K=0 init: integers(-2,2) seed: 77 tol: exact }
test batched { B=3 M=129 N=136 K=72 init: integers(-2,2) seed: 81 tol: exact }
test batched { B=2 M=65 N=63 K=67 init: integers(-2,2) seed: 82 tol: exact }
test gather { V=40 M=129 N=136 K=72 ids.init: integers(-2,41) init: integers(-2,2) seed: 7 tol: exact }
test gather { V=7 M=65 N=63 K=67 ids.init: integers(-2,8) init: integers(-2,2) seed: 7 tol: exact }
test w4 { J=129 L=128 C=136 init: integers(-2,2) seed: 85 tol: exact }
test w4 { J=65 L=64 C=63 init: integers(-2,2) seed: 86 tol: exact }
test w4 { J=33 L=40 C=17 init: integers(-2,2) seed: 87 tol: exact }
test w4b { J=129 L=256 C=136 init: integers(-2,2) seed: 88 tol: exact }
test w4b { J=65 L=128 C=63 init: integers(-2,2) seed: 89 tol: exact }
test w4b { J=33 L=384 C=17 init: integers(-2,2) seed: 90 tol: exact }
test conv_relu { B=2 C=8 H=9 W=16 O=24 init: integers(-2,2) seed: 91 tol: exact }
test conv_nhwc { B=2 C=8 H=9 W=16 O=24 init: integers(-2,2) seed: 92 tol: exact }
test convf { B=2 C=8 H=9 W=16 O=24 init: integers(-2,2) seed: 93 tol: exact }
test conv_relu { B=3 C=5 H=7 W=11 O=13 init: integers(-2,2) seed: 94 tol: exact }
test conv_nhwc { B=3 C=5 H=7 W=11 O=13 init: integers(-2,2) seed: 95 tol: exact }
test convf { B=3 C=5 H=7 W=11 O=13 init: integers(-2,2) seed: 96 tol: exact }
test conv_relu { B=1 C=16 H=32 W=32 O=64 init: integers(-2,2) seed: 97 tol: exact }
test conv_nhwc { B=1 C=16 H=32 W=32 O=64 init: integers(-2,2) seed: 98 tol: exact }
test convf { B=1 C=16 H=32 W=32 O=64 init: integers(-2,2) seed: 99 tol: exact }
test lora { M=129 N=136 K=72 init: integers(-2,2) seed: 102 tol: exact }
test lora { M=65 N=63 K=67 init: integers(-2,2) seed: 103 tol: exact }
test cast { M=129 N=136 K=72 init: normal seed: 3 }
test scale { M=129 N=136 K=72 init: normal seed: 3 }
test gates { M=129 N=136 K=72 init: normal seed: 3 }
test split { M=129 N=136 K=72 init: normal seed: 3 }
test cast { M=65 N=63 K=67 init: normal seed: 3 }
test scale { M=65 N=63 K=67 init: normal seed: 3 }
test gates { M=65 N=63 K=67 init: normal seed: 3 }
test split { M=65 N=63 K=67 init: normal seed: 3 }
test cast { M=512 N=512 K=1024 init: normal seed: 3 }
test scale { M=512 N=512 K=1024 init: normal seed: 3 }
test gates { M=512 N=512 K=1024 init: normal seed: 3 }
test split { M=512 N=512 K=1024 init: normal seed: 3 }
test sk { M=129 N=136 K=72 init: integers(-2,2) seed: 200 tol: exact }
test two { M=129 N=136 K=72 init: integers(-2,2) seed: 200 tol: exact }
test sk { M=65 N=63 K=67 init: integers(-2,2) seed: 201 tol: exact }
test two { M=65 N=63 K=67 init: integers(-2,2) seed: 201 tol: exact }
test sk { M=256 N=256 K=192 init: integers(-2,2) seed: 202 tol: exact }
test two { M=256 N=256 K=192 init: integers(-2,2) seed: 202 tol: exact }
test sk { M=7 N=130 K=129 init: integers(-2,2) seed: 203 tol: exact }
test two { M=7 N=130 K=129 init: integers(-2,2) seed: 203 tol: exact }
test cat { M=129 N=136 P=40 Q=32 init: integers(-2,2) seed: 300 tol: exact }
test cat { M=65 N=63 P=3 Q=64 init: integers(-2,2) seed: 301 tol: exact }
test cat { M=128 N=128 P=0 Q=64 init: integers(-2,2) seed: 302 tol: exact }
test top1 { B=5 E=4 S=3 H=16 init: integers(-2,2) seed: 303 tol: exact }
test top1 { B=33 E=3 S=2 H=17 init: integers(-2,2) seed: 304 tol: exact }
test lora5 { M=72 N=80 K=64 init: integers(-1,1) seed: 0 }
test lora5 { M=64 N=128 K=128 init: integers(-1,1) seed: 1 }
test lora5 { M=7 N=130 K=67 init: integers(-1,1) seed: 2 }
test lora5f { M=72 N=80 K=64 init: integers(-2,2) seed: 0 tol: exact }
test lora5f { M=64 N=128 K=128 init: integers(-2,2) seed: 1 tol: exact }
test lora5f { M=7 N=130 K=67 init: integers(-2,2) seed: 2 tol: exact }
test ragged { M=72 N=80 K=64 init: integers(-2,2) seed: 0 tol: exact }
test ragged { M=64 N=128 K=128 init: integers(-2,2) seed: 1 tol: exact }
test ragged { M=7 N=130 K=67 init: integers(-2,2) seed: 2 tol: exact }
test ragged8 { M=72 N=80 K=64 init: integers(-2,2) seed: 0 tol: exact }
test ragged8 { M=64 N=128 K=128 init: integers(-2,2) seed: 1 tol: exact }
test ragged8 { M=7 N=130 K=67 init: integers(-2,2) seed: 2 tol: exact }

# The most entries that a product has: two computed operands in 16 bit of f32.
kernel rounded_twice(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = bf16(x) @ bf16(w) }
test rounded_twice { M=33 K=40 N=24 init: integers(-2,2) }

# Both factors are computed from tensors of one 16-bit dtype alone: each may be rounded to it.
kernel both_made(x: bf16[M,K], g: bf16[K], w: bf16[K,N]) -> y: f32[M,N] { y = (x * g) @ exp(w) }
kernel both_f16(x: f16[M,K], w: f16[N,K]) -> y: f16[M,N] with { fuse: require } { y = relu(x) @[K] (w + 1) }
kernel scores_of_norms(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,D], gq: bf16[D], gk: bf16[D]) -> o: bf16[H,S,D] {
  a = rmsnorm[D](q, eps: 1e-6) * gq
  b = rmsnorm[D](k, eps: 1e-6) * gk
  o = softmax[T](where(idx(T) <= idx(S), (a @[D] b) * 0.1, -inf)) @[T] v
}
kernel experts(x: bf16[B,K], w: bf16[E,K,N], g: bf16[K,E]) -> y: bf16[B,N] { y = softmax[E](x @ g) @[E] relu(x @ w) }
kernel in_f32(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = f32(x) @ exp(w) }
test both_made { M=72 N=80 K=64 }
test both_made { M=7 N=130 K=67 init: integers(-2,2) }
test both_f16 { M=72 N=80 K=64 init: integers(-2,2) tol: exact }
test both_f16 { M=65 N=33 K=72 }
test scores_of_norms { H=2 S=65 T=70 D=64 }
test scores_of_norms { H=1 S=40 T=40 D=40 }
test experts { B=70 K=64 E=8 N=40 }
test in_f32 { M=33 N=40 K=64 }
