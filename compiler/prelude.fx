# The functions that .fx itself can say. Every kernel sees them; none is known to any pass or schedule.
fn relu(v) = max(v, 0)
fn relu6(v) = clamp(v, 0, 6)
fn leaky_relu(v, slope = 0.01) = where(v > 0, v, slope * v)
fn clamp(v, lo, hi) = min(max(v, lo), hi)
fn hardtanh(v, lo = -1, hi = 1) = clamp(v, lo, hi)
fn gelu_tanh(v) = v * sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))
fn hardsigmoid(v) = clamp(v / 6 + 0.5, 0, 1)
fn hardswish(v) = v * clamp(v + 3, 0, 6) / 6
fn elu(v, alpha = 1) = where(v > 0, v, alpha * (exp(min(v, 0)) - 1))
fn selu(v) = 1.0507009873554805 * elu(v, 1.6732632423543772)
fn softplus(v) = max(v, 0) + log(1 + exp(-abs(v)))
fn mish(v) = v * tanh(softplus(v))

# Shifted by the maximum where it is finite, by 0 where not; a row whose sum is 0 gives 0, its logsumexp -inf.
fn row_shift[K](v) -> s {
  m = max[K](v)
  s = where(abs(m) < inf, m, 0)
}
fn softmax[K](v) -> p {
  e = exp(v - row_shift[K](v))
  s = sum[K](e)
  p = where(s == 0, 0, e / s)
}
fn logsumexp[K](v) -> l {
  s = row_shift[K](v)
  l = log(sum[K](exp(v - s))) + s
}
