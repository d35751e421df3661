include "other/file.fx"
const EPS = 1e-5
const TWO_PI = 2 * 3.141592653589793
fn twice(v) = v + v
fn norm[K](v, eps = 1e-5, lo = -inf) = v * rsqrt(mean[K](v * v) + eps)
fn split[F, N](v) -> l, r {
  require size(F) % 2 == 0
  l, r = halves[F->N](v)
}
kernel nothing() { }
kernel mul_bwd = grad(mul, wrt: x, y) with { fuse: never }
test mul { M=3 act=sigmoid x.init: uniform(-1, 1) tol: f16_ulp <= 2 seed: 7 vs: [a, f(1, [2]), -3] }
bench mul { }
