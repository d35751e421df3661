# Rows decoded label by label, a transposed read, a scalar, two outputs.
kernel scale(x: bf16[A,B,C], r: f32[B,C], q: f32[A], t: f16[C,A], s: f32 = 2) -> (y: bf16[A,B,C], z: f32[A,B,C]) {
  u = x * s + r
  y = relu(u) + q
  z = where(u > 0, t, -u)
}
# Rows in another order than stored: the label that lies contiguous in what is read stands last.
kernel outside(a: bf16[I,K,C]) -> y: bf16[C,I,K] { y = a }
