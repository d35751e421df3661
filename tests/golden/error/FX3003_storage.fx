kernel update(x: inout f32[M,N] align 16, b: f32[N], t: f32[M,N] strided) { x = x + b * t }
