kernel k(x: bf16[M,K], a: bf16[K,P], b: bf16[P,Q], c: bf16[Q,N]) -> y: f32[M,N] with { fuse: require } {
  y = relu(relu(x @ a) @ b) @ c
}
