# The groups as an axis of their own, split off the weight; a sum of a product.
kernel quant_dot_8(scale: f32[I, E=8], offset: u4[Q=8*I] packed(i32, Q, lsb), weight: u4[I, R=64] packed(i32, R, lsb), activation: f32[R,C])
    -> z: f32[I,C] with { fuse: require } {
  q = ((weight{R->(E=8,F=8)} - offset{Q->(I,E=8)}) * scale){(E,F)->R}
  z = sum[R](activation * q)
}
kernel quant_dot(scale: f32[I, P=R/8], offset: u4[I, P=R/8] packed(i32, P, lsb), weight: u4[I, R] packed(i32, R, lsb), activation: f32[R,C])
    -> z: f32[I,C] with { fuse: require } {
  q = ((weight{R->(P,E=8)} - offset) * scale){(P,E)->R}
  z = sum[R](activation * q)
}
