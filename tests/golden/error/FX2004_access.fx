kernel k(x: f32[M,N], J: f32[M]) -> (x: f32[M,N], y: f32[J,J]) { y = x }
kernel l(x: f32[M,N]) -> y: f32[M,N] { y = x[M: 0, M: 1] ?? 0 }
kernel m(x: f32[P]) -> y: f32[A] { y = x{P->(A,A)} }
