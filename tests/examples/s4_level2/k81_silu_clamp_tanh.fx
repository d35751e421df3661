# A linear layer, silu, halved, clamped, tanh, clamped once more, which changes nothing: tanh is within [-1, 1]. Written out.
kernel silu_clamp_tanh(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: ieee } {
  t = sum[L](w * x)
  s = silu(b + t) * 0.5
  y = min(max(tanh(min(max(s, -1), 1)), -1), 1)
}
kernel silu_clamp_tanh_tf32(x: f32[R,L], w: f32[J,L], b: f32[J]) -> y: f32[R,J] with { fuse: require, precision: tf32 } {
  t = sum[L](w * x)
  s = silu(b + t) * 0.5
  y = min(max(tanh(min(max(s, -1), 1)), -1), 1)
}
