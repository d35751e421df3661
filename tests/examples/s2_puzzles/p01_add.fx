# The literal first, and the axis under another label.
kernel add_i32(x: i32[T]) -> z: i32[T] with { fuse: require } { z = 10 + x }
kernel add(x: f32[T]) -> z: f32[T] with { fuse: require } { z = 10 + x }
