# 46 stores at positions: elements of a tensor written in place, and the others left as they are
kernel decode(cache: inout f16[B,T,H,D], k: f16[B,H,D], at: i32[B]) { cache[T: at] = k }
kernel append(cache: inout f32[B,T,D], k: f32[B,S,D], at: i64[B]) { cache[T: at + S] = 2 * k }
kernel turned(cache: inout f16[B,D,T], k: f16[B,S,D], at: i32) { cache[T: at + S] = k }
kernel rotated(kc: inout f16[B,T,D=2*E], vc: inout f16[B,T,D], k: f16[B,D], v: f16[B,D], c: f32[B,E], s: f32[B,E],
    at: i32[B]) with { fuse: require } {
  l, r = halves[D->E](k)
  kc[T: at] = concat[D]((l * c - r * s){E->D}, (r * c + l * s){E->D})
  vc[T: at] = v
}
kernel column(x: inout i32[M,N], v: i32[M], i: i32[M]) { x[N: i] = v }
kernel cleared(x: inout bool[M,N], i: i32) { x[M: i] = false }
kernel diagonal(x: inout f32[M,N=M], v: f32[I=M]) { x[I, I] = v }
kernel knight(x: inout f32[M,N], v: f32[I,J]) { x[M: size(M) - 1 - J, N: 2 * I + J] = v }
kernel ring(x: inout f32[B,T,D], v: f32[B,D], n: i32[B]) {
  require T > 0
  x[T: n % size(T)] = v
}
kernel decayed(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) { x[T: at] = 0.5 * (x[T: at] ?? 0) + v }
kernel first(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) { x[T: at] = v + (x[T: 0] ?? 0) }
kernel counted(x: inout f32[B,T,D], n: inout i32[B], v: f32[B,D]) {
  x[T: n] = v
  n = n + 1
}
kernel crossed(x: inout f32[B,T,D], n: inout i32[B], v: f32[B,D]) {
  x[T: n] = v + (x[T: n + 1] ?? 0)
  n = n[B: size(B) - 1 - B]
}
kernel around(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) -> (before: f32[B,D], after: f32[B,D]) {
  before = sum[T](x)
  x[T: at] = v
  after = sum[T](x)
}
kernel quantised(q: inout i8[B,T,D], s: inout f32[B,T], v: f32[B,D], at: i32[B]) {
  a = max[D](abs(v)) / 127
  q[T: at] = i8(round(v / a))
  s[T: at] = a
}
kernel projected(x: inout f32[B,T,N], a: f16[B,K], w: f16[K,N], at: i32[B]) { x[T: at] = a @ w }
kernel summed(x: inout f32[B,T,D], n: i32[B,K], v: f32[B,D]) { x[T: sum[K](n)] = v + (x[T: 0] ?? 0) }
kernel append_bwd = grad(append, wrt: cache, k)
kernel column_of(x: inout f32[M,N,P], v: f32[M], i: i32) { x[N: i] = v * v }
kernel column_bwd = grad(column_of, wrt: x, v)
kernel normed(x: inout f16[B,T,D], v: f16[B,D], g: f32[D], at: i32[B]) with { fuse: require } { x[T: at] = rmsnorm[D](v) * g }
kernel lifted(x: inout f32[D,T,B], v: f32[D,B], at: i32[B]) with { fuse: require } { x[T: at] = v - mean[D](v) }
kernel running(x: inout f32[B,T,D], last: inout f32[B,T], v: f32[B,D], at: i32[B]) {
  s = cumsum[D](v)
  x[T: at] = s
  last[T: at] = sum[D](v)
}
