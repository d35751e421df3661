# the product first, the maximum written out; -D act= names another here too
fn act(v) = max(0, v)
kernel add_mul_act(x: inout f32[I,J], bias: f32[J], in: f32[I,J], mult: f32) with { fuse: require } { x = act(in * mult + (bias + x)) }
