# Operands commuted, the axes under other labels.
kernel outer_add_blocked(x: f32[C], y: f32[R]) -> z: f32[R,C] with { fuse: require } { z = y + x }
