# Even and odd columns multiplied: of 0..31 in rows of eight, 0 6 20 42 72 ... 930.
kernel split_mul(x: f32[R, F=2*N]) -> z: f32[R,N] with { fuse: require } {
  even, odd = evenodd[F->N](x)
  z = even * odd
}

test split_mul { R=4 N=4 init: integers(0,31) tol: exact }
test split_mul { R=37 N=129 }
bench split_mul { R=8192 N=8192 vs: [unfused] }
