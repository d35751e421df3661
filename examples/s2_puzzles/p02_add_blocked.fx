# Puzzle 2, constant add of a vector longer than a block and no multiple of one: nothing in the spec says how long a
# block is, and the end of the last one is masked by the compiler.
kernel add_blocked(x: f32[N]) -> z: f32[N] with { fuse: require } { z = x + 10 }

test add_blocked { N=200 init: uniform(0,1) tol: abs <= 0.001 }
test add_blocked { N=200 }
test add_blocked { N=1023 }
bench add_blocked { N=200 }
