# DLRM's interaction of the dense features and the 26 embeddings: all put side by side, 16 + 26 * 16 = 432, and that times itself, 432 * 432 = 186,624 numbers a
# row. Here the product is the output, so it is written once; s3_04_prediction.fx has the layer that consumes it, where it is never in memory.
kernel interact_cat(d: f32[B,E], s: f32[B,S,E]) -> y: f32[B, P=(S+1)*E] with { fuse: require } { y = concat[P](d{E->P}, s{(S,E)->P}) }

kernel interact_dot[P=(S+1)*E](d: f32[B,E], s: f32[B,S,E]) -> y: f32[B, R=P*P] with { fuse: require } {
  c = concat[P](d{E->P}, s{(S,E)->P})
  y = (c * c{P->Q}){(P,Q)->R}
}

test interact_cat { B=2 E=16 S=26 tol: exact }
test interact_cat { B=7 E=3 S=1 tol: exact }
test interact_dot { B=2 E=16 S=26 }
test interact_dot { B=5 E=3 S=2 init: integers(-9,9) tol: exact }
bench interact_cat { B=128 E=16 S=26 }
bench interact_dot { B=128 E=16 S=26 }
