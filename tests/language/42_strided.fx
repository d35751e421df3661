# 42 tensors whose strides the launch gives: any, of either sign or 0 for what is read
kernel scale(x: f32[M,N] strided, b: f32[N] strided) -> y: f32[M,N] strided { y = x * 2 + b }
kernel kinds(x: f16[A,B,C] strided, k: i8[A,C] strided, c: bool[B,C] strided) -> (y: bf16[A,C,B] strided, z: i32[A,B,C] strided) {
  y = where(c, x, 0)
  z = where(c, k, 1)
}
kernel product(x: f16[M,K] strided, w: f16[K,N] strided, r: f32[M,N] strided) -> y: f16[M,N] strided { y = relu(x @ w + r) }
kernel product_nk(x: bf16[K,M] strided, w: bf16[N,K]) -> y: f32[N,M] { y = w @ x }
kernel product_f32(x: f32[B,M,K] strided, w: f32[B,K,N] strided) -> y: f32[B,M,N] { y = x @ w }
kernel two_sums(x: f32[J,M,L] strided, w: f32[N,L,J] strided) -> y: f32[M,N] strided { y = x @[J,L] w }
kernel softmax(x: bf16[B,T] strided) -> z: bf16[B,T] strided { z = softmax[T](x) }
kernel columns(x: f32[A,B,T] strided, s: f32[B,T] strided) -> (m: f32[T] strided, y: f32[A,B,T] strided) {
  m = max[A,B](x)
  y = x * s - m
}
kernel place(x: f32[B,T] strided) -> a: i64[B] strided { a = argmax[T](x) }
kernel running(x: f64[T] strided) -> y: f64[T] strided { y = cumsum[T](x) }
kernel gathered(t: f32[V,E] strided, i: i64[B] strided) -> y: f32[B,E] { y = t[V: i] ?? 0 }
kernel words(w: u4[J,K] packed(i32, K, lsb) strided, x: f32[K] strided) -> y: f32[J] { y = w @ x }
kernel moved(x: inout f32[M,N] strided, t: f32[M,N] strided) { x = x + 0.5 * t }
kernel turned(x: inout f16[M,N] strided) { x = x[M: size(M) - 1 - idx(M)] }
kernel one(x: f32[M,U=1,N] strided) -> y: f32[U,M,N] strided { y = -x }
kernel attended(q: f16[B,S,D], k: f16[B,T,D], v: f16[B,T,N]) -> (o: f16[B,S,N] strided, l: f32[B,S] strided) with { fuse: require } {
  s = q @ k
  o = softmax[T](s) @ v
  l = max[T](s)
}
