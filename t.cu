// Written by fxc 0.1.0 from t.fx for sm_90a. Self-contained: compile with nvcc or NVRTC, no headers.
// How to launch (cdiv(a, b) is a / b rounded up; align(x) the alignment of x in bytes; more than 48 KB of shared memory needs the
// kernel's maximum raised). Of several entries take the first that its needs allow, or the one that suits the extents best;
// [1] among them stands for the conditions listed so.
//
// kernel t(x: f16[B,M,K], w: f16[B,K,N]) -> (y: f32[B,M,N])
//   K_padded = cdiv(K, (512 < K) * 56 + 8) * ((512 < K) * 56 + 8)
//   where it pays, by times of B, M, K, N:
//   workspace buffer0_: B * M * K_padded * 2 bytes, 256-byte aligned
//   workspace buffer1_: B * N * K_padded * 2 bytes, 256-byte aligned
//   launch 1 of 3: one of these, with arguments (x, buffer0_, B, M, K, K_padded), tensors row-major, extents as long long
//     [1]: B * M * K_padded < 1073741824 && K <= 1073741824
//     fx_t_0_few: block 256, grid cdiv(cdiv(K_padded, 2) * (B * M), 256), dynamic shared memory 0
//       needs K_padded % 2 == 0 && 4 <= align(x) && K % 2 == 0 && [1]
//     fx_t_0_vector: block 256, grid cdiv(cdiv(K_padded, 8) * (B * M), 256), dynamic shared memory 0
//       needs [1] && K_padded % 8 == 0 && 16 <= align(x) && K % 8 == 0
//     fx_t_0_any: block 256, grid cdiv(cdiv(K_padded, 8) * (B * M), 256), dynamic shared memory 0
//       needs [1]
//     fx_t_0_big: block 256, grid cdiv(cdiv(K_padded, 8) * (B * M), 256), dynamic shared memory 0
//       needs nothing
//   launch 2 of 3: one of these, with arguments (w, buffer1_, B, K, N, K_padded), tensors row-major, extents as long long
//     [1]: B * N * K_padded < 1073741824 && K <= 1073741824
//     fx_t_1_vector: block 256, grid cdiv(B * N, 64) * cdiv(K_padded, 32), dynamic shared memory 0
//       needs K_padded % 8 == 0 && [1]
//     fx_t_1_any: block 256, grid cdiv(B * N, 64) * cdiv(K_padded, 32), dynamic shared memory 0
//       needs [1]
//     fx_t_1_big: block 256, grid cdiv(B * N, 64) * cdiv(K_padded, 32), dynamic shared memory 0
//       needs nothing
//   launch 3 of 3: one of these, with arguments (y, buffer0_, buffer1_, B, M, N, K_padded), tensors row-major, extents as long long
//     tensor map 0: buffer0_, f16: extents K_padded, M, B; strides 1, K_padded, M * K_padded; box 64 x 64 x 1, swizzled in 128 bytes
//     tensor map 1: buffer1_, f16: extents K_padded, N, B; strides 1, K_padded, N * K_padded; box 64 x 64 x 1, swizzled in 128 bytes
//     tensor map 2: y, f32: extents N, M, B; strides 1, N, M * N; box 32 x 16 x 1, swizzled in 128 bytes
//     tensor map 3: buffer0_, f16: extents K_padded, M, B; strides 1, K_padded, M * K_padded; box 64 x 64 x 1 or what is left of it, swizzled in 128 bytes
//     tensor map 4: buffer1_, f16: extents K_padded, N, B; strides 1, K_padded, N * K_padded; box 64 x 64 x 1 or what is left of it, swizzled in 128 bytes
//     [1]: M <= 2147418112 && N <= 2147418112 && K_padded <= 2147418112 && 1 <= K_padded && K_padded % 8 == 0
//     [2]: N % 8 == 0 && 16 <= align(y)
//     fx_t_2_128x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_128x192_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 192) * B, SMs), dynamic shared memory 221264
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 192) * B <= 2147483647
//     fx_t_2_128x256_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 256) * B, SMs), dynamic shared memory 229440
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 256) * B <= 2147483647
//     fx_t_2_192x192_wgmma: block 512, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 192) * cdiv(N, 192) * B, SMs), dynamic shared memory 221248
//       needs [1] && [2] && cdiv(M, 192) * cdiv(N, 192) * B <= 2147483647
//     fx_t_2_64x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 128) * B, SMs), dynamic shared memory 229504
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_64x64_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs), dynamic shared memory 163968
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//     fx_t_2_64x256_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 256) * B, SMs), dynamic shared memory 221264
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 256) * B <= 2147483647
//     fx_t_2_128x64_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 64) * B, SMs), dynamic shared memory 229504
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 64) * B <= 2147483647
//     fx_t_2_256x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 256) * cdiv(N, 128) * B, SMs), dynamic shared memory 229440
//       needs [1] && [2] && cdiv(M, 256) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_192x128_wgmma: block 512, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 192) * cdiv(N, 128) * B, SMs), dynamic shared memory 229456
//       needs [1] && [2] && cdiv(M, 192) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_64x192_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 192) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 192) * B <= 2147483647
//     fx_t_2_128x128_wgmma_side: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_128x128_wgmma_1x4: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 512) * B, max(SMs * 10 // 44, 1)) * 4, clusters of 4, dynamic shared memory 229472
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 512) * B <= 2147483647
//     fx_t_2_128x128_wgmma_1x2: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 256) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229472
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 256) * B <= 2147483647
//     fx_t_2_128x256_wgmma_2x1: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 256) * cdiv(N, 256) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229440
//       needs [1] && [2] && cdiv(M, 256) * cdiv(N, 256) * B <= 2147483647
//     fx_t_2_64x128_wgmma_2x1: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229504
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_64x64_wgmma_cluster: block 256, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs // (1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4, dynamic shared memory 148672
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//     fx_t_2_64x128_wgmma_cluster: block 256, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 128) * B, SMs // (1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4, dynamic shared memory 231616
//       needs [1] && [2] && cdiv(M, 64) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_128x64_wgmma_cluster: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 64) * B, SMs // (1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4, dynamic shared memory 231680
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 64) * B <= 2147483647
//     fx_t_2_128x128_wgmma_cluster: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs // (1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4, dynamic shared memory 200896
//       needs [1] && [2] && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_128x128_wgmma_any: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 217184
//       needs [1] && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_2_64x64_wgmma_any: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs), dynamic shared memory 151680
//       needs [1] && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//   elsewhere:
//   launch one of these, with arguments (x, w, y, B, M, K, N), tensors row-major, extents as long long
//     tensor map 0: x, f16: extents K, M, B; strides 1, K, M * K; box 64 x 64 x 1, swizzled in 128 bytes
//     tensor map 1: w, f16: extents N, K, B; strides 1, N, K * N; box 64 x 64 x 1, swizzled in 128 bytes
//     tensor map 2: y, f32: extents N, M, B; strides 1, N, M * N; box 32 x 16 x 1, swizzled in 128 bytes
//     tensor map 3: x, f16: extents K, M, B; strides 1, K, M * K; box 64 x 64 x 1 or what is left of it, swizzled in 128 bytes
//     [1]: M <= 2147418112 && N <= 2147418112 && K <= 2147418112
//     [2]: K % 8 == 0 && 16 <= align(x) && N % 8 == 0 && 16 <= align(w)
//     fx_t_skinny8_few: block 512, programmatic dependent launch where wanted, grid cdiv(M, 8) * cdiv(N, 32) * B, dynamic shared memory 16384
//       needs [1] && [2] && M <= 8
//     fx_t_skinny8: block 128, programmatic dependent launch where wanted, grid cdiv(M, 8) * cdiv(N, 32) * B, dynamic shared memory 4096
//       needs [1] && [2] && M <= 8
//     fx_t_skinny16_few: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 32) * B, dynamic shared memory 32768
//       needs [1] && [2] && M <= 16
//     fx_t_skinny16: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 32) * B, dynamic shared memory 8192
//       needs [1] && [2] && M <= 16
//     fx_t_skinny8_n_few: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 8) * B, dynamic shared memory 8192
//       needs [1] && [2] && N <= 8
//     fx_t_skinny8_n_some: block 256, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 8) * B, dynamic shared memory 4096
//       needs [1] && [2] && N <= 8
//     fx_t_skinny8_n: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 8) * B, dynamic shared memory 2048
//       needs [1] && [2] && N <= 8
//     fx_t_skinny16_n_few: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 16) * B, dynamic shared memory 16384
//       needs [1] && [2] && N <= 16
//     fx_t_skinny16_n_some: block 256, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 16) * B, dynamic shared memory 8192
//       needs [1] && [2] && N <= 16
//     fx_t_skinny16_n: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 16) * B, dynamic shared memory 4096
//       needs [1] && [2] && N <= 16
//     fx_t_128x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_128x192_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 192) * B, SMs), dynamic shared memory 221264
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 192) * B <= 2147483647
//     fx_t_128x256_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 256) * B, SMs), dynamic shared memory 229440
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 256) * B <= 2147483647
//     fx_t_192x192_wgmma: block 512, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 192) * cdiv(N, 192) * B, SMs), dynamic shared memory 221248
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 192) * cdiv(N, 192) * B <= 2147483647
//     fx_t_64x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 128) * B, SMs), dynamic shared memory 229504
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 128) * B <= 2147483647
//     fx_t_64x64_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs), dynamic shared memory 163968
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//     fx_t_64x256_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 256) * B, SMs), dynamic shared memory 221264
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 256) * B <= 2147483647
//     fx_t_128x64_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 64) * B, SMs), dynamic shared memory 229504
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 64) * B <= 2147483647
//     fx_t_256x128_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 256) * cdiv(N, 128) * B, SMs), dynamic shared memory 229440
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 256) * cdiv(N, 128) * B <= 2147483647
//     fx_t_192x128_wgmma: block 512, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 192) * cdiv(N, 128) * B, SMs), dynamic shared memory 229456
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 192) * cdiv(N, 128) * B <= 2147483647
//     fx_t_64x192_wgmma: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 192) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 192) * B <= 2147483647
//     fx_t_128x128_wgmma_side: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 229472
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_128x128_wgmma_1x4: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 512) * B, max(SMs * 10 // 44, 1)) * 4, clusters of 4, dynamic shared memory 229472
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 512) * B <= 2147483647
//     fx_t_128x128_wgmma_1x2: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 256) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229472
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 256) * B <= 2147483647
//     fx_t_128x256_wgmma_2x1: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 256) * cdiv(N, 256) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229440
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 256) * cdiv(N, 256) * B <= 2147483647
//     fx_t_64x128_wgmma_2x1: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, max(SMs // 2, 1)) * 2, clusters of 2, dynamic shared memory 229504
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_64x64_wgmma_cluster: block 256, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs // (1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 64) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4, dynamic shared memory 148672
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//     fx_t_64x128_wgmma_cluster: block 256, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 128) * B, SMs // (1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 64) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 64) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 64) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4, dynamic shared memory 231616
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 64) * cdiv(N, 128) * B <= 2147483647
//     fx_t_128x64_wgmma_cluster: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 64) * B, SMs // (1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 128) * cdiv(N, 64) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 64) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 64) * B * 88 <= SMs * 10) * 4, dynamic shared memory 231680
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 64) * B <= 2147483647
//     fx_t_128x128_wgmma_cluster: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs // (1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4)) * (1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4), clusters of 1 + ((cdiv(M, 128) * cdiv(N, 128) * B - 1) % SMs * 2 + 1 < SMs) + (cdiv(M, 128) * cdiv(N, 128) * B * 44 <= SMs * 10) * 2 + (cdiv(M, 128) * cdiv(N, 128) * B * 88 <= SMs * 10) * 4, dynamic shared memory 200896
//       needs [1] && [2] && 1 <= K && 16 <= align(y) && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_128x128_wgmma_any: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 128) * cdiv(N, 128) * B, SMs), dynamic shared memory 217184
//       needs [1] && [2] && 1 <= K && cdiv(M, 128) * cdiv(N, 128) * B <= 2147483647
//     fx_t_64x64_wgmma_any: block 384, the tensor maps as one more argument, programmatic dependent launch where wanted, grid min(cdiv(M, 64) * cdiv(N, 64) * B, SMs), dynamic shared memory 151680
//       needs [1] && [2] && 1 <= K && cdiv(M, 64) * cdiv(N, 64) * B <= 2147483647
//     fx_t_skinny8_few_any: block 512, programmatic dependent launch where wanted, grid cdiv(M, 8) * cdiv(N, 32) * B, dynamic shared memory 16384
//       needs [1] && M <= 8
//     fx_t_skinny8_any: block 128, programmatic dependent launch where wanted, grid cdiv(M, 8) * cdiv(N, 32) * B, dynamic shared memory 4096
//       needs [1] && M <= 8
//     fx_t_skinny16_few_any: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 32) * B, dynamic shared memory 32768
//       needs [1] && M <= 16
//     fx_t_skinny16_any: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 32) * B, dynamic shared memory 8192
//       needs [1] && M <= 16
//     fx_t_skinny1_n_few_any: block 256, programmatic dependent launch where wanted, grid cdiv(M, 2) * cdiv(N, 1) * B, dynamic shared memory 64
//       needs [1] && N <= 1
//     fx_t_skinny8_n_few_any: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 8) * B, dynamic shared memory 8192
//       needs [1] && N <= 8
//     fx_t_skinny8_n_any: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 8) * B, dynamic shared memory 2048
//       needs [1] && N <= 8
//     fx_t_skinny16_n_few_any: block 512, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 16) * B, dynamic shared memory 16384
//       needs [1] && N <= 16
//     fx_t_skinny16_n_any: block 128, programmatic dependent launch where wanted, grid cdiv(M, 16) * cdiv(N, 16) * B, dynamic shared memory 4096
//       needs [1] && N <= 16
//     fx_t_128x128_any: block 256, grid cdiv(M, 128) * cdiv(N, 128) * B, dynamic shared memory 98304
//       needs [1]
//     fx_t_64x64_any: block 128, grid cdiv(M, 64) * cdiv(N, 64) * B, dynamic shared memory 65536
//       needs [1]

// ---- the hardware ----
#ifndef FX_PTX

// FX_DEVICE: how a device function is declared
#define FX_DEVICE __device__ __forceinline__

// fx_smem: the block's shared memory, one dynamic piece aligned to 1024 bytes
FX_DEVICE char *fx_smem() {
  extern __shared__ __align__(1024) char fx_smem_block[];
  return fx_smem_block;
}

// fx_shared: the shared-memory address of a pointer into the block's shared memory
FX_DEVICE unsigned fx_shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// fx_barrier: waits for all threads of the block; what they wrote to memory before is visible after
FX_DEVICE void fx_barrier() { __syncthreads(); }

// fx_warp_barrier: waits for all lanes of the warp; what they wrote and read before is ahead of what they do after
FX_DEVICE void fx_warp_barrier() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// fx_shuffle_xor: the word held by the lane whose number differs in the bits of mask; all lanes of the warp take part
FX_DEVICE unsigned fx_shuffle_xor(unsigned w, int mask) { return __shfl_xor_sync(0xffffffffu, w, mask); }

// fx_bits: the bits of a float
FX_DEVICE unsigned fx_bits(float x) { return __float_as_uint(x); }

// fx_from_bits: the float with the given bits
FX_DEVICE float fx_from_bits(unsigned bits) { return __uint_as_float(bits); }

// fx_funnel: the word that begins `bits` bits into the double word hi:lo; bits < 32
FX_DEVICE unsigned fx_funnel(unsigned lo, unsigned hi, int bits) { return __funnelshift_r(lo, hi, bits); }

// fx_hide: makes a value opaque, so that the compiler neither keeps what it computes from it in registers nor derives it anew
template <class T>
FX_DEVICE void fx_hide(const T *&p) {
  asm volatile("" : "+l"(p));
}
FX_DEVICE void fx_hide(int &i) { asm volatile("" : "+r"(i)); }
FX_DEVICE void fx_hide(long long &i) { asm volatile("" : "+l"(i)); }

// fx_f16_to_f32: the value of an f16 given by its bits
FX_DEVICE float fx_f16_to_f32(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}

// fx_f32_to_f16: x rounded to the nearest f16, ties to even
FX_DEVICE unsigned short fx_f32_to_f16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// fx_pack_f16: two floats rounded to f16, lo in the low half of the word
FX_DEVICE unsigned fx_pack_f16(float lo, float hi) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(hi), "f"(lo));
  return word;
}

// fx_load_words: N adjacent words; 1, 2 or a multiple of 4, aligned to 4, 8 or 16 bytes
template <int N>
FX_DEVICE void fx_load_words(unsigned (&w)[N], const void *p) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  if constexpr (N == 1) {
    w[0] = *(const unsigned *)p;
  } else if constexpr (N == 2) {
    const uint2 v = *(const uint2 *)p;
    w[0] = v.x, w[1] = v.y;
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const uint4 v = ((const uint4 *)p)[i / 4];
      w[i] = v.x, w[i + 1] = v.y, w[i + 2] = v.z, w[i + 3] = v.w;
    }
  }
}

// fx_load_once: a multiple of 4 adjacent words, aligned to 16 bytes, that nobody reads again: not kept in the first cache, and fetched 256 bytes at a time to the second
template <int N>
FX_DEVICE void fx_load_once(unsigned (&w)[N], const void *p) {
  static_assert(N % 4 == 0, "no such vector");
#pragma unroll
  for (int i = 0; i < N; i += 4)
    asm volatile("ld.global.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3])
                 : "l"(__cvta_generic_to_global((const unsigned *)p + i)));
}

// fx_store_words: the counterpart of loading N adjacent words; as one store, which the compiler takes apart where it is not told
template <int N>
FX_DEVICE void fx_store_words(void *p, const unsigned (&w)[N]) {
  static_assert(N == 1 || N == 2 || N % 4 == 0, "no such vector");
  if constexpr (N == 1) {
    *(unsigned *)p = w[0];
  } else if constexpr (N == 2) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1]) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < N; i += 4)
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global((uint4 *)p + i / 4)), "r"(w[i]), "r"(w[i + 1]), "r"(w[i + 2]), "r"(w[i + 3]) : "memory");
  }
}

// fx_load_u16_if: a 16-bit value where valid, 0 and no access where not; of memory that the kernel does not write
FX_DEVICE unsigned short fx_load_u16_if(const void *p, bool valid) {
  unsigned short x;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %2, 0; mov.b16 %0, 0; @valid ld.global.b16 %0, [%1]; }"
               : "=h"(x)
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
  return x;
}

// fx_permute: four of the eight bytes of hi:lo, each named by a nibble of the selector
FX_DEVICE unsigned fx_permute(unsigned lo, unsigned hi, unsigned selector) { return __byte_perm(lo, hi, selector); }

// fx_pack_bytes: the low bytes of four integers, x0 in the lowest of the word
FX_DEVICE unsigned fx_pack_bytes(int x0, int x1, int x2, int x3) {
  return fx_permute(fx_permute((unsigned)x0, (unsigned)x1, 0x0040), fx_permute((unsigned)x2, (unsigned)x3, 0x0040), 0x5410);
}

// fx_load_24_if: the 24 bytes from p, which is aligned to 8, where valid; zeros and no access where not; of memory that the kernel does not write
FX_DEVICE void fx_load_24_if(unsigned (&w)[6], const void *p, bool valid) {
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = 0;
  asm volatile("{ .reg .pred valid; setp.ne.u32 valid, %7, 0;\n\t"
               "@valid ld.global.v2.b32 {%0, %1}, [%6]; @valid ld.global.v2.b32 {%2, %3}, [%6 + 8]; @valid ld.global.v2.b32 {%4, %5}, [%6 + 16]; }"
               : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3]), "+r"(w[4]), "+r"(w[5])
               : "l"(__cvta_generic_to_global(p)), "r"((unsigned)valid));
}

// fx_shared_put1: a word into shared memory
FX_DEVICE void fx_shared_put1(unsigned to, unsigned w) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(w) : "memory"); }

// fx_shared_put2: two adjacent floats or integers into shared memory
FX_DEVICE void fx_shared_put2(unsigned to, float x, float y) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(x), "f"(y) : "memory");
}
FX_DEVICE void fx_shared_put2(unsigned to, int x, int y) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory");
}

// fx_shared_put4: four adjacent floats or words into shared memory
FX_DEVICE void fx_shared_put4(unsigned to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}
FX_DEVICE void fx_shared_put4(unsigned to, const unsigned (&w)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// fx_shared_put: N adjacent elements of 4 or 8 bytes into shared memory: a word, two or four
template <int N, class T>
FX_DEVICE void fx_shared_put(unsigned to, const T *x) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS == 4, "no such vector");
  unsigned w[WORDS];
  memcpy(w, x, sizeof w);
  if constexpr (WORDS == 1) fx_shared_put1(to, w[0]);
  else if constexpr (WORDS == 2) fx_shared_put2(to, (int)w[0], (int)w[1]);
  else fx_shared_put4(to, w);
}

// fx_shared_get: N adjacent elements of 4 or 8 bytes from shared memory: a word, two, or a multiple of four
template <int N, class T>
FX_DEVICE void fx_shared_get(T *x, unsigned from) {
  constexpr int WORDS = N * (int)sizeof(T) / 4;
  static_assert(WORDS == 1 || WORDS == 2 || WORDS % 4 == 0, "no such vector");
  unsigned w[WORDS];
  if constexpr (WORDS == 1) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(from));
  } else if constexpr (WORDS == 2) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(from));
  } else {
#pragma unroll
    for (int i = 0; i < WORDS; i += 4)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[i]), "=r"(w[i + 1]), "=r"(w[i + 2]), "=r"(w[i + 3]) : "r"(from + i * 4));
  }
  memcpy(x, w, sizeof w);
}

// fx_unwritten: these bytes of shared memory may be read before anything is written to them: no result depends on what they hold. No instruction
FX_DEVICE void fx_unwritten(unsigned at, int n_bytes) {}

// fx_cp_async16: starts copying 16 bytes into shared memory; zeros, and nothing is read, where not valid
FX_DEVICE void fx_cp_async16(unsigned to, const void *from, bool valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
               : "memory");
}

// fx_cp_async_commit: closes this thread's group of started copies; the group may be empty
FX_DEVICE void fx_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// fx_cp_async_wait: waits until all but the thread's N latest groups have landed
template <int N>
FX_DEVICE void fx_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// fx_ldmatrix: four 8 x 8 matrices of 16-bit elements; lane 8i + r holds the address of row r of matrix i, and gets elements
// 2 (lane % 4) and the next of row lane / 4 of matrix i in r[i]
FX_DEVICE void fx_ldmatrix(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
}

// fx_ldmatrix_trans: the same with each matrix transposed on the way
FX_DEVICE void fx_ldmatrix_trans(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(from));
}

