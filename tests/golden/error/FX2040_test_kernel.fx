kernel linear(x: f16[M,K], w: f16[K,N=8], s: f32) -> y: f16[M,N] { y = (s * (x @ w)) }
test nosuch { M=3 }
bench linea { M=3 }
