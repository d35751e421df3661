# 20 reductions: over one axis and several, of floats, integers and conditions
kernel counts(x: f32[M,N]) -> (n: i32[M], some: bool[M], every: bool[N], both: bool[]) {
  n = sum[N](x > 0)
  some = any[N](x > 1)
  every = all[M](x > -1)
  both = any[M,N](x > 100)
}
kernel extremes(x: f32[M,N]) -> (lo: f32[M], hi: f32[N], top: f32) {
  lo = min[N](x)
  hi = max[M](x)
  top = max[M,N](x)
}
kernel places(x: f32[M,N]) -> (a: i64[M], b: i64[M], c: i64[N]) {
  a = argmax[N](x)
  b = argmin[N](x)
  c = argmax[M](x)
}
kernel moments(x: f32[M,N]) -> (m: f32[M], v: f32[M], w: f32[M], all: f32[]) {
  m = mean[N](x)
  v = var[N](x)
  w = var[N](x, correction: 1)
  all = var[M,N](x)
}
kernel products(x: f32[A,B,C]) -> (p: f32[B], q: f32[A,C], s: f32[C]) {
  p = prod[A,C](x)
  q = prod[B](x)
  s = sum[A,B](x * x)
}
kernel of_integers(x: i8[M,N]) -> (s: i32[M], p: i32[N], hi: i32[M], lo: i32[N], at: i64[M]) {
  s = sum[N](x)
  p = prod[M](x)
  hi = max[N](x)
  lo = min[M](x)
  at = argmin[N](x)
}
kernel mean_of_integers(x: i32[M,N]) -> m: f32[M] { m = mean[N](x) }
kernel weighted(x: f32[M,N], keep: bool[M,N]) -> (s: f32[M], n: i32[N]) {
  s = sum[N](keep * x)
  n = sum[M](keep)
}
