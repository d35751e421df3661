# Activations in eight bits with their scales: by token, by group, and behind a norm.
kernel quantise_token(x: bf16[M,N]) -> (q: i8[M,N], s: f32[M]) with { fuse: require } {
  s = max[N](abs(x)) / 127
  q = i8(round(x / max(s, 1e-12)))
}
test quantise_token { M=5 N=64 }
test quantise_token { M=5 N=37 }
bench quantise_token { M=8192 N=4096 vs: unfused }

kernel quantise_group[P=128](x: bf16[M,N=G*P]) -> (q: f8e4m3[M,N], s: f32[M,G]) with { fuse: require } {
  v = x{N->(G,P)}
  s = max(max[P](abs(v)), 1e-4) / 448
  q = (v / s){(G,P)->N}
}
test quantise_group { M=3 G=2 }
bench quantise_group { M=8192 G=32 vs: unfused }

kernel rmsnorm_quantise(x: bf16[M,D], r: bf16[M,D], g: bf16[D]) -> (h: bf16[M,D], q: i8[M,D], s: f32[M]) with { fuse: require } {
  h = x + r
  y = rmsnorm[D](h) * g
  s = max[D](abs(y)) / 127
  q = i8(round(y / max(s, 1e-12)))
}
test rmsnorm_quantise { M=5 D=64 }
bench rmsnorm_quantise { M=8192 D=4096 vs: unfused }
