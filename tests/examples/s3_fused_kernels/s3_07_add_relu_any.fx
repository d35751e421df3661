# the maximum written out
kernel add_relu(x: inout f32[I,J], b: f32[J]) with { fuse: require } { x = max(0, b + x) }
