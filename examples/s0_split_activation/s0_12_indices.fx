# What the notebook printed to find its mistakes: the matrix of addresses n * 2048 + k, a tile cut out of a matrix, sums of tiles. For a kernel as it runs `fxc trace` shows
# the cells that each block reads and writes, and when; `fxc check --device=emu` says which block wrote the element that is farthest off.
kernel addresses() -> i: i64[N=64,K=2048] with { fuse: require } { i = idx(N) * size(K) + idx(K) }
kernel tile(x: f32[M,K], row: i64, col: i64) -> t: f32[U=64,V=64] with { fuse: require } { t = x[M: 64 * row + U, K: 64 * col + V] ?? 0 }
kernel tile_sums(x: f32[M=64*I, K=64*J]) -> s: f32[I,J] with { fuse: require } { s = sum[U,V](x{M->(I,U=64)}{K->(J,V=64)}) }

test addresses { tol: exact }
test tile { M=130 K=200 row=1 col=2 tol: exact }
test tile { M=130 K=200 row=2 col=3 tol: exact }      # past both ends: zeros
test tile_sums { I=2 J=3 }
test tile_sums { I=3 J=2 init: integers(-4,4) tol: exact }
bench addresses { }
bench tile { M=8192 K=8192 row=3 col=5 }
bench tile_sums { I=128 J=128 }
