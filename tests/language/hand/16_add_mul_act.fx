# 16 no fn, the product first
kernel add_mul_act(x: inout f32[I,J], b: f32[J], t: f32[I,J], mult: f32) { x = max(t * mult + (b + x), 0) }
