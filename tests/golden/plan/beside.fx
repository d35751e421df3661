# contractions of one A, tiles beside each other: by price at fixed extents, as a contract asks, not where one needs the other
kernel qkv(x: bf16[M=200,K=512], wq: bf16[K,N=384], wk: bf16[K,P=128], wv: bf16[Q=72,K], b: bf16[Q]) -> (q: bf16[M,N], k: f32[M,P], v: bf16[M,Q]) {
  q = x @ wq
  k = x @ wk
  v = gelu(x @ wv + b)
}
kernel two(x: bf16[M=200,K=512], wq: bf16[K,N=384], wk: bf16[K,P=128]) -> (q: bf16[M,N], k: bf16[M,P]) with { kernels: 2 } {
  q = x @ wq
  k = x @ wk
}
