kernel k[N](x: f32[M]) -> y: f32[M] { y = x * f32(size(N)) }
