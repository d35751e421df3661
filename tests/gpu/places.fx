# Stores at positions.
# Of a tensor with one place: the label of what is stored is in its position alone.
kernel one_place(k: f32[M,N], c: inout f32[T=1,N], n: i32) { c[T: n + M] = k * 2 }
test one_place { M=3 N=5 n=-1 init: integers(-2,2) tol: exact }
test one_place { M=3 N=5 n=0 init: integers(-2,2) tol: exact }
kernel one_place_of(x: f32[M=40,N=20], c: inout f32[T=1,N], u: f32[U=3], n: i32) { c[T: n + M] = sum[U](x * (x[N: N+U-1] ?? 0) * u) }
test one_place_of { n=-7 init: integers(-2,2) tol: exact }
kernel one_place_row(k: f32[M=3,N], c: inout f32[N,T=1], n: i32) { c[T: n + M] = k - max[N](k) }
test one_place_row { N=70 n=-2 init: integers(-2,2) tol: exact }
