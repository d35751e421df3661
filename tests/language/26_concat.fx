# 26 concatenation, on the last axis and on the first, of parts of unequal length
kernel three(a: f32[M,A], b: f32[M,B], c: f32[M,C]) -> y: f32[M, P=A+B+C] { y = concat[P](a{A->P}, b{B->P}, c{C->P}) }
kernel stacked(a: f32[A,N], b: f32[B,N]) -> y: f32[P=A+B, N] { y = concat[P]((b * 2){B->P}, relu(a){A->P}) }
kernel contracted(a: f32[M,A], b: f32[M,B], w: f32[P=A+B, N]) -> y: f32[M,N] { y = concat[P](a{A->P}, b{B->P}) @[P] w }
kernel of_integers(a: i32[A], b: i32[B]) -> y: i32[P=A+B] { y = concat[P](a{A->P}, b{B->P}) }
kernel relabelled_after(s: f32[S,D,E], t: f32[T,X=D*E]) -> y: f32[P=T+S+T, X] {
  y = concat[P](t{T->P}, s{S->P}{(D,E)->X}, (2 * t){T->P})
}
