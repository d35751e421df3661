# A sum of which each result takes every second term becomes a sum for each remainder of its label, in steps; of two conditions four. Sums of a matrix product are one, as in together, where the remainders of the taps are linear in those of the label, as they are not in by_fours. In odd, sums have different numbers of taps, and in uneven a last element that is not read. Not of labels whose extents are not fixed, of a label that is summed by itself, where the value elsewhere is not 0, or where the kernel says how it is to be fused.
kernel once(x: f32[B=4,T=32], k: f32[U=4]) -> y: f32[B,P=64] { y = sum[U](where((idx(P) + 1 - idx(U)) % 2 == 0, x[T: (P + 1 - U) // 2] ?? 0, 0) * k) }
kernel twice(x: bf16[B=8,C=64,H=32,W=32], k: bf16[C,O=64,U=4,V=2]) -> y: bf16[B,O,P=64,Q=64] {
  y = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) - idx(V)) % 2 == 0, x[H: (P + 1 - U) // 2, W: (Q - V) // 2] ?? 0, 0) * k)
}
kernel free(x: f32[B,T], k: f32[U=4]) -> y: f32[B,P=2*T] { y = sum[U](where((idx(P) - idx(U)) % 2 == 0, x[T: (P - U) // 2] ?? 0, 0) * k) }
kernel odd(x: f32[B=4,T=32], k: f32[U=3]) -> y: f32[B,P=64] { y = sum[U](where((idx(P) - idx(U)) % 2 == 0, x[T: (P - U) // 2] ?? 0, 0) * k) }
kernel uneven(x: f32[B=4,T=32], k: f32[U=3]) -> y: f32[B,P=63] { y = sum[U](where((idx(P) + 1 - idx(U)) % 2 == 0, x[T: (P + 1 - U) // 2] ?? 0, 0) * k) }
kernel alone(x: f32[B=4,T=32], k: f32[U=4]) -> y: f32[B,P=64] { y = sum[U](where(idx(U) % 2 == 0, x[T: P // 2] ?? 0, 0) * k) }
kernel ones(x: f32[B=4,T=32], k: f32[U=4]) -> y: f32[B,P=64] { y = sum[U](where((idx(P) - idx(U)) % 2 == 0, x[T: (P - U) // 2] ?? 0, 1) * k) }
kernel whole(x: f32[B=4,T=32], k: f32[U=4]) -> y: f32[B,P=64] with { fuse: require } { y = sum[U](where((idx(P) - idx(U)) % 2 == 0, x[T: (P - U) // 2] ?? 0, 0) * k) }
kernel by_fours(x: f16[B=8,C=64,T=256], k: f16[C,O=64,U=8]) -> y: f16[B,O,P=1024] { y = sum[C,U](where((idx(P) + 2 - idx(U)) % 4 == 0, x[T: (P + 2 - U) // 4] ?? 0, 0) * k) }
kernel together(x: bf16[B=8,H=32,W=32,C=64], k: bf16[O=64,U=4,V=2,C]) -> y: bf16[B,P=64,Q=64,O] {
  y = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) - idx(V)) % 2 == 0, x[H: (P + 1 - U) // 2, W: (Q - V) // 2] ?? 0, 0) * k)
}
