# args: -D N=2048 -D D=2048
# Of one matrix every label is that of a batch; its parts are no larger than it, and held as any other factor is.
kernel spread(a: f32[N,D]) -> l: f32 {
  x = a - mean[N](a)
  l = sum[D,E]((x @[N] x{D->E}) ** 2)
}
