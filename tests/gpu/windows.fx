# Reads at positions that the elements of a thread have in common: as vectors where they lie adjacent, element by element else.
# Windows of few elements, unrolled; shifts, gathers of rows, in pointwise kernels and in epilogues.

kernel taps(x: bf16[B,T,C], w: bf16[K=4,C]) -> y: bf16[B,T,C] { y = silu(sum[K]((x[T: idx(T) + idx(K) - 3] ?? 0) * w)) }
test taps { B=2 T=9 C=16 }
test taps { B=2 T=9 C=16 init: integers(-3,3) }
test taps { B=3 T=7 C=13 }
test taps { B=1 T=2 C=1 }

kernel taps_last(x: f32[B,T], w: f32[K=4]) -> y: f32[B,T] { y = sum[K]((x[T: idx(T) + idx(K) - 1] ?? 0) * w) }
test taps_last { B=3 T=32 init: integers(-5,5) }
test taps_last { B=3 T=17 }

kernel pool[R=3,S=3](x: f16[N,H,W,C]) -> y: f16[N,P=(H-1)//2,Q=(W-1)//2,C] {
  y = max[R,S](x[H: 2*idx(P) + idx(R), W: 2*idx(Q) + idx(S)] ?? -inf)
}
test pool { N=2 H=9 W=8 C=8 }
test pool { N=1 H=5 W=7 C=3 init: integers(-9,9) }

kernel mean_pool[R=2,S=3](x: i32[H,W]) -> y: i32[H,W] { y = sum[R,S](x[H: idx(H) + idx(R), W: idx(W) + idx(S)] ?? 1) }
test mean_pool { H=6 W=11 }

# what is outside is no zero; the position is a parameter, data, or made of two labels
kernel shifted(x: f32[M,N], s: i32) -> y: f32[M,N] { y = (x[M: idx(M) - s] ?? -2) + x }
test shifted { M=7 N=8 s=2 }
test shifted { M=7 N=9 s=-3 }
test shifted { M=4 N=4 s=9 }

kernel rows_of(t: bf16[V,D], i: i32[N]) -> y: f32[N,D] { y = (t[V: i] ?? 0.5) * 2 }
test rows_of { V=5 D=24 N=11 i.init: integers(-2,6) }
test rows_of { V=5 D=7 N=11 i.init: integers(-2,6) }

kernel pages(c: f16[P,S=4,H,D], table: i32[B,Q], g: f32[D]) -> y: f16[B,Q,S,H,D] { y = (c[P: table] ?? 0) * g }
test pages { P=3 H=2 D=8 B=2 Q=3 table.init: integers(0,3) }
test pages { P=3 H=3 D=5 B=3 Q=4 table.init: integers(-1,4) }

# in the epilogue of a product
kernel looked_up(x: bf16[M,K], w: bf16[K,N], t: f32[V,N], i: i32[M]) -> y: f32[M,N] { y = relu(x @ w + (t[V: i] ?? 1)) }
test looked_up { M=70 K=64 N=72 V=6 init: integers(-2,2) i.init: integers(-1,7) }
test looked_up { M=33 K=40 N=35 V=6 init: integers(-2,2) i.init: integers(-1,7) }
kernel neighbour(x: f32[M,K], w: f32[K,N], r: f32[M,N]) -> y: f32[M,N] { y = x @ w + (r[M: idx(M) - 1] ?? 0) }
test neighbour { M=33 K=20 N=64 init: integers(-2,2) }
test neighbour { M=9 K=5 N=17 init: integers(-2,2) }

# halves put side by side: whole parts are read and chosen between, not elements
kernel rope(x: f16[S,H,D=2*E], c: f32[S,E], s: f32[S,E]) -> y: f16[S,H,D] {
  a, b = halves[D->E](x)
  y = concat[D]((a * c - b * s){E->D}, (b * c + a * s){E->D})
}
test rope { S=5 H=3 E=16 }
test rope { S=2 H=3 E=7 }
test rope { S=3 H=2 E=8 x.init: integers(-3,3) c.init: integers(-3,3) s.init: integers(-3,3) }
kernel four(x: f32[M,N], y: f32[M,N]) -> z: f32[M, P=4*N] { z = concat[P](x{N->P}, y{N->P}, relu(x){N->P}, (x * y){N->P}) }
test four { M=3 N=8 }
test four { M=3 N=5 init: integers(-4,4) }
kernel block(x: f32[M,N], y: f32[M,N]) -> z: f32[Q=2*M,N] { z = concat[Q]((x + y){M->Q}, (x - y){M->Q}) }
test block { M=3 N=8 init: integers(-4,4) }
kernel unequal(x: f32[M,A], y: f32[M,B]) -> z: f32[M, P=A+B] { z = concat[P](x{A->P}, (y * 2){B->P}) }
test unequal { M=3 A=4 B=9 init: integers(-4,4) }

# a choice between literals, read at positions and run along
kernel chosen(s: f32[A,N]) -> (a: i32[A,N], b: f32[A,M=N], c: i32[A,N], d: f32[A,P=N+N]) {
  a = cumsum[N](where(0 < s, 1, 0))
  b = where(0 < s, 1.5, 0){N->M}
  c = where(0 < s, 1, 0)[N: idx(N) - 1] ?? 5
  d = concat[P](where(0 < s, 1, 0){N->P}, s{N->P})
}
test chosen { A=3 N=20 }
# of so many filters blocks of a cluster stand beside each other; of so few pixels the last one has none
kernel beside(x: bf16[B,H=6,W=9,C=16], w: bf16[F,U=3,V=3,C]) -> z: f32[B,H,W,F] { z = sum[U,V,C]((x[H: H + U - 1, W: W + V - 1] ?? 0) * w) }
test beside { B=2 F=256 init: integers(-2,2) tol: exact }
