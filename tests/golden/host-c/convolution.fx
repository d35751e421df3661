kernel conv[U=3,V=3](x: bf16[B,H,W,C], k: bf16[U,V,C,O]) -> z: bf16[B,H,W,O] {
  z = sum[U,V,C]((x[H: idx(H)+idx(U)-1, W: idx(W)+idx(V)-1] ?? 0) * k)
}
