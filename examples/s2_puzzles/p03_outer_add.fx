# Puzzle 3, outer add: z[j,i] = x[i] + y[j]. Axes meet by name; the output's declaration says which of them is stored
# last.
kernel outer_add(x: f32[I], y: f32[J]) -> z: f32[J,I] with { fuse: require } { z = x + y }

test outer_add { I=32 J=32 init: uniform(0,1) tol: abs <= 0.001 }
test outer_add { I=32 J=32 }
test outer_add { I=3 J=5 }
bench outer_add { I=32 J=32 }
