# Norms as current models have them: modulated, behind a residual that is kept, behind dropout, and one backwards. One kernel each forwards.

# x and r are read once; the sum is kept for the next block.
kernel residual_rmsnorm(x: bf16[M,D], r: bf16[M,D], g: bf16[D]) -> (s: bf16[M,D], y: bf16[M,D]) with { fuse: require } {
  s = x + r
  y = rmsnorm[D](s) * g
}
test residual_rmsnorm { M=5 D=96 }
test residual_rmsnorm { M=3 D=37 }
bench residual_rmsnorm { M=8192 D=8192 vs: unfused }

# adaptive layer norm of a diffusion transformer: shift and scale by sample
kernel ada_layernorm(x: bf16[B,T,D], shift: bf16[B,D], scale: bf16[B,D]) -> y: bf16[B,T,D] with { fuse: require } {
  y = layernorm[D](x) * (1 + scale) + shift
}
test ada_layernorm { B=2 T=3 D=64 }
test ada_layernorm { B=2 T=3 D=41 }
bench ada_layernorm { B=8 T=1024 D=4096 vs: unfused }

kernel dropout_layernorm(x: bf16[M,D], r: bf16[M,D], g: bf16[D], b: bf16[D], p: f32 = 0.1, seed: u64) -> (s: bf16[M,D], y: bf16[M,D]) with { fuse: require } {
  require 0 <= p && p < 1
  s = r + where(rand[M,D](seed, 0) >= p, x / (1 - p), 0)
  y = layernorm[D](s) * g + b
}
test dropout_layernorm { M=5 D=96 seed=7 }
bench dropout_layernorm { M=8192 D=4096 seed=7 vs: unfused }

# dx needs statistics of rows, dg and db sums over all of them: rows once, then columns
kernel layernorm_backward(x: bf16[M,D], g: bf16[D], dy: bf16[M,D]) -> (dx: bf16[M,D], dg: f32[D], db: f32[D]) {
  mu = mean[D](x)
  rstd = rsqrt(mean[D]((x - mu) ** 2) + 1e-5)
  n = (x - mu) * rstd
  h = dy * g
  dx = (h - mean[D](h) - n * mean[D](h * n)) * rstd
  dg = sum[M](dy * n)
  db = sum[M](f32(dy))
}
test layernorm_backward { M=33 D=64 }
test layernorm_backward { M=7 D=37 }
bench layernorm_backward { M=8192 D=4096 vs: unfused }
