# args: -D B=64 -D T=4096 -D H=8 -D D=128
kernel decode(kc: inout bf16[B,T,H,D], vc: inout bf16[B,T,H,D], k: bf16[B,H,D], v: bf16[B,H,D], at: i32[B]) {
  kc[T: at] = 2 * k
  vc[T: at] = v
}
