# args: --arch=sm_90a
# a filter by channel, channels last: a thread takes adjacent pixels at once, as many as divide a line; not of a line of a prime number, of few elements
kernel line(x: f16[B=264,W=128,C=64], k: f16[C,V=7]) -> z: f32[B,W,C] { z = sum[V](k * (x[W: W+V-3] ?? 0)) }
kernel prime(x: f16[B=264,W=127,C=64], k: f16[C,V=7]) -> z: f32[B,W,C] { z = sum[V](k * (x[W: W+V-3] ?? 0)) }
kernel small(x: f16[B=4,W=128,C=64], k: f16[C,V=7]) -> z: f32[B,W,C] { z = sum[V](k * (x[W: W+V-3] ?? 0)) }
