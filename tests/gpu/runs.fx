# Row programs that also add columns up over runs of rows: a warp a row and a block a row, kept in registers, and rows that are read again; aligned or not; the last run is shorter.
kernel backward(x: bf16[M,D], g: bf16[D], dy: bf16[M,D]) -> (dx: bf16[M,D], dg: f32[D], db: f32[D]) {
  mu = mean[D](x)
  rstd = rsqrt(mean[D]((x - mu) ** 2) + 1e-5)
  n = (x - mu) * rstd
  h = dy * g
  dx = (h - mean[D](h) - n * mean[D](h * n)) * rstd
  dg = sum[M](dy * n)
  db = sum[M](f32(dy))
}
test backward { M=33 D=128 }
test backward { M=37 D=512 }
test backward { M=19 D=1024 }
test backward { M=40 D=4096 }
test backward { M=17 D=8192 }
test backward { M=20 D=4095 }
test backward { M=18 D=20000 }

# rows of several labels, of which the last is cut in runs; one sum is of a part of them
kernel several(x: f32[B,T,D], y: f16[B,T,D]) -> (z: f32[B,T,D], s: f32[D], m: f32[B,D], i: i32[D]) {
  z = x / sum[D](x * x)
  s = sum[B,T](x * y)
  m = max[T](x)
  i = sum[B,T](i32(x > 0))
}
test several { B=3 T=21 D=160 }
test several { B=2 T=9 D=1030 }

# nothing is stored but sums of both sides
kernel both(x: f32[M,N]) -> (r: f32[M], c: f32[N]) {
  r = sum[N](x)
  c = sum[M](x)
}
test both { M=50 N=256 }
test both { M=9 N=3000 }

# Columns added up over runs of rows along which nothing lies: each element is read by itself.
kernel aside(x: f32[K,M,N,B], y: f16[M,K,N,B], s: f32) -> (z: f32[K,M,N,B], t: f32[]) {
  z = where(4 == y, s, x) @ y + where(x < sum[N](y), f32(idx(K)) @ y, bf16(x) @ x)
  t = sum[M,K,N,B](y)
}
test aside { K=1 M=3 N=4 B=1 init: integers(-2,2) }
test aside { K=4 M=3 N=5 B=2 init: integers(-2,2) }
test aside { K=3 M=2 N=70 B=3 init: integers(-2,2) }
