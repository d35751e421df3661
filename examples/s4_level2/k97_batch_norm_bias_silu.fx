# Batch norm of a linear layer, plus a number that lies on the device, silu.
# The product takes column sums of its tiles on the way out; two row programs finish the means, then take variances and normalise.
# Batch norm as in training: statistics over the rows, biased variance.
fn batch_norm[M](v, g, be) = layernorm[M](v) * g + be
kernel batch_norm_bias_silu(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N], c: f32[]) -> y: f32[M,N] with { precision: ieee } {
  y = silu(batch_norm[M](x @ w + b, g, be) + c)
}
kernel batch_norm_bias_silu_tf32(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N], c: f32[]) -> y: f32[M,N] with { precision: tf32 } {
  y = silu(batch_norm[M](x @ w + b, g, be) + c)
}

test batch_norm_bias_silu { M=67 K=20 N=68 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test batch_norm_bias_silu { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test batch_norm_bias_silu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test batch_norm_bias_silu_tf32 { M=67 K=20 N=68 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test batch_norm_bias_silu_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test batch_norm_bias_silu_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench batch_norm_bias_silu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
bench batch_norm_bias_silu_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
