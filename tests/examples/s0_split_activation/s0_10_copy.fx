# Without the grid; with it.
kernel copy_transposed(x: f32[A,B]) -> y: f32[A,B] with { fuse: require } { y = x }
kernel transpose(x: f32[A,B]) -> y: f32[B,A] with { fuse: require } { y = x{A->C}{B->D}[D: idx(B), C: idx(A)] }
