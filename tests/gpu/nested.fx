# args: --skip=access
# Accesses of accesses, which the pass `access` would make one: an inner one has labels that the outer one places.
kernel attention(q: bf16[N,S,D], kv: bf16[N,P=2,S,D]) -> o: bf16[N,S,D] {
  k = kv[P: 0]{S->T}
  v = kv[P: 1]{S->T}
  o = softmax[T](q @[D] k) @[T] v
}
test attention { N=2 S=24 D=16 }
test attention { N=3 S=64 D=64 }
kernel turned(x: f32[P=2,S,K]) -> y: f32[S,K] {
  a = exp(x[P: 1])
  y = a[S: size(S) - 1 - idx(S)] + a
}
test turned { S=5 K=24 }
kernel product(x: f16[P=3,M,K], w: f16[P,K,N], b: f16[P,M,N]) -> y: f16[L=M,N] {
  y = x[P: 2]{M->L} @[K] w[P: 1] + (b[P: 0])[M: size(M) - 1 - idx(L)]
}
test product { M=40 K=32 N=24 init: integers(-2,2) tol: exact }
