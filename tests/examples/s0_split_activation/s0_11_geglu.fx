# The halves by positions, gelu by erf.
kernel geglu(x: f32[I,C], w: f32[E=2*J, C], b: f32[E]) -> y: f32[I,J] with { precision: ieee, fuse: require } {
  h = b + w @[C] x
  g = h[E: J + size(J)]
  y = g * 0.5 * (erf(g * 0.7071067811865476) + 1) * h[E: J]
}
kernel geglu_f16(x: f16[I,C], w: f16[E=2*J, C], b: f16[E]) -> y: f16[I,J] with { fuse: require } {
  g = sum[C](w[E: J + size(J)] * x) + b[E: J + size(J)]
  z = b[E: J] + sum[C](x * w[E: J])
  y = g * 0.5 * (erf(g * 0.7071067811865476) + 1) * z
}
