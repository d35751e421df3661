# Contractions of f32 in parts: where extents are fixed and the products pay for storing their factors so; not under a contract that it would break.
kernel mlp(x: f32[M=1024,K=1024], w: f32[K,H=4096], v: f32[H,N=1024], b: f32[H]) -> y: f32[M,N] { y = relu(x @ w + b) @ v }
kernel turned(x: f32[M=1024,K=1024], w: f32[K,N=2047]) -> y: f32[M,N] { y = x @ w }    # rows of w are no multiple of 16 bytes: k is last
kernel small(x: f32[M=128,K=128], w: f32[K,N=128]) -> y: f32[M,N] { y = x @ w }
kernel free(x: f32[M,K=1024], w: f32[K,N=2048]) -> y: f32[M,N] { y = x @ w }
kernel whole(x: f32[M=1024,K=1024], w: f32[K,N=2048]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel as_written(x: f32[M=1024,K=1024], w: f32[K,N=2048]) -> y: f32[M,N] with { precision: fma } { y = x @ w }
