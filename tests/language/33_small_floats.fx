# 33 operands of 8 and 16 bits, each with its own range
kernel bf(x: bf16[M,K], w: bf16[N,K]) -> (y: bf16[M,N], s: f32[M]) {
  y = x @ w
  s = sum[K](x)
}
kernel f8(x: f8e4m3[M,K], w: f8e5m2[K,N], sx: f32[M]) -> y: f16[M,N] { y = sx * (x @ w) }
kernel each(a: f16[N], b: bf16[N], c: f8e4m3[N], d: f8e5m2[N]) -> (p: f32[N], q: f16[N]) {
  p = a + b * c - d
  q = a
}
