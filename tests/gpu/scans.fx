# Running sums of few rows, which are cut in parts: what each part adds is a launch ahead of those that read running sums. Parts without elements, and parts that no vector ends with.
kernel along(x: f32[R=3,K]) -> (y: f32[R,K], g: f32[R,K]) {
  y = cumsum[K](x)
  g = cummax[K](x)
}
test along { K=1 x.init: integers(-3,3) tol: exact }
test along { K=1025 x.init: integers(-3,3) tol: exact }
test along { K=40004 x.init: integers(-3,3) tol: exact }
test along { K=70001 x.init: integers(-3,3) tol: exact }

# one reads another, and both what a reduction gave
kernel twice(x: i32[R=2,K]) -> y: i64[R,K] { y = cumsum[K](i64(cumsum[K](x - max[K](x)) % 7)) }
test twice { K=3000 }
test twice { K=33003 }

# a pass, a running sum that the pass after it reads, results of rows alone
kernel between(x: f32[R=2,K]) -> (y: f32[R,K], s: f32[R], at: i64[R]) {
  c = cumsum[K](x)
  y = c / sum[K](abs(x))
  s = max[K](c)
  at = argmax[K](c)
}
test between { K=5000 x.init: integers(-3,3) }
test between { K=36000 x.init: integers(-3,3) }

# the order of parts counts
kernel steps(a: f32[R=2,K], x: f32[R,K], h: f32[R]) -> (y: f32[R,K], z: f32[R]) {
  y = recur[K](a, x, from: h)
  z = sum[K](recur[K](a, x))
}
test steps { K=3001 a.init: uniform(0.5,1) }
test steps { K=40000 a.init: uniform(0.5,1) }

# down columns
kernel down(x: f16[K,R=24]) -> y: f32[K,R] { y = cumsum[K](x) }
test down { K=65 x.init: integers(-3,3) tol: exact }
test down { K=17000 x.init: integers(-3,3) tol: exact }
kernel down_steps(a: f32[B=2,K,R=5], x: f32[B,K,R]) -> y: f32[B,K,R] { y = recur[K](a, x) / (1 + sum[K](x * x)) }
test down_steps { K=700 a.init: uniform(0.5,1) }
test down_steps { K=18001 a.init: uniform(0.5,1) }

# and their gradients, which run from behind
kernel weighed(a: f32[R=2,K], x: f32[R,K]) -> (y: f32[R,K], h: f32[R,K]) {
  y = cumsum[K](x)
  h = recur[K](a, x)
}
kernel weighed_backward = grad(weighed, wrt: a, x)
test weighed_backward { K=3000 a.init: uniform(0.5,1) }

# no elements at all, and what is said of them
kernel none(x: f32[R=3,K]) -> (y: f32[R,K], s: f32[R]) { y = cumsum[K](x); s = 1 + sum[K](y) }
test none { K=0 tol: exact }
kernel none_down(x: f16[K,R=24]) -> (y: f32[K,R], s: f32[R]) { y = cumsum[K](x); s = 1 + sum[K](y) }
test none_down { K=0 tol: exact }

# Read some steps earlier: running sums of what stands before. Nothing, one element, less than the steps, more than a run of a thread.
kernel before(x: f32[B,T]) -> y: f32[B,T] { y = x - (cumsum[T](x)[T: T-1] ?? 0) }
kernel three(x: i32[T]) -> y: i32[T] { y = cumprod[T](x)[T: T-3] ?? 1 }
kernel most(x: f32[T,C], z: f32[T,C]) -> y: f32[T,C] { y = cummax[T](x * z)[T: T-1] ?? -inf }
kernel state(a: f32[B,T,H], x: f32[B,T,H,D]) -> y: f32[B,T,H,D] { y = recur[T](a, x)[T: T-1] ?? 0 }
kernel steady(a: f32[H], x: f32[T,H]) -> y: f32[T,H] { y = x + (recur[T](a, x * x)[T: T-2] ?? 0) }
kernel counts(x: f32[T]) -> y: f32[T] { y = recur[T](f32(x > 0), 1)[T: T-1] ?? 0 }
test before { B=3 T=1 seed: 1 }
test three { T=1 init: integers(-2,2) seed: 1 tol: exact }
test steady { T=1 H=6 seed: 1 }
test counts { T=1 seed: 1 tol: exact }
test before { B=3 T=2 seed: 1 }
test three { T=2 init: integers(-2,2) seed: 1 tol: exact }
test state { B=2 T=2 H=2 D=5 init: integers(-2,2) seed: 1 }
test steady { T=2 H=6 seed: 1 }
test counts { T=2 seed: 1 tol: exact }
test before { B=3 T=700 seed: 1 }
test three { T=700 init: integers(-2,2) seed: 1 tol: exact }
test state { B=2 T=700 H=2 D=5 init: integers(-2,2) seed: 1 }
test steady { T=700 H=6 seed: 1 }
test counts { T=700 seed: 1 tol: exact }
test most { T=40 C=9 seed: 1 }
test before { B=3 T=70001 x.init: integers(-3,3) tol: exact }
