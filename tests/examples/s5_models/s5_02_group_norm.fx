# Groups as positions, statistics written out.
kernel group_norm_nchw[U, V=8](x: f16[B,D=U*V,Y,X], g: f16[D], b: f16[D]) -> y: f16[B,D,Y,X] with { fuse: require } {
  t = x{D->(U,V)}
  d = t - sum[V,Y,X](t) / (size(V) * size(Y) * size(X))
  n = d * rsqrt(sum[V,Y,X](d * d) / (size(V) * size(Y) * size(X)) + 1e-5)
  a = b + g * n{(U,V)->D}
  y = a * sigmoid(a)
}
kernel group_norm_nhwc[U, V=8](x: f16[B,Y,X,D=U*V], g: f16[D], b: f16[D]) -> y: f16[B,Y,X,D] with { fuse: require } {
  t = x{D->(U,V)}
  d = t - sum[V,Y,X](t) / (size(V) * size(Y) * size(X))
  n = d * rsqrt(sum[V,Y,X](d * d) / (size(V) * size(Y) * size(X)) + 1e-5)
  a = b + g * n{(U,V)->D}
  y = a * sigmoid(a)
}
kernel conv_group_norm[U, V=8](x: f16[B,Y,X,Z], w: f16[I=3,J=3,Z,D=U*V], g: f16[D], b: f16[D]) -> y: f16[B,Y,X,D] {
  c = sum[I,J,Z](w * (x[Y: idx(I) + idx(Y) - 1, X: idx(J) - 1 + idx(X)] ?? 0))
  t = c{D->(U,V)}
  d = t - mean[V,Y,X](t)
  n = d * rsqrt(mean[V,Y,X](d * d) + 1e-5)
  a = b + g * n{(U,V)->D}
  y = silu(a)
}
