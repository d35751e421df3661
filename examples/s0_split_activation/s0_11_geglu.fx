# GEGLU, the layer the split comes from: weights stored (out, in), a bias that is split with the columns, gelu by erf.
kernel geglu(x: f32[M,K], w: f32[F=2*N, K], b: f32[F]) -> y: f32[M,N] with { precision: ieee, fuse: require } {
  z, g = halves[F->N](x @ w + b)
  y = z * gelu(g)
}
kernel geglu_f16(x: f16[M,K], w: f16[F=2*N, K], b: f16[F]) -> y: f16[M,N] with { fuse: require } {
  z, g = halves[F->N](x @ w + b)
  y = z * gelu(g)
}

test geglu     { M=1024 K=2048 N=2048 }
test geglu_f16 { M=1024 K=2048 N=2048 }
test geglu     { M=33 K=65 N=17 }
test geglu_f16 { M=32 K=64 N=48 }
test geglu_f16 { M=33 K=65 N=17 }
test geglu     { M=32 K=32 N=24 x.init: 0 }     # nothing but the bias: the halves of it must go with their columns
bench geglu     { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
bench geglu_f16 { M=1024 K=2048 N=2048 warmup: 100 rep: 500 vs: [unfused] }
