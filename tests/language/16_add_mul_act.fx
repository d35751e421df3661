# 16 in place, activation a compile-time choice (-D act=sigmoid)
fn act(v) = relu(v)
kernel add_mul_act(x: inout f32[M,N], b: f32[N], t: f32[M,N], mult: f32) { x = act(x + b + mult * t) }
