# 34 where an operand is f64, everything is
kernel dense(x: f64[M,K], w: f64[K,N], b: f64[N]) -> y: f64[M,N] { y = gelu(x @ w + b) }
kernel mixed(x: f32[M], y: f64[M], i: i64[M]) -> (z: f64[M], r: f64[M], d: f64[M]) {
  z = x + y * i
  r = f32(y) - y
  d = f64(x) / 3
}
kernel spread(x: f64[M,K]) -> (m: f64[M], v: f64[M], s: f64[M,K]) {
  m = mean[K](x)
  v = var[K](x)
  s = softmax[K](x)
}
