# args: -v --arch=sm_90a -D M=132 -D N=4096 -D K=512 -D G=32 -D H=49
# what a price is made of: rows as many as multiprocessors, passes over rows, few rows of a product, the elements it computes, slices of k, parts of groups
kernel rows(x: f32[M,N]) -> y: f32[M,N] { y = x - logsumexp[N](x) }
kernel stored(x: f32[M,N], g: f32[N]) -> (y: f32[M,N], m: f32[M]) { m = max[N](x); y = softmax[N](x) * g }
kernel few(x: f32[R=4,K], w: f32[K,N]) -> y: f32[R,N] { y = x @ w }
kernel sliced(x: f16[B=3,R=16,L=4096], w: i8[B,C=64,L], s: f32[C]) -> y: f32[B,R,C] { y = s * (x @[L] w) }
kernel groups[G, P=8](x: f16[M,H,C=G*P], w: f16[C,D=G*P]) -> y: f16[M,H,D] {
  y = silu(layernorm[P,H]((x @[C] w){D->(G,P)}){(G,P)->D})
}
kernel whole(x: f32[M,N]) -> y: f32[M,N] { y = softmax[M,N](x) }
kernel columns(x: f16[M,N]) -> (y: f16[N], m: f16[N]) { y = logsumexp[M](x); m = max[M](x) }
kernel running(x: f16[M,N]) -> y: f16[M,N] with { fuse: require } { y = cumsum[M](x) }
