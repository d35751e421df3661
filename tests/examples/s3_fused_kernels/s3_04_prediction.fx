# the weight seen as rows and columns before anything, the product on its right
kernel top_layer[I=(F+1)*D](d: f32[A,D], s: f32[A,F,D], w1: f32[L, U=I*I], b1: f32[L]) -> h: f32[A,L] with { fuse: require } {
  w = w1{U->(I,J)}
  c = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
  h = max(0, b1 + sum[J,I](w * (c{I->J} * c)))
}

kernel prediction[I=(F+1)*D](d: f32[A,D], s: f32[A,F,D], w1: f32[L=16, U=I*I], b1: f32[L], w2: f32[C=1,L], b2: f32[C]) -> y: f32[A,C] {
  w = w1{U->(I,J)}
  c = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
  h = max(0, b1 + sum[I](sum[J](w * (c{I->J} * c))))
  y = 1 / (1 + exp(-(b2 + sum[L](w2 * h))))
}

kernel prediction_main[I=(F+1)*D](d: f32[A,D], s: f32[A,F,D], w1: f32[L1=512, U=I*I], b1: f32[L1],
                                  w2: f32[L2=256,L1], b2: f32[L2], w3: f32[C=1,L2], b3: f32[C]) -> y: f32[A,C] {
  w = w1{U->(I,J)}
  v = w{I->(T,K=D)}
  c = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
  g = max(0, b1 + sum[T](sum[J,K](v * (c{I->J} * c){I->(T,K)})))
  h = max(sum[L1](w2 * g) + b2, 0)
  y = 1 / (1 + exp(-(b3 + sum[L2](w3 * h))))
}
