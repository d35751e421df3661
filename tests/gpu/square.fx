# Layers whose result has the label that they contract over: as wide as what they read, which their epilogues read too.

kernel residual(x: bf16[B,D], w: bf16[D,E=D], b: bf16[D]) -> y: bf16[B,D] with { fuse: require } {
  y = x + relu((x @[D] w){E->D} + b)
}
test residual { B=70 D=96 init: integers(-2,2) seed: 1 tol: exact }
test residual { B=5 D=200 init: integers(-2,2) seed: 2 tol: exact }
test residual { B=130 D=133 init: normal seed: 3 }

kernel gated(x: f16[B,D], w: f16[D,F=2*D]) -> y: f16[B,D] with { fuse: require } {
  l, r = halves[F->D](x @[D] w)
  y = x + l * relu(r)
}
test gated { B=70 D=64 init: integers(-1,1) seed: 1 tol: exact }
test gated { B=9 D=40 init: integers(-1,1) seed: 2 tol: exact }

kernel gated_nk(x: bf16[B,D], w: bf16[F=2*D,D]) -> y: bf16[B,D] with { fuse: require } {
  l, r = halves[F->D](x @ w)
  y = x * sigmoid(l) + r
}
test gated_nk { B=66 D=72 init: normal seed: 1 }

kernel squares(x: f32[B,D], w: f32[E=D,D]) -> y: f32[B,D] { y = (x @ w){E->D} - x }
test squares { B=40 D=50 init: integers(-3,3) seed: 1 tol: exact }
test squares { B=130 D=260 init: normal seed: 2 }

# Of the same label in two layers, and of one behind a norm.
kernel two(x: bf16[B,D], u: bf16[D,E=D], v: bf16[D,E]) -> y: bf16[B,D] {
  h = bf16(relu((x @[D] u){E->D}))
  y = x + (h @[D] v){E->D}
}
test two { B=33 D=64 init: integers(-1,1) seed: 1 tol: exact }

kernel normed(x: bf16[B,D], w: bf16[D,E=D]) -> y: bf16[B,D] { y = x + (rmsnorm[D](x) @[D] w){E->D} }
test normed { B=33 D=80 init: normal seed: 1 }

# Scores of all pairs of one tensor, their sum read back under its own label.
kernel mixed(x: f32[B,D]) -> y: f32[B,D] { y = x + sum[B]((x @[D] x{B->J}) * 0.25){J->B} }
test mixed { B=20 D=24 init: integers(-2,2) seed: 1 tol: exact }

kernel residual_bwd = grad(residual_f, wrt: x, w)
kernel residual_f(x: f32[B,D], w: f32[D,E=D]) -> y: f32[B,D] { y = x + relu((x @[D] w){E->D}) }
test residual_bwd { B=20 D=24 init: integers(-2,2) seed: 1 tol: exact }

# Of the label that is apart in one layer, another layer is a factor of.
kernel nested(x: f32[D], q: f32[D], c: f32[D,F=D,G=D]) -> y: f32[D] { y = x + (sum[D](q * sum[D](x * c){F->D})){G->D} }
test nested { D=9 init: integers(-2,2) seed: 1 tol: exact }
