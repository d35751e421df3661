# Short rows of fixed length, which vectors of fewer elements are whole parts of; of odd length they are not. What is stored is decoded.
kernel short_rows[L=10](x: f32[N,C=3]) -> y: f16[N,E=20*C] { b = x{C->(I,O=1)} + f32(idx(L)); y = concat[S](b{O->S}, (2 * b){O->S}){(I,S,L)->E} }
# Both functions of one angle.
kernel angles[L=6](x: f32[N,C=3]) -> y: f32[N,E=12*C] {
  b = (x * exp2(f32(idx(L)))){C->(I,O=1)}
  y = concat[S](sin(b){O->S}, cos(b){O->S}){(I,S,L)->E}
}
kernel turned(x: f32[M,D], t: f32[M]) -> (y: f32[M,D], z: f32[M]) { y = x * cos(t) + sin(t); z = sum[D](sin(x) * cos(x)) }
test short_rows { N=41 init: integers(-9,9) tol: exact }
test angles { N=37 }
test angles { N=5 init: uniform(-100000,100000) }
test turned { M=37 D=70 }
