kernel k(x: i8[M], n: i32, h: f16) -> (y: f64[M], b: bool[M]) {
  y = f64(x)
  b = x > 0
}
