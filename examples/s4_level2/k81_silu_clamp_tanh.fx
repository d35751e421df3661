# A linear layer, silu, halved, clamped, tanh, clamped once more, which changes nothing: tanh is within [-1, 1].
kernel silu_clamp_tanh(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  h = silu(x @ w + b) / 2
  y = clamp(tanh(clamp(h, -1, 1)), -1, 1)
}
kernel silu_clamp_tanh_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  h = silu(x @ w + b) / 2
  y = clamp(tanh(clamp(h, -1, 1)), -1, 1)
}

test silu_clamp_tanh { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test silu_clamp_tanh { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test silu_clamp_tanh { M=20 K=36 N=68 init: normal(0,3) }
test silu_clamp_tanh { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
test silu_clamp_tanh_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test silu_clamp_tanh_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test silu_clamp_tanh_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test silu_clamp_tanh_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench silu_clamp_tanh { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench silu_clamp_tanh_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
