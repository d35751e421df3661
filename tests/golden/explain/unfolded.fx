# args: -D B=16 -D C=256 -D H=32 -D W=32 -D O=128
# a transposed convolution as a sum over taps: what each position takes is written out, as extents say that it fits, and w with it
kernel deconv[P=2*H, Q=2*W](x: bf16[B,C,H,W], w: bf16[C,O,U=4,V=4], b: bf16[O]) -> y: bf16[B,O,P,Q] {
  t = where((idx(P) + 1 - idx(U)) % 2 == 0 && (idx(Q) + 1 - idx(V)) % 2 == 0, x[H: (P+1-U)//2, W: (Q+1-V)//2] ?? 0, 0)
  y = relu(sum[C,U,V](t * w) + b)
}
