# Group norm, 64 groups of 64 columns each, of silu of a linear layer plus a vector.
# A group lies within a tile, so that the epilogue has its statistics: one kernel.
kernel silu_group_norm(x: f32[M,K], w: f32[N=4096,K], b: f32[N], a: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  h = silu(x @ w + b) + a
  n = layernorm[C](h{N->(G=64,C)})
  y = n{(G,C)->N} * g + be
}
kernel silu_group_norm_tf32(x: f32[M,K], w: f32[N=4096,K], b: f32[N], a: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  h = silu(x @ w + b) + a
  n = layernorm[C](h{N->(G=64,C)})
  y = n{(G,C)->N} * g + be
}

test silu_group_norm { M=3 K=20 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test silu_group_norm { M=17 K=7 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test silu_group_norm { M=32768 K=1024 init: uniform(0,1) w.init: uniform(-0.03125,0.03125) b.init: uniform(-0.03125,0.03125) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test silu_group_norm_tf32 { M=3 K=20 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test silu_group_norm_tf32 { M=17 K=7 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test silu_group_norm_tf32 { M=32768 K=1024 init: uniform(0,1) w.init: uniform(-0.03125,0.03125) b.init: uniform(-0.03125,0.03125) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench silu_group_norm { M=32768 K=1024 init: uniform(0,1) w.init: uniform(-0.03125,0.03125) b.init: uniform(-0.03125,0.03125) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
bench silu_group_norm_tf32 { M=32768 K=1024 init: uniform(0,1) w.init: uniform(-0.03125,0.03125) b.init: uniform(-0.03125,0.03125) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
