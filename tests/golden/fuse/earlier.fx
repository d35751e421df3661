# args: --stop-after=earlier
# What came before an element: a running sum of what stands before it. Not where something else reads the running sum, where what stands outside is not what it gives of nothing, or what comes later is read.
kernel before(x: f32[B,T]) -> y: f32[B,T] { y = x - (cumsum[T](x)[T: T-1] ?? 0) }
kernel three(x: i32[T]) -> y: i32[T] { y = cumprod[T](x)[T: T-3] ?? 1 }
kernel most(x: f32[T,C], z: f32[T,C]) -> y: f32[T,C] { y = cummax[T](x * z)[T: T-1] ?? -inf }
kernel through(x: f32[T]) -> y: f32[T] { y = exp(cumsum[T](x))[T: T-1] ?? 1 }
kernel state(a: f32[B,T,H], x: f32[B,T,H,D]) -> y: f32[B,T,H,D] { y = recur[T](a, x)[T: T-1] ?? 0 }
kernel steady(a: f32[H], x: f32[T,H]) -> y: f32[T,H] { y = x + (recur[T](a, x * x)[T: T-2] ?? 0) }
kernel counts(x: f32[T]) -> y: f32[T] { y = recur[T](f32(x > 0), 1)[T: T-1] ?? 0 }
kernel starts(a: f32[B,T], x: f32[B,T], h: f32[B]) -> y: f32[B,T] { y = recur[T](a, x, from: h)[T: T-1] ?? 0 }
kernel twice(x: f32[T]) -> (y: f32[T], z: f32[T]) {
  y = cumsum[T](x)
  z = y[T: T-1] ?? 0
}
kernel other(x: f32[T]) -> y: f32[T] { y = cumsum[T](x)[T: T-1] ?? 1 }
kernel none(a: f32[T], x: f32[T]) -> y: f32[T] { y = recur[T](a, x)[T: T-1] ?? 1 }
kernel later(x: f32[T]) -> y: f32[T] { y = cumsum[T](x)[T: T+1] ?? 0 }
kernel across(x: f32[B,T]) -> y: f32[B,T] { y = cumsum[T](x)[B: B-1] ?? 0 }
