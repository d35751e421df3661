# Sizes that the notebook's kernel asserts away: fewer than 16 rows, columns or terms, and such as no tile divides. Where tensor cores need at least 16, the rest of
# a tile is zeros that are never stored.
kernel ln_linear_any(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

test ln_linear_any { M=1 K=1 N=1 }
test ln_linear_any { M=1 K=3 N=5 }
test ln_linear_any { M=15 K=15 N=15 }
test ln_linear_any { M=7 K=130 N=33 }
test ln_linear_any { M=513 K=1023 N=4095 tol: abs <= 0.11 }
bench ln_linear_any { M=15 K=15 N=15 }
bench ln_linear_any { M=513 K=1023 N=4095 vs: [unfused] }
