kernel a(x: f32[32,N]) -> y: f32[N] { y = sum[M](x) }
kernel b(x: f32[M,64], w: f32[K]) -> y: f32[M] { y = x }
kernel c(x: f32[M,2*N]) -> y: f32[M] { y = x }
