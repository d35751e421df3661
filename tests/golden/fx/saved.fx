# What the forward has stored in the place of what it was: the log-sum-exp, the sum of its weights times v.
kernel attention(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,S,E], l: f32[B,H,S]) {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel attention_bwd = grad(attention, wrt: q, k, v, saved: y, l)
