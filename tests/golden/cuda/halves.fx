# args: --with=fuse.halves
kernel halves(x: f32[M=1024,K=1024], w: const f32[K,N=1024]) -> y: f32[M,N] { y = x @ w }
