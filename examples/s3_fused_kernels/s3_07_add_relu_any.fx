# The same for any N. A kernel written by hand that takes a thread a column, blockDim = N, fails past 1024 columns: here blocks share the elements, whatever N is.
kernel add_relu(x: inout f32[M,N], b: f32[N]) with { fuse: require } { x = relu(x + b) }

test add_relu { M=8 N=10 tol: abs <= 1e-5 }
test add_relu { M=8 N=1024 tol: abs <= 1e-5 }
test add_relu { M=8 N=1025 tol: abs <= 1e-5 }
test add_relu { M=3 N=5000 init: integers(-9,9) tol: exact }
test add_relu { M=1 N=1 }
bench add_relu { M=128 N=512 }
bench add_relu { M=8192 N=8192 }
