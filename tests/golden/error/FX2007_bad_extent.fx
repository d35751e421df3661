kernel k(x: f32[M=2.5], z: f32[K=0-1], u: f32[J=1/0]) -> y: f32[M] { y = x }
# the product is 2^80, of which 64 bits hold 0
kernel l(x: f32[A=1099511627776,B=1099511627776,C=1]) -> y: f32[P] { y = x{(A,B,C)->P} }
