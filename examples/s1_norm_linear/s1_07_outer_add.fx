# An outer sum by name, arange(12)[:,None] * 2 + arange(3) both ways round: which axis comes first is said by the output alone.
kernel outer_rows(p: i32[I], q: i32[J]) -> z: i32[I,J] with { fuse: require } { z = p * 2 + q }
kernel outer_columns(p: i32[I], q: i32[J]) -> z: i32[J,I] with { fuse: require } { z = p * 2 + q }

test outer_rows { I=12 J=3 tol: exact }
test outer_rows { I=37 J=129 init: integers(-100000,100000) tol: exact }
test outer_columns { I=12 J=3 tol: exact }
test outer_columns { I=37 J=129 init: integers(-100000,100000) tol: exact }
bench outer_rows { I=8192 J=8192 }
bench outer_columns { I=8192 J=8192 }
