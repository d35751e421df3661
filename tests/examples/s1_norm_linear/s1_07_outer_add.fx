# The other operand first.
kernel outer_rows(p: i32[A], q: i32[B]) -> z: i32[A,B] with { fuse: require } { z = q + (p + p) }
kernel outer_columns(p: i32[A], q: i32[B]) -> z: i32[B,A] with { fuse: require } { z = q + 2 * p }
