# 12 positions in storage order, axes summed in another, the bias first
kernel conv_relu(x: f16[N,I,Y,X], k: f16[O,I,R=3,S=3], b: f16[O]) -> z: f16[N,O,Y,X] {
  z = max(b + sum[S,I,R]((x[N, I, R+Y-1, S-1+X] ?? 0) * k), 0)
}
