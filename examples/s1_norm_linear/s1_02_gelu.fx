# gelu is by erf, gelu_tanh the approximation; neither ever stands for the other. Their difference, up to 5e-4, would be 0 if it did.
kernel fast_gelu(x: f32[M,N]) -> y: f32[M,N] with { fuse: require } { y = gelu_tanh(x) }
kernel exact_gelu(x: f32[M,N]) -> y: f32[M,N] with { fuse: require } { y = gelu(x) }
kernel gelu_difference(x: f32[M,N]) -> d: f32[M,N] with { fuse: require } { d = gelu(x) - gelu_tanh(x) }

test fast_gelu { M=33 N=65 }
test fast_gelu { M=512 N=4096 }
test exact_gelu { M=33 N=65 }
test exact_gelu { M=512 N=4096 }
test gelu_difference { M=16 N=64 init: 2 tol: abs <= 1e-6 }
test gelu_difference { M=33 N=65 init: uniform(-4,4) tol: abs <= 3e-6 }
bench fast_gelu { M=8192 N=8192 }
bench exact_gelu { M=8192 N=8192 }
bench gelu_difference { M=8192 N=8192 vs: [unfused] }
