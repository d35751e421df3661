# 22 halves and evenodd, of a weight's result and of a left operand, and the same written out for three parts
kernel of_input(x: f32[M, F=2*N]) -> (l: f32[M,N], r: f32[M,N], e: f32[M,N], o: f32[M,N]) {
  l, r = halves[F->N](x)
  e, o = evenodd[F->N](x)
}
kernel of_left(x: f32[M, F=2*K], w: f32[K,N]) -> (h: f32[M,N], e: f32[M,N]) {
  l, r = halves[F->K](x)
  h = (l * sigmoid(r)) @ w
  a, b = evenodd[F->K](x)
  e = (a - 2 * b) @ w
}
kernel of_result(x: f32[M,K], w: f32[K, F=2*N], b: f32[F]) -> y: f32[M,N] {
  e, o = evenodd[F->N](x @ w + b)
  y = e * tanh(o)
}
kernel first_axis(x: f32[F=2*M, N]) -> (t: f32[M,N], u: f32[M,N]) {
  a, b = halves[F->M](x)
  t = a - b
  c, d = evenodd[F->M](x)
  u = c - d
}
kernel three(x: f32[M, F=3*N]) -> (q: f32[M,N], k: f32[M,N], i: f32[M,N]) {
  p = x{F->(P=3,N)}
  q = p[P: 0]
  k = p[P: 2]
  i = x{F->(N,P=3)}[P: 1]
}
kernel rotary(x: f32[S, D=2*H], c: f32[S,H], s: f32[S,H]) -> (a: f32[S,H], b: f32[S,H]) {
  l, r = evenodd[D->H](x)
  a = l * c - r * s
  b = l * s + r * c
}
