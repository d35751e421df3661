# A few rows of some length are one launch of one kernel, though most multiprocessors idle.
kernel one(x: bf16[M=1,D=14336], r: bf16[M,D], g: bf16[D]) -> (s: bf16[M,D], y: bf16[M,D]) {
  s = x + r
  y = rmsnorm[D](s) * g
}
kernel sixteen(x: bf16[M=16,D=14336], r: bf16[M,D], g: bf16[D]) -> (s: bf16[M,D], y: bf16[M,D]) {
  s = x + r
  y = rmsnorm[D](s) * g
}
