# 15 recommendation model: hashed embedding; the first top layer without ever writing the outer product
kernel embed(ids: i64[B,S], card: i64[S], table: f32[S,V,E]) -> e: f32[B,S,E] {
  e = table[V: (ids + 1) % card] ?? 0
}
kernel top1(d: f32[B,E], s: f32[B,S,E], W1: f32[H, P=(S+1)*E, Q=P], b1: f32[H]) -> h: f32[B,H] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  h = relu((c * c{P->Q}) @[P,Q] W1 + b1)
}