// fx_mma_f16: d += a b over 16 x 8 x 16 f16 elements, d in f32
FX_DEVICE void fx_mma_f16(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif  // FX_PTX

// ---- the hardware of sm_90a ----
#ifndef FX_PTX

// fx_tensor_map: how a tensor lies in global memory and which box of it is copied at a time; the driver encodes it (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col)
struct __align__(64) fx_tensor_map {
  unsigned long long words[16];  // opaque
};

// fx_tensor_maps: those of a launch, an argument of the entry in constant memory
template <int N>
struct fx_tensor_maps {
  fx_tensor_map of[N];  // in the order in which the problem's segments name their operands
};

// fx_mbarrier_init: a memory barrier of 8 bytes of shared memory: a phase ends with so many arrivals and the bytes expected
FX_DEVICE void fx_mbarrier_init(unsigned at, int arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory"); }

// fx_mbarrier_end: the memory barrier is none any more; nobody waits at it, and its memory is free
FX_DEVICE void fx_mbarrier_end(unsigned at) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_publish: what was initialised is seen by copies and, behind a barrier, by other threads
FX_DEVICE void fx_mbarrier_publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// fx_mbarrier_expect: arrives, and lets the phase wait for so many more bytes of copies
FX_DEVICE void fx_mbarrier_expect(unsigned at, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}

// fx_mbarrier_arrive: arrives; what the thread read and wrote before is ahead of what whoever waits does after
FX_DEVICE void fx_mbarrier_arrive(unsigned at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_wait: waits until a phase of that parity has ended: 0 for the first, then 1, in turns; before the first, 1 does not wait
FX_DEVICE void fx_mbarrier_wait(unsigned at, unsigned parity) {
  asm volatile("{ .reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}

// fx_tma_prefetch: asks for a tensor map ahead of its first use
FX_DEVICE void fx_tma_prefetch(const fx_tensor_map *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

// fx_tma_load: starts copying the box at these coordinates, the contiguous axis first, into shared memory, zeros for what lies outside the tensor; the barrier is told of its bytes
// The first coordinate is a multiple of 16 bytes.
template <int RANK>
FX_DEVICE void fx_tma_load(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_LOAD(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2];" ::"r"(to), \
               "l"(map), "r"(barrier), __VA_ARGS__ \
               : "memory")
  if constexpr (RANK == 2) FX_TMA_LOAD("2", "%3, %4", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_LOAD("3", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_LOAD("4", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_LOAD("5", "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_LOAD
}

// fx_tma_load_cluster: as fx_tma_load, to the same place in shared memory of every block of the cluster whose bit is set, where the memory barrier at the same place is told of the bytes
template <int RANK>
FX_DEVICE void fx_tma_load_cluster(unsigned to, const fx_tensor_map *map, unsigned barrier, const int (&at)[RANK], unsigned short blocks) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_LOAD(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" coordinates "}], [%2], %3;" ::"r"(to), \
               "l"(map), "r"(barrier), "h"(blocks), __VA_ARGS__ \
               : "memory")
  if constexpr (RANK == 2) FX_TMA_LOAD("2", "%4, %5", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_LOAD("3", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_LOAD("4", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_LOAD("5", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_LOAD
}

// fx_tma_store: starts copying a box from shared memory to these coordinates, the contiguous axis first; what lies outside the tensor is not written
// Of the contiguous axis 16 bytes are written, or none: its extent is a multiple of them.
template <int RANK>
FX_DEVICE void fx_tma_store(const fx_tensor_map *map, unsigned from, const int (&at)[RANK]) {
  static_assert(RANK >= 2 && RANK <= 5, "no such tensor map");
#define FX_TMA_STORE(rank, coordinates, ...) \
  asm volatile("cp.async.bulk.tensor." rank "d.global.shared::cta.tile.bulk_group [%0, {" coordinates "}], [%1];" ::"l"(map), "r"(from), __VA_ARGS__ : "memory")
  if constexpr (RANK == 2) FX_TMA_STORE("2", "%2, %3", "r"(at[0]), "r"(at[1]));
  if constexpr (RANK == 3) FX_TMA_STORE("3", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if constexpr (RANK == 4) FX_TMA_STORE("4", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if constexpr (RANK == 5) FX_TMA_STORE("5", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
#undef FX_TMA_STORE
}

// fx_tma_publish: what the thread wrote to shared memory is seen by the boxes that are stored behind a barrier
FX_DEVICE void fx_tma_publish() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// fx_tma_commit: closes the thread's group of stored boxes
FX_DEVICE void fx_tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// fx_tma_wait: waits until the boxes of all but the N latest groups have been read: shared memory may be written again, or the block may end
template <int N>
FX_DEVICE void fx_tma_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// fx_named_barrier: waits for so many threads of the block, whole warps, at the barrier of that number, 1 to 15
FX_DEVICE void fx_named_barrier(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

// fx_named_arrive: one of those threads that does not wait
FX_DEVICE void fx_named_arrive(int number, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

// fx_take_registers: the warpgroup, whose threads all call it, has N registers a thread from here on, N a multiple of 8, once others have given some back
template <int N>
FX_DEVICE void fx_take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

// fx_give_registers: likewise it has no more than N
template <int N>
FX_DEVICE void fx_give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// fx_wait_for_kernel: waits until the kernel ahead in the stream has ended and its writes are seen; of one that was not started early there is nothing to wait for
FX_DEVICE void fx_wait_for_kernel() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// fx_let_next_start: lets the kernel behind in the stream start, where it may start early: once all blocks have called this or have ended
FX_DEVICE void fx_let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// fx_cluster_rank: which block of its cluster this one is
FX_DEVICE int fx_cluster_rank() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// fx_cluster_blocks: blocks of a cluster, 1 where the launch has none
FX_DEVICE int fx_cluster_blocks() {
  int n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}

// fx_cluster_arrive: arrives at the barrier of all threads of the cluster
FX_DEVICE void fx_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }

// fx_cluster_wait: waits until all threads of the cluster have arrived
FX_DEVICE void fx_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// fx_shared_of: the address, within the cluster, of what lies at this one in the shared memory of block `rank`
FX_DEVICE unsigned fx_shared_of(unsigned at, int rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at), "r"(rank));
  return address;
}

// fx_send2: starts writing two floats to shared memory of a block of the cluster, whose memory barrier is told of the 8 bytes; both addresses are of fx_shared_of
FX_DEVICE void fx_send2(unsigned to, float x, float y, unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(to), "f"(x), "f"(y), "r"(barrier) : "memory");
}

// fx_mbarrier_arrive_of: arrives at the memory barrier of a block of the cluster, an address of fx_shared_of; what the thread read before has been read
FX_DEVICE void fx_mbarrier_arrive_of(unsigned at) { asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory"); }

// fx_mbarrier_wait_sent: as fx_mbarrier_wait, for what blocks of the cluster send
FX_DEVICE void fx_mbarrier_wait_sent(unsigned at, unsigned parity) {
  asm volatile("{ .reg .pred done;\n\t"
               "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1; @!done bra again; }" ::"r"(at), "r"(parity)
               : "memory");
}

// fx_wgmma_begin: before the first product of a batch, so that what was written to registers is seen by it
FX_DEVICE void fx_wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// fx_wgmma_commit: closes the warpgroup's batch of started products
FX_DEVICE void fx_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// fx_wgmma_wait: waits until all but the N latest batches are done: their sums are there, their operands are read
template <int N>
FX_DEVICE void fx_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// fx_wgmma_64: starts d = a b, or d += a b where it adds, over 64 x 64 x 16 elements, bf16 or f16, of the warpgroup whose threads all call it; a and b in shared memory as their descriptors say
// d is of an accumulator fragment as PTX lays it out: thread t has of row 16 (t / 32 % 4) + t % 32 / 4, and of the row 8 below it, elements 8 i + 2 (t % 4) and the next, four numbers for every i.
// TF32: over 8 k of f32 whose low 13 bits are cut off, both with k contiguous.
// A_MN, B_MN: 1 where that operand's m or n is contiguous, not its k. Until it is waited for, d may not be touched. PTX ISA, "wgmma.mma_async".
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_64(float (&d)[32], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %34, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n64k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31" \
               "}, %32, %33, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %35, %36");
  else FX_WGMMA("16", "f16", ", %35, %36");
#undef FX_WGMMA
}

// fx_wgmma_128: starts d = a b, or d += a b where it adds, over 64 x 128 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_128(float (&d)[64], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %66, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n128k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63" \
               "}, %64, %65, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %67, %68");
  else FX_WGMMA("16", "f16", ", %67, %68");
#undef FX_WGMMA
}

// fx_wgmma_192: starts d = a b, or d += a b where it adds, over 64 x 192 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_192(float (&d)[96], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %98, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n192k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
               "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
               "}, %96, %97, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
                 "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), \
                 "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), \
                 "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %99, %100");
  else FX_WGMMA("16", "f16", ", %99, %100");
#undef FX_WGMMA
}

// fx_wgmma_256: starts d = a b, or d += a b where it adds, over 64 x 256 x 16 elements of a warpgroup; see fx_wgmma_64
template <bool BF16, int A_MN, int B_MN, bool TF32 = false>
FX_DEVICE void fx_wgmma_256(float (&d)[128], unsigned long long a, unsigned long long b, int adds) {
#define FX_WGMMA(k, type, turned) \
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %130, 0;\n\t" \
               "wgmma.mma_async.sync.aligned.m64n256k" k ".f32." type "." type " {" \
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
               "%29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
               "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, " \
               "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, " \
               "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
               "}, %128, %129, adds, 1, 1" turned "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), \
                 "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), \
                 "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), \
                 "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), \
                 "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), \
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
                 "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), \
                 "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), \
                 "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), \
                 "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
                 "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), \
                 "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
               : "l"(a), "l"(b), "r"(adds), "n"(A_MN), "n"(B_MN))
  if constexpr (TF32) FX_WGMMA("8", "tf32", "");
  else if constexpr (BF16) FX_WGMMA("16", "bf16", ", %131, %132");
  else FX_WGMMA("16", "f16", ", %131, %132");
#undef FX_WGMMA
}

#endif  // FX_PTX

// ---- elements of tensors ----

// FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED: how an operand of a contraction is stored: k contiguous, m or n contiguous, or neither
enum { FX_K_MAJOR, FX_MN_MAJOR, FX_STRIDED };

// FX_KNOWN: extents of an entry which whoever compiles it for a launch has set to numbers; by itself it does nothing
#ifndef FX_KNOWN
#define FX_KNOWN(...)
#endif

// fx_is_bf16: whether a type is bf16
template <class T> struct fx_is_bf16 { static constexpr bool VALUE = false; };

// fx_f16: an IEEE half as stored
struct fx_f16 {
  unsigned short bits;  // sign, 5 bits of exponent, 10 of mantissa
};

// fx_to_float: the value of an element
FX_DEVICE float fx_to_float(float x) { return x; }
FX_DEVICE float fx_to_float(fx_f16 x) { return fx_f16_to_f32(x.bits); }

// fx_from_float: the element of type T nearest to x, ties to even
template <class T> FX_DEVICE T fx_from_float(float x);
template <> FX_DEVICE float fx_from_float<float>(float x) { return x; }
template <> FX_DEVICE fx_f16 fx_from_float<fx_f16>(float x) { return fx_f16{fx_f32_to_f16(x)}; }

// fx_unpack: the floats that V elements of the pointer's type, stored in words, stand for
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V], const float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = fx_from_bits(w[v]);
}
template <int V>
FX_DEVICE void fx_unpack(float (&x)[V], const unsigned (&w)[V / 2], const fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) x[v] = fx_f16_to_f32((unsigned short)w[v / 2]), x[v + 1] = fx_f16_to_f32((unsigned short)(w[v / 2] >> 16));
}

// fx_pack: the words that V floats become when stored as elements of the pointer's type
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V], const float (&x)[V], float *) {
#pragma unroll
  for (int v = 0; v < V; ++v) w[v] = fx_bits(x[v]);
}
template <int V>
FX_DEVICE void fx_pack(unsigned (&w)[V / 2], const float (&x)[V], fx_f16 *) {
#pragma unroll
  for (int v = 0; v < V; v += 2) w[v / 2] = fx_pack_f16(x[v], x[v + 1]);
}

// fx_load_one: one element
template <class T>
FX_DEVICE float fx_load_one(const T *p) {
  return fx_to_float(*p);
}

// fx_store_one: one element, rounded to nearest even
template <class T>
FX_DEVICE void fx_store_one(T *p, float x) {
  *p = fx_from_float<T>(x);
}

// fx_load_strided: V elements a stride apart, zeros from n_valid on
template <int V, class T>
FX_DEVICE void fx_load_strided(float (&x)[V], const T *p, long long stride, int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = v < n_valid ? fx_load_one(p + v * stride) : 0.0f;
}

// fx_store_strided: the first n_valid of V elements, a stride apart
template <int V, class T>
FX_DEVICE void fx_store_strided(T *p, long long stride, const float (&x)[V], int n_valid) {
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (v < n_valid) fx_store_one(p + v * stride, x[v]);
}

// fx_part: W of V elements, from number `at` on
template <int W, class T, int V>
FX_DEVICE T (&fx_part(T (&x)[V], int at))[W] {
  return *(T(*)[W])(x + at);
}

// fx_is_aligned: whether V elements at p may be accessed as vectors
template <int V, class T>
FX_DEVICE bool fx_is_aligned(const T *p) {
  constexpr int BYTES = V * (int)sizeof(T) < 16 ? V * (int)sizeof(T) : 16;
  return (unsigned long long)p % BYTES == 0;
}

// fx_skew: how many elements p lies past a multiple of V of them
template <int V, class T>
FX_DEVICE int fx_skew(const T *p) {
  return (int)((unsigned long long)p / sizeof(T) % V);
}

// fx_load: V adjacent elements, zeros from n_valid on
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_load(float (&x)[V], const T *p, int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_load_words(w, p);
      fx_unpack<V>(x, w, p);
      return;
    }
  }
  fx_load_strided(x, p, 1, ALIGNED ? V : n_valid);
}

// fx_fill: V elements of one value
template <int V>
FX_DEVICE void fx_fill(float (&x)[V], float value) {
#pragma unroll
  for (int v = 0; v < V; ++v) x[v] = value;
}

// fx_store: V adjacent elements, the first n_valid of them where not aligned
template <int V, bool ALIGNED, class T>
FX_DEVICE void fx_store(T *p, const float (&x)[V], int n_valid) {
  constexpr int WORDS = V * (int)sizeof(T) / 4;
  if constexpr (WORDS > 0) {
    if (ALIGNED || (n_valid == V && fx_is_aligned<V>(p))) {
      unsigned w[WORDS];
      fx_pack<V>(w, x, p);
      fx_store_words(p, w);
      return;
    }
  }
  fx_store_strided(p, 1, x, ALIGNED ? V : n_valid);
}

// fx_to_memory: where store leaves what it has computed of tensor number I: in memory
struct fx_to_memory {
  template <int I, int V, bool ALIGNED, class T>
  static FX_DEVICE void put(T *p, const float (&x)[V], int n_valid) {
    fx_store<V, ALIGNED>(p, x, n_valid);
  }
};

// fx_nothing: stands for what a problem reads, adds up or knows of a row where there is nothing of the kind
struct fx_nothing {};

// fx_choose: the first of two types, or the second
template <bool FIRST, class A, class B> struct fx_choose { typedef A type; };
template <class A, class B> struct fx_choose<false, A, B> { typedef B type; };

// fx_strip: of one row of EXTENT elements those at FACTOR * v + LEAST to FACTOR * v + MOST for V adjacent v, and what stands outside of it
// They are loaded in whole vectors, which lie at multiples of V, each inside or outside: where ALIGNED the row begins at one, and is a multiple of V long.
template <int FACTOR, int LEAST, int MOST, int V>
struct fx_strip {
  static constexpr int FIRST = LEAST - (LEAST % V + V) % V, N = ((FACTOR * (V - 1) + MOST - FIRST) / V + 1) * V;
  float x[N];  // from FIRST on

  template <bool ALIGNED, class T, class INDEX>
  FX_DEVICE void load(const T *row, INDEX col, INDEX extent, bool is_inside, float outside) {
    typedef typename fx_choose<sizeof(INDEX) == 4, unsigned, unsigned long long>::type positive;
#pragma unroll
    for (int i = 0; i < N; i += V) {
      const positive at = (positive)FACTOR * (positive)col + (positive)(FIRST + i);
      if constexpr (ALIGNED) {
        if (is_inside && at < (positive)extent) fx_load<V, true>(fx_part<V>(x, i), row + at, V);
        else fx_fill<V>(fx_part<V>(x, i), outside);
      } else {
#pragma unroll
        for (int v = i; v < i + V; ++v) {
          if (v < LEAST - FIRST || v > FACTOR * (V - 1) + MOST - FIRST) continue;
          const positive one = at + (positive)(v - i);
          x[v] = is_inside && one < (positive)extent ? fx_load_one(row + one) : outside;
        }
      }
    }
  }
  FX_DEVICE float get(int i) const { return x[i - FIRST]; }
};

// fx_words: a value as words, to be passed between threads
template <class T>
struct fx_words {
  static constexpr int N = ((int)sizeof(T) + 3) / 4;
  unsigned w[N];
  FX_DEVICE static fx_words of(const T &x) {
    fx_words r;
    r.w[N - 1] = 0;
    memcpy(r.w, &x, sizeof x);
    return r;
  }
  FX_DEVICE T get() const {
    T x;
    memcpy(&x, w, sizeof x);
    return x;
  }
  template <class F>
  FX_DEVICE T each(F f) const {  // what f makes of every word
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = f(w[k]);
    return r.get();
  }
  FX_DEVICE void put(unsigned *slots, int n, int i) const {  // as set i of n
#pragma unroll
    for (int k = 0; k < N; ++k) slots[k * n + i] = w[k];
  }
  FX_DEVICE static T from(const unsigned *slots, int n, int i) {
    fx_words r;
#pragma unroll
    for (int k = 0; k < N; ++k) r.w[k] = slots[k * n + i];
    return r.get();
  }
};

// fx_from_lane_xor: what the lane whose number differs by the bits of mask holds
template <class T>
FX_DEVICE T fx_from_lane_xor(const T &x, int mask) {
  return fx_words<T>::of(x).each([=](unsigned w) { return fx_shuffle_xor(w, mask); });
}

// ---- the simt engine ----

// fx_multiply_add: a b + c; integers wrap
FX_DEVICE float fx_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
FX_DEVICE double fx_multiply_add(double a, double b, double c) { return fma(a, b, c); }
FX_DEVICE int fx_multiply_add(int a, int b, int c) { return (int)((unsigned)a * (unsigned)b + (unsigned)c); }
FX_DEVICE unsigned fx_multiply_add(unsigned a, unsigned b, unsigned c) { return a * b + c; }
FX_DEVICE long long fx_multiply_add(long long a, long long b, long long c) {
  return (long long)((unsigned long long)a * (unsigned long long)b + (unsigned long long)c);
}
FX_DEVICE unsigned long long fx_multiply_add(unsigned long long a, unsigned long long b, unsigned long long c) { return a * b + c; }

// ---- the mma engine ----

// fx_multiply: d += a b over 16 x 8 x 16 floats of the last argument's type
FX_DEVICE void fx_multiply(float *d, const unsigned (&a)[4], unsigned b0, unsigned b1, fx_f16) { fx_mma_f16(d, a, b0, b1); }

// fx_mma_gather: n_valid elements a stride apart and zeros up to 8, as words
template <class T>
FX_DEVICE void fx_mma_gather(unsigned (&element)[8], const T *p, long long stride, int n_valid) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    element[e] = fx_load_u16_if(p, e < n_valid);
    p += stride;
    fx_hide(p);
  }
}

