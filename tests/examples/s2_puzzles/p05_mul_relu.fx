# relu as a maximum, operands commuted.
kernel mul_relu(x: f32[C], y: f32[R]) -> z: f32[R,C] with { fuse: require } { z = max(0, y * x) }
