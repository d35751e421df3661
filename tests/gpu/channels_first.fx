# Windows of tensors whose channels do not lie contiguous: on sm_90a copies with the channels last, which tensor maps bring (passes.md, "windows").
# Integers, so that sums are exact. Extents are open, so that a product counts as large; what is padded has its channels fixed.

kernel same[U=3,V=3](x: bf16[B,C,H,W], k: bf16[O,C,U,V]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test same { B=3 H=7 W=7 C=64 O=64 init: integers(-2,2) }
test same { B=2 H=14 W=14 C=72 O=136 init: integers(-2,2) }
test same { B=1 H=1 W=1 C=8 O=8 init: integers(-2,2) }
test same { B=1 H=17 W=24 C=24 O=16 init: integers(-2,2) }
test same { B=2 H=5 W=3 C=7 O=9 init: integers(-2,2) }
test same { B=2 H=8 W=8 C=3 O=16 init: integers(-2,2) }

# steps of 2 and 3, corners of their own on each side, an epilogue along the channels that are made
kernel steps[U=3,V=5](x: f16[B,C,H,W], k: f16[O,C,U,V], b: f16[O]) -> z: f16[B,O,P=(H+2)//2,Q=(W+1)//3] {
  z = relu(sum[C,U,V]((x[H: 2*idx(P) + idx(U) - 2, W: 3*idx(Q) + idx(V) - 1] ?? 0) * k) + b)
}
test steps { B=3 H=7 W=14 C=64 O=64 init: integers(-1,1) }
test steps { B=4 H=14 W=5 C=40 O=72 init: integers(-1,1) }
test steps { B=1 H=1 W=2 C=8 O=8 init: integers(-1,1) }
test steps { B=2 H=6 W=11 C=5 O=3 init: integers(-1,1) }

# elements of a window apart from each other, from the last to the first; weights with what is made contiguous
kernel apart[U=3,V=2](x: bf16[B,C,H,W], k: bf16[U,V,C,O]) -> z: bf16[B,O,H,W] {
  z = sum[U,V,C]((x[H: idx(H) + 4 - 3*idx(U), W: idx(W) + 2*idx(V)] ?? 0) * k)
}
test apart { B=2 H=14 W=7 C=64 O=64 init: integers(-1,1) }
test apart { B=3 H=5 W=9 C=32 O=40 init: integers(-1,1) }

# nothing outside; no images; a window of any size
kernel inside(x: bf16[C,H=P+U-1,W=Q+V], k: bf16[O,C,U,V]) -> z: f32[O,P,Q] { z = sum[C,U,V](x[H: P+U, W: Q+V] * k) }
test inside { P=5 Q=7 U=3 V=3 C=64 O=64 init: integers(-2,2) }
test inside { P=14 Q=28 U=1 V=4 C=40 O=24 init: integers(-2,2) }
test inside { P=3 Q=3 U=4 V=2 C=9 O=7 init: integers(-2,2) }

# one spatial axis, causal; three; what is made lies last
kernel line(x: bf16[B,C,T], k: bf16[O,C,K=5]) -> z: f32[B,O,T] { z = sum[K,C]((x[T: idx(T) + idx(K) - 4] ?? 0) * k) }
test line { B=2 T=100 C=64 O=64 init: integers(-2,2) }
test line { B=7 T=11 C=96 O=32 init: integers(-2,2) }
kernel volume[U=3,V=2,S=3](x: f16[B,C,D,H,W], k: f16[O,C,U,V,S]) -> z: f32[B,O,P=(D+1)//2,H,W] {
  z = sum[C,U,V,S]((x[D: 2*idx(P) + idx(U) - 1, H: idx(H) + idx(V) - 1, W: idx(W) + idx(S) - 1] ?? 0) * k)
}
test volume { B=2 D=5 H=4 W=7 C=64 O=64 init: integers(-2,2) }
test volume { B=1 D=3 H=5 W=3 C=24 O=16 init: integers(-2,2) }
kernel turned[U=3,V=3](x: bf16[B,C,H,W], k: bf16[U,V,C,O]) -> z: f32[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test turned { B=2 H=7 W=7 C=64 O=64 init: integers(-2,2) }
test turned { B=3 H=5 W=6 C=24 O=40 init: integers(-2,2) }

# channels that are no multiple of 8, known: copied in multiples of it
kernel padded[C=20,U=3,V=3](x: bf16[B,C,H,W], k: bf16[O,C,U,V]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test padded { B=2 H=9 W=8 O=64 init: integers(-2,2) }
kernel padded_last[C=100,U=3](x: bf16[B,T,C], k: bf16[U,C,O]) -> z: f32[B,T,O] { z = sum[U,C]((x[T: idx(T) + idx(U) - 1] ?? 0) * k) }
test padded_last { B=2 T=50 O=64 init: integers(-2,2) }

# planes of a fixed size, whose pieces are whole vectors of 1, 2 and 4 elements, written and read
kernel seven[H=7,W=7](x: bf16[B,C,H,W], k: bf16[O,C], r: bf16[B,O,H,W]) -> z: bf16[B,O,H,W] { z = sum[C](x * k) + r }
test seven { B=3 C=64 O=72 init: integers(-1,1) }
kernel even[H=6,W=7,U=3,V=3](x: bf16[B,C,H,W], k: bf16[O,C,U,V], r: bf16[B,O,H,W]) -> z: bf16[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) + r
}
test even { B=4 C=16 O=24 init: integers(-1,1) }
kernel fourteen[H=14,W=14](x: f16[B,C,H,W], k: f16[O,C], b: f16[O]) -> z: f16[B,O,H,W] { z = relu(sum[C](x * k) + b) }
test fourteen { B=2 C=32 O=40 init: integers(-1,1) }
test fourteen { B=3 C=5 O=7 init: integers(-1,1) }

# few channels, known: one with what the window has along the innermost axis
kernel few[C=3,U=7,V=7](x: bf16[B,C,H,W], k: bf16[O,C,U,V]) -> z: f32[B,O,P=(H+1)//2,Q=(W+1)//2] {
  z = sum[C,U,V]((x[H: 2*idx(P) + idx(U) - 3, W: 2*idx(Q) + idx(V) - 3] ?? 0) * k)
}
test few { B=2 H=14 W=9 O=64 init: integers(-2,2) }
test few { B=1 H=5 W=12 O=16 init: integers(-2,2) }
kernel few_more[C=16,O=64,U=3,V=3](x: f16[B,C,H,W], k: f16[O,C,U,V]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test few_more { B=2 H=6 W=9 init: integers(-2,2) }
test few_more { B=2 H=7 W=7 init: integers(-2,2) }
kernel few_deep[C=2,U=2,V=3,S=3](x: bf16[B,C,D,H,W], k: bf16[O,C,U,V,S]) -> z: f32[B,O,D,H,Q=(W+1)//2] {
  z = sum[C,U,V,S]((x[D: idx(D) + idx(U), H: idx(H) - idx(V) + 1, W: 2*idx(Q) + idx(S) - 1] ?? 0) * k)
}
test few_deep { B=2 D=3 H=4 W=9 O=64 init: integers(-2,2) }
test few_deep { B=1 D=3 H=5 W=4 O=24 init: integers(-2,2) }
kernel few_last[C=5,U=2,V=3](x: f16[B,H,W,C], k: f16[U,V,C,O]) -> z: f32[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) - idx(U), W: idx(W) + 3 - 2*idx(V)] ?? 0) * k)
}
test few_last { B=2 H=6 W=9 O=64 init: integers(-2,2) }
test few_last { B=2 H=3 W=4 O=24 init: integers(-2,2) }
kernel few_line[C=4,V=9](x: bf16[B,C,W=T+V-1], k: bf16[O,C,V]) -> z: f32[B,O,T] { z = sum[C,V](x[W: T+V] * k) }
test few_line { B=2 T=70 O=64 init: integers(-2,2) }
test few_line { B=3 T=8 O=8 init: integers(-2,2) }
kernel few_twice[C=3,V=3](x: bf16[B,C,W], k: bf16[O,C,V], l: bf16[O,C,V]) -> z: f32[B,O,W] {
  a = sum[C,V]((x[W: idx(W) + idx(V) - 1] ?? 0) * k)
  b = sum[C,V]((x[W: idx(W) + 2*idx(V) - 2] ?? 0) * l)
  z = a * relu(b)
}
test few_twice { B=3 W=40 O=64 init: integers(-2,2) }

