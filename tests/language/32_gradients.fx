# 32 gradients of reductions, contractions, norms, windows and broadcasts, for one parameter and several
kernel probs(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = softmax[N](x @ w) }
kernel probs_bwd = grad(probs, wrt: x, w)
kernel dense(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @ w + b) }
kernel dense_bwd = grad(dense, wrt: x, w, b)
kernel normed(x: f32[M,K], g: f32[K]) -> y: f32[M,K] { y = layernorm[K](x, eps: 1e-5) * g }
kernel normed_bwd = grad(normed, wrt: x, g)
kernel filtered(x: f32[B,T], k: f32[U=3]) -> y: f32[B,T] { y = sum[U](k * (x[T: T+U-1] ?? 0)) }
kernel filtered_bwd = grad(filtered, wrt: x, k)
kernel gated(x: f32[M, F=2*N]) -> y: f32[M,N] {
  l, r = halves[F->N](x)
  y = l * sigmoid(r)
}
kernel gated_bwd = grad(gated, wrt: x)
kernel two(x: f32[M,N], b: f32[N]) -> (s: f32[M], t: f32[N]) {
  s = logsumexp[N](x + b)
  t = sum[M](x * x) * tanh(b)
}
kernel two_bwd = grad(two, wrt: x, b)
kernel scanned(x: f32[M,N]) -> y: f32[M,N] { y = cumsum[N](x) * x }
kernel scanned_bwd = grad(scanned, wrt: x)
kernel peaks(x: f32[M,N]) -> y: f32[M] { y = max[N](x) - min[N](x) }
kernel peaks_bwd = grad(peaks, wrt: x)
kernel divided(a: f32[N], b: f32[N]) -> y: f32[N] { y = a / b + exp(a) * log(b) - sqrt(b) + where(a < 0, a * b, b ** 3) }
kernel divided_bwd = grad(divided, wrt: a, b)
kernel gram(x: f32[M,K]) -> y: f32[M, J=M] { y = x @ x{M->J} }
kernel gram_bwd = grad(gram, wrt: x)
