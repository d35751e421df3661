# A label that an extent is made of, and that nothing carries.
kernel split(x: f32[M,N=G*8]) -> y: f32[M] { y = max[N](x) }
kernel window[U=3](x: f32[M,N=U*V]) -> y: f32[M] { y = max[N](x) }
