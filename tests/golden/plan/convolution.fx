# windows by tensor maps in im2col mode: what they need of corners and offsets; of 3 channels, of a copy that has them beside what the window has; with a step of 9, a value outside and channels at a position on other engines
kernel fixed[U=3,V=3](x: bf16[B=16,H=64,W=64,C=128], k: bf16[U,V,C,O=128]) -> z: bf16[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
kernel inside(x: bf16[B,H=P+U-1,W=Q+V-1,C], k: bf16[O,U,V,C]) -> z: bf16[B,P,Q,O] { z = sum[U,V,C](x[H: P+U, W: Q+V] * k) }
kernel line(x: f16[B,T,C], k: f16[K=5,C,O]) -> z: f16[B,Q=T//4,O] { z = sum[K,C]((x[T: 4*idx(Q) + 3*idx(K) - 7] ?? 0) * k) }
kernel few[U=3,V=3](x: bf16[B,H,W,C=3], k: bf16[U,V,C,O]) -> z: bf16[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
kernel outside[U=3](x: bf16[B,T,C], k: bf16[U,C,O]) -> z: bf16[B,T,O] with { fuse: require } { z = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 1) * k) }
kernel wide[U=3](x: bf16[B,T,C], k: bf16[U,C,O]) -> z: bf16[B,P=T//9,O] with { fuse: require } { z = sum[U,C]((x[T: 9*idx(P) + idx(U) - 1] ?? 0) * k) }
