# How tightly each operator binds.
kernel precedence(a: f32[M,K], b: f32[K,N], c: f32[N], p: f32) -> y: f32[M,N] {
  t = 0.5 * a @ b
  u = -a ** 2 ** -p @ b
  v = a @ b @[N] -c - 1 - 2
  w = !(p < 1) && p >= 0 || p == 3 ? 1 : p != 2 ? 2 : 3
  x = 7 // 2 * 3 % 4 / 2
  require K % 16 == 0; require N >= 1
  y = t + (u - v) * -w
    - x * (a @ b)
}
