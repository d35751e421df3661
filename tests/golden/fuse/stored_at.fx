# What shares a kernel with a store at positions, and what has to pass through memory.
kernel two(kc: inout bf16[B,T,D], vc: inout bf16[B,T,D], k: bf16[B,D], v: bf16[B,D], at: i32[B]) {
  kc[T: at] = 2 * k
  vc[T: at] = v
}
kernel own(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) { x[T: at] = (x[T: at] ?? 0) + v }
kernel others(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) { x[T: at] = (x[T: at - 1] ?? 0) + v }
kernel counted(x: inout f32[B,T,D], n: inout i32[B], v: f32[B,D]) {
  x[T: n] = v
  n = n + 1
}
kernel crossed(x: inout f32[B,T,D], n: inout i32[B], v: f32[B,D]) {
  x[T: n] = v + (x[T: n + 1] ?? 0)
  n = n[B: size(B) - 1 - B]
}
kernel product(x: inout f32[B,T,N], a: f16[B,K], w: f16[K,N], at: i32[B]) { x[T: at] = a @ w }
kernel several(x: inout f32[M,N,P], v: f32[I,J], p: i32) { x[P: p, N: 2 * I, M: size(M) - 1 - J] = v }