// fx_mma_put: eight elements, one a word, into shared memory
FX_DEVICE void fx_mma_put(unsigned to, const unsigned (&element)[8]) {
  unsigned w[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = element[2 * i] | element[2 * i + 1] << 16;
  fx_shared_put4(to, w);
}

// fx_mma_window: the 24 bytes from an 8-byte boundary on in which 8 adjacent elements lie, zeros where they are not readable, and behind them how many elements come before the first of the 8
template <class T>
FX_DEVICE void fx_mma_window(unsigned (&window)[8], const T *p, bool readable) {
  unsigned words[6];
  const int skew = fx_skew<4>(p);
  fx_load_24_if(words, p - skew, readable);
#pragma unroll
  for (int i = 0; i < 6; ++i) window[i] = words[i];
  window[6] = skew, window[7] = 0;
}

// fx_mma_of_window: its eight elements as words
FX_DEVICE void fx_mma_of_window(unsigned (&w)[4], const unsigned (&window)[8]) {
  unsigned u[5];
  const int skew = window[6];
#pragma unroll
  for (int i = 0; i < 5; ++i) u[i] = skew & 2 ? window[i + 1] : window[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i] = fx_funnel(u[i], u[i + 1], skew % 2 * 16);
}

// fx_mma_put_window: likewise into shared memory
FX_DEVICE void fx_mma_put_window(unsigned to, const unsigned (&window)[8]) {
  unsigned w[4];
  fx_mma_of_window(w, window);
  fx_shared_put4(to, w);
}

// fx_mma_operand: one operand (A: MN = BM, B: MN = BN) on its way from memory to fragments
// In shared memory a block is rows of 16-byte chunks in the order of memory: MN rows of BK elements, or BK rows of MN where mn is contiguous. The chunks
// of a row are permuted by an exclusive or with the row's number, so that the eight rows ldmatrix reads at one chunk index lie in all 32 banks.
// A thread brings COPIES chunks of a block, STEP rows apart. Copies are asynchronous, issued in SLICES steps of the mainloop. Otherwise load() reads a block
// into registers, a whole block before store() puts it in shared memory: as windows of whole words where elements lie side by side, which are readable in an inner block,
// one around which the operand goes on; element by element where not. Fragments are read as 16 (mn) x 16 (k) blocks of four 8 x 8
// matrices: A's in the order (mn, k) = (0, 0) (8, 0) (0, 8) (8, 8), one m16n8k16 fragment; with K_FIRST (0, 0) (0, 8) (8, 0) (8, 8), two neighbouring
// fragments of B, each in adjacent registers.
template <class ENGINE, class T, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
struct fx_mma_operand {
  static constexpr int BK = ENGINE::BK;
  static constexpr bool ROWS_ARE_K = LAYOUT == FX_MN_MAJOR;
  static constexpr int ROWS = ROWS_ARE_K ? BK : MN;
  static constexpr int CHUNKS = (ROWS_ARE_K ? MN : BK) / 8;
  static constexpr int PITCH = CHUNKS * 16;
  static constexpr int STEP = ENGINE::THREADS / CHUNKS;
  static constexpr int COPIES = ROWS / STEP;
  static constexpr bool WINDOWS = LAYOUT != FX_STRIDED;
  static constexpr bool IS_COPIED = ALIGNED && LAYOUT != FX_STRIDED;  // asynchronously
  static constexpr bool ALONG_MN = ROWS_ARE_K;                        // what the elements of a chunk run along
  static constexpr int CHUNK = 8;
  static constexpr int ABREAST = 1;                                  // chunks of a thread beside each other; where it is 1 all begin at one k, or at one m or n
  static constexpr int SLICES = BK / 32;   // together, copies cost the tensor cores less than spread out
  static constexpr int SLICE = (COPIES + SLICES - 1) / SLICES;
  static_assert(CHUNKS % 4 == 0 && STEP % 8 == 0 && ROWS % STEP == 0, "the threads do not cover the block evenly");
  static_assert(WARP_MN >= 32 && (WARP_MN & (WARP_MN - 1)) == 0, "a warp's share is a power of two, and halves into 16 x 16 blocks");

  typedef unsigned fragment[WARP_MN / 16][4];

  const T *from;                       // this thread's next chunk
  long long stride_mn;                 // elements from one m or n to the next
  long long stride_k;                  // elements from one k to the next
  int mn_left, k_left;                 // valid m or n, and k, from the thread's first chunk on
  unsigned slot;                       // offset of that chunk in a stage
  unsigned lane_slot;                  // offset of the row this lane names in the warp's first 16 x 16 block
  int mn_end, k_end;                   // extents of the operand
  int k;                               // where the next block begins
  bool inner;                          // whether the block in registers is an inner one
  unsigned held[COPIES][8];            // that block: windows of an inner one, else elements

  static FX_DEVICE unsigned chunk_offset(int row, int chunk) {
    const int permuted = chunk ^ (CHUNKS >= 8 ? row & 7 : row >> 1 & 3);
    return row * PITCH + permuted * 16;
  }
  static FX_DEVICE int first_mn(int thread = threadIdx.x) { return ROWS_ARE_K ? thread % CHUNKS * 8 : thread / CHUNKS; }
  static FX_DEVICE int first_k(int thread = threadIdx.x) { return ROWS_ARE_K ? thread / CHUNKS : thread % CHUNKS * 8; }

  FX_DEVICE fx_mma_operand(long long a_stride_mn, long long a_stride_k, int tile_mn, int a_mn_end, int warp_mn) {
    const int lane = threadIdx.x & 31;
    stride_mn = a_stride_mn;
    stride_k = a_stride_k;
    mn_end = a_mn_end;
    mn_left = mn_end - tile_mn - first_mn();
    slot = chunk_offset(threadIdx.x / CHUNKS, threadIdx.x % CHUNKS);
    const int row = lane & 7, right = K_FIRST ? lane >> 4 : lane >> 3 & 1, down = K_FIRST ? lane >> 3 & 1 : lane >> 4;
    lane_slot = ROWS_ARE_K ? chunk_offset(row + down * 8, warp_mn / 8 + right) : chunk_offset(warp_mn + row + right * 8, down);
  }

  // Chunk c of a thread: its first m or n and k, from the block's on, where it lies in a stage, and how eight elements, or zeros, get there.
  static FX_DEVICE int chunk_mn(int c, int thread = threadIdx.x) { return first_mn(thread) + (ROWS_ARE_K ? 0 : c * STEP); }
  static FX_DEVICE int chunk_k(int c, int thread = threadIdx.x) { return first_k(thread) + (ROWS_ARE_K ? c * STEP : 0); }
  FX_DEVICE unsigned chunk_slot(int c) const { return slot + c * STEP * PITCH; }
  static FX_DEVICE void put_chunk(unsigned to, const float (&x)[CHUNK], bool exists) {
    unsigned w[CHUNK / 2];
    fx_pack<CHUNK>(w, x, (T *)0);
    put_words(to, w, exists);
  }
  static FX_DEVICE void put_words(unsigned to, unsigned (&w)[CHUNK / 2], bool exists) {
#pragma unroll
    for (int i = 0; i < CHUNK / 2; ++i) w[i] = exists ? w[i] : 0;
    fx_shared_put4(to, w);
  }

  // Begins a walk along k; base is the element at the tile's first m or n.
  FX_DEVICE void start(const T *base, int a_k_end) {
    from = base + first_mn() * stride_mn + first_k() * stride_k;
    k_end = a_k_end;
    k_left = k_end - first_k();
    k = 0;
  }
  FX_DEVICE void next() {
    if (!ROWS_ARE_K) from += BK * stride_k - ROWS * stride_mn;
    k_left -= BK;
    k += BK;
  }

  // Row c * STEP of the thread: how many elements are valid from its chunk on, if the row is.
  FX_DEVICE int valid(int c) const { return c * STEP < (ROWS_ARE_K ? k_left : mn_left) ? (ROWS_ARE_K ? mn_left : k_left) : 0; }

  FX_DEVICE void advance() {
    from += STEP * (ROWS_ARE_K ? stride_k : stride_mn);
    fx_hide(from);
  }

  FX_DEVICE void issue(int step, unsigned stage) {
#pragma unroll
    for (int c = step * SLICE; c < (step + 1) * SLICE && c < COPIES; ++c) {
      fx_cp_async16(stage + slot + c * STEP * PITCH, from, valid(c) > 0);
      advance();
    }
  }

  // A window reaches at most 3 elements back and 12 on, into the row before or the next where rows follow each other without a gap. All loads of a block are on their way at once.
  FX_DEVICE void load() {
    inner = WINDOWS && (ROWS_ARE_K ? stride_k == mn_end && k > 0 && k_end - k >= 2 * BK : k > 0 && k_end - k >= BK + 4);
    if (inner) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) {
        fx_mma_window(held[c], from, valid(c) > 0);
        advance();
      }
    } else {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) {
        fx_mma_gather(held[c], from, WINDOWS ? 1 : ROWS_ARE_K ? stride_mn : stride_k, valid(c));
        advance();
      }
    }
  }
  FX_DEVICE void store(unsigned stage) const {
    if (inner) {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) fx_mma_put_window(stage + slot + c * STEP * PITCH, held[c]);
    } else {
#pragma unroll
      for (int c = 0; c < COPIES; ++c) fx_mma_put(stage + slot + c * STEP * PITCH, held[c]);
    }
  }

  // Half of the warp's fragments for step k of the block in a stage. Blocks along the permuted direction differ in bits that the exclusive or only flips.
  FX_DEVICE void fetch(fragment &f, unsigned stage, int k, int half) const {
#pragma unroll
    for (int i = half * WARP_MN / 32; i < (half + 1) * WARP_MN / 32; ++i) {
      if constexpr (ROWS_ARE_K) {
        fx_ldmatrix_trans(f[i], (stage + lane_slot ^ i * 32) + k * 16 * PITCH);
      } else {
        fx_ldmatrix(f[i], (stage + lane_slot ^ k * 32) + i * 16 * PITCH);
      }
    }
  }
};

// fx_mma_16: operands that are 16-bit floats, sums in f32
template <class T>
struct fx_mma_16 {
  typedef T a, b;     // elements of the operands
  typedef float sum;
  static constexpr int SIZE = 2;
  template <class ENGINE, class ELEMENT, int MN, int WARP_MN, bool K_FIRST, int LAYOUT, bool ALIGNED>
  using operand = fx_mma_operand<ENGINE, ELEMENT, MN, WARP_MN, K_FIRST, LAYOUT, ALIGNED>;
  static FX_DEVICE void multiply(float *d, const unsigned (&x)[4], unsigned y0, unsigned y1) { fx_multiply(d, x, y0, y1, T()); }
};

// fx_mma: a BM x BN tile by WARPS_M x WARPS_N warps, k-blocks of BK, STAGES of them in shared memory
// KIND: what it multiplies. Shared memory for S sums: max(STAGES * (BM + S * BN) * BK * KIND::SIZE, BM * (S * BN + 8) * 4) bytes.
template <class KIND, int BM_, int BN_, int BK_, int WARPS_M, int WARPS_N, int STAGES_>
struct fx_mma {
  typedef typename KIND::a element_a;                          // of operand A
  typedef typename KIND::b element_b;                          // of operand B
  typedef typename KIND::sum sum;                              // of an accumulator
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_;
  static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N;   // a warp's share of the tile
  static constexpr int THREADS = WARPS_M * WARPS_N * 32;
  static constexpr int MAX_V = 8;                              // columns the epilogue may take at a time
  static constexpr int STEPS = BK * KIND::SIZE / 32;           // steps of the mainloop in a k-block
  static constexpr int PARTS = 2;                              // in which the fragments of a step are read
  static constexpr bool IS_STAGING = false;                    // see fx_staging
  static constexpr int ACCUMULATORS = WM * WN / 32;            // of a thread
  static constexpr int A_BYTES = BM * BK * KIND::SIZE, B_BYTES = BN * BK * KIND::SIZE;
  static_assert(STEPS % 2 == 0 && STAGES >= 3, "the mainloop alternates two sets of fragments and copies two blocks ahead");

  template <int LAYOUT, bool ALIGNED> using operand_a = typename KIND::template operand<fx_mma, element_a, BM, WM, false, LAYOUT, ALIGNED>;
  template <int LAYOUT, bool ALIGNED> using operand_b = typename KIND::template operand<fx_mma, element_b, BN, WN, true, LAYOUT, ALIGNED>;

  static FX_DEVICE int warp_m() { return (int)threadIdx.x / 32 % WARPS_M * WM; }
  static FX_DEVICE int warp_n() { return (int)threadIdx.x / 32 / WARPS_M * WN; }

  // The place of accumulator i in the tile.
  static FX_DEVICE int acc_row(int i) { return warp_m() + i / (WN / 2) * 16 + i % 4 / 2 * 8 + (threadIdx.x & 31) / 4; }
  static FX_DEVICE int acc_col(int i) { return warp_n() + i / 4 % (WN / 8) * 8 + (threadIdx.x & 3) * 2 + i % 2; }

  // A quarter of the products of a step, so that other work can stand between; the parts of the next fragments then find their registers free one after the
  // other. Serpentine within, so that neighbouring instructions share an operand.
  static constexpr int QUARTERS = 4;
  static FX_DEVICE void multiply(sum (&acc)[ACCUMULATORS], const unsigned (&a)[WM / 16][4], const unsigned (&b)[WN / 16][4], int q) {
#pragma unroll
    for (int r = 0; r < WM / 32; ++r)
#pragma unroll
      for (int s = 0; s < WN / 16; ++s) {
        const int i = q % 2 * (WM / 32) + r, j = q / 2 * (WN / 16) + (r % 2 ? WN / 16 - 1 - s : s);
        KIND::multiply(acc + (i * (WN / 8) + j) * 4, a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
  }

  // The staged tile: rows 8 banks apart, so that the four rows that half a warp writes fill all banks; in every other 32 columns the two 16-byte halves of
  // each 8 columns change places, so that neighbouring lanes read from all banks.
  static FX_DEVICE constexpr int staging_pitch(int sums) { return (sums * BN + 8) * 4; }
  template <int SUMS>
  static FX_DEVICE unsigned staged(int row, int col) {
    return fx_shared(fx_smem()) + row * staging_pitch(SUMS) + (col ^ (col >> 3 & 4)) * 4;
  }
  template <int SUMS>
  static FX_DEVICE void put(const sum (&acc)[ACCUMULATORS], int from_col) {
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; i += 2) fx_shared_put2(staged<SUMS>(acc_row(i), from_col + acc_col(i)), acc[i], acc[i + 1]);
  }
  template <int SUMS, int V>
  static FX_DEVICE void get(sum (&x)[V], int row, int col) {
    constexpr int PIECE = V < 4 ? V : 4;
#pragma unroll
    for (int v = 0; v < V; v += PIECE) fx_shared_get<PIECE>(x + v, staged<SUMS>(row, col + v));
  }
};

// ---- computed operands ----

// fx_makes_halves: whether two 16-bit floats of a computed operand are made at a time
template <class OPERAND> FX_DEVICE constexpr auto fx_makes_halves(int) -> decltype(OPERAND::MAKES_HALVES, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_makes_halves(long) { return false; }

// ---- the gemm driver ----

// fx_tile: which output tile a block computes
struct fx_tile {
  int batch;  // index over all batch axes
  int m;      // first row
  int n;      // first column
};

// fx_find_place: tiles in groups of 8 rows of tiles, column by column within a group, so that concurrent blocks share operands in the L2 cache; m and n of the place are numbers of tiles
FX_DEVICE fx_tile fx_find_place(int number, int tiles_m, int tiles_n) {
  const int GROUP = 8;
  const int batch = (unsigned)number / (tiles_m * tiles_n), tile = (unsigned)number % (tiles_m * tiles_n);
  const int group_m = tile / (GROUP * tiles_n) * GROUP, in_group = tile % (GROUP * tiles_n);
  const int rows = tiles_m - group_m < GROUP ? tiles_m - group_m : GROUP;
  return fx_tile{batch, group_m + in_group % rows, in_group / rows};
}

// fx_find_tile: where a tile begins
FX_DEVICE fx_tile fx_find_tile(int number, int m, int n, int BM, int BN) {
  const fx_tile at = fx_find_place(number, (m - 1) / BM + 1, (n - 1) / BN + 1);
  return fx_tile{at.batch, at.m * BM, at.n * BN};
}

// fx_nth_tile: a tile of a problem by its number
template <class ENGINE, class PROBLEM>
FX_DEVICE fx_tile fx_nth_tile(const PROBLEM &p, unsigned number) {
  return fx_find_tile((int)number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
}

// fx_count_rows, fx_count_columns: of tiles, of a problem
template <class ENGINE, class PROBLEM> FX_DEVICE int fx_count_rows(const PROBLEM &p) { return (int)((p.m() + (ENGINE::BM - 1ll)) / ENGINE::BM); }
template <class ENGINE, class PROBLEM> FX_DEVICE int fx_count_columns(const PROBLEM &p) { return (int)((p.n() + (ENGINE::BN - 1ll)) / ENGINE::BN); }

// fx_count_tiles: how many tiles all `batches` have, fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE unsigned fx_count_tiles(const PROBLEM &p, long long batches) { return (unsigned)((long long)fx_count_rows<ENGINE>(p) * fx_count_columns<ENGINE>(p) * batches); }

// fx_k_left: how much of its k a segment has at a batch: less than k() where that is a slice, the last of a longer one
template <class SEGMENT, class PROBLEM>
FX_DEVICE auto fx_k_left(const PROBLEM &p, int batch, int) -> decltype(SEGMENT::k_left(p, batch)) { return SEGMENT::k_left(p, batch); }
template <class SEGMENT, class PROBLEM> FX_DEVICE int fx_k_left(const PROBLEM &p, int, long) { return SEGMENT::k(p); }

// fx_gemm_copied: an operand that lies in memory; copied asynchronously where the engine can, else by way of registers
template <class ENGINE, class ENGINE_OPERAND, class PROBLEM, class SEGMENT, class OPERAND, bool ALIGNED>
struct fx_gemm_copied : ENGINE_OPERAND {
  static constexpr bool IS_COMPUTED = false;

  const PROBLEM &p;   // the problem
  const int j;        // which of the segment's
  const int batch;    // index over the batch axes
  const int tile_mn;  // first m or n of the tile
  int outer;          // index over the outer k axes
  int left;           // k not yet begun at this index

  FX_DEVICE fx_gemm_copied(const PROBLEM &problem, int a_j, int a_batch, int a_tile_mn, int mn_end, int warp_mn)
      : ENGINE_OPERAND(OPERAND::stride_mn(problem, a_j), OPERAND::stride_k(problem, a_j), a_tile_mn, mn_end, warp_mn),
        p(problem),
        j(a_j),
        batch(a_batch),
        tile_mn(a_tile_mn) {}
  FX_DEVICE void start_outer() {
    left = fx_k_left<SEGMENT>(p, batch, 0);
    ENGINE_OPERAND::start(OPERAND::at(p, j, batch, outer) + tile_mn * OPERAND::stride_mn(p, j), left);
  }
  FX_DEVICE void start() {
    outer = 0;
    start_outer();
  }
  FX_DEVICE void next() {
    left -= ENGINE_OPERAND::BK;
    if (outer + 1 < SEGMENT::k_outer(p) && left <= 0) {
      ++outer;
      start_outer();
    } else {
      ENGINE_OPERAND::next();
    }
  }
};

// fx_gemm_operand: one operand on its way through the mainloop, in whichever manner
// IS_LATE: what passes through registers is stored late in a block.
template <int STEPS, class OPERAND, bool IS_LATE>
struct fx_gemm_operand {
  typedef typename OPERAND::fragment fragment;

  OPERAND x;  // the operand

  template <class PROBLEM>
  FX_DEVICE fx_gemm_operand(const PROBLEM &p, int j, int batch, int tile_mn, int mn_end, int warp_mn) : x(p, j, batch, tile_mn, mn_end, warp_mn) {
    x.start();
  }
  // Shared memory from there on that is its own, besides the stages; returns where that ends.
  FX_DEVICE unsigned place(unsigned at) {
    if constexpr (OPERAND::IS_COMPUTED) return x.place(at);
    return at;
  }
  // A block before the mainloop, in two steps: what passes through registers is on its way in the first one.
  FX_DEVICE void begin_fill() {
    if constexpr (!OPERAND::IS_COMPUTED && !OPERAND::IS_COPIED) x.load();
  }
  FX_DEVICE void end_fill(unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) {
      x.fill(stage);
    } else if constexpr (OPERAND::IS_COPIED) {
#pragma unroll
      for (int step = 0; step < STEPS - 1; ++step) x.issue(step, stage);
      x.next();
    } else {
      x.store(stage);
      x.next();
    }
  }
  FX_DEVICE void fill(unsigned stage) { begin_fill(), end_fill(stage); }
  FX_DEVICE void begin() {
    if constexpr (OPERAND::IS_COMPUTED) x.begin();
    else if constexpr (!OPERAND::IS_COPIED) x.load();
  }
  // In a step of the mainloop, before the products.
  FX_DEVICE void issue(int step, unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) {
      x.ready_step(step);
    } else if constexpr (OPERAND::IS_COPIED) {
      if (step < STEPS - 1) x.issue(step, stage);
      else x.next();
    }
  }
  // Likewise at the end of a block, before its barrier: what is loaded here stays before it.
  FX_DEVICE void load() {
    if constexpr (!OPERAND::IS_COMPUTED && !OPERAND::IS_COPIED) {
      x.next();
      x.load();
    }
  }
  // And after the products; the last step of a block belongs to the stage that it began with.
  FX_DEVICE void store(int step, unsigned stage) {
    if constexpr (OPERAND::IS_COMPUTED) x.work(step, stage);
    else if constexpr (!OPERAND::IS_COPIED)
      if (step == (IS_LATE ? STEPS - 2 : (STEPS - 2) / 2)) x.store(stage);
  }
  FX_DEVICE void fetch(fragment *f, unsigned stage, int step, int part) const { x.fetch(*f, stage, step, part); }
};

// fx_gemm_a, fx_gemm_b: an operand of a segment in an engine: its A, or the B of sum number J
template <class ENGINE, bool ALIGNED, class SEGMENT, class A = typename SEGMENT::a>
using fx_gemm_a =
    fx_gemm_operand<ENGINE::STEPS, typename A::template loader<ENGINE, typename ENGINE::template operand_a<A::LAYOUT, ALIGNED>, SEGMENT, ALIGNED>, false>;
template <class ENGINE, bool ALIGNED, class SEGMENT, int J = 0, class B = typename SEGMENT::template b<J>>
using fx_gemm_b =
    fx_gemm_operand<ENGINE::STEPS, typename B::template loader<ENGINE, typename ENGINE::template operand_b<B::LAYOUT, ALIGNED>, SEGMENT, ALIGNED>, true>;

// fx_gemm_source: the operands of one tile in a segment, walking through the k-blocks; past the last block there are only zeros
template <class ENGINE, bool ALIGNED, class PROBLEM, class SEGMENT>
struct fx_gemm_source {
  typedef fx_gemm_a<ENGINE, ALIGNED, SEGMENT> operand_a;
  typedef typename SEGMENT::template all_b<ENGINE, ALIGNED> operands_b;
  typedef typename operand_a::fragment fragment_a;
  typedef typename operands_b::fragment fragment_b;
  static constexpr int SUMS = SEGMENT::SUMS;
  static constexpr unsigned STAGE_BYTES = ENGINE::A_BYTES + SUMS * ENGINE::B_BYTES;

  operand_a a;   // A's rows of the tile
  operands_b b;  // the columns of the tile of every B

  FX_DEVICE fx_gemm_source(const PROBLEM &p, const fx_tile &at)
      : a(p, 0, at.batch, at.m, p.m(), ENGINE::warp_m()), b(p, 0, at.batch, at.n, p.n(), ENGINE::warp_n()) {}
  FX_DEVICE void place(unsigned at) { b.place(a.place(at)); }
  FX_DEVICE void fill(unsigned stage) { a.begin_fill(), b.begin_fill(), a.end_fill(stage), b.end_fill(stage + ENGINE::A_BYTES); }
  FX_DEVICE void begin() { a.begin(), b.begin(); }
  FX_DEVICE void issue(int step, unsigned stage) { a.issue(step, stage), b.issue(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void load() { a.load(), b.load(); }
  FX_DEVICE void store(int step, unsigned stage) { a.store(step, stage), b.store(step, stage + ENGINE::A_BYTES); }
  FX_DEVICE void fetch(fragment_a &fa, fragment_b (&fb)[SUMS], unsigned stage, int step) const {
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      a.fetch(&fa, stage, step, part);
      b.fetch(fb, stage + ENGINE::A_BYTES, step, part);
    }
  }
};

// fx_gemm_ring: the stages of a mainloop in shared memory, offsets
struct fx_gemm_ring {
  unsigned first, end;  // of all
  unsigned read;        // the stage of the block at hand
  unsigned write;       // the one that is filled meanwhile
  unsigned from;        // the one that the next fragments are read from
};

// fx_gemm_steps: the steps of a block from STEP on. Written out by recursion: a compiler leaves a long loop rolled, and what its number chooses then lies in local memory
template <class ENGINE, class SEGMENT, int STEP, class SOURCE, int SUMS>
FX_DEVICE void fx_gemm_steps(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], SOURCE &source, typename SOURCE::fragment_a (&a)[2],
                             typename SOURCE::fragment_b (&b)[2][SOURCE::SUMS], fx_gemm_ring &ring) {
  constexpr int STEPS = ENGINE::STEPS, STAGES = ENGINE::STAGES;
  constexpr bool IS_STAGING = ENGINE::IS_STAGING;
  if constexpr (STEP < STEPS) {
    if constexpr (STEP == STEPS - 1) {
      ring.from = ring.read + SOURCE::STAGE_BYTES == ring.end ? ring.first : ring.read + SOURCE::STAGE_BYTES;
      fx_cp_async_wait<STAGES - 2 - IS_STAGING>();
      source.load();
      fx_barrier();  // everyone's part of the next block has arrived, and everyone has read all of this one: its stage may be overwritten
    }
    source.fetch(a[(STEP + 1) % 2], b[(STEP + 1) % 2], ring.from, (STEP + 1) % STEPS);
    source.issue(STEP, ring.write);
    if constexpr (STEP == STEPS - 2 && !IS_STAGING) fx_cp_async_commit();
#pragma unroll
    for (int q = 0; q < ENGINE::QUARTERS; ++q) {
#pragma unroll
      for (int j = 0; j < SEGMENT::SUMS; ++j) ENGINE::multiply(acc[SEGMENT::sum(j)], a[STEP % 2], b[STEP % 2][j], q);
      if (q == ENGINE::QUARTERS / 2) source.store(STEP, ring.write);
    }
    if constexpr (STEP == STEPS - 1 && IS_STAGING) fx_cp_async_commit();
    fx_gemm_steps<ENGINE, SEGMENT, STEP + 1>(acc, source, a, b, ring);
  }
}

// fx_gemm_accumulate: the mainloop of a segment; the fragments of a step are read under the products of the one before
// STAGES - 1 blocks are in shared memory or on their way there. Operands that pass through registers are stored to the stage of a block that everyone has read. Where
// some are staged, copies begin in the last step of a block too: its group ends behind it, and one group fewer may be on its way.
template <class ENGINE, bool ALIGNED, class SEGMENT, class PROBLEM, int SUMS>
FX_DEVICE void fx_gemm_accumulate(typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS], const PROBLEM &p, const fx_tile &at) {
  typedef fx_gemm_source<ENGINE, ALIGNED, PROBLEM, SEGMENT> source_type;
  constexpr int STAGES = ENGINE::STAGES;
  int blocks = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  if (blocks == 0) return;  // nothing to add up, and with an empty outer axis no element to point at
  fx_hide(blocks);          // were it known to be 1, compilers would keep what the one block reads in registers, all of it

  source_type source(p, at);
  const unsigned first = fx_shared(fx_smem()), end = first + STAGES * source_type::STAGE_BYTES;
  fx_gemm_ring ring = {first, end, first, first, first};

  if constexpr (ENGINE::IS_STAGING) {
    source.place(end);
    fx_cp_async_commit();
    fx_cp_async_wait<0>();
    fx_barrier();  // what lanes copied for each other has arrived
  }
#pragma unroll 1
  for (int s = 0; s < STAGES - 1; ++s) {
    source.fill(ring.write);
    fx_cp_async_commit();
    ring.write += source_type::STAGE_BYTES;
  }
  fx_cp_async_wait<STAGES - 2>();
  fx_barrier();  // everyone's part of block 0 has arrived
  source.begin();

  typename source_type::fragment_a a[2];
  typename source_type::fragment_b b[2][SEGMENT::SUMS];
  source.fetch(a[0], b[0], first, 0);

#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    ring.from = ring.read;
    fx_gemm_steps<ENGINE, SEGMENT, 0>(acc, source, a, b, ring);
    ring.write = ring.read;
    ring.read = ring.from;
  }
}

