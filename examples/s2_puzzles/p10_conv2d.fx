# Puzzle 10, convolution of a batch, with zeros right of the image and below it. What lies outside is the value after
# `??`.
kernel conv2d(x: f32[B,H,W], k: f32[U=4,V=4]) -> z: f32[B,H,W] with { fuse: require } { z = sum[U,V](k * (x[H: H+U, W: W+V] ?? 0)) }

test conv2d { B=4 H=8 W=8 init: uniform(0,1) tol: abs <= 0.001 }
test conv2d { B=4 H=8 W=8 }
test conv2d { B=2 H=5 W=9 init: integers(-3,3) tol: exact }
test conv2d { B=1 H=2 W=3 init: ones tol: exact }
test conv2d { B=16 H=131 W=257 }
bench conv2d { B=4 H=8 W=8 }
bench conv2d { B=64 H=256 W=256 }
