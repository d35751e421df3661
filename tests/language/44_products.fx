# 44 sums of products of several factors, in any order
kernel three(x: f32[M,K], w: f32[N,K], s: f32[K]) -> (y: f32[M,N], z: f32[M,N], q: f32[M,N]) {
  y = sum[K](x * w * s)
  z = sum[K](w * s * x)
  q = sum[K](x * w / s)
}
kernel ints(x: i8[M,K], w: i8[N,K], s: i32[K]) -> y: i32[M,N] { y = sum[K](x * w * s) }
kernel narrow(x: f16[B,M,K], w: f16[B,N,K], s: f32[B,K]) -> y: f32[B,M,N] { y = sum[K](x * w * s) }
kernel bilinear(x: f32[B,I], w: f32[O,I,J], y: f32[B,J]) -> z: f32[B,O] { z = sum[I,J](x * w * y) }
kernel two_weights(x: f32[B,I], u: f32[I,J], v: f32[J,O]) -> z: f32[B,O] { z = sum[I,J](x * u * v) }
kernel ring(a: f32[I,J], b: f32[J,K], c: f32[K,L], d: f32[L,I]) -> t: f32 { t = sum[I,J,K,L](a * b * c * d) }
kernel core(g: f32[P,Q,R], a: f32[I,P], b: f32[J,Q], c: f32[K,R]) -> t: f32[I,J,K] { t = sum[P,Q,R](g * a * b * c) }
kernel form(x: f32[M,I], w: f32[I,J=I]) -> q: f32[M] { q = sum[I,J](x * w * x{I->J}) }
# the order of labels is that of what is written: `@` then sums over N
kernel then(x: f32[I], u: f32[I,J], v: f32[J,O], z: f32[O,P]) -> y: f32[P] { y = sum[I,J](x * u * v) @ z }
# an output is what it is
kernel stored(x: f32[M,K], w: f32[N,K], s: f32[K]) -> (p: f32[M,N,K], y: f32[M,N]) {
  p = x * w * s
  y = sum[K](p)
}
# what is summed over all of its labels in one factor alone, and what no other order makes cheaper, stays
kernel rows(x: f32[M,K], y: f32[M,K], z: f32[K]) -> (s: f32[M], t: f32[M]) {
  s = sum[K](x * y * z)
  t = sum[K](x / z / y)
}
kernel one(x: f32[M,K], w: f32[N,K], s: f32[K]) -> y: f32[M,N] { y = sum[K](x * w * s) }
kernel one_bwd = grad(one, wrt: x, w, s)
