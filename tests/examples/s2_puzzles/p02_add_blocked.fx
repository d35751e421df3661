# In two steps, the literal first.
kernel add_blocked(x: f32[T]) -> z: f32[T] with { fuse: require } {
  ten = 2 * 5
  z = ten + x
}
