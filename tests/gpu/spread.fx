# Row programs whose rows are shared by the blocks of a cluster: kept in registers, read again and read once, along rows and down columns. The last block has less than the others, or nothing.
kernel soft(x: bf16[B,T]) -> z: bf16[B,T] { z = softmax[T](x) }
test soft { B=2 T=16384 }
test soft { B=3 T=65536 }
test soft { B=2 T=70008 }
test soft { B=1 T=131072 }
test soft { B=1 T=262144 }
test soft { B=1 T=270000 }

kernel sums(x: f32[B,T], i: i8[B,T], d: f64[B,T]) -> (s: f32[B], n: i32[B], f: f64[B], some: bool[B], every: bool[B], at: i64[B], low: i64[B]) {
  s = sum[T](x)
  n = sum[T](i)
  f = sum[T](d)
  some = any[T](i > 99)
  every = all[T](i > -100)
  at = argmax[T](i)
  low = argmin[T](x)
}
test sums { B=2 T=40000 }
test sums { B=1 T=65536 }

kernel norm(x: f16[B,T], g: f32[T]) -> (y: f16[B,T], r: f32[B]) {
  y = layernorm[T](x) * g
  r = max[T](y)
}
test norm { B=2 T=33000 }
test norm { B=1 T=300000 }

kernel down(x: f32[T,B], i: i32[T,B]) -> (s: f32[B], n: i32[B], at: i64[B]) {
  s = sum[T](x)
  n = max[T](i)
  at = argmax[T](i)
}
test down { T=3000 B=640 }
test down { T=2049 B=612 }
test down { T=5000 B=8 }
test down { T=1024 B=1200 }

kernel down_soft(x: bf16[T,B]) -> (y: bf16[T,B], m: f32[B]) {
  y = softmax[T](x)
  m = max[T](x)
}
test down_soft { T=2000 B=72 }
test down_soft { T=2000 B=640 }
test down_soft { T=5001 B=40 }
test down_soft { T=16384 B=8 }
test down_soft { T=20000 B=8 }

# Rows that begin at no vector: single elements, whole rounds of them and one that is cut, several labels flattened to rows and to columns.
kernel odd(x: bf16[D,M]) -> y: bf16[D,M] { y = x * rsqrt(sum[D](x * x) + 1e-6) }
test odd { D=4500 M=37 }
test odd { D=9001 M=19 }
kernel odd_rows(x: f16[B,D,T], s: f16[B,T]) -> y: f32[B,T] { y = sum[D](x * s) }
test odd_rows { B=3 D=4700 T=9 }
kernel odd_cols(x: f32[B,H,C], g: f32[H]) -> y: f32[B,H,C] { y = softmax[B,H](x) * g }
test odd_cols { B=40 H=123 C=13 }
# Rows that the L2 cache keeps between two passes.
kernel cached(x: f32[B,T], r: f32[B,T]) -> y: f32[B,T] { y = softmax[T](x + r) }
test cached { B=150 T=34000 }
