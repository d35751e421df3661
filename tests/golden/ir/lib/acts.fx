# Included by ../include.fx, and by the file it includes: once.
include "lib/scale.fx"
include "include.fx"
fn act(v) = relu(v) * scale
