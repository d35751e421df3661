# 21 running sums and products, along any axis
kernel last(x: f32[M,N]) -> (s: f32[M,N], p: f32[M,N]) {
  s = cumsum[N](x)
  p = cumprod[N](x)
}
kernel first(x: f32[M,N]) -> (s: f32[M,N], p: f32[M,N]) {
  s = cumsum[M](x)
  p = cumprod[M](x * 2)
}
kernel of_integers(x: i32[M,N]) -> s: i32[M,N] { s = cumsum[M](x) }
kernel of_conditions(x: f32[M,N]) -> s: i32[M,N] { s = cumsum[N](x > 0) }
kernel of_product(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = cumsum[M](x @ w) }
