# args: --arch=sm_90a -D M=395 -D D=100864 -D N=2097152 -D C=21
# Long reductions are no loops of threads of a product's epilogue; a weighted sum of what short rows give stores those first, and is no product.
kernel beside_product(x: bf16[M,D], g: bf16[D]) -> y: f32[M] { y = sum[D](x * g) + max[D](x) }
kernel weighted(x: f16[N,C], w: f32[N]) -> l: f32[] { l = sum[N](w * logsumexp[C](x)) / sum[N](w) }
# a running sum of running sums down columns: the inner one is a kernel of its own, as each thread would add up the row anew for each element
kernel integral(x: f32[B=16,H=1024,W=1024]) -> y: f32[B,H,W] { y = cumsum[H](cumsum[W](x)) }
