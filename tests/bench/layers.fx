kernel mm(x: bf16[M,K], w: bf16[K,N]) -> (y: bf16[M,N]) { y = x @ w }
kernel mm_nk(x: bf16[M,K], w: bf16[N,K]) -> (y: bf16[M,N]) { y = x @[K] w }
kernel lin_gelu(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> (y: bf16[M,N]) { y = gelu(x @[K] w + b) }
kernel mm_f32(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N]) { y = x @ w }
kernel mm_tf32(x: f32[M,K], w: f32[N,K]) -> (y: f32[M,N]) with { precision: tf32 } { y = x @[K] w }
kernel swiglu(x: bf16[M,K], w: bf16[N,K], v: bf16[N,K]) -> (y: bf16[M,N]) { y = silu(x @[K] w) * (x @[K] v) }
kernel resid(x: bf16[M,K], w: bf16[N,K], r: bf16[M,N]) -> (y: bf16[M,N]) { y = x @[K] w + r }
kernel i8lin(x: bf16[M,K], w: i8[N,K], s: bf16[N]) -> (y: bf16[M,N]) { y = (x @[K] bf16(w)) * s }
kernel gqa(q: bf16[H,R,S,D], k: bf16[H,T,D], v: bf16[H,T,D]) -> (o: bf16[H,R,S,D]) { o = softmax[T](where(idx(T) <= idx(S), (q @[D] k) * 0.08838834764831845, -inf)) @[T] v }
kernel attn(q: bf16[H,S,D], k: bf16[H,T,D], v: bf16[H,T,D]) -> (o: bf16[H,S,D]) { o = softmax[T]((q @[D] k) * 0.08838834764831845) @[T] v }
kernel tradd(x: f32[M,N], y: f32[N,M]) -> (z: f32[M,N]) { z = x + y }
kernel sm(x: bf16[M,N]) -> (y: bf16[M,N]) { y = softmax[N](x) }
kernel silumul(x: bf16[M,N], u: bf16[M,N]) -> (y: bf16[M,N]) { y = silu(x) * u }
kernel cumd(x: f32[B,K,N]) -> (y: f32[B,K,N]) { y = cumsum[K](x) }
kernel w4(x: bf16[M,K], q: u4[N,K] packed(i32, K, lsb), s: bf16[N,G=K/128]) -> (y: bf16[M,N]) { y = x @[K] bf16((q - 8) * s[G: K/128]) }
kernel bmm(x: bf16[B,M,K], w: bf16[B,K,N]) -> (y: bf16[B,M,N]) { y = x @ w }
