# Positions the other way round, splits as accesses.
kernel addresses() -> i: i64[A=64,B=2048] with { fuse: require } { i = idx(B) + size(B) * idx(A) }
kernel tile(x: f32[A,B], row: i64, col: i64) -> t: f32[C=64,D=64] with { fuse: require } { t = x[B: D + col * 64, A: C + row * 64] ?? 0 }
kernel tile_sums[U=64, V=64](x: f32[A=64*C, B=64*D]) -> s: f32[C,D] with { fuse: require } { s = sum[U,V](x[A: 64 * C + U, B: 64 * D + V] ?? 0) }
