kernel attention(q: bf16[B,H,S,D=128], k: bf16[B,H,T,D=128], v: bf16[B,H,T,D=128]) -> o: bf16[B,H,S,D=128] {
  p = softmax[T](q @[D] k * 0.08838834764831845)
  o = p @[T] v
}
