# By positions, the sum first.
kernel split_add(x: i32[I, G=2*J]) -> (left: i32[I,J], right: i32[I,J], both: i32[I,J]) with { fuse: require } {
  both = x[G: 2 * J + 1] + x[G: 2 * J]
  right = x[G: 1 + J * 2]
  left = x[G: J * 2]
}
