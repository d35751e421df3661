# Functions that are accurate near 0, of each type that they are computed in.
kernel halves(x: f16[N]) -> (y: f16[N], z: f16[N]) {
  y = log1p(x)
  z = expm1(x)
}
kernel doubles(x: f64[N], i: i32[N]) -> (y: f64[N], z: f32[N]) {
  y = log1p(x) + expm1(x)
  z = log1p(i)
}
