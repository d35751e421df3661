# More kernels of families that no other list here has, as docs/language.md alone leads one to write them; families2.py runs them beside PyTorch.

# state spaces and gated linear layers
kernel ssd_chunk(x: bf16[B,N,L,H,P], a: f32[B,N,L,H], b: bf16[B,N,L,S], c: bf16[B,N,L,S]) -> y: bf16[B,N,L,H,P] {
  s = cumsum[L](-abs(a) * 0.1)
  g = c @[S] b{L->T}
  y = sum[T](where(idx(T) <= idx(L), exp(s - s{L->T}) * g, 0) * x{L->T})
}
kernel ssd_state(x: bf16[B,N,L,H,P], a: f32[B,N,L,H], b: bf16[B,N,L,S]) -> h: bf16[B,N,H,P,S] {
  s = cumsum[L](-abs(a) * 0.1)
  h = sum[L](x * exp(s[L: size(L) - 1] ?? 0 - s) * b)
}
kernel ssd_pass(h: f32[B,N,H,P,S], a: f32[B,N,H]) -> r: f32[B,N,H,P,S] { r = recur[N](exp(-abs(a)), h)[N: N-1] ?? 0 }
kernel rwkv_mix(x: bf16[B,T,C], mr: bf16[C], mk: bf16[C], mv: bf16[C]) -> (r: bf16[B,T,C], k: bf16[B,T,C], v: bf16[B,T,C]) {
  d = (x[T: T-1] ?? 0) - x
  r = x + d * mr
  k = x + d * mk
  v = x + d * mv
}
kernel wkv(k: f32[B,T,C], v: f32[B,T,C], w: f32[C], u: f32[C]) -> y: f32[B,T,C] {
  f = exp(-abs(w))
  e = exp(k)
  n = recur[T](f, e * v)
  d = recur[T](f, e)
  b = exp(u + k)
  y = ((n[T: T-1] ?? 0) + b * v) / ((d[T: T-1] ?? 0) + b)
}
kernel sscan(x: bf16[B,T,D], dt: bf16[B,T,D], a: f32[D,N], b: bf16[B,T,N], c: bf16[B,T,N], s: f32[D]) -> y: bf16[B,T,D] {
  g = softplus(dt)
  h = recur[T](exp(-g * abs(a)), g * b * x)
  y = sum[N](h * c) + s * x
}
kernel longconv(x: f16[B,C,T], k: f16[C,U=T], d: f16[C]) -> y: f16[B,C,T] { y = sum[U](k * (x[T: T-U] ?? 0)) + d * x }
kernel qrnn(z: bf16[B,T,C], f: bf16[B,T,C], o: bf16[B,T,C]) -> h: bf16[B,T,C] {
  g = sigmoid(f)
  h = sigmoid(o) * recur[T](g, (1 - g) * tanh(z))
}
kernel lightconv(x: bf16[B,T,H,D], w: bf16[B,T,H,U=7]) -> y: bf16[B,T,H,D] { y = sum[U](softmax[U](w) * (x[T: T+U-6] ?? 0)) }
# mixtures of experts and projections
kernel dsrouter(x: bf16[M,D], w: bf16[E,D], b: f32[E]) -> (g: f32[M,E]) {
  s = sigmoid(x @ w)
  c = s + b * 0.01
  t = c{E->(A=8,R)}
  m1 = max[R](t)
  q = m1 + max[R](where(t < m1, t, -inf))
  q1 = max[A](q)
  q2 = max[A](where(q < q1, q, -inf))
  v = where(q >= q2, t, -inf){(A,R)->E}
  v1 = max[E](v)
  v2 = max[E](where(v < v1, v, -inf))
  v3 = max[E](where(v < v2, v, -inf))
  v4 = max[E](where(v < v3, v, -inf))
  p = where(v >= v4, s, 0)
  g = p / (sum[E](p) + 1e-20)
}
kernel moe_in(x: bf16[M,D], at: i32[E,C], w: bf16[E,F,D], v: bf16[E,F,D]) -> h: bf16[E,C,F] {
  t = x[M: at] ?? 0
  h = silu(t @[D] w) * (t @[D] v)
}
kernel moe_out(y: bf16[E,C,D], g: f32[M,K], e: i32[M,K], p: i32[M,K]) -> o: bf16[M,D] { o = sum[K](g * (y[E: e, C: p] ?? 0)) }
kernel mla_q(q: bf16[T,H,D], w: bf16[H,D,R]) -> o: bf16[T,H,R] { o = q @ w }
kernel mla_dec(q: bf16[B,H,R], p: bf16[B,H,E], c: bf16[B,T,R], k: bf16[B,T,E], n: i32[B]) -> o: bf16[B,H,R] {
  s = (q @ c + p @ k) * 0.07216878
  o = softmax[T](where(idx(T) < n, s, -inf)) @[T] c
}
kernel qrope(x: bf16[S,K], w: bf16[N=H*D,K], cs: f32[S,E=D/2], sn: f32[S,E]) -> y: bf16[S,H=32,D=128] {
  a, b = halves[D->E]((x @ w){N->(H,D)})
  y = concat[D]((a * cs - b * sn){E->D}, (b * cs + a * sn){E->D})
}
kernel gemmares(x: bf16[M,D], h: bf16[M,D], g: bf16[D], k: bf16[D]) -> (r: bf16[M,D], y: bf16[M,D]) {
  r = x + rmsnorm[D](h, eps: 1e-6) * (1 + g)
  y = rmsnorm[D](r, eps: 1e-6) * (1 + k)
}
kernel t5bias(tab: f32[R=32,H]) -> b: bf16[H,S=1024,T=1024] {
  n = idx(T) - idx(S)
  f = abs(n)
  l = min(8 + i64(log(max(f32(f), 1) / 8.0) / 2.772588722 * 8), 15)
  b = tab[R: clamp(where(n > 0, 16, 0) + where(f < 8, f, l), 0, 31)]
}
kernel dora(x: bf16[M,K], w: bf16[N,K], a: bf16[R,K], b: bf16[N,R], m: f32[N]) -> y: bf16[M,N] {
  v = w + b @[R] a
  y = (x @ w + (x @ a) @[R] b) * (m / sqrt(sum[K](v * v)))
}
kernel lora(x: bf16[M,K], w: bf16[N,K], a: bf16[R,K], b: bf16[N,R]) -> y: bf16[M,N] { y = x @ w + 2 * ((x @ a) @ b) }
kernel lora_bwd = grad(lora, wrt: x, a, b)
kernel bitnet(x: bf16[M,K], w: i8[N,K], s: f32[]) -> y: bf16[M,N] {
  a = max(max[K](abs(x)), 1e-5) / 127.0
  q = i8(round(clamp(x / a, -128, 127)))
  y = (q @ w) * a * s
}
kernel joint(f: bf16[B,T,H], g: bf16[B,U,H], w: bf16[V,H], b: bf16[V]) -> z: bf16[B,T,U,V] { z = tanh(f + g) @[H] w + b }
# pictures and volumes
kernel timeadd(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C], b: f16[O], t: f16[B,E], w: f16[O,E]) -> y: f16[B,H,W,O] {
  y = sum[U,V,C](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b + silu(t) @ w
}
kernel modconv(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], s: f32[B,C]) -> y: f16[B,O,H,W] {
  d = rsqrt(sum[C,U,V]((k * s) ** 2) + 1e-8)
  y = sum[C,U,V](k * (f16(x * s)[H: H+U-1, W: W+V-1] ?? 0)) * d
}
kernel spade(x: f16[B,C,H,W], g: f16[B,C,H,W], b: f16[B,C,H,W]) -> y: f16[B,C,H,W] { y = layernorm[H,W](x) * (1 + g) + b }
kernel skipconv(a: f16[B,H,W,C], b: f16[B,H,W,D], k: f16[O,I=C+D], c: f16[O]) -> y: f16[B,H,W,O] { y = silu(concat[I](a{C->I}, b{D->I}) @ k + c) }
kernel gluconv(x: f16[B,C,T], k: f16[P=2*O,C,U=3], b: f16[P]) -> y: f16[B,O,T] {
  l, r = halves[P->O](sum[C,U](k * (x[T: T+U-1] ?? 0)) + b)
  y = l * sigmoid(r)
}
kernel natten(q: f16[B,T,H,D], k: f16[B,T,H,D], v: f16[B,T,H,D], r: f16[H,U=13]) -> o: f16[B,T,H,D] {
  s = sum[D](q * (k[T: T+U-6] ?? 0)) * 0.17677669 + r
  o = sum[U](softmax[U](s) * (v[T: T+U-6] ?? 0))
}
kernel costvol(a: f16[B,C,H,W], b: f16[B,C,H,W]) -> y: f16[B,U=9,V=9,H,W] { y = mean[C](a * (b[H: H+U-4, W: W+V-4] ?? 0)) }
kernel patchify[P=H/16,Q=W/16](x: f32[B,C,H,W]) -> y: bf16[B,N=P*Q,K=256*C] { y = x{H->(P,U=16)}{W->(Q,V=16)}{(P,Q)->N}{(U,V,C)->K} }
kernel chshuf(x: f16[B,C,H,W]) -> y: f16[B,C,H,W] { y = x{C->(A=2,J)}{(J,A)->C} }
kernel bicubic[U=4,V=4](x: f32[B,C,H,W]) -> y: f32[B,C,P=2*H,Q=2*W] {
  fy = (f32(idx(P)) + 0.5) * 0.5 - 0.5
  fx = (f32(idx(Q)) + 0.5) * 0.5 - 0.5
  iy = i64(floor(fy))
  ix = i64(floor(fx))
  wy = cubic(abs(fy - floor(fy) + 1 - f32(idx(U))))
  wx = cubic(abs(fx - floor(fx) + 1 - f32(idx(V))))
  r = sum[V](wx * x[W: clamp(ix - 1 + V, 0, size(W) - 1)])
  y = sum[U](wy * r[H: clamp(iy - 1 + U, 0, size(H) - 1)])
}
fn cubic(t) = where(t <= 1, (1.25 * t - 2.25) * t * t + 1, where(t < 2, ((-0.75 * t + 3.75) * t - 6) * t + 3, 0))
kernel ssim(x: f32[B,H,W], y: f32[B,H,W], k: f32[U=11,V=11]) -> l: f32 {
  a = x[H: H+U-5, W: W+V-5] ?? 0
  b = y[H: H+U-5, W: W+V-5] ?? 0
  w = abs(k)
  ma = sum[U,V](w * a)
  mb = sum[U,V](w * b)
  va = sum[U,V](w * a * a) - ma * ma
  vb = sum[U,V](w * b * b) - mb * mb
  cv = sum[U,V](w * a * b) - ma * mb
  l = mean[B,H,W]((2 * ma * mb + 0.01) * (2 * cv + 0.03) / ((ma * ma + mb * mb + 0.01) * (va + vb + 0.03)))
}
kernel median3(x: f32[B,H,W]) -> y: f32[B,H,W] {
  a0, a1, a2 = sort3(x[H: H-1, W: W-1] ?? 0, x[H: H-1] ?? 0, x[H: H-1, W: W+1] ?? 0)
  b0, b1, b2 = sort3(x[W: W-1] ?? 0, x, x[W: W+1] ?? 0)
  c0, c1, c2 = sort3(x[H: H+1, W: W-1] ?? 0, x[H: H+1] ?? 0, x[H: H+1, W: W+1] ?? 0)
  _l, m, _h = sort3(max(a0, max(b0, c0)), max(min(a1, b1), min(max(a1, b1), c1)), min(a2, min(b2, c2)))
  y = m
}
fn sort3(a, b, c) -> l, m, h {
  l = min(a, min(b, c))
  h = max(a, max(b, c))
  m = max(min(a, b), min(max(a, b), c))
}
kernel harris[U=5,V=5](x: f32[B,H,W]) -> r: f32[B,H,W] {
  gx = ((x[W: W+1] ?? 0) - (x[W: W-1] ?? 0)) * 0.5
  gy = ((x[H: H+1] ?? 0) - (x[H: H-1] ?? 0)) * 0.5
  a = sum[U,V]((gx * gx)[H: H+U-2, W: W+V-2] ?? 0)
  b = sum[U,V]((gx * gy)[H: H+U-2, W: W+V-2] ?? 0)
  c = sum[U,V]((gy * gy)[H: H+U-2, W: W+V-2] ?? 0)
  r = a * c - b * b - 0.05 * (a + c) ** 2
}
kernel bilat[U=5,V=5](x: f32[B,H,W]) -> y: f32[B,H,W] {
  n = x[H: H+U-2, W: W+V-2] ?? 0
  d = n - x
  w = exp(-2 * d * d - 0.1 * f32((idx(U) - 2) * (idx(U) - 2) + (idx(V) - 2) * (idx(V) - 2)))
  y = sum[U,V](w * n) / sum[U,V](w)
}
kernel hist(x: u8[B,H,W]) -> h: i32[B,K=256] { h = sum[H,W](x == idx(K)) }
kernel integral(x: f32[B,H,W]) -> y: f32[B,H,W] { y = cumsum[H](cumsum[W](x)) }
kernel haar(x: f32[B,C,H=2*P,W=2*Q]) -> (l: f32[B,C,P,Q], h: f32[B,C,P,Q], v: f32[B,C,P,Q], d: f32[B,C,P,Q]) {
  t, b = evenodd[H->P](x)
  tl, tr = evenodd[W->Q](t)
  bl, br = evenodd[W->Q](b)
  l = (tl + tr + bl + br) * 0.5
  h = (tl - tr + bl - br) * 0.5
  v = (tl + tr - bl - br) * 0.5
  d = (tl - tr - bl + br) * 0.5
}
kernel tvloss(x: f32[B,C,H,W]) -> l: f32 {
  l = mean[B,C,H,W](where(idx(H) + 1 < size(H), abs((x[H: H+1] ?? 0) - x), 0) + where(idx(W) + 1 < size(W), abs((x[W: W+1] ?? 0) - x), 0))
}
kernel posenc[L=10](x: f32[N,C=3]) -> y: f16[N,E=20*C] {
  a = x * exp2(f32(idx(L)))
  b = a{C->(I,O=1)}
  y = concat[S](sin(b){O->S}, cos(b){O->S}){(I,S,L)->E}
}
kernel volren(s: f32[R,N], c: f32[R,N,C=3], t: f32[R,N]) -> (rgb: f32[R,C], depth: f32[R], w: f32[R,N]) {
  a = 1 - exp(-relu(s) * 0.05)
  w = a * (cumprod[N](1 - a + 1e-10)[N: N-1] ?? 1)
  rgb = sum[N](w * sigmoid(c))
  depth = sum[N](w * t)
}
kernel trilerp(g: f16[Z,Y,X,C], p: f32[N,D=3]) -> o: f16[N,C] {
  q = (clamp(p, -2, 2) + 2) * 0.25
  x = q[D: 0] * (size(X) - 1)
  y = q[D: 1] * (size(Y) - 1)
  z = q[D: 2] * (size(Z) - 1)
  i = i32(floor(x))
  j = i32(floor(y))
  k = i32(floor(z))
  fx = x - floor(x)
  fy = y - floor(y)
  fz = z - floor(z)
  a = (g[Z: k, Y: j, X: i] ?? 0) * (1 - fx) + (g[Z: k, Y: j, X: i + 1] ?? 0) * fx
  b = (g[Z: k, Y: j + 1, X: i] ?? 0) * (1 - fx) + (g[Z: k, Y: j + 1, X: i + 1] ?? 0) * fx
  c = (g[Z: k + 1, Y: j, X: i] ?? 0) * (1 - fx) + (g[Z: k + 1, Y: j, X: i + 1] ?? 0) * fx
  d = (g[Z: k + 1, Y: j + 1, X: i] ?? 0) * (1 - fx) + (g[Z: k + 1, Y: j + 1, X: i + 1] ?? 0) * fx
  o = (a * (1 - fy) + b * fy) * (1 - fz) + (c * (1 - fy) + d * fy) * fz
}
kernel splat(px: f32[P,D=2], m: f32[G,D], s: f32[G], o: f32[G], c: f32[G,C=3]) -> y: f32[P,C] {
  r = sum[D]((px - m) ** 2)
  a = min(sigmoid(o) * exp(-r * (abs(s) + 0.1)), 0.99)
  t = cumprod[G](1 - a)[G: G-1] ?? 1
  y = sum[G](a * t * c)
}
kernel skin(v: f32[B,N,I=3], j: i32[N,K=4], w: f32[N,K], t: f32[B,J,O=3,E=4]) -> y: f32[B,N,O] {
  m = sum[K](w * (t[J: j] ?? 0))
  y = sum[I](m[E: I] * v) + m[E: 3]
}
# particles, grids, small systems
kernel sph(p: f32[N,C=3]) -> d: f32[N] { r = sum[C]((p - p{N->J}) ** 2); d = sum[J](max(1 - r, 0) ** 3) * 1.56668 }
kernel lj(p: f32[N,C=3]) -> (f: f32[N,C], e: f32[N]) {
  d = p - p{N->J}
  r = sum[C](d * d) + where(idx(N) == idx(J), 1e6, 0.1)
  i = 1 / r
  s = i * i * i
  e = sum[J](2 * s * (s - 1))
  f = sum[J](where(r < 6.25, 24 * s * (2 * s - 1) * i, 0) * d)
}
kernel chamfer(a: f32[B,N,C=3], b: f32[B,M,C]) -> l: f32[B] {
  r = sum[C]((a - b) ** 2)
  l = mean[N](min[M](r)) + mean[M](min[N](r))
}
kernel grayscott(u: f32[Y,X], v: f32[Y,X]) -> (p: f32[Y,X], q: f32[Y,X]) {
  lu = u[Y: (Y+1) % size(Y)] + u[Y: (Y-1) % size(Y)] + u[X: (X+1) % size(X)] + u[X: (X-1) % size(X)] - 4 * u
  lv = v[Y: (Y+1) % size(Y)] + v[Y: (Y-1) % size(Y)] + v[X: (X+1) % size(X)] + v[X: (X-1) % size(X)] - 4 * v
  r = u * v * v
  p = u + 0.16 * lu - r + 0.06 * (1 - u)
  q = v + 0.08 * lv + r - 0.122 * v
}
kernel fdtd(hx: inout f32[X,Y,Z], hy: inout f32[X,Y,Z], hz: inout f32[X,Y,Z], ex: f32[X,Y,Z], ey: f32[X,Y,Z], ez: f32[X,Y,Z]) {
  hx = hx + 0.5 * (((ey[Z: Z+1] ?? 0) - ey) - ((ez[Y: Y+1] ?? 0) - ez))
  hy = hy + 0.5 * (((ez[X: X+1] ?? 0) - ez) - ((ex[Z: Z+1] ?? 0) - ex))
  hz = hz + 0.5 * (((ex[Y: Y+1] ?? 0) - ex) - ((ey[X: X+1] ?? 0) - ey))
}
kernel star8(u: f32[X,Y,Z], c: f32[U=9]) -> v: f32[X,Y,Z] { v = sum[U](c * ((u[X: X+U-4] ?? 0) + (u[Y: Y+U-4] ?? 0) + (u[Z: Z+U-4] ?? 0))) }
kernel lbm(f: f32[Q=9,Y,X], w: f32[Q], cx: i32[Q], cy: i32[Q]) -> g: f32[Q,Y,X] {
  x = cx % 3 - 1
  y = cy % 3 - 1
  s = f[Y: (Y - y) % size(Y), X: (X - x) % size(X)]
  r = sum[Q](abs(s)) + 1
  ux = sum[Q](s * x) / r
  uy = sum[Q](s * y) / r
  e = 3 * (ux * x + uy * y)
  g = s - 0.6 * (s - w * r * (1 + e + 0.5 * e * e - 1.5 * (ux * ux + uy * uy)))
}
kernel minplus(a: f32[M,K], b: f32[K,N]) -> c: f32[M,N] { c = min[K](a + b) }
kernel inv3(a: f32[N,I=3,J=3]) -> b: f32[N,I,J] {
  c0 = a[I: (idx(J) + 1) % 3, J: (idx(I) + 1) % 3] * a[I: (idx(J) + 2) % 3, J: (idx(I) + 2) % 3]
  c1 = a[I: (idx(J) + 1) % 3, J: (idx(I) + 2) % 3] * a[I: (idx(J) + 2) % 3, J: (idx(I) + 1) % 3]
  c = c0 - c1
  b = c / (sum[J](a[I: 0] * c[I: J, J: 0]) ** 2 + 3)
}
kernel kalman(p: f32[N,I=6,J=6], f: f32[A=6,B=6], q: f32[A,C=6]) -> r: f32[N,A,C] { r = sum[I,J](p * f{B->I} * f{A->C}{B->J}) + q }
# products of many factors, distances, alignments
kernel mttkrp(x: f32[I,J,K], b: f32[J,R], c: f32[K,R]) -> y: f32[I,R] { y = sum[J,K](x * b * c) }
kernel tucker(g: f32[A,B,C], u: f32[I,A], v: f32[J,B], w: f32[K,C]) -> y: f32[I,J,K] { y = sum[A,B,C](g * u * v * w) }
kernel opm(a: bf16[S,I,C], b: bf16[S,J,D], w: bf16[Z,C,D]) -> z: bf16[I,J,Z] { z = sum[C,D](bf16(mean[S](a * b)) * w) }
kernel trimul(a: bf16[I,K,C], b: bf16[J,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel style(x: f16[B,C,N], t: f32[B,C,D=C]) -> l: f32 { l = mean[B,C,D]((x @[N] x{C->D} / size(N) - t) ** 2) }
kernel crfstep(a: f32[B,I], t: f32[I,J], e: f32[B,J]) -> y: f32[B,J] { y = logsumexp[I](a + t) + e }
kernel viterbi(a: f32[B,I], t: f32[I,J], e: f32[B,J]) -> (y: f32[B,J], p: i64[B,J]) { y = max[I](a + t) + e; p = argmax[I](a + t) }
kernel bahdanau(q: f32[B,S,H], k: f32[B,T,H], v: f32[H]) -> e: f32[B,S,T] { e = sum[H](v * tanh(q + k)) }
kernel netvlad(x: bf16[B,N,D], c: bf16[K,D], w: bf16[K,D]) -> v: f32[B,K,D] {
  a = softmax[K](x @[D] w)
  v = sum[N](a * x) - sum[N](a) * c
}
kernel slot(x: bf16[B,N,D], q: bf16[B,S,D]) -> u: f32[B,S,D] {
  a = softmax[S]((q @ x) * 0.125) + 1e-8
  u = sum[N](a / sum[N](a) * x)
}
kernel rff(x: f32[N,D=3], b: f32[D,F]) -> y: f16[N,O=2*F] {
  z = 6.2831853 * (x @ b)
  y = concat[O](cos(z){F->O}, sin(z){F->O})
}
kernel mel(x: f32[B,T], w: f32[N=400], dc: f32[N,K=201], ds: f32[N,K], m: f32[K,J=80]) -> y: f32[B,F=(T-400)//160+1,J] {
  s = x[T: 160*F+N] ?? 0 * w
  a = s @[N] dc
  b = s @[N] ds
  y = log(max((a * a + b * b) @[K] abs(m), 1e-10))
}
kernel siglip(a: bf16[B,D], b: bf16[B,D], t: f32 = 10.0, s: f32 = -10.0) -> l: f32 {
  z = (a @ b{B->J}) * t + s
  l = sum[B,J](softplus(where(idx(B) == idx(J), -z, z))) / size(B)
}
kernel barlow(a: f32[N,D], b: f32[N,D]) -> l: f32 {
  x = layernorm[N](a)
  y = layernorm[N](b)
  c = sum[N](x * y{D->E}) / size(N)
  l = sum[D,E](where(idx(D) == idx(E), (c - 1) ** 2, 0.005 * c * c))
}
kernel supcon(z: bf16[B,D], y: i64[B]) -> l: f32 {
  s = (z @ z{B->J}) * 0.1
  v = where(idx(B) == idx(J), -inf, s)
  k = y % 100
  p = k == k{B->J} && idx(B) != idx(J)
  l = mean[B](logsumexp[J](v) - sum[J](where(p, s, 0)) / max(sum[J](p), 1))
}
kernel arcface(x: f16[B,D], w: f16[K,D], y: i64[B]) -> z: f16[B,K] {
  c = (x @ w) * rsqrt(sum[D](x * x)) * rsqrt(sum[D](w * w))
  z = 64 * where(y % size(K) == idx(K), c * 0.87758 - sqrt(max(1 - c * c, 0)) * 0.47943, c)
}
# losses and rows
kernel dino(s: bf16[B,K], t: bf16[B,K], c: f32[K]) -> l: f32 {
  p = softmax[K]((t - c) * 25)
  l = mean[B](logsumexp[K](s * 10) - sum[K](p * (s * 10)))
}
kernel distill(s: bf16[M,V], t: bf16[M,V]) -> l: f32 {
  a = s * 0.5
  b = t * 0.5
  l = 4 * mean[M](sum[V](softmax[V](b) * ((b - logsumexp[V](b)) - (a - logsumexp[V](a)))))
}
kernel dice(z: f16[B,C,H,W], t: f16[B,C,H,W]) -> l: f32 {
  p = sigmoid(z)
  g = f32(t > 0)
  l = 1 - mean[B,C]((2 * sum[H,W](p * g) + 1) / (sum[H,W](p) + sum[H,W](g) + 1))
}
kernel vae(m: f32[B,D], v: f32[B,D]) -> (z: f32[B,D], k: f32) {
  e = rand[B,D](7, 0)
  z = m + exp(0.5 * v) * e
  k = -0.5 * mean[B](sum[D](1 + v - m * m - exp(v)))
}
kernel ppo(z: f32[N,A], a: i64[N], o: f32[N], g: f32[N]) -> (l: f32, h: f32) {
  q = logsumexp[A](z)
  r = exp((z[A: a % size(A)] ?? 0) - q - o)
  l = -mean[N](min(r * g, clamp(r, 0.8, 1.2) * g))
  h = mean[N](q - sum[A](softmax[A](z) * z))
}
kernel gae(r: f32[T,B], v: f32[T,B], d: f32[T,B]) -> (a: f32[T,B], t: f32[T,B]) {
  n = f32(d < 1)
  e = r + 0.99 * n * (v[T: T+1] ?? 0) - v
  f = recur[T]((0.9405 * n)[T: size(T)-1-T], e[T: size(T)-1-T])
  a = f[T: size(T)-1-T]
  t = a + v
}
kernel gumbel(z: bf16[B,V]) -> (t: i64[B], p: f32[B]) {
  g = z * 1.25 - log(-log(rand[B,V](3, 1) + 1e-9) + 1e-9)
  t = argmax[V](g)
  p = max[V](softmax[V](z))
}
kernel dropln(x: bf16[M,D], r: bf16[M,D], b: bf16[D], g: bf16[D], c: bf16[D]) -> (h: bf16[M,D], y: bf16[M,D]) {
  h = r + where(rand[M,D](11, 0) >= 0.1, (x + b) / 0.9, 0)
  y = layernorm[D](h) * g + c
}
kernel bpr(u: f32[U,D], i: f32[I,D], a: i32[B], p: i32[B], n: i32[B]) -> l: f32 {
  e = u[U: a] ?? 0
  l = mean[B](softplus(sum[D](e * ((i[I: n] ?? 0) - (i[I: p] ?? 0)))))
}
kernel mixup(x: f16[B,C,H,W], p: i64[B], l: f32[B]) -> y: f16[B,C,H,W] { a = sigmoid(l); y = a * x + (1 - a) * (x[B: p % size(B)] ?? 0) }
kernel din(h: f16[B,T,D], t: f16[B,D], w: f16[H,K=4*D], b: f16[H], v: f16[H], n: i32[B]) -> y: f16[B,D] {
  c = concat[K](h{D->K}, t{D->K}, (h - t){D->K}, (h * t){D->K})
  s = sum[H](relu(c @[K] w + b) * v)
  y = sum[T](where(idx(T) < n % 64, s, 0) * h)
}
# graphs
kernel gatn(h: f32[N,F], s: f32[F], d: f32[F], at: i32[N,K]) -> y: f32[N,F] {
  e = leaky_relu(sum[F](h * s) + (sum[F](h * d)[N: at] ?? 0), slope: 0.2)
  y = sum[K](softmax[K](e) * (h[N: at] ?? 0))
}
kernel edgemax(u: f16[N,F], v: f16[N,F], at: i32[N,K]) -> y: f16[N,F] { y = max[K](relu(u + (v[N: at] ?? 0))) }
kernel sage(x: bf16[N,F], at: i32[N,K], w: bf16[O,F], v: bf16[O,F]) -> y: bf16[N,O] { y = relu(x @ w + mean[K](x[N: at] ?? 0) @[F] v) }
kernel segmax(x: f32[N,D], s: i32[N]) -> y: f32[Q=64,D] { y = max[N](where(s % 64 == idx(Q), x, -inf)) }
# steps of optimisers, gradients
kernel lion(p: inout f32[N], m: inout bf16[N], g: bf16[N]) {
  u = sign(0.9 * m + 0.1 * g)
  p = p * 0.9999 - 1e-4 * u
  m = 0.99 * m + 0.01 * g
}
kernel adafactor(p: inout f32[M,N], r: inout f32[M], c: inout f32[N], g: f32[M,N]) {
  q = g * g + 1e-30
  r = 0.99 * abs(r) + 0.01 * mean[N](q)
  c = 0.99 * abs(c) + 0.01 * mean[M](q)
  u = g * rsqrt(r / mean[M](r) * c)
  p = p - 1e-3 * u / max(1, sqrt(mean[M,N](u * u)))
}
kernel lamb(p: inout f32[M,N], m: inout f32[M,N], v: inout f32[M,N], g: f32[M,N]) {
  m = 0.9 * m + 0.1 * g
  v = 0.999 * abs(v) + 0.001 * g * g
  u = m / (sqrt(v) + 1e-6) + 0.01 * p
  a = sqrt(sum[M,N](p * p))
  b = sqrt(sum[M,N](u * u))
  p = p - 1e-3 * (a / b) * u
}
kernel shampoo(g: f32[M,N], l: inout f32[M,J=M], r: inout f32[N,K=N]) {
  l = 0.95 * l + 0.05 * sum[N](g * g{M->J})
  r = 0.95 * r + 0.05 * sum[M](g * g{N->K})
}
kernel adam8(p: inout f32[G,R=256], g: f32[G,R], m: inout i8[G,R], s: inout f32[G]) {
  v = 0.9 * (m * abs(s)) + 0.1 * g
  p = p - 1e-3 * v
  t = max(max[R](abs(v)), 1e-12) / 127.0
  s = t
  m = i8(round(v / t))
}
kernel specnorm(w: f32[M,N], u: f32[M]) -> (y: f32[M,N], t: f32[M]) {
  a = sum[M](w * u)
  v = a * rsqrt(sum[N](a * a) + 1e-12)
  b = sum[N](w * v)
  t = b * rsqrt(sum[M](b * b) + 1e-12)
  y = w / sum[M](t * b)
}
kernel gn[G=32,Q=C/32](x: f16[N,C,H,W], g: f16[C], b: f16[C]) -> y: f16[N,C,H,W] { y = layernorm[Q,H,W](x{C->(G,Q)}){(G,Q)->C} * g + b }
kernel gnb = grad(gn, wrt: x, g, b)
kernel bn(x: f32[N,C,H,W], g: f32[C], b: f32[C]) -> y: f32[N,C,H,W] { y = layernorm[N,H,W](x) * g + b }
kernel bnb = grad(bn, wrt: x, g, b)
kernel mp[U=2,V=2](x: f16[B,C,H,W]) -> y: f16[B,C,P=H//2,Q=W//2] { y = max[U,V](x[H: 2*P+U, W: 2*Q+V] ?? -inf) }
kernel mpb = grad(mp, wrt: x)
kernel up(x: f16[B,C,H,W]) -> y: f16[B,C,P=2*H,Q=2*W] { y = x[H: P//2, W: Q//2] }
kernel upb = grad(up, wrt: x)
kernel dw(x: f32[B,C,H,W], k: f32[C,U=3,V=3]) -> y: f32[B,C,H,W] { y = sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel dwb = grad(dw, wrt: x, k)
kernel prelu(x: f32[B,C,H,W], a: f32[C]) -> y: f32[B,C,H,W] { y = where(x > 0, x, a * x) }
kernel prelub = grad(prelu, wrt: x, a)
kernel wn(v: f32[O,I], g: f32[O]) -> w: f32[O,I] { w = v * (g * rsqrt(sum[I](v * v))) }
kernel wnb = grad(wn, wrt: v, g)
# numbers of few bits
kernel fq(x: f32[O,K]) -> y: f32[O,K] { s = max[K](abs(x)) / 127.0; y = clamp(round(x / s), -128, 127) * s }
kernel f8deq(w: f8e4m3[N=128*I,K=128*J], s: f32[I,J]) -> y: bf16[N,K] { y = (w{N->(I,A=128)}{K->(J,B=128)} * s){(I,A)->N}{(J,B)->K} }
kernel mxgemv(x: bf16[M,K=32*G], w: u4[N,K] packed(u8, K, lsb), e: u8[N,G], code: f32[L=16]) -> y: bf16[M,N] {
  v = code[L: w]
  y = sum[K](x * (v * exp2(f32(e[G: K/32]) - 127)))
}
kernel kv8dec(q: bf16[B,H,D], k: i8[B,T,H,D], v: i8[B,T,H,D], ks: f32[B,T,H], vs: f32[B,T,H]) -> o: bf16[B,H,D] {
  s = sum[D](q * k) * ks * 0.001
  o = sum[T](softmax[T](s) * vs * v)
}
