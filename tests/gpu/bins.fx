# Sums by key at every shape that takes another path: lanes along the elements or the columns, sums that are a warp's own, shared or added to by all, one tile of bins
# or several, one part or many, batches, keys outside of the bins, bins that stay empty. Integers are drawn wherever sums have to be exact.
# `fxc test tests/gpu/bins.fx` compares each with the oracle.
kernel count(key: i32[N]) -> y: i32[Q] { y = sum[N](key == idx(Q)) }
test count { N=0 Q=3 tol: exact }
test count { N=1 Q=1 }
test count { N=33 Q=2 init: integers(-2,3) }
test count { N=5000 Q=7 init: integers(-2,12) }
test count { N=777 Q=256 }
test count { N=4096 Q=513 }
test count { N=4096 Q=5000 }

kernel weights(key: i64[N], w: f32[N]) -> y: f32[Q] { y = sum[N](where(key == idx(Q), w, 0)) }
test weights { N=1 Q=5 init: integers(0,4) }
test weights { N=3001 Q=20 init: integers(-3,25) }
test weights { N=2047 Q=100 init: integers(0,99) }
test weights { N=2048 Q=300 init: integers(5,400) }
test weights { N=1500 Q=5000 init: integers(0,4999) }

kernel segments(key: i32[N], x: f32[N,D]) -> y: f32[Q,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test segments { N=1000 D=64 Q=10 init: integers(-2,11) }
test segments { N=300 D=300 Q=33 init: integers(0,40) }
test segments { N=301 D=1 Q=5 init: integers(0,4) }
test segments { N=257 D=70 Q=129 init: integers(0,128) }
test segments { N=95 D=33 Q=600 init: integers(-9,700) }
test segments { N=0 D=8 Q=4 tol: exact }
test segments { N=2 D=3 Q=1 }

# Extents that are known: as many parts as the GPU takes, or one, which stores by itself.
kernel fixed(key: i32[N=20000], x: f32[N,D=40]) -> y: f32[Q=50,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test fixed { init: integers(-1,51) }
kernel fixed_many(key: u8[N=6000], x: bf16[N,D=96]) -> y: bf16[Q=1000,D] { y = bf16(sum[N](where(key == idx(Q), f32(x), 0))) }
test fixed_many { init: integers(0,3) }
kernel fixed_count(key: i32[N=200000]) -> y: i32[Q=300] { y = sum[N](key == idx(Q)) }
test fixed_count { init: integers(-5,310) }
kernel fixed_narrow(key: i32[N=60000], x: f32[N,D=3]) -> y: f32[Q=64,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test fixed_narrow { init: integers(0,66) }
# Several rounds of keys for teams whose tiles have few of the bins, the last one short.
kernel fixed_tiles(key: i32[N=5001], x: f32[N,D=33]) -> y: f32[Q=400,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test fixed_tiles { init: integers(-5,410) tol: exact }
test fixed_tiles { init: integers(100,103) tol: exact }

# What follows the sums, and several of one key.
kernel mean_of(key: i32[N], x: f16[N,D]) -> y: f16[Q,D] {
  y = f16(sum[N](where(key == idx(Q), f32(x), 0)) / max(sum[N](f32(key == idx(Q))), 1))
}
test mean_of { N=513 D=20 Q=9 init: integers(0,9) }
kernel moments(key: i32[N], x: f32[N]) -> (n: i32[Q], s: f32[Q], v: f32[Q], low: f32[Q], high: f32[Q], some: bool[Q]) {
  n = sum[N](key == idx(Q))
  s = sum[N](where(key == idx(Q), x, 0))
  v = sum[N](where(key == idx(Q), x * x, 0)) - s * s / max(f32(n), 1)
  low = min[N](where(key == idx(Q), x, inf))
  high = max[N](where(key == idx(Q), x, -inf))
  some = any[N](key == idx(Q))
}
test moments { N=700 Q=12 init: integers(-1,13) }
test moments { N=90 Q=40 }
kernel wide(key: i32[N], x: f64[N], w: i64[N], u: u32[N]) -> (s: f64[Q], t: i64[Q], r: u32[Q]) {
  s = sum[N](where(key == idx(Q), x, 0))
  t = sum[N](where(key == idx(Q), w, 0))
  r = sum[N](where(key == idx(Q), u, 0))
}
test wide { N=400 Q=30 init: integers(0,33) }

# Conditions beside the key's, a condition as a factor, keys that are computed.
kernel masked(key: i32[N], m: bool[N,D], x: f32[N,D]) -> y: f32[Q,D] {
  y = sum[N](where(m && key == idx(Q), where(x > 1, x, 0), 0))
}
test masked { N=300 D=35 Q=6 key.init: integers(0,6) x.init: integers(-3,4) }
kernel factor(key: i32[N], x: i32[N]) -> y: i32[Q] { y = sum[N](i32(key == idx(Q)) * x) }
test factor { N=999 Q=31 init: integers(-1,33) }
kernel computed(x: f32[N], w: f32[N]) -> y: f32[Q] { y = sum[N](where(i32(floor(x / 3)) + 2 == idx(Q), w, 0)) }
test computed { N=800 Q=10 init: integers(-12,40) }
kernel inner[Q=40](key: i32[N=4000]) -> y: f32[Q] { y = softmax[Q](f32(sum[N](key == i32(idx(Q))))) }
test inner { init: integers(0,41) }

# Batches, labels that the key lacks on either side of it, several labels that are summed.
kernel batched(key: i32[B,N], x: f32[B,N,D]) -> y: f32[B,Q,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test batched { B=3 N=200 D=40 Q=7 init: integers(0,8) }
kernel crossed(key: i32[N,B], x: f32[D,N]) -> y: f32[D,B,Q] { y = sum[N](where(key == idx(Q), x, 0)) }
test crossed { B=3 N=150 D=5 Q=11 init: integers(0,11) }
kernel shared_key(key: i32[N], x: f32[B,N]) -> y: f32[B,Q] { y = sum[N](where(key == idx(Q), x, 0)) }
test shared_key { B=4 N=700 Q=11 init: integers(0,11) }
kernel image(key: i32[H,W], x: f32[H,W,C]) -> y: f32[C,Q] { y = sum[H,W](where(key == idx(Q), x, 0)) }
test image { H=9 W=31 C=3 Q=8 init: integers(0,8) }
kernel by_head(key: i32[N,A], x: f32[N,A,D]) -> y: f32[A,Q,D] { y = sum[N](where(key == idx(Q), x, 0)) }
test by_head { N=90 A=3 D=16 Q=5 init: integers(0,5) }

# Values that are not selected do not matter.
kernel selected(key: i32[N=500], x: f32[N]) -> y: f32[Q] { y = sum[N](where(key == idx(Q) && x > 0, 1 / x, 0)) }
test selected { Q=6 init: integers(0,6) }

# No sums by key: the bin has a part in what is added, or in the key; another number stands for what is not selected.
kernel weighed_by_bin(key: i32[N], x: f32[N]) -> y: f32[Q] { y = sum[N](where(key == idx(Q), x * f32(idx(Q)), 0)) }
test weighed_by_bin { N=100 Q=9 init: integers(0,9) }
kernel shifting(key: i32[N,Q], x: f32[N]) -> y: f32[Q] { y = sum[N](where(key == idx(Q), x, 0)) }
test shifting { N=100 Q=9 init: integers(0,9) }
kernel with_ones(key: i32[N], x: f32[N]) -> y: f32[Q] { y = sum[N](where(key == idx(Q), x, 1)) }
test with_ones { N=100 Q=9 init: integers(0,9) }
