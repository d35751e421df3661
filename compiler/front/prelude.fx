# The functions that .fx itself can say. Every kernel sees them; none is known to any pass or schedule.
fn relu(v) = max(v, 0)
fn relu6(v) = clamp(v, 0, 6)
fn leaky_relu(v, slope = 0.01) = where(v > 0, v, slope * v)
fn clamp(v, lo, hi) = min(max(v, lo), hi)
fn hardtanh(v, lo = -1, hi = 1) = clamp(v, lo, hi)
fn gelu_tanh(v) = v * sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))
fn dgelu(v) = 0.5 * (1 + erf(0.70710678118654752 * v)) + 0.39894228040143268 * v * exp(-0.5 * v * v)
fn hardsigmoid(v) = clamp(v / 6.0 + 0.5, 0, 1)
fn hardswish(v) = v * clamp(v + 3, 0, 6) / 6.0
fn elu(v, alpha = 1.0) = where(v > 0, v, alpha * expm1(min(v, 0)))
fn selu(v) = 1.0507009873554805 * elu(v, 1.6732632423543772)
fn softplus(v) = max(v, 0) + log1p(exp(-abs(v)))
# tanh(log(1 + e)) of e = exp(v), as (e^2 + 2e) / (e^2 + 2e + 2): one exponential; from 20 on it is 1 in every dtype.
fn mish(v) -> y {
  e = exp(min(v, 20))
  n = e * (e + 2)
  y = v * (n / (n + 2))
}

# Means and what is made of them; the variance in two passes, divided by n - correction.
fn mean[K](v) = sum[K](1.0 * v) / size(K)
fn var[K](v, correction = 0) -> s {
  d = v - mean[K](v)
  s = sum[K](d * d) / (size(K) - correction)
}
fn layernorm[K](v, eps = 1e-5) -> y {
  d = v - mean[K](v)
  y = d * rsqrt(mean[K](d * d) + eps)
}
fn rmsnorm[K](v, eps = 1e-5) = v * rsqrt(mean[K](v * v) + eps)

# Shifted by the maximum where it is finite, by 0 where not; a row whose sum is 0 gives 0, its logsumexp -inf. The shift cancels: no gradient passes.
# Nothing is divided by a sum of 0, nor its logarithm taken: where() would hide the value, not the gradient.
fn row_shift[K](v) -> s {
  m = detach(max[K](v))
  s = where(abs(m) < inf, m, 0)
}
fn softmax[K](v) -> p {
  e = exp(v - row_shift[K](v))
  s = sum[K](e)
  p = e / where(s == 0, 1, s)
}
fn logsumexp[K](v) -> l {
  m = row_shift[K](v)
  s = sum[K](exp(v - m))
  l = where(s == 0, -inf, log(where(s == 0, 1, s)) + m)
}

# The two parts of an axis: one after the other, or taking turns.
fn halves[F,N](v) -> a, b {
  s = v{F->(P=2,N)}
  a = s[P: 0]
  b = s[P: 1]
}
fn evenodd[F,N](v) -> a, b {
  s = v{F->(N,P=2)}
  a = s[P: 0]
  b = s[P: 1]
}

# Uniform on [0, 1): the e-th number of the stream (seed, off), e the row-major index over the labels.
fn rand[K](seed, off = 0) = f32(philox(idx(K), seed, off) // 256) / 16777216.0
