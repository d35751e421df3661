# Gradients of chains: what one kernel finds of rows the others read, and add the first contractions up anew; two first contractions, several passes over the intermediate, a
# factor of a first contraction that is not finite beyond limits.
kernel attn(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> y: bf16[B,H,S,E] {
  y = softmax[T](where(idx(T) <= idx(S), (q @ k) * scale, -inf)) @ v
}
kernel attn_bwd = grad(attn, wrt: q, k, v) with { kernels: 2 }
test attn_bwd { B=1 H=1 S=20 T=24 D=16 E=16 scale=0.2 }
test attn_bwd { B=1 H=2 S=70 T=136 D=64 E=64 scale=0.2 }
test attn_bwd { B=2 H=2 S=300 T=300 D=128 E=128 scale=0.1 }
test attn_bwd { B=1 H=2 S=300 T=500 D=64 E=64 scale=0.1 k.init: outlier(0,1000) }
kernel full(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,E], scale: f32) -> y: f16[B,H,S,E] {
  y = softmax[T]((q @ k) * scale) @ v
}
kernel full_bwd = grad(full, wrt: q, k, v) with { kernels: 3 }
test full_bwd { B=1 H=1 S=20 T=24 D=16 E=8 scale=0.2 }
test full_bwd { B=1 H=2 S=70 T=130 D=40 E=64 scale=0.2 }
test full_bwd { B=1 H=2 S=200 T=330 D=128 E=64 scale=0.2 }
kernel sig(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> y: bf16[B,H,S,E] {
  y = sigmoid(where(idx(T) <= idx(S), (q @ k) * scale, -inf)) @ v
}
kernel sig_bwd = grad(sig, wrt: q, k, v) with { kernels: 3 }
test sig_bwd { B=1 H=1 S=20 T=24 D=16 E=16 scale=0.2 }
test sig_bwd { B=1 H=2 S=200 T=130 D=64 E=64 scale=0.2 }
kernel grouped(q: bf16[B,H,R,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,R,S,E], l: f32[B,H,R,S]) {
  s = where(idx(T) <= idx(S), (q @[D] k) * scale, -inf)
  y = softmax[T](s) @[T] v
  l = logsumexp[T](s)
}
kernel grouped_bwd = grad(grouped, wrt: q, k, v)
test grouped_bwd { B=1 H=2 R=2 S=130 T=130 D=64 E=64 scale=0.2 }
kernel walks(q: bf16[S,D], k: bf16[T,D], v: bf16[T,N]) -> (o: bf16[S,N], d: f32[S]) with { fuse: require } {
  a = q @ k
  z = layernorm[T](a)
  o = z @ v
  d = sum[T](abs(z))
}
test walks { S=20 T=24 D=16 N=16 }
test walks { S=200 T=130 D=64 N=64 }
test walks { S=70 T=300 D=128 N=128 }
# what the forward has stored: no row is reduced over T, and its sum times v is read
kernel saved_attn(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,S,E], l: f32[B,H,S]) {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel saved_attn_bwd = grad(saved_attn, wrt: q, k, v, saved: y, l) with { kernels: 3 }
test saved_attn_bwd { B=1 H=1 S=20 T=24 D=16 E=16 scale=0.2 }
test saved_attn_bwd { B=1 H=2 S=70 T=136 D=64 E=64 scale=0.2 }
test saved_attn_bwd { B=2 H=2 S=300 T=300 D=128 E=128 scale=0.1 }
test saved_attn_bwd { B=1 H=2 S=300 T=500 D=64 E=64 scale=0.1 k.init: outlier(0,1000) }
kernel saved_full(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,E], scale: f32) -> (y: f16[B,H,S,E], l: f32[B,H,S]) {
  s = (q @ k) * scale
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel saved_full_bwd = grad(saved_full, wrt: q, k, v, saved: y, l)
test saved_full_bwd { B=1 H=1 S=20 T=24 D=16 E=8 scale=0.2 }
test saved_full_bwd { B=1 H=2 S=70 T=130 D=40 E=64 scale=0.2 }
test saved_full_bwd { B=1 H=2 S=200 T=330 D=128 E=64 scale=0.1 }
kernel capped(q: bf16[B,H,R,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], bias: f32[R], scale: f32) -> (y: bf16[B,H,R,S,E], l: f32[B,H,R,S]) {
  s = where(idx(T) <= idx(S), tanh((q @[D] k) * scale) * 5 + bias, -inf)
  m = max[T](s)
  r = sum[T](exp(s - m))
  y = (exp(s - m) / r) @[T] v
  l = m + log(r)
}
kernel capped_bwd = grad(capped, wrt: q, k, v, bias, saved: y, l)
test capped_bwd { B=1 H=1 R=2 S=20 T=24 D=16 E=16 scale=0.2 }
test capped_bwd { B=1 H=2 R=2 S=130 T=130 D=64 E=64 scale=0.2 }
# two chains in one launch: limits at both ends, a bias of keys, rows of another label than the columns'
kernel window(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,E], bias: f32[T], scale: f32) -> (y: f16[B,H,S,E], l: f32[B,H,S]) {
  s = where(idx(T) <= idx(S) && idx(S) - idx(T) < 70, (q @ k) * scale + bias, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel window_bwd = grad(window, wrt: q, k, v, saved: y, l) with { kernels: 3 }
test window_bwd { B=1 H=1 S=84 T=84 D=16 E=16 scale=0.1 }
test window_bwd { B=1 H=2 S=200 T=200 D=64 E=64 scale=0.1 }
test window_bwd { B=1 H=1 S=330 T=330 D=128 E=96 scale=0.1 }
