fn f(v) = v
fn f(v) = v + 1
fn gelu(v) = v
kernel k(x: f32[M], x: f32[M]) -> y: f32[M] { y = x }
kernel k(x: f32[M]) -> y: f32[M] { y = x }
