# A factor that is made of an outer sum, or an outer product, and stored before it is multiplied: far larger than what it is made of.
kernel joint(f: bf16[B=2,T=24,H=64], g: bf16[B,U=32,H], w: bf16[V=128,H], b: bf16[V]) -> z: f32[B,T,U,V] with { kernels: 2 } { z = relu(f + g) @[H] w + b }
kernel pairs(a: f32[I=48,H=64], c: f32[J=40,H], w: f32[H,V=128]) -> z: f32[I,J,V] with { kernels: 2 } { z = max(a, c) @[H] w }
test joint { init: integers(-3,3) tol: exact }
test joint { seed: 2 }
test pairs { init: integers(-3,3) tol: exact }
test pairs { seed: 2 }
kernel small(f: bf16[B=2,T=5,H=64], g: bf16[B,U=6,H], w: bf16[V=40,H], b: bf16[V]) -> z: f32[B,T,U,V] with { kernels: 2 } { z = relu(f + g) @[H] w + b }
kernel small_pairs(a: f32[I=9,H=64], c: f32[J=7,H], w: f32[H,V=40]) -> z: f32[I,J,V] with { kernels: 2 } { z = max(a, c) @[H] w }
test small { init: integers(-3,3) tol: exact }
test small_pairs { init: integers(-3,3) tol: exact }
