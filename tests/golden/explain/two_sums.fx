# args: -v -D M=1024 -D K=2048 -D N=2048
# two products of one operand are two sums of one mainloop, whether two tensors hold the weights or the halves or turns of one
kernel two_tensors(a: f32[M,K], bl: f32[N,K], br: f32[N,K]) -> d: f32[M,N] with { precision: tf32 } { d = sigmoid(a @ bl) * tanh(a @ br) }
kernel turns(a: f32[M,K], w: f32[F=2*N, K]) -> d: f32[M,N] with { precision: tf32 } {
  l, r = evenodd[F->N](a @ w)
  d = sigmoid(l) * tanh(r)
}