// fx_fetch: what the epilogue reads besides the sums, if anything
template <int V, bool ALIGNED, class PROBLEM, class FRAG>
FX_DEVICE void fx_fetch(const PROBLEM &p, FRAG &f, int batch, int m, int n, int n_valid) {
  if constexpr (!__is_empty(FRAG)) p.template fetch<V, ALIGNED>(f, batch, m, n, n_valid);
}

// fx_fetch_columns: what it reads that is the same for all rows, if anything
template <int V, bool ALIGNED, class PROBLEM, class COLUMNS>
FX_DEVICE void fx_fetch_columns(const PROBLEM &p, COLUMNS &c, int batch, int n, int n_valid) {
  if constexpr (!__is_empty(COLUMNS)) p.template fetch_columns<V, ALIGNED>(c, batch, n, n_valid);
}

// fx_gemm_epilogue: hands the staged sums to the problem, V columns of a row at a time; what it reads from memory is asked for AHEAD rows early
// where registers allow
template <class ENGINE, bool ALIGNED, int SUMS, class PROBLEM>
FX_DEVICE void fx_gemm_epilogue(const PROBLEM &p, const fx_tile &at) {
  constexpr int V = PROBLEM::V, ACROSS = ENGINE::BN / V, STEP = ENGINE::THREADS / ACROSS;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr int AHEAD = sizeof(frag) <= 64 ? 2 : sizeof(frag) <= 96 ? 1 : 0;
  static_assert(V <= ENGINE::MAX_V && ENGINE::THREADS % ACROSS == 0, "the threads do not cover a row evenly");
  const int rows = p.m() - at.m < ENGINE::BM ? p.m() - at.m : ENGINE::BM;
  const int col = (int)threadIdx.x % ACROSS * V;
  const int n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
  if (n_valid <= 0) return;
  int row = threadIdx.x / ACROSS;
  typename PROBLEM::template columns<V> c;
  frag ahead[AHEAD + 1];
  fx_fetch_columns<V, ALIGNED>(p, c, at.batch, at.n + col, n_valid);
#pragma unroll
  for (int i = 0; i < AHEAD; ++i)
    if (row + i * STEP < rows) fx_fetch<V, ALIGNED>(p, ahead[i], at.batch, at.m + row + i * STEP, at.n + col, n_valid);
#pragma unroll 1
  for (; row < rows; row += STEP) {
    if (row + AHEAD * STEP < rows)
      fx_fetch<V, ALIGNED>(p, ahead[AHEAD], at.batch, at.m + row + AHEAD * STEP, at.n + col, n_valid);
    typename ENGINE::sum acc[SUMS][V];
#pragma unroll
    for (int j = 0; j < SUMS; ++j) ENGINE::template get<SUMS>(acc[j], row, j * ENGINE::BN + col);
    p.template store<V, ALIGNED>(acc, c, ahead[0], at.batch, at.m + row, at.n + col, n_valid);
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) ahead[i] = ahead[i + 1];
  }
}

// fx_gemm_next_segment: before the ring is filled anew
FX_DEVICE void fx_gemm_next_segment() {
  fx_cp_async_wait<0>();
  fx_barrier();  // nobody reads or fills the stages any more: the next segment's operands take their place
}

// fx_gemm_mainloop: what a problem hands its segments to, one after the other; IS_RAGGED: this one is never aligned
template <class ENGINE, bool ALIGNED, int SUMS>
struct fx_gemm_mainloop {
  typename ENGINE::sum (&acc)[SUMS][ENGINE::ACCUMULATORS];  // the sums
  const fx_tile &at;                                        // the tile

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    fx_gemm_accumulate<ENGINE, ALIGNED && !IS_RAGGED, SEGMENT>(acc, p, at);
  }
  FX_DEVICE void next_segment() { fx_gemm_next_segment(); }
};

// fx_gemm_tile: computes a tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm_tile(const PROBLEM &p, const fx_tile &at) {
  constexpr int SUMS = PROBLEM::SUMS;
  typename ENGINE::sum acc[SUMS][ENGINE::ACCUMULATORS];
#pragma unroll
  for (int i = 0; i < SUMS * ENGINE::ACCUMULATORS; ++i) acc[i / ENGINE::ACCUMULATORS][i % ENGINE::ACCUMULATORS] = 0;
  fx_gemm_mainloop<ENGINE, ALIGNED, SUMS> mainloop = {acc, at};
  p.accumulate(mainloop);
  fx_cp_async_wait<0>();
  fx_barrier();  // nobody reads or fills the stages any more: the sums take their place
#pragma unroll
  for (int j = 0; j < SUMS; ++j) ENGINE::template put<SUMS>(acc[j], j * ENGINE::BN);
  fx_barrier();  // the whole tile is staged
  p.template finish<ENGINE, ALIGNED>(at);
}

// fx_gemm: computes this block's tile
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_gemm(const PROBLEM &p) {
  fx_gemm_tile<ENGINE, ALIGNED>(p, fx_nth_tile<ENGINE>(p, blockIdx.x));
}

// ---- the skinny driver ----

// fx_skinny_pack: the words of N elements of the pointer's type
template <int N>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 2], const float (&x)[N], fx_f16 *to) { fx_pack<N>(w, x, to); }
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack_bytes(unsigned (&w)[N / 4], const VALUE (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N / 4; ++i) w[i] = fx_pack_bytes((int)x[4 * i], (int)x[4 * i + 1], (int)x[4 * i + 2], (int)x[4 * i + 3]);
}
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 4], const VALUE (&x)[N], signed char *) { fx_skinny_pack_bytes<N>(w, x); }
template <int N, class VALUE>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N / 4], const VALUE (&x)[N], unsigned char *) { fx_skinny_pack_bytes<N>(w, x); }
template <int N, class T>
FX_DEVICE void fx_skinny_pack(unsigned (&w)[N * sizeof(T) / 4], const T (&x)[N], T *) { memcpy(w, x, sizeof x); }

// fx_skinny_mma: products of tensor cores, the wide side's 16 rows at a time with SMALL of the other, 8 or 16
// Where k is contiguous a lane has ROWS rows, 2 or 4. Sums of a lane: [pair of its rows][eight of the small side][row of the pair][neighbour]
template <class PRODUCT, int SMALL_, int ROWS_ = 2>
struct fx_skinny_mma {
  typedef typename PRODUCT::a wide;
  typedef typename PRODUCT::b small;
  typedef typename PRODUCT::sum sum;
  static constexpr int SIZE = PRODUCT::SIZE, SMALL = SMALL_, LINES = SMALL / 8;  // rows of the small side that a lane reads
  static constexpr int EACH = SMALL / 4;                                         // sums a row of the wide side
  static constexpr int GROUP = 4, ROWS = ROWS_;                                  // lanes that share rows where these have k contiguous, and how many rows
  static_assert(SMALL % 8 == 0, "tensor cores take eight");

  static FX_DEVICE int line(int l) { return l * 8 + threadIdx.x % 32 / 4; }
  // 16 bytes along k of the lane's rows, and of the small side.
  static FX_DEVICE void multiply(sum *d, const unsigned (&w)[ROWS][4], const unsigned (&x)[LINES][4]) {
#pragma unroll
    for (int i = 0; i < ROWS * 2; i += 2) {
      const int h = i % 4, r = i / 4 * 2;
      const unsigned rows[4] = {w[r][h], w[r + 1][h], w[r][h + 1], w[r + 1][h + 1]};
#pragma unroll
      for (int l = 0; l < LINES; ++l) PRODUCT::multiply(d + (r / 2 * LINES + l) * 4, rows, x[l][h], x[l][h + 1]);
    }
  }
  // NV adjacent columns at four k, 16-bit elements: their halves trade places, so that a word has two k of one column.
  template <int NV>
  static FX_DEVICE void multiply_columns(sum *d, const unsigned (&w)[4][NV / 2], const unsigned (&x)[LINES][2]) {
    static_assert(SIZE == 2, "columns of halves");
#pragma unroll
    for (int j = 0; j < NV / 2; ++j) {
      const unsigned rows[4] = {fx_permute(w[0][j], w[1][j], 0x5410), fx_permute(w[0][j], w[1][j], 0x7632), fx_permute(w[2][j], w[3][j], 0x5410), fx_permute(w[2][j], w[3][j], 0x7632)};
#pragma unroll
      for (int l = 0; l < LINES; ++l) PRODUCT::multiply(d + (j * LINES + l) * 4, rows, x[l][0], x[l][1]);
    }
  }
  // Which row of the lane's, and which of the small side, its sum number i is.
  static FX_DEVICE int row(int i) { return i / (4 * LINES) * 2 + i % 4 / 2; }
  static FX_DEVICE int column(int i) { return i / 4 % LINES * 8 + threadIdx.x % 4 * 2 + i % 2; }
  template <int LANES, int N> static FX_DEVICE void join(sum (&)[N]) {}
  template <int LANES> static FX_DEVICE bool speaks() { return true; }
};

// fx_skinny_values: the values of elements in words
template <int N, class T>
FX_DEVICE void fx_skinny_values(T (&x)[N], const unsigned (&w)[N * sizeof(T) / 4], T *) { memcpy(x, w, sizeof x); }
template <int N>
FX_DEVICE void fx_skinny_values(float (&x)[N], const unsigned (&w)[N / 2], fx_f16 *of) { fx_unpack<N>(x, w, of); }

// fx_skinny_fma: products of ordinary multiply-adds; lanes of a group share their rows, each with k of its own
template <class T, class SUM, int SMALL_, int ROWS_>
struct fx_skinny_fma {
  typedef T wide, small;
  typedef SUM sum;
  static constexpr int SIZE = sizeof(T), SMALL = SMALL_, LINES = SMALL, EACH = SMALL, GROUP = 32, ROWS = ROWS_, E = 16 / SIZE;

  static FX_DEVICE int line(int l) { return l; }
  static FX_DEVICE void multiply(sum *d, const unsigned (&w)[ROWS][4], const unsigned (&x)[LINES][4]) {
    sum row[ROWS][E], column[E];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) fx_skinny_values<E>(row[r], w[r], (T *)0);
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      fx_skinny_values<E>(column, x[l], (T *)0);
#pragma unroll
      for (int i = 0; i < E * ROWS; ++i) d[i % ROWS * SMALL + l] = fx_multiply_add(row[i % ROWS][i / ROWS], column[i / ROWS], d[i % ROWS * SMALL + l]);
    }
  }
  template <int NV>
  static FX_DEVICE void multiply_columns(sum *d, const unsigned (&w)[4][NV * SIZE / 4], const unsigned (&x)[LINES][SIZE]) {
    sum rows[4][NV], column[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) fx_skinny_values<NV>(rows[i], w[i], (T *)0);
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      fx_skinny_values<4>(column, x[l], (T *)0);
#pragma unroll
      for (int i = 0; i < 4 * NV; ++i) d[i % NV * SMALL + l] = fx_multiply_add(rows[i / NV][i % NV], column[i / NV], d[i % NV * SMALL + l]);
    }
  }
  static FX_DEVICE int row(int i) { return i / SMALL; }
  static FX_DEVICE int column(int i) { return i % SMALL; }
  template <int LANES, int N> static FX_DEVICE void join(sum (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i)
#pragma unroll
      for (int m = 1; m < LANES; m *= 2) d[i] = fx_multiply_add(d[i], (sum)1, fx_from_lane_xor(d[i], m));
  }
  template <int LANES> static FX_DEVICE bool speaks() { return threadIdx.x % LANES == 0; }
};

// fx_skinny_engine: a block of the driver: PRODUCT's products, WARPS warps, AHEAD chunks of a row on their way in each lane
// CHUNK elements of k a lane where K_MAJOR, else NV = CHUNK adjacent columns. SWAPS: the wide side is A. ONCE: it is read past the first cache.
template <class PRODUCT_, bool K_MAJOR_, int CHUNK_, int AHEAD_, int WARPS_, bool SWAPS_, bool ONCE_>
struct fx_skinny_engine {
  typedef PRODUCT_ PRODUCT;
  typedef typename PRODUCT::sum sum;
  static constexpr bool K_MAJOR = K_MAJOR_, SWAPS = SWAPS_, ONCE = ONCE_ && K_MAJOR;
  static constexpr int CHUNK = CHUNK_, AHEAD = AHEAD_, WARPS = WARPS_, THREADS = WARPS * 32;
  static constexpr int GROUP = K_MAJOR ? PRODUCT::GROUP : 4;             // lanes that share rows of the wide side
  static constexpr int ROWS = K_MAJOR ? PRODUCT::ROWS : CHUNK;           // of which a lane has sums
  static constexpr int WIDE = 32 / GROUP * ROWS;                         // and a block
  static constexpr int LINES = K_MAJOR ? ROWS : 4;                       // chunks read for one product
  static constexpr int E = K_MAJOR ? 16 / PRODUCT::SIZE : 4;             // k of a product, in a lane
  static constexpr int STEP = GROUP * (K_MAJOR ? CHUNK : 4);             // and k of a chunk, in a warp
  static constexpr int WORDS = K_MAJOR ? 4 : CHUNK * PRODUCT::SIZE / 4;  // that go into a product, of each chunk
  static constexpr int BM = SWAPS ? WIDE : PRODUCT::SMALL, BN = SWAPS ? PRODUCT::SMALL : WIDE;
  static constexpr int SUMS = ROWS * PRODUCT::EACH;                      // of a lane
  static_assert(!K_MAJOR || CHUNK % E == 0, "a chunk is whole products");

  // Row r of the lane's.
  static FX_DEVICE int row(int r) { return threadIdx.x % 32 / GROUP * (K_MAJOR ? 1 : CHUNK) + (K_MAJOR ? 32 / GROUP : 1) * r; }
  // The first k of the lane in chunk u of a warp.
  static FX_DEVICE int k(int u) { return u * STEP + threadIdx.x % GROUP * (K_MAJOR ? CHUNK : 4); }
};

// fx_skinny_place: where a block stands in a segment
template <int LINES>
struct fx_skinny_place {
  int batch, ko, k_end;  // indices over the batch axes and the outer k, extent of k
  int wide_end;          // extent of the wide side
  int rows[LINES];       // the first m or n of each line of chunks on it
  int small, small_end;  // first m or n of the tile on the small side, and its extent
};

// fx_skinny_is_computed: whether an operand is made as it is loaded
template <class OPERAND> FX_DEVICE constexpr auto fx_skinny_is_computed(int) -> decltype(OPERAND::IS_FIXED, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_skinny_is_computed(long) { return false; }

// fx_skinny_copied: chunks of an operand that lies in memory; LINES of them beside each other, AHEAD times
// ONCE: past the first cache. Halves that lie anyhow along k are read as windows of whole words, where these lie in the row.
template <class OPERAND, class T, int V, int LINES, int AHEAD, bool ALONG_K, bool ALIGNED, bool ONCE>
struct fx_skinny_copied {
  static constexpr bool WINDOWS = !ALIGNED && ALONG_K && OPERAND::LAYOUT == FX_K_MAJOR && sizeof(T) == 2 && V == 8;
  static constexpr int WORDS = WINDOWS ? 8 : V * (int)sizeof(T) / 4;
  const T *from[ALONG_K ? LINES : 1];  // the first element of each line of chunks, at k = 0
  long long stride_mn, stride_k;       // elements from one m or n, one k to the next
  int mn, mn_end, k_end;
  unsigned w[AHEAD][LINES][WORDS];     // what was read

  template <class PROBLEM>
  FX_DEVICE void start(const PROBLEM &p, int j, const fx_skinny_place<LINES> &at) {
    stride_mn = OPERAND::stride_mn(p, j), stride_k = OPERAND::stride_k(p, j);
    mn = at.rows[0], mn_end = at.wide_end, k_end = at.k_end;
    const T *const base = OPERAND::at(p, j, at.batch, at.ko);
#pragma unroll
    for (int i = 0; i < (ALONG_K ? LINES : 1); ++i) from[i] = at.rows[i] < mn_end ? base + at.rows[i] * stride_mn : nullptr;
  }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &, int u, int k) {
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const T *const p = from[ALONG_K ? i : 0];
      const int at = ALONG_K ? k : k + i;
      if constexpr (ALIGNED) {
#pragma unroll
        for (int x = 0; x < WORDS; ++x) w[u][i][x] = 0;
        if (!p || at >= k_end) continue;
        if constexpr (ONCE) fx_load_once(w[u][i], p + (ALONG_K ? at : at * stride_k));
        else fx_load_words(w[u][i], p + (ALONG_K ? at : at * stride_k));
      } else if constexpr (WINDOWS) {
        if (p && at >= 3 && at + 12 <= k_end) {
          fx_mma_window(w[u][i], p + at, true);
        } else {
          T x[2 * V];
#pragma unroll
          for (int v = 0; v < 2 * V; ++v) x[v] = v < V && p && at + v < k_end ? p[at + v] : T{};
          memcpy(w[u][i], x, sizeof x);  // a window that begins with the first
        }
      } else {
        T x[V];
#pragma unroll
        for (int v = 0; v < V; ++v) x[v] = p && (ALONG_K ? at + v < k_end : at < k_end && mn + v < mn_end) ? p[ALONG_K ? (at + v) * stride_k : at * stride_k + v * stride_mn] : T{};
        memcpy(w[u][i], x, sizeof x);
      }
    }
  }
  template <int N, class PROBLEM>
  FX_DEVICE void get(const PROBLEM &, unsigned (&to)[LINES][N], int u, int part, int) const {
    if constexpr (WINDOWS) {
#pragma unroll
      for (int i = 0; i < LINES; ++i) fx_mma_of_window(to[i], w[u][i]);
    } else {
#pragma unroll
      for (int x = 0; x < LINES * N; ++x) to[x / N][x % N] = w[u][x / N][part * N + x % N];
    }
  }
};

// fx_skinny_computed: chunks of one that is made of what was read
template <class OPERAND, class T, int V, int LINES, int AHEAD, bool ALONG_K, bool ALIGNED>
struct fx_skinny_computed {
  typedef typename OPERAND::template raw<V, ALIGNED> raw;
  typedef typename OPERAND::template held<V, ALIGNED> held;
  typedef typename OPERAND::template context<V, ALIGNED> context;
  static constexpr bool IS_FIXED = OPERAND::IS_FIXED && !__is_empty(raw);  // then it is read once
  static constexpr int WORDS = V * (int)sizeof(T) / 4;
  int batch, ko, k_end, mn_end;
  int mn[LINES];  // first m or n of each line of chunks
  raw r[IS_FIXED ? 1 : AHEAD][LINES];
  held h[AHEAD][LINES];
  context c[ALONG_K ? AHEAD : 1];
  static constexpr bool MAKES_HALVES = ALIGNED && fx_makes_halves<OPERAND>(0);  // then a product's words are made at a time
  unsigned made[LINES][MAKES_HALVES ? 1 : WORDS];  // the chunks at hand

  FX_DEVICE int valid(int i, int k) const { return mn[i] >= mn_end || k >= k_end ? 0 : ALONG_K ? k_end - k : mn_end - mn[i]; }
  template <class PROBLEM>
  FX_DEVICE void start(const PROBLEM &p, int, const fx_skinny_place<LINES> &at) {
    batch = at.batch, ko = at.ko, k_end = at.k_end, mn_end = at.wide_end;
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      mn[i] = at.rows[i];
      if constexpr (IS_FIXED) OPERAND::template fetch<V, ALIGNED>(p, r[0][i], batch, mn[i], 0, 0, valid(i, 0));
    }
    if constexpr (!ALONG_K && !__is_empty(context)) OPERAND::template fetch_context<V, ALIGNED>(p, c[0], batch, mn[0], ko, 0, mn_end - mn[0]);
  }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int u, int k) {
    if constexpr (ALONG_K && !__is_empty(context)) OPERAND::template fetch_context<V, ALIGNED>(p, c[u], batch, mn[0], ko, k, k_end - k);
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const int at = ALONG_K ? k : k + i;
      if constexpr (!IS_FIXED && !__is_empty(raw)) OPERAND::template fetch<V, ALIGNED>(p, r[u][i], batch, mn[i], ko, at, valid(i, at));
      if constexpr (!__is_empty(held)) OPERAND::template fetch_held<V, ALIGNED>(p, h[u][i], batch, mn[i], ko, at, valid(i, at));
    }
  }
  // Past the last k there are zeros, whatever they are multiplied by.
  template <int N, class PROBLEM>
  FX_DEVICE void get(const PROBLEM &p, unsigned (&to)[LINES][N], int u, int part, int k) {
#pragma unroll
    for (int i = 0; i < LINES; ++i) {
      const int at = ALONG_K ? k : k + i;
      if constexpr (MAKES_HALVES) {  // past the last k finite numbers, by which zeros are multiplied
        OPERAND::template make_halves<V, ALIGNED>(p, to[i], r[IS_FIXED ? 0 : u][i], h[u][i], c[ALONG_K ? u : 0], part * N, batch, mn[i], ko, at);
      } else {
        if (part == 0 && at < k_end) {
          typename OPERAND::value x[V];
          OPERAND::template make<V, ALIGNED>(p, x, r[IS_FIXED ? 0 : u][i], h[u][i], c[ALONG_K ? u : 0], batch, mn[i], ko, at);
#pragma unroll
          for (int v = 0; v < V && !ALIGNED; ++v)
            if (ALONG_K ? at + v >= k_end : mn[i] + v >= mn_end) x[v] = 0;
          fx_skinny_pack<V>(made[i], x, (T *)0);
        } else if (part == 0) {
#pragma unroll
          for (int n = 0; n < WORDS; ++n) made[i][n] = 0;
        }
#pragma unroll
        for (int n = 0; n < N; ++n) to[i][n] = made[i][part * N + n];
      }
    }
  }
};

