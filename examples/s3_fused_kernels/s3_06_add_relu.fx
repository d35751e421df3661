# x = max(0, x + b) in place, N fixed at 512: where an index within a row is needed, it comes of shifts, so that there is no division in the loop.
kernel add_relu_512(x: inout f32[M, N=512], b: f32[N]) with { fuse: require } { x = relu(x + b) }

test add_relu_512 { M=128 init: ones tol: exact }                       # all 2
test add_relu_512 { M=128 tol: abs <= 1e-4 }
test add_relu_512 { M=3 init: integers(-9,9) tol: exact }
bench add_relu_512 { M=128 }
bench add_relu_512 { M=65536 }
