# Pointwise kernels whose last label is shorter than a vector: columns take labels before it, and tensors in other orders are read and written element by element.
kernel shuffle(x: bf16[B,C,U=2,V=2,H,W]) -> y: bf16[B,C,P=2*H,Q=2*W] { y = x[U: P % 2, V: Q % 2, H: P // 2, W: Q // 2] }
test shuffle { B=2 C=3 H=5 W=16 tol: exact }
test shuffle { B=2 C=3 H=5 W=7 tol: exact }
test shuffle { B=1 C=1 H=1 W=1 tol: exact }

kernel unshuffle(x: f16[B,P=2*H,Q=3*W]) -> y: f16[B,H,W,U=2,V=3] { y = x{P->(H,U)}{Q->(W,V)} }
test unshuffle { B=2 H=5 W=8 tol: exact }
test unshuffle { B=3 H=3 W=5 tol: exact }

kernel interleave(a: i8[M,N], b: i8[M,N]) -> y: i8[M,N,V=2] { y = idx(V) == 0 ? a : b }
test interleave { M=3 N=64 tol: exact }
test interleave { M=5 N=13 tol: exact }

# several orders at once, one of them stored; fixed labels that make no vector together
kernel orders(x: f32[C=3,M,N], b: f32[C], s: i32[N]) -> (y: f16[M,N,C], z: f32[C,N,M]) {
  y = x + b * s
  z = x - s
}
test orders { M=7 N=16 init: integers(-4,4) tol: exact }
test orders { M=6 N=5 init: integers(-4,4) tol: exact }
kernel few(x: bf16[C=3,M=2], b: bf16[C]) -> y: bf16[M,C] { y = x * b }
test few { }
kernel conditions(x: u8[N,M], k: i32) -> y: bool[M,N,C=2,D=1] { y = x + idx(C) + idx(D) > k }
test conditions { M=9 N=32 k=7 x.init: integers(0,14) }
test conditions { M=8 N=3 k=7 x.init: integers(0,14) }

kernel strided_pairs(x: f32[V=2,M] strided, i: i32[M]) -> (y: f32[M,V], z: f32[M,V] strided) {
  y = x[M: i] ?? 9
  z = x + y
}
test strided_pairs { M=32 i.init: integers(-2,40) tol: exact }
test strided_pairs { M=17 i.init: integers(-2,20) tol: exact }

kernel pairs_in_place(x: inout f32[M,V=2], t: f32[V,M], c: f32[V]) { x = x * c + t }
test pairs_in_place { M=16 init: integers(-4,4) tol: exact }
test pairs_in_place { M=11 init: integers(-4,4) tol: exact }
