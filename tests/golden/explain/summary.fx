kernel two(x: f16[M,K], w: f16[K,N], g: f16[N]) -> (y: f16[M,N], m: f32[M]) {
  h = (0.125 * x) @ w          # two GPU kernels, a buffer between them
  y = softmax[N](h) * g        # a function of the language stands as it was called
  m = max[N](abs(h))
}
kernel long(x: f32[M=1048576,K=1048576], w: f32[K,N=1048576]) -> y: f32[M,N] { y = relu(x @ w + 1) }
kernel longest(x: f32[B=16777216,M=16777216], w: f32[M,N=16777216]) -> y: f32[B,N] { y = x @ w }
kernel step(x: inout f32[M,N], b: f32[N]) -> s: f32[M] {
  s = sum[N](x)
  x = x + b
}
