# args: -D rows=3 -D m=4
kernel k(x: f32[M,K]) -> y: f32[M] { y = sum[K](x) }
kernel l(x: f32[M,N]) -> y: f32[M] { y = sum[N](x) }
