# 18 integers: // and % floor, by zero they give 0; narrow ones promote first, u32 meets a signed one in i64, what overflows wraps
kernel divide(a: i32[N], b: i32[N]) -> (q: i32[N], r: i32[N]) {
  q = a // b
  r = a % b
}
kernel divide_i64(a: i64[N], b: i64[N]) -> (q: i64[N], r: i64[N]) {
  q = a // b
  r = a % b
}
kernel divide_u64(a: u64[N], b: u64[N]) -> (q: u64[N], r: u64[N]) {
  q = a // b
  r = a % b
}
kernel mixed(a: u32[N], b: i32[N]) -> (s: i64[N], d: i64[N], p: i64[N], less: bool[N]) {
  s = a + b
  d = b - a
  p = a * b
  less = b < a
}
kernel promoted(a: i8[N], b: u8[N]) -> (s: i32[N], p: i32[N], n: i32[N]) {
  s = a + b + 200
  p = a * b
  n = -b
}
kernel wrapped(a: i32[N], b: i32[N]) -> (s: i32[N], d: i32[N], p: i32[N]) {
  s = a + b
  d = a - b
  p = a * b
}
kernel wide(a: i64[N], b: i32[N], c: u64[N]) -> (s: i64[N], p: i64[N], t: u64[N]) {
  s = a + b
  p = a * b
  t = c * 3 + 1
}
kernel unsigned(a: u32[N], b: u32[N]) -> (s: u32[N], q: u32[N]) {
  s = a + b
  q = a // b
}
kernel with_floats(i: i32[N], x: f32[N]) -> (s: f32[N], h: f32[N], r: f32[N]) {
  s = i + x
  h = i + 0.5
  r = i / x
}
kernel extremes(a: i32[N], b: i32[N]) -> (lo: i32[N], hi: i32[N], c: i32[N], m: i32[N]) {
  lo = min(a, b)
  hi = max(a, b)
  c = clamp(a, -3, 3)
  m = abs(a) * sign(b)
}
kernel contracted(x: i8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
