# args: --arch=sm_90a
# Rows that begin within a line of the L2 cache, whose tiles all run at once: blocks of clusters share the columns, or the k of a tile.
kernel few_rows(x: bf16[M=112,K=1912], w: bf16[N=5976,K]) -> y: bf16[M,N] { y = x @[K] w }
kernel long_k(x: bf16[M=304,K=4824], w: bf16[N=520,K]) -> y: bf16[M,N] { y = x @[K] w }
