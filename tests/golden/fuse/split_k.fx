# A long k and few tiles: slices of k beside each other, then their sum with the epilogue; the longest label of two is cut. Not where tiles are many, k does not divide,
# a factor is made of another product, or the kernel says how it is to be fused.
kernel deep(x: bf16[M=64,K=8192], w: bf16[K,N=128], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel two(x: f16[B=2,M=32,K=4096,P=3], w: f16[B,K,P,N=64]) -> y: f16[B,M,N] { y = sum[K,P](x * w) }
kernel many(x: bf16[M=4096,K=8192], w: bf16[K,N=4096]) -> y: f32[M,N] { y = x @ w }
kernel odd(x: bf16[M=64,K=8209], w: bf16[K,N=128]) -> y: f32[M,N] { y = x @ w }
kernel whole(x: bf16[M=64,K=8192], w: bf16[K,N=128]) -> y: f32[M,N] with { fuse: require } { y = x @ w }
kernel wide(x: f64[M=8,K=2048], w: f64[K,N=8]) -> y: f64[M,N] { y = x @ w }
# Two labels of k, neither of them long: the first is cut.
kernel outer(x: f32[B=64,I=256], w: f32[O=64,I,J=256], v: f32[B,J]) -> z: f32[B,O] { z = sum[I,J](x * w * v) }
# A factor made of a reduction over the label that is cut: the mean stays whole.
kernel centred(x: bf16[M=16384,N=64]) -> c: f32[N,P=N] { m = x - mean[M](x); c = sum[M](bf16(m) * bf16(m{N->P})) }
# Both factors one tensor, under other labels in one of them: cut anywhere, as if it were two. Not along a label that is renamed itself.
kernel gram(x: f32[N=10007,D=64]) -> c: f32[D,E=D] { c = sum[N](x * x{D->E}) }
kernel gram_open(x: f32[N,D]) -> c: f32[D,E=D] { c = sum[N](x * x{D->E}) }
kernel turned(x: bf16[N=5003,M=5003], w: bf16[N,D=64]) -> c: f32[M,D] { c = sum[N](x[N: idx(M), M: idx(N)] * w) }
# A computed factor has equal slices, which need not fill blocks of k.
kernel scaled(x: f32[N=12200,D=64], s: f32[N]) -> c: f32[D,E=D] { c = sum[N]((x * s) * x{D->E}) }
