# args: --with=keep
# Values made of a matrix product that several places need whole: stored once, and read under other labels. The rule is on whatever it costs, so that small extents have it too.
kernel squared(x: bf16[M=320,N=64]) -> y: f32[M,I=M] {
  a = bf16(x @[N] x{M->I})
  y = a + (a @[I] a{I->K}{M->I}){K->I}
}
kernel turned(x: bf16[M=320,N=64], w: bf16[N,P=192]) -> (y: f32[M,I=M], z: f32[P,Q=P]) {
  a = bf16(x @[N] w)
  y = a @[P] a{M->I}
  z = a @[M] a{P->Q}
}
kernel licensed(x: bf16[M=320,N=64]) -> y: f32[M,I=M] {
  a = x @[N] x{M->I}
  y = a + (a @[I] a{I->K}{M->I}){K->I}
}
kernel backward(x: bf16[M=1024,K=128], w: bf16[N=128,K], b: bf16[N], dy: bf16[M,N]) -> (dx: bf16[M,K], dw: bf16[N,K], db: f32[N]) {
  g = bf16(dy * relu(x @[K] w + b))
  dx = g @[N] w
  dw = g @[M] x
  db = sum[M](g)
}
kernel gates(x: f32[B=64,I=128], h: f32[B,J=128], w: f32[F=4*N,I], u: f32[F,J], b: f32[F], c: f32[B,N=64]) -> (y: f32[B,N], d: f32[B,N]) {
  z = (x @ w + h @ u + b){F->(G=4,N)}
  d = z[G: 1] * c + z[G: 0] - z[G: 2]
  y = z[G: 3] - d
}
kernel cells(x: f16[B=64,I=128], h: f16[B,N=64], w: f16[G=3,N,I], u: f16[G,N,J=N], d: f16[G,N]) -> y: f16[B,N] {
  a = x @[I] w + d
  e = h{N->J} @[J] u
  y = min(a[G: 0] + e[G: 0], max(a[G: 1] + e[G: 1], a[G: 2] - e[G: 2])) + h
}
test squared { init: integers(-1,1) tol: exact }
test turned { init: integers(-1,1) tol: exact }
test licensed { init: integers(-1,1) }
test backward { init: integers(-1,1) }
test backward { seed: 3 }
test gates { init: integers(-3,3) tol: exact }
test gates { seed: 3 }
test cells { init: integers(-2,2) tol: exact }
kernel small(x: bf16[M=40,N=24]) -> y: f32[M,I=M] {
  a = bf16(x @[N] x{M->I})
  y = a + (a @[I] a{I->K}{M->I}){K->I}
}
kernel small_turned(x: bf16[M=40,N=24], w: bf16[N,P=32]) -> (y: f32[M,I=M], z: f32[P,Q=P]) {
  a = bf16(x @[N] w)
  y = a @[P] a{M->I}
  z = a @[M] a{P->Q}
}
test small { init: integers(-1,1) tol: exact }
test small_turned { init: integers(-1,1) tol: exact }
