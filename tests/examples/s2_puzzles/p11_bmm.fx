# A sum of a product, operands commuted.
kernel bmm(x: f32[A,R,T], y: f32[A,T,C]) -> z: f32[A,R,C] with { fuse: require } { z = sum[T](y * x) }
