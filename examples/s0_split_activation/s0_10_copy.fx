# A copy through a transposed grid of indices: every element is found by its column, then its row. The names of the axes carry it, so the grid's order has no effect.
kernel copy_transposed(x: f32[I,J]) -> y: f32[I,J] with { fuse: require } {
  t = x{I->A}{J->B}
  y = t[B: idx(J), A: idx(I)]
}
kernel transpose(x: f32[I,J]) -> y: f32[J,I] with { fuse: require } { y = x }

test copy_transposed { I=4 J=8 tol: exact }
test copy_transposed { I=33 J=70 tol: exact }
test transpose { I=4 J=8 tol: exact }
test transpose { I=33 J=70 tol: exact }
bench copy_transposed { I=8192 J=8192 }
bench transpose { I=8192 J=8192 }
