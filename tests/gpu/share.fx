# What runs of a contraction's columns share: over every engine, over parts of a label and a label of its own, runs of each length, beside reductions; at extents on and off tiles.
kernel native(x: f32[M,K], w: f32[G,C=16,K], b: f32[G,C], g: f32[C]) -> y: f32[M,G,C] with { fuse: require } {
  y = softmax[C](layernorm[C](x @ w + b) * g)
}
kernel pairs(x: f16[M,K], w: f16[K,N]) -> y: f16[M,N] with { fuse: require } {
  h = x @ w
  m = max[P](abs(h){N->(G,P=2)})
  y = h / m[G: idx(N) // 2]
}
kernel turned(x: f32[M,K], w: f32[C=8,G,K], b: f32[G]) -> y: f32[G,C,M] with { fuse: require } {
  h = x @ w + b
  y = h - max[C](h)
}
kernel batched(x: bf16[B,M,K], w: bf16[B,K,N]) -> (y: f32[B,M,N], z: f32[B,M]) {
  h = (x @ w){N->(G,C=32)}
  e = (h * rsqrt(mean[C](h * h) + 1e-5)){(G,C)->N}
  y = e
  z = sum[N](e)
}
kernel gated(x: f32[M,K], w: f32[N,K], v: f32[N,K], s: f32[G]) -> y: f32[M,N] with { precision: tf32, fuse: require } {
  h = ((x @ w) * sigmoid(x @ v)){N->(G,C=4)}
  y = (h - s * mean[C](h)){(G,C)->N}
}
kernel rows(x: f32[M,K], w: f32[N,K]) -> y: f32[M,N] with { fuse: require } {
  h = x @ w
  y = h - (sum[C](h{M->(G,C=4)}))[G: idx(M) // 4]
}
kernel ints(x: i8[M,K], w: i8[N,K]) -> y: i32[M,N] with { fuse: require } {
  h = x @ w
  y = h - (max[C](h{N->(G,C=16)}))[G: idx(N) // 16]
}
kernel doubles(x: f64[M,K], w: f64[N,K]) -> y: f64[M,N] with { fuse: require } {
  h = x @ w
  y = h - (max[C](h{N->(G,C=64)}))[G: idx(N) // 64]
}
kernel then_product(x: f16[M,K], w: f16[K,N], v: f16[N,J]) -> y: f16[M,J] with { kernels: 2 } {
  h = (x @ w){N->(G,C=8)}
  y = (h / (1 + sum[C](abs(h)))){(G,C)->N} @ v
}
kernel in_place(x: f32[M,K], w: f32[K,N], y: inout f32[M,N]) with { fuse: require } {
  h = (x @ w + y){N->(G,C=2)}
  y = (h - max[C](h)){(G,C)->N}
}
kernel conditions(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] with { fuse: require } {
  h = (x @ w){N->(G,C=64)}
  y = where(any[C](h > 4), h, 0){(G,C)->N}
}
kernel places(x: f32[M,K], w: f32[N,K], c: f32[C=16], s: f32[G]) -> y: f32[M,N] with { kernels: 2 } {
  h = (x @ w){N->(G,C)}
  y = (h * s - max[C](h * sum[C](c)) + c){(G,C)->N}
}
test native { M=9 K=10 G=7 }
test native { M=129 K=16 G=8 }
test pairs { M=9 K=10 N=14 }
test pairs { M=65 K=16 N=192 }
test turned { M=9 K=10 G=7 }
test turned { M=16 K=16 G=16 }
test batched { B=2 M=9 K=10 N=96 }
test batched { B=2 M=65 K=16 N=160 }
test gated { M=9 K=10 N=36 }
test gated { M=80 K=16 N=160 }
test rows { M=12 K=10 N=36 }
test rows { M=80 K=16 N=160 }
test ints { M=80 K=16 N=160 init: integers(-5,5) }
test ints { M=7 K=16 N=80 init: integers(-5,5) }
test doubles { M=80 K=16 N=192 }
test doubles { M=7 K=16 N=64 }
test then_product { M=9 K=10 N=48 J=5 }
test then_product { M=64 K=16 N=64 J=72 }
test in_place { M=9 K=10 N=38 }
test in_place { M=64 K=16 N=64 }
test conditions { M=9 K=10 N=192 init: integers(-2,2) }
test conditions { M=64 K=16 N=64 init: integers(-2,2) }
test places { M=31 K=3 G=5 }
test places { M=64 K=0 G=1 init: integers(-3,3) }

# What a whole row has is computed ahead of its elements, but is not read of rows that are not there.
kernel row_alone(x: bf16[M,K], w: bf16[K,N], t: f32[V], ids: i32[M], u: f32[M]) -> y: f32[M,N] with { fuse: require } {
  h = (x @ w + sin(t[V: ids] ?? 0) + exp(u)){N->(G,C=32)}
  y = (h - mean[C](h)){(G,C)->N}
}
test row_alone { M=9 K=8 N=64 V=5 ids.init: integers(-1,6) }
test row_alone { M=65 K=5 N=96 V=3 ids.init: integers(-1,6) }
