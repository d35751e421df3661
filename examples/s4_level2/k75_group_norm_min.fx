# The least element of each row of a group norm, 512 groups of 16 columns each, of a linear layer, plus a vector: an outer sum, columns first.
kernel group_norm_min(x: f32[M,K], w: f32[N=8192,K], b: f32[N], g: f32[N], be: f32[N], a: f32[N]) -> y: f32[N,M] with { kernels: 2, precision: ieee } {
  h = layernorm[C]((x @ w + b){N->(G=512,C)})
  y = min[N](h{(G,C)->N} * g + be) + a
}
kernel group_norm_min_tf32(x: f32[M,K], w: f32[N=8192,K], b: f32[N], g: f32[N], be: f32[N], a: f32[N]) -> y: f32[N,M] with { kernels: 2, precision: tf32 } {
  h = layernorm[C]((x @ w + b){N->(G=512,C)})
  y = min[N](h{(G,C)->N} * g + be) + a
}

test group_norm_min { M=2 K=20 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test group_norm_min { M=9 K=7 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test group_norm_min { M=1024 K=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test group_norm_min_tf32 { M=2 K=20 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test group_norm_min_tf32 { M=9 K=7 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test group_norm_min_tf32 { M=1024 K=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench group_norm_min { M=1024 K=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
bench group_norm_min_tf32 { M=1024 K=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
