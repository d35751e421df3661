# 23 relabels: rename, flatten in the listed order, split
kernel symmetric(x: f32[M, N=M]) -> y: f32[M,N] { y = x + 2 * x{M->J}{N->M}{J->N} }
kernel flattened(x: f32[A,B,C]) -> (p: f32[B, P=A*C], q: f32[Q=C*A, B], r: f32[R=A*B*C]) {
  p = x{(A,C)->P}
  q = x{(C,A)->Q}
  r = x{(A,B,C)->R}
}
kernel split(x: f32[M,P]) -> (y: f32[M, B=3, A=P/3], z: f32[C=2, M, D=P/6, B]) {
  y = x{P->(A,B=3)}
  z = x{P->(C=2,D,B)}
}
kernel order(x: f32[A,M,B], w: f32[M,N]) -> y: f32[P=A*B, N] { y = x{(A,B)->P} @ w }
kernel heads(x: f32[S,D], w: f32[D, E=H*V]) -> y: f32[H=2, S, V] { y = (x @ w){E->(H=2,V)} }
kernel merged(x: f32[H,S,V], w: f32[E=H*V, D]) -> y: f32[S,D] { y = x{(H,V)->E} @[E] w }
