# args: --arch=sm_90
kernel rows(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M] with { fuse: require } { y = sum[N](relu(x @ w + b)) }
kernel several(x: bf16[B,M,K], w: bf16[B,K,N]) -> (y: bf16[B,M,N], r: f32[B,N], s: i32) {
  h = x @ w
  y = h
  r = max[M](h)
  s = sum[B,M,N](i32(h > 0))
}
