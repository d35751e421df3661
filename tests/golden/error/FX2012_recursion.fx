fn f(v) = g(v)
fn g(v) = f(v) + 1
kernel k(x: f32[M]) -> y: f32[M] { y = f(x) }
