# Outputs along flattened labels, walked by what they were made of; positions in 32 bits; what a row's elements share computed once.
kernel outer[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E]) -> y: f32[B, R=P*P] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  y = (c * c{P->Q}){(P,Q)->R}
}
kernel by_hand(x: f16[I,J], b: f16[L]) -> y: f16[L=I*J] { y = x[I: idx(L) // size(J), J: idx(L) % size(J)] + b }
kernel windows(x: f32[B,T], w: f32[U=4]) -> y: f32[B,Q=T//2] { y = sum[U](w * (x[T: 2*Q+U-1] ?? 0)) }

# the last label is shorter than a vector: columns are two
kernel side_by_side(x: bf16[V=2,M,N]) -> y: bf16[M,N,V] { y = x }
