# What adjacent elements read around a multiple of their own is a strip of the row: of a filter, of windows in steps of two, with rows of any length. Of a long sum what a part reads is read ahead of that part.
kernel filter(x: f16[C,H,W], k: f16[C,U=3,V=3]) -> y: f16[C,H,W] { y = sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel pool[U=2,V=2](x: bf16[C,H,W]) -> y: bf16[C,P=H//2,Q=W//2] { y = max[U,V](x[H: 2*P+U, W: 2*Q+V] ?? -inf) }
kernel long(x: f32[C,T=64], k: f32[C,U=15]) -> y: f32[C,T] { y = relu(sum[U](k * (x[T: T+U-7] ?? 0))) }
kernel shift(x: f32[C,T]) -> y: f32[C,T] { y = x - (x[T: T-1] ?? 0) }
