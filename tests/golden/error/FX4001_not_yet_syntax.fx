fn g[K](v) = sum[K](v)
kernel k[U=3](x: f32[M], t: f32[H]) -> (y: f32[M], z: f32[H]) {
  require M % 16 == 0
  y = x[0] ?? 0
  a, b = halves[M->N](x)
  c = x{M->N}
  d = g[M](x)
  z = t // 2
}
kernel b(x: inout f32[M], w: f32[M] strided, v: i32[M] packed(i32, M, lsb)) { x = x }
kernel gk = grad(k, wrt: x)
test k { M=3 }
bench k { M=3 }
