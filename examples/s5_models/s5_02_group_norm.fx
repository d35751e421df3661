# Group norm, affine, then silu, in either layout of images, and behind a convolution.
kernel group_norm_nchw[G, P=8](x: f16[N,C=G*P,H,W], g: f16[C], b: f16[C]) -> y: f16[N,C,H,W] with { fuse: require } {
  y = silu(layernorm[P,H,W](x{C->(G,P)}){(G,P)->C} * g + b)
}
test group_norm_nchw { N=2 G=3 H=4 W=4 }
test group_norm_nchw { N=1 G=2 H=3 W=5 }
bench group_norm_nchw { N=8 G=32 H=64 W=64 vs: unfused }

kernel group_norm_nhwc[G, P=8](x: f16[N,H,W,C=G*P], g: f16[C], b: f16[C]) -> y: f16[N,H,W,C] with { fuse: require } {
  y = silu(layernorm[P,H,W](x{C->(G,P)}){(G,P)->C} * g + b)
}
test group_norm_nhwc { N=2 G=3 H=4 W=4 }
test group_norm_nhwc { N=1 G=2 H=3 W=5 }
bench group_norm_nhwc { N=8 G=32 H=64 W=64 vs: unfused }

kernel conv_group_norm[G, P=8](x: f16[N,H,W,C], w: f16[R=3,S=3,C,K=G*P], g: f16[K], b: f16[K]) -> y: f16[N,H,W,K] {
  c = sum[R,S,C]((x[H: idx(H) + idx(R) - 1, W: idx(W) + idx(S) - 1] ?? 0) * w)
  y = silu(layernorm[P,H,W](c{K->(G,P)}){(G,P)->K} * g + b)
}
test conv_group_norm { N=2 H=5 W=4 C=8 G=2 }
bench conv_group_norm { N=8 H=64 W=64 C=256 G=32 vs: unfused }
