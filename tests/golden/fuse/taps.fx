# A filter [C,V] whose channels lie apart, over an image whose channels lie together: copied with the channels last. Not where the image has its rows contiguous, where the filter has its channels last,
# where few elements are read, or where the kernel says how it is to be fused.
kernel last[V=3](x: bf16[B=32,T=4096,C=64], k: bf16[C,V]) -> y: bf16[B,T,C] { y = sum[V](k * (x[T: idx(T) + idx(V) - 1] ?? 0)) }
kernel planes[V=3](x: bf16[B=32,C=64,T=4096], k: bf16[C,V]) -> y: bf16[B,C,T] { y = sum[V](k * (x[T: idx(T) + idx(V) - 1] ?? 0)) }
kernel turned[V=3](x: bf16[B=32,T=4096,C=64], k: bf16[V,C]) -> y: bf16[B,T,C] { y = sum[V](k * (x[T: idx(T) + idx(V) - 1] ?? 0)) }
kernel few[V=3](x: bf16[T=64,C=64], k: bf16[C,V]) -> y: bf16[T,C] { y = sum[V](k * (x[T: idx(T) + idx(V) - 1] ?? 0)) }
kernel whole[V=3](x: bf16[B=32,T=4096,C=64], k: bf16[C,V]) -> y: bf16[B,T,C] with { fuse: require } { y = sum[V](k * (x[T: idx(T) + idx(V) - 1] ?? 0)) }
