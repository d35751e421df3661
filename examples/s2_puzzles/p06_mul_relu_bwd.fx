# Puzzle 6, the backward of relu(x * y) by x, derived rather than written. Where x * y is 0 the derivative of relu is 0;
# the notebook's kernel, which asks for x * y < 0, passes dz on there. Integers hit that corner in one of three
# products.
kernel mul_relu_2d(x: f32[J,I], y: f32[J]) -> z: f32[J,I] with { fuse: require } { z = relu(x * y) }
kernel mul_relu_2d_bwd = grad(mul_relu_2d, wrt: x) with { fuse: require }         # (x, y, dz) -> dx

test mul_relu_2d { J=90 I=100 init: uniform(0,1) tol: abs <= 0.001 }
test mul_relu_2d_bwd { J=90 I=100 init: uniform(0,1) tol: abs <= 0.001 }
test mul_relu_2d_bwd { J=90 I=100 }
test mul_relu_2d_bwd { J=90 I=100 init: integers(-2,2) tol: exact }
test mul_relu_2d_bwd { J=7 I=33 x.init: 0 dz.init: ones tol: exact }
test mul_relu_2d_bwd { J=4097 I=4099 }
bench mul_relu_2d { J=90 I=100 }
bench mul_relu_2d_bwd { J=90 I=100 }
bench mul_relu_2d_bwd { J=8192 I=8192 }
