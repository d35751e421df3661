# Windows of tensors whose channels lie last, as an operand of a product: on sm_90a by tensor maps in im2col mode, where steps, offsets and corners allow it.
# Integers, so that sums are exact; images smaller than a tile, whose rows and images a tile runs across; tails in every direction.

kernel same[U=3,V=3](x: bf16[B,H,W,C], k: bf16[U,V,C,O]) -> z: f32[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test same { B=3 H=7 W=7 C=64 O=64 init: integers(-2,2) }
test same { B=2 H=14 W=14 C=72 O=136 init: integers(-2,2) }
test same { B=1 H=1 W=1 C=8 O=8 init: integers(-2,2) }
test same { B=5 H=1 W=5 C=16 O=24 init: integers(-2,2) }
test same { B=5 H=5 W=1 C=136 O=72 init: integers(-2,2) }
test same { B=1 H=56 W=56 C=24 O=16 init: integers(-2,2) }
test same { B=2 H=5 W=3 C=7 O=9 init: integers(-2,2) }
test same { B=2 H=3 W=5 C=13 O=16 init: integers(-2,2) }

# f16, a step of 2 and of 3, corners of their own on each side, weights with k contiguous; an epilogue
kernel steps[U=3,V=5](x: f16[B,H,W,C], k: f16[O,U,V,C], b: f16[O]) -> z: f16[B,P=(H+2)//2,Q=(W+1)//3,O] {
  z = relu(sum[U,V,C]((x[H: 2*idx(P) + idx(U) - 2, W: 3*idx(Q) + idx(V) - 1] ?? 0) * k) + b)
}
test steps { B=3 H=7 W=14 C=64 O=64 init: integers(-1,1) }
test steps { B=4 H=14 W=5 C=40 O=72 init: integers(-1,1) }
test steps { B=1 H=1 W=2 C=8 O=8 init: integers(-1,1) }
test steps { B=7 H=6 W=11 C=80 O=40 init: integers(-1,1) }
test steps { B=2 H=6 W=11 C=5 O=3 init: integers(-1,1) }

# elements of a window apart from each other, from the last to the first
kernel apart[U=3,V=2](x: bf16[B,H,W,C], k: bf16[U,V,C,O]) -> z: bf16[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + 4 - 3*idx(U), W: idx(W) + 2*idx(V)] ?? 0) * k)
}
test apart { B=2 H=14 W=7 C=64 O=64 init: integers(-1,1) }
test apart { B=3 H=5 W=9 C=32 O=40 init: integers(-1,1) }

# nothing outside; a window of any size; no images; the last pixels unread
kernel inside(x: bf16[B,H=P+U-1,W=Q+V,C], k: bf16[U,V,C,O]) -> z: f32[B,P,Q,O] { z = sum[U,V,C](x[H: P+U, W: Q+V] * k) }
test inside { B=3 P=5 Q=7 U=3 V=3 C=64 O=64 init: integers(-2,2) }
test inside { B=2 P=14 Q=28 U=1 V=4 C=40 O=24 init: integers(-2,2) }
test inside { B=2 P=3 Q=3 U=4 V=2 C=9 O=7 init: integers(-2,2) }
kernel alone[U=3,V=3](x: bf16[H,W,C], k: bf16[U,V,C,O]) -> z: f32[H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test alone { H=9 W=17 C=64 O=64 init: integers(-2,2) }

# one spatial axis; three; images of two labels
kernel line(x: bf16[B,T,C], k: bf16[K=5,C,O]) -> z: f32[B,T,O] { z = sum[K,C]((x[T: idx(T) + idx(K) - 4] ?? 0) * k) }
test line { B=2 T=100 C=64 O=64 init: integers(-2,2) }
test line { B=7 T=11 C=96 O=32 init: integers(-2,2) }
test line { B=70 T=1 C=16 O=16 init: integers(-2,2) }
kernel far(x: bf16[B,T,C], k: bf16[K=3,C,O]) -> z: f32[B,T,O] { z = sum[K,C]((x[T: idx(T) + 300*idx(K) - 300] ?? 0) * k) }
test far { B=2 T=700 C=16 O=16 init: integers(-2,2) }
kernel volume[U=3,V=2,S=3](x: f16[B,G,D,H,W,C], k: f16[U,V,S,C,O]) -> z: f32[B,G,P=(D+1)//2,H,W,O] {
  z = sum[U,V,S,C]((x[D: 2*idx(P) + idx(U) - 1, H: idx(H) + idx(V) - 1, W: idx(W) + idx(S) - 1] ?? 0) * k)
}
test volume { B=2 G=2 D=5 H=4 W=7 C=64 O=64 init: integers(-2,2) }
test volume { B=1 G=3 D=3 H=5 W=3 C=24 O=16 init: integers(-2,2) }

# the window on the other side: what is stored last is a label of it
kernel across[U=3,V=3](x: bf16[B,H,W,C], k: bf16[O,U,V,C]) -> z: f32[O,B,H,W] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test across { B=2 H=7 W=7 C=64 O=64 init: integers(-2,2) }
test across { B=3 H=5 W=6 C=24 O=40 init: integers(-2,2) }

# two products of one window; a window beside a matrix product
kernel gate[U=3](x: bf16[B,T,C], k: bf16[U,C,O], l: bf16[U,C,O]) -> z: f32[B,T,O] {
  a = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 0) * k)
  b = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 0) * l)
  z = a * relu(b)
}
test gate { B=3 T=50 C=64 O=64 init: integers(-2,2) }
kernel beside[U=3](x: bf16[B,T,C], k: bf16[U,C,O], w: bf16[C,O]) -> z: f32[B,T,O] {
  z = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 0) * k) + x @ w
}
test beside { B=3 T=50 C=64 O=64 init: integers(-2,2) }

