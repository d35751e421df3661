# Batch norm of a linear layer scaled column by column, as k33, of more rows.
# The product takes column sums of its tiles on the way out; two row programs finish the means, then take variances and normalise.
# Batch norm as in training: statistics over the rows, biased variance.
fn batch_norm[M](v, g, be) = layernorm[M](v) * g + be
kernel scale_batch_norm(x: f32[M,K], w: f32[N,K], b: f32[N], s: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  h = (x @ w + b) * s
  y = batch_norm[M](h, g, be)
}
kernel scale_batch_norm_tf32(x: f32[M,K], w: f32[N,K], b: f32[N], s: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { precision: tf32 } {
  h = (x @ w + b) * s
  y = batch_norm[M](h, g, be)
}

test scale_batch_norm { M=67 K=20 N=68 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test scale_batch_norm { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test scale_batch_norm { M=16384 K=4096 N=4096 init: uniform(0,1) w.init: uniform(-0.01562,0.01562) b.init: uniform(-0.01562,0.01562) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test scale_batch_norm_tf32 { M=67 K=20 N=68 init: uniform(0,1) w.init: uniform(-0.2236,0.2236) b.init: uniform(-0.2236,0.2236) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test scale_batch_norm_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) g.init: normal(1,0.1) be.init: normal(0,0.1) }
test scale_batch_norm_tf32 { M=16384 K=4096 N=4096 init: uniform(0,1) w.init: uniform(-0.01562,0.01562) b.init: uniform(-0.01562,0.01562) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench scale_batch_norm { M=16384 K=4096 N=4096 init: uniform(0,1) w.init: uniform(-0.01562,0.01562) b.init: uniform(-0.01562,0.01562) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
bench scale_batch_norm_tf32 { M=16384 K=4096 N=4096 init: uniform(0,1) w.init: uniform(-0.01562,0.01562) b.init: uniform(-0.01562,0.01562) g.init: normal(1,0.1) be.init: normal(0,0.1) vs: [unfused] }
