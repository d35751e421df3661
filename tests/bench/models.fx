# Layers of current models at production extents, as docs/language.md alone leads one to write them; models.py runs them beside PyTorch.
kernel tconv2(x: f32[B,C,H,W], k: f32[C,O,U=4,V=4], b: f32[O]) -> z: f32[B,O,P=2*H,Q=2*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k) + b
}
kernel tconv2_bf(x: bf16[B,C,H,W], k: bf16[C,O,U=4,V=4], b: bf16[O]) -> z: bf16[B,O,P=2*H,Q=2*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k) + b
}
# stride 2, kernel 2: a U-Net's upsampling; written by reshape, as the taps do not overlap
kernel tconv22(x: bf16[B,C,H,W], k: bf16[C,O,U=2,V=2], b: bf16[O]) -> z: bf16[B,O,P=2*H,Q=2*W] {
  y = sum[C](x * k) + b
  z = y{(H,U)->P}{(W,V)->Q}
}
kernel up1d(x: f16[B,C,T], k: f16[O,C,U=5], b: f16[O]) -> z: f16[B,O,S=2*T] {
  y = x[T: S//2]
  z = sum[C,U](k * (y[S: S+U-2] ?? 0)) + b
}
kernel bilinear2(x: f32[B,C,H,W]) -> y: f32[B,C,P=2*H,Q=2*W] {
  require H > 0 && W > 0
  fy = clamp((f32(idx(P)) + 0.5) * 0.5 - 0.5, 0, size(H) - 1)
  fx = clamp((f32(idx(Q)) + 0.5) * 0.5 - 0.5, 0, size(W) - 1)
  h0 = i32(floor(fy))
  w0 = i32(floor(fx))
  h1 = min(h0 + 1, size(H) - 1)
  w1 = min(w0 + 1, size(W) - 1)
  ay = fy - floor(fy)
  ax = fx - floor(fx)
  top = (x[H: h0, W: w0] ?? 0) * (1 - ax) + (x[H: h0, W: w1] ?? 0) * ax
  bot = (x[H: h1, W: w0] ?? 0) * (1 - ax) + (x[H: h1, W: w1] ?? 0) * ax
  y = top * (1 - ay) + bot * ay
}
kernel maxpool3[U=3,V=3](x: f16[B,C,H,W]) -> z: f16[B,C,P=H//2,Q=W//2] { z = max[U,V](x[H: 2*P+U-1, W: 2*Q+V-1] ?? -inf) }
kernel maxpool2[U=2,V=2](x: f32[B,C,H,W]) -> z: f32[B,C,P=H//2,Q=W//2] { z = max[U,V](x[H: 2*P+U, W: 2*Q+V] ?? -inf) }
kernel avgpool2[U=2,V=2](x: bf16[B,C,H,W]) -> z: bf16[B,C,P=H//2,Q=W//2] { z = mean[U,V](x[H: 2*P+U, W: 2*Q+V] ?? 0) }
kernel gconv(x: f16[B,G,C,H,W], k: f16[G,O,C,U=3,V=3]) -> z: f16[B,G,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel dw3(x: f16[B,C,H,W], k: f16[C,U=3,V=3], b: f16[C]) -> z: f16[B,C,H,W] { z = relu6(sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b) }
kernel dw7(x: bf16[B,C,H,W], k: bf16[C,U=7,V=7], b: bf16[C]) -> z: bf16[B,C,H,W] { z = sum[U,V](k * (x[H: H+U-3, W: W+V-3] ?? 0)) + b }
kernel dw7f(x: f32[B,C,H,W], k: f32[C,U=7,V=7], b: f32[C]) -> z: f32[B,C,H,W] { z = sum[U,V](k * (x[H: H+U-3, W: W+V-3] ?? 0)) + b }
kernel dw7l(x: bf16[B,H,W,C], k: bf16[C,U=7,V=7], b: bf16[C]) -> z: bf16[B,H,W,C] { z = sum[U,V](k * (x[H: H+U-3, W: W+V-3] ?? 0)) + b }
# ConvNeXt block, channels last
kernel convnext(x: bf16[B,H,W,C], kd: bf16[C,U=7,V=7], bd: bf16[C], g: bf16[C], be: bf16[C], w1: bf16[F=4*C,C], b1: bf16[F], w2: bf16[C,F], b2: bf16[C], ls: bf16[C]) -> y: bf16[B,H,W,C] {
  d = sum[U,V](kd * (x[H: H+U-3, W: W+V-3] ?? 0)) + bd
  n = layernorm[C](d, eps: 1e-6) * g + be
  h = gelu(n @[C] w1 + b1)
  y = x + ls * (h @[F] w2{C->E} + b2{C->E}){E->C}
}
kernel mbconv(x: f16[B,C,H,W], w1: f16[E,C], b1: f16[E], kd: f16[E,U=3,V=3], bd: f16[E], s1: f16[R,E], t1: f16[R], s2: f16[E,R], t2: f16[E], w2: f16[C,E], b2: f16[C]) -> y: f16[B,C,H,W] {
  h = silu(w1 @[C] x + b1)
  d = silu(sum[U,V](kd * (h[H: H+U-1, W: W+V-1] ?? 0)) + bd)
  p = mean[H,W](d)
  s = sigmoid(silu(p @[E] s1 + t1) @[R] s2 + t2)
  y = x + (d * s) @[E] w2 + b2
}
kernel conv33(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3]) -> z: f16[B,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel conv33_bwd = grad(conv33, wrt: x, k)
kernel conv33l(x: bf16[B,H,W,C], k: bf16[O,U=3,V=3,C], b: bf16[O]) -> z: bf16[B,H,W,O] { z = relu(sum[U,V,C](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b) }
# gradients with channels last, of steps of one and of two; transposed with channels last, and along one axis in steps of four
kernel convl(x: bf16[B,H,W,C], k: bf16[O,U=3,V=3,C]) -> z: bf16[B,H,W,O] { z = sum[U,V,C](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel convl_bwd = grad(convl, wrt: x, k)
kernel stepl(x: f16[B,H,W,C], k: f16[O,U=4,V=4,C]) -> z: f16[B,P=H//2,Q=W//2,O] { z = sum[U,V,C](k * (x[H: 2*P+U-1, W: 2*Q+V-1] ?? 0)) }
kernel stepl_bwd = grad(stepl, wrt: x, k)
kernel tconvl(x: bf16[B,H,W,C], k: bf16[O,U=4,V=4,C]) -> z: bf16[B,P=2*H,Q=2*W,O] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k)
}
kernel tconv1d4(x: f16[B,C,T], k: f16[C,O,U=16]) -> z: f16[B,O,P=4*T] { z = sum[C,U](where((idx(P) + 4 - idx(U)) % 4 == 0, x[T: (P+4-U)//4] ?? 0, 0) * k) }
kernel pshuffle(x: f16[B,R=4*C,H,W]) -> y: f16[B,C,P=2*H,Q=2*W] { y = x{R->(C,S=4)}{S->(U=2,V=2)}{(H,U)->P}{(W,V)->Q} }
kernel punshuffle(x: f16[B,C,P=2*H,Q=2*W]) -> y: f16[B,R=4*C,H,W] { y = x{P->(H,U=2)}{Q->(W,V=2)}{(C,U,V)->R} }
# images in windows: [B, H, W, C] with 8x8 windows, roll by 4
kernel swinpart[I=H/8,J=W/8](x: bf16[B,H,W,C]) -> y: bf16[N=B*I*J, S=64, C] with { fuse: require } {
  require H > 0 && W > 0
  r = x[H: (H+4) % size(H), W: (W+4) % size(W)]
  y = r{H->(I,U=8)}{W->(J,V=8)}{(B,I,J)->N}{(U,V)->S}
}
kernel swin(q: f16[N,H,S=49,D=32], k: f16[N,H,T=49,D], v: f16[N,H,T,D], tab: f16[R=169,H], ri: i32[S,T]) -> o: f16[N,S,H,D] {
  s = (q @ k) * 0.17677669 + (tab[R: ri] ?? 0)
  o = softmax[T](s) @[T] v
}
kernel swin64(qkv: bf16[N,S=64,P=3,H,D=32], tab: bf16[H,S,T=64]) -> o: bf16[N,S,H,D] {
  q = qkv[P: 0]
  k = qkv[P: 1]{S->T}
  v = qkv[P: 2]{S->T}
  o = softmax[T]((q @[D] k) * 0.17677669 + tab) @[T] v
}
kernel conformer(x: bf16[B,T,C], g: bf16[C], be: bf16[C], w1: bf16[F=2*C,C], b1: bf16[F], kd: bf16[C,U=31], ga: bf16[C], bb: bf16[C], w2: bf16[O=C,C], b2: bf16[O]) -> y: bf16[B,T,O] {
  n = layernorm[C](x) * g + be
  l, r = halves[F->E](n @[C] w1 + b1)
  h = (l * sigmoid(r)){E->C}
  d = sum[U](kd * (h[T: T+U-15] ?? 0))
  y = x{C->O} + (silu(d * ga + bb) @[C] w2 + b2)
}
kernel dw1d31(x: bf16[B,T,C], k: bf16[C,U=31]) -> y: bf16[B,T,C] { y = sum[U](k * (x[T: T+U-15] ?? 0)) }
kernel f8block(a: f8e4m3[M,K], sa: f32[M,G=K/128], b: f8e4m3[N,K], sb: f32[J=N/128,G]) -> y: bf16[M,N] {
  p = a{K->(G,R=128)} @[R] b{K->(G,R=128)}
  y = sum[G](p * sa * sb[J: N/128])
}
kernel f8blockd(a: f8e4m3[M,K], sa: f32[M,G=K/128], b: f8e4m3[N,K], sb: f32[J=N/128,G]) -> y: bf16[M,N] {
  y = sum[K](f32(a) * sa[G: K/128] * f32(b) * sb[J: N/128, G: K/128])
}
kernel awq(x: f16[M,K], q: u4[K,N] packed(i32, N, lsb), z: u4[G=K/128,N] packed(i32, N, lsb), s: f16[G,N]) -> y: f16[M,N] {
  y = x @ (f16(q - (z[G: K/128])) * s[G: K/128])
}
kernel gptq(x: f16[M,K], q: u4[K,N] packed(i32, K, lsb), z: u4[G=K/128,N] packed(i32, N, lsb), s: f16[G,N]) -> y: f16[M,N] {
  y = x @ (f16(q - (z[G: K/128] + 1)) * s[G: K/128])
}
kernel nf4(x: bf16[K], q: u4[N,K] packed(u8, K, msb), am: f32[N,G=K/64], code: f32[L=16]) -> y: bf16[N] {
  w = (code[L: q]) * am[G: K/64]
  y = w @[K] x
}
kernel mmoe(x: bf16[B,D], w1: bf16[E,F,D], b1: bf16[E,F], g: bf16[T,E,D]) -> y: bf16[B,T,F] {
  h = relu(x @[D] w1 + b1)
  p = softmax[E](x @[D] g)
  y = p @[E] h
}
kernel rope_il[Z=2](q: bf16[B,S,H,D=2*E], k: bf16[B,S,J,D], c: f32[S,E], s: f32[S,E]) -> (qo: bf16[B,S,H,D], ko: bf16[B,S,J,D]) {
  a, b = evenodd[D->E](q)
  qr = a * c - b * s
  qi = a * s + b * c
  qo = where(idx(Z) == 0, qr, qi){(E,Z)->D}
  l, r = evenodd[D->E](k)
  ko = where(idx(Z) == 0, l * c - r * s, l * s + r * c){(E,Z)->D}
}
kernel kvwrite(kc: inout bf16[B,T,H,D], vc: inout bf16[B,T,H,D], k: bf16[B,S,H,D], v: bf16[B,S,H,D], at: i32[B]) {
  kc[T: at + S] = k
  vc[T: at + S] = v
}
kernel dlrmdot(d: f16[B,E], s: f16[B,N,E]) -> z: f16[B,P=N+1,Q=P] {
  c = concat[P](d{E->(Z=1,E2)}{E2->E}{Z->P}, s{N->P})
  z = c @[E] c{P->Q}
}
kernel diffattn(q: bf16[B,H,P=2,S,D], k: bf16[B,H,P,T,D], v: bf16[B,H,T,E], lam: f32[H]) -> o: bf16[B,H,S,E] {
  a = softmax[T](where(idx(T) <= idx(S), (q[P: 0] @[D] k[P: 0]) * 0.125, -inf))
  b = softmax[T](where(idx(T) <= idx(S), (q[P: 1] @[D] k[P: 1]) * 0.125, -inf))
  o = (a - lam * b) @[T] v
}
# chunked causal linear attention: per chunk an inner product and the state of those before
kernel linattn(q: bf16[B,H,S,D], k: bf16[B,H,S,D], v: bf16[B,H,S,E]) -> o: bf16[B,H,S,E] {
  qc = q{S->(N,C=128)}
  kc = k{S->(N,C=128)}
  vc = v{S->(N,C=128)}
  kv = sum[C](kc * vc)
  st = cumsum[N](kv) - kv
  inner = where(idx(C2) <= idx(C), qc @[D] kc{C->C2}, 0) @[C2] vc{C->C2}
  o = (inner + qc @[D] st){(N,C)->S}
}
kernel muon(x: bf16[M,N]) -> y: bf16[M,N] {
  a = x @[N] x{M->I}
  b = -4.775 * a + 2.0315 * (a @[I] a{I->K}{M->I}){K->I}
  y = 3.4445 * x + b @[I] x{M->I}
}
kernel muon_ab(x: bf16[M,N]) -> y: bf16[M,I=M] {
  a = bf16(x @[N] x{M->I})
  y = -4.775 * a + 2.0315 * (a @[I] a{I->K}{M->I}){K->I}
}
kernel lingelu_bwd(x: bf16[M,K], w: bf16[N,K], b: bf16[N], dy: bf16[M,N]) -> (dx: bf16[M,K], dw: bf16[N,K], db: bf16[N]) {
  g = bf16(dy * dgelu(x @[K] w + b))
  dx = g @[N] w
  dw = g @[M] x
  db = sum[M](g)
}
kernel perceiver(q: bf16[H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,D]) -> o: bf16[B,S,H,D] { o = softmax[T]((q @[D] k) * 0.125) @[T] v }
kernel rmsqkv(x: bf16[M,C], g: bf16[C], w: bf16[N,C]) -> y: bf16[M,N] { y = (rmsnorm[C](x, eps: 1e-6) * g) @[C] w }
kernel topkgate(x: f32[M,N]) -> (w: f32[M,N]) {
  m1 = max[N](x)
  x2 = where(x < m1, x, -inf)
  m2 = max[N](x2)
  w = softmax[N](where(x >= m2, x, -inf))
}
kernel embbag(ids: i64[B,L], table: f32[V,D]) -> y: f32[B,D] { y = mean[L](table[V: ids] ?? 0) }
kernel cosloss(x: f32[M,D], y: f32[M,D]) -> l: f32 {
  c = sum[D](x * y) / max(sqrt(sum[D](x * x)) * sqrt(sum[D](y * y)), 1e-8)
  l = mean[M](1 - c)
}
kernel kl(x: f32[M,N], t: f32[M,N]) -> l: f32 {
  p = softmax[N](t)
  l = sum[M,N](p * ((t - logsumexp[N](t)) - (x - logsumexp[N](x)))) / size(M)
}
kernel focal(x: f32[M,N], t: f32[M,N]) -> l: f32 {
  p = sigmoid(x)
  ce = max(x, 0) - x * t + log1p(exp(-abs(x)))
  pt = p * t + (1 - p) * (1 - t)
  l = mean[M,N](0.25 * ce * (1 - pt) * (1 - pt))
}
kernel smoothce(z: bf16[M,V], t: i64[M]) -> l: f32 {
  lse = logsumexp[V](z)
  l = mean[M](0.9 * (lse - (z[V: t] ?? 0)) + 0.1 * (lse - mean[V](z)))
}
kernel zce(z: f32[M,V], t: i64[M]) -> l: f32 {
  lse = logsumexp[V](z)
  l = mean[M](lse - (z[V: t] ?? 0) + 1e-4 * lse * lse)
}
kernel lstmcell(x: f32[B,I], h: f32[B,H], w: f32[F=4*N,I], u: f32[F,H], b: f32[F], c: f32[B,N]) -> (hn: f32[B,N], cn: f32[B,N]) {
  z = (x @ w + h @ u + b){F->(G=4,N)}
  cc = sigmoid(z[G: 1]) * c + sigmoid(z[G: 0]) * tanh(z[G: 2])
  cn = cc
  hn = sigmoid(z[G: 3]) * tanh(cc)
}
kernel grucell(x: f16[B,I], h: f16[B,N], w: f16[G=3,N,I], u: f16[G,N,J=N], b: f16[G,N], d: f16[G,N]) -> hn: f16[B,N] {
  a = x @[I] w + b
  e = h{N->J} @[J] u + d
  r = sigmoid(a[G: 0] + e[G: 0])
  z = sigmoid(a[G: 1] + e[G: 1])
  n = tanh(a[G: 2] + r * e[G: 2])
  hn = (1 - z) * n + z * h
}
# a step of decoding of a gated delta net
kernel gdelta(s: inout f32[B,H,D,E], q: bf16[B,H,D], k: bf16[B,H,D], v: bf16[B,H,E], g: f32[B,H], beta: f32[B,H]) -> o: bf16[B,H,E] {
  d = s * exp(g)
  u = (v - sum[D](d * k)) * beta
  n = d + k * u
  s = n
  o = sum[D](n * q)
}
kernel layerscale(x: bf16[M,D], h: bf16[M,D], g: bf16[D], b: bf16[D]) -> y: bf16[M,D] { y = x + g * (h + b) }
kernel se(x: f16[B,C,H,W], s1: f16[R,C], t1: f16[R], s2: f16[C,R], t2: f16[C]) -> y: f16[B,C,H,W] {
  p = mean[H,W](x)
  s = sigmoid(relu(p @[C] s1 + t1) @[R] s2 + t2)
  y = x * s
}
kernel patch(x: bf16[B,C=3,H,W], k: bf16[O,C,U=14,V=14], b: bf16[O], pos: bf16[P=H//14,Q=W//14,O]) -> z: bf16[B,P,Q,O] {
  z = sum[C,U,V](k * (x[H: 14*P+U, W: 14*Q+V] ?? 0)) + b + pos
}
kernel unfold[U=3,V=3](x: f32[B,C,H,W]) -> y: f32[B,R=C*9,L=H*W] { y = (x[H: H+U-1, W: W+V-1] ?? 0){(C,U,V)->R}{(H,W)->L} }
kernel fold[U=3,V=3](y: f32[B,R=C*9,L=H*W]) -> x: f32[B,C,H,W] {
  v = y{R->(C,K=9)}{K->(U,V)}{L->(H,W)}
  x = sum[U,V](v[H: H-U+1, W: W-V+1] ?? 0)
}
kernel clip(a: bf16[M,D], b: bf16[N=M,D], t: f32) -> l: f32 {
  s = t * (a @[D] b)
  l = (mean[M](logsumexp[N](s)) + mean[N](logsumexp[M](s))) / 2 - mean[M](s[N: M])
}
kernel positions(mask: i32[B,S]) -> p: i64[B,S] { p = where(mask != 0, cumsum[S](i64(mask)) - 1, 1) }
kernel l2norm_qk(q: bf16[B,S,H,D], k: bf16[B,S,H,D], g: bf16[D]) -> (qo: bf16[B,H,S,D], ko: bf16[B,H,S,D]) {
  qo = rmsnorm[D](q, eps: 1e-6) * g
  ko = rmsnorm[D](k, eps: 1e-6) * g
}
kernel conv1x1s2(x: f16[B,C,H,W], k: f16[O,C]) -> z: f16[B,O,P=H//2,Q=W//2] { z = sum[C](k * (x[H: 2*P, W: 2*Q] ?? 0)) }
kernel gconvl(x: bf16[B,H,W,G,C], k: bf16[G,O,U=3,V=3,C]) -> z: bf16[B,H,W,G,O] { z = sum[U,V,C](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel moegated(x: bf16[M,D], wg: bf16[E,D], w1: bf16[E,F,D], w3: bf16[E,F,D], w2: bf16[E,D,F]) -> y: bf16[M,D] {
  p = softmax[E](x @[D] wg)
  h = silu(x @[D] w1) * (x @[D] w3)
  y = sum[E,F]((h * p) * w2{D->O}){O->D}
}
