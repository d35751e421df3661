# Reductions of what was reduced before: few results, of which each needs many elements.

# global response norm: each channel's norm over an image, beside the mean of all channels' norms
kernel response_norm(x: bf16[N,H,W,C], gamma: bf16[C], beta: bf16[C]) -> y: bf16[N,H,W,C] {
  g = sqrt(sum[H,W](x * x))
  y = x * (g / (mean[C](g) + 1e-6)) * gamma + beta + x
}
test response_norm { N=2 H=5 W=3 C=8 }
bench response_norm { N=32 H=56 W=56 C=96 vs: unfused }

kernel response_norm_first(x: bf16[N,C,H,W], gamma: bf16[C], beta: bf16[C]) -> y: bf16[N,C,H,W] {
  g = sqrt(sum[H,W](x * x))
  y = x * (g / (mean[C](g) + 1e-6)) * gamma + beta + x
}
test response_norm_first { N=2 H=5 W=3 C=8 }
bench response_norm_first { N=32 H=56 W=56 C=96 vs: unfused }

# experts' shares of the tokens, and of their probabilities
kernel expert_balance(z: f32[T,E], chosen: f32[T,E]) -> loss: f32 {
  f = mean[T](chosen)
  p = mean[T](softmax[E](z))
  loss = size(E) * sum[E](f * p)
}
test expert_balance { T=37 E=8 chosen.init: integers(0,1) }
bench expert_balance { T=16384 E=64 chosen.init: integers(0,1) vs: unfused }

kernel router_entropy(z: bf16[T,E]) -> h: f32 {
  p = mean[T](softmax[E](f32(z)))
  h = -sum[E](p * log(p + 1e-9))
}
test router_entropy { T=37 E=8 }
bench router_entropy { T=16384 E=64 vs: unfused }

# overlap of masks, a class at a time, over images whose classes lie first, and last
kernel dice(x: f32[N,C,H,W], t: f32[N,C,H,W]) -> loss: f32 {
  p = sigmoid(x)
  loss = 1 - mean[N,C]((2 * sum[H,W](p * t) + 1) / (sum[H,W](p) + sum[H,W](t) + 1))
}
test dice { N=2 C=3 H=5 W=7 t.init: integers(0,1) }
bench dice { N=16 C=4 H=512 W=512 t.init: integers(0,1) vs: unfused }

kernel dice_last(x: f32[N,H,W,C], t: f32[N,H,W,C]) -> loss: f32 {
  p = sigmoid(x)
  loss = 1 - mean[N,C]((2 * sum[H,W](p * t) + 1) / (sum[H,W](p) + sum[H,W](t) + 1))
}
test dice_last { N=2 H=5 W=7 C=3 t.init: integers(0,1) }
bench dice_last { N=16 H=512 W=512 C=4 t.init: integers(0,1) vs: unfused }

# features that do not vary within a batch, and features that say the same
kernel variance_hinge(x: f32[N,D]) -> loss: f32 {
  d = x - mean[N](x)
  loss = mean[D](relu(1 - sqrt(mean[N](d * d) + 1e-4)))
}
test variance_hinge { N=19 D=13 }
bench variance_hinge { N=4096 D=1024 vs: unfused }

kernel invariance(a: f32[N,D], b: f32[N,D]) -> loss: f32 { loss = sum[D]((1 - mean[N](layernorm[N](a) * layernorm[N](b))) ** 2) }
test invariance { N=19 D=13 }
bench invariance { N=1024 D=8192 vs: unfused }

# a gate of each channel, made of the channels' means
kernel channel_gate(x: bf16[N,H,W,C], w: bf16[C]) -> y: bf16[N,H,W,C] { y = x * sigmoid(layernorm[C](mean[H,W](x)) * w) }
test channel_gate { N=2 H=5 W=3 C=8 }
bench channel_gate { N=32 H=56 W=56 C=256 vs: unfused }

# a step of the size of each layer's weights, all clipped together
kernel layer_steps(p: f32[L,N], g: f32[L,N]) -> q: f32[L,N] {
  size_of = sqrt(sum[N](p * p))
  grad = sqrt(sum[N](g * g))
  all = sqrt(sum[L](grad * grad))
  q = p - 0.1 * size_of / (grad + 1e-6) * g / max(all, 1)
}
test layer_steps { L=3 N=41 }
bench layer_steps { L=64 N=262144 vs: unfused }

kernel largest_energy(x: f32[A,B,C]) -> y: f32 { y = max[A](mean[B](sum[C](x * x))) }
test largest_energy { A=3 B=5 C=7 }
bench largest_energy { A=64 B=512 C=1024 vs: unfused }

kernel mean_norm(x: f32[B,T,D]) -> y: f32[B] { y = mean[T](sqrt(sum[D](x * x))) }
test mean_norm { B=3 T=5 D=7 }
bench mean_norm { B=8 T=4096 D=1024 vs: unfused }
