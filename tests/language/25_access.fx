# 25 accesses: gathered, strided, reversed, shifted, dilated, windows, of computed values
kernel gather(ids: i32[B], t: f32[V,E]) -> y: f32[B,E] {
  require V >= 1
  y = t[V: clamp(ids, 0, size(V) - 1)]
}
kernel gather_or(ids: i64[B,S], t: f32[V,E]) -> y: f32[B,S,E] { y = t[V: ids] ?? -1 }
kernel gather_pairs(i: i32[B], j: i32[B], x: f32[M,N]) -> y: f32[B] { y = x[i, j] ?? 0 }
kernel gather_grid(i: i32[A], j: i32[B], x: f32[M,N]) -> y: f32[A,B] { y = x[M: i, N: j] ?? 0 }
kernel strided_odd(x: f32[M,T]) -> y: f32[M, Q=T//2] { y = x[T: 2*Q+1] }
kernel reversed(x: f32[M,T]) -> y: f32[M,T] { y = x[T: size(T)-1-T] }
kernel rolled(x: f32[M,T]) -> y: f32[M,T] { y = x[T: (T+3) % size(T)] }
kernel shifted(x: f32[M,T], b: f32) -> (l: f32[M,T], r: f32[M,T], f: f32[M,T]) {
  l = x[T: T-1] ?? 0
  r = x[T: T+2] ?? -inf
  f = x[T: T+1] ?? b
}
kernel dilated(x: f32[T]) -> (y: f32[T], z: f32[T]) {
  y = x[T: 2*T] ?? 0
  z = x[T: 3 - 2*T] ?? 7
}
kernel either(x: f32[T]) -> y: f32[T] { y = x[T: T-2] ?? x[T: T+3] ?? 9 }
kernel repeated(x: f32[M,T]) -> (y: f32[M, U=2*T], z: f32[M,U]) {
  y = x[T: U//2]
  z = x[T: U/2]
}
kernel windows[U=2, V=3](x: f32[H,W]) -> y: f32[P=H//2, Q=W//3] { y = sum[U,V](x[H: 2*P+U, W: 3*Q+V]) }
kernel banded(x: f32[M,N], k: f32[U=5]) -> y: f32[M,N] { y = sum[U](k * (x[N: N+2*U-4] ?? 0)) }
kernel of_result(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N], z: f32[M,N]) {
  y = (x @ w)[N: size(N)-1-N]
  z = relu(x @ w)[N: N-1] ?? 0.5
}
kernel at_scalar(x: f32[M,T], s: i32) -> y: f32[M] { y = x[T: s] ?? 0 }
kernel twice(ids: i32[B], jds: i32[C], x: f32[N]) -> y: f32[C] { y = x[N: ids[B: jds] ?? -1] ?? -5 }
