# Half the sum over all pairs of adjacent columns of a linear layer of the larger of the two. Written out.
kernel pair_max_sum(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R] with { kernels: 2, precision: ieee } {
  pairs = (b + w @[L] x){J->(A,B=2)}
  y = sum[A](max[B](pairs)) * 0.5
}
kernel pair_max_sum_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R] with { kernels: 2, precision: tf32 } {
  pairs = (b + w @[L] x){J->(A,B=2)}
  y = sum[A](max[B](pairs)) * 0.5
}
