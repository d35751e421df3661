# The sum under other labels, of a product with 1.
kernel long_sum(x: f32[R,C]) -> z: f32[R] with { fuse: require } { z = sum[C](1 * x) }
