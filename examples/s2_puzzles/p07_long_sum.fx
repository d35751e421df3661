# Puzzle 7, sums of rows of any length, 200 here: no block need hold a row.
kernel long_sum(x: f32[B,T]) -> z: f32[B] with { fuse: require } { z = sum[T](x) }

test long_sum { B=4 T=200 init: uniform(0,1) tol: abs <= 0.001 }
test long_sum { B=4 T=200 }
test long_sum { B=4 T=200 init: integers(-100000,100000) tol: exact }
test long_sum { B=3 T=1 }
test long_sum { B=2 T=0 tol: exact }
test long_sum { B=4 T=1048577 }
bench long_sum { B=4 T=200 }
bench long_sum { B=4096 T=8192 }
