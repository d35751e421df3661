# which engine multiplies what: by dtype and precision alone, tiles by shape
kernel tf32(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = x @ w }
kernel ieee(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] { y = x @ w }
kernel unlicensed(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { precision: tf32 } { y = sum[K](f32(x * w)) }
kernel bytes(x: i8[M,K], w: u8[N,K]) -> y: i32[M,N] { y = x @ w }
kernel transposed(x: u8[M,K], w: i8[K,N]) -> y: i32[M,N] { y = x @ w }
kernel doubles(x: f64[M,K], w: f64[K,N]) -> y: f64[M,N] { y = x @ w }
kernel words(x: i32[M,K], w: i32[K,N]) -> y: i32[M,N] { y = x @ w }
kernel unsigned_longs(x: u64[M,K], w: u64[K,N]) -> y: u64[M,N] { y = x @ w }
# several sums, and computed operands on the way
kernel gated(x: f32[M,K], w: f32[K, F=2*N]) -> y: f32[M,N] with { precision: tf32, fuse: require } { l, r = halves[F->N](x @ w)
  y = l * sigmoid(r) }
kernel two_bytes(x: i8[M,K], w: i8[N,K], v: i8[N,K]) -> y: i32[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
kernel two_doubles(x: f64[M,K], w: f64[K,N], v: f64[K,N]) -> y: f64[M,N] with { fuse: require } { y = (x @ w) * (x @ v) }
kernel eights(x: f8e4m3[M,K], w: f8e5m2[N,K]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel nibbles(x: u8[M,K], w: i4[N,K] packed(i32, K, msb)) -> y: i32[M,N] with { fuse: require } { y = x @ w }
kernel shorts(x: i16[M,K], w: i16[K,N]) -> y: i32[M,N] with { fuse: require } { y = x @ w }
