fn grouped[K](v, n, scale) -> r {
  require K % n == 0
  require scale > 0.1
  r = v * scale
}
kernel norm(x: f32[M,K] align 16, _g: f32[G=K/8], p: f32 = 0.5, q: f32) -> y: f32[M,K] align 128 {
  require 0 <= p && p < 1
  require M > 2 && (K // 2) % 4 == 0
  y = grouped[K](x, 32, q) / (1 - p)
}
