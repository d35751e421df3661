# Puzzle 1, constant add: z = x + 10. The literal takes the type of the tensor it meets, so an integer tensor stays one.
kernel add(x: f32[N]) -> z: f32[N] with { fuse: require } { z = x + 10 }
kernel add_i32(x: i32[N]) -> z: i32[N] with { fuse: require } { z = x + 10 }

test add { N=32 init: uniform(0,1) tol: abs <= 0.001 }
test add { N=32 }
test add { N=1 }
test add { N=16777219 }
test add_i32 { N=32 init: integers(-100000,100000) tol: exact }
bench add { N=32 }
bench add { N=16777216 }
