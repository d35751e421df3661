# args: --stop-after=keep --with=keep
# Values made of a matrix product that several places need whole. Rounded by the spec, by all factors that read it alike, or not at all. Not where one place reads it, where reductions alone do, where factors round it to several dtypes, of what is no matrix product, or where the kernel says how it is to be fused.
kernel squared(x: bf16[M,N]) -> y: bf16[M,I=M] {
  a = bf16(x @[N] x{M->I})
  y = 2 * a + (a @[I] a{I->K}{M->I}){K->I}
}
kernel licensed(x: bf16[M,N]) -> y: bf16[M,I=M] {
  a = x @[N] x{M->I}
  y = 2 * a + (a @[I] a{I->K}{M->I}){K->I}
}
kernel backward(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> (dx: bf16[M,K], db: bf16[N], g: bf16[M,N]) {
  g = bf16(relu(x @[K] w + b))
  dx = g @[N] w
  db = sum[M](g)
}
kernel gates(x: f16[B,I], h: f16[B,J], w: f16[F=2*N,I], u: f16[F,J], b: f16[F]) -> y: f16[B,N] {
  z = (x @[I] w + h @[J] u + b){F->(G=2,N)}
  y = sigmoid(z[G: 0]) * tanh(z[G: 1])
}
kernel once(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,K] { y = bf16(relu(x @[K] w)) @[N] w }
kernel reduced(x: bf16[M,K], w: bf16[N,K]) -> (s: f32[N], t: f32[M]) {
  z = x @[K] w
  s = sum[M](z)
  t = max[N](z)
}
kernel mixed(x: bf16[M,K], w: bf16[N,K], v: f16[N,P], u: bf16[N,P]) -> (y: f32[M,P], z: f32[M,P]) {
  h = x @[K] w
  y = h @[N] v
  z = h @[N] u
}
kernel rows(x: f32[M,K]) -> y: f32[M,L=K] { s = x / max[K](x); y = s[K: L] + s[K: size(K) - 1 - L] }
kernel counted(x: f16[B,I], w: f16[F=2*N,I]) -> y: f16[B,N] with { fuse: require } {
  z = (x @[I] w){F->(G=2,N)}
  y = sigmoid(z[G: 0]) * tanh(z[G: 1])
}
