# Puzzle 5, outer product and relu: z[j,i] = relu(x[i] * y[j]).
kernel mul_relu(x: f32[I], y: f32[J]) -> z: f32[J,I] with { fuse: require } { z = relu(x * y) }

test mul_relu { I=100 J=90 init: uniform(0,1) tol: abs <= 0.001 }
test mul_relu { I=100 J=90 }
test mul_relu { I=33 J=1 init: integers(-2,2) tol: exact }
test mul_relu { I=4099 J=4097 }
bench mul_relu { I=100 J=90 }
bench mul_relu { I=8192 J=8192 }
