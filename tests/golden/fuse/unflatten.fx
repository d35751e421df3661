# Flattened labels become what they were made of, in any storage order; not where one is summed, or a tensor lies along a part beside it.
kernel outer[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E]) -> y: f32[B, R=P*P] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  y = (c * c{P->Q}){(P,Q)->R}
}
kernel by_hand(x: f16[I,J], b: f16[L]) -> y: f16[L=I*J] { y = x[I: idx(L) // size(J), J: idx(L) % size(J)] + b }
kernel three(x: f32[C,A,B]) -> y: f32[L=A*B*C] { y = relu(x{(A,B,C)->L}) }
kernel summed(x: f32[I,J], w: f32[L]) -> (y: f32[L=I*J], z: f32[]) { y = x{(I,J)->L}; z = sum[L](y * w) }
kernel beside(x: f32[I,J]) -> y: f32[I, L=I*J] { y = x{(I,J)->L} }
# Not where a tensor along it is strided or packed, nor where its parts would make nine axes; eight are no hindrance.
kernel spread(x: f32[I,J], b: f32[L] strided) -> y: f32[L=I*J] { y = x{(I,J)->L} + b }
kernel nibbles(x: f32[I,J], b: u4[L] packed(i32, L, lsb)) -> y: f32[L=I*J] { y = x{(I,J)->L} + f32(b) }
kernel nine(x: f32[I,J], b: f32[C,D,E,F,G,H,K]) -> y: f32[L=I*J,C,D,E,F,G,H,K] { y = x{(I,J)->L} + b }
kernel eight(x: f32[I,J], b: f32[C,D,E,F,G,H]) -> y: f32[L=I*J,C,D,E,F,G,H] { y = x{(I,J)->L} + b }
# Inputs that are split, and what is computed of inputs, in either order; not where two splits differ, where the label is summed too, or where other places are read; of an input beside that other places of it alone are read of, the output is.
kernel split(x: f32[B,D=64], w: f32[D]) -> m: f32[B,G=4] { m = max[E]((x * w){D->(G,E)}) }
kernel crossed(x: f32[D=64], y: f32[E=16]) -> z: f32[G=4,E] { z = x[D: idx(E) * size(G) + idx(G)] + y }
kernel two_splits(x: f32[B,D=64]) -> (m: f32[B,G=4], n: f32[B,A=8]) {
  m = max[E](x{D->(G,E)})
  n = max[F](x{D->(A,F)})
}
kernel summed_too(x: f32[B,D=64]) -> (m: f32[B,G=4], s: f32[B]) {
  m = max[E](x{D->(G,E)})
  s = sum[D](x)
}
kernel shifted[E=16](x: f32[B,D=64]) -> m: f32[B,G=4] { m = max[E](x[D: idx(G) * 16 + idx(E) + 1] ?? 0) }
kernel put(x: f32[G,E=16], y: f32[D=G*E], i: i64[J]) -> (m: f32[D], n: f32[J]) {
  m = x[G: D // 16, E: D % 16]
  n = y[D: i] ?? 0
}
