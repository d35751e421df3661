# args: --arch=sm_80
kernel window(x: f32[H,W], k: f32[U=3]) -> y: f32[H,W] with { fuse: require } { y = sum[U](k * (x[H: H+U] ?? 0)) }
kernel outer(p: i32[I], q: i32[J]) -> y: i32[I,J] with { fuse: require } { y = p * 2 + q }
kernel beside(d: f32[A,D], s: f32[A,F,D]) -> y: f32[A, I=(F+1)*D] with { fuse: require } {
  y = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
}
kernel chosen(x: f32[M,N], n: i32, on: bool) -> (y: f32[M,N], z: f32[M,N]) with { fuse: require } {
  y = x + n
  z = n > 2 && on ? x * n : x
}
kernel pooled(table: f16[V,E], at: i64[B,P=3], w: f16[E]) -> y: f16[B,E] with { fuse: require } { y = sum[P](table[V: at] ?? 0) * w }
