# A LoRA layer's epilogue in place, x = max(0, x + bias + mult * in). Constants baked in, or scalars of the launch; a scalar is f32 as declared: a multiplier
# declared f64 would have all of it computed in f64, many times slower, which the compiler warns of (FX2027).
const baked = 0.5
kernel add_mul_relu_fixed(x: inout f32[M, N=8], bias: f32[N], in: f32[M,N]) with { fuse: require } { x = relu(x + bias + baked * in) }

kernel add_mul_relu(x: inout f32[M,N], bias: f32[N], in: f32[M,N], mult: f32) with { fuse: require } { x = relu(x + bias + mult * in) }

test add_mul_relu_fixed { M=8 }
test add_mul_relu_fixed { M=8 baked=0.25 init: integers(-9,9) tol: exact }
test add_mul_relu { M=8 N=8 mult=0.5 }
test add_mul_relu { M=8 N=10 mult=2.3 }
test add_mul_relu { M=3 N=1037 mult=2 init: integers(-9,9) tol: exact }
bench add_mul_relu_fixed { M=8 }
bench add_mul_relu { M=8 N=10 mult=2.3 }
bench add_mul_relu { M=65536 N=512 mult=2.3 }
