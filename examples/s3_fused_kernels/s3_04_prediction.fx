# DLRM's prediction: the outer product of the 432 features with themselves, 186,624 numbers a row, through a linear layer, then on to one number and sigmoid. The
# first layer makes its operand as it loads it, c[p] * c[q] at k = (p, q), so the outer product is never in memory. Weights stored (out, in).
kernel top_layer[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E], w1: f32[H, R=P*P], b1: f32[H]) -> h: f32[B,H] with { fuse: require } {
  c = concat[P](d{E->P}, s{(S,E)->P})
  h = relu((c * c{P->Q}) @[P,Q] w1{R->(P,Q)} + b1)
}

# hidden [16], the demo's size: two rows and 16 columns are one tile, so a sum a row of the outer product first, then the sum of these; else one block would do it all
kernel prediction[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E], w1: f32[H=16, R=P*P], b1: f32[H], w2: f32[O=1,H], b2: f32[O]) -> y: f32[B,O] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  h = relu(sum[P]((c * c{P->Q}) @[Q] w1{R->(P,Q)}) + b1)
  y = sigmoid(h @ w2 + b2)
}

# 512-256-1, the main size: likewise a sum a feature, of E rows
kernel prediction_main[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E], w1: f32[H1=512, R=P*P], b1: f32[H1],
                                  w2: f32[H2=256,H1], b2: f32[H2], w3: f32[O=1,H2], b3: f32[O]) -> y: f32[B,O] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  z = (c * c{P->Q}){P->(F,G=E)}
  w = w1{R->(P,Q)}
  h1 = relu(sum[F](z @[G,Q] w{P->(F,G)}) + b1)
  h2 = relu(h1 @ w2 + b2)
  y = sigmoid(h2 @ w3 + b3)
}

test top_layer { B=2 E=2 S=3 H=16 }
test top_layer { B=5 E=3 S=4 H=7 init: integers(-2,2) tol: exact }
test prediction { B=2 E=4 S=6 w1.init: normal(0,0.02) }
test prediction { B=2 E=16 S=26 w1.init: normal(0,0.002) tol: abs <= 1e-4 }
test prediction_main { B=3 E=2 S=3 w1.init: normal(0,0.1) w2.init: normal(0,0.05) w3.init: normal(0,0.06) }
test prediction_main { B=128 E=8 S=6 w1.init: normal(0,0.02) w2.init: normal(0,0.05) w3.init: normal(0,0.06) }
bench top_layer { B=128 E=16 S=26 H=512 }
bench prediction { B=2 E=16 S=26 w1.init: normal(0,0.002) }
bench prediction_main { B=128 E=16 S=26 w1.init: normal(0,0.002) w2.init: normal(0,0.05) w3.init: normal(0,0.06) tol: abs <= 1e-4 }
