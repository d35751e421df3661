kernel conv3(x: bf16[B,H,W,C], k: bf16[O,U=3,V=3,C], b: bf16[O]) -> z: bf16[B,H,W,O] { z = relu(sum[U,V,C]((x[H: idx(H)+idx(U)-1, W: idx(W)+idx(V)-1] ?? 0) * k) + b) }
kernel conv3n(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], b: f16[O]) -> z: f16[B,O,P=H-2,Q=W-2] { z = relu(sum[C,U,V](k * x[H: P+U, W: Q+V]) + b) }
kernel conv1(x: bf16[B,C,H,W], k: bf16[O,C], b: bf16[O]) -> z: bf16[B,O,H,W] { z = relu(sum[C](k * x) + b) }
kernel conv1d(x: bf16[B,C,T], k: bf16[O,C,U=5]) -> z: bf16[B,O,T] { z = sum[C,U](k * (x[T: idx(T)+idx(U)-2] ?? 0)) }
kernel stride2(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C]) -> z: f16[B,P=H//2,Q=W//2,O] { z = sum[U,V,C](k * (x[H: 2*P+U-1, W: 2*Q+V-1] ?? 0)) }
kernel patch(x: bf16[B,C,H,W], k: bf16[O,C,U=16,V=16], b: bf16[O]) -> z: bf16[B,P=H//16,Q=W//16,O] { z = sum[C,U,V](k * x[H: 16*P+U, W: 16*Q+V]) + b }
kernel dwconv(x: bf16[B,C,H,W], k: bf16[C,U=3,V=3]) -> z: bf16[B,C,H,W] { z = sum[U,V](k * (x[H: idx(H)+idx(U)-1, W: idx(W)+idx(V)-1] ?? 0)) }
kernel avgpool[U=3,V=3](x: bf16[B,C,H,W]) -> z: bf16[B,C,P=H//2,Q=W//2] { z = sum[U,V](x[H: 2*P+U-1, W: 2*Q+V-1] ?? 0) / 9 }
kernel maxpool[U=2,V=2](x: bf16[B,C,H,W]) -> z: bf16[B,C,P=H//2,Q=W//2] { z = max[U,V](x[H: 2*P+U, W: 2*Q+V]) }
kernel up2(x: bf16[B,C,H,W]) -> y: bf16[B,C,P=2*H,Q=2*W] { y = x[H: P // 2, W: Q // 2] }
kernel pixshuf(x: bf16[B,C,U=2,V=2,H,W]) -> y: bf16[B,C,P=2*H,Q=2*W] { y = x[U: P % 2, V: Q % 2, H: P // 2, W: Q // 2] }
kernel bn_train(x: f32[N,C,H,W], g: f32[C], b: f32[C]) -> y: f32[N,C,H,W] { y = layernorm[N,H,W](x) * g + b }
kernel ln3(x: f32[B,C,H,W]) -> y: f32[B,C,H,W] { y = layernorm[C,H,W](x) }
kernel instnorm(x: f16[B,C,H,W], g: f16[C]) -> y: f16[B,C,H,W] { y = layernorm[H,W](x) * g }
kernel sm2(x: f32[B,C,H,W]) -> y: f32[B,C,H,W] { y = softmax[C](x) }
kernel std2(x: f32[B,C,H,W]) -> (m: f32[C], s: f32[C]) { m = mean[B,H,W](x); s = sqrt(var[B,H,W](x) + 1e-5) }
kernel rownorm(x: f32[M,N]) -> y: f32[M,N] { y = x / max(sqrt(sum[N](x*x)), 1e-12) }
kernel cosine(x: f32[M,N], y: f32[M,N]) -> z: f32[M] { z = sum[N](x*y) / (sqrt(sum[N](x*x)) * sqrt(sum[N](y*y))) }
kernel huber(x: f32[M,N], y: f32[M,N]) -> z: f32 { d = x - y; z = mean[M,N](where(abs(d) < 1, 0.5*d*d, abs(d) - 0.5)) }
kernel kldiv(x: f32[M,N], y: f32[M,N]) -> z: f32 { z = sum[M,N](y * (log(y) - x)) / size(M) }
kernel frob(x: f32[M,N]) -> y: f32[M,N] { y = x / sqrt(sum[M,N](x*x)) }
kernel clipnorm(g: f32[N]) -> y: f32[N] { y = g * min(1, 1.0 / sqrt(sum[N](g*g))) }
kernel rowcol(x: f32[M,N]) -> (r: f32[M], c: f32[N]) { r = sum[N](x); c = sum[M](x) }
kernel minmax(x: f32[B,M,N]) -> y: f32[B,N] { y = max[M](x) }
kernel argm(x: f32[B,M,N]) -> y: i64[B,N] { y = argmax[M](x) }
kernel avgall(x: bf16[B,C,H,W]) -> z: bf16[B,C] { z = mean[H,W](x) }
kernel cmul(a: f32[M,N,P=2], b: f32[M,N,P]) -> y: f32[M,N,P] { ar = a[P: 0]; ai = a[P: 1]; br = b[P: 0]; bi = b[P: 1]; y = where(idx(P) == 0, ar*br - ai*bi, ar*bi + ai*br) }
kernel topmask(x: f32[M,N]) -> y: f32[M,N] { m1 = max[N](x); m2 = max[N](where(x < m1, x, -inf)); y = where(x >= m2, x, 0) }
kernel bilinear(x: f32[B,I], w: f32[O,I,J], y: f32[B,J]) -> z: f32[B,O] { z = sum[I,J](x * w * y) }
kernel quad(x: f32[M,I], w: f32[I,J=I]) -> q: f32[M] { q = sum[J]((x @ w) * x{I->J}) }
kernel mahal(x: f32[M,I], w: f32[I,J=I]) -> q: f32[M] { q = sum[I,J](x * w * x{I->J}) }
kernel pdist(x: f32[M,D], y: f32[N,D]) -> k: f32[M,N] { k = sqrt(sum[D]((x - y) * (x - y))) }
kernel l1dist(x: f32[M,D], y: f32[N,D]) -> k: f32[M,N] { k = sum[D](abs(x - y)) }
kernel lin_red(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] { y = sum[N](gelu(x @[K] w + b)) }
kernel linf(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) * 0.5 }
kernel lin_ms(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] { h = x @[K] w + b; y = softmax[N](h * sigmoid(h)) }
kernel wnorm(v: f32[N,K], g: f32[N], x: f32[M,K]) -> y: f32[M,N] { y = x @[K] (v * (g / sqrt(sum[K](v*v)))) }
kernel mlp3(x: f32[M,A], w1: f32[B,A], w2: f32[C,B], w3: f32[D,C]) -> y: f32[M,D] { y = relu(relu(x @[A] w1) @[B] w2) @[C] w3 }
kernel gram2(x: f32[M,N]) -> c: f32[N,P=N] { m = x - mean[M](x); c = m @[M] m{N->P} / size(M) }
kernel cosmat(x: bf16[M,D], y: bf16[N,D]) -> s: f32[M,N] { s = (x @[D] y) / (sqrt(sum[D](x*x)) * sqrt(sum[D](y*y))) }
kernel contrast(x: bf16[M,D], y: bf16[N=M,D]) -> l: f32 { s = 20.0 * (x @[D] y); l = mean[M](logsumexp[N](s) - s[N: M]) }
kernel moegate(x: bf16[M,D], w: bf16[E=64,D]) -> (p: f32[M,E], i: i64[M]) { s = softmax[E](x @[D] w); p = s; i = argmax[E](s) }
kernel moe(x: bf16[E,T,K], w: bf16[E,K,F], v: bf16[E,F,K]) -> y: bf16[E,T,K] { y = relu(x @[K] w) @[F] v }
kernel geglu(x: bf16[M,K], w: bf16[P=2*F,K]) -> y: bf16[M,F] { h = x @[K] w; y = h[P: F] * gelu(h[P: F + size(F)]) }
kernel lora(x: bf16[M,K], w: bf16[N,K], a: bf16[R,K], c: bf16[N,R]) -> y: bf16[M,N] { y = x @[K] w + bf16(x @[K] a) @[R] c }
kernel matvecT(w: bf16[K,N], x: bf16[K]) -> y: bf16[N] { y = sum[K](w * x) }
kernel bmm_small(x: bf16[B,M,K], w: bf16[B,K,N]) -> y: bf16[B,M,N] { y = x @ w }
kernel linattn(q: bf16[H,S,D], k: bf16[H,S,D], v: bf16[H,S,E]) -> o: bf16[H,S,E] { o = q @[D] bf16(sum[S](k * v)) }
kernel gram(x: bf16[B,C,N]) -> y: bf16[B,C,F=C] { y = x @[N] x{C->F} }
kernel attn64(q: f16[H,S,D], k: f16[H,T,D], v: f16[H,T,D]) -> o: f16[H,S,D] { o = softmax[T]((q @[D] k) * 0.125) @[T] v }
kernel softcap(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,D]) -> o: bf16[H,S,D] { o = softmax[T](where(idx(T) <= idx(S), 30.0 * tanh((q @[D] k) * 0.002946278), -inf)) @[T] v }
kernel dec(q: bf16[H,R,D], k: bf16[H,T,D], v: bf16[H,T,D]) -> o: bf16[H,R,D] { o = softmax[T]((q @[D] k) * 0.08838834764831845) @[T] v }
kernel attnf(q: f32[H,S,D], k: f32[H,T,D], v: f32[H,T,D]) -> o: f32[H,S,D] { o = softmax[T]((q @[D] k) * 0.125) @[T] v }
kernel swin(q: bf16[W,H,S=64,D=32], k: bf16[W,H,T=64,D], v: bf16[W,H,T,D], b: bf16[H,S,T]) -> o: bf16[W,S,H,D] { o = softmax[T]((q @[D] k) * 0.17677669 + b) @[T] v }
kernel emb(ids: i32[B,S], table: bf16[V,D], pos: bf16[S,D]) -> y: bf16[B,S,D] { y = (table[V: ids] ?? 0) + pos }
kernel embbag(ids: i32[B,L], table: f32[V,D]) -> y: f32[B,D] { y = sum[L](table[V: ids] ?? 0) }
kernel segsum(x: f32[N,D], s: i32[N]) -> y: f32[Q=64,D] { y = sum[N](where(s == idx(Q), x, 0)) }
kernel onehotgrad(dy: f32[N,D], ids: i32[N]) -> dt: f32[V=1024,D] { dt = sum[N](where(ids == idx(V), dy, 0)) }
kernel outer_relu(x: f32[M], y: f32[N]) -> z: f32[M,N] { z = relu(x * y) }
kernel transp2(x: f32[A,B,C]) -> y: f32[C,B,A] { y = x }
kernel sinkhorn(x: f32[B,M,N]) -> y: f32[B,M,N] { a = x - logsumexp[N](x); y = exp(a - logsumexp[M](a)) }
