# The largest, then the sum of exponentials.
kernel cross_entropy(z: bf16[R,C], label: i32[R]) -> (loss: f32, lse: f32[R]) {
  require C > 0
  most = max[C](z)
  m = where(abs(most) < inf, most, 0)
  e = sum[C](exp(z - m))
  lse = log(where(e == 0, 1, e)) + m
  lse_of = lse
  loss = sum[R](lse_of - (z[C: label] ?? 0)) / size(R)
}
kernel cross_entropy_backward(z: bf16[R,C], label: i32[R], lse: f32[R], d: f32) -> dz: bf16[R,C] with { fuse: require } {
  dz = d * (exp(z - lse) - where(label == idx(C), 1, 0)) / size(R)
}
