# A linear layer and mish twice. Six transcendental functions an element, in the epilogue of the product.
kernel mish_mish(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: ieee } {
  y = mish(mish(x @ w + b))
}
kernel mish_mish_tf32(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require, precision: tf32 } {
  y = mish(mish(x @ w + b))
}

test mish_mish { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test mish_mish { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test mish_mish { M=20 K=36 N=68 init: normal(0,3) }
test mish_mish { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
test mish_mish_tf32 { M=33 K=65 N=130 init: uniform(0,1) w.init: uniform(-0.125,0.125) b.init: uniform(-0.125,0.125) }
test mish_mish_tf32 { M=5 K=7 N=3 init: uniform(0,1) w.init: uniform(-0.378,0.378) b.init: uniform(-0.378,0.378) }
test mish_mish_tf32 { M=20 K=36 N=68 init: normal(0,3) }
test mish_mish_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) }
bench mish_mish { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
bench mish_mish_tf32 { M=1024 K=8192 N=8192 init: uniform(0,1) w.init: uniform(-0.01105,0.01105) b.init: uniform(-0.01105,0.01105) vs: [unfused] }
