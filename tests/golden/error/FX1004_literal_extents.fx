kernel a(x: f32[32,N]) -> y: f32[N] { y = sum[M](x) }
kernel b(x: f32[M,64], w: f32[K]) -> y: f32[M] { y = x }
kernel c(x: f32[M,2*N]) -> y: f32[M] { y = x }
kernel d(x: f32[M,K/128]) -> y: f32[M*K] { y = x }
kernel e(x: f32[M]) -> y: f32 { y = sum[M](x) }
kernel e_bwd = grad(e, x)
kernel e_by = grad(e, wrt: [x])
