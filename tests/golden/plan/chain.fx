# A factor that is computed goes to memory in the dtype of the other; two contractions meet in one epilogue.
kernel chain(x: bf16[M,K], w: bf16[K,H], v: bf16[H,N], r: bf16[M,N], u: f32[K,N]) -> (y: bf16[M,N], h: f32[M,H]) {
  h = relu(x @ w)
  y = h @ v + r * (x @ u)
}
kernel batched(x: f16[B,M,K], y: f16[B,K,N], s: f32 = 2) -> z: f16[B,N,M] { z = s * (x @ y) }
kernel split(x: f32[S,B,P,Q], w: f32[Q,P,H,D], b: f32[D]) -> o: f32[B,S,H,D] { o = x @[P,Q] w + b }
kernel never(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: never, kernels: 2 } { y = exp(x @ w) }
