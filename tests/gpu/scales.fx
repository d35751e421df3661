# Products of f8 whose sums over blocks of k are scaled and then added up: scales of rows, of columns or of blocks of columns, of both; groups of one block and of two; edges of tiles, batches, what stands behind.
kernel scaled_both(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/128,G]) -> y: bf16[M,N] with { fuse: require } {
  p = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = sum[G](p * s * t[J: N/128])
}
kernel scaled_rows(x: f8e4m3[M,K], s: f32[G=K/128,M], w: f8e5m2[N,K]) -> y: f32[M,N] with { fuse: require } {
  y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s)
}
kernel scaled_columns(x: f8e5m2[M,K], w: f8e4m3[N,K], t: bf16[N,G=K/128]) -> y: f16[M,N] with { fuse: require } {
  y = sum[G](t * (x{K->(G,R=128)} @[R] w{K->(G,R=128)}))
}
kernel scaled_long(x: f8e4m3[M,K], s: f32[M,G=K/256], w: f8e4m3[N,K], t: f32[J=N/64,G]) -> y: f32[M,N] with { fuse: require } {
  y = sum[G](s * t[J: N/64] * (x{K->(G,R=256)} @[R] w{K->(G,R=256)}))
}
kernel scaled_batch(x: f8e4m3[B,M,K], s: f32[B,M,G=K/128], w: f8e4m3[B,N,K], t: f32[B,J=N/128,G]) -> y: bf16[B,M,N] with { fuse: require } {
  p = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = sum[G](p * s * t[J: N/128])
}
kernel scaled_act(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/128,G], b: f32[N], v: bf16[M,N]) -> y: bf16[M,N] with { fuse: require } {
  p = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = gelu(sum[G](p * s * t[J: N/128]) + b) * v
}
kernel scaled_across(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/128,G]) -> y: f32[N,M] with { fuse: require } {
  p = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = sum[G](p * s * t[J: N/128])
}
kernel scaled_powers(x: f8e4m3[M,K], s: i8[M,G=K/128], w: f8e4m3[N,K], t: i8[N,G]) -> y: f32[M,N] with { fuse: require } {
  y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * exp2(f32(s)) * exp2(f32(t)))
}
kernel scaled_short(a: f8e4m3[M,K=32*G], sa: u8[M,G], b: f8e4m3[N,K], sb: u8[N,G]) -> y: bf16[M,N] {
  y = sum[G](sum[R](a{K->(G,R=32)} * b{K->(G,R=32)}) * exp2(f32(sa) - 127) * exp2(f32(sb) - 127))
}
kernel scaled_short_rows(x: f8e4m3[M,K], s: f32[M,G=K/64], w: f8e5m2[N,K]) -> y: f32[M,N] with { fuse: require } {
  y = sum[G]((x{K->(G,R=64)} @[R] w{K->(G,R=64)}) * s)
}
kernel scaled_exactly(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K]) -> y: f32[M,N] with { precision: ieee } {
  y = sum[G]((x{K->(G,R=128)} @[R] w{K->(G,R=128)}) * s)
}
kernel scaled_fixed(x: f8e4m3[M=256,K=512], s: f32[M,G=4], w: const f8e4m3[N=384,K], t: const f32[J=3,G]) -> y: bf16[M,N] with { fuse: require } {
  p = x{K->(G,R=128)} @[R] w{K->(G,R=128)}
  y = sum[G](p * s * t[J: N/128])
}

test scaled_both { M=200 N=384 K=512 init: integers(-3,3) tol: exact }
test scaled_short { M=130 N=70 G=5 sa.init: integers(125,129) sb.init: integers(125,129) }
test scaled_short { M=1 N=200 G=3 sa.init: integers(125,129) sb.init: integers(125,129) }
test scaled_short_rows { M=67 N=129 K=192 init: integers(-3,3) tol: exact }
test scaled_short_rows { M=16 N=40 K=128 }
test scaled_both { M=200 N=256 K=384 }
test scaled_both { M=1 N=128 K=128 init: integers(-3,3) tol: exact }
test scaled_rows { M=130 N=200 K=512 init: integers(-3,3) tol: exact }
test scaled_rows { M=264 N=70 K=256 }
test scaled_columns { M=72 N=136 K=384 init: integers(-3,3) tol: exact }
test scaled_columns { M=200 N=129 K=256 }
test scaled_long { M=136 N=192 K=768 init: integers(-3,3) tol: exact }
test scaled_long { M=136 N=128 K=512 }
test scaled_batch { B=3 M=70 N=128 K=256 init: integers(-3,3) tol: exact }
test scaled_batch { B=2 M=130 N=256 K=384 }
test scaled_act { M=136 N=256 K=512 }
test scaled_across { M=264 N=128 K=384 init: integers(-3,3) tol: exact }
test scaled_powers { M=130 N=136 K=256 init: integers(-3,3) tol: exact }
test scaled_exactly { M=130 N=72 K=256 }
test scaled_fixed { init: integers(-3,3) tol: exact }
test scaled_fixed {}
