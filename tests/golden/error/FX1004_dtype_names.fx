kernel bool(x: f32[M]) -> y: f32[M] { y = x }
kernel a(x: f32[f16,N]) -> y: f32[N] { y = sum[f16](x) }
kernel b(i8: f32[M]) -> y: f32[M] { y = i8 }
kernel c(x: f32[M]) -> y: f32[M] {
  u8 = x + 1
  y = x{M->f16}
  y = f16 x
  y = (f16) x
  y = sum[bool](x)
  inf = x
  const = x
}
fn f32(v) = v
kernel kernel(x: f32[M]) -> y: f32[M] { y = x }
