# Puzzle 11, products of a batch of matrices: B is in both operands and in the output and is kept, K is summed over. The
# notebook's strides and masks are right for squares alone, so the other tests have none.
kernel bmm(x: f32[B,M,K], y: f32[B,K,N]) -> z: f32[B,M,N] with { fuse: require } { z = x @ y }

test bmm { B=4 M=32 K=32 N=32 init: uniform(0,1) tol: abs <= 0.001 }
test bmm { B=4 M=32 K=32 N=32 }
test bmm { B=3 M=17 K=40 N=65 init: integers(-9,9) tol: exact }
test bmm { B=2 M=70 K=9 N=31 }
test bmm { B=16 M=500 K=260 N=388 }
bench bmm { B=4 M=32 K=32 N=32 }
bench bmm { B=64 M=512 K=256 N=384 }
