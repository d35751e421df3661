# args: --stop-after=share
# rows of 64 elements that are normalised: runs of an epilogue, but for those of an attention, whose chain keeps them
kernel attention(q: bf16[B,S,D], k: bf16[B,T=64,D], v: bf16[B,T,E]) -> y: bf16[B,S,E] with { fuse: require } { y = softmax[T](q @[D] k) @[T] v }
kernel scores(q: bf16[B,S,D], k: bf16[B,T=64,D]) -> y: bf16[B,S,T] with { fuse: require } { y = softmax[T](q @[D] k) }
