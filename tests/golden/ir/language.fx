fn twice[F,N](v) -> a, b { a, b = halves[F->N](v) }
kernel split(x: f32[M,F=2*N]) -> y: f32[M,N] { l, r = twice[F->N](x); e, o = evenodd[F->N](x); y = l * r + e * o }
kernel conv(x: f16[B,C,H,W], k: f16[O,C,U=3,V=3]) -> z: f16[B,O,H,W] { z = sum[C,U,V](k * (x[H: H+U-1, W: W+V-1] ?? 0)) }
kernel attention(q: f16[S,D], k: f16[T,D], v: f16[T,D]) -> o: f16[S,D] {
  s = where(idx(T) - size(T) <= idx(S) - size(S), q @ k, -inf)
  o = softmax[T](s) @ v
}
kernel cross(d: f32[B,E], s: f32[B,S,E], _P: f32[B]) -> c: f32[B,Q=(S+1)*E] { c = concat[Q](d{E->Q}, s{(S,E)->Q}) }
kernel types(i: i8[M], u: u32[M], l: i64[M], b: bool[M], h: bf16[M], d: f64[M], seed: u64)
    -> (a: i64[M], c: i8[M], e: f8e4m3[M], f: f64[M], g: bool[M], n: i64[], r: f32[M], t: i32[M]) {
  a = (i + u) // 3 + l % 7
  c = i8(i * 2)
  e = h / 3
  f = d + h
  g = b || i == 0
  n = argmax[M](h)
  r = rand[M](seed)
  t = cumsum[M](b)
}
kernel outer(x: f32[M,K]) -> y: f32[M,J] { y = x @ x{M->J} }
