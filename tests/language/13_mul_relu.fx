# 13 product + relu and its backward
kernel mul_relu(x: f32[J,I], y: f32[J]) -> z: f32[J,I] { z = relu(x * y) }
kernel mul_relu_bwd = grad(mul_relu, wrt: x)         # (x, y, dz) -> dx
