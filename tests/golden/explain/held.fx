# args: -D N=2048 -D D=2048
# Of one matrix every label is that of a batch; its parts are no larger than it, and held as any other factor is.
kernel spread(a: f32[N,D]) -> l: f32 {
  x = a - mean[N](a)
  l = sum[D,E]((x @[N] x{D->E}) ** 2)
}
# One step of an orthogonalisation: three products of one matrix, none of which is a batch of others.
kernel orthogonal(a: bf16[N,D]) -> y: bf16[N,D] {
  x = bf16(a * rsqrt(sum[N,D](f32(a) * a)))
  p = bf16(x @[D] x{N->I})
  y = 1.5 * x - 0.5 * (p @[I] x{N->I})
}
