kernel k(x: f32[M]) -> y: f32[M] { y = x }
kernel gk = grad(k, wrt: x)
