kernel soft(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
kernel down(x: f32[K,N]) -> (m: f32[N], at: i64[N]) {
  m = max[K](x)
  at = argmax[K](x)
}
kernel run(x: f32[B,T]) -> c: f32[B,T] { c = cumsum[T](x) }
kernel recurrence(a: f32[B], b: f16[B,T], h: f32[B]) -> y: f16[B,T] { y = recur[T](a, b, from: h) }
kernel across(x: f32[K,N], w: f32[K], s: f32[N]) -> y: f32[K,N] { y = softmax[K](x) * tanh(w) + log(s) }
