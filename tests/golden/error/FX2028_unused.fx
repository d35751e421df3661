# Everything that nothing reads, and beside it what is read, meant or bound again. Warnings are no errors: the last kernel has one.
const eps = 1e-5
const used = 2
const _spare = 3
fn twice(v, w) = used * v
fn spare(v) = v
fn parts(v) -> a, b {
  a = v
  t = v + 1
  b = a
}
kernel k[U=3, V=4, _W=5](x: f32[M,N], b: f32[N], n: i32, sizes: f32[M2], q: f32[R], _c: f32[N], e: inout f32[M]) -> (y: f32[M,N], z: f32[M2, O=V*R]) {
  h = twice(x, 1)
  h = twice(x, 2)
  l, r = parts(h)
  _s = r
  y = h
  z = 0
  e = e + 1
}
kernel l(x: f32[M,N]) -> y: f32[M] { y = x[N: 0] ?? 0 }
kernel bound(x: f32[T], s: f32[T], i: i64[S], V: f32[T]) -> y: f32[S] {
  x = s[T: i] ?? 0
  require T % 2 == 0
  y = x
}
kernel either(x: f32[M]) -> y: f32[M] {
  a = x + 1
  b = x + 2
  y = x > 0 ? a : b
}
kernel last(x: f32[M]) -> y: f32[M] with { kernels: 2 } { y = x }