# two products of one image, which is copied once; an image that the epilogue reads too
kernel gate[U=3](x: bf16[B,C,T], k: bf16[O,C,U], l: bf16[O,C,U]) -> z: f32[B,O,T] {
  a = sum[C,U]((x[T: idx(T) + idx(U) - 1] ?? 0) * k)
  b = sum[C,U]((x[T: idx(T) + idx(U) - 1] ?? 0) * l)
  z = a * relu(b)
}
test gate { B=3 T=50 C=64 O=64 init: integers(-2,2) }
kernel residual[U=3,V=3](x: bf16[B,C,H,W], k: bf16[O=C,C,U,V]) -> z: bf16[B,O,H,W] {
  z = relu(sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) + x{C->O})
}
test residual { B=2 H=6 W=8 C=16 init: integers(-1,1) }

# windows beside each other, or apart, are copied whole
kernel patches[U=4,V=4](x: bf16[B,C,H=4*P,W=4*Q], k: bf16[O,C,U,V]) -> z: f32[B,O,P,Q] {
  z = sum[C,U,V](x[H: 4*idx(P) + idx(U), W: 4*idx(Q) + idx(V)] * k)
}
test patches { B=2 P=3 Q=5 C=3 O=64 init: integers(-2,2) }
test patches { B=3 P=5 Q=4 C=8 O=24 init: integers(-2,2) }
kernel tokens[U=4,V=4](x: f16[B,C,H=4*P,W=4*Q], k: f16[O,C,U,V]) -> z: f16[B,P,Q,O] {
  z = sum[C,U,V](x[H: 4*idx(P) + idx(U), W: 4*idx(Q) + idx(V)] * k)
}
test tokens { B=2 P=3 Q=5 C=3 O=64 init: integers(-1,1) }
kernel sparse(x: bf16[B,C,H,W], k: bf16[O,C]) -> z: f32[B,O,P=(H+1)//2,Q=(W+1)//2] { z = sum[C](x[H: 2*idx(P), W: 2*idx(Q)] * k) }
test sparse { B=2 H=7 W=10 C=64 O=64 init: integers(-2,2) }
test sparse { B=2 H=4 W=5 C=13 O=16 init: integers(-2,2) }

# groups; an image and weights of strides of their own; a value outside: as they are
kernel grouped[U=3,V=3](x: bf16[B,G,C,H,W], k: bf16[G,O,C,U,V]) -> z: f32[B,G,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test grouped { B=2 G=3 H=6 W=7 C=16 O=24 init: integers(-2,2) }
kernel outside[U=3](x: bf16[B,C,T], k: bf16[O,C,U]) -> z: f32[B,O,T] { z = sum[C,U]((x[T: idx(T) + idx(U) - 1] ?? 1) * k) }
test outside { B=3 T=9 C=64 O=64 init: integers(-2,2) }
kernel alone[U=3,V=3](x: bf16[B,C,H,W], k: bf16[O,C,U,V]) -> z: f32[B,O,H,W] with { fuse: require } {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test alone { B=2 H=6 W=7 C=16 O=24 init: integers(-2,2) }
