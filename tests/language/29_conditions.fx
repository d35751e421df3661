# 29 conditions: ?: and where choose by element, && || ! take bools, comparisons with NaN are false, bools count in arithmetic
kernel choose(a: f32[M,N], b: f32[N], m: bool[M]) -> (y: f32[M,N], z: f32[M,N], w: f32[M,N]) {
  y = m ? a : b
  z = a > 1 ? 1 : a < -1 ? -1 : a
  w = where(m && !(a < b), a, 0)
}
kernel logic(p: bool[N], q: bool[N]) -> (c: bool[N], d: bool[N], n: bool[N], x: bool[N]) {
  c = p && q
  d = p || q
  n = !p
  x = p || !q && !p
}
kernel compared(a: f32[N], b: f32[N]) -> (lt: bool[N], le: bool[N], gt: bool[N], ge: bool[N], eq: bool[N], ne: bool[N]) {
  lt = a < b
  le = a <= b
  gt = a > b
  ge = a >= b
  eq = a == b
  ne = a != b
}
kernel counted(x: f32[N], p: bool[N], q: bool[N]) -> (s: i32[N], y: f32[N], n: bool[N]) {
  s = p + q + p
  y = x * p - q
  n = isnan(x)
}
kernel guarded(x: f32[N]) -> y: f32[N] { y = where(x > 0, log(x), 0) }
kernel by_scalar(x: f32[N], on: bool, n: i32) -> (y: f32[N], z: f32[N]) {
  y = on ? x : -x
  z = n > 2 && on ? x * n : x
}
kernel precedence(a: f32[N], b: f32[N], c: f32[N]) -> (p: f32[N], q: f32[N], r: f32[N], s: f32[N], t: f32[N], u: bool[N]) {
  p = a - b - c
  q = a / b / c
  r = -a ** 2 + b * -c
  s = a ** 2 ** 3 / 4
  t = 2 ** -b * c
  u = a + b < c * 2 || a < b && !(b < c)
}
