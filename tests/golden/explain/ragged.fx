# args: -v
# a detour of rank 5 is never aligned: the other segment is copied 16 bytes at a time all the same; what makes x @ A takes blocks of the size of the phase behind it
kernel lora(x: f32[M,K], w: f32[K,N], a: f32[K,R=5], b: f32[R,N]) -> y: f32[M,N] with { fuse: require } { y = x @ w + x @ a @ b }
kernel both(x: bf16[M,K], w: bf16[N,K], u: bf16[M,R=21], v: bf16[N,R]) -> y: f32[M,N] with { fuse: require } { y = x @ w + u @ v }