// fx_skinny_lines: N elements along k of LINES rows of the small side, as words
template <class PRODUCT, class OPERAND, int N, bool ALIGNED>
struct fx_skinny_lines {
  typedef typename PRODUCT::small T;
  static constexpr int LINES = PRODUCT::LINES, WORDS = N * PRODUCT::SIZE / 4;
  static constexpr bool IS_COMPUTED = fx_skinny_is_computed<OPERAND>(0), ALONG_K = OPERAND::LAYOUT == FX_K_MAJOR;
  static constexpr bool WINDOWS = !ALIGNED && ALONG_K && PRODUCT::SIZE == 2 && N == 8;
  int j, batch, ko, k_end, mn, mn_end;

  template <class PROBLEM, class PLACE>
  FX_DEVICE void start(const PROBLEM &, int number, const PLACE &at) { j = number, batch = at.batch, ko = at.ko, k_end = at.k_end, mn = at.small, mn_end = at.small_end; }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &, int, int) {}
  template <class PROBLEM>
  FX_DEVICE void get(const PROBLEM &p, unsigned (&w)[LINES][WORDS], int, int part, int k0) const {
    const int k = k0 + part * N;
#pragma unroll
    for (int l = 0; l < LINES; ++l) {
      const int row = mn + PRODUCT::line(l);
#pragma unroll
      for (int i = 0; i < WORDS; ++i) w[l][i] = 0;
      if (row >= mn_end || k >= k_end) continue;
      if constexpr (IS_COMPUTED) {
        typedef typename OPERAND::value value;
        constexpr int V = !ALONG_K ? 1 : N < 8 ? N : 8;
        value x[N];
#pragma unroll
        for (int n = 0; n < N; n += V) {
          typename OPERAND::template raw<V, ALIGNED && ALONG_K> r;
          typename OPERAND::template held<V, ALIGNED && ALONG_K> h;
          typename OPERAND::template context<V, ALIGNED && ALONG_K> c;
          value y[V];
          const int at = k + n, n_valid = at >= k_end ? 0 : ALONG_K ? k_end - at : 1;
          if constexpr (!__is_empty(decltype(r))) OPERAND::template fetch<V, ALIGNED && ALONG_K>(p, r, batch, row, ko, at, n_valid);
          if constexpr (!__is_empty(decltype(h))) OPERAND::template fetch_held<V, ALIGNED && ALONG_K>(p, h, batch, row, ko, at, n_valid);
          if constexpr (!__is_empty(decltype(c))) OPERAND::template fetch_context<V, ALIGNED && ALONG_K>(p, c, batch, row, ko, at, n_valid);
          OPERAND::template make<V, ALIGNED && ALONG_K>(p, y, r, h, c, batch, row, ko, at);
#pragma unroll
          for (int v = 0; v < V; ++v) x[n + v] = at + v < k_end ? y[v] : (value)0;
        }
        fx_skinny_pack<N>(w[l], x, (T *)0);
      } else {
        const long long stride = OPERAND::stride_k(p, j);
        const T *const from = OPERAND::at(p, j, batch, ko) + row * OPERAND::stride_mn(p, j) + k * stride;
        if constexpr (ALIGNED && ALONG_K && WORDS <= 4) {
          fx_load_words(w[l], from);
        } else if constexpr (ALIGNED && ALONG_K) {  // of 8-byte elements two loads of 16 bytes: k may end between them
#pragma unroll
          for (int i = 0; i < WORDS; i += 4) {
            unsigned half[4] = {};
            if (k + i * 4 / PRODUCT::SIZE < k_end) fx_load_words(half, from + i * 4 / PRODUCT::SIZE);
            memcpy(w[l] + i, half, sizeof half);
          }
        } else {
          if constexpr (WINDOWS) {
            if (k >= 3 && k + 12 <= k_end) {
              unsigned window[8];
              fx_mma_window(window, from, true);
              fx_mma_of_window(w[l], window);
              continue;
            }
          }
          T x[N];
#pragma unroll
          for (int n = 0; n < N; ++n) x[n] = k + n < k_end ? from[n * stride] : T{};
          memcpy(w[l], x, sizeof x);
        }
      }
    }
  }
};

// fx_skinny_wide: the wide side of a segment in an engine: its operand number J
template <class ENGINE, class OPERAND, bool ALIGNED>
using fx_skinny_wide = typename fx_choose<fx_skinny_is_computed<OPERAND>(0),
                                          fx_skinny_computed<OPERAND, typename ENGINE::PRODUCT::wide, ENGINE::CHUNK, ENGINE::LINES, ENGINE::AHEAD, ENGINE::K_MAJOR, ALIGNED>,
                                          fx_skinny_copied<OPERAND, typename ENGINE::PRODUCT::wide, ENGINE::CHUNK, ENGINE::LINES, ENGINE::AHEAD, ENGINE::K_MAJOR, ALIGNED, ENGINE::ONCE>>::type;

// fx_skinny_products: adds a product of both sides' words
template <class ENGINE>
FX_DEVICE void fx_skinny_products(typename ENGINE::sum *d, const unsigned (&w)[ENGINE::LINES][ENGINE::WORDS],
                                  const unsigned (&x)[ENGINE::PRODUCT::LINES][ENGINE::E * ENGINE::PRODUCT::SIZE / 4]) {
  if constexpr (ENGINE::K_MAJOR) ENGINE::PRODUCT::multiply(d, w, x);
  else ENGINE::PRODUCT::template multiply_columns<ENGINE::CHUNK>(d, w, x);
}

// fx_skinny_sides: what a segment reads: one side for all of its sums, the other for every one, from number J on
template <class ENGINE, class SEGMENT, bool ALIGNED, int J, bool IS_END>
struct fx_skinny_sides {
  typedef typename SEGMENT::template b<J> b;
  typedef typename fx_choose<ENGINE::SWAPS, fx_skinny_lines<typename ENGINE::PRODUCT, b, ENGINE::E, ALIGNED>, fx_skinny_wide<ENGINE, b, ALIGNED>>::type side;
  side first;                                                                      // number J
  fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, J + 1, J + 1 == SEGMENT::SUMS> rest;  // those after it

  template <class PROBLEM, class PLACE>
  FX_DEVICE void start(const PROBLEM &p, const PLACE &at) { first.start(p, J, at), rest.start(p, at); }
  template <class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int u, int k) { first.load(p, u, k), rest.load(p, u, k); }
  // Adds the products of every one with `shared`, the words of the other side.
  template <class SHARED, class PROBLEM, int SUMS>
  FX_DEVICE void multiply(typename ENGINE::sum (&acc)[SUMS][ENGINE::SUMS], const PROBLEM &p, const SHARED &shared, int u, int part, int k) {
    constexpr int INTO = SEGMENT::sum(J);
    if constexpr (ENGINE::SWAPS) {
      unsigned x[ENGINE::PRODUCT::LINES][ENGINE::E * ENGINE::PRODUCT::SIZE / 4];
      first.get(p, x, u, part, k);
      fx_skinny_products<ENGINE>(acc[INTO], shared, x);
    } else {
      unsigned w[ENGINE::LINES][ENGINE::WORDS];
      first.get(p, w, u, part, k);
      fx_skinny_products<ENGINE>(acc[INTO], w, shared);
    }
    rest.multiply(acc, p, shared, u, part, k);
  }
};
template <class ENGINE, class SEGMENT, bool ALIGNED, int J>
struct fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, J, true> {
  template <class PROBLEM, class PLACE> FX_DEVICE void start(const PROBLEM &, const PLACE &) {}
  template <class PROBLEM> FX_DEVICE void load(const PROBLEM &, int, int) {}
  template <class SHARED, class PROBLEM, int SUMS>
  FX_DEVICE void multiply(typename ENGINE::sum (&)[SUMS][ENGINE::SUMS], const PROBLEM &, const SHARED &, int, int, int) {}
};

// fx_skinny_mainloop: what a problem hands its segments to, one after the other; IS_RAGGED: this one is never aligned
template <class ENGINE, bool ALIGNED_, int SUMS>
struct fx_skinny_mainloop {
  typedef typename ENGINE::PRODUCT PRODUCT;
  typename ENGINE::sum (&acc)[SUMS][ENGINE::SUMS];  // the sums
  const fx_tile &at;                                // the tile

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    constexpr bool ALIGNED = ALIGNED_ && !IS_RAGGED, SWAPS = ENGINE::SWAPS;
    constexpr int LINES = ENGINE::LINES, E = ENGINE::E, PARTS = ENGINE::K_MAJOR ? ENGINE::CHUNK / E : 1;
    constexpr int AHEAD = ENGINE::AHEAD, ROUND = AHEAD * ENGINE::STEP;
    typedef typename SEGMENT::a a;
    typedef fx_skinny_lines<PRODUCT, a, E, ALIGNED> small_a;
    typename fx_choose<SWAPS, fx_skinny_wide<ENGINE, a, ALIGNED>, small_a>::type one;
    fx_skinny_sides<ENGINE, SEGMENT, ALIGNED, 0, false> others;
    const int outer = SEGMENT::k_outer(p), first = threadIdx.x / 32 * ROUND;
    fx_skinny_place<LINES> place = {at.batch, 0, fx_k_left<SEGMENT>(p, at.batch, 0), SWAPS ? p.m() : p.n(), {}, SWAPS ? at.n : at.m, SWAPS ? p.n() : p.m()};
#pragma unroll
    for (int i = 0; i < LINES; ++i) place.rows[i] = (SWAPS ? at.m : at.n) + ENGINE::row(ENGINE::K_MAJOR ? i : 0);

#pragma unroll 1
    for (; place.ko < outer && place.k_end > 0; ++place.ko) {  // without k nothing lies there to be read ahead
      one.start(p, 0, place), others.start(p, place);
#pragma unroll
      for (int u = 0; u < AHEAD; ++u) one.load(p, u, first + ENGINE::k(u)), others.load(p, u, first + ENGINE::k(u));
#pragma unroll 1
      for (int k0 = first; k0 < place.k_end; k0 += ENGINE::WARPS * ROUND) {
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
          const int k = k0 + ENGINE::k(u), next = k + ENGINE::WARPS * ROUND;
#pragma unroll
          for (int part = 0; part < PARTS; ++part) {
            unsigned shared[SWAPS ? LINES : PRODUCT::LINES][SWAPS ? ENGINE::WORDS : E * PRODUCT::SIZE / 4];
            one.get(p, shared, u, part, k);
            others.multiply(acc, p, shared, u, part, k);
          }
          one.load(p, u, next), others.load(p, u, next);
        }
      }
    }
  }
  FX_DEVICE void next_segment() {}
};

// fx_skinny_epilogue: hands the problem the sums of all warps, V columns of a row at a time
template <class ENGINE, int SUMS, class PROBLEM>
FX_DEVICE void fx_skinny_epilogue(const PROBLEM &p, const fx_tile &at) {
  typedef typename ENGINE::sum sum;
  constexpr int BM = ENGINE::BM, BN = ENGINE::BN, MOST = PROBLEM::V < BN ? PROBLEM::V : BN, WANTED = BM * BN / ENGINE::THREADS;
  constexpr int V = WANTED <= 1 ? 1 : WANTED < MOST ? WANTED : MOST, ACROSS = BN / V;
  constexpr bool ALIGNED = false;  // whatever the epilogue reads and writes may lie anyhow
  const sum *const slots = (const sum *)fx_smem();
#pragma unroll 1
  for (int i = threadIdx.x; i < BM * ACROSS; i += ENGINE::THREADS) {
    const int row = i / ACROSS, col = i % ACROSS * V, n_valid = p.n() - at.n - col < V ? p.n() - at.n - col : V;
    if (at.m + row >= p.m() || n_valid <= 0) continue;
    typename PROBLEM::template columns<V> c;
    typename PROBLEM::template frag<V> f;
    fx_fetch_columns<V, ALIGNED>(p, c, at.batch, at.n + col, n_valid);
    fx_fetch<V, ALIGNED>(p, f, at.batch, at.m + row, at.n + col, n_valid);
    sum acc[SUMS][V];
#pragma unroll
    for (int j = 0; j < SUMS * V; ++j) {
      acc[j / V][j % V] = 0;
#pragma unroll
      for (int w = 0; w < ENGINE::WARPS; ++w) acc[j / V][j % V] = fx_multiply_add(slots[((w * SUMS + j / V) * BM + row) * BN + col + j % V], (sum)1, acc[j / V][j % V]);
    }
    p.template store<V, ALIGNED>(acc, c, f, at.batch, at.m + row, at.n + col, n_valid);
  }
}

// fx_skinny: computes a tile, this block's
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_skinny(const PROBLEM &p, int number = blockIdx.x) {
  constexpr int SUMS = PROBLEM::SUMS;
  typedef typename ENGINE::sum sum;
  const fx_tile at = fx_find_tile(number, p.m(), p.n(), ENGINE::BM, ENGINE::BN);
  sum acc[SUMS][ENGINE::SUMS];
#pragma unroll
  for (int i = 0; i < SUMS * ENGINE::SUMS; ++i) acc[i / ENGINE::SUMS][i % ENGINE::SUMS] = 0;
  fx_skinny_mainloop<ENGINE, ALIGNED, SUMS> mainloop = {acc, at};
  p.accumulate(mainloop);
  sum *const slots = (sum *)fx_smem();
#pragma unroll
  for (int j = 0; j < SUMS; ++j) {
    ENGINE::PRODUCT::template join<ENGINE::GROUP>(acc[j]);
#pragma unroll
    for (int i = 0; i < ENGINE::SUMS; ++i) {
      const int wide = ENGINE::row(ENGINE::PRODUCT::row(i)), small = ENGINE::PRODUCT::column(i), row = ENGINE::SWAPS ? wide : small, col = ENGINE::SWAPS ? small : wide;
      if (ENGINE::PRODUCT::template speaks<ENGINE::GROUP>()) slots[((threadIdx.x / 32 * SUMS + j) * ENGINE::BM + row) * ENGINE::BN + col] = acc[j][i];
    }
  }
  fx_barrier();  // the sums of all warps are there
  fx_skinny_epilogue<ENGINE, SUMS>(p, at);
}

// fx_skinny_early: likewise, started before the kernel ahead has ended
template <class ENGINE, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_skinny_early(const PROBLEM &p) {
  fx_let_next_start();
  fx_wait_for_kernel();
  fx_skinny<ENGINE, ALIGNED>(p);
}

// ---- the gemm driver of sm_90a ----

// fx_columns_64: the instruction of 64 columns
struct fx_columns_64 {
  static constexpr int N = 64;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_64<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_128: the instruction of 128 columns
struct fx_columns_128 {
  static constexpr int N = 128;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_128<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_192: the instruction of 192 columns
struct fx_columns_192 {
  static constexpr int N = 192;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_192<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_columns_256: the instruction of 256 columns
struct fx_columns_256 {
  static constexpr int N = 256;
  template <bool BF16, int A_MN, int B_MN, bool TF32>
  static FX_DEVICE void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, int adds) {
    fx_wgmma_256<BF16, A_MN, B_MN, TF32>(d, a, b, adds);
  }
};

// fx_wgmma_sum: what products of operands of type T are added up in
template <class T> FX_DEVICE constexpr auto fx_wgmma_sum(int) -> typename T::sum { return 0; }
template <class T> FX_DEVICE constexpr float fx_wgmma_sum(...) { return 0; }

// fx_wgmma_single: blocks that are in no cluster: each copies what it reads
struct fx_wgmma_single {
  static constexpr int ROWS = 1, COLUMNS = 1, BLOCKS = 1, SHARING = 1;  // tiles of a cluster, one below the other and beside each other; blocks that read what one of them copies or that copy what it reads
  static FX_DEVICE int row() { return 0; }
  static FX_DEVICE int column() { return 0; }
  static FX_DEVICE void meet() {}
  template <bool IS_A> static FX_DEVICE bool copies(int) { return true; }
  template <bool IS_A, int RANK>
  static FX_DEVICE void load(unsigned to, const fx_tensor_map *map, unsigned full, const int (&at)[RANK]) { fx_tma_load(to, map, full, at); }
  static FX_DEVICE void give_back(unsigned empty) {
    if (threadIdx.x % 32 == 0) fx_mbarrier_arrive(empty);
  }
};

// fx_wgmma: tiles of BM x COLUMNS::N / BESIDE elements of every sum, by CONSUMERS warpgroups; an instruction covers the columns of BESIDE B's of a stage, which has room for B_TILES; the epilogue stages
// CHUNK columns at a time, and takes one at a time where what it reads and writes is not ALIGNED. With SLABS what is stored goes by tensor maps: a warp has so many boxes of 16 rows, 128 bytes each.
// CLUSTER: what blocks share of their operands.
template <class T_, class COLUMNS, int BESIDE_, int BM_, int B_TILES, int STAGES_, int CONSUMERS_, bool IS_PINGPONG_, int SUMS_, int CHUNK_, int SLABS_, bool ALIGNED_, class CLUSTER = fx_wgmma_single>
struct fx_wgmma {
  typedef T_ T;
  typedef decltype(fx_wgmma_sum<T>(0)) sum;
  typedef COLUMNS columns;
  typedef CLUSTER cluster;
  static constexpr int SUMS = SUMS_, BESIDE = BESIDE_, BM = BM_, BN = COLUMNS::N / BESIDE, BK = 128 / (int)sizeof(T), STAGES = STAGES_, CHUNK = CHUNK_, SLABS = SLABS_;
  static constexpr bool IS_PINGPONG = IS_PINGPONG_, ALIGNED = ALIGNED_;
  static constexpr bool PROMOTES = sizeof(T) == 1 && sum(1) / 2 != 0;  // sums of f8 (driver_wgmma_bytes.cuh)
  // Several sums are begun by their first products: where a later segment's are set to 0 ptxas lets no products overlap (C7515), as of integers. Of one, setting it takes fewer registers.
  static constexpr bool IS_SET = sizeof(T) == 1 ? PROMOTES : SUMS == BESIDE;
  static constexpr int CONSUMERS = CONSUMERS_, THREADS = 128 * (1 + CONSUMERS);
  static constexpr int ROWS = IS_PINGPONG ? BM : BM / CONSUMERS;  // of a tile, of one consumer
  static constexpr int PARTS = ROWS / 64;                         // instructions that cover them
  static constexpr int BOX_BYTES = 64 * 128;
  static constexpr int A_BYTES = BM / 64 * BOX_BYTES, B_BYTES = BN / 64 * BOX_BYTES, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int PITCH = SUMS * CHUNK * 4 + 32;  // bytes of a staged row: the rows that a warp writes at once lie in different banks
  static constexpr int SLAB_BYTES = 16 * 128;          // a box of what is stored
  static constexpr int STAGING_BYTES = SLABS ? SLABS * SLAB_BYTES : 16 * PITCH;  // of a warp: 16 rows of a chunk of what is stored or of every sum
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + CONSUMERS * 4 * STAGING_BYTES + 2 * STAGES * 8;
  static constexpr bool HAS_ROOM = CONSUMERS == 2 && SUMS * PARTS * BN / 2 <= 128;  // registers beside the sums, to ask for more ahead of its use
  static constexpr bool IS_SHARED = CLUSTER::BLOCKS > 1 && !IS_PINGPONG;  // beside what a cluster shares, and a window's corners, the producer has little room
  static constexpr int PRODUCER_REGISTERS = !HAS_ROOM ? 24 : IS_SHARED ? 56 : 40, CONSUMER_REGISTERS = CONSUMERS == 3 ? 160 : !HAS_ROOM ? 240 : IS_SHARED ? 224 : 232;
  static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS <= THREADS / 128 * (65536 / THREADS / 8 * 8), "who takes registers would wait forever");
  static_assert(CHUNK % 8 == 0 && BN % CHUNK == 0 && ROWS % 64 == 0 && BM % ROWS == 0, "no such tile");
  static_assert(BN % 64 == 0 && SUMS % BESIDE == 0 && (BESIDE == 1 || BESIDE == B_TILES), "no such B's beside each other");
  static_assert(CONSUMERS == 2 || (CONSUMERS == 3 && !IS_PINGPONG), "no such consumers");
};

// fx_wgmma_sums: those that a thread of a consumer has; those of B's beside each other are one array, as an instruction has them
template <class ENGINE>
struct fx_wgmma_sums {
  typedef typename ENGINE::sum sum;
  sum of[ENGINE::SUMS / ENGINE::BESIDE][ENGINE::PARTS][ENGINE::BESIDE * ENGINE::BN / 2];

  FX_DEVICE sum get(int sum, int part, int i) const { return of[sum / ENGINE::BESIDE][part][sum % ENGINE::BESIDE * (ENGINE::BN / 2) + i]; }
};

// fx_wgmma_columns: what is the same for all rows of a chunk of columns, as far as a thread takes these: V adjacent ones, or V of every eight as the sums lie
template <class ENGINE, class PROBLEM>
struct fx_wgmma_columns {
  static constexpr int V = ENGINE::SLABS ? 2 : ENGINE::ALIGNED ? PROBLEM::V : 1, N = ENGINE::SLABS ? ENGINE::CHUNK / 8 : 1;
  typename PROBLEM::template columns<V> of[N];

  // Number i of them, in the chunk that begins at column n.
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n, int i) {
    const int at = n + i * 8 + (ENGINE::SLABS ? threadIdx.x % 4 * 2 : threadIdx.x % (ENGINE::CHUNK / V) * V);
    if (at < p.n()) fx_fetch_columns<V, ENGINE::ALIGNED>(p, of[i], batch, at, p.n() - at < V ? p.n() - at : V);
  }
  FX_DEVICE void fetch(const PROBLEM &p, int batch, int n) {
#pragma unroll
    for (int i = 0; i < N; ++i) fetch(p, batch, n, i);
  }
};

// fx_sum_row: the row of eight whose sums a lane has
template <class ENGINE> FX_DEVICE constexpr auto fx_sum_row(int lane, int) -> decltype(ENGINE::sum_row(lane)) { return ENGINE::sum_row(lane); }
template <class ENGINE> FX_DEVICE constexpr int fx_sum_row(int lane, long) { return lane / 4; }

// fx_wgmma_rows: what the rows of a thread read, where elements are computed as the sums lie: number 0 and 8 of a warp's 16 of each part, the same for all columns
template <class ENGINE, class PROBLEM>
struct fx_wgmma_rows {
  typename PROBLEM::template frag<2> of[ENGINE::PARTS][2];

  FX_DEVICE void fetch(const PROBLEM &p, const fx_tile &at, int first_row) {
#pragma unroll
    for (int i = 0; i < ENGINE::PARTS * 2; ++i) {
      const int m = at.m + first_row + i / 2 * 64 + i % 2 * 8 + fx_sum_row<ENGINE>(threadIdx.x % 32, 0);
      if (m < p.m()) fx_fetch<2, true>(p, of[i / 2][i % 2], at.batch, m, at.n, 2);
    }
  }
};

// fx_ring: where a thread stands in a ring of stages
template <int STAGES, int BYTES>
struct fx_ring {
  unsigned first;     // of the stages, in shared memory
  unsigned barriers;  // likewise: of every stage that it is full, then that it is empty
  int stage;          // at hand
  unsigned parity;    // of its phase: turns when the ring has been walked once

