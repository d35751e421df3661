kernel gn_nchw[G, P=8](x: f16[N,C=G*P,H,W], g: f16[C], b: f16[C]) -> y: f16[N,C,H,W] { y = silu(layernorm[P,H,W](x{C->(G,P)}){(G,P)->C} * g + b) }
kernel gn_nhwc[G, P=8](x: f16[N,H,W,C=G*P], g: f16[C], b: f16[C]) -> y: f16[N,H,W,C] { y = silu(layernorm[P,H,W](x{C->(G,P)}){(G,P)->C} * g + b) }
kernel bn_nhwc(x: f16[N,H,W,C], g: f16[C], b: f16[C]) -> y: f16[N,H,W,C] { y = layernorm[N,H,W](x) * g + b }
kernel bn_nchw(x: f16[N,C,H,W], g: f16[C], b: f16[C]) -> y: f16[N,C,H,W] { y = layernorm[N,H,W](x) * g + b }
kernel ln_bwd(x: bf16[M,D], g: bf16[D], dy: bf16[M,D]) -> (dx: bf16[M,D], dg: f32[D], db: f32[D]) { mu = mean[D](x); r = rsqrt(mean[D]((x - mu) ** 2) + 1e-5); n = (x - mu) * r; h = dy * g; dx = (h - mean[D](h) - n * mean[D](h * n)) * r; dg = sum[M](dy * n); db = sum[M](f32(dy)) }
kernel xent(z: bf16[M,V], label: i64[M]) -> l: f32 { l = mean[M](logsumexp[V](z) - (z[V: label] ?? 0)) }
kernel rope(x: f16[S,H,D=2*E], c: f32[S,E], s: f32[S,E]) -> y: f16[S,H,D] { a, b = halves[D->E](x); y = concat[D]((a * c - b * s){E->D}, (b * c + a * s){E->D}) }
kernel q_token(x: bf16[M,N]) -> (q: i8[M,N], s: f32[M]) { s = max[N](abs(x)) / 127; q = i8(round(x / max(s, 1e-12))) }
kernel q8_token(x: bf16[M,N]) -> (q: f8e4m3[M,N], s: f32[M]) { s = max(max[N](abs(x)), 1e-4) / 448; q = f8e4m3(x / s) }
kernel q8_group[G, P=128](x: bf16[M,N=G*P]) -> (q: f8e4m3[M,N], s: f32[M,G]) { v = x{N->(G,P)}; s = max(max[P](abs(v)), 1e-4) / 448; q = (v / s){(G,P)->N} }
kernel tr_add(x: f32[M,N], y: f32[N,M]) -> z: f32[M,N] { z = x + y }
kernel tr_add16(x: bf16[M,N], y: bf16[N,M]) -> z: bf16[M,N] { z = x + y }
kernel colsum(x: f32[M,N]) -> y: f32[N] { y = sum[M](x) }
kernel colsum16(x: bf16[M,N]) -> y: f32[N] { y = sum[M](f32(x)) }
kernel rmsres(x: bf16[M,D], r: bf16[M,D], g: bf16[D]) -> (s: bf16[M,D], y: bf16[M,D]) { s = x + r; y = rmsnorm[D](s) * g }
kernel silumul(x: bf16[M,N], u: bf16[M,N]) -> y: bf16[M,N] { y = silu(x) * u }
kernel sm(x: bf16[M,N]) -> y: bf16[M,N] { y = softmax[N](x) }
kernel ln(x: bf16[M,N], g: bf16[N], b: bf16[N]) -> y: bf16[M,N] { y = layernorm[N](x) * g + b }
kernel rowsum(x: bf16[M,N]) -> y: f32[M] { y = sum[N](f32(x)) }
kernel amr(x: f32[M,N], y: f32[M,N], z: f32[M,N]) -> o: f32[M,N] { o = relu((x + y) * z) }
kernel outer(x: bf16[M], y: bf16[N]) -> z: bf16[M,N] { z = relu(x * y) }
kernel cumrow(x: f32[M,N]) -> y: f32[M,N] { y = cumsum[N](x) }
kernel outer_bwd(x: bf16[M,N], y: bf16[N], d: bf16[M,N]) -> dx: bf16[M,N] { dx = where(x * y > 0, d * y, 0) }
