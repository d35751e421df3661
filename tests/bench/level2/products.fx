# Twenty fused products of the kind of examples/s4_level2, none of which stands there: acceptance.py --group level2.
kernel mul_leaky(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  y = leaky_relu((x @ w + b) * 2.0, 0.1)
}
kernel div_sum_scale(x: f32[M,K], w: f32[N,K]) -> y: f32[M] with { precision: ieee } {
  y = sum[N](x @ w / 2.0) * 1.5
}
kernel row_sums(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { fast_math: true, precision: ieee } {
  y = sum[N](x @ w + b)
}
kernel clamp_logsumexp_mish(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { precision: ieee } {
  h = (x @ w + b) * 2.0
  l = logsumexp[N](clamp(h + h, -10, 10))
  y = l * mish(l)
}
kernel row_norm_residual(x: f32[M,K], w: f32[N,K], b: f32[N], r: f32[M,N]) -> y: f32[M,N] with { precision: ieee } {
  y = (layernorm[N](x @ w + b) + r) * r
}
kernel group_norm_hardtanh(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  n = layernorm[C]((x @ w + b){N->(G=16,C)})
  y = clamp(n{(G,C)->N} * g + be, -2, 2)
}
kernel scaled_residual(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  h = x @ w + b
  y = h * 0.5 + h
}
kernel sigmoid_row_sums(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { precision: ieee } {
  y = sum[N](sigmoid(x @ w + b))
}
kernel group_norm_leaky_double(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  n = layernorm[C]((x @ w + b){N->(G=512,C)})
  l = leaky_relu(n{(G,C)->N} * g + be)
  y = l + l
}
kernel logsumexp_leaky_gelu(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { precision: ieee } {
  y = gelu(gelu(leaky_relu(leaky_relu(logsumexp[N](x @ w + b)))))
}
kernel linear_softmax(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  y = softmax[N](x @ w + b)
}
kernel min_sub(x: f32[M,K], w: f32[N,K], b: f32[N], c: f32[]) -> y: f32[M,N] with { precision: ieee } {
  y = min(x @ w + b, c) - c
}
kernel sigmoid_scale_residual(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  h = x @ w + b
  y = sigmoid(h) * 2.0 + h
}
kernel add_relu_linear(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  y = relu(x @ w + b)
}
kernel max_sub_gelu(x: f32[M,K], w: f32[N,K], b: f32[N], c: f32[]) -> y: f32[M] with { precision: ieee } {
  y = gelu(max[N](x @ w + b) - c)
}
kernel batch_norm_scale_softmax(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N], s: f32[]) -> y: f32[M,N] with { precision: ieee } {
  y = softmax[N](s * (layernorm[M](x @ w + b) * g + be))
}
kernel div_gelu(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  y = gelu((x @ w + b) / 10.0)
}
kernel group_norm_silu_mul_silu(x: f32[M,K], w: f32[N,K], b: f32[N], g: f32[N], be: f32[N], v: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  n = layernorm[C]((x @ w + b){N->(G=256,C)})
  y = silu(silu(n{(G,C)->N} * g + be) * v)
}
kernel hardtanh_mish_group_norm(x: f32[M,K], w: f32[N,K], b: f32[N], a: f32[N], g: f32[N], be: f32[N]) -> y: f32[M,N] with { precision: ieee } {
  n = layernorm[C]((mish(hardtanh(x @ w + b + a))){N->(G=256,C)})
  y = n{(G,C)->N} * g + be
}
kernel average_gelu_max(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { precision: ieee } {
  y = max[H](gelu(mean[P]((x @ w + b){N->(H,P=16)})) * 2.0)
}

bench mul_leaky { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench div_sum_scale { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) }
bench row_sums { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench clamp_logsumexp_mish { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench row_norm_residual { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) r.init: uniform(0,1) }
bench group_norm_hardtanh { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench scaled_residual { M=16384 K=4096 N=4096 init: uniform(0,1) w.init: uniform(-0.0156,0.0156) b.init: uniform(-0.0156,0.0156) }
bench sigmoid_row_sums { M=128 K=32768 N=32768 init: uniform(0,1) w.init: uniform(-0.005524,0.005524) b.init: uniform(-0.005524,0.005524) }
bench group_norm_leaky_double { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench logsumexp_leaky_gelu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench linear_softmax { M=128 K=16384 N=16384 init: uniform(0,1) w.init: uniform(-0.00781,0.00781) b.init: uniform(-0.00781,0.00781) }
bench min_sub { M=128 K=16384 N=16384 init: uniform(0,1) w.init: uniform(-0.00781,0.00781) b.init: uniform(-0.00781,0.00781) c.init: ones }
bench sigmoid_scale_residual { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench add_relu_linear { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench max_sub_gelu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) c.init: ones }
bench batch_norm_scale_softmax { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) s.init: ones }
bench div_gelu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench group_norm_silu_mul_silu { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) g.init: normal(1,0.1) be.init: normal(0,0.1) v.init: normal(0,1) }
bench hardtanh_mish_group_norm { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) a.init: normal(0,0.1) g.init: normal(1,0.1) be.init: normal(0,0.1) }
bench average_gelu_max { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
