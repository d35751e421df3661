# 3 the halves by accesses, gelu by erf
kernel geglu(x: bf16[I,C], w: bf16[E=2*J, C], b: bf16[E]) -> y: bf16[I,J] {
  h = b + w @[C] x
  g = h[E: J + size(J)]
  y = g * 0.5 * (erf(g * 0.7071067811865476) + 1) * h[E: J]
}
