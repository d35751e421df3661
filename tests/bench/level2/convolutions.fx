# Convolutions of the same kind, planes first, the last one padded.
kernel conv_min_tanh(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3], b: f32[O]) -> z: f32[B,P=H-2,Q=W-2] with { precision: ieee } {
  z = tanh(tanh(min[O](sum[C,U,V](k * x[H: P+U, W: Q+V]) + b)))
}
kernel conv_norm_div(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3], b: f32[O]) -> z: f32[B,O,P=H-2,Q=W-2] with { precision: ieee } {
  z = layernorm[P,Q](sum[C,U,V](k * x[H: P+U, W: Q+V]) + b) / 2.0
}
kernel conv_hardswish_relu(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3], b: f32[O]) -> z: f32[B,O,P=H-2,Q=W-2] with { precision: ieee } {
  z = relu(hardswish(sum[C,U,V](k * x[H: P+U, W: Q+V]) + b))
}
kernel conv_gelu_mean(x: f32[B,C,H,W], k: f32[O,C,U=3,V=3], b: f32[O]) -> z: f32[B,O] with { precision: ieee } {
  z = mean[H,W](gelu(sum[C,U,V](k * (x[H: idx(H)+idx(U)-1, W: idx(W)+idx(V)-1] ?? 0)) + b))
}

bench conv_min_tanh { B=16 C=16 H=256 W=256 O=64 init: uniform(0,1) k.init: uniform(-0.0833,0.0833) b.init: uniform(-0.0833,0.0833) }
bench conv_norm_div { B=16 C=64 H=128 W=128 O=128 init: uniform(0,1) k.init: uniform(-0.0417,0.0417) b.init: uniform(-0.0417,0.0417) }
bench conv_hardswish_relu { B=32 C=8 H=128 W=128 O=64 init: uniform(0,1) k.init: uniform(-0.118,0.118) b.init: uniform(-0.118,0.118) }
bench conv_gelu_mean { B=16 C=8 H=256 W=256 O=64 init: uniform(0,1) k.init: uniform(-0.118,0.118) b.init: uniform(-0.118,0.118) }
