# args: --arch=sm_90a
# Batch norm behind a product of many rows: statistics begin in the epilogue, and the product is read once; with a costly function behind it, or of few rows, a row program does it all.
fn batch_norm[M](v, g, be) = layernorm[M](v) * g + be
kernel many(x: bf16[M=16384,K=4096], w: bf16[N=4096,K], b: bf16[N], g: bf16[N], be: bf16[N]) -> y: bf16[M,N] { y = batch_norm[M](x @ w + b, g, be) }
kernel activated(x: bf16[M=16384,K=4096], w: bf16[N=4096,K], b: bf16[N], g: bf16[N], be: bf16[N]) -> y: bf16[M,N] { y = relu(gelu(batch_norm[M](x @ w + b, g, be))) }
kernel few(x: bf16[M=1024,K=8192], w: bf16[N=8192,K], b: bf16[N], g: bf16[N], be: bf16[N]) -> y: bf16[M,N] { y = batch_norm[M](x @ w + b, g, be) }
