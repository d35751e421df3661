# Windows whose channels do not lie contiguous: copied with the channels last, few of them beside what the window has; those that do not overlap, and rows of odd length, whole. Not where tensor maps bring what lies there, where the product is small,
# where both factors have a label that is kept, where the value outside is not 0, or where the kernel says how it is to be fused.
kernel planes[U=3,V=3](x: bf16[B=32,C=64,H=56,W=56], k: bf16[O=64,C,U,V]) -> y: bf16[B,O,H,W] { y = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel padded[V=5](x: f16[B=32,C=100,W=4096], k: f16[V,C,O=128]) -> y: f16[B,O,W] { y = sum[C,V]((x[W: idx(W) + idx(V) - 2] ?? 0) * k) }
kernel patches[U=16,V=16](x: bf16[B=32,C=3,H=16*P,W=16*Q], k: bf16[O=768,C,U,V]) -> y: bf16[B,O,P=14,Q=14] { y = sum[C,U,V](x[H: 16*idx(P) + idx(U), W: 16*idx(Q) + idx(V)] * k) }
kernel colours[U=7,V=7](x: bf16[B=32,C=3,H=2*P,W=2*Q], k: bf16[O=64,C,U,V]) -> y: bf16[B,O,P=112,Q=112] {
  y = sum[C,U,V]((x[H: 2*idx(P) + idx(U) - 3, W: 2*idx(Q) + idx(V) - 3] ?? 0) * k)
}
kernel odd(x: bf16[B=32,C=1024,H=14,W=14], k: bf16[O=256,C]) -> y: bf16[B,O,H,W] { y = sum[C](x * k) }
kernel even(x: bf16[B=32,C=256,H=28,W=28], k: bf16[O=512,C]) -> y: bf16[B,O,H,W] { y = sum[C](x * k) }
kernel both[V=3](x: bf16[B=32,C=64,W=8192], k: bf16[O=64,C,V], l: bf16[O,C,V]) -> y: bf16[B,O,W] {
  y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) * sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * l)
}
kernel last[V=3](x: bf16[B=32,W=8192,C=64], k: bf16[O=64,V,C]) -> y: bf16[B,W,O] { y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel frames[V=512](x: bf16[B=32,T=64*P+448], k: bf16[O=512,V]) -> y: bf16[B,P=1024,O] { y = sum[V](x[T: 64*idx(P) + idx(V)] * k) }
kernel small[V=3](x: bf16[B=2,C=64,W=100], k: bf16[O=64,C,V]) -> y: bf16[B,O,W] { y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel grouped[V=3](x: bf16[B=32,G=4,C=64,W=4096], k: bf16[G,O=64,C,V]) -> y: bf16[B,G,O,W] { y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel ones[V=3](x: bf16[B=32,C=64,W=8192], k: bf16[O=64,C,V]) -> y: bf16[B,O,W] { y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 1) * k) }
kernel whole[V=3](x: bf16[B=32,C=64,W=8192], k: bf16[O=64,C,V]) -> y: bf16[B,O,W] with { fuse: require } { y = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k) }
