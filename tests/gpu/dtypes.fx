# Operands of two dtypes, in a contraction, element by element, in a reduction and in a running sum: pairs that meet in every compute type, on values for which each of them is exact.
kernel bool_f8e4m3(x: bool[M,K], w: f8e4m3[N,K], v: f8e4m3[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel bool_i64(x: bool[M,K], w: i64[N,K], v: i64[K]) -> (y: i64[M,N], p: i64[M,K], r: i64[M], s: i64[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel i8_u8(x: i8[M,K], w: u8[N,K], v: u8[K]) -> (y: i32[M,N], p: i32[M,K], r: i32[M], s: i32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel i8_bf16(x: i8[M,K], w: bf16[N,K], v: bf16[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel u8_f16(x: u8[M,K], w: f16[N,K], v: f16[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel i16_f8e5m2(x: i16[M,K], w: f8e5m2[N,K], v: f8e5m2[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel i16_u32(x: i16[M,K], w: u32[N,K], v: u32[K]) -> (y: i64[M,N], p: i64[M,K], r: i64[M], s: i64[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel u32_u64(x: u32[M,K], w: u64[N,K], v: u64[K]) -> (y: u64[M,N], p: u64[M,K], r: u64[M], s: u64[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel u64_f16(x: u64[M,K], w: f16[N,K], v: f16[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel f8e4m3_f8e5m2(x: f8e4m3[M,K], w: f8e5m2[N,K], v: f8e5m2[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel f8e5m2_f16(x: f8e5m2[M,K], w: f16[N,K], v: f16[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel f16_bf16(x: f16[M,K], w: bf16[N,K], v: bf16[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel bf16_i32(x: bf16[M,K], w: i32[N,K], v: i32[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel i64_f32(x: i64[M,K], w: f32[N,K], v: f32[K]) -> (y: f32[M,N], p: f32[M,K], r: f32[M], s: f32[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel f64_u64(x: f64[M,K], w: u64[N,K], v: u64[K]) -> (y: f64[M,N], p: f64[M,K], r: f64[M], s: f64[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}
kernel f8e4m3_f64(x: f8e4m3[M,K], w: f64[N,K], v: f64[K]) -> (y: f64[M,N], p: f64[M,K], r: f64[M], s: f64[M,K]) {
  y = x @[K] w
  p = x * v + x
  r = max[K](x + v)
  s = cumsum[K](x * v)
}

test bool_f8e4m3 { M=19 K=37 N=21 init: integers(0,1) tol: exact }
test bool_i64 { M=19 K=37 N=21 init: integers(0,1) tol: exact }
test i8_u8 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test i8_bf16 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test u8_f16 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test i16_f8e5m2 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test i16_u32 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test u32_u64 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test u64_f16 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test f8e4m3_f8e5m2 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test f8e5m2_f16 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test f16_bf16 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test bf16_i32 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test i64_f32 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test f64_u64 { M=19 K=37 N=21 init: integers(0,3) tol: exact }
test f8e4m3_f64 { M=19 K=37 N=21 init: integers(0,3) tol: exact }

# Functions that are rounded to 16 bits at once, or products of which are, by an output or a cast, and one that is read in f32 besides.
kernel rounded_bf16(x: f32[N]) -> y: bf16[N] { y = gelu(x) }
kernel rounded_f16(x: f32[N]) -> (y: f16[N], z: f32[N]) {
  y = gelu(x)
  z = f16(gelu(x * 2)) * 0.5
}
kernel rounded_later(x: f32[N]) -> (y: bf16[N], z: f32[N]) {
  h = gelu(x)
  y = h
  z = h
}
kernel rounded_product(x: f32[N], u: f32[N]) -> (y: bf16[N], z: f16[N]) {
  y = u * sigmoid(x) * 3
  z = f16(u * sigmoid(x * 2))
}
kernel rounded_product_later(x: f32[N]) -> (y: bf16[N], z: f32[N]) {
  h = sigmoid(x)
  y = x * h
  z = 1 - h
}

test rounded_bf16 { N=20000 x.init: uniform(-14,14) }
test rounded_bf16 { N=2000 x.init: normal(0,0.00001) }
test rounded_f16 { N=20000 x.init: uniform(-7,7) }
test rounded_f16 { N=2000 x.init: normal(0,100) }
test rounded_later { N=2000 x.init: normal }
test rounded_product { N=20000 x.init: uniform(-100,100) u.init: uniform(-2,2) }
test rounded_product { N=2000 }
test rounded_product_later { N=2000 x.init: normal(0,5) }
