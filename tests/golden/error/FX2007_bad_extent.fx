kernel k(x: f32[M=2.5], z: f32[K=0-1], u: f32[J=1/0]) -> y: f32[M] { y = x }
