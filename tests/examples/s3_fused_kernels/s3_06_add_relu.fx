# the maximum written out
kernel add_relu_512(x: inout f32[I, J=512], b: f32[J]) with { fuse: require } { x = max(0, b + x) }
