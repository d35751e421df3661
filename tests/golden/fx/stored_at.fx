# Stores at positions, with what is computed of them, and their gradients.
kernel decode(cache: inout bf16[B,T,H,D], k: bf16[B,S,H,D], at: i32[B]) { cache[T: at + S] = 2 * k }
kernel decode_bwd = grad(decode, wrt: cache, k)
kernel around(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) -> (before: f32[B,D], after: f32[B,D]) {
  before = sum[T](x)
  x[T: at] = v
  after = sum[T](x)
}
kernel zeroed(x: inout f32[M,N], v: f32[I,M]) -> y: f32[M] {
  y = sum[I](v)
  x[N: 3] = y * y
}
