kernel k(x: f32[M]) -> y: f32[M] with { fuse: always, colour: red, kernels: 0, precision: f99, round: up, deterministic: 3, fast_math: 2 } { y = x }
kernel many(x: f32[M]) -> y: f32[M] with { kernels: 4097 } { y = x }
kernel twice(x: f32[M]) -> y: f32[M] with { fuse: require, fuse: never } { y = x }
kernel near(x: f32[M]) -> y: f32[M] with { fused: never } { y = x }