# what no such map can say: a step of 9, an offset beyond 255, a value outside, channels at a position
kernel wide_step[U=3](x: bf16[B,T,C], k: bf16[U,C,O]) -> z: f32[B,P=T//9,O] { z = sum[U,C]((x[T: 9*idx(P) + idx(U) - 1] ?? 0) * k) }
test wide_step { B=3 T=90 C=64 O=64 init: integers(-2,2) }
kernel too_far[U=3,V=3](x: bf16[B,H,W,C], k: bf16[U,V,C,O]) -> z: f32[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U), W: idx(W) + 150*idx(V)] ?? 0) * k)
}
test too_far { B=1 H=2 W=310 C=16 O=16 init: integers(-2,2) }
kernel outside[U=3](x: bf16[B,T,C], k: bf16[U,C,O]) -> z: f32[B,T,O] { z = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 1) * k) }
test outside { B=3 T=9 C=64 O=64 init: integers(-2,2) }

# Windows of what is computed, which is stored before they are read.
kernel of_relu(x: f16[B,C,T], k: f16[O,C,U=3]) -> y: f16[B,O,T] { y = sum[C,U](k * (relu(x)[T: T + U - 1] ?? 0)) }
kernel of_sine(x: bf16[B,C,T], a: f32[C], k: bf16[O,C,U=5]) -> y: bf16[B,O,T] {
  s = x + sin(a * x) ** 2
  y = sum[C,U](k * (s[T: T + 2 * U - 4] ?? 0))
}
test of_relu { B=2 C=32 T=20 O=24 init: integers(-2,2) tol: exact }
test of_relu { B=1 C=64 T=70 O=72 }
test of_sine { B=2 C=32 T=30 O=24 }

# gradients of filters, sums over pixels: pixels along k, channels along n or m; steps, one axis, no images, nothing outside; planes that are copied
kernel filter(x: f16[B,H,W,C], k: f16[O,U=3,V=3,C]) -> z: f16[B,H,W,O] { z = sum[U,V,C](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel filter_bwd = grad(filter, wrt: k)
kernel twos(x: bf16[B,H,W,C], k: bf16[O,U=4,V=4,C]) -> z: bf16[B,P=H//2,Q=W//2,O] { z = sum[U,V,C](k * (x[H: 2*P+U-1, W: 2*Q+V-1] ?? 0)) }
kernel twos_bwd = grad(twos, wrt: x, k)
kernel along(x: bf16[B,T,C], k: bf16[U=5,C,O]) -> z: bf16[B,T,O] { z = sum[U,C](k * (x[T: T+U-2] ?? 0)) }
kernel along_bwd = grad(along, wrt: k)
kernel within(x: f16[H,W,C], k: f16[O,U=3,V=2,C]) -> z: f16[P=H-2,Q=W-1,O] { z = sum[U,V,C](k * x[H: P+U, W: Q+V]) }
kernel within_bwd = grad(within, wrt: k)
kernel planes_of(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3]) -> z: f16[B,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel planes_of_bwd = grad(planes_of, wrt: x, k)
kernel halved(x: bf16[B,C,T], k: bf16[O,C,U=4]) -> z: bf16[B,O,P=T//2] { z = sum[C,U](k * (x[T: 2*P+U-1] ?? 0)) }
kernel halved_bwd = grad(halved, wrt: x, k)
test filter_bwd { B=3 H=7 W=9 C=24 O=40 init: integers(-3,3) }
test filter_bwd { B=2 H=8 W=8 C=64 O=64 init: integers(-3,3) }
test filter_bwd { B=2 H=12 W=12 C=136 O=72 }
test twos_bwd { B=3 H=10 W=14 C=72 O=64 init: integers(-3,3) }
test along_bwd { B=5 T=67 C=64 O=128 init: integers(-3,3) }
test within_bwd { H=21 W=17 C=64 O=64 init: integers(-3,3) }
test planes_of_bwd { B=16 C=64 H=16 W=13 O=64 init: integers(-3,3) }
test halved_bwd { B=8 C=72 T=2050 O=64 init: integers(-3,3) }
