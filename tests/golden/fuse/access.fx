# args: --stop-after=access
# Relabels and windows reach the leaves; what is read twice is not computed twice.
kernel renamed(x: f32[M,K], w: f32[K,N]) -> y: f32[M,J=N] { y = relu((x @ w){N->J}) }
kernel kept(x: f32[M,K], w: f32[K, F=2*N]) -> y: f32[M,N] {
  l, r = halves[F->N](x @ w)
  y = l * sigmoid(r)
}
kernel back_and_forth(x: f32[P=M*N], m: f32[M], n: f32[N]) -> y: f32[P] { y = (x{P->(M,N)} * m + n){(M,N)->P} }
kernel window[U=3](x: f32[T], b: f32[T]) -> (y: f32[T], z: f32[T]) {
  y = sum[U](relu(x)[T: T+U-1] ?? 0)
  z = max[U]((x + b)[T: T+U-1] ?? -inf)
}
kernel running(x: f32[T,H]) -> y: f32[T,J=H] { y = cumsum[T](x * 2){H->J} }
kernel small(x: f32[M=4,K=16], w: f32[K,F=2*N]) -> d: f32[M,N=8] {
  l, r = halves[F->N](x @ w)    # as much of w, but for less than an element
  d = relu(l) * r + l
}
