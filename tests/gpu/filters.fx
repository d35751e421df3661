# Filters, pools and transposed convolutions, as strips of rows, with copied filters, in steps and over stored activations; a filter that is not finite.
kernel depthwise(x: f16[B,C,H,W], k: f16[C,U=3,V=3], b: f16[C]) -> z: f16[B,C,H,W] { z = relu6(sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b) }
kernel wide(x: f32[B,C,H,W], k: f32[C,U=7,V=7]) -> z: f32[B,C,H,W] { z = sum[U,V](k * (x[H: H+U-3, W: W+V-3] ?? 0)) }
kernel last(x: bf16[B=2,T=4096,C=64], k: bf16[C,U=15]) -> y: bf16[B,T,C] { y = sum[U](k * (x[T: T+U-7] ?? 0)) }
kernel pool[U=3,V=3](x: f16[B,H,W]) -> z: f16[B,P=H//2,Q=W//2] { z = max[U,V](x[H: 2*P+U-1, W: 2*Q+V-1] ?? -inf) }
kernel pool2[U=2,V=2](x: bf16[B,H,W]) -> z: bf16[B,P=H//2,Q=W//2] { z = mean[U,V](x[H: 2*P+U, W: 2*Q+V] ?? 0) }
kernel shifts(x: f32[B,T]) -> y: f32[B,T] { y = x - 0.5 * (x[T: T-1] ?? 3) + (x[T: T+40] ?? 3) * (x[T: 2*T+5] ?? 0) }
test depthwise { B=1 C=3 H=5 W=32 }
test depthwise { B=2 C=2 H=4 W=9 }
test depthwise { B=1 C=2 H=4 W=12 init: integers(-3,3) }
test wide { B=1 C=2 H=9 W=16 }
test wide { B=1 C=2 H=8 W=7 }
test last { init: integers(-2,2) }
test pool { B=2 H=8 W=32 }
test pool { B=2 H=9 W=11 }
test pool2 { B=2 H=8 W=32 }
test shifts { B=3 T=64 }
test shifts { B=3 T=67 }

kernel transposed(x: bf16[B=2,C=8,H=8,W=6], k: bf16[C,O=8,U=4,V=4]) -> z: bf16[B,O,P=2*H,Q=2*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k)
}
# of the taps of one output channel one is not finite: also where it meets no element
kernel broken(x: bf16[T=8], k: bf16[O=3,U=4], bad: f32) -> z: f32[O,P=2*T] {
  w = where(idx(O) == 1 && idx(U) == 2, bad, k)
  z = sum[U](where((idx(P) + 1 - idx(U)) % 2 == 0, x[T: (P+1-U)//2] ?? 0, 0) * w)
}
kernel by_threes(x: f32[T=8], k: f32[U=6]) -> z: f32[P=24] { z = sum[U](where((idx(P) + idx(U) + 2) % 3 == 0, x[T: (P+U-4)//3] ?? 0, 0) * k) }
# by channel with channels last: a thread takes rows at once, whose windows overlap, at the edges too
kernel at_once(x: bf16[B=9,H=62,W=32,C=64], k: bf16[C,U=3,V=3], b: bf16[C]) -> z: bf16[B,H,W,C] {
  z = relu(sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b) + x
}
kernel at_once_line(x: f16[B=264,W=128,C=64], k: f16[C,V=7]) -> z: f32[B,W,C] { z = sum[V](k * (x[W: W+V-3] ?? 0)) }
test at_once { init: integers(-3,3) }
test at_once_line { init: integers(-3,3) }
# taps that the step does not divide: sums of more and of fewer of them, of products and by channel, and where one tap is not finite
kernel uneven(x: bf16[B=2,C=8,H=8,W=6], k: bf16[C,O=8,U=3,V=5]) -> z: bf16[B,O,P=2*H,Q=3*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + idx(V)) % 3 == 0, x[H: (P+1-U)//2, W: (Q+V)//3 - 1] ?? 0, 0) * k)
}
kernel uneven_last(x: f16[B=2,H=8,W=6,C=16], k: f16[O=24,U=3,V=3,C]) -> z: f16[B,P=2*H,Q=2*W,O] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k)
}
kernel uneven_alone(x: f16[B=2,H=4,W=6,C=24], k: f16[C,U=3,V=3]) -> z: f16[B,P=2*H,Q=2*W,C] {
  z = sum[U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k)
}
kernel uneven_broken(x: bf16[T=8], k: bf16[O=3,U=5], bad: f32) -> z: f32[O,P=3*T] {
  w = where(idx(O) == 1 && idx(U) == 4, bad, k)
  z = sum[U](where((idx(P) + 1 - idx(U)) % 3 == 0, x[T: (P+1-U)//3] ?? 0, 0) * w)
}
test uneven { init: integers(-3,3) }
test uneven_last { init: integers(-3,3) }
test uneven_last { }
test uneven_alone { init: integers(-3,3) }
test uneven_broken { init: integers(-3,3) bad.init: inf }
test uneven_broken { init: integers(-3,3) bad.init: nan }
# products of all remainders in one, whose windows and filters move by the remainder: by tensor maps, filters read backwards and copied or made, in four steps; planes, stored apart; four products; a filter that is not finite
kernel forwards(x: f16[B=2,H=8,W=6,C=64], k: f16[O=64,U=4,V=4,C]) -> z: f16[B,P=2*H,Q=2*W,O] {
  z = sum[C,U,V](where((idx(P) + idx(U)) % 2 == 0 && (idx(Q) + idx(V)) % 2 == 0, x[H: (P+U)//2 - 1, W: (Q+V)//2 - 1] ?? 0, 0) * k)
}
kernel backwards(x: bf16[B=2,T=512,C=64], k: bf16[U=8,O=64,C]) -> z: bf16[B,P=2*T,O] {
  z = sum[C,U](where((idx(P) + 3 - idx(U)) % 2 == 0, x[T: (P+3-U)//2] ?? 0, 0) * k)
}
kernel copied(x: bf16[B=2,C=64,T=2048], k: bf16[C,O=64,U=8]) -> z: bf16[B,P=2*T,O] {
  z = sum[C,U](where((idx(P) + 3 - idx(U)) % 2 == 0, x[T: (P+3-U)//2] ?? 0, 0) * k)
}
kernel fours(x: f16[B=3,T=40,C=72], k: f16[O=64,C,U=8]) -> z: f16[B,O,P=4*T] {
  z = sum[C,U](where((idx(P) + 4 - idx(U)) % 4 == 0, x[T: (P+4-U)//4] ?? 0, 0) * k)
}
kernel fours_apart(x: f16[B=3,T=40,C=16], k: f16[O=64,C,U=8]) -> z: f16[B,O,P=4*T] {
  z = sum[C,U](where((idx(P) + 2 - idx(U)) % 4 == 0, x[T: (P+2-U)//4] ?? 0, 0) * k)
}
kernel spoiled(x: f16[B=2,T=24,C=16], k: f16[O=8,C,U=4], bad: f16) -> z: f16[B,P=2*T,O] {
  z = sum[C,U](where((idx(P) + 1 - idx(U)) % 2 == 0, x[T: (P+1-U)//2] ?? 0, 0) * where(idx(O) == 1 && idx(U) == 2, bad, k))
}
kernel planes(x: f16[B=2,H=6,W=8,C=64], k: f16[O=64,U=4,V=4,C], b: f16[O]) -> z: f16[B,O,P=2*H,Q=2*W] {
  z = relu(sum[C,U,V](where((idx(P) + idx(U)) % 2 == 0 && (idx(Q) + idx(V)) % 2 == 0, x[H: (P+U)//2 - 1, W: (Q+V)//2 - 1] ?? 0, 0) * k) + b)
}
test planes { init: integers(-3,3) }
test forwards { init: integers(-3,3) }
test forwards { }
test backwards { init: integers(-3,3) }
test copied { init: integers(-3,3) }
test fours { init: integers(-3,3) }
test fours_apart { init: integers(-3,3) }
test spoiled { bad=inf }
test spoiled { bad=1 init: integers(-3,3) }
test transposed { init: integers(-3,3) }
test transposed { }
test broken { bad=inf }
test broken { bad=1 }
test by_threes { init: integers(-3,3) }

kernel gated(x: bf16[B=4,T=512,D=32], w: bf16[F=64,D], k: bf16[C=32,U=15]) -> y: bf16[B,T,C] {
  l, r = halves[F->E](x @[D] w)
  y = sum[U](k * ((l * sigmoid(r)){E->C}[T: T+U-7] ?? 0))
}
kernel normed(x: bf16[B,H,W,C], k: bf16[C,U=3,V=3]) -> y: bf16[B,H,W,C] { y = layernorm[C](sum[U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0))) }
kernel scaled_up(x: f16[B=4,C=64,T=512], k: f16[O=32,C,U=5]) -> z: f16[B,O,S=2*T] { z = sum[C,U](k * (x[T: S//2][S: S+U-2] ?? 0)) }
test gated { }
test normed { B=2 H=5 W=4 C=24 }
test scaled_up { init: integers(-2,2) }

# groups of few channels; gates times experts
kernel groups(x: f16[B,G=9,C=4,H,W], k: f16[G,O=4,C,U=3,V=3]) -> z: f16[B,G,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel mixed(p: f32[B=1024,T=2,E=4], h: f32[B,E,F=32]) -> y: f32[B,T,F] { y = p @[E] relu(h) }
test groups { B=1 H=6 W=16 }
test groups { B=2 H=4 W=7 init: integers(-2,2) }
test mixed { }
# Steps that divide neither the taps nor the extents of the result: the sums have the taps that meet their remainder, and rows beyond the last are not read.
kernel odd_taps(x: f16[B=2,C=8,H=5,W=6], k: f16[C,O=16,U=3,V=3], b: f16[O]) -> z: f16[B,O,P=2*H-1,Q=2*W] {
  z = sum[C,U,V](where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k) + b
}
test odd_taps { init: integers(-2,2) tol: exact }
test odd_taps { seed: 1 }
kernel odd_taps_f32(x: f32[B=2,C=3,T=7], k: f32[C,O=4,U=7]) -> z: f32[B,O,P=3*T+1] {
  z = sum[C,U](where((idx(P) + 2 - idx(U)) % 3 == 0, x[T: (P+2-U)//3] ?? 0, 0) * k)
}
test odd_taps_f32 { init: integers(-2,2) tol: exact }
kernel odd_taps_depthwise(x: f32[B=2,C=3,H=4,W=5], k: f32[C,U=3,V=5]) -> z: f32[B,C,P=2*H+1,Q=2*W-1] {
  z = sum[U,V](where((idx(P) - idx(U)) % 2 == 0 && (idx(Q) + 2 - idx(V)) % 2 == 0, x[H: (P-U)//2, W: (Q+2-V)//2] ?? 0, 0) * k)
}
test odd_taps_depthwise { init: integers(-2,2) tol: exact }
kernel volume(x: f16[B=1,C=8,D=3,H=2,W=3], k: f16[C,O=8,R=3,U=3,V=3]) -> z: f16[B,O,S=2*D,P=2*H-1,Q=2*W] {
  m = (idx(S) + 1 - idx(R)) % 2 == 0 && (idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0
  z = sum[C,R,U,V](where(m, x[D: (S+1-R)//2, H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0) * k)
}
test volume { init: integers(-2,2) tol: exact }
kernel volume_even(x: f32[B=1,C=2,D=3,H=2,W=3], k: f32[C,O=3,R=4,U=4,V=2]) -> z: f32[B,O,S=2*D,P=2*H,Q=2*W] {
  m = (idx(S) + 1 - idx(R)) % 2 == 0 && (idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) - idx(V)) % 2 == 0
  z = sum[C,R,U,V](where(m, x[D: (S+1-R)//2, H: (P+1-U)//2, W: (Q-V)//2] ?? 0, 0) * k)
}
test volume_even { init: integers(-2,2) tol: exact }
# Taps beyond the infinite one: what is left out of a sum is 0 times it.
kernel odd_taps_bad(x: f32[B=2,C=3,T=7], k: f32[C,O=4,U=3]) -> z: f32[B,O,P=2*T-1] {
  bad = where(idx(O) == 1 && idx(U) == 2, inf, k)
  z = sum[C,U](where((idx(P) + 1 - idx(U)) % 2 == 0, x[T: (P+1-U)//2] ?? 0, 0) * bad)
}
test odd_taps_bad { }
# The image has no fill: each position inside is read, and no other.
kernel odd_taps_inside(x: f32[T=4], k: f32[U=3]) -> z: f32[P=7] {
  z = sum[U](where((idx(P) + 2 - idx(U)) % 2 == 0, x[T: clamp((P+2-U)//2, 0, 3)], 0) * k)
}
test odd_taps_inside { init: integers(-2,2) tol: exact }
