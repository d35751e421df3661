kernel scalars(s: f32 align 16, t: f32 strided) -> y: f32[] { y = s + t }
kernel unpacked(x: f32[M], z: u4[M]) -> y: f32[M] { y = x }
kernel packed_so(x: f32[M,N], a: f16[M,N] packed(i32, N, lsb), b: u4[M,N] packed(f32, N, lsb), c: i8[M,N] packed(i8, N, lsb),
                 d: u4[M,N] packed(i32, K, lsb), e: u4[M,N] packed(i32, N, first)) -> y: f32[M,N] { y = x }
