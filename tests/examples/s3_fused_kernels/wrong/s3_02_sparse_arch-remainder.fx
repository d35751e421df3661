# The remainder as C has it, with the sign of what is divided.
kernel hash_index(ids: i64[B,S], card: i64[S]) -> slot: i64[B,S] {
  t = ids + 1
  r = t % card
  slot = where(t < 0 && r != 0, r - card, r)
}
