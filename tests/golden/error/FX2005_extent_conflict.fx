kernel k(x: f32[M=3], w: f32[M=4]) -> y: f32[M] { y = x + w }
