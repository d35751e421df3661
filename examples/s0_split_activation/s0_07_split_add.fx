# Even and odd columns of a matrix of integers, added: of 0..23 in rows of six, 1 5 9 ... 45.
kernel split_add(x: i32[R, F=2*N]) -> (left: i32[R,N], right: i32[R,N], both: i32[R,N]) with { fuse: require } {
  left, right = evenodd[F->N](x)
  both = left + right
}

test split_add { R=4 N=3 tol: exact }
test split_add { R=37 N=129 init: integers(-100000,100000) tol: exact }
bench split_add { R=8192 N=8192 vs: [unfused] }
