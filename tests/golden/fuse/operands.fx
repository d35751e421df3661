# what a contraction reads its factors as: 8-bit integers as they are, others in the dtype of the sum, floats in 16 bits where that loses nothing
kernel bytes(x: i8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @ w }
kernel small(x: u4[M,K] packed(i32, K, lsb), w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
kernel masked(x: bool[M,K], w: u8[K,N]) -> y: i32[M,N] { y = x @ w }
kernel shorts(x: i16[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
kernel wide(x: u32[M,K], w: i32[K,N]) -> y: i64[M,N] { y = x @ w }
kernel doubles(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @ w }
kernel eights(x: f8e4m3[M,K], w: f8e5m2[N,K]) -> y: f32[M,N] { y = x @ w }
kernel eights_f16(x: f8e4m3[M,K], w: f16[K,N]) -> y: f32[M,N] with { precision: ieee } { y = x @ w }
kernel exact(x: bf16[M,K], w: u8[N,K]) -> y: f32[M,N] with { precision: ieee } { y = x @ w }
kernel inexact(x: bf16[M,K], w: i16[N,K]) -> y: f32[M,N] with { precision: ieee } { y = x @ w }
kernel windowed(x: i8[B,C,H], k: i8[O,C,U=3]) -> y: i32[B,H,O] { y = sum[C,U]((x[H: H+U-1] ?? 0) * k) }
# a factor that is stored has the labels of k in the order in which they lie in the other one: k is a single run in both
kernel ordered(x: bf16[M,Q], y: bf16[M,P], w: bf16[N,P,Q]) -> z: f32[M,N] with { fuse: never } { z = (sigmoid(x) * y) @[P,Q] w }
