# Strides as arguments and as conditions of the variants that take vectors; what fixed extents leave out.
kernel update(x: inout f32[M,N] strided, t: f16[M,U=1,N] strided, b: f32[N]) { x = x + b * t[U: 0] }
kernel product(x: f16[M,K] strided, w: f16[K,N]) -> y: f16[M,N] strided { y = x @ w }
kernel softmax(x: bf16[B,T] strided) -> z: bf16[B,T] strided { z = softmax[T](x) }
