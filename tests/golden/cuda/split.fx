# args: --skip=fuse.halves
kernel split(x: f32[M=1024,K=1024], w: f32[N=2048,K], b: f32[N]) -> y: f32[M,N] { y = gelu(x @[K] w + b) }
kernel batched(x: f32[B=8,M=1024,K=1024], w: f32[B,K,N=1024]) -> y: f32[B,M,N] { y = x @[K] w }
