# Where what is read at computed positions came from: each position solved for a label, the rest summed over.
kernel halved(x: f32[M, F=2*N]) -> y: f32[M,N] {
  l, r = halves[F->N](x)
  y = l * sigmoid(r)
}
kernel halved_bwd = grad(halved, wrt: x)

kernel joined(a: f32[A], b: f32[B], w: f32[P=A+B]) -> y: f32[P] { y = concat[P](a{A->P}, b{B->P}) * w }
kernel joined_bwd = grad(joined, wrt: a, b)

kernel flat(x: f32[A,B], w: f32[P=A*B]) -> y: f32[P] { y = x{(A,B)->P} * w }
kernel flat_bwd = grad(flat, wrt: x)

kernel split(x: f32[P], w: f32[A,B=16]) -> y: f32[A,B] { y = x{P->(A,B)} * w }
kernel split_bwd = grad(split, wrt: x)

kernel gram(x: f32[M,K]) -> y: f32[M, J=M] { y = x @ x{M->J} }
kernel gram_bwd = grad(gram, wrt: x)

kernel pooled[U=3](x: f32[B,T]) -> z: f32[B, Q=(T-1)//2] { z = max[U](x[T: 2*Q+U]) }
kernel pooled_bwd = grad(pooled, wrt: x)

kernel apart[U=2](x: f32[T]) -> z: f32[Q=T//3] { z = sum[U](exp(x[T: 3*Q+U])) }
kernel apart_bwd = grad(apart, wrt: x)

kernel grouped(s: f32[G], x: f32[L]) -> y: f32[L] { y = x * (s[G: L//8] ?? 0) }
kernel grouped_bwd = grad(grouped, wrt: s)

kernel tiled(s: f32[G], x: f32[L]) -> y: f32[L] { y = x * (s[G: L%3] ?? 0) }
kernel tiled_bwd = grad(tiled, wrt: s)

kernel shifted(x: f32[T], y: f32[T]) -> z: f32[T] { z = x[T: T-1] ?? y }
kernel shifted_bwd = grad(shifted, wrt: x, y)

kernel mirrored(x: f32[T]) -> z: f32[T] { z = x[T: size(T)-1-T] }
kernel mirrored_bwd = grad(mirrored, wrt: x)

kernel diagonal(x: f32[A, B=A]) -> z: f32[A] { z = x[A: A, B: A] }
kernel diagonal_bwd = grad(diagonal, wrt: x)

kernel clamped(s: f32[G], x: f32[L]) -> y: f32[L] { y = x * (s[G: min(L, 2)] ?? 0) }
kernel clamped_bwd = grad(clamped, wrt: s)

kernel running(x: f32[A,B]) -> y: f32[A,B] { y = cumsum[B](x) + cumprod[A](x) }
kernel running_bwd = grad(running, wrt: x)

kernel whole(x: f32[A,B]) -> y: f32[A] { y = prod[B](x) }
kernel whole_bwd = grad(whole, wrt: x)

# Groups of a fixed length: so many as it takes, none of nothing.
kernel tiled_10(s: f32[G]) -> y: f32[L=10] { y = s[G: idx(L) % 4] ?? 0 }
kernel tiled_10_bwd = grad(tiled_10, wrt: s)

kernel tiled_8(s: f32[G]) -> y: f32[L=8] { y = s[G: idx(L) % 4] ?? 0 }
kernel tiled_8_bwd = grad(tiled_8, wrt: s)

kernel tiled_0(s: f32[G]) -> y: f32[L=0] { y = s[G: idx(L) % 4] ?? 0 }
kernel tiled_0_bwd = grad(tiled_0, wrt: s)

kernel tiled_by_1(s: f32[G], w: f32[L=6]) -> y: f32[L] { y = w * (s[G: idx(L) // 1 % 1] ?? 0) }
kernel tiled_by_1_bwd = grad(tiled_by_1, wrt: s)

# Digits of the kernel's first label, by a number and by another's length.
kernel first_by_4(w: f32[L=10], s: f32[G]) -> y: f32[L] { y = w * (s[G: idx(L) % 4] ?? 0) }
kernel first_by_4_bwd = grad(first_by_4, wrt: s)

kernel first_by_size(w: f32[L], s: f32[G], k: f32[B]) -> y: f32[L] { y = w * sum[B](k) * (s[G: L // size(B)] ?? 0) }
kernel first_by_size_bwd = grad(first_by_size, wrt: s)

kernel first_in_size(w: f32[L], s: f32[G], k: f32[B]) -> y: f32[L] { y = w * sum[B](k) * (s[G: L % size(B)] ?? 0) }
kernel first_in_size_bwd = grad(first_in_size, wrt: s)
