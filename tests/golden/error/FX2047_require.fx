fn blocks[K](v, n) -> r {
  require K % n == 0
  r = v * n
}
kernel number(x: f32[M]) -> y: f32[M] {
  require M % 16
  y = x
}
kernel fixed(x: f32[M=20,N=3]) -> y: f32[M,N] {
  require M % 16 == 0 || N * M == 64
  y = blocks[M](x, 8)
}
kernel names(x: f32[M], p: f32) -> y: f32[M] {
  q = p * 2
  require q > 0
  require x > 0
  require exp(p) > 1
  require alpha > 1
  y = x * q
}
