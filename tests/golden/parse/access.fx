# Accesses, relabels, casts, labels of calls.
kernel access[U=3, P=H//2](x: f16[B,H,W] strided, t: f32[V,E] align 16, ids: i64[B], w: const u4[J, L] packed(i32, L, lsb),
                           s: f32 = -1.5e-3, n: i32[],)
    -> (y: f32[B,P], z: bf16[B,E]) with { tile: [128, 64, [2, 1]], fuse: require, precision: ieee, } {
  e = t[V: ids] ?? -inf
  f = x[B, H+U-1, 2*W] ?? x[B, H, W] ?? 0
  g = (x{H->(P,Q=2)} + 1){(P,Q)->H}{B->C}
  l, r = evenodd[F->N](max[K,L](f16(e)))
  m = max(l, r, axis: 3)
  y = clamp(e[V], 0, true ? 1.0 : nan)
  z = 18446744073709551615 + 1e100 + .5 + 2. + 1E-07
}
