# Other labels, statistics written out, operands commuted.
kernel response_norm(x: bf16[B,U,V,K], gamma: bf16[K], beta: bf16[K]) -> y: bf16[B,U,V,K] {
  size_of = sqrt(sum[U,V](x ** 2))
  y = x + beta + gamma * (x * (size_of / (1e-6 + sum[K](size_of) / size(K))))
}
kernel response_norm_first(x: bf16[B,K,U,V], gamma: bf16[K], beta: bf16[K]) -> y: bf16[B,K,U,V] {
  size_of = sqrt(sum[U,V](x ** 2))
  y = x + beta + gamma * (x * (size_of / (1e-6 + sum[K](size_of) / size(K))))
}
kernel expert_balance(z: f32[S,X], chosen: f32[S,X]) -> loss: f32 {
  most = max[X](z)
  m = where(abs(most) < inf, most, 0)
  e = exp(z - m)
  t = sum[X](e)
  q = where(t == 0, 0, e / t)
  loss = sum[X](sum[S](q) / size(S) * (sum[S](chosen) / size(S))) * size(X)
}
kernel router_entropy(z: bf16[S,X]) -> h: f32 {
  u = f32(z)
  most = max[X](u)
  m = where(abs(most) < inf, most, 0)
  e = exp(u - m)
  t = sum[X](e)
  q = sum[S](where(t == 0, 0, e / t)) / size(S)
  h = -sum[X](log(1e-9 + q) * q)
}
kernel dice(x: f32[B,K,U,V], t: f32[B,K,U,V]) -> loss: f32 {
  q = 1 / (1 + exp(-x))
  both = sum[U,V](t * q)
  either = sum[U,V](q) + sum[U,V](t)
  loss = 1 - sum[B,K]((1 + 2 * both) / (1 + either)) / (size(B) * size(K))
}
kernel dice_last(x: f32[B,U,V,K], t: f32[B,U,V,K]) -> loss: f32 {
  q = 1 / (1 + exp(-x))
  both = sum[U,V](t * q)
  either = sum[U,V](q) + sum[U,V](t)
  loss = 1 - sum[B,K]((1 + 2 * both) / (1 + either)) / (size(B) * size(K))
}
kernel variance_hinge(x: f32[B,F]) -> loss: f32 {
  c = x - sum[B](x) / size(B)
  loss = sum[F](max(1 - sqrt(1e-4 + sum[B](c ** 2) / size(B)), 0)) / size(F)
}
kernel invariance(a: f32[B,F], b: f32[B,F]) -> loss: f32 {
  c = a - sum[B](a) / size(B)
  d = b - sum[B](b) / size(B)
  p = c * rsqrt(sum[B](c * c) / size(B) + 1e-5)
  q = d * rsqrt(sum[B](d * d) / size(B) + 1e-5)
  r = 1 - sum[B](q * p) / size(B)
  loss = sum[F](r * r)
}
kernel channel_gate(x: bf16[B,U,V,K], w: bf16[K]) -> y: bf16[B,U,V,K] {
  p = sum[U,V](x) / (size(U) * size(V))
  c = p - sum[K](p) / size(K)
  y = sigmoid(w * (c * rsqrt(sum[K](c ** 2) / size(K) + 1e-5))) * x
}
kernel layer_steps(p: f32[A,B], g: f32[A,B]) -> q: f32[A,B] {
  u = sqrt(sum[B](g ** 2))
  v = sqrt(sum[B](p ** 2))
  q = p - g * (v * 0.1 / (1e-6 + u)) / max(1, sqrt(sum[A](u ** 2)))
}
kernel largest_energy(x: f32[P,Q,R]) -> y: f32 { y = max[P](sum[Q](sum[R](x ** 2)) / size(Q)) }
kernel mean_norm(x: f32[P,Q,R]) -> y: f32[P] { y = sum[Q](sqrt(sum[R](x ** 2))) / size(Q) }
