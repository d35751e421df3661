# Tensors whose strides the launch gives: read and stored along the columns, across them, scattered, as words; one of them in place.
kernel move(x: inout f32[M,N] strided, t: bf16[N,M] strided, k: i8[M,N] strided, q: u4[M,N] packed(i32, N, lsb) strided) -> y: f16[N,M] strided {
  y = x * t
  x = k + q
}
