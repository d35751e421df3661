# Sums of functions of pairs that are no products, tile by tile: layouts, phases of a launch, odd extents, factors that are computed or widened, batches, two labels summed; with what follows them. Extents at which that is what the kernel becomes.
kernel distances(x: f32[M=300,D=64], c: f32[N=264,D]) -> y: f32[M,N] with { fuse: require } { y = sqrt(sum[D]((x - c) ** 2)) }
kernel odd(x: f32[M=513,D=65], c: f32[D,N=771]) -> y: f32[M,N] { y = sum[D]((x - c) ** 2) }
kernel nearest(x: f32[M=300,D=64], c: f32[N=264,D]) -> k: i64[M] { k = argmin[N](sum[D]((x - c) ** 2)) }
kernel absolute(x: f32[B=2,D=6,E=16,M=520], c: f16[B,N=528,D,E], s: f32[D,E]) -> y: f16[B,M,N] { y = relu(900 - sum[D,E](abs(x * s - c))) }
kernel unlike(x: i8[M=513,D=96], c: f32[D,N=1032], w: f32[M]) -> y: f32[M,N] { y = sum[D](max(f32(x), c) * (f32(x) - c)) * w }
kernel free(x: f32[M,D], c: f32[N,D]) -> y: f32[M,N] { y = sum[D](abs(x - c)) }
kernel scaled(x: f32[M=300,D=64], c: f32[N=264,D]) -> y: f32[M,N] with { fuse: require } { y = sum[D]((x - c) ** 2) * sum[M,D](x) }
kernel loss(x: f32[M=300,D=64], c: f32[N=264,D]) -> (y: f32[M], l: f32) with { fuse: require } { y = min[N](sum[D](abs(x - c))); l = sum[M](y) }
test distances { init: integers(-3,3) }
test distances { seed: 3 }
test odd { init: integers(-3,3) tol: exact }
test nearest { init: integers(-3,3) tol: exact }
test absolute { init: integers(-3,3) tol: exact }
test unlike { init: integers(-5,5) tol: exact }
test unlike { seed: 3 }
test free { M=300 N=264 D=50 init: integers(-5,5) tol: exact }
test free { M=300 N=264 D=0 tol: exact }
test free { M=3 N=2 D=7 init: integers(-5,5) tol: exact }
test scaled { init: integers(-1,1) tol: exact }
test loss { init: integers(-3,3) tol: exact }
