include "nothing_here.fx"
include "FX1009_include.fx"
kernel k(x: f32[M]) -> y: f32[M] { y = x }
