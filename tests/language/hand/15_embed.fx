# 15 the remainder by floor division, the parts end to end by a condition
kernel embed(ids: i64[A,S], card: i64[S], table: f32[S,R,E]) -> e: f32[A,S,E] {
  i = 1 + ids
  e = table[R: where(card == 0, 0, i - i // card * card)] ?? 0
}
kernel top1(d: f32[A,E], s: f32[A,S,E], W1: f32[J, P=(S+1)*E, Q=P], b1: f32[J]) -> h: f32[A,J] {
  c = where(idx(P) < size(E), d[E: P] ?? 0, s[S: P // size(E) - 1, E: P % size(E)] ?? 0)
  h = max(b1 + sum[Q,P](W1 * (c{P->Q} * c)), 0)
}
