# Rows that are read at positions as vectors: embeddings and their norms, products of rows that indices choose. Positions lie outside at both ends; two accesses read one tensor; rows are of any
# length, so that vectors do not divide them; positions are computed, read at positions in turn, or those of a slice.
kernel embed(tok: i64[B,S], ty: i32[B,S], we: f16[V,D], wp: f16[S,D], wt: f16[Y,D], g: f16[D], b: f16[D]) -> y: f16[B,S,D] {
  y = layernorm[D]((we[V: tok % (size(V) + 2) - 1] ?? 0) + wp + (wt[Y: ty % size(Y)] ?? 0)) * g + b
}
test embed { B=3 S=5 V=11 Y=2 D=64 }
test embed { B=3 S=5 V=11 Y=2 D=37 }
test embed { B=2 S=3 V=7 Y=3 D=2 }
test embed { B=2 S=7 V=7 Y=3 D=768 }
test embed { B=2 S=2 V=4 Y=2 D=3000 }
test embed { B=1 S=2 V=4 Y=2 D=20000 }
test embed { B=1 S=1 V=3 Y=2 D=40008 }

kernel pair(u: f32[U,D], i: f32[I,D], a: i32[B], p: i32[B], n: i32[B]) -> s: f32[B] {
  e = u[U: a % (size(U) + 3)] ?? 0
  s = sum[D](e * ((i[I: n % size(I)] ?? 0) - (i[I: p % (size(I) + 1) - 1] ?? 0)))
}
test pair { U=9 I=7 D=16 B=12 }
test pair { U=9 I=7 D=64 B=300 }
test pair { U=9 I=7 D=33 B=12 }
test pair { U=4 I=3 D=4100 B=3 }
test pair { U=4 I=3 D=2 B=33 }

# one row for both passes, and what the last pass alone gathers; i8 and a scale of each row of the table
kernel coded(t: i64[B], w: i8[V,D], s: f32[V], r: bf16[V,D]) -> y: f32[B,D] {
  at = t % (size(V) + 2) - 1
  x = f32(w[V: at] ?? 0) * (s[V: at] ?? 0)
  y = x * rsqrt(mean[D](x * x) + 1e-5) + (r[V: at] ?? 0)
}
test coded { B=5 V=6 D=32 }
test coded { B=5 V=6 D=40 }
test coded { B=70 V=6 D=8 }
test coded { B=3 V=6 D=1027 }
test coded { B=2 V=3 D=9000 }

# positions read at positions, and a slice of the table's rows; the sum is over two labels
kernel paged(c: f32[P,L,D], table: i32[B,J], q: f32[B,D]) -> z: f32[B,J] {
  z = max[L,D]((c[P: table[J: idx(J)] % (size(P) + 1)] ?? 0) * q)
}
test paged { P=5 L=3 D=24 B=4 J=3 }
test paged { P=5 L=4 D=7 B=4 J=3 }

kernel bag(w: bf16[V,D], t: i64[B,K]) -> y: f32[B] { y = sum[K,D](w[V: t % (size(V) + 1)] ?? 0) }
test bag { V=9 D=16 B=4 K=3 }
test bag { V=9 D=130 B=40 K=5 }

# another value outside, so that elements are read one by one
kernel filled(w: f32[V,D], t: i64[B]) -> y: f32[B,D] { x = w[V: t % (size(V) + 1)] ?? -1; y = x / (sum[D](abs(x)) + 1) }
test filled { V=9 D=16 B=14 }
kernel zero(w: f32[V,D], t: i64[B]) -> y: f32[B,D] { x = w[V: t % (size(V) + 1)] ?? -0.0; y = x * (1 + max[D](1 / x)) }
test zero { V=9 D=16 B=14 }
