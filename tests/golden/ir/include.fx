include "lib/acts.fx"
include "lib/scale.fx"
kernel k(x: f32[M]) -> y: f32[M] { y = act(x) + scale }
