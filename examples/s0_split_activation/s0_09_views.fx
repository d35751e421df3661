# Views of a row-major matrix: flattened by rows, flattened by columns, and with its even columns set. Setting every other column is a choice by the index: an output
# is always written whole. Of zeros with ones in the even columns, even times odd is all zeros.
kernel by_rows(x: f32[I,J]) -> y: f32[L=I*J] with { fuse: require } { y = x{(I,J)->L} }
kernel by_columns(x: f32[I,J]) -> y: f32[L=I*J] with { fuse: require } { y = x{(J,I)->L} }
kernel set_even(x: f32[R, F=2*N]) -> (y: f32[R,F], z: f32[R,N]) with { fuse: require } {
  y = where(idx(F) % 2 == 0, 1, x)
  even, odd = evenodd[F->N](y)
  z = even * odd
}

test by_rows    { I=3 J=4 tol: exact }
test by_rows    { I=37 J=65 tol: exact }
test by_columns { I=3 J=4 tol: exact }
test by_columns { I=37 J=65 tol: exact }
test set_even   { R=4 N=4 x.init: 0 tol: exact }
test set_even   { R=33 N=17 tol: exact }
bench by_rows    { I=8192 J=8192 }
bench by_columns { I=8192 J=8192 }
bench set_even   { R=8192 N=4096 vs: [unfused] }
