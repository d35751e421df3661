# args: -v -D M=512 -D K=1024
# how a variance is found: from deviations in a second pass, or from sums of squares in the first
kernel two_pass(x: f32[M,K]) -> y: f32[M,K] { y = layernorm[K](x) }
kernel one_pass(x: f32[M,K]) -> y: f32[M,K] {
  m = mean[K](x)
  y = (x - m) * rsqrt(mean[K](x * x) - m * m + 1e-5)
}
kernel one_statistic(x: f32[M,K]) -> y: f32[M,K] { y = rmsnorm[K](x) }
