# By positions in the flat tensor.
kernel by_rows(x: f32[A,B]) -> y: f32[T=A*B] with { fuse: require } { y = x[A: idx(T) // size(B), B: idx(T) % size(B)] ?? 0 }
kernel by_columns(x: f32[A,B]) -> y: f32[T=A*B] with { fuse: require } { y = x[A: idx(T) % size(A), B: idx(T) // size(A)] ?? 0 }
kernel set_even(x: f32[I, G=2*J]) -> (y: f32[I,G], z: f32[I,J]) with { fuse: require } {
  z = where(idx(J) * 2 % 2 != 0, x[G: 2 * J], 1) * where((2 * idx(J) + 1) % 2 == 0, 1, x[G: 1 + 2 * J])
  y = where(idx(G) % 2 != 0, x, 1)
}
