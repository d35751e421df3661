# Stores at positions: adjacent elements at one position, elements each at its own, what is read where it is stored.
kernel rows(cache: inout bf16[B,T,H,D], k: bf16[B,H,D], at: i32[B]) { cache[T: at] = k }
kernel elements(cache: inout f16[B,D,T], k: f16[B,S,D], at: i32[B]) { cache[T: at + S] = k }
kernel decayed(x: inout f32[B,T,D], v: f32[B,D], at: i32[B]) { x[T: at] = 0.5 * (x[T: at] ?? 0) + v }
kernel inside(x: inout f32[M=64,N], v: f32[N], i: i32) { x[M: i % 64] = v }
