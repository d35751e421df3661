# A tensor of 2^120 elements, one of 2^49 as an output, one whose extents an equation fixes. An empty one has room.
kernel a(x: f32[A=1073741824, B=1073741824, C=1073741824, D=1073741824]) -> y: f32[A] { y = sum[B,C,D](x) }
kernel b(x: f16[A=16777216], z: f16[B=33554432]) -> y: f16[A,B] { y = x * z }
kernel c(x: u8[A=1099511627776, B=A//256, C=1]) -> y: f32[A] { y = sum[B,C](x) }
kernel d(x: f32[A=1073741824, B=1073741824, C=0]) -> y: f32[A] { y = sum[B,C](x) }
kernel e(x: f16[A=16777216], z: f16[B=16777216]) -> y: f16[A,B] { y = x * z }
