# What is named, shared or read once; names that collide; literals and conversions; what a kernel declares beside its types.
fn twice(v) = v + v
kernel names(x: f32[M,N], t1: f32[N], M: f32) -> (y: f32[M,N], z: f32[M]) {
  a = x * t1
  a = twice(a) + M
  y = a * exp(a)
  z = sum[N](y) + a[N: 0] ?? 0
}
kernel literals(i: i32[A], u: u32[A], b: bool[A], x: f16[A]) -> (p: i64[A], q: f32[A], r: i8[A], s: bool[]) {
  p = i + u * 3 - 5000000000
  q = where(b, -inf, x / 3) + b - 0.5
  r = i8(i // 2 % -3)
  s = any[A](b && i != 7)
}
kernel rounded(x: f16[A], w: f16[A]) -> y: f16[A] with { round: op, precision: ieee } { y = (x + w) * w }
kernel declared[U=3](x: f32[B,T], _s: f32[G=T/4], _n: i32 = 2, e: f32 = 1e-5) -> z: f32[B, Q=(T-1)//2] {
  require T % 8 == 0 && e > 0
  z = sum[U](x[T: 2*Q+U]) + e
}
kernel shapes(x: f32[P], y: f32[B,A]) -> z: f32[A,B=4] { z = x{P->(A,B)} + y{(A,B)->Q}{Q->(A,B)} }
kernel put(x: inout f32[A] strided, y: inout f32[A], s: f32[A]) {
  x = s
  y = s * 2
}
