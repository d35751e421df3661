# args: -v -D M=4096 -D K=512 -D H=2048 -D N=256
kernel one(x: f32[M,K], w1: f32[K,H], b1: f32[H], w2: f32[H,N], b2: f32[N]) -> y: f32[M,N] with { fuse: require } {
  y = sigmoid(relu(x @ w1 + b1) @ w2 + b2)    # b2 and sigmoid wait for all of H; every tile of columns computes the hidden layer
}
kernel cheaper(x: f32[M,K], w1: f32[K,H], b1: f32[H], w2: f32[H,N], b2: f32[N]) -> y: f32[M,N] with { precision: fma } {
  y = sigmoid(relu(x @ w1 + b1) @ w2 + b2)    # as two kernels
}
