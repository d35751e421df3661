# 12 convolution: the value after ?? is what lies outside; with channels it is an implicit GEMM, K = C*U*V; NHWC is the same line
kernel conv_relu(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3], b: f16[O]) -> z: f16[B,O,H,W] {
  z = relu(sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) + b)
}
