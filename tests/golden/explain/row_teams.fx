# args: --arch=sm_90a --gpu=H200
# Rows of no more than some sectors are one kernel, one, two or four threads a row. Threads that walk a row each are taken for one reduction, where the lanes of a warp read other banks.
kernel one(x: bf16[M=4000000,N=8], w: bf16[N], b: bf16[N]) -> y: bf16[M,N] { y = layernorm[N](x) * w + b }
kernel one_odd(x: f32[M=4000000,N=5]) -> y: f32[M,N] { y = softmax[N](x) }
kernel two(x: bf16[M=2000000,N=32], w: bf16[N], b: bf16[N]) -> y: bf16[M,N] { y = layernorm[N](x) * w + b }
kernel two_odd(x: f32[M=4000000,N=7]) -> y: f32[M,N] { y = softmax[N](x) }
kernel four(x: f32[M=2000000,N=20]) -> y: f32[M,N] { y = softmax[N](x) }
kernel eight(x: f32[M=1000000,N=64]) -> y: f32[M,N] { y = softmax[N](x) }
kernel walked(x: f32[M=2000000,N=12]) -> y: f32[M] { y = sum[N](x) }
kernel of_one_bank(x: f32[M=2000000,N=16]) -> y: f32[M] { y = sum[N](x) }
kernel gathered(u: f32[U=100000,D=64], i: f32[I=50000,D], a: i32[B=262144], p: i32[B]) -> s: f32[B] { s = sum[D]((u[U: a] ?? 0) * (i[I: p] ?? 0)) }
# Long rows: of two blocks an SM, without what passes share; of a cluster of two.
kernel held(x: bf16[M=2048,N=32768]) -> y: bf16[M,N] { y = softmax[N](x) }
kernel shared(x: bf16[M=1024,N=65536]) -> y: bf16[M,N] { y = softmax[N](x) }
