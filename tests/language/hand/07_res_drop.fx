# 7 the linear part first, the condition turned round
kernel res_drop(x: f16[I,C], w: f16[C,J], b: f16[J], r: f16[I,J], p: f32, seed: u64, off: u64)
    -> (y: f16[I,J], keep: bool[I,J]) {
  h = (b + sum[C](w * x)) / (1 - p)
  keep = p <= rand[I,J](seed, off)
  y = where(!keep, 0, h) + r
}
