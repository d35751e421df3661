# Puzzle 4, outer add of 100 and 90: both axes end within a block.
kernel outer_add_blocked(x: f32[I], y: f32[J]) -> z: f32[J,I] with { fuse: require } { z = x + y }

test outer_add_blocked { I=100 J=90 init: uniform(0,1) tol: abs <= 0.001 }
test outer_add_blocked { I=100 J=90 }
test outer_add_blocked { I=101 J=33 }
test outer_add_blocked { I=4099 J=4097 }
bench outer_add_blocked { I=100 J=90 }
bench outer_add_blocked { I=8192 J=8192 }
