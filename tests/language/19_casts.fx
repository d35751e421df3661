# 19 casts: float to integer truncates and saturates, NaN to 0; integers wrap; floats round once; f8 saturates
kernel to_integers(x: f32[N]) -> (a: i8[N], b: u8[N], c: i16[N], d: i32[N], e: u32[N], f: i64[N], g: u64[N]) {
  a = i8(x)
  b = u8(x)
  c = i16(x)
  d = i32(x)
  e = u32(x)
  f = i64(x)
  g = u64(x)
}
kernel between_integers(x: i32[N]) -> (a: i8[N], b: u8[N], c: i16[N], d: u32[N], e: i64[N], f: bool[N]) {
  a = i8(x)
  b = u8(x)
  c = i16(x)
  d = u32(x)
  e = i64(x)
  f = bool(x)
}
kernel to_floats(x: f32[N]) -> (h: f32[N], b: f32[N], e: f32[N], f: f32[N]) {
  h = f16(x) - x
  b = bf16(x) - x
  e = f8e4m3(x) - x
  f = f8e5m2(x) - x
}
kernel overflowing(x: f32[N]) -> (h: f32[N], e: f32[N], f: f32[N]) {
  h = f16(x)
  e = f8e4m3(x)
  f = f8e5m2(x)
}
kernel from_integers(x: i64[N]) -> (s: f32[N], h: f32[N], d: f64[N]) {
  s = f32(x)
  h = f16(x)
  d = f64(x)
}
kernel of_bools(x: f32[N]) -> (b: bool[N], s: f32[N], i: i32[N]) {
  b = bool(x)
  s = f32(x > 0) * 2
  i = i32(x > 0) + 1
}
kernel rounded_middle(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = f16(x) @ f16(w) }
kernel to_nearest(x: f32[N]) -> (a: i8[N], b: u8[N], c: i16[N], d: i32[N]) {
  a = i8(round(x))
  b = u8(round(x))
  c = i16(round(x))
  d = i32(round(x))
}
