# a product reads a tensor behind a store at positions where it lies; not where the stored elements pass through the workspace
kernel appended(q: bf16[B,R,D], kc: inout bf16[B,T,D], k: f32[B,D], n: i32[B]) -> y: f32[B,R,T] {
  kc[T: n] = bf16(k * 2)
  y = q @[D] kc
}
kernel around(q: bf16[B,R,D], kc: inout bf16[B,T,D], k: bf16[B,D], n: i32[B]) -> (before: f32[B,R,T], y: f32[B,R,T]) {
  before = q @[D] kc
  kc[T: n] = k
  y = before + q @[D] kc
}
kernel through(q: bf16[B,R,D], kc: inout bf16[B,T,D], n: i32[B]) -> y: f32[B,R,T] {
  kc[T: n] = kc[T: 0] ?? 0
  y = q @[D] kc
}
kernel other_dtype(q: f16[B,R,D], kc: inout f32[B,T,D], k: f32[B,D], n: i32[B]) -> y: f32[B,R,T] {
  kc[T: n] = k
  y = q @[D] f16(kc)
}
# rows that are computed from the product read the tensor behind the store: the program that stores is another one
kernel rows_after(w: f32[T,P], kc: inout f32[T,D], k: f32[M,D], n: i32) -> (y: f32[M,D], z: f32[P,D]) {
  kc[T: n + M] = k - max[D](k)
  z = w @[T] kc
  y = k * max[D](k - max[P](z))
}
