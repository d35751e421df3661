kernel linear(x: f32[M,K], w: f32[N,K], b: f32[N]) -> y: f32[M,N] with { fuse: require } { y = relu(x @[K] w + b) }
kernel gated(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> y: f32[M,N] with { fuse: require } { y = silu(x @ w) * (x @ v) }
kernel groups(x: f32[M,K], w: f32[N=256,K]) -> y: f32[M,N] with { fuse: require } { y = layernorm[C]((x @[K] w){N->(G=4,C)}){(G,C)->N} }
