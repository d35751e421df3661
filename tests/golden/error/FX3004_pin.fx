kernel k(x: f32[M]) -> y: f32[M] with { stages: 3 } { y = 2 * x }
