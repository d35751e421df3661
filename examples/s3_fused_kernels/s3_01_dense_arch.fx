# DLRM's dense network: linear layers with relu after each, weights stored (out, in). 13 features, which are no multiple of any tile or vector:
# what lies past the last k is zero in shared memory, so nothing is padded. Two layers meet in one kernel where the hidden one stays on the chip.
kernel layer(x: f32[B,I], w: f32[O,I], b: f32[O]) -> y: f32[B,O] with { fuse: require } { y = relu(x @ w + b) }

# 13-32-16, the demo's size
kernel dense_small(x: f32[B,I=13], w1: f32[H=32,I], b1: f32[H], w2: f32[O=16,H], b2: f32[O]) -> y: f32[B,O] with { fuse: require } {
  h = relu(x @ w1 + b1)
  y = relu(h @ w2 + b2)
}

# 13-512-256-64-16, the main size
kernel dense_main(x: f32[B,I=13],
                  w1: f32[H1=512,I], b1: f32[H1],
                  w2: f32[H2=256,H1], b2: f32[H2],
                  w3: f32[H3=64,H2], b3: f32[H3],
                  w4: f32[O=16,H3], b4: f32[O]) -> y: f32[B,O] {
  h1 = relu(x @ w1 + b1)
  h2 = relu(h1 @ w2 + b2)
  h3 = relu(h2 @ w3 + b3)
  y = relu(h3 @ w4 + b4)
}

test layer { B=128 I=13 O=512 }
test layer { B=5 I=13 O=7 init: integers(-3,3) tol: exact }
test dense_small { B=2 }
test dense_small { B=64 }
test dense_small { B=67 init: integers(-2,2) tol: exact }
# weights scaled to each layer, so that values keep their size
test dense_main { B=2 init: normal(0,0.1) w1.init: normal(0,0.39) w2.init: normal(0,0.0625) w3.init: normal(0,0.088) w4.init: normal(0,0.177) }
test dense_main { B=128 init: normal(0,0.1) w1.init: normal(0,0.39) w2.init: normal(0,0.0625) w3.init: normal(0,0.088) w4.init: normal(0,0.177) }
test dense_main { B=1 init: integers(-1,1) }
bench layer { B=128 I=13 O=512 }
bench dense_small { B=64 }
bench dense_main { B=128 }
