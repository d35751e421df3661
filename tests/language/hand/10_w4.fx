# 10 the groups as an axis of their own, split off the weight
kernel w4(sc: f32[I, P=R/8], zp: u4[I, P=R/8] packed(i32, P, lsb), wq: u4[I, R] packed(i32, R, lsb), y: f32[R,C])
    -> z: f32[I,C] {
  q = ((wq{R->(P,E=8)} - zp) * sc){(P,E)->R}
  z = sum[R](y * q)
}
