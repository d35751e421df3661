# 13 the backward by hand
kernel mul_relu(x: f32[R,C], y: f32[R]) -> z: f32[R,C] { z = max(y * x, 0) }
kernel mul_relu_bwd(x: f32[R,C], y: f32[R], dz: f32[R,C]) -> dx: f32[R,C] { dx = y * where(y * x > 0, dz, 0) }
