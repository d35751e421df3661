# Factors whose rows are no multiple of 16 bytes: repacked where the product is large. Not where rows are, where it is small, or where the kernel says how it is to be fused.
kernel both(x: bf16[M=4095,K=4093], w: bf16[K,N=4097]) -> y: bf16[M,N] { y = gelu(x @ w) }
kernel of_n(x: bf16[M=4096,K=4096], w: bf16[K,N=4097]) -> y: bf16[M,N] { y = x @ w }
kernel none(x: bf16[M=4095,K=4096], w: bf16[N=4097,K]) -> y: bf16[M,N] { y = x @[K] w }
kernel small(x: bf16[M=95,K=93], w: bf16[K,N=97]) -> y: bf16[M,N] { y = x @ w }
kernel whole(x: bf16[M=4095,K=4093], w: bf16[K,N=4097]) -> y: bf16[M,N] with { fuse: require } { y = x @ w }
