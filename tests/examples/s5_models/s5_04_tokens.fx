# Other labels, positions written out.
kernel rope(x: f16[T,N,F=2*K], c: f32[T,K], s: f32[T,K]) -> y: f16[T,N,F] with { fuse: require } {
  u = x[F: idx(K)]
  v = x[F: idx(K) + size(K)]
  y = concat[F]((c * u - s * v){K->F}, (s * u + c * v){K->F})
}
kernel cache_append(kc: inout bf16[N,L,X,F=2*K], vc: inout bf16[N,L,X,F], k: bf16[N,X,F], v: bf16[N,X,F], c: f32[N,K], s: f32[N,K],
    at: i32[N]) with { fuse: require } {
  vc[N, i64(at), X, F] = v
  p = k[F: idx(K)]
  q = k[F: size(K) + idx(K)]
  kc[N, i64(at), X, F] = concat[F]((c * p - s * q){K->F}, (s * p + c * q){K->F})
}
kernel paged_gather(cache: f16[A,S=16,N,F], table: i32[C,L]) -> k: f16[C,L,S,N,F] with { fuse: require } { k = cache[A: table, S: idx(S)] ?? 0 }
kernel top2_gate(z: f32[N,X]) -> p: f32[N,X] with { fuse: require } {
  most = max[X](z)
  m = where(abs(most) < inf, most, 0)
  e = exp(z - m)
  t = sum[X](e)
  q = where(t == 0, 0, e / t)
  i = argmax[X](q)
  j = argmax[X](where(i == idx(X), -1, q))
  r = where(idx(X) == j || idx(X) == i, q, 0)
  p = r / sum[X](r)
}
kernel histogram(x: i32[T]) -> h: i32[U=256] { h = sum[T](where(idx(U) == x, 1, 0)) }
kernel segment_ids(starts: i32[A,N]) -> id: i32[A,N] with { fuse: require } { id = -1 + cumsum[N](where(0 < starts, 1, 0)) }
kernel short_conv(x: bf16[A,S,D], w: bf16[U=4,D], b: bf16[D]) -> y: bf16[A,S,D] with { fuse: require } {
  t = b + sum[U](w * (x[S: idx(U) - 3 + idx(S)] ?? 0))
  y = t * sigmoid(t)
}
