kernel attention(q: f32[S,D], k: f32[S,D], v: f32[S,D]) -> o: f32[S,D] { o = softmax[S](q @ k) @ v }
kernel k(x: f32[M], z: f32[N]) -> (y: f32[M,N], u: f32[M,N]) {
  y = x
  u = z + q
}
