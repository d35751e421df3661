# 11 the sum written out, right times left
kernel bmm(x: f32[A,I,C], y: f32[A,C,J]) -> z: f32[A,I,J] { z = sum[C](y * x) }
