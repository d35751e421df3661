# The examples of the language reference.
# 1 linear + bias + gelu
kernel linear_gelu(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] {
  y = gelu(x @ w + b)
}

# 2 split activation: F is an axis of extent 2*N; both halves meet in one tile, one kernel, no [M,2N] in memory
kernel split_act(a: f32[M,K], w: f32[K, F=2*N]) -> d: f32[M,N] with { precision: tf32, fuse: require } {
  l, r = halves[F->N](a @ w)               # columns [0,N) and [N,2N); evenodd[F->N] for interleaved weights
  d = sigmoid(l) * tanh(r)
}

# 3 GEGLU with weights stored (out, in): only the declaration differs
kernel geglu(x: bf16[M,K], w: bf16[F=2*N, K], b: bf16[F]) -> y: bf16[M,N] {
  z, g = halves[F->N](x @ w + b)
  y = z * gelu(g)
}

# 4 layernorm + linear + gelu as one kernel; w is a weight, so its column sums may be prepared once
kernel ln_linear_gelu(x: f16[M,K], w: const f16[K,N], b: f16[N]) -> y: f16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}

# 5 LoRA: any rank; the compiler may concatenate along K: [x | alpha*(x@A)] @ [W ; B]
kernel lora(x: f16[M,K], W: f16[K,N], b: f16[N], A: f16[K,R], B: f16[R,N], alpha: f32 = 0.5) -> y: f16[M,N] {
  y = relu(x @ W + b + alpha * (x @ A @ B))
}

# 6 two-layer MLP
kernel mlp2(x: f32[M,K], W1: f32[H,K], b1: f32[H], W2: f32[N,H], b2: f32[N]) -> y: f32[M,N] with { fuse: prefer } {
  h = relu(x @ W1 + b1)
  y = sigmoid(h @ W2 + b2)
}

# 7 residual + dropout, the mask a second output; bits depend on (seed, off, element), never on tiling
kernel res_drop(x: f16[M,K], w: f16[K,N], b: f16[N], r: f16[M,N], p: f32, seed: u64, off: u64)
    -> (y: f16[M,N], keep: bool[M,N]) {
  keep = rand[M,N](seed, off) >= p
  y = r + where(keep, (x @ w + b) / (1 - p), 0)
}

# 8 row softmax, any length
kernel softmax_rows(x: f32[B,T]) -> z: f32[B,T] { z = softmax[T](x) }

# 9 causal attention, log-sum-exp kept for a backward
kernel flash(q: f16[B,H,S,D], k: f16[B,H,T,D], v: f16[B,H,T,D], scale: f32)
    -> (o: f16[B,H,S,D], lse: f32[B,H,S]) with { fuse: require } {
  s   = where(idx(T) - size(T) <= idx(S) - size(S), (q @ k) * scale, -inf)
  lse = logsumexp[T](s)
  o   = softmax[T](s) @ v
}

# 10 int4 weights packed eight to an i32 along L, group scale and zero point
kernel w4(sc: f32[J, G=L/8], zp: u4[J, G=L/8] packed(i32, G, lsb), wq: u4[J, L] packed(i32, L, lsb), y: f32[L,C])
    -> z: f32[J,C] {
  z = (sc[G: L/8] * (wq - zp[G: L/8])) @[L] y
}

# 11 batched matmul: B is shared and kept, K is contracted
kernel bmm(x: f32[B,M,K], y: f32[B,K,N]) -> z: f32[B,M,N] { z = x @ y }

# 12 convolution: the value after ?? is what lies outside; with channels it is an implicit GEMM, K = C*U*V; NHWC is the same line
kernel conv_relu(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], b: f16[O]) -> z: f16[B,O,H,W] {
  z = relu(sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b)
}

# 13 product + relu and its backward
kernel mul_relu(x: f32[J,I], y: f32[J]) -> z: f32[J,I] { z = relu(x * y) }
kernel mul_relu_bwd = grad(mul_relu, wrt: x)         # (x, y, dz) -> dx

# 14 long row sum; overlapping pooling, whose window is an axis that no tensor carries
kernel row_sum(x: f32[B,T]) -> z: f32[B] { z = sum[T](x) }
kernel maxpool[U=3](x: f32[B,T]) -> z: f32[B, Q=(T-1)//2] { z = max[U](x[T: 2*Q+U] ?? -inf) }

# 15 recommendation model: hashed embedding; the first top layer without ever writing the outer product
kernel embed(ids: i64[B,S], card: i64[S], table: f32[S,V,E]) -> e: f32[B,S,E] {
  e = table[V: (ids + 1) % card] ?? 0
}
kernel top1(d: f32[B,E], s: f32[B,S,E], W1: f32[H, P=(S+1)*E, Q=P], b1: f32[H]) -> h: f32[B,H] {
  c = concat[P](d{E->P}, s{(S,E)->P})
  h = relu((c * c{P->Q}) @[P,Q] W1 + b1)
}

# 16 in place, activation a compile-time choice (-D act=sigmoid)
fn act(v) = relu(v)
kernel add_mul_act(x: inout f32[M,N], b: f32[N], t: f32[M,N], mult: f32) { x = act(x + b + mult * t) }

# 17 reductions in the epilogue, several outputs
kernel dlinear(g: f16[M,N], pre: f16[M,N], w: f16[K,N]) -> (dx: f16[M,K], db: f32[N], amax: f32) {
  dz = g * dgelu(pre)
  dx = dz @ w
  db = sum[M](dz)
  amax = max[M,N](abs(dz))
}

test  ln_linear_gelu { M=512 K=1024 N=4096 init: normal seed: 0   tol: abs <= 0.063 }
test  ln_linear_gelu { M=512 K=1024 N=4096 init: normal(30,1)     tol: abs <= 0.07 }
bench ln_linear_gelu { M=512 K=1024 N=4096 warmup: 100 rep: 1000 vs: [unfused, cublaslt] }
