# A window of a tensor, channels last: columns of pixels by a tensor map in im2col mode, with an offset for each element of the window. Pixels go along m.
kernel convolution[U=3,V=3](x: f16[B,H,W,C], k: f16[U,V,C,O], b: f32[O]) -> z: f16[B,P=(H+1)//2,W,O] {
  z = relu(sum[U,V,C]((x[H: 2*idx(P) + idx(U) - 1, W: idx(W) - 2*idx(V) + 2] ?? 0) * k) + b)
}