  // Every phase that a stage is full, or empty, ends with so many arrivals.
  FX_DEVICE void begin(int fills, int empties) const {
    for (int s = 0; s < STAGES; ++s) {
      fx_mbarrier_init(barriers + s * 8, fills);
      fx_mbarrier_init(empty(s), empties);
    }
  }
  FX_DEVICE void end() const {
    for (int s = 0; s < 2 * STAGES; ++s) fx_mbarrier_end(barriers + s * 8);
  }
  FX_DEVICE unsigned address() const { return first + stage * BYTES; }
  FX_DEVICE unsigned full() const { return barriers + stage * 8; }
  FX_DEVICE unsigned empty() const { return empty(stage); }
  FX_DEVICE unsigned empty(int of) const { return barriers + (STAGES + of) * 8; }
  FX_DEVICE void next() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
  FX_DEVICE void skip(int blocks) {
    stage += blocks % STAGES, parity ^= blocks / STAGES & 1;
    if (stage >= STAGES) stage -= STAGES, parity ^= 1;
  }
};

// fx_wgmma_ring: the ring of an engine
template <class ENGINE>
using fx_wgmma_ring = fx_ring<ENGINE::STAGES, ENGINE::STAGE_BYTES>;

// fx_wgmma_blocks: counts the blocks of k that a problem's segments have together
template <class ENGINE>
struct fx_wgmma_blocks {
  static constexpr bool TAKES_MAPS = true;

  int n;  // so far

  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    n += SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK);
  }
  FX_DEVICE void next_segment() {}
};

// fx_is_im2col: whether an operand comes by a tensor map in im2col mode, as columns of pixels, and has a function that loads one
template <class OPERAND> FX_DEVICE constexpr auto fx_is_im2col(int) -> decltype(&OPERAND::load_pixels, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_im2col(...) { return false; }

// fx_is_placed: whether an operand's tensor map is indexed by more than m or n and k
template <class OPERAND> FX_DEVICE constexpr auto fx_is_placed(int) -> decltype(&OPERAND::place, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_is_placed(...) { return false; }

// fx_has_tail: whether an operand has a tensor map of its last rows, those beyond multiples of 64
template <class OPERAND> FX_DEVICE constexpr auto fx_has_tail(int) -> decltype(OPERAND::TAIL, true) { return true; }
template <class OPERAND> FX_DEVICE constexpr bool fx_has_tail(...) { return false; }

// fx_wgmma_bytes: how many bytes the boxes of one operand of a tile have, whose m or n ends `left` behind the tile's first: a box that lies outside as a whole is not copied, nor are rows beyond a tail.
// What stays in the stage there reaches no sum inside.
template <int SIZE, class OPERAND>
FX_DEVICE unsigned fx_wgmma_bytes(int left) {
  if (left <= 0) return 0;  // of a tile that a cluster has too much
  if constexpr (fx_has_tail<OPERAND>(0)) return min(left, SIZE) * 128;
  else if constexpr (fx_is_im2col<OPERAND>(0)) return SIZE * 128;
  else return min((left + 63) / 64, SIZE / 64) * 8192;
}

// fx_wgmma_load: starts copying the boxes of one operand of a tile, SIZE of its m or n, which ends `left` behind the first, and a block of k, of a tile's the one of this number; tail: the map of its last rows
template <int SIZE, class OPERAND, class CLUSTER = fx_wgmma_single, bool IS_A = true, class PROBLEM>
FX_DEVICE void fx_wgmma_load(const PROBLEM &p, const fx_tensor_map *map, const fx_tensor_map *tail, unsigned to, unsigned full, int j, int batch, int outer, int mn, int left, int k, int block = 0) {
  if (fx_is_im2col<OPERAND>(0) && left <= 0) return;  // of a tile that a cluster has too much
#pragma unroll
  for (int i = 0; i < SIZE / 64; ++i) {
    if constexpr (!fx_is_im2col<OPERAND>(0)) {
      const int rows = fx_has_tail<OPERAND>(0) || left <= i * 64 ? left - i * 64 : 64;
      if (rows < 64) fx_unwritten(to + i * 8192 + max(rows, 0) * 128, 8192 - max(rows, 0) * 128);
      if (rows <= 0) continue;
    }
    if (!CLUSTER::template copies<IS_A>(block * (SIZE / 64) + i)) continue;
    if constexpr (fx_is_im2col<OPERAND>(0)) {
      if constexpr (OPERAND::LAYOUT == FX_MN_MAJOR) OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, k, mn + i * 64);
      else OPERAND::load_pixels(p, map, to + i * 8192, full, batch, outer, mn + i * 64, k);
    } else {
      int at[OPERAND::RANK];
      at[0] = OPERAND::LAYOUT == FX_MN_MAJOR ? mn + i * 64 : k;
      at[1] = OPERAND::LAYOUT == FX_MN_MAJOR ? k : mn + i * 64;
      if constexpr (fx_is_placed<OPERAND>(0)) OPERAND::place(p, j, batch, outer, at);
      CLUSTER::template load<IS_A>(to + i * 8192, fx_has_tail<OPERAND>(0) && i * 64 + 64 > left ? tail : map, full, at);
    }
  }
}

// fx_wgmma_producer: the mainloop as the producer runs it: every block of k of a tile into the next stage
template <class ENGINE>
struct fx_wgmma_producer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_ring<ENGINE> &ring;  // of the block
  const fx_tile &at;            // the tile
  const fx_tensor_map *maps;    // of the launch
  const fx_tensor_map *map = maps;  // of the segment's first operand
  int block = 0;                    // of the tile

  template <class OPERAND>
  FX_DEVICE const fx_tensor_map *tail(int j) const {
    if constexpr (fx_has_tail<OPERAND>(0)) return maps + (OPERAND::TAIL + j);
    else return nullptr;
  }
  template <class SEGMENT, int J, class PROBLEM>
  FX_DEVICE void load_b(const PROBLEM &p, int outer, int k) {
    if constexpr (J < SEGMENT::SUMS) {
      typedef typename SEGMENT::template b<J> operand;
      fx_wgmma_load<ENGINE::BN, operand, typename ENGINE::cluster, false>(p, map + 1 + J, tail<operand>(J), ring.address() + ENGINE::A_BYTES + J * ENGINE::B_BYTES, ring.full(), J, at.batch, outer, at.n, p.n() - at.n, k, block);
      load_b<SEGMENT, J + 1>(p, outer, k);
    }
  }
  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void load(const PROBLEM &p, int outer, int k) {
    typedef typename SEGMENT::a operand;
    fx_mbarrier_wait(ring.empty(), ring.parity ^ 1);
    fx_mbarrier_expect(ring.full(), fx_wgmma_bytes<ENGINE::BM, operand>(p.m() - at.m) + SEGMENT::SUMS * fx_wgmma_bytes<ENGINE::BN, typename SEGMENT::template b<0>>(p.n() - at.n));
    fx_wgmma_load<ENGINE::BM, operand, typename ENGINE::cluster, true>(p, map, tail<operand>(0), ring.address(), ring.full(), 0, at.batch, outer, at.m, p.m() - at.m, k, block);
    load_b<SEGMENT, 0>(p, outer, k);
    ++block;
    ring.next();
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int n_outer = SEGMENT::k_outer(p), k_end = SEGMENT::k(p);
#pragma unroll 1
    for (int outer = 0; outer < n_outer; ++outer) {
#pragma unroll 1
      for (int k = 0; k < k_end; k += ENGINE::BK) load<SEGMENT>(p, outer, k);
    }
    map += 1 + SEGMENT::SUMS;
  }
  FX_DEVICE void next_segment() {}
};

// fx_wgmma_operand: the descriptor of an operand that begins at an address: boxes of 64 rows of 128 swizzled bytes; steps of 16 k within it, of 8 of tf32
// PTX ISA, "Matrix descriptor format": address, leading and stride byte offsets in units of 16 bytes, and the swizzle. Where m or n is contiguous, the next 64 of it are the next box.
template <int LAYOUT>
struct fx_wgmma_operand {
  static constexpr unsigned LEADING = LAYOUT == FX_MN_MAJOR ? 8192 : 16, STEP = LAYOUT == FX_MN_MAJOR ? 2048 : 32;
  static FX_DEVICE unsigned long long at(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4 | LEADING >> 4 << 16) | (unsigned long long)(1024 >> 4 | 1u << 30) << 32;
  }
};

// fx_wgmma_consumer: the mainloop as a consumer runs it: the products of a block start while those of the one before end, whose stage is given back then
template <class ENGINE>
struct fx_wgmma_consumer {
  static constexpr bool TAKES_MAPS = true;

  fx_wgmma_sums<ENGINE> &acc;            // the sums
  fx_wgmma_ring<ENGINE> &ring;           // of the block
  unsigned a_offset;                     // of the consumer's rows in a stage
  int before;                            // the stage of the block before; -1: none
  int adds[ENGINE::SUMS / ENGINE::BESIDE];  // whether there is something to add to
  fx_tile at;                            // the tile

  template <class SEGMENT, int J>
  FX_DEVICE void multiply(unsigned long long a, unsigned b_address, int step) {
    if constexpr (J < SEGMENT::SUMS) {
      constexpr int SUM = SEGMENT::sum(J) / ENGINE::BESIDE;
      typedef fx_wgmma_operand<SEGMENT::a::LAYOUT> operand_a;
      typedef fx_wgmma_operand<SEGMENT::template b<J>::LAYOUT> operand_b;
      const unsigned long long b = operand_b::at(b_address + J * ENGINE::B_BYTES) + step * (operand_b::STEP >> 4);
#pragma unroll
      for (int part = 0; part < ENGINE::PARTS; ++part) {
        const unsigned long long of_part = a + part * (ENGINE::BOX_BYTES >> 4) + step * (operand_a::STEP >> 4);
        if constexpr (sizeof(typename ENGINE::T) == 1) ENGINE::columns::template multiply<ENGINE::T::KIND>(acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
        else
          ENGINE::columns::template multiply<fx_is_bf16<typename ENGINE::T>::VALUE, SEGMENT::a::LAYOUT == FX_MN_MAJOR, SEGMENT::template b<J>::LAYOUT == FX_MN_MAJOR, sizeof(typename ENGINE::T) == 4>(
              acc.of[SUM][part], of_part, b, step > 0 || adds[SUM]);
      }
      multiply<SEGMENT, J + ENGINE::BESIDE>(a, b_address, step);
      adds[SUM] = 1;
    }
  }
  FX_DEVICE void give_back() {
    if (before >= 0) ENGINE::cluster::give_back(ring.empty(before));
  }
  template <class SEGMENT>
  FX_DEVICE void run(int blocks) {
#pragma unroll 1
    for (int block = 0; block < blocks; ++block) {
      fx_mbarrier_wait(ring.full(), ring.parity);
      const unsigned long long a = fx_wgmma_operand<SEGMENT::a::LAYOUT>::at(ring.address() + a_offset);
      fx_wgmma_begin();
#pragma unroll
      for (int step = 0; step < 4; ++step) multiply<SEGMENT, 0>(a, ring.address() + ENGINE::A_BYTES, step);
      fx_wgmma_commit();
      fx_wgmma_wait<1>();
      give_back();
      before = ring.stage;
      ring.next();
    }
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    run<SEGMENT>(SEGMENT::k_outer(p) * ((SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK));
  }
  FX_DEVICE void next_segment() {}
  FX_DEVICE void end() {
    fx_wgmma_wait<0>();
    give_back();
  }
};

// fx_wgmma_mainloop: the mainloop as consumers run it, of operands of type T
template <class T, class ENGINE>
struct fx_wgmma_mainloop {
  typedef fx_wgmma_consumer<ENGINE> type;
};

// fx_wgmma_get: V staged sums; lanes whose bit 2 is set read the upper half of eight first: eight lanes then read all banks
template <class T, int V>
FX_DEVICE void fx_wgmma_get(T (&x)[V], unsigned from) {
  if constexpr (V == 8) {
    const bool is_swapped = threadIdx.x & 4;
    T first[4], second[4];
    fx_shared_get<4>(first, from + (is_swapped ? 16 : 0));
    fx_shared_get<4>(second, from + (is_swapped ? 0 : 16));
#pragma unroll
    for (int v = 0; v < 4; ++v) x[v] = is_swapped ? second[v] : first[v], x[v + 4] = is_swapped ? first[v] : second[v];
  } else {
    fx_shared_get<V>(x, from);
  }
}

// fx_wgmma_epilogue: hands a consumer's sums to the problem, V columns of a row at a time; each warp stages its 16 rows of a chunk of columns after another in shared memory of its own
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, V = fx_wgmma_columns<ENGINE, PROBLEM>::V, CHUNK = ENGINE::CHUNK, ACROSS = CHUNK / V, STEP = 32 / ACROSS, STEPS = 16 / STEP;
  typedef typename PROBLEM::template frag<V> frag;
  constexpr bool IS_AHEAD = sizeof(frag) * STEPS <= 128 && ENGINE::HAS_ROOM && ENGINE::ALIGNED;  // registers allow asking for what all steps read before the sums are staged
  constexpr int AT_ONCE = ENGINE::HAS_ROOM ? STEPS : 1;  // steps whose sums are read ahead of their use
  static_assert(V <= 8 && ACROSS <= 32 && STEP <= 16, "a warp does not cover whole rows of a chunk");
  const int lane = threadIdx.x % 32, row = lane / ACROSS, col = lane % ACROSS * V;
  const unsigned put = staging + fx_sum_row<ENGINE>(lane, 0) * ENGINE::PITCH + lane % 4 * 8, get = staging + row * ENGINE::PITCH + col * 4;
#pragma unroll
  for (int chunk = 0; chunk < ENGINE::BN / CHUNK; ++chunk) {
    const int n = at.n + chunk * CHUNK + col, n_valid = p.n() - n < V ? p.n() - n : V;
    if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, at.n + chunk * CHUNK);
    const typename PROBLEM::template columns<V> c = columns.of[0];
    if (ENGINE::HAS_ROOM && chunk + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, at.n + (chunk + 1) * CHUNK);
#pragma unroll
    for (int part = 0; part < ENGINE::PARTS; ++part) {
      const int m = at.m + first_row + part * 64 + row, rows = n_valid > 0 ? p.m() - m : 0;
      frag read[IS_AHEAD ? STEPS : 1] = {};  // what is not asked for has no value to be kept from chunk to chunk
      if constexpr (IS_AHEAD) {
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
          if (s * STEP < rows) fx_fetch<V, ENGINE::ALIGNED>(p, read[s], at.batch, m + s * STEP, n, n_valid);
      }
      fx_warp_barrier();  // every lane has read the rows staged before
#pragma unroll
      for (int j = 0; j < SUMS; ++j) {
#pragma unroll
        for (int i = 0; i < CHUNK / 8; ++i) {
          const int x = (chunk * (CHUNK / 8) + i) * 4;
          fx_shared_put2(put + (j * CHUNK + i * 8) * 4, acc.get(j, part, x), acc.get(j, part, x + 1));
          fx_shared_put2(put + 8 * ENGINE::PITCH + (j * CHUNK + i * 8) * 4, acc.get(j, part, x + 2), acc.get(j, part, x + 3));
        }
      }
      fx_warp_barrier();  // the chunk of these rows is staged
      if constexpr (ENGINE::ALIGNED) {
#pragma unroll
        for (int first = 0; first < STEPS; first += AT_ONCE) {
          typename ENGINE::sum x[AT_ONCE][SUMS][V];
#pragma unroll
          for (int i = 0; i < AT_ONCE * SUMS; ++i)
            fx_wgmma_get(x[i / SUMS][i % SUMS], get + (first + i / SUMS) * STEP * ENGINE::PITCH + i % SUMS * CHUNK * 4);
#pragma unroll
          for (int s = first; s < first + AT_ONCE; ++s) {
            if (s * STEP >= rows) continue;
            if constexpr (!IS_AHEAD) fx_fetch<V, true>(p, read[0], at.batch, m + s * STEP, n, n_valid);
            p.template store<V, true>(x[s - first], c, read[IS_AHEAD ? s : 0], at.batch, m + s * STEP, n, n_valid);
          }
        }
      } else {
#pragma unroll ENGINE::HAS_ROOM ? 4 : 1
        for (int s = 0; s < STEPS && s * STEP < rows; ++s) {
          typename ENGINE::sum x[SUMS][V];
#pragma unroll
          for (int j = 0; j < SUMS; ++j) fx_wgmma_get(x[j], get + s * STEP * ENGINE::PITCH + j * CHUNK * 4);
          fx_fetch<V, false>(p, read[0], at.batch, m + s * STEP, n, n_valid);
          p.template store<V, false>(x, c, read[0], at.batch, m + s * STEP, n, n_valid);
        }
      }
    }
  }
}

// fx_to_slabs: where store leaves what it has computed of two adjacent columns of tensor number I: in a box of shared memory
template <class ENGINE>
struct fx_to_slabs {
  unsigned at;  // in the box of the first tensor

  template <int I, int V, bool ALIGNED, class T>
  FX_DEVICE void put(T *p, const float (&x)[V], int) const {
    unsigned w[V * (int)sizeof(T) / 4];
    fx_pack<V>(w, x, p);
    fx_shared_put<V * (int)sizeof(T) / 4>(at + I * ENGINE::SLAB_BYTES, w);
  }
};

// fx_wgmma_send: starts copying a warp's boxes of 16 rows, which all its lanes have written, to tensor number I and those behind
template <int I, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_send(const PROBLEM &p, const fx_tensor_map *maps, unsigned slab, int batch, int m, int n) {
  if constexpr (I < PROBLEM::STORED) {
    typedef typename PROBLEM::template stored<I> stored;
    int at[stored::RANK];
    at[0] = n, at[1] = m;
    if constexpr (stored::RANK > 2) stored::place(p, batch, at);
    fx_tma_store(maps + stored::MAP, slab, at);
    fx_wgmma_send<I + 1, ENGINE>(p, maps, slab + ENGINE::SLAB_BYTES, batch, m, n);
  }
}

// fx_wgmma_boxes: the epilogue of a problem that stores by tensor maps: computes where the sums are, two columns at a time, and packs a chunk of a warp's 16 rows into a box while the one before is read; then the chunks behind
template <int CHUNK_NUMBER, class ENGINE, class PROBLEM>
FX_DEVICE void fx_wgmma_boxes(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at, int first_row, fx_wgmma_columns<ENGINE, PROBLEM> &columns,
                              const fx_wgmma_rows<ENGINE, PROBLEM> &rows, const fx_wgmma_sums<ENGINE> &acc, unsigned staging) {
  constexpr int SUMS = ENGINE::SUMS, CHUNK = ENGINE::CHUNK, PIECE = 128 / (CHUNK / 8);
  constexpr int BOXES = ENGINE::BN / CHUNK * ENGINE::PARTS, TURNS = BOXES % 2 ? 1 : ENGINE::SLABS / PROBLEM::STORED;  // the first box of the next tile takes the next turn, too
  const int lane = threadIdx.x % 32, row = fx_sum_row<ENGINE>(lane, 0), n = at.n + CHUNK_NUMBER * CHUNK;
  const fx_wgmma_columns<ENGINE, PROBLEM> c = columns;
  if (ENGINE::HAS_ROOM && CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) columns.fetch(p, at.batch, n + CHUNK);
#pragma unroll
  for (int part = 0; part < ENGINE::PARTS; ++part) {
    const unsigned slab = staging + (CHUNK_NUMBER * ENGINE::PARTS + part) % TURNS * PROBLEM::STORED * ENGINE::SLAB_BYTES;
    const int m = at.m + first_row + part * 64;
    if (lane == 0) fx_tma_wait<TURNS - 1>();
    fx_warp_barrier();  // the box has been read
#pragma unroll
    for (int i = 0; i < CHUNK / 8; ++i) {
      if (!ENGINE::HAS_ROOM) columns.fetch(p, at.batch, n, i);
      const unsigned to = slab + row * 128 + ((i * PIECE + lane % 4 * (PIECE / 4)) ^ row << 4);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        typename ENGINE::sum x[SUMS][2];
#pragma unroll
        for (int v = 0; v < SUMS * 2; ++v) x[v / 2][v % 2] = acc.get(v / 2, part, (CHUNK_NUMBER * (CHUNK / 8) + i) * 4 + half * 2 + v % 2);
        p.template store<2, true>(x, ENGINE::HAS_ROOM ? c.of[i] : columns.of[i], rows.of[part][half], at.batch, m + row + half * 8, n + i * 8 + lane % 4 * 2, 2,
                                  fx_to_slabs<ENGINE>{to + half * 1024});
      }
    }
    fx_tma_publish();
    fx_warp_barrier();  // the box is whole
    if (lane == 0) {
      if (n < p.n() && m < p.m()) fx_wgmma_send<0, ENGINE>(p, maps, slab, at.batch, m, n);
      fx_tma_commit();
    }
  }
  if constexpr (CHUNK_NUMBER + 1 < ENGINE::BN / CHUNK) fx_wgmma_boxes<CHUNK_NUMBER + 1, ENGINE>(p, maps, at, first_row, columns, rows, acc, staging);
}

// fx_reduces: whether an engine's epilogue reduces elements (driver_wgmma_reduce.cuh)
template <class ENGINE> FX_DEVICE constexpr auto fx_reduces(int) -> decltype(ENGINE::STAGED, true) { return true; }
template <class ENGINE> FX_DEVICE constexpr bool fx_reduces(...) { return false; }

// fx_reduces_columns: whether it does so where the sums are, over rows alone, and stores boxes besides
template <class ENGINE> FX_DEVICE constexpr auto fx_reduces_columns(int) -> decltype(ENGINE::BEHIND, true) { return true; }
template <class ENGINE> FX_DEVICE constexpr bool fx_reduces_columns(...) { return false; }

// fx_wgmma_start: what all threads of a block do once the first has begun the memory barriers
FX_DEVICE void fx_wgmma_start(const fx_tensor_map *maps) {
  if (threadIdx.x == 0) {
    fx_tma_prefetch(maps);
    fx_tma_prefetch(maps + 1);
    fx_mbarrier_publish();
  }
  fx_barrier();  // the memory barriers are there
  fx_let_next_start();
  fx_wait_for_kernel();
}

// fx_wgmma_load_tile: what the producer does for a tile
template <class RING>
struct fx_wgmma_load_tile {
  RING ring;  // of the block

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    fx_wgmma_producer<ENGINE> producer = {ring, at, maps};
    p.accumulate(producer);
  }
};

// fx_wgmma_count_tile: how many blocks of k a tile has
struct fx_wgmma_count_tile {
  int n;

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *, const fx_tile &) {
    fx_wgmma_blocks<ENGINE> blocks = {0};
    p.accumulate(blocks);
    n = blocks.n;
  }
};

// fx_wgmma_tile: what a consumer does for a tile: its products, then the epilogue; IS_ALONE: all tiles are of one problem
template <class RING, bool IS_ALONE>
struct fx_wgmma_tile {
  RING ring;         // of the block
  int consumer;      // its number
  unsigned staging;  // of the warp, in shared memory
  int skipped;       // blocks of k of the tile of the other consumer
  bool hands_over;   // whether that one has a tile to come

