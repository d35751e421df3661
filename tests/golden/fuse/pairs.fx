# Sums of functions of pairs that are no products, which a mainloop may add up. Not where a third value has the summed label, where the function is not 0 of zeros, of integers, or where one value has all labels of the result.
kernel distances(x: f32[M,D], c: f32[N,D], w: f32[M]) -> y: f32[M,N] { y = sqrt(sum[D]((x - c) ** 2)) * w }
kernel computed(x: f32[B,M,D], c: f16[B,D,N], s: f32[D]) -> y: f32[B,M,N] { y = sum[D](abs(x * s - c)) }
kernel weighed(q: f32[M,D], k: f32[N,D], v: f32[D]) -> y: f32[M,N] { y = sum[D](v * tanh(q + k)) }
kernel likeness(x: f32[M,D], c: f32[N,D]) -> y: f32[M,N] { y = sum[D](exp(-(x - c) ** 2)) }
kernel whole(x: i32[M,D], c: i32[N,D]) -> y: i32[M,N] { y = sum[D](abs(x - c)) }
kernel one_side(x: f32[M,D], c: f32[D]) -> y: f32[M] { y = sum[D]((x - c) ** 2) }
