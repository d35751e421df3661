# Without reductions by runs where these take more launches: the columns of the product are reduced and normalised by one row program.
kernel batch_norm(x: bf16[M=1024,K=8192], w: bf16[N=8192,K], g: bf16[N]) -> y: bf16[M,N] { y = layernorm[M](x @ w) * g }
# One kernel is asked for.
kernel whole(x: bf16[M=1024,K=8192], w: bf16[N=8192,K]) -> y: f32[N] with { fuse: require } { y = max[M](x @ w) }
