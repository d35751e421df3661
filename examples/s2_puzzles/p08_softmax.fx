# Puzzle 8, softmax of rows of any length, shifted by the maximum. A row that fits is kept in registers and read once, a
# longer one is read in each of three walks: `fxc explain -v` says which at every entry. With --with=algebra.exp2 exp becomes
# exp2, log2(e) multiplied in.
kernel softmax_rows(x: f32[B,T]) -> z: f32[B,T] with { fuse: require } { z = softmax[T](x) }

test softmax_rows { B=4 T=200 init: uniform(0,1) tol: abs <= 0.001 }
test softmax_rows { B=4 T=200 }
test softmax_rows { B=4 T=200 init: normal(0,100) }
test softmax_rows { B=3 T=1 tol: exact }
test softmax_rows { B=2 T=33000 }
test softmax_rows { B=512 T=8191 }
bench softmax_rows { B=4 T=200 }
bench softmax_rows { B=4096 T=8192 }
