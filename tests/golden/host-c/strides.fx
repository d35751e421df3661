# Extents that follow from others, strides, positions, and what is written in place.
kernel spread(x: f32[M,N] strided, i: i64[T], e: inout f32[T,N], h: f32[H=2*N]) -> (y: f32[T,N], z: f32[N]) {
  require N % 4 == 0
  y = x[M: i] ?? 0
  e = e + 1
  z = max[M](x) + h[H: N]
}
