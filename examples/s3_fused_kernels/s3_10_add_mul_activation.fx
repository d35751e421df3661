# The same with an activation chosen when it is compiled: one spec, `-D act=sigmoid`, as the blocks below say for themselves. 12 bytes an element: x and in read, x written.
fn act(v) = relu(v)
kernel add_mul_act(x: inout f32[M,N], bias: f32[N], in: f32[M,N], mult: f32) with { fuse: require } { x = act(x + bias + mult * in) }

test add_mul_act { M=8 N=8 mult=0.5 }
test add_mul_act { M=8 N=8 mult=0.5 act=sigmoid }
test add_mul_act { M=65 N=127 mult=2.3 act=tanh }
test add_mul_act { M=4 N=4 mult=0.5 act=gelu }
test add_mul_act { M=1024 N=64 mult=0.5 act=silu }
bench add_mul_act { M=4 N=4 mult=0.5 act=sigmoid }
bench add_mul_act { M=256 N=64 mult=0.5 act=sigmoid }
bench add_mul_act { M=16384 N=256 mult=0.5 act=sigmoid }
bench add_mul_act { M=65336 N=512 mult=0.5 act=sigmoid }
bench add_mul_act { M=65536 N=512 mult=0.5 act=relu }
bench add_mul_act { M=65536 N=512 mult=0.5 act=sigmoid }
bench add_mul_act { M=262144 N=1024 mult=0.5 act=sigmoid }
