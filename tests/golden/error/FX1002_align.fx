kernel f(x: f32[M] align 48, b: f32[M] align 512) -> y: f32[M] align 0 { y = x + b }
