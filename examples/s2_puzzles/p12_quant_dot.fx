# Puzzle 12, a product with 4-bit weights: z = (scale * (weight - offset)) @ activation, eight weights to an i32, groups
# of eight along L, with a scale and a 4-bit offset each. Weights are unpacked as they are loaded. quant_dot_8 takes the
# offsets as the notebook has them, one i32 a row for exactly eight groups. The notebook's own kernel leaves scale and
# offset out.
kernel quant_dot(scale: f32[J, G=L/8], offset: u4[J, G=L/8] packed(i32, G, lsb), weight: u4[J, L] packed(i32, L, lsb), activation: f32[L,C])
    -> z: f32[J,C] with { fuse: require } {
  z = (scale[G: L/8] * (weight - offset[G: L/8])) @[L] activation
}
kernel quant_dot_8(scale: f32[J, G=8], offset: u4[P=8*J] packed(i32, P, lsb), weight: u4[J, L=64] packed(i32, L, lsb), activation: f32[L,C])
    -> z: f32[J,C] with { fuse: require } {
  o = offset{P->(J,G=8)}
  z = (scale[G: L//8] * (weight - o[G: L//8])) @[L] activation
}

test quant_dot { J=32 L=64 C=32 init: uniform(0,1) weight.init: integers(-100000,100000) offset.init: integers(-100000,100000) tol: abs <= 0.001 }
test quant_dot { J=32 L=64 C=32 }
test quant_dot { J=7 L=72 C=33 init: integers(-2,2) weight.init: integers(-2000000000,2000000000) offset.init: integers(-2000000000,2000000000) tol: exact }
test quant_dot_8 { J=32 C=32 }
test quant_dot_8 { J=5 C=9 init: integers(-2,2) weight.init: integers(-2000000000,2000000000) offset.init: integers(-2000000000,2000000000) tol: exact }
test quant_dot { J=1024 L=4096 C=64 }
bench quant_dot { J=32 L=64 C=32 }
bench quant_dot_8 { J=32 C=32 }
bench quant_dot { J=4096 L=4096 C=64 }
