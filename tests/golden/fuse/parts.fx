# Parts of equal length side by side: read whole, chosen by the part. Choices below a choice of the same condition go.
kernel rope(x: f16[S,H,D=2*E], c: f32[S,E], s: f32[S,E]) -> y: f16[S,H,D] {
  a, b = halves[D->E](x)
  y = concat[D]((a * c - b * s){E->D}, (b * c + a * s){E->D})
}
kernel nested(x: f32[M], y: f32[M], z: f32[M]) -> w: f32[M] {
  c = x < y
  w = where(c && z > 0, 2 * where(c, x, 0) + where(!c, 3, z), exp(where(c && z > 0 && x > 1, y, z)))
}
kernel other(x: f32[M], y: f32[M], z: f32[M]) -> w: f32[M] {
  c = x < y
  w = where(c, x, where(c && z > 0, 1, where(z > 0, y, z)))
}
