# Rules that fast_math turns on: a sum over the columns of a product, and of what is added to it, is a product with summed columns.
kernel mean_of_linear(x: f32[M,K], w: f32[N,K], b: f32[N], s: f32[N]) -> y: f32[M] with { fast_math: true } { y = mean[N](x @ w + b - s) }
kernel not_without(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] { y = mean[N](x @ w + b) }
kernel no_sum_of_it(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M] with { fast_math: true } { y = sum[N](abs(x @ w + b)) }
kernel of_rows(x: f32[M,K], w: f32[K,N], b: f32[M]) -> y: f32[N] with { fast_math: true } { y = sum[M](b - x @ w) }
kernel of_a_difference(x: f32[M,K], w: f32[K,N], v: f32[M,J], u: f32[J,N]) -> y: f32[M] with { fast_math: true } { y = sum[N](x @ w - v @ u) }
kernel of_a_table(x: f32[M,K], w: f32[K,N], b: f32[M,N]) -> (y: f32[M], z: f32[N]) with { fast_math: true } {
  y = sum[N](b + x @ w + b)
  z = sum[M](x @ w - b)
}
