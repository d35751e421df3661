# The bottom network of a recommendation model, 13-512-256-64-16 with relu after each layer, weights stored (out, in):
# one kernel of the spec, a plan of several GPU kernels.
kernel mlp(x: f32[B,I=13],
           w1: f32[H1=512,I], b1: f32[H1],
           w2: f32[H2=256,H1], b2: f32[H2],
           w3: f32[H3=64,H2], b3: f32[H3],
           w4: f32[O=16,H3], b4: f32[O]) -> y: f32[B,O] {
  h1 = relu(x @ w1 + b1)
  h2 = relu(h1 @ w2 + b2)
  h3 = relu(h2 @ w3 + b3)
  y  = relu(h3 @ w4 + b4)
}

# weights scaled to each layer, so that values keep their size
test mlp { B=100 init: normal(0,0.1) w1.init: normal(0,0.39) w2.init: normal(0,0.0625) w3.init: normal(0,0.088) w4.init: normal(0,0.177) }
test mlp { B=1 init: integers(-1,1) }
