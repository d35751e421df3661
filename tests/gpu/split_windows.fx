# args: --with=fuse.split --skip=fuse.halves
# Windows of f32 multiplied in parts: the parts of what they read are stored, channels last, and brought by tensor maps in im2col mode, whatever it costs.
# Integers, so that sums are exact; images smaller than a tile, whose rows and images a tile runs across; tails in every direction.

kernel same(x: f32[B=2,H=7,W=9,C=24], k: f32[U=3,V=3,C,O=40]) -> z: f32[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test same { init: integers(-200,200) }
test same {}
kernel planes(x: f32[B=3,C=64,H=5,W=6], k: f32[O=16,C,U=3,V=3], b: f32[O]) -> z: f32[B,O,H,W] {
  z = relu(sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) + b)
}
test planes { init: integers(-50,50) }
test planes {}

# 64 rows, whose consumers share columns; blocks of fewer than 64 k
kernel low(x: f32[B=3,C=40,H=5,W=17], k: f32[O=48,C,U=3,V=3]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test low { init: integers(-50,50) }

# steps and what lies apart, from the last to the first; channels that are no multiple of 8, few of them, more than a block
kernel steps(x: f32[B=2,C=20,H=9,W=14], k: f32[O=24,C,U=3,V=2]) -> z: f32[B,O,P=(H+2)//2,Q=(W+1)//3] {
  z = sum[C,U,V]((x[H: 2*idx(P) + 2*idx(U) - 2, W: 3*idx(Q) + 4 - 3*idx(V)] ?? 0) * k)
}
test steps { init: integers(-50,50) }
kernel few(x: f32[B=2,C=3,H=12,W=11], k: f32[O=40,C,U=5,V=5], b: f32[O]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 2, W: idx(W) + idx(V) - 2] ?? 0) * k) + b
}
test few { init: integers(-50,50) }
kernel long(x: f32[B=2,C=136,T=20], k: f32[O=16,C,U=3]) -> z: f32[B,O,T] { z = sum[C,U]((x[T: idx(T) + idx(U) - 2] ?? 0) * k) }
test long { init: integers(-50,50) }

# nothing outside, no images; three axes; weights with what is made contiguous
kernel inside(x: f32[C=24,H=P+U-1,W=Q+V-1], k: f32[O=40,C,U=3,V=3]) -> z: f32[O,P=9,Q=8] { z = sum[C,U,V](x[H: P+U, W: Q+V] * k) }
test inside { init: integers(-50,50) }
kernel volume(x: f32[B=2,C=16,D=5,H=4,W=7], k: f32[U=3,V=2,S=3,C,O=24]) -> z: f32[B,O,P=(D+1)//2,H,W] {
  z = sum[C,U,V,S]((x[D: 2*idx(P) + idx(U) - 1, H: idx(H) + idx(V) - 1, W: idx(W) + idx(S) - 1] ?? 0) * k)
}
test volume { init: integers(-50,50) }

# transposed: one sum of two by two taps, whose windows move by the remainders; stored apart, and in place
kernel transposed(x: f32[B=2,C=24,H=5,W=6], k: f32[C,O=40,U=4,V=4], b: f32[O]) -> z: f32[B,O,P=2*H,Q=2*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k) + b
}
test transposed { init: integers(-50,50) }
kernel together(x: f32[B=2,H=5,W=6,C=24], k: f32[O=40,U=4,V=4,C], b: f32[O]) -> z: f32[B,P=2*H,Q=2*W,O] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k) + b
}
test together { init: integers(-50,50) }

# the ends of the range: sums that are not finite are computed again
kernel ends(x: f32[B=1,C=24,H=5,W=6], k: f32[O=16,C,U=3,V=3]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
test ends { x.init: uniform(-1e-40,1e-40) k.init: uniform(-1e30,1e30) }
test ends { x.init: uniform(-3.4e38,3.4e38) k.init: uniform(-1e-10,1e-10) }
test ends { x.init: uniform(-3e-38,3e-38) k.init: uniform(-1e20,1e20) }

# gradients: of the window a convolution, of the weights one over images, whose windows move along the weights' labels
kernel conv(x: f32[B=4,C=16,H=8,W=12], k: f32[O=24,C,U=3,V=3]) -> z: f32[B,O,H,W] {
  z = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k)
}
kernel conv_bwd = grad(conv, wrt: x, k)
test conv_bwd { init: integers(-9,9) }
