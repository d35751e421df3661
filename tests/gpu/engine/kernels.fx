# Kernels that inference engines have written by hand, as they are called there: in place, extents open, scales beside what they scale.

# x + r goes to r, its norm with a weight to x
kernel add_norm(x: inout f16[M,N], r: inout f16[M,N], w: f16[N], eps: f32) with { fuse: require } {
  z = x + r
  r = z
  x = z * rsqrt(mean[N](z * z) + eps) * w
}
test add_norm { M=3 N=96 eps=1e-5 }

# a mask of positions, by a slope a head
kernel masked_softmax(x: f32[H,S,T], mask: f16[S,T], slope: f32[H], scale: f32) -> y: f32[H,S,T] with { fuse: require } {
  y = softmax[T](x * scale + slope * mask)
}
test masked_softmax { H=2 S=3 T=40 scale=0.125 }

kernel gated(x: bf16[M,C=2*N]) -> y: bf16[M,N] with { fuse: require } {
  a, b = halves[C->N](x)
  y = silu(a) * b
}
test gated { M=3 N=48 }

# groups of 128, each with a scale
kernel quantise[P=128](x: bf16[M,N=G*P]) -> (q: f8e4m3[M,N], s: f32[M,G]) with { fuse: require } {
  v = x{N->(G,P)}
  s = max(max[P](abs(v)), 1e-10) / 448
  q = (v / s){(G,P)->N}
}
test quantise { M=3 G=2 }
