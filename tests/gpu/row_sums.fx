# Reductions of elements that are made of reductions of their rows.
kernel divergence(x: f32[M,N], t: f32[M,N]) -> l: f32 {
  l = sum[M,N](softmax[N](t) * ((t - logsumexp[N](t)) - (x - logsumexp[N](x)))) / size(M)
}
kernel farthest(x: i32[B,M,N]) -> (y: i32[B], z: i32[B]) { y = max[M,N](x - min[N](x)); z = sum[M,N](x - cumsum[N](x)) }
test divergence { M=5 N=300 }
test divergence { M=70 N=33 }
test farthest { B=3 M=20 N=150 init: integers(-40,40) tol: exact }
