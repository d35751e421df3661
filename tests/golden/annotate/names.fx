# args: -D N=64
# Lets, names bound again, several targets, scalars, literals, constants, conditions, casts, undecided axes, arguments by name out of order.
const half = 1 / 2.0
fn ends[K](v, scale = 1) -> lo, hi {
  lo = scale * min[K](v)
  hi = scale * max[K](v)
}
fn blend(a, b, t = 0.5) = t * a + (1 - t) * b
kernel first(x: f32[M,N], b: f32[M], c: f32[N], s: f32, d: f32[]) -> (y: f32[M,N], z: f32[N,M], lo: f16[M]) {
  require M % 4 == 0
  outer = b + c                  # whichever comes first is no order to go by
  h = half * x; h = h > 0 ? h : -h
  lo, top = ends[N](x, scale: 2)
  y = blend(t: (s * 0.25), a: h - f16(top), b: outer) ** 2
  z = (x > 0 && !(x > 1)) * d
}

kernel second(x: f32[T,D], w: f32[D,E]) -> y: f32[T,E] with { fuse: never } {
  y = x @[D] (w * 2.0) + where(true, 0, 1)
}
