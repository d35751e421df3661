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

# a few adjacent elements for each column, taken by number: read with the columns, as vectors
kernel taps(x: bf16[B,T,C], k: bf16[C,U=4], b: bf16[C]) -> y: f32[B,T,C] { y = sum[U](k * (x[T: idx(T) + idx(U) - 3] ?? 0)) + b }
test taps { B=2 T=5 C=16 init: integers(-8,8) tol: exact }
test taps { B=2 T=5 C=21 init: integers(-8,8) tol: exact }

kernel fields(x: f16[M,N,A=2,B=4], w: f32[N,A=2]) -> (y: f32[M,N], z: f16[M,N]) {
  y = x[A: 1, B: 3] * w[A: 0] - x[A: 0, B: 2] * w[A: 1]
  z = x[A: 1, B: 0]
}
test fields { M=3 N=16 init: integers(-8,8) tol: exact }
test fields { M=3 N=11 init: integers(-8,8) tol: exact }

kernel planes(x: f32[P=2,M,N,A=2]) -> y: f32[M,N] { y = x[P: 0, A: 0] - 3 * x[P: 1, A: 1] + 5 * x[P: 1, A: 0] }
test planes { M=3 N=16 init: integers(-8,8) tol: exact }
test planes { M=3 N=13 init: integers(-8,8) tol: exact }

kernel taken(x: f32[V=9,N,A=2], ids: i32[M]) -> y: f32[M,N] { y = (x[V: ids, A: 0] ?? 7) - (x[V: ids, A: 1] ?? 0) }
test taken { M=12 N=8 x.init: integers(-8,8) ids.init: integers(-2,11) tol: exact }
test taken { M=12 N=13 x.init: integers(-8,8) ids.init: integers(-2,11) tol: exact }

kernel summed(x: f16[M,K], w: f16[K,N], s: f32[N,P=2]) -> y: f32[M,N] with { fuse: require } { y = (x @ w) * s[P: 0] + s[P: 1] }
test summed { M=40 K=64 N=64 init: integers(-4,4) tol: exact }
test summed { M=40 K=64 N=45 init: integers(-4,4) tol: exact }
# The first and the last label change places: none of the rows that stand last lies contiguous in what is read, so that they are taken in another order.
kernel outside(a: bf16[I,K,C]) -> y: bf16[C,I,K] { y = a }
kernel outside_sum(a: f32[I,K,C], b: f32[C,I,K]) -> y: f32[C,I,K] { y = a + b }
kernel outside_batch(a: f16[B,I,K,C]) -> y: f16[B,C,I,K] { y = a }
test outside { I=5 K=40 C=24 init: integers(-9,9) tol: exact }
test outside { I=3 K=37 C=19 init: integers(-9,9) tol: exact }
test outside { I=1 K=8 C=1 init: integers(-9,9) tol: exact }
test outside { I=70 K=16 C=130 init: integers(-9,9) tol: exact }
test outside_sum { I=5 K=40 C=24 init: integers(-9,9) tol: exact }
test outside_sum { I=7 K=33 C=35 init: integers(-9,9) tol: exact }
test outside_batch { B=2 I=5 K=40 C=24 init: integers(-9,9) tol: exact }
test outside_batch { B=2 I=5 K=41 C=23 init: integers(-9,9) tol: exact }
