# On sm_90a a chain of 16-bit floats runs on wgmma; where its rows end, blocks have a flag each.
kernel causal(q: bf16[B,G,R,S,D], k: bf16[B,G,T,D], v: bf16[B,G,T,E], scale: f32) -> (y: bf16[B,G,R,S,E]) with { fuse: require } {
  y = softmax[T](where(idx(T) <= idx(S), (q @[D] k) * scale, -inf)) @[T] v
}
kernel twice(q: f16[S,D], k: f16[T,D], v: f16[T,N]) -> o: f32[S,N] with { fuse: require } {
  p = softmax[T](tanh((q @ k) * 0.1) * 3)
  o = where(p > 0.01, p, 0) @ v
}
