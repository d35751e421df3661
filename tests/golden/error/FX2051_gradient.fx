kernel counted(x: f32[A], n: i32[A]) -> y: f32[A] { y = x * n }
kernel counted_bwd = grad(counted, wrt: x, n)
