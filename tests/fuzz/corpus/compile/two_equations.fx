kernel w4(sc: f32[J, G=L/8], zp: u4[J, G=L/9] packed(i32, G, lsb), wq: u4[J, L] packed(i32, L, lsb), y: f32[L,C])
    -> z: f32[J,C] {
  z = (sc[G: L/8] * (wq - zp[G: L/8])) @[L] y
}

# 11 batched matmul: B is shared and kept, K is contracted