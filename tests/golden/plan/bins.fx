kernel histogram(key: i32[N=16777216]) -> y: i32[Q=256] { y = sum[N](key == idx(Q)) }
kernel segment_mean(key: i32[N=1048576], x: f32[N,D=64]) -> y: f32[Q=64,D] {
  y = sum[N](where(key == idx(Q), x, 0)) / max(sum[N](f32(key == idx(Q))), 1)
}
kernel lookup_gradient(ids: i32[N], dy: bf16[N,D]) -> dw: f32[V,D] { dw = sum[N](where(ids == idx(V), f32(dy), 0)) }
kernel few(key: i32[N=100], x: f32[N]) -> y: f32[Q=4] { y = sum[N](where(key == idx(Q), x, 0)) }
kernel at_once(key: i32[N=1048576]) -> y: i32[Q=256] with { fuse: require } { y = sum[N](key == idx(Q)) }
kernel floats_multiplied(key: i32[N=1048576], x: f32[N]) -> y: f32[Q=256] { y = sum[N](f32(key == idx(Q)) * x) }
