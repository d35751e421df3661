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
kernel lstm(x: bf16[B,I], h: bf16[B,H], w: bf16[G=4,H,I], u: bf16[G,H,J=H], b: f32[G,H], c: f32[B,H]) -> (hn: bf16[B,H], cn: f32[B,H]) { z = x @[I] w + h{H->J} @[J] u + b; cn = sigmoid(z[G: 1]) * c + sigmoid(z[G: 0]) * tanh(z[G: 2]); hn = sigmoid(z[G: 3]) * tanh(cn) }
kernel xent(z: bf16[M,V], t: i64[M]) -> l: f32 { l = mean[M](logsumexp[V](z) - (z[V: t] ?? 0)) }
kernel xent_bwd(z: bf16[M,V], t: i64[M]) -> d: bf16[M,V] { d = (softmax[V](z) - where(idx(V) == t, 1, 0)) / size(M) }
kernel rope(x: bf16[B,S,H,D], c: f32[S,E=D/2], s: f32[S,E]) -> y: bf16[B,S,H,D] { y = where(idx(D) < size(E), x * c[E: min(D, size(E)-1)] - (x[D: idx(D) + size(E)] ?? 0) * s[E: min(D, size(E)-1)], x * c[E: max(D - size(E), 0)] + (x[D: idx(D) - size(E)] ?? 0) * s[E: max(D - size(E), 0)]) }
kernel rmsres(x: bf16[M,D], r: bf16[M,D], g: bf16[D]) -> (s: bf16[M,D], y: bf16[M,D]) { s = x + r; y = rmsnorm[D](s) * g }
kernel lin_ce(x: bf16[M,K], w: bf16[V,K], t: i64[M]) -> l: f32[M] { z = x @[K] w; l = logsumexp[V](z) - (z[V: t] ?? 0) }
kernel tconv(x: f32[B,C,H,W], k: f32[C,O,U=4,V=4]) -> z: f32[B,O,P=2*H,Q=2*W] { z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, (x[H: (P + 1 - U) // 2, W: (Q + 1 - V) // 2] ?? 0) * k, 0)) }
kernel conv_gn(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3], b: f32[O]) -> z: f32[B,O,H,W] { h = sum[C,U,V](k * (x[H: idx(H)+idx(U)-1, W: idx(W)+idx(V)-1] ?? 0)) + b; z = min(max(h * 2, 0), 1) * h }
kernel conv3d(x: f32[B,C,D,H,W], k: f32[O,C,S=3,U=3,V=3]) -> z: f32[B,O,D,H,W] { z = relu(sum[C,S,U,V](k * (x[D: idx(D)+S-1, H: idx(H)+U-1, W: idx(W)+V-1] ?? 0))) }
kernel lin_gn(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] { h = x @[K] w + b; y = layernorm[R](h{N->(G=8,R)}){(G,R)->N} }
kernel lin_swish_gn(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] { h = silu(x @[K] w) + b; y = layernorm[R](h{N->(G=64,R)}){(G,R)->N} }
kernel lin_max_sub_gelu(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M] { h = max[N](x @[K] w + b); y = gelu(h - 0.5) }
kernel lin_lse(x: bf16[M,K], w: bf16[N,K]) -> y: f32[M] { y = gelu(leaky_relu(logsumexp[N](x @[K] w))) }
kernel lin_pool(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M] { h = x @[K] w; y = sum[P](max[Q](h{N->(P,Q=2)})) * 0.5 }
kernel adaln(x: bf16[B,S,D], sc: bf16[B,D], sh: bf16[B,D]) -> y: bf16[B,S,D] { y = layernorm[D](x) * (1 + sc) + sh }
kernel gatedres(x: bf16[B,S,D], h: bf16[B,S,D], g: bf16[B,D]) -> y: bf16[B,S,D] { y = x + g * h }
kernel rowq8(x: bf16[M,K]) -> (q: i8[M,K], s: f32[M]) { a = max[K](abs(x)); s = max(a, 1e-8) / 127; q = i8(round(x / s)) }
kernel f8q(x: bf16[M,K]) -> (q: f8e4m3[M,K], s: f32[M,G=K/128]) { v = x{K->(G,R=128)}; s = max(max[R](abs(v)), 1e-8) / 448; q = f8e4m3((v / s){(G,R)->K}) }
kernel dwconv1d(x: bf16[B,T,C], k: bf16[C,U=4], b: bf16[C]) -> y: bf16[B,T,C] { y = silu(sum[U](k * (x[T: idx(T) + idx(U) - 3] ?? 0)) + b) }
kernel mqa_dec(q: bf16[B,H,D], k: bf16[B,T,D], v: bf16[B,T,D]) -> o: bf16[B,H,D] { o = softmax[T]((q @[D] k) * 0.08838834764831845) @[T] v }
kernel relpos(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,D], r: bf16[H,R]) -> o: bf16[H,S,D] { o = softmax[T]((q @[D] k) * 0.125 + (r[R: idx(S) - idx(T) + size(S) - 1] ?? 0)) @[T] v }
kernel cross(q: bf16[B,S,H,D], k: bf16[B,T,H,D], v: bf16[B,T,H,D]) -> o: bf16[B,S,H,D] { o = softmax[T]((q @[D] k) * 0.125) @[T] v }
kernel lin3d(x: bf16[B,S,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[B,S,N] { y = gelu(x @[K] w + b) }
kernel heads(x: bf16[B,S,K], w: bf16[E=H*D,K]) -> y: bf16[B,H=16,S,D] { y = (x @[K] w){E->(H,D)} }
kernel oproj(o: bf16[B,H,S,D], w: bf16[N,H,D], r: bf16[B,S,N]) -> y: bf16[B,S,N] { y = sum[H,D](o * w) + r }
kernel f32mm_t(x: f32[K,M], w: f32[K,N]) -> y: f32[M,N] { y = x @[K] w }
kernel wgrad(x: bf16[B,S,K], dy: bf16[B,S,N]) -> dw: f32[N,K] { dw = sum[B,S](dy * x) }
kernel bgrad(dy: bf16[M,N]) -> db: f32[N] { db = sum[M](dy) }
kernel gelu_bwd(x: bf16[M,N], dy: bf16[M,N]) -> dx: bf16[M,N] { dx = dy * dgelu(x) }
kernel sm_bwd(p: bf16[M,N], dp: bf16[M,N]) -> ds: bf16[M,N] { ds = p * (dp - sum[N](p * dp)) }
kernel adamw(p: inout f32[N], g: f32[N], m: inout f32[N], v: inout f32[N]) { m = 0.9*m + 0.1*g; v = 0.999*v + 0.001*g*g; p = p - 0.001*(m/(sqrt(v)+1e-8) + 0.01*p) }
kernel ema(a: inout f32[N], b: f32[N]) { a = a * 0.999 + b * 0.001 }
kernel rgb2gray(x: u8[B,H,W,C=3]) -> y: f32[B,H,W] { y = (0.299 * f32(x[C: 0]) + 0.587 * f32(x[C: 1]) + 0.114 * f32(x[C: 2])) / 255.0 }
kernel normimg(x: u8[B,H,W,C=3], m: f32[C], s: f32[C]) -> y: f16[B,C,H,W] { y = (f32(x) / 255.0 - m) * s }
kernel bilin(x: f32[B,C,H,W]) -> y: f32[B,C,P=2*H,Q=2*W] { fy = max(f32(idx(P)) * 0.5 - 0.25, 0); fx = max(f32(idx(Q)) * 0.5 - 0.25, 0); y0 = i32(fy); x0 = i32(fx); y1 = min(y0 + 1, size(H) - 1); x1 = min(x0 + 1, size(W) - 1); ay = fy - f32(y0); ax = fx - f32(x0); y = ((x[H: y0, W: x0] ?? 0) * (1 - ax) + (x[H: y0, W: x1] ?? 0) * ax) * (1 - ay) + ((x[H: y1, W: x0] ?? 0) * (1 - ax) + (x[H: y1, W: x1] ?? 0) * ax) * ay }
kernel softplus_mul(x: f32[M,N], g: f32[N]) -> y: f32[M,N] { y = x * tanh(softplus(x)) * g }
kernel cumsum1(x: f32[M,N]) -> y: f32[M,N] { y = cumsum[N](x) }
kernel rcumsum(x: f32[M,N]) -> y: f32[M,N] { y = sum[N](x) - cumsum[N](x) + x }
kernel triu(a: f32[N,M], b: f32[M,P]) -> c: f32[N,P] { c = sum[M](where(idx(M) >= idx(N), a, 0) * b) }
kernel diagmm(d: f32[N], b: f32[N,M]) -> c: f32[N,M] { c = d * b }
kernel mm3d(a: f32[B,M,K], b: f32[K,N]) -> c: f32[B,M,N] { c = a @[K] b }
kernel mm4d(a: bf16[B,I,J,K], w: bf16[K,N]) -> c: bf16[B,I,J,N] { c = a @[K] w }
kernel tallmm(a: f32[M,K], b: f32[K,N]) -> c: f32[M,N] { c = a @[K] b }
kernel maskmean(x: bf16[B,S,D], m: bool[B,S]) -> y: bf16[B,D] { y = sum[S](where(m, x, 0)) / max(sum[S](where(m, 1.0, 0)), 1) }
kernel l2n_lin(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = (x / sqrt(sum[K](x*x) + 1e-6)) @[K] w }
kernel rmslin(x: bf16[M,K], g: bf16[K], w: bf16[N,K]) -> y: bf16[M,N] { y = bf16(rmsnorm[K](x) * g) @[K] w }
kernel lnlin(x: bf16[M,K], g: bf16[K], b: bf16[K], w: bf16[N,K], c: bf16[N]) -> y: bf16[M,N] { y = bf16(layernorm[K](x) * g + b) @[K] w + c }
kernel rmsheads(x: bf16[B,S,H,D], g: bf16[D]) -> y: bf16[B,H,S,D] { y = rmsnorm[D](x) * g }
kernel triplet(a: f32[M,D], p: f32[M,D], n: f32[M,D]) -> l: f32 { l = mean[M](max(sqrt(sum[D]((a-p)*(a-p))) - sqrt(sum[D]((a-n)*(a-n))) + 1, 0)) }
kernel hinge(x: f32[M,N], t: f32[M]) -> l: f32 { l = mean[M,N](max(1 - x * t, 0)) }
