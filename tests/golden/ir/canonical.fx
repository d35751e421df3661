# What the checker makes of names, fns, broadcasts, casts and conditions.
fn act(v, slope = 0.5) = where(v > 0, v, slope * v)
const two = 2
kernel pointwise(x: f32[A,B], r: bf16[B], q: f16[A], s: f32 = 3) -> (y: f16[B,A], z: f32[A,B]) {
  u = act(x * two, slope: 0.25) + r
  y = f16(u) ** 2 + s
  u = clamp(u, -1, 1)
  z = u / 4 - q + (x < r ? 1 : u)
}
kernel orders(a: f32[M,K], b: f32[N,K], c: f32[K,M]) -> (p: f32[M,N], q: f32[N,M]) {
  p = a @ b
  q = b @[K] c
}
