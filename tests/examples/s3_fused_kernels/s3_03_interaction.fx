# what stands side by side by a condition, the outer product by the row and the column of each place
kernel interact_cat(d: f32[A,D], s: f32[A,F,D]) -> y: f32[A, I=(F+1)*D] with { fuse: require } {
  y = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
}

kernel interact_dot[I=(F+1)*D](d: f32[A,D], s: f32[A,F,D]) -> y: f32[A, U=I*I] with { fuse: require } {
  c = where(idx(I) < size(D), d[D: I] ?? 0, s[F: I // size(D) - 1, D: I % size(D)] ?? 0)
  y = (c{I->J} * c){(I,J)->U}
}
