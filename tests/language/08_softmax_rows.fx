# 8 row softmax, any length
kernel softmax_rows(x: f32[B,T]) -> z: f32[B,T] { z = softmax[T](x) }
