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
# Many products of small matrices, of a few terms a result; a product of products of 6 x 6. Not of more terms, of few of them, nor where a chain has the rows of one between two.
kernel small(a: f32[B=4096,M=16,K=16], b: f32[B,K,N=16]) -> y: f32[B,M,N] { y = a @ b }
kernel narrow(x: bf16[M=65536,K=8], w: bf16[N=8,K]) -> y: bf16[M,N] { y = x @[K] w }
kernel twice(p: f32[N=8192,I=3,J=3], f: f32[A=3,I]) -> y: f32[N,A,C=A] { y = sum[I,J](p * f * f[A: idx(C), I: idx(J)]) }
kernel shallow(x: bf16[M,K=4], w: bf16[N=256,K], b: f32[N]) -> y: bf16[M,N] { y = gelu(x @[K] w + b) }
kernel deeper(a: f32[B=4096,M=16,K=32], b: f32[B,K,N=16]) -> y: f32[B,M,N] { y = a @ b }
kernel fewer(a: f32[B=64,M=16,K=16], b: f32[B,K,N=16]) -> y: f32[B,M,N] { y = a @ b }
kernel chained(q: bf16[H=4096,S=16,D=16], k: bf16[H,T=16,D], v: bf16[H,T,E=16]) -> o: bf16[H,S,E] { o = softmax[T](q @[D] k) @[T] v }
# Short sums of what no tensor holds: coordinates of distances, gathered rows. Not where a tensor holds it, or an access reads the sum; terms of a softmax of taps are apart, its sums are not.
kernel distances(x: f32[M,D=3], y: f32[N,D]) -> r: f32[M,N] { r = sum[D]((x - y) ** 2) }
kernel neighbours(v: f16[N,F], at: i32[N,K=5]) -> y: f16[N,F] { y = max[K](v[N: at] ?? 0) }
kernel held(x: f32[M,N,D=3], y: f32[N,D]) -> r: f32[M,N] { r = sum[D](x * y) }
kernel read_apart[U=4](x: f32[T]) -> y: f32[T] { y = sum[U](x[T: T // (idx(U) + 1)])[T: size(T) - 1 - T] }
kernel weighed_taps(x: f32[T,C], w: f32[T,U=3]) -> y: f32[T,C] { y = sum[U](softmax[U](w) * (x[T: T+U-1] ?? 0)) }
