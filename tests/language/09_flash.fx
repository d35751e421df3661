# 9 causal attention, log-sum-exp kept for a backward
kernel flash(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,D], scale: f32)
    -> (o: f16[B,H,S,D], lse: f32[B,H,S]) with { fuse: require } {
  s   = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}
