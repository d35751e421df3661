# Launches of several phases: what earlier phases hand over, which tiles and teams go together, more work than blocks and less, empty phases, phases without a barrier.
# `fxc test tests/gpu/phases.fx` compares each with the oracle.

# statistics of rows, then the contraction that they scale
kernel scaled(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } {
  r = rsqrt(mean[K](x * x) + 1e-5)
  y = r * (x @ w)
}
test scaled { M=1 K=1 N=1 }
test scaled { M=17 K=33 N=65 }
test scaled { M=64 K=64 N=64 }
test scaled { M=300 K=520 N=264 }
test scaled { M=129 K=1000 N=255 }
test scaled { M=2048 K=1024 N=2048 }
test scaled { M=4099 K=520 N=1031 }
test scaled { M=40000 K=64 N=8 }
test scaled { M=5 K=20000 N=24 }
test scaled { M=7 K=0 N=9 tol: exact }

kernel scaled32(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require } {
  r = rsqrt(mean[K](x * x) + 1e-5)
  y = r * (x @[K] w)
}
test scaled32 { M=17 K=33 N=65 }
test scaled32 { M=300 K=520 N=264 }
test scaled32 { M=1025 K=1000 N=1027 }
test scaled32 { M=2048 K=256 N=2048 }

# the same the other way round: what the epilogue reads is computed first
kernel after(x: bf16[M,K], w: bf16[K,N]) -> (y: bf16[M,N], q: f32[N]) with { fuse: require } {
  y = (x @ w) / sqrt(sum[K](x * x) + 1)
  q = sum[K](w)
}
test after { M=65 K=130 N=67 }
test after { M=512 K=1024 N=1536 }
test after { M=0 K=64 N=40 } # no tile, but columns

# a layernorm folded by hand: two statistics, of which one reads the other
kernel folded(x: f16[M,K], w: f16[K,N], c: f32[N]) -> (y: f16[M,N], m: f32[M]) with { fuse: require } {
  m = mean[K](x)
  r = rsqrt(var[K](x) + 1e-5)
  y = gelu_tanh(r * (x @ w) - r * m * c)
}
test folded { M=65 K=130 N=67 }
test folded { M=512 K=1024 N=1536 }
test folded { M=33 K=64 N=0 } # no tile, but rows

# a product of low rank
kernel low(x: f16[M,K], a: f16[K,R=16], b: f16[R,N]) -> y: f16[M,N] with { fuse: require } { y = relu(x @ a @ b) }
test low { M=1 K=7 N=3 }
test low { M=100 K=1000 N=250 }
test low { M=1000 K=1024 N=4096 }
test low { M=1001 K=1023 N=4095 }
test low { M=9 K=0 N=5 tol: exact }

# a layer and one of low rank beside it: a product handed over within the launch, of its own tiles, fewer than there are blocks
kernel layer(x: bf16[M,K], w: bf16[N,K], b: bf16[N], u: bf16[K,R=16], v: bf16[R,N], alpha: f32 = 0.5) -> y: bf16[M,N] with { fuse: require } {
  y = relu(x @ w + b + alpha * (x @ u @ v))
}
test layer { M=1 K=8 N=16 }
test layer { M=70 K=136 N=72 init: integers(-1,1) }
test layer { M=300 K=72 N=264 init: integers(-1,1) }
test layer { M=1030 K=264 N=1032 }
test layer { M=101 K=77 N=39 }

# three phases that take boxes, of which two hand on
kernel deep(x: f16[M,K], u: f16[K,R=32], v: f16[R,S=16], w: f16[S,N]) -> y: f16[M,N] with { kernels: 1 } { y = x @ u @ v @ w }
test deep { M=9 K=16 N=24 init: integers(-1,1) }
test deep { M=333 K=200 N=520 init: integers(-1,1) }

# rows normalised whole, then multiplied
kernel normed(x: bf16[M=64,K=512], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] with { fuse: require } {
  y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b)
}
test normed { N=8 }
test normed { N=1000 }
test normed { N=4096 }

kernel batches(x: bf16[B,M,K], a: bf16[B,K,R=8], b: bf16[B,R,N]) -> y: bf16[B,M,N] with { fuse: require } { y = x @ a @ b }
test batches { B=3 M=70 K=200 N=90 }
test batches { B=40 M=128 K=256 N=256 }

# rows in parts: partial sums of some rows, finished by whoever reads them
kernel total(x: f32[M,N]) -> y: f32[] with { fuse: require } { y = sum[M,N](x * x) }
test total { M=1 N=1 }
test total { M=3 N=1001 }
test total { M=3000 N=3001 }
test total { M=4096 N=4096 }
test total { M=0 N=5 }

kernel unit(x: f32[M,N]) -> y: f32[M,N] with { kernels: 1 } { y = x / sqrt(sum[M,N](x * x)) }
test unit { M=5 N=7 }
test unit { M=1000 N=1001 }
test unit { M=2048 N=4096 }

kernel channels(x: bf16[B,S,C=3]) -> (y: bf16[B,S,C], v: f32[C]) with { fuse: require } {
  v = var[B,S](x)
  y = (x - mean[B,S](x)) * rsqrt(v + 1e-5)
}
test channels { B=2 S=5 }
test channels { B=64 S=3001 }

# nothing handed over: phases that do not wait
kernel apart(x: bf16[M,K], w: bf16[K,N], v: bf16[K,P]) -> (y: bf16[M,N], z: bf16[M,P]) with { fuse: require } {
  y = x @ w
  z = x @ v
}
test apart { M=70 K=90 N=50 P=30 }
test apart { M=512 K=512 N=1024 P=2048 }
test apart { M=70 K=90 N=0 P=30 }

kernel both_ways(x: f32[M,N]) -> (s: f32[M], t: f32[N], y: f32[M,N]) with { fuse: require } {
  s = max[N](x)
  t = max[M](x)
  y = x - t
}
test both_ways { M=3 N=5 }
test both_ways { M=1000 N=260 }
test both_ways { M=333 N=2049 }

# several launches, of which one has phases
kernel mixed(x: f32[M,K], w: f32[K,N], g: f32[N]) -> (y: f32[M,N], t: f32[]) with { kernels: 2 } {
  y = x @ w * g
  t = sum[M,K](x)
}
test mixed { M=65 K=33 N=70 }
test mixed { M=512 K=512 N=512 }

# a chain behind other phases: rows have their results where there are no columns
kernel chained(q: f16[S,D=64], k: f16[T,D], v: f16[T,E]) -> (o: f16[S,E], l: f32[S]) with { fuse: require } {
  r = rsqrt(mean[D](k * k) + 1)
  s = q @[D] (k * r)
  l = logsumexp[T](s)
  o = softmax[T](s) @ v
}
test chained { S=33 T=70 E=8 }
test chained { S=33 T=70 E=0 }

# Two factors that phases store side by side, several chunks a thread ahead: of whole grids of chunks and not.
kernel both_made(x: f32[M,K], w: i8[N,K], s: f32[N]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @[K] bf16(w * s) }
kernel both_cast(x: f32[K,M], w: f32[N,K]) -> y: bf16[M,N] with { fuse: require } { y = bf16(x) @[K] bf16(w) }
test both_made { M=40 K=136 N=72 init: integers(-4,4) tol: exact }
test both_made { M=200 K=264 N=328 init: integers(-4,4) tol: exact }
test both_cast { M=136 K=72 N=40 init: integers(-4,4) tol: exact }
