# Column sums rounded to f16, as the notebook hands them over.
kernel ln_linear_gelu_const(x: f16[M,K], w: const f16[K,N], b: f16[N]) -> y: f16[M,N] {
  m = mean[K](x)
  rstd = rsqrt(var[K](x) + 1e-5)
  y = gelu_tanh((x @ w - m * f16(sum[K](w))) * rstd + b)
}
kernel column_sums(w: f16[K,N]) -> s: f32[N] { s = f16(sum[K](w)) }
