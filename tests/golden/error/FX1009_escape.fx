include "/etc/hostname"
include "../run.sh"
include "lib/../../run.sh"
include "FX1009_escape.txt"
kernel k(x: f32[M]) -> y: f32[M] { y = x }
