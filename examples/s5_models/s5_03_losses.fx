# Losses over a vocabulary: each row's statistics once, then one number.
kernel cross_entropy(z: bf16[M,V], label: i32[M]) -> (loss: f32, lse: f32[M]) {
  require V > 0
  lse = logsumexp[V](z)
  loss = mean[M](lse - (z[V: label] ?? 0))
}
test cross_entropy { M=9 V=50 label.init: integers(0,49) }
bench cross_entropy { M=4096 V=128256 label.init: integers(0,128255) vs: unfused }

kernel cross_entropy_backward(z: bf16[M,V], label: i32[M], lse: f32[M], d: f32) -> dz: bf16[M,V] with { fuse: require } {
  dz = (exp(z - lse) - (idx(V) == label)) * d / size(M)
}
test cross_entropy_backward { M=9 V=50 d=1.5 label.init: integers(0,49) lse.init: uniform(3,5) }
bench cross_entropy_backward { M=4096 V=128256 d=1 label.init: integers(0,128255) lse.init: uniform(11,13) vs: unfused }
