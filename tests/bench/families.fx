# Kernels of families that no other list here has, as docs/language.md alone leads one to write them; families.py runs them beside PyTorch.
kernel vq(x: f32[N,D], c: f32[J,D]) -> k: i64[N] { k = argmin[J](sum[D]((x - c) ** 2)) }
kernel vqp(x: f32[N,D], c: f32[J,D]) -> k: i64[N] { k = argmin[J](sum[D](c * c) - 2 * (x @[D] c)) }
kernel infonce(a: bf16[B,D], b: bf16[B,D], tau: f32 = 0.07) -> l: f32[] {
  z = (a @ b{B->J}) / tau
  l = mean[B](logsumexp[J](z) - sum[D](a * b) / tau)
}
kernel w8a8(x: i8[M,K], w: i8[N,K], sx: f32[M], sw: f32[N], b: bf16[N]) -> y: bf16[M,N] { y = (x @ w) * sx * sw + b }
kernel lap3(u: f32[X,Y,Z]) -> v: f32[X,Y,Z] {
  v = (u[X: X-1] ?? 0) + (u[X: X+1] ?? 0) + (u[Y: Y-1] ?? 0) + (u[Y: Y+1] ?? 0) + (u[Z: Z-1] ?? 0) + (u[Z: Z+1] ?? 0) - 6 * u
}
kernel wave(u: f32[Y,X], p: f32[Y,X], c: f32[Y,X]) -> n: f32[Y,X] {
  n = 2 * u - p + c * ((u[Y: Y-1] ?? 0) + (u[Y: Y+1] ?? 0) + (u[X: X-1] ?? 0) + (u[X: X+1] ?? 0) - 4 * u)
}
kernel bs(s: f32[N], k: f32[N], t: f32[N], r: f32 = 0.02, v: f32 = 0.3) -> (c: f32[N], p: f32[N]) {
  S = abs(s) + 1
  K = abs(k) + 1
  T = abs(t) + 0.1
  d1 = (log(S / K) + (r + 0.5 * v * v) * T) / (v * sqrt(T))
  d2 = d1 - v * sqrt(T)
  e = K * exp(-r * T)
  n1 = 0.5 * (1 + erf(d1 * 0.70710678))
  n2 = 0.5 * (1 + erf(d2 * 0.70710678))
  c = S * n1 - e * n2
  p = e * (1 - n2) - S * (1 - n1)
}
kernel nbody(p: f32[N,C=3], m: f32[N]) -> a: f32[N,C] {
  q = p{N->J}
  d = q - p
  r2 = sum[C](d * d) + 1e-3
  a = sum[J](m{N->J} * d * rsqrt(r2) ** 3)
}
kernel cmm(a: bf16[M,K], b: bf16[M,K], c: bf16[K,N], d: bf16[K,N]) -> (r: bf16[M,N], i: bf16[M,N]) {
  r = a @ c - b @ d
  i = a @ d + b @ c
}
kernel tnet(a: f32[A,K,B,L], b: f32[L,D,K,E]) -> c: f32[A,B,D,E] { c = sum[K,L](a * b) }
kernel tnet16(a: bf16[A,K,B,L], b: bf16[L,D,K,E]) -> c: bf16[A,B,D,E] { c = sum[K,L](a * b) }
kernel xf4(m: f32[N,I=4,J=4], x: f32[N,J]) -> y: f32[N,I] { y = sum[J](m * x) }
kernel sdcross(q: f16[B,S,H,D], k: f16[B,T,H,D], v: f16[B,T,H,D]) -> o: f16[B,S,H,D] { o = sum[T](softmax[T](sum[D](q * k) * rsqrt(f32(size(D)))) * v) }
kernel vit(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,D]) -> o: bf16[B,H,S,D] { o = softmax[T]((q @ k) * rsqrt(f32(size(D)))) @ v }
kernel rms(x: bf16[M,D], g: bf16[D]) -> y: bf16[M,D] { y = rmsnorm[D](x) * g }
kernel rmsb = grad(rms, wrt: x, g)
kernel sg(g: bf16[M,N], u: bf16[M,N]) -> y: bf16[M,N] { y = silu(g) * u }
kernel sgb = grad(sg, wrt: g, u)
kernel gnsd[G=32,Q=C/32](x: f16[N,H,W,C], g: f16[C], b: f16[C]) -> y: f16[N,H,W,C] {
  t = x{C->(G,Q)}
  y = silu(layernorm[H,W,Q](t){(G,Q)->C} * g + b)
}
kernel stem(x: f16[B,C,H,W], k: f16[O,C,U=7,V=7], s: f32[O], t: f32[O]) -> y: f16[B,O,P=H//2,Q=W//2] {
  y = relu(sum[C,U,V](k * (x[H: 2*P+U-3, W: 2*Q+V-3] ?? 0)) * s + t)
}
kernel dil(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C], b: f16[O]) -> y: f16[B,H,W,O] { y = relu(sum[C,U,V](k * (x[H: H+2*U-2, W: W+2*V-2] ?? 0)) + b) }
kernel wavenet(x: f16[B,C,T], kf: f16[O,C,U=2], kg: f16[O,C,U], b: f16[O], d: f16[O]) -> y: f16[B,O,T] {
  v = x[T: T+64*U-64] ?? 0
  y = tanh(sum[C,U](kf * v) + b) * sigmoid(sum[C,U](kg * v) + d)
}
kernel upconv(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C], b: f16[O]) -> y: f16[B,P=2*H,Q=2*W,O] {
  v = x[H: P//2, W: Q//2]
  y = sum[C,U,V](k * (v[P: P+U-1, Q: Q+V-1] ?? 0)) + b
}
kernel lrn[U=5](x: f32[B,C,H,W]) -> y: f32[B,C,H,W] { y = x / (1 + 0.00002 * sum[U]((x[C: C+U-2] ?? 0) ** 2)) ** 0.75 }
kernel gapfc(x: f16[B,C,H,W], w: f16[N,C], b: f16[N]) -> y: f16[B,N] { y = mean[H,W](x) @[C] w + b }
kernel sobel(x: f32[B,H,W]) -> y: f32[B,H,W] {
  a = x[H: H-1, W: W-1] ?? 0
  b = x[H: H-1] ?? 0
  c = x[H: H-1, W: W+1] ?? 0
  d = x[W: W-1] ?? 0
  e = x[W: W+1] ?? 0
  f = x[H: H+1, W: W-1] ?? 0
  g = x[H: H+1] ?? 0
  h = x[H: H+1, W: W+1] ?? 0
  gx = c + 2 * e + h - a - 2 * d - f
  gy = f + 2 * g + h - a - 2 * b - c
  y = sqrt(gx * gx + gy * gy)
}
kernel blur(x: f32[B,H,W], k: f32[U=11], l: f32[V=11]) -> y: f32[B,H,W] { y = sum[U](k * (sum[V](l * (x[W: W+V-5] ?? 0))[H: H+U-5] ?? 0)) }
kernel gsample(x: f32[B,C,H,W], g: f32[B,P,Q,Z=2]) -> y: f32[B,C,P,Q] {
  fx = (g[Z: 0] + 1) * 0.5 * (size(W) - 1)
  fy = (g[Z: 1] + 1) * 0.5 * (size(H) - 1)
  h = i32(floor(fy))
  w = i32(floor(fx))
  ay = fy - floor(fy)
  ax = fx - floor(fx)
  y = (x[H: h, W: w] ?? 0) * (1-ay) * (1-ax) + (x[H: h, W: w+1] ?? 0) * (1-ay) * ax + (x[H: h+1, W: w] ?? 0) * ay * (1-ax) + (x[H: h+1, W: w+1] ?? 0) * ay * ax
}
kernel gcn(a: bf16[N,M=N], x: bf16[M,F], w: bf16[F,O]) -> y: bf16[N,O] {
  d = rsqrt(sum[M](abs(a)) + 1)
  y = relu(d * (a @[M] (d{N->M} * bf16(x @ w))))
}
kernel retention(q: bf16[B,H,S,D], k: bf16[B,H,T=S,D], v: bf16[B,H,T,D], g: f32[H]) -> o: bf16[B,H,S,D] {
  dec = where(idx(T) <= idx(S), exp2(-abs(g) * 0.02 * f32(idx(S) - idx(T))), 0)
  o = ((q @ k) * dec) @[T] v
}
kernel moedec(x: bf16[T,D], e: i64[T], w: bf16[E,F,D]) -> y: bf16[T,F] { y = silu(sum[D](x * (w[E: e % size(E)] ?? 0))) }
kernel bert(tok: i64[B,S], ty: i64[B,S], we: f16[V,D], wp: f16[S,D], wt: f16[Y=2,D], g: f16[D], b: f16[D]) -> y: f16[B,S,D] {
  y = layernorm[D]((we[V: tok % size(V)] ?? 0) + wp + (wt[Y: ty % 2] ?? 0)) * g + b
}
kernel sample(z: bf16[B,V], t: f32[B]) -> p: f32[B,V] { p = softmax[V](z / (abs(t) + 0.5)) }
kernel beam(z: bf16[B,J,V], s: f32[B,J]) -> y: f32[B,J,V] { y = z - logsumexp[V](z) + s }
kernel iou(a: f32[N,C=4], g: f32[M,C]) -> (best: f32[N], arg: i64[N]) {
  x0 = max(a[C: 0], g[C: 0])
  y0 = max(a[C: 1], g[C: 1])
  x1 = min(a[C: 2], g[C: 2])
  y1 = min(a[C: 3], g[C: 3])
  i = relu(x1 - x0) * relu(y1 - y0)
  A = (a[C: 2] - a[C: 0]) * (a[C: 3] - a[C: 1])
  G = (g[C: 2] - g[C: 0]) * (g[C: 3] - g[C: 1])
  v = i / (abs(A) + abs(G) - i + 1)
  best = max[M](v)
  arg = argmax[M](v)
}
kernel mxq[P=32](x: bf16[M,N=P*G]) -> (q: f8e4m3[M,N], s: f32[M,G]) {
  t = x{N->(G,P)}
  a = exp2(ceil(log2(max[P](abs(t)) / 448 + 1e-20)))
  s = a
  q = f8e4m3((t / a){(G,P)->N})
}
kernel f8lin(x: f8e4m3[M,K], w: f8e4m3[N,K], sx: f32[], sw: f32[], b: bf16[N]) -> y: bf16[M,N] { y = gelu_tanh((x @ w) * sx * sw + b) }
kernel dgemm(a: f64[M,K], b: f64[K,N], c: f64[M,N]) -> y: f64[M,N] { y = 2 * (a @ b) + c }
kernel dbmm(a: f64[B,M,K], b: f64[B,K,N]) -> y: f64[B,M,N] { y = a @ b }
kernel cov(x: f32[N,D]) -> c: f32[D,E=D] {
  z = x - mean[N](x)
  c = sum[N](z * z{D->E}) / (size(N) - 1)
}
kernel kmu(x: f32[N,D], l: i64[N]) -> (s: f32[K=256,D], n: f32[K]) {
  h = (l % 256 == idx(K))
  s = sum[N](where(h, x, 0))
  n = sum[N](f32(h))
}
kernel rbf(x: f32[N,D], z: f32[M,D], a: f32[M]) -> y: f32[N] { y = sum[M](exp(-0.01 * (sum[D](x * x) + sum[D](z * z) - 2 * (x @[D] z))) * a) }
kernel logreg(x: f32[N,D], w: f32[D], t: f32[N]) -> g: f32[D] { g = sum[N](x * (sigmoid(sum[D](x * w)) - t)) / size(N) }
kernel fm(v: f32[B,F,E], x: f32[B,F]) -> y: f32[B] { y = 0.5 * sum[E](sum[F](v * x) ** 2 - sum[F]((v * x) ** 2)) }
kernel dcn(x0: bf16[B,D], x: bf16[B,D], w: bf16[D,E=D], b: bf16[D]) -> y: bf16[B,D] { y = x0 * ((x @[D] w){E->D} + b) + x }
kernel tower(u: bf16[M,K], i: bf16[N,K]) -> (s: f32[M], a: i64[M]) {
  z = u @ i
  s = max[N](z)
  a = argmax[N](z)
}
kernel segsm(x: f16[B,C,H,W]) -> (p: f16[B,C,H,W], a: i64[B,H,W]) {
  p = softmax[C](x)
  a = argmax[C](x)
}
kernel segce(x: f16[B,C,H,W], t: i64[B,H,W]) -> l: f32[] {
  k = t % 32
  w = f32(k < size(C))
  l = sum[B,H,W](w * (logsumexp[C](x) - (x[C: k] ?? 0))) / sum[B,H,W](w)
}
kernel attnpool(x: bf16[B,T,D], u: bf16[D]) -> y: bf16[B,D] { y = sum[T](softmax[T](sum[D](x * u) * 0.03) * x) }
kernel grn(x: bf16[B,H,W,C], g: bf16[C], b: bf16[C]) -> y: bf16[B,H,W,C] {
  gx = sqrt(sum[H,W](x * x))
  n = gx / (mean[C](gx) + 1e-6)
  y = g * (x * n) + b + x
}
kernel cbam(x: f16[B,C,H,W], k: f16[Z=2,U=7,V=7]) -> y: f16[B,C,H,W] {
  m = mean[C](x)
  q = max[C](x)
  a = sum[U,V](k[Z: 0] * (m[H: H+U-3, W: W+V-3] ?? 0) + k[Z: 1] * (q[H: H+U-3, W: W+V-3] ?? 0))
  y = x * sigmoid(a)
}
kernel relu2(x: bf16[M,K], w: bf16[F,K]) -> y: bf16[M,F] { y = relu(x @ w) ** 2 }
kernel clipg(g: bf16[M,N]) -> y: bf16[M,N] { y = g * min(1, 1 / (sqrt(sum[M,N](f32(g) * g)) + 1e-6)) }
kernel qkrope(q: bf16[B,S,H,D=2*E], g: bf16[D], cs: f32[S,E], sn: f32[S,E]) -> y: bf16[B,S,H,D] {
  n = rmsnorm[D](q) * g
  a, b = halves[D->E](n)
  y = concat[D]((a * cs - b * sn){E->D}, (b * cs + a * sn){E->D})
}
kernel head(h: bf16[M,K], w: bf16[V,K]) -> y: bf16[M,V] { y = tanh((h @ w) / 30) * 30 }
kernel conv3d(x: f16[B,C,Z,H,W], k: f16[O,C,R=3,U=3,V=3]) -> y: f16[B,O,Z,H,W] { y = relu(sum[C,R,U,V](k * (x[Z: Z+R-1, H: H+U-1, W: W+V-1] ?? 0))) }
kernel conv3df(x: f32[B,C,Z,H,W], k: f32[O,C,R=3,U=3,V=3]) -> y: f32[B,O,Z,H,W] { y = relu(sum[C,R,U,V](k * (x[Z: Z+R-1, H: H+U-1, W: W+V-1] ?? 0))) }
kernel bgemv(a: bf16[B,M,K], x: bf16[B,K]) -> y: f32[B,M] { y = a @ x }
kernel small3(a: f32[B,M,K], b: f32[B,K,N]) -> y: f32[B,M,N] { y = a @ b }
kernel mlp_bwd1(x: bf16[M,K], w: bf16[K,N], dy: bf16[M,N]) -> (dx: bf16[M,K], dw: bf16[K,N]) {
  dz = bf16(dy * f32(x @ w > 0))
  dx = dz @[N] w
  dw = sum[M](x * dz)
}
