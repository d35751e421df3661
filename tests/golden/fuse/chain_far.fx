# A chain has one element of its first sum at a time: what reads another one, too, is in no chain, and no loop of a thread computes it again.
kernel neighbours(q: f16[H,S,D], k: f16[H,T=S,D], v: f16[H,T,E]) -> o: f16[H,S,E] {
  s = q @ k
  o = softmax[T](0.5 * s + 0.25 * (s[T: T-1] ?? 0)) @ v
}
