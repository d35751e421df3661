# args: --arch=sm_90a
# what is the same for a chunk of k, or read for a chunk at once: scales of groups counted from the end; an epilogue of a chain reads a row of a table
kernel back(x: f16[M,K], w: i8[N,K], s: f32[N,G=K/128]) -> y: f16[M,N] with { fuse: require } { y = x @[K] (w * s[G: size(G) - 1 - K // 128]) }
kernel gathered(q: f16[M,D], k: f16[S,D], v: f16[S,E], t: f16[V,E], at: i64[M]) -> y: f16[M,E] with { fuse: require } {
  y = (softmax[S](q @[D] k) @[S] v) * (t[V: at] ?? 0)
}