  template <class ENGINE, class PROBLEM>
  FX_DEVICE void run(const PROBLEM &p, const fx_tensor_map *maps, const fx_tile &at) {
    constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
    const int warp = threadIdx.x / 32 % 4, part = IS_PINGPONG ? 0 : consumer * ENGINE::PARTS;  // of the tile's 64 rows each, the first of this consumer
    fx_wgmma_columns<ENGINE, PROBLEM> columns;  // of the first chunk; those of the next are asked for while one is worked on
    if constexpr (ENGINE::HAS_ROOM && !fx_reduces<ENGINE>(0)) columns.fetch(p, at.batch, at.n);
    constexpr bool IS_SET = ENGINE::IS_SET;
    constexpr int EACH = ENGINE::BESIDE * ENGINE::BN / 2;
    fx_wgmma_sums<ENGINE> acc;
#pragma unroll
    for (int i = 0; IS_SET && i < ENGINE::PARTS * EACH; ++i) acc.of[0][i / EACH][i % EACH] = 0;
#pragma unroll
    for (int i = ENGINE::PARTS * EACH; ENGINE::PROMOTES && i < ENGINE::SUMS / ENGINE::BESIDE * ENGINE::PARTS * EACH; ++i) acc.of[i / (ENGINE::PARTS * EACH)][i / EACH % ENGINE::PARTS][i % EACH] = 0;
    if constexpr (IS_PINGPONG) fx_named_barrier(1 + consumer, 256);  // the other one has started all its products
    typename fx_wgmma_mainloop<typename ENGINE::T, ENGINE>::type mainloop = {acc, ring, (unsigned)part * ENGINE::BOX_BYTES, -1, {IS_SET}, at};
    p.accumulate(mainloop);
    if (IS_PINGPONG && hands_over) fx_named_arrive(2 - consumer, 256);
    typename fx_choose<(ENGINE::SLABS > 0), fx_wgmma_rows<ENGINE, PROBLEM>, fx_nothing>::type rows;
    if constexpr (ENGINE::SLABS > 0) rows.fetch(p, at, part * 64 + warp * 16);
    mainloop.end();
    if constexpr (IS_PINGPONG) ring.skip(skipped);
    if constexpr (!IS_ALONE) {  // the boxes of another problem's tile lay elsewhere
      if (threadIdx.x % 32 == 0) fx_tma_wait<0>();
      fx_warp_barrier();
    }
    if constexpr (fx_reduces<ENGINE>(0)) ENGINE::reduce(p, at, part * 64, acc);
    else if constexpr (fx_reduces_columns<ENGINE>(0)) ENGINE::template chunks<0>(p, maps, at, part * 64, columns, rows, acc, staging);
    else if constexpr (ENGINE::SLABS > 0) fx_wgmma_boxes<0, ENGINE>(p, maps, at, part * 64 + warp * 16, columns, rows, acc, staging);
    else fx_wgmma_epilogue<ENGINE>(p, at, part * 64 + warp * 16, columns, acc, staging);
  }
};

// fx_wgmma_alone: one problem, as a list
template <class ENGINE_, class PROBLEM>
struct fx_wgmma_alone {
  typedef ENGINE_ ENGINE;
  static constexpr bool IS_LAST = true;

  const PROBLEM &p;           // the problem
  const fx_tensor_map *maps;  // of the launch

  static FX_DEVICE constexpr int staging_bytes() { return ENGINE::STAGING_BYTES; }
  FX_DEVICE int columns() const { return (fx_count_columns<ENGINE>(p) - 1) / ENGINE::cluster::COLUMNS + 1; }
  template <class ACTION>
  FX_DEVICE void at_column(ACTION &action, int batch, int row, int column) const {
    typedef typename ENGINE::cluster cluster;
    action.template run<ENGINE>(p, maps, fx_tile{batch, (row * cluster::ROWS + cluster::row()) * ENGINE::BM, (column * cluster::COLUMNS + cluster::column()) * ENGINE::BN});
  }
};

// fx_gemm_wgmma_beside: computes this block's tile and those a whole grid on, of all problems of a list (beside.cuh) and all `batches`; tiles are fewer than 2**31. The engines of a list have one ring
// IS_INNER: phases behind this one need the registers as they lie
template <class LIST, bool IS_INNER = false>
FX_DEVICE void fx_gemm_wgmma_beside(const LIST &list, long long batches) {
  typedef typename LIST::ENGINE ENGINE;
  typedef fx_wgmma_ring<ENGINE> ring;
  constexpr int CONSUMERS = ENGINE::CONSUMERS;
  constexpr bool IS_PINGPONG = ENGINE::IS_PINGPONG;
  constexpr unsigned STAGING_BYTES = LIST::staging_bytes();
  const unsigned stages = fx_shared(fx_smem()), staging = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const ring begin = {stages, staging + CONSUMERS * 4 * STAGING_BYTES, 0, 0};
  typedef typename ENGINE::cluster cluster;  // what follows counts clusters, and tiles as many at a time
  const unsigned first = blockIdx.x / cluster::BLOCKS, step = gridDim.x / cluster::BLOCKS;
  const int rows = (fx_count_rows<ENGINE>(list.p) - 1) / cluster::ROWS + 1, columns = list.columns();
  const unsigned tiles = (unsigned)((long long)rows * columns * batches);
  const int group = threadIdx.x / 128;
  if (threadIdx.x == 0) begin.begin(1, (IS_PINGPONG ? 4 : 4 * CONSUMERS) * cluster::SHARING);
  fx_wgmma_start(list.maps);
  cluster::meet();  // all blocks have their memory barriers

  if (group == 0) {
    if constexpr (!IS_INNER) fx_give_registers<ENGINE::PRODUCER_REGISTERS>();
    if (threadIdx.x == 0) {
      fx_wgmma_load_tile<ring> load = {begin};
#pragma unroll 1
      for (unsigned number = first; number < tiles; number += step) {
        const fx_tile at = fx_find_place((int)number, rows, columns);
        list.at_column(load, at.batch, at.m, at.n);
      }
    }
    cluster::meet();  // nobody ends while others send it boxes or give it stages back
    return;
  }

  if constexpr (!IS_INNER) fx_take_registers<ENGINE::CONSUMER_REGISTERS>();
  const int consumer = group - 1;
  const unsigned turn = IS_PINGPONG ? step : 0;
  fx_wgmma_tile<ring, LIST::IS_LAST> tile = {begin, consumer, staging + (consumer * 4 + threadIdx.x / 32 % 4) * STAGING_BYTES, 0, false};
  fx_wgmma_count_tile blocks = {0};
  if ((LIST::IS_LAST || IS_PINGPONG) && first < tiles) {  // a phase may have no tile
    const fx_tile at = fx_find_place((int)first, rows, columns);
    list.at_column(blocks, at.batch, at.m, at.n);
  }
  if (IS_PINGPONG && consumer == 1) {
    tile.ring.skip(blocks.n);
    if (first < tiles) fx_named_arrive(1, 256);  // the first consumer goes first
  }
#pragma unroll 1
  for (unsigned number = first + consumer * turn; number < tiles; number += step + turn) {
    tile.hands_over = number + step < tiles;
    if (IS_PINGPONG && !LIST::IS_LAST && tile.hands_over) {
      const fx_tile next = fx_find_place((int)(number + step), rows, columns);
      list.at_column(blocks, next.batch, next.m, next.n);
    }
    tile.skipped = blocks.n;
    const fx_tile at = fx_find_place((int)number, rows, columns);
    list.at_column(tile, at.batch, at.m, at.n);
  }
  if ((ENGINE::SLABS > 0 || !LIST::IS_LAST) && threadIdx.x % 32 == 0) fx_tma_wait<0>();
  cluster::meet();
}

// fx_gemm_wgmma: likewise of one problem
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  fx_gemm_wgmma_beside(fx_wgmma_alone<ENGINE, PROBLEM>{p, maps}, batches);
}

// ---- clusters whose blocks share operands, of the gemm driver of sm_90a ----

// fx_wgmma_shared: ROWS tiles below each other by COLUMNS beside each other; of what is shared, each block copies every so many-th box, counted over all blocks of k of a tile
template <int ROWS_, int COLUMNS_>
struct fx_wgmma_shared {
  static constexpr int ROWS = ROWS_, COLUMNS = COLUMNS_, BLOCKS = ROWS * COLUMNS, SHARING = ROWS + COLUMNS - 1;
  static_assert(BLOCKS > 1 && BLOCKS <= 8, "no such cluster");

  static FX_DEVICE int row() { return fx_cluster_rank() / COLUMNS; }
  static FX_DEVICE int column() { return fx_cluster_rank() % COLUMNS; }
  static FX_DEVICE void meet() {
    fx_cluster_arrive();
    fx_cluster_wait();
  }
  template <bool IS_A>
  static FX_DEVICE bool copies(int box) { return IS_A ? box % COLUMNS == column() : box % ROWS == row(); }
  template <bool IS_A, int RANK>
  static FX_DEVICE void load(unsigned to, const fx_tensor_map *map, unsigned full, const int (&at)[RANK]) {
    if constexpr ((IS_A ? COLUMNS : ROWS) == 1) {
      fx_tma_load(to, map, full, at);
    } else {
      unsigned blocks = 0;
      for (int i = 0; i < (IS_A ? COLUMNS : ROWS); ++i) blocks |= 1u << (IS_A ? row() * COLUMNS + i : i * COLUMNS + column());
      fx_tma_load_cluster(to, map, full, at, (unsigned short)blocks);
    }
  }
  // The first lanes of a warp tell the blocks of its row, those behind the others of its column.
  static FX_DEVICE void give_back(unsigned empty) {
    const int lane = threadIdx.x % 32;
    const int block = BLOCKS == SHARING ? lane : lane < COLUMNS ? row() * COLUMNS + lane : (row() + lane - COLUMNS + 1) % ROWS * COLUMNS + column();
    if (lane < SHARING) fx_mbarrier_arrive_of(fx_shared_of(empty, block));
  }
};

// ---- the gemm driver of sm_90a, k over clusters ----

// fx_wgmma_cluster: as fx_wgmma, by CONSUMERS warpgroups side by side; in the place of staged sums each warp has room for what it is sent
template <class T_, class COLUMNS, int BM_, int B_TILES, int STAGES_, int CONSUMERS_, int SUMS_, bool ALIGNED_>
struct fx_wgmma_cluster {
  typedef float sum;
  typedef T_ T;
  typedef COLUMNS columns;
  typedef fx_wgmma_single cluster;  // a block copies its own slice
  static constexpr int SUMS = SUMS_, BESIDE = 1, SLABS = 0, BM = BM_, BN = COLUMNS::N, BK = 64, STAGES = STAGES_;
  static constexpr bool ALIGNED = ALIGNED_;
  static constexpr int CONSUMERS = CONSUMERS_, THREADS = 128 * (1 + CONSUMERS), WARPS = 4 * CONSUMERS;
  static constexpr int PARTS = BM / CONSUMERS / 64;
  static constexpr int BOX_BYTES = 64 * 64 * (int)sizeof(T);
  static constexpr int A_BYTES = BM / 64 * BOX_BYTES, B_BYTES = BN / 64 * BOX_BYTES, STAGE_BYTES = A_BYTES + B_TILES * B_BYTES;
  static constexpr int GROUPS = BN / 8, GROUPS_SHIFT = GROUPS == 8 ? 3 : GROUPS == 16 ? 4 : 5, GROUP_BYTES = 16 * 32 + 32;  // of 16 rows of 8 sums; groups begin in different banks
  static constexpr int SENT_BYTES = SUMS * PARTS * GROUPS * 16 * 32, ROOM_BYTES = SUMS * PARTS * GROUPS * GROUP_BYTES;  // of a warp, whatever the size of the cluster
  static constexpr int SHARED_BYTES = STAGES * STAGE_BYTES + WARPS * ROOM_BYTES + (2 * STAGES + 2 * WARPS) * 8;
  static_assert(BM % (CONSUMERS * 64) == 0 && GROUPS == 1 << GROUPS_SHIFT, "no such tile");
};

// fx_wgmma_slice: which blocks of k are this block's, of those that a problem's segments have one after the other
struct fx_wgmma_slice {
  int first, last;  // behind the last
  int passed;       // of the segments so far

  template <class SEGMENT, class PROBLEM>
  FX_DEVICE void next(const PROBLEM &p, int &begin, int &end) {
    const int n = SEGMENT::k_outer(p) * ((SEGMENT::k(p) + 63) / 64);
    begin = max(first - passed, 0);
    end = min(last - passed, n);
    passed += n;
  }
};

// fx_wgmma_slice_producer: fx_wgmma_producer of a slice
template <class ENGINE>
struct fx_wgmma_slice_producer : fx_wgmma_producer<ENGINE> {
  fx_wgmma_slice slice;

  FX_DEVICE fx_wgmma_slice_producer(fx_wgmma_ring<ENGINE> &ring, const fx_tile &at, const fx_tensor_map *maps, fx_wgmma_slice slice_)
      : fx_wgmma_producer<ENGINE>{ring, at, maps}, slice(slice_) {}
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    const int blocks = (SEGMENT::k(p) + (ENGINE::BK - 1)) / ENGINE::BK;
    int begin, end;
    slice.next<SEGMENT>(p, begin, end);
    int outer = begin / blocks, block = begin % blocks;
#pragma unroll 1
    for (; begin < end; ++begin) {
      this->template load<SEGMENT>(p, outer, block * ENGINE::BK);
      if (++block == blocks) block = 0, ++outer;
    }
    this->map += 1 + SEGMENT::SUMS;
  }
};

// fx_wgmma_slice_consumer: fx_wgmma_consumer of a slice
template <class ENGINE>
struct fx_wgmma_slice_consumer : fx_wgmma_consumer<ENGINE> {
  fx_wgmma_slice slice;

  FX_DEVICE fx_wgmma_slice_consumer(fx_wgmma_sums<ENGINE> &acc, fx_wgmma_ring<ENGINE> &ring, unsigned a_offset, fx_wgmma_slice slice_)
      : fx_wgmma_consumer<ENGINE>{acc, ring, a_offset, -1, {}}, slice(slice_) {
#pragma unroll
    for (int j = 0; j < ENGINE::SUMS; ++j) this->adds[j] = 1;  // a slice may have no products of a sum: all begin with 0
  }
  template <class SEGMENT, bool IS_RAGGED = false, class PROBLEM>
  FX_DEVICE void add(const PROBLEM &p) {
    int begin, end;
    slice.next<SEGMENT>(p, begin, end);
    this->template run<SEGMENT>(end - begin);
  }
};

// fx_wgmma_room: what a warp is sent for a tile, in shared memory: by rank of who sends it, sum, 64 rows of the consumer and group of 8 columns, 16 rows of 8 sums
template <class ENGINE, int SUMS>
struct fx_wgmma_room {
  unsigned at;                    // where it begins, in every block of the cluster
  unsigned received, free;        // memory barriers
  int blocks, share, share_shift;  // of the cluster; groups of columns that a block adds up, a power of two

  FX_DEVICE unsigned group(int rank, int j, int part, int i) const { return at + (((rank * SUMS + j) * ENGINE::PARTS + part) * share + i) * ENGINE::GROUP_BYTES; }

  // What this block adds up itself stays in it.
  FX_DEVICE void send(const fx_wgmma_sums<ENGINE> &acc, int rank) const {
    const unsigned lane = threadIdx.x % 32 * 8;
#pragma unroll
    for (int i = 0; i < ENGINE::GROUPS; ++i) {
      const int to_rank = i >> share_shift;
      const unsigned barrier = to_rank == rank ? 0 : fx_shared_of(received, to_rank);
#pragma unroll
      for (int e = 0; e < SUMS * ENGINE::PARTS; ++e) {
        const float *x = acc.of[e / ENGINE::PARTS][e % ENGINE::PARTS] + i * 4;
        const unsigned here = group(rank, e / ENGINE::PARTS, e % ENGINE::PARTS, i & (share - 1)) + lane;
        if (to_rank == rank) {
          fx_shared_put2(here, x[0], x[1]);
          fx_shared_put2(here + 256, x[2], x[3]);
        } else {
          const unsigned to = fx_shared_of(here, to_rank);
          fx_send2(to, x[0], x[1], barrier);
          fx_send2(to + 256, x[2], x[3], barrier);
        }
      }
    }
  }

  // The sums of V columns of each of N rows, which begin at these offsets in the groups of a sum.
  template <int N, int V>
  FX_DEVICE void get(float (&x)[N][SUMS][V], const unsigned (&offset)[N]) const {
    const unsigned of_sum = ENGINE::PARTS * share * ENGINE::GROUP_BYTES;
    unsigned from = at;
#pragma unroll
    for (int i = 0; i < N * SUMS; ++i) fx_wgmma_get(x[i / SUMS][i % SUMS], from + offset[i / SUMS] + i % SUMS * of_sum);
#pragma unroll 1
    for (int rank = 1; rank < blocks; ++rank) {
      float more[N * SUMS][V];
      from += SUMS * of_sum;
#pragma unroll
      for (int i = 0; i < N * SUMS; ++i) fx_wgmma_get(more[i], from + offset[i / SUMS] + i % SUMS * of_sum);
#pragma unroll
      for (int i = 0; i < N * SUMS * V; ++i) x[i / V / SUMS][i / V % SUMS][i % V] += more[i / V][i % V];
    }
  }
};

// fx_wgmma_cluster_epilogue: hands what a warp was sent to the problem, V columns of a row a lane
template <class ENGINE, int SUMS, class PROBLEM>
FX_DEVICE void fx_wgmma_cluster_epilogue(const PROBLEM &p, const fx_tile &at, int first_row, int first_column, const fx_wgmma_room<ENGINE, SUMS> &room) {
  constexpr int V = ENGINE::ALIGNED ? PROBLEM::V : 1, V_SHIFT = V == 8 ? 0 : V == 4 ? 1 : V == 2 ? 2 : 3;
  static_assert(V == 8 >> V_SHIFT, "a group has no such columns");
  constexpr int AT_ONCE = SUMS == 1 ? 4 : SUMS == 2 ? 2 : 1;  // vectors whose loads are under way together
  const int shift = room.share_shift + V_SHIFT, vectors = 16 * ENGINE::PARTS << shift;
#pragma unroll 1
  for (int first = threadIdx.x % 32; first < vectors; first += 32 * AT_ONCE) {
    typename PROBLEM::template columns<V> columns[AT_ONCE];
    typename PROBLEM::template frag<V> frag[AT_ONCE];
    int m[AT_ONCE], n[AT_ONCE], n_valid[AT_ONCE];
    unsigned offset[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i) {
      const int vector = min(first + 32 * i, vectors - 1), line = vector >> shift, column = (vector - (line << shift)) * V, part = line / 16, row = line % 16;
      m[i] = at.m + first_row + part * 64 + row, n[i] = at.n + first_column + column;
      n_valid[i] = first + 32 * i < vectors && m[i] < p.m() ? min(p.n() - n[i], V) : 0;
      offset[i] = (part * room.share + column / 8) * ENGINE::GROUP_BYTES + row * 32 + column % 8 * 4;
      if (n_valid[i] <= 0) continue;
      fx_fetch_columns<V, ENGINE::ALIGNED>(p, columns[i], at.batch, n[i], n_valid[i]);
      fx_fetch<V, ENGINE::ALIGNED>(p, frag[i], at.batch, m[i], n[i], n_valid[i]);
    }
    float x[AT_ONCE][SUMS][V];
    room.get(x, offset);
#pragma unroll
    for (int i = 0; i < AT_ONCE; ++i)
      if (n_valid[i] > 0) p.template store<V, ENGINE::ALIGNED>(x[i], columns[i], frag[i], at.batch, m[i], n[i], n_valid[i]);
  }
}

// fx_gemm_wgmma_cluster: computes this cluster's tile and those a whole grid of clusters on, of all `batches`; tiles are fewer than 2**31
template <class ENGINE, class PROBLEM>
FX_DEVICE void fx_gemm_wgmma_cluster(const PROBLEM &p, const fx_tensor_map *maps, long long batches) {
  constexpr int SUMS = PROBLEM::SUMS, PARTS = ENGINE::PARTS;
  const unsigned stages = fx_shared(fx_smem()), rooms = stages + ENGINE::STAGES * ENGINE::STAGE_BYTES;
  const unsigned barriers = rooms + ENGINE::WARPS * ENGINE::ROOM_BYTES, of_warps = barriers + 2 * ENGINE::STAGES * 8;
  const unsigned tiles = fx_count_tiles<ENGINE>(p, batches);
  const int rank = fx_cluster_rank(), blocks = fx_cluster_blocks();
  const unsigned first = blockIdx.x / blocks, step = gridDim.x / blocks;  // of clusters
  fx_wgmma_ring<ENGINE> ring = {stages, barriers, 0, 0};
  if (threadIdx.x == 0) {
    ring.begin(1, ENGINE::WARPS);
    for (int w = 0; w < ENGINE::WARPS; ++w) {
      fx_mbarrier_init(of_warps + w * 16, 1);
      fx_mbarrier_init(of_warps + w * 16 + 8, blocks);
    }
  }
  fx_wgmma_start(maps);
  if (blocks > 1) fx_cluster_arrive();  // the memory barriers are there for the other blocks, too, once waited for
  fx_wgmma_blocks<ENGINE> all = {0};
  p.accumulate(all);
  const fx_wgmma_slice slice = {(int)((long long)all.n * rank / blocks), (int)((long long)all.n * (rank + 1) / blocks), 0};

  if (threadIdx.x < 128) {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (unsigned number = first; number < tiles; number += step) {
        const fx_tile at = fx_nth_tile<ENGINE>(p, number);
        fx_wgmma_slice_producer<ENGINE> producer(ring, at, maps, slice);
        p.accumulate(producer);
      }
    }
    if (blocks > 1) fx_cluster_wait();
    return;
  }

  const int consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 - 4;
  const int first_row = consumer * PARTS * 64 + warp % 4 * 16;  // of a tile
  const bool is_idle = first_row >= p.m();                      // in every tile: no row of the only ones that there are
  const unsigned received = of_warps + warp * 16;
  const int share_shift = ENGINE::GROUPS_SHIFT - (blocks > 1) - (blocks > 2) - (blocks > 4);
  const fx_wgmma_room<ENGINE, SUMS> room = {rooms + warp * ENGINE::ROOM_BYTES, received, received + 8, blocks, 1 << share_shift, share_shift};
  unsigned parity = 0;
#pragma unroll 1
  for (unsigned number = first; number < tiles; number += step) {
    const fx_tile at = fx_nth_tile<ENGINE>(p, number);
    fx_wgmma_sums<ENGINE> acc;
#pragma unroll
    for (int i = 0; i < SUMS * PARTS * ENGINE::BN / 2; ++i) acc.of[i / (PARTS * ENGINE::BN / 2)][i / (ENGINE::BN / 2) % PARTS][i % (ENGINE::BN / 2)] = 0;
    fx_wgmma_slice_consumer<ENGINE> mainloop(acc, ring, (unsigned)consumer * PARTS * ENGINE::BOX_BYTES, slice);
    p.accumulate(mainloop);
    mainloop.end();
    if (is_idle) continue;
    if (blocks > 1) {
      if (number == first) fx_cluster_wait();        // all blocks have their memory barriers
      else fx_mbarrier_wait(room.free, parity ^ 1);  // all blocks have read what this warp sent them
      if (threadIdx.x % 32 == 0) fx_mbarrier_expect(room.received, ENGINE::SENT_BYTES / blocks * (blocks - 1));
    }
    room.send(acc, rank);
    if (blocks > 1) fx_mbarrier_wait_sent(room.received, parity);
    fx_warp_barrier();  // what the warp keeps is there, too
    fx_wgmma_cluster_epilogue<ENGINE, SUMS>(p, at, first_row, rank << (share_shift + 3), room);
    fx_warp_barrier();  // all lanes have read what was sent
    if (blocks > 1 && number + step < tiles && threadIdx.x % 32 < blocks) fx_mbarrier_arrive_of(fx_shared_of(room.free, threadIdx.x % 32));
    parity ^= 1;
  }
  if (blocks > 1 && (is_idle || first >= tiles)) fx_cluster_wait();
}

