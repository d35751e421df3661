# args: --stop-after=batches
# Products whose batch label lies contiguous in both factors: copies that have it outermost. Not where one factor has it elsewhere, where sides are short, of f32, of what is computed, or where the kernel says how it is to be fused. What is read beside the output stays as it is. A factor of two products is copied once; an output with strides takes the product as it comes.
kernel triangle(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel gated(a: f16[B=2,I=256,K=128,C=64], b: f16[B,J=256,K,C], g: f16[B,I,J,C]) -> z: f16[B,I,J,C] { z = sigmoid(g) * sum[K](a * b) }
kernel both(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C]) -> (z: bf16[I,J,C], m: f32[C]) {
  z = sum[K](a * b)
  m = sum[I,J](z * z)
}
kernel outside(a: bf16[C=128,I=256,K=256], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel short_side(a: bf16[I=8,K=256,C=4096], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel whole(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] with { fuse: require } { z = sum[K](a * b) }
kernel exact(a: f32[I=256,K=256,C=128], b: f32[J=256,K,C]) -> z: f32[I,J,C] { z = sum[K](a * b) }
kernel made(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] { z = sum[K](relu(a) * b) }
kernel open(a: bf16[I,K,C], b: bf16[J,K,C]) -> z: bf16[I,J,C] { z = sum[K](a * b) }
kernel two(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C], c: bf16[J,K,C]) -> (y: bf16[I,J,C], z: bf16[I,J,C]) {
  y = sum[K](a * b)
  z = sum[K](a * c)
}
kernel apart(a: bf16[I=256,K=256,C=128], b: bf16[J=256,K,C]) -> z: bf16[I,J,C] strided { z = sum[K](a * b) }
