# Reductions over small overlapping windows become pointwise; others stay.
kernel taps(x: bf16[B,T,C], w: bf16[K=4,C]) -> y: bf16[B,T,C] { y = sum[K]((x[T: idx(T) + idx(K) - 3] ?? 0) * w) }
kernel pool[R=3,S=3](x: f32[N,H,W,C]) -> y: f32[N,P=(H-1)//2,Q=(W-1)//2,C] {
  y = max[R,S](x[H: 2*idx(P) + idx(R), W: 2*idx(Q) + idx(S)] ?? -inf)
}
# dilated: neighbours share elements all the same
kernel dilated[K=3](x: f32[T]) -> y: f32[T] { y = min[K](x[T: idx(T) + 2*idx(K)] ?? 0) }
# windows side by side, of few elements; of more they are rows
kernel beside[K=2](x: f32[T=2*Q]) -> y: f32[Q] { y = max[K](x[T: 2*idx(Q) + idx(K)]) }
kernel apart[K=8](x: f32[T=8*Q]) -> y: f32[Q] { y = max[K](x[T: 8*idx(Q) + idx(K)]) }
# of an extent that is not fixed, of too many terms, of another reduction, a matrix product
kernel free(x: f32[T], w: f32[K]) -> y: f32[T] { y = sum[K]((x[T: idx(T) + idx(K)] ?? 0) * w) }
kernel long[K=128](x: f32[T]) -> y: f32[T] { y = sum[K](x[T: idx(T) + idx(K)] ?? 0) }
kernel summed[K=3](x: f32[T,D]) -> y: f32[T] { y = max[K](sum[D](x)[T: idx(T) + idx(K)] ?? 0) }
kernel conv(x: bf16[H,W,C], w: bf16[R=3,C,K]) -> y: bf16[H,W,K] { y = sum[R,C]((x[H: idx(H) + idx(R)] ?? 0) * w) }
kernel apart_too[K=3](x: f32[T]) -> y: f32[T] with { fuse: never } { y = sum[K](x[T: idx(T) + idx(K)] ?? 0) }
