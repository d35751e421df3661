# args: -D L=9
# 39 packed tensors: signed and unsigned, from either end, along any axis, in words of any width, trailing fields ignored
kernel unsigned(w: u4[J,L] packed(i32, L, lsb), x: f32[L]) -> (y: f32[J], e: i32[J,L]) {
  y = w @ x
  e = w
}
kernel signed(w: i4[J,L] packed(i32, L, lsb), x: f32[L]) -> (y: f32[J], e: i32[J,L]) {
  y = w @ x
  e = w
}
kernel from_high(w: i4[J,L] packed(i32, L, msb), x: f32[L]) -> (y: f32[J], e: i32[J,L]) {
  y = w @ x
  e = w * 2
}
kernel first_axis(w: u4[L,J] packed(u32, L, lsb), x: f32[L]) -> (y: f32[J], e: i32[L,J]) {
  y = x @ w
  e = w - 8
}
kernel in_bytes(w: u4[J,L] packed(u8, L, lsb), x: f32[L,C]) -> y: f32[J,C] { y = w @ x }
kernel bytes(w: i8[J,L] packed(i32, L, lsb), x: f32[L]) -> (y: f32[J], e: i32[J,L]) {
  y = w @ x
  e = w
}
kernel extent_given(w: u4[J,L] packed(i32, L, lsb)) -> e: i32[J,L] { e = w }
