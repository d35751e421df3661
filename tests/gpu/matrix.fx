# Every dtype that tensor cores take, through every engine, storage order and epilogue: one kernel of each. On integers, whose sums are exact, and on random data.
# Per dtype: either major of either operand, with a bias, a residual, a scale a row, sums of rows; odd extents; one, a few and 16 rows; a long k in slices; a chain; batches; gradients.
kernel f16_kn(x: f16[M=136,K=264], w: f16[K,N=200], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel f16_nk(x: f16[M=72,K=136], w: f16[N=88,K], r: f32[M,N]) -> y: f32[M,N] { y = x @[K] w + r }
kernel f16_km(x: f16[K=136,M=72], w: f16[K,N=80]) -> (y: f32[M,N], s: f32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel f16_km_nk(x: f16[K=136,M=72], w: f16[N=88,K], s: f32[M]) -> y: f32[M,N] { y = (x @[K] w) * s }
kernel f16_odd(x: f16[M=65,K=67], w: f16[N=61,K], b: f32[M]) -> y: f32[M,N] { y = relu(x @[K] w) + b }
kernel f16_one(x: f16[M=1,K=1000], w: f16[N=520,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f16_few(x: f16[M=5,K=520], w: f16[K,N=264]) -> y: f32[M,N] { y = x @ w }
kernel f16_sixteen(x: f16[M=16,K=256], w: f16[N=192,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f16_slices(x: f16[M=24,K=9008], w: f16[N=40,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f16_slices_kn(x: f16[M=40,K=6000], w: f16[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel f16_batch(x: f16[B=3,M=40,K=72], w: f16[B,K,N=56]) -> y: f32[B,M,N] { y = x @ w }
kernel f16_heads(x: f16[B=2,M=72,K=64], w: f16[N=40,K]) -> y: f32[B,M,N] { y = relu(x @[K] w) }
kernel f16_two(x: f16[M=72,K=72], w: f16[K,N=72], v: f16[K,N]) -> y: f32[M,N] { y = relu(x @ w) * (x @ v) }
kernel f16_chain(x: f16[M=40,K=64], w: f16[K,H=72], v: f16[H,N=40], b: f32[H]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel f16_grad = grad(f16_nk, wrt: x, w)
kernel f16_chain_grad = grad(f16_chain, wrt: x, w, v)
test f16_kn { init: integers(-2,2) }
test f16_nk { init: integers(-2,2) }
test f16_km { init: integers(-2,2) }
test f16_km_nk { init: integers(-2,2) }
test f16_odd { init: integers(-2,2) }
test f16_one { init: integers(-2,2) }
test f16_few { init: integers(-2,2) }
test f16_sixteen { init: integers(-2,2) }
test f16_slices { init: integers(-2,2) }
test f16_slices_kn { init: integers(-2,2) }
test f16_batch { init: integers(-2,2) }
test f16_heads { init: integers(-2,2) }
test f16_two { init: integers(-2,2) }
test f16_chain { init: integers(-2,2) }
test f16_grad { init: integers(-2,2) }
test f16_chain_grad { init: integers(-2,2) }
test f16_kn {}
test f16_km {}
test f16_slices {}
test f16_few {}
test f16_chain {}
test f16_grad {}
kernel bf16_kn(x: bf16[M=136,K=264], w: bf16[K,N=200], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel bf16_nk(x: bf16[M=72,K=136], w: bf16[N=88,K], r: f32[M,N]) -> y: f32[M,N] { y = x @[K] w + r }
kernel bf16_km(x: bf16[K=136,M=72], w: bf16[K,N=80]) -> (y: f32[M,N], s: f32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel bf16_km_nk(x: bf16[K=136,M=72], w: bf16[N=88,K], s: f32[M]) -> y: f32[M,N] { y = (x @[K] w) * s }
kernel bf16_odd(x: bf16[M=65,K=67], w: bf16[N=61,K], b: f32[M]) -> y: f32[M,N] { y = relu(x @[K] w) + b }
kernel bf16_one(x: bf16[M=1,K=1000], w: bf16[N=520,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel bf16_few(x: bf16[M=5,K=520], w: bf16[K,N=264]) -> y: f32[M,N] { y = x @ w }
kernel bf16_sixteen(x: bf16[M=16,K=256], w: bf16[N=192,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel bf16_slices(x: bf16[M=24,K=9008], w: bf16[N=40,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel bf16_slices_kn(x: bf16[M=40,K=6000], w: bf16[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel bf16_batch(x: bf16[B=3,M=40,K=72], w: bf16[B,K,N=56]) -> y: f32[B,M,N] { y = x @ w }
kernel bf16_heads(x: bf16[B=2,M=72,K=64], w: bf16[N=40,K]) -> y: f32[B,M,N] { y = relu(x @[K] w) }
kernel bf16_two(x: bf16[M=72,K=72], w: bf16[K,N=72], v: bf16[K,N]) -> y: f32[M,N] { y = relu(x @ w) * (x @ v) }
kernel bf16_chain(x: bf16[M=40,K=64], w: bf16[K,H=72], v: bf16[H,N=40], b: f32[H]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel bf16_grad = grad(bf16_nk, wrt: x, w)
kernel bf16_chain_grad = grad(bf16_chain, wrt: x, w, v)
test bf16_kn { init: integers(-2,2) }
test bf16_nk { init: integers(-2,2) }
test bf16_km { init: integers(-2,2) }
test bf16_km_nk { init: integers(-2,2) }
test bf16_odd { init: integers(-2,2) }
test bf16_one { init: integers(-2,2) }
test bf16_few { init: integers(-2,2) }
test bf16_sixteen { init: integers(-2,2) }
test bf16_slices { init: integers(-2,2) }
test bf16_slices_kn { init: integers(-2,2) }
test bf16_batch { init: integers(-2,2) }
test bf16_heads { init: integers(-2,2) }
test bf16_two { init: integers(-2,2) }
test bf16_chain { init: integers(-2,2) }
test bf16_grad { init: integers(-2,2) }
test bf16_chain_grad { init: integers(-2,2) }
test bf16_kn {}
test bf16_km {}
test bf16_slices {}
test bf16_few {}
test bf16_chain {}
test bf16_grad {}
kernel f32_kn(x: f32[M=136,K=264], w: f32[K,N=200], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel f32_nk(x: f32[M=72,K=136], w: f32[N=88,K], r: f32[M,N]) -> y: f32[M,N] { y = x @[K] w + r }
kernel f32_km(x: f32[K=136,M=72], w: f32[K,N=80]) -> (y: f32[M,N], s: f32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel f32_km_nk(x: f32[K=136,M=72], w: f32[N=88,K], s: f32[M]) -> y: f32[M,N] { y = (x @[K] w) * s }
kernel f32_odd(x: f32[M=65,K=67], w: f32[N=61,K], b: f32[M]) -> y: f32[M,N] { y = relu(x @[K] w) + b }
kernel f32_one(x: f32[M=1,K=1000], w: f32[N=520,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f32_few(x: f32[M=5,K=520], w: f32[K,N=264]) -> y: f32[M,N] { y = x @ w }
kernel f32_sixteen(x: f32[M=16,K=256], w: f32[N=192,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f32_slices(x: f32[M=24,K=9008], w: f32[N=40,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel f32_slices_kn(x: f32[M=40,K=6000], w: f32[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel f32_batch(x: f32[B=3,M=40,K=72], w: f32[B,K,N=56]) -> y: f32[B,M,N] { y = x @ w }
kernel f32_heads(x: f32[B=2,M=72,K=64], w: f32[N=40,K]) -> y: f32[B,M,N] { y = relu(x @[K] w) }
kernel f32_two(x: f32[M=72,K=72], w: f32[K,N=72], v: f32[K,N]) -> y: f32[M,N] { y = relu(x @ w) * (x @ v) }
kernel f32_chain(x: f32[M=40,K=64], w: f32[K,H=72], v: f32[H,N=40], b: f32[H]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel f32_grad = grad(f32_nk, wrt: x, w)
kernel f32_chain_grad = grad(f32_chain, wrt: x, w, v)
test f32_kn { init: integers(-2,2) }
test f32_nk { init: integers(-2,2) }
test f32_km { init: integers(-2,2) }
test f32_km_nk { init: integers(-2,2) }
test f32_odd { init: integers(-2,2) }
test f32_one { init: integers(-2,2) }
test f32_few { init: integers(-2,2) }
test f32_sixteen { init: integers(-2,2) }
test f32_slices { init: integers(-2,2) }
test f32_slices_kn { init: integers(-2,2) }
test f32_batch { init: integers(-2,2) }
test f32_heads { init: integers(-2,2) }
test f32_two { init: integers(-2,2) }
test f32_chain { init: integers(-2,2) }
test f32_grad { init: integers(-2,2) }
test f32_chain_grad { init: integers(-2,2) }
test f32_kn {}
test f32_km {}
test f32_slices {}
test f32_few {}
test f32_chain {}
test f32_grad {}
kernel tf32_kn(x: f32[M=136,K=264], w: f32[K,N=200], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @ w + b) }
kernel tf32_nk(x: f32[M=72,K=136], w: f32[N=88,K], r: f32[M,N]) -> y: f32[M,N] with { precision: tf32 } { y = x @[K] w + r }
kernel tf32_km(x: f32[K=136,M=72], w: f32[K,N=80]) -> (y: f32[M,N], s: f32[M]) with { precision: tf32 } {
  y = x @[K] w
  s = sum[N](y)
}
kernel tf32_km_nk(x: f32[K=136,M=72], w: f32[N=88,K], s: f32[M]) -> y: f32[M,N] with { precision: tf32 } { y = (x @[K] w) * s }
kernel tf32_odd(x: f32[M=65,K=67], w: f32[N=61,K], b: f32[M]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @[K] w) + b }
kernel tf32_one(x: f32[M=1,K=1000], w: f32[N=520,K], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @[K] w + b) }
kernel tf32_few(x: f32[M=5,K=520], w: f32[K,N=264]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
kernel tf32_sixteen(x: f32[M=16,K=256], w: f32[N=192,K], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @[K] w + b) }
kernel tf32_slices(x: f32[M=24,K=9008], w: f32[N=40,K], b: f32[N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @[K] w + b) }
kernel tf32_slices_kn(x: f32[M=40,K=6000], w: f32[K,N=24]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
kernel tf32_batch(x: f32[B=3,M=40,K=72], w: f32[B,K,N=56]) -> y: f32[B,M,N] with { precision: tf32 } { y = x @ w }
kernel tf32_heads(x: f32[B=2,M=72,K=64], w: f32[N=40,K]) -> y: f32[B,M,N] with { precision: tf32 } { y = relu(x @[K] w) }
kernel tf32_two(x: f32[M=72,K=72], w: f32[K,N=72], v: f32[K,N]) -> y: f32[M,N] with { precision: tf32 } { y = relu(x @ w) * (x @ v) }
kernel tf32_chain(x: f32[M=40,K=64], w: f32[K,H=72], v: f32[H,N=40], b: f32[H]) -> y: f32[M,N] with { precision: tf32, fuse: require } { y = relu(x @ w + b) @ v }
kernel tf32_grad = grad(tf32_nk, wrt: x, w)
kernel tf32_chain_grad = grad(tf32_chain, wrt: x, w, v)
test tf32_kn { init: integers(-2,2) }
test tf32_nk { init: integers(-2,2) }
test tf32_km { init: integers(-2,2) }
test tf32_km_nk { init: integers(-2,2) }
test tf32_odd { init: integers(-2,2) }
test tf32_one { init: integers(-2,2) }
test tf32_few { init: integers(-2,2) }
test tf32_sixteen { init: integers(-2,2) }
test tf32_slices { init: integers(-2,2) }
test tf32_slices_kn { init: integers(-2,2) }
test tf32_batch { init: integers(-2,2) }
test tf32_heads { init: integers(-2,2) }
test tf32_two { init: integers(-2,2) }
test tf32_chain { init: integers(-2,2) }
test tf32_grad { init: integers(-2,2) }
test tf32_chain_grad { init: integers(-2,2) }
test tf32_kn {}
test tf32_km {}
test tf32_slices {}
test tf32_few {}
test tf32_chain {}
test tf32_grad {}
kernel f64_kn(x: f64[M=136,K=264], w: f64[K,N=200], b: f64[N]) -> y: f64[M,N] { y = relu(x @ w + b) }
kernel f64_nk(x: f64[M=72,K=136], w: f64[N=88,K], r: f64[M,N]) -> y: f64[M,N] { y = x @[K] w + r }
kernel f64_km(x: f64[K=136,M=72], w: f64[K,N=80]) -> (y: f64[M,N], s: f64[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel f64_km_nk(x: f64[K=136,M=72], w: f64[N=88,K], s: f64[M]) -> y: f64[M,N] { y = (x @[K] w) * s }
kernel f64_odd(x: f64[M=65,K=67], w: f64[N=61,K], b: f64[M]) -> y: f64[M,N] { y = relu(x @[K] w) + b }
kernel f64_one(x: f64[M=1,K=1000], w: f64[N=520,K], b: f64[N]) -> y: f64[M,N] { y = relu(x @[K] w + b) }
kernel f64_few(x: f64[M=5,K=520], w: f64[K,N=264]) -> y: f64[M,N] { y = x @ w }
kernel f64_sixteen(x: f64[M=16,K=256], w: f64[N=192,K], b: f64[N]) -> y: f64[M,N] { y = relu(x @[K] w + b) }
kernel f64_slices(x: f64[M=24,K=9008], w: f64[N=40,K], b: f64[N]) -> y: f64[M,N] { y = relu(x @[K] w + b) }
kernel f64_slices_kn(x: f64[M=40,K=6000], w: f64[K,N=24]) -> y: f64[M,N] { y = x @ w }
kernel f64_batch(x: f64[B=3,M=40,K=72], w: f64[B,K,N=56]) -> y: f64[B,M,N] { y = x @ w }
kernel f64_heads(x: f64[B=2,M=72,K=64], w: f64[N=40,K]) -> y: f64[B,M,N] { y = relu(x @[K] w) }
kernel f64_two(x: f64[M=72,K=72], w: f64[K,N=72], v: f64[K,N]) -> y: f64[M,N] { y = relu(x @ w) * (x @ v) }
kernel f64_chain(x: f64[M=40,K=64], w: f64[K,H=72], v: f64[H,N=40], b: f64[H]) -> y: f64[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel f64_grad = grad(f64_nk, wrt: x, w)
kernel f64_chain_grad = grad(f64_chain, wrt: x, w, v)
test f64_kn { init: integers(-2,2) }
test f64_nk { init: integers(-2,2) }
test f64_km { init: integers(-2,2) }
test f64_km_nk { init: integers(-2,2) }
test f64_odd { init: integers(-2,2) }
test f64_one { init: integers(-2,2) }
test f64_few { init: integers(-2,2) }
test f64_sixteen { init: integers(-2,2) }
test f64_slices { init: integers(-2,2) }
test f64_slices_kn { init: integers(-2,2) }
test f64_batch { init: integers(-2,2) }
test f64_heads { init: integers(-2,2) }
test f64_two { init: integers(-2,2) }
test f64_chain { init: integers(-2,2) }
test f64_grad { init: integers(-2,2) }
test f64_chain_grad { init: integers(-2,2) }
test f64_kn {}
test f64_km {}
test f64_slices {}
test f64_few {}
test f64_chain {}
test f64_grad {}
kernel e4m3_kn(x: f8e4m3[M=136,K=264], w: f8e4m3[K,N=200], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel e4m3_nk(x: f8e4m3[M=72,K=136], w: f8e4m3[N=88,K], r: f32[M,N]) -> y: f32[M,N] { y = x @[K] w + r }
kernel e4m3_km(x: f8e4m3[K=136,M=72], w: f8e4m3[K,N=80]) -> (y: f32[M,N], s: f32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel e4m3_km_nk(x: f8e4m3[K=136,M=72], w: f8e4m3[N=88,K], s: f32[M]) -> y: f32[M,N] { y = (x @[K] w) * s }
kernel e4m3_odd(x: f8e4m3[M=65,K=67], w: f8e4m3[N=61,K], b: f32[M]) -> y: f32[M,N] { y = relu(x @[K] w) + b }
kernel e4m3_one(x: f8e4m3[M=1,K=1000], w: f8e4m3[N=520,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e4m3_few(x: f8e4m3[M=5,K=520], w: f8e4m3[K,N=264]) -> y: f32[M,N] { y = x @ w }
kernel e4m3_sixteen(x: f8e4m3[M=16,K=256], w: f8e4m3[N=192,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e4m3_slices(x: f8e4m3[M=24,K=9008], w: f8e4m3[N=40,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e4m3_slices_kn(x: f8e4m3[M=40,K=6000], w: f8e4m3[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel e4m3_batch(x: f8e4m3[B=3,M=40,K=72], w: f8e4m3[B,K,N=56]) -> y: f32[B,M,N] { y = x @ w }
kernel e4m3_heads(x: f8e4m3[B=2,M=72,K=64], w: f8e4m3[N=40,K]) -> y: f32[B,M,N] { y = relu(x @[K] w) }
kernel e4m3_two(x: f8e4m3[M=72,K=72], w: f8e4m3[K,N=72], v: f8e4m3[K,N]) -> y: f32[M,N] { y = relu(x @ w) * (x @ v) }
kernel e4m3_chain(x: f8e4m3[M=40,K=64], w: f8e4m3[K,H=72], v: f8e4m3[H,N=40], b: f32[H]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel e4m3_grad = grad(e4m3_nk, wrt: x, w)
kernel e4m3_chain_grad = grad(e4m3_chain, wrt: x, w, v)
test e4m3_kn { init: integers(-2,2) }
test e4m3_nk { init: integers(-2,2) }
test e4m3_km { init: integers(-2,2) }
test e4m3_km_nk { init: integers(-2,2) }
test e4m3_odd { init: integers(-2,2) }
test e4m3_one { init: integers(-2,2) }
test e4m3_few { init: integers(-2,2) }
test e4m3_sixteen { init: integers(-2,2) }
test e4m3_slices { init: integers(-2,2) }
test e4m3_slices_kn { init: integers(-2,2) }
test e4m3_batch { init: integers(-2,2) }
test e4m3_heads { init: integers(-2,2) }
test e4m3_two { init: integers(-2,2) }
test e4m3_chain { init: integers(-2,2) }
test e4m3_grad { init: integers(-2,2) }
test e4m3_chain_grad { init: integers(-2,2) }
test e4m3_kn {}
test e4m3_km {}
test e4m3_slices {}
test e4m3_few {}
test e4m3_chain {}
test e4m3_grad {}
kernel e5m2_kn(x: f8e5m2[M=136,K=264], w: f8e5m2[K,N=200], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel e5m2_nk(x: f8e5m2[M=72,K=136], w: f8e5m2[N=88,K], r: f32[M,N]) -> y: f32[M,N] { y = x @[K] w + r }
kernel e5m2_km(x: f8e5m2[K=136,M=72], w: f8e5m2[K,N=80]) -> (y: f32[M,N], s: f32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel e5m2_km_nk(x: f8e5m2[K=136,M=72], w: f8e5m2[N=88,K], s: f32[M]) -> y: f32[M,N] { y = (x @[K] w) * s }
kernel e5m2_odd(x: f8e5m2[M=65,K=67], w: f8e5m2[N=61,K], b: f32[M]) -> y: f32[M,N] { y = relu(x @[K] w) + b }
kernel e5m2_one(x: f8e5m2[M=1,K=1000], w: f8e5m2[N=520,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e5m2_few(x: f8e5m2[M=5,K=520], w: f8e5m2[K,N=264]) -> y: f32[M,N] { y = x @ w }
kernel e5m2_sixteen(x: f8e5m2[M=16,K=256], w: f8e5m2[N=192,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e5m2_slices(x: f8e5m2[M=24,K=9008], w: f8e5m2[N=40,K], b: f32[N]) -> y: f32[M,N] { y = relu(x @[K] w + b) }
kernel e5m2_slices_kn(x: f8e5m2[M=40,K=6000], w: f8e5m2[K,N=24]) -> y: f32[M,N] { y = x @ w }
kernel e5m2_batch(x: f8e5m2[B=3,M=40,K=72], w: f8e5m2[B,K,N=56]) -> y: f32[B,M,N] { y = x @ w }
kernel e5m2_heads(x: f8e5m2[B=2,M=72,K=64], w: f8e5m2[N=40,K]) -> y: f32[B,M,N] { y = relu(x @[K] w) }
kernel e5m2_two(x: f8e5m2[M=72,K=72], w: f8e5m2[K,N=72], v: f8e5m2[K,N]) -> y: f32[M,N] { y = relu(x @ w) * (x @ v) }
kernel e5m2_chain(x: f8e5m2[M=40,K=64], w: f8e5m2[K,H=72], v: f8e5m2[H,N=40], b: f32[H]) -> y: f32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
kernel e5m2_grad = grad(e5m2_nk, wrt: x, w)
kernel e5m2_chain_grad = grad(e5m2_chain, wrt: x, w, v)
test e5m2_kn { init: integers(-2,2) }
test e5m2_nk { init: integers(-2,2) }
test e5m2_km { init: integers(-2,2) }
test e5m2_km_nk { init: integers(-2,2) }
test e5m2_odd { init: integers(-2,2) }
test e5m2_one { init: integers(-2,2) }
test e5m2_few { init: integers(-2,2) }
test e5m2_sixteen { init: integers(-2,2) }
test e5m2_slices { init: integers(-2,2) }
test e5m2_slices_kn { init: integers(-2,2) }
test e5m2_batch { init: integers(-2,2) }
test e5m2_heads { init: integers(-2,2) }
test e5m2_two { init: integers(-2,2) }
test e5m2_chain { init: integers(-2,2) }
test e5m2_grad { init: integers(-2,2) }
test e5m2_chain_grad { init: integers(-2,2) }
test e5m2_kn {}
test e5m2_km {}
test e5m2_slices {}
test e5m2_few {}
test e5m2_chain {}
test e5m2_grad {}
kernel i8_kn(x: i8[M=136,K=264], w: i8[K,N=200], b: i32[N]) -> y: i32[M,N] { y = relu(x @ w + b) }
kernel i8_nk(x: i8[M=72,K=136], w: i8[N=88,K], r: i32[M,N]) -> y: i32[M,N] { y = x @[K] w + r }
kernel i8_km(x: i8[K=136,M=72], w: i8[K,N=80]) -> (y: i32[M,N], s: i32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel i8_km_nk(x: i8[K=136,M=72], w: i8[N=88,K], s: i32[M]) -> y: i32[M,N] { y = (x @[K] w) * s }
kernel i8_odd(x: i8[M=65,K=67], w: i8[N=61,K], b: i32[M]) -> y: i32[M,N] { y = relu(x @[K] w) + b }
kernel i8_one(x: i8[M=1,K=1000], w: i8[N=520,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel i8_few(x: i8[M=5,K=520], w: i8[K,N=264]) -> y: i32[M,N] { y = x @ w }
kernel i8_sixteen(x: i8[M=16,K=256], w: i8[N=192,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel i8_slices(x: i8[M=24,K=9008], w: i8[N=40,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel i8_slices_kn(x: i8[M=40,K=6000], w: i8[K,N=24]) -> y: i32[M,N] { y = x @ w }
kernel i8_batch(x: i8[B=3,M=40,K=72], w: i8[B,K,N=56]) -> y: i32[B,M,N] { y = x @ w }
kernel i8_heads(x: i8[B=2,M=72,K=64], w: i8[N=40,K]) -> y: i32[B,M,N] { y = relu(x @[K] w) }
kernel i8_two(x: i8[M=72,K=72], w: i8[K,N=72], v: i8[K,N]) -> y: i32[M,N] { y = relu(x @ w) * (x @ v) }
kernel i8_chain(x: i8[M=40,K=64], w: i8[K,H=72], v: i8[H,N=40], b: i32[H]) -> y: i32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
test i8_kn { init: integers(-2,2) }
test i8_nk { init: integers(-2,2) }
test i8_km { init: integers(-2,2) }
test i8_km_nk { init: integers(-2,2) }
test i8_odd { init: integers(-2,2) }
test i8_one { init: integers(-2,2) }
test i8_few { init: integers(-2,2) }
test i8_sixteen { init: integers(-2,2) }
test i8_slices { init: integers(-2,2) }
test i8_slices_kn { init: integers(-2,2) }
test i8_batch { init: integers(-2,2) }
test i8_heads { init: integers(-2,2) }
test i8_two { init: integers(-2,2) }
test i8_chain { init: integers(-2,2) }
test i8_kn { init: integers(-100,100) }
test i8_slices { init: integers(-100,100) }
test i8_one { init: integers(-100,100) }
test i8_batch { init: integers(-100,100) }
kernel u8_kn(x: u8[M=136,K=264], w: u8[K,N=200], b: i32[N]) -> y: i32[M,N] { y = relu(x @ w + b) }
kernel u8_nk(x: u8[M=72,K=136], w: u8[N=88,K], r: i32[M,N]) -> y: i32[M,N] { y = x @[K] w + r }
kernel u8_km(x: u8[K=136,M=72], w: u8[K,N=80]) -> (y: i32[M,N], s: i32[M]) {
  y = x @[K] w
  s = sum[N](y)
}
kernel u8_km_nk(x: u8[K=136,M=72], w: u8[N=88,K], s: i32[M]) -> y: i32[M,N] { y = (x @[K] w) * s }
kernel u8_odd(x: u8[M=65,K=67], w: u8[N=61,K], b: i32[M]) -> y: i32[M,N] { y = relu(x @[K] w) + b }
kernel u8_one(x: u8[M=1,K=1000], w: u8[N=520,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel u8_few(x: u8[M=5,K=520], w: u8[K,N=264]) -> y: i32[M,N] { y = x @ w }
kernel u8_sixteen(x: u8[M=16,K=256], w: u8[N=192,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel u8_slices(x: u8[M=24,K=9008], w: u8[N=40,K], b: i32[N]) -> y: i32[M,N] { y = relu(x @[K] w + b) }
kernel u8_slices_kn(x: u8[M=40,K=6000], w: u8[K,N=24]) -> y: i32[M,N] { y = x @ w }
kernel u8_batch(x: u8[B=3,M=40,K=72], w: u8[B,K,N=56]) -> y: i32[B,M,N] { y = x @ w }
kernel u8_heads(x: u8[B=2,M=72,K=64], w: u8[N=40,K]) -> y: i32[B,M,N] { y = relu(x @[K] w) }
kernel u8_two(x: u8[M=72,K=72], w: u8[K,N=72], v: u8[K,N]) -> y: i32[M,N] { y = relu(x @ w) * (x @ v) }
kernel u8_chain(x: u8[M=40,K=64], w: u8[K,H=72], v: u8[H,N=40], b: i32[H]) -> y: i32[M,N] with { fuse: require } { y = relu(x @ w + b) @ v }
test u8_kn { init: integers(0,2) }
test u8_nk { init: integers(0,2) }
test u8_km { init: integers(0,2) }
test u8_km_nk { init: integers(0,2) }
test u8_odd { init: integers(0,2) }
test u8_one { init: integers(0,2) }
test u8_few { init: integers(0,2) }
test u8_sixteen { init: integers(0,2) }
test u8_slices { init: integers(0,2) }
test u8_slices_kn { init: integers(0,2) }
test u8_batch { init: integers(0,2) }
test u8_heads { init: integers(0,2) }
test u8_two { init: integers(0,2) }
test u8_chain { init: integers(0,2) }
test u8_kn { init: integers(0,100) }
test u8_slices { init: integers(0,100) }
test u8_one { init: integers(0,100) }
test u8_batch { init: integers(0,100) }
