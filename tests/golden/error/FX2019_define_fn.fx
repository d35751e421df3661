# args: -D act=nothing
fn act(v) = v
kernel k(x: f32[M]) -> y: f32[M] { y = act(x) }
