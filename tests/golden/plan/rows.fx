kernel soft(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
kernel down(x: f32[K,N=4096]) -> s: f32[N] { s = sum[K](x) }
kernel whole(x: f32[M,N]) -> s: f32 { s = sum[M,N](x) }
kernel whole_at_once(x: f32[M,N]) -> s: f32 with { fuse: require } { s = sum[M,N](x) }