// ---- the pointwise driver ----

// fx_chunks_across: chunks of a row; unaligned rows may begin and end with part of one
template <int V, bool ALIGNED, class PROBLEM>
FX_DEVICE typename PROBLEM::index fx_chunks_across(const PROBLEM &p) {
  return ((typename PROBLEM::index)p.cols() + (ALIGNED ? 0 : 2 * (V - 1))) / V;
}

// fx_pointwise_chunk: one chunk of a row
template <int V, bool ALIGNED, class PROBLEM>
FX_DEVICE void fx_pointwise_chunk(const PROBLEM &p, typename PROBLEM::index row, typename PROBLEM::index chunk) {
  typedef typename PROBLEM::index index;
  const index cols = (index)p.cols(), begin = chunk * V - (ALIGNED ? 0 : p.template skew<V>(row));
  const index col = begin > 0 ? begin : 0, end = begin + V < cols ? begin + V : cols;
  if (end <= col) return;
  typedef typename PROBLEM::template frag<V> frag;
  frag f;
  if constexpr (!__is_empty(frag)) p.template fetch<V, ALIGNED>(f, row, col, (int)(end - col));
  p.template store<V, ALIGNED>(f, row, col, (int)(end - col));
}

// fx_pointwise: each thread takes a chunk and those a whole grid on
template <int V, bool ALIGNED, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  const index rows = (index)p.rows(), across = fx_chunks_across<V, ALIGNED>(p), chunks = rows * across;
  for (index chunk = (index)blockIdx.x * THREADS + threadIdx.x; chunk < chunks; chunk += (index)gridDim.x * THREADS) {
    const index row = rows == 1 ? 0 : chunk / across;
    fx_pointwise_chunk<V, ALIGNED>(p, row, chunk - row * across);
  }
}

// fx_pointwise_turned: likewise where some tensor has its rows contiguous, not its columns: a block takes a tile of ROWS rows, a warp 16 of them and two chunks of each, so that
// either kind of tensor is read and written in whole sectors of 32 bytes
template <int V, bool ALIGNED, int ROWS, int THREADS = 256, class PROBLEM>
FX_DEVICE void fx_pointwise_turned(const PROBLEM &p) {
  typedef typename PROBLEM::index index;
  constexpr int CHUNKS = THREADS / ROWS;
  static_assert(ROWS % 16 == 0 && CHUNKS % 2 == 0 && THREADS % ROWS == 0, "no such tile");
  const index rows = (index)p.rows(), across = fx_chunks_across<V, ALIGNED>(p), tiles_across = (across + (CHUNKS - 1)) / CHUNKS;
  const index tiles = (rows + (ROWS - 1)) / ROWS * tiles_across;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (index tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const index down = tile / tiles_across, row = down * ROWS + warp % (ROWS / 16) * 16 + lane / 2;
    const index chunk = (tile - down * tiles_across) * CHUNKS + warp / (ROWS / 16) * 2 + lane % 2;
    if (row < rows && chunk < across) fx_pointwise_chunk<V, ALIGNED>(p, row, chunk);
  }
}

// ==== generated from t.fx ====

template <class INDEX>
struct t_0_ {
  typedef INDEX index;
  const fx_f16 *x_;  // [B_, M_, K_]
  fx_f16 *buffer0_;  // [B_, M_, K_padded_]
  index B_;
  index M_;
  long long K_;
  index K_padded_;
  FX_DEVICE index rows() const { return (index)(B_ * M_); }
  FX_DEVICE index cols() const { return (index)(K_padded_); }
  template <int V> FX_DEVICE int skew(index row) const { return fx_skew<V>(buffer0_ + row * K_padded_); }
  template <int V> using frag = fx_nothing;  // nothing is read ahead of what is computed
  template <int V, bool ALIGNED> FX_DEVICE void store(const frag<V> &, index row, index col, int n_valid) const {
    float buffer0_out[V];
    const index at_B_ = row / M_;
    const index at_M_ = row % M_;
    fx_strip<1, 0, 0, V> x_v_;  // line 1: x @ w
    x_v_.template load<ALIGNED>(x_ + (long long)at_B_ * M_ * K_ + (long long)at_M_ * K_, (index)col, (index)K_, true, 0.0f);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      buffer0_out[v] = x_v_.get(v);
    }
    fx_store<V, ALIGNED>(buffer0_ + row * K_padded_ + col, buffer0_out, n_valid);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 43
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_0_few(const fx_f16 *x_, fx_f16 *buffer0_, long long B_, long long M_, long long K_, long long K_padded_) {
  FX_KNOWN(B_, M_, K_, K_padded_);
  fx_pointwise<2, true>(t_0_<int>{x_, buffer0_, (int)B_, (int)M_, K_, (int)K_padded_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 44
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_0_vector(const fx_f16 *x_, fx_f16 *buffer0_, long long B_, long long M_, long long K_, long long K_padded_) {
  FX_KNOWN(B_, M_, K_, K_padded_);
  fx_pointwise<8, true>(t_0_<int>{x_, buffer0_, (int)B_, (int)M_, K_, (int)K_padded_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 45
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_0_any(const fx_f16 *x_, fx_f16 *buffer0_, long long B_, long long M_, long long K_, long long K_padded_) {
  FX_KNOWN(B_, M_, K_, K_padded_);
  fx_pointwise<8, false>(t_0_<int>{x_, buffer0_, (int)B_, (int)M_, K_, (int)K_padded_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 46
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_0_big(const fx_f16 *x_, fx_f16 *buffer0_, long long B_, long long M_, long long K_, long long K_padded_) {
  FX_KNOWN(B_, M_, K_, K_padded_);
  fx_pointwise<8, false>(t_0_<long long>{x_, buffer0_, B_, M_, K_, K_padded_});
}
#endif

template <class INDEX>
struct t_1_ {
  typedef INDEX index;
  const fx_f16 *w_;  // [B_, K_, N_]
  fx_f16 *buffer1_;  // [B_, N_, K_padded_]
  index B_;
  long long K_;
  index N_;
  index K_padded_;
  FX_DEVICE index rows() const { return (index)(B_ * N_); }
  FX_DEVICE index cols() const { return (index)(K_padded_); }
  template <int V> FX_DEVICE int skew(index row) const { return fx_skew<V>(buffer1_ + row * K_padded_); }
  template <int V> using frag = fx_nothing;  // nothing is read ahead of what is computed
  template <int V, bool ALIGNED> FX_DEVICE void store(const frag<V> &, index row, index col, int n_valid) const {
    float buffer1_out[V];
    const index at_B_ = row / N_;
    const index at_N_ = row % N_;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (!ALIGNED && v >= n_valid) break;  // what lies outside is not read
      const index at_K_padded_ = (col + v);
      const index w_at_K_ = (index)at_K_padded_;
      float w_v_ = 0.0f;  // line 1: x @ w
      if (w_at_K_ < (index)K_) {
        w_v_ = fx_to_float(w_[(long long)at_B_ * K_ * N_ + (long long)w_at_K_ * N_ + at_N_]);
      }
      buffer1_out[v] = w_v_;
    }
    fx_store<V, ALIGNED>(buffer1_ + row * K_padded_ + col, buffer1_out, n_valid);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 47
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_1_vector(const fx_f16 *w_, fx_f16 *buffer1_, long long B_, long long K_, long long N_, long long K_padded_) {
  FX_KNOWN(B_, K_, N_, K_padded_);
  fx_pointwise_turned<8, true, 64>(t_1_<int>{w_, buffer1_, (int)B_, K_, (int)N_, (int)K_padded_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 48
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_1_any(const fx_f16 *w_, fx_f16 *buffer1_, long long B_, long long K_, long long N_, long long K_padded_) {
  FX_KNOWN(B_, K_, N_, K_padded_);
  fx_pointwise_turned<8, false, 64>(t_1_<int>{w_, buffer1_, (int)B_, K_, (int)N_, (int)K_padded_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 49
extern "C" __global__ void __launch_bounds__(256, 4)
fx_t_1_big(const fx_f16 *w_, fx_f16 *buffer1_, long long B_, long long K_, long long N_, long long K_padded_) {
  FX_KNOWN(B_, K_, N_, K_padded_);
  fx_pointwise_turned<8, false, 64>(t_1_<long long>{w_, buffer1_, B_, K_, N_, K_padded_});
}
#endif

struct t_2_ {
  float *y_;  // [B_, M_, N_]
  const fx_f16 *buffer0_;  // [B_, M_, K_padded_]
  const fx_f16 *buffer1_;  // [B_, N_, K_padded_]
  long long M_;
  long long N_;
  long long K_padded_;
  static constexpr int SUMS = 1;
  static constexpr int V = 8;  // columns the epilogue takes at a time
  FX_DEVICE int m() const { return (int)M_; }
  FX_DEVICE int n() const { return (int)N_; }
  struct a0 {  // buffer0_
    static constexpr int LAYOUT = FX_K_MAJOR;
    static FX_DEVICE const fx_f16 *at(const t_2_ &p, int, int batch, int) { return p.buffer0_ + batch * p.M_ * p.K_padded_; }
    static FX_DEVICE long long stride_mn(const t_2_ &p, int) { return p.K_padded_; }
    static FX_DEVICE long long stride_k(const t_2_ &, int) { return 1; }
    static constexpr int RANK = 3;  // of its tensor map
    static FX_DEVICE void place(const t_2_ &, int, int batch, int, int (&at)[RANK]) {
      at[2] = batch;
    }
    static constexpr int TAIL = 3;  // which of the tensor maps brings the last rows
  };
  struct b0 {  // buffer1_
    static constexpr int LAYOUT = FX_K_MAJOR;
    static FX_DEVICE const fx_f16 *at(const t_2_ &p, int, int batch, int) { return p.buffer1_ + batch * p.N_ * p.K_padded_; }
    static FX_DEVICE long long stride_mn(const t_2_ &p, int) { return p.K_padded_; }
    static FX_DEVICE long long stride_k(const t_2_ &, int) { return 1; }
    static constexpr int RANK = 3;  // of its tensor map
    static FX_DEVICE void place(const t_2_ &, int, int batch, int, int (&at)[RANK]) {
      at[2] = batch;
    }
    static constexpr int TAIL = 4;  // which of the tensor maps brings the last rows
  };
  struct segment0 {
    static constexpr int SUMS = 1;
    typedef a0 a;
    template <int J> using b = b0;
    static FX_DEVICE constexpr int sum(int) { return 0; }
    static FX_DEVICE int k(const t_2_ &p) { return (int)p.K_padded_; }
    static FX_DEVICE int k_outer(const t_2_ &) { return 1; }
  };
  static constexpr int STORED = 1;  // tensors that are stored by tensor maps
  struct stored0 {  // y_
    static constexpr int MAP = 2, RANK = 3;  // which of the tensor maps, and its
    static FX_DEVICE void place(const t_2_ &, int batch, int (&at)[RANK]) {
      at[2] = batch;
    }
  };
  template <int I> using stored = stored0;
  template <class MAINLOOP> FX_DEVICE void accumulate(MAINLOOP &mainloop) const {
    mainloop.template add<segment0>(*this);
  }
  template <class ENGINE, bool ALIGNED> FX_DEVICE void finish(const fx_tile &at) const { fx_gemm_epilogue<ENGINE, ALIGNED, SUMS>(*this, at); }
  template <int V> using columns = fx_nothing;  // nothing is read that is the same for all rows
  template <int V> using frag = fx_nothing;  // nothing is read of a row besides the operands
  template <int V, bool ALIGNED, class TO = fx_to_memory> FX_DEVICE void store(const float (&acc)[SUMS][V], const columns<V> &, const frag<V> &, int batch, int m, int n, int n_valid, const TO &to = TO()) const {
    float y_out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      y_out[v] = acc[0][v];
    }
    to.template put<0, V, ALIGNED>(y_ + batch * (M_ * N_) + m * N_ + n, y_out, n_valid);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 50
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 51
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x192_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 128, 1, 5, 2, true, 1, 32, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 52
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x256_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 128, 1, 4, 2, false, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 53
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_2_192x192_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 192, 1, 4, 3, false, 1, 32, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 54
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x128_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 64, 1, 8, 2, true, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 55
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x64_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 64, 1, 8, 2, true, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 56
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x256_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 64, 1, 5, 2, true, 1, 32, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 57
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x64_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 128, 1, 8, 2, true, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 58
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_256x128_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 256, 1, 4, 2, false, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 59
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_2_192x128_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 192, 1, 5, 3, false, 1, 32, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 60
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x192_wgmma(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 64, 1, 6, 2, true, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 61
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma_side(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, false, 1, 32, 2, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 62
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma_1x4(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true, fx_wgmma_shared<1, 4>>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 63
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma_1x2(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true, fx_wgmma_shared<1, 2>>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 64
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x256_wgmma_2x1(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 128, 1, 4, 2, false, 1, 32, 2, true, fx_wgmma_shared<2, 1>>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 65
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x128_wgmma_2x1(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 64, 1, 8, 2, true, 1, 32, 2, true, fx_wgmma_shared<2, 1>>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 66
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_2_64x64_wgmma_cluster(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_64, 64, 1, 8, 1, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 67
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_2_64x128_wgmma_cluster(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_128, 64, 1, 8, 1, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 68
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x64_wgmma_cluster(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_64, 128, 1, 8, 2, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 69
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma_cluster(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_128, 128, 1, 4, 2, 1, true>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 70
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_128x128_wgmma_any(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 0, false>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 71
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_2_64x64_wgmma_any(float *y_, const fx_f16 *buffer0_, const fx_f16 *buffer1_, long long B_, long long M_, long long N_, long long K_padded_, const __grid_constant__ fx_tensor_maps<5> maps) {
  FX_KNOWN(B_, M_, N_, K_padded_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 64, 1, 8, 2, true, 1, 32, 0, false>>(t_2_{y_, buffer0_, buffer1_, M_, N_, K_padded_}, maps.of, B_);
}
#endif

struct t_ {
  const fx_f16 *x_;  // [B_, M_, K_]
  const fx_f16 *w_;  // [B_, K_, N_]
  float *y_;  // [B_, M_, N_]
  long long M_;
  long long K_;
  long long N_;
  static constexpr int SUMS = 1;
  static constexpr int V = 8;  // columns the epilogue takes at a time
  FX_DEVICE int m() const { return (int)M_; }
  FX_DEVICE int n() const { return (int)N_; }
  struct a0 {  // x
    static constexpr int LAYOUT = FX_K_MAJOR;
    static FX_DEVICE const fx_f16 *at(const t_ &p, int, int batch, int) { return p.x_ + batch * p.M_ * p.K_; }
    static FX_DEVICE long long stride_mn(const t_ &p, int) { return p.K_; }
    static FX_DEVICE long long stride_k(const t_ &, int) { return 1; }
    static constexpr int RANK = 3;  // of its tensor map
    static FX_DEVICE void place(const t_ &, int, int batch, int, int (&at)[RANK]) {
      at[2] = batch;
    }
    static constexpr int TAIL = 3;  // which of the tensor maps brings the last rows
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using loader = fx_gemm_copied<ENGINE, BASE, t_, SEGMENT, a0, ALIGNED>;
  };
  struct b0 {  // w
    static constexpr int LAYOUT = FX_MN_MAJOR;
    static FX_DEVICE const fx_f16 *at(const t_ &p, int, int batch, int) { return p.w_ + batch * p.K_ * p.N_; }
    static FX_DEVICE long long stride_mn(const t_ &, int) { return 1; }
    static FX_DEVICE long long stride_k(const t_ &p, int) { return p.N_; }
    static constexpr int RANK = 3;  // of its tensor map
    static FX_DEVICE void place(const t_ &, int, int batch, int, int (&at)[RANK]) {
      at[2] = batch;
    }
    template <class ENGINE, class BASE, class SEGMENT, bool ALIGNED>
    using loader = fx_gemm_copied<ENGINE, BASE, t_, SEGMENT, b0, ALIGNED>;
  };
  struct segment0 {
    static constexpr int SUMS = 1;
    typedef a0 a;
    template <int J> using b = b0;
    template <class ENGINE, bool ALIGNED> using all_b = fx_gemm_b<ENGINE, ALIGNED, segment0>;
    static FX_DEVICE constexpr int sum(int) { return 0; }
    static FX_DEVICE int k(const t_ &p) { return (int)p.K_; }
    static FX_DEVICE int k_outer(const t_ &) { return 1; }
  };
  static constexpr int STORED = 1;  // tensors that are stored by tensor maps
  struct stored0 {  // y_
    static constexpr int MAP = 2, RANK = 3;  // which of the tensor maps, and its
    static FX_DEVICE void place(const t_ &, int batch, int (&at)[RANK]) {
      at[2] = batch;
    }
  };
  template <int I> using stored = stored0;
  template <class MAINLOOP> FX_DEVICE void accumulate(MAINLOOP &mainloop) const {
    mainloop.template add<segment0>(*this);
  }
  template <class ENGINE, bool ALIGNED> FX_DEVICE void finish(const fx_tile &at) const { fx_gemm_epilogue<ENGINE, ALIGNED, SUMS>(*this, at); }
  template <int V> using columns = fx_nothing;  // nothing is read that is the same for all rows
  template <int V> using frag = fx_nothing;  // nothing is read of a row besides the operands
  template <int V, bool ALIGNED, class TO = fx_to_memory> FX_DEVICE void store(const float (&acc)[SUMS][V], const columns<V> &, const frag<V> &, int batch, int m, int n, int n_valid, const TO &to = TO()) const {
    float y_out[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      y_out[v] = acc[0][v];
    }
    to.template put<0, V, ALIGNED>(y_ + batch * (M_ * N_) + m * N_ + n, y_out, n_valid);
  }
};

#if !defined(FX_ONLY) || FX_ONLY == 0
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny8_few(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, false, 4, 2, 16, false, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 1
extern "C" __global__ void __launch_bounds__(128, 5)
fx_t_skinny8(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, false, 4, 2, 4, false, true>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 2
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny16_few(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, false, 4, 2, 16, false, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 3
extern "C" __global__ void __launch_bounds__(128, 4)
fx_t_skinny16(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, false, 4, 2, 4, false, true>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 4
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny8_n_few(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, true, 8, 2, 16, true, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 5
extern "C" __global__ void __launch_bounds__(256, 2)
fx_t_skinny8_n_some(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, true, 8, 4, 8, true, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 6
extern "C" __global__ void __launch_bounds__(128, 4)
fx_t_skinny8_n(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, true, 8, 2, 4, true, true>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 7
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny16_n_few(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, true, 8, 2, 16, true, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 8
extern "C" __global__ void __launch_bounds__(256, 2)
fx_t_skinny16_n_some(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, true, 8, 2, 8, true, false>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 9
extern "C" __global__ void __launch_bounds__(128, 4)
fx_t_skinny16_n(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, true, 8, 2, 4, true, true>, true>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 10
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 11
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x192_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 128, 1, 5, 2, true, 1, 32, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 12
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x256_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 128, 1, 4, 2, false, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 13
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_192x192_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 192, 1, 4, 3, false, 1, 32, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 14
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x128_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 64, 1, 8, 2, true, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 15
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x64_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 64, 1, 8, 2, true, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 16
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x256_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 64, 1, 5, 2, true, 1, 32, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 17
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x64_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 128, 1, 8, 2, true, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 18
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_256x128_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 256, 1, 4, 2, false, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 19
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_192x128_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 192, 1, 5, 3, false, 1, 32, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 20
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x192_wgmma(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_192, 1, 64, 1, 6, 2, true, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 21
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma_side(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, false, 1, 32, 2, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 22
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma_1x4(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true, fx_wgmma_shared<1, 4>>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 23
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma_1x2(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 2, true, fx_wgmma_shared<1, 2>>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 24
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x256_wgmma_2x1(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_256, 1, 128, 1, 4, 2, false, 1, 32, 2, true, fx_wgmma_shared<2, 1>>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 25
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x128_wgmma_2x1(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 64, 1, 8, 2, true, 1, 32, 2, true, fx_wgmma_shared<2, 1>>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 26
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_64x64_wgmma_cluster(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_64, 64, 1, 8, 1, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 27
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_64x128_wgmma_cluster(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_128, 64, 1, 8, 1, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 28
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x64_wgmma_cluster(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_64, 128, 1, 8, 2, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 29
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma_cluster(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma_cluster<fx_wgmma_cluster<fx_f16, fx_columns_128, 128, 1, 4, 2, 1, true>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 30
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_128x128_wgmma_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_128, 1, 128, 1, 6, 2, true, 1, 32, 0, false>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 31
extern "C" __global__ void __launch_bounds__(384, 1)
fx_t_64x64_wgmma_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long B_, long long M_, long long K_, long long N_, const __grid_constant__ fx_tensor_maps<4> maps) {
  FX_KNOWN(B_, M_, K_, N_);
  fx_gemm_wgmma<fx_wgmma<fx_f16, fx_columns_64, 1, 64, 1, 8, 2, true, 1, 32, 0, false>>(t_{x_, w_, y_, M_, K_, N_}, maps.of, B_);
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 32
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny8_few_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, false, 4, 2, 16, false, false>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 33
extern "C" __global__ void __launch_bounds__(128, 2)
fx_t_skinny8_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, false, 4, 2, 4, false, true>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 34
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny16_few_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, false, 4, 2, 16, false, false>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 35
extern "C" __global__ void __launch_bounds__(128, 2)
fx_t_skinny16_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, false, 4, 2, 4, false, true>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 36
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_skinny1_n_few_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_fma<fx_f16, float, 1, 2>, true, 8, 2, 8, true, true>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 37
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny8_n_few_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, true, 8, 2, 16, true, false>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 38
extern "C" __global__ void __launch_bounds__(128, 2)
fx_t_skinny8_n_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 8>, true, 8, 2, 4, true, true>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 39
extern "C" __global__ void __launch_bounds__(512, 1)
fx_t_skinny16_n_few_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, true, 8, 2, 16, true, false>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 40
extern "C" __global__ void __launch_bounds__(128, 2)
fx_t_skinny16_n_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_skinny_early<fx_skinny_engine<fx_skinny_mma<fx_mma_16<fx_f16>, 16>, true, 8, 2, 4, true, true>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 41
extern "C" __global__ void __launch_bounds__(256, 1)
fx_t_128x128_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_gemm<fx_mma<fx_mma_16<fx_f16>, 128, 128, 64, 2, 4, 3>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif

#if !defined(FX_ONLY) || FX_ONLY == 42
extern "C" __global__ void __launch_bounds__(128, 2)
fx_t_64x64_any(const fx_f16 *x_, const fx_f16 *w_, float *y_, long long /* B_ */, long long M_, long long K_, long long N_) {
  FX_KNOWN(0, M_, K_, N_);
  fx_gemm<fx_mma<fx_mma_16<fx_f16>, 64, 64, 64, 2, 2, 4>, false>(t_{x_, w_, y_, M_, K_, N_});
}
#endif
