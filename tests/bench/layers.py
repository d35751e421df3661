#!/usr/bin/env python3
"""Layers of current models beside eager PyTorch: layers.py [SECONDS] [KERNEL...], on a machine with a GPU and build/libfx.so.

Output: a JSON line a case, microseconds and the ratio PyTorch / ours, every element compared with float64 where PyTorch computes the function in it; the geometric mean.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

from beside import Bench

HERE = pathlib.Path(__file__).resolve().parent
B, S, ONLY = Bench(HERE.parents[1], deadline=float(sys.argv[1]) if len(sys.argv) > 1 else 540), HERE / "layers.fx", sys.argv[2:]


def c(name, ext, f, **k):
    if ONLY and name not in ONLY:
        return
    k.setdefault("compiles", False); k.setdefault("weights", ("w", "v"))
    B.case(S, name, ext, f, rounds=7, **k)


mm = lambda x, w: x @ w
nk = lambda x, w: x @ w.t()
c("mm", dict(M=4096, N=4096, K=4096), mm)
c("lin_gelu", dict(M=4096, N=4096, K=4096), lambda x, w, b: F.gelu(F.linear(x, w, b)))
c("gqa", dict(H=8, R=4, S=4096, T=4096, D=128), lambda q, k, v: F.scaled_dot_product_attention(q.reshape(1, 32, 4096, 128), k[None], v[None], is_causal=True, enable_gqa=True).reshape(q.shape))
c("attn", dict(H=64, S=4096, T=4096, D=128), lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0])
c("mm_f32", dict(M=4096, N=4096, K=4096), mm); c("mm_f32", dict(M=1024, N=1024, K=1024), mm)
def t32(x, w):
    torch.backends.cuda.matmul.allow_tf32 = True
    try: return x @ w.t()
    finally: torch.backends.cuda.matmul.allow_tf32 = False
c("mm_tf32", dict(M=4096, N=4096, K=4096), t32)
for e in [(16,4096,4096), (1,14336,4096), (300,5000,4104), (256,256,65536), (72,4096,4096), (4095,4097,4093), (512,512,4096)]: c("mm_nk", dict(M=e[0], N=e[1], K=e[2]), nk)
sg = lambda x, w, v: F.silu(x @ w.t()) * (x @ v.t())
c("swiglu", dict(M=4096, N=11008, K=4096), sg); c("swiglu", dict(M=1, N=14336, K=4096), sg)
def deq(q, s):
    sh = torch.arange(8, device=q.device, dtype=torch.int32) * 4
    u = ((q[..., None] >> sh) & 15).reshape(q.shape[0], -1)
    return ((u - 8).to(s.dtype) * s.repeat_interleave(128, 1))
for m in (1, 16): c("w4", dict(M=m, N=14336, K=4096), lambda x, q, s: x @ deq(q, s if s.dtype == x.dtype else s.to(x.dtype)).t())
c("cumd", dict(B=4, K=1024, N=2048), lambda x: x.cumsum(1))
c("bmm", dict(B=64, M=1024, N=1024, K=1024), mm)
c("mm", dict(M=1024, N=1024, K=1024), mm); c("mm", dict(M=8192, N=8192, K=8192), mm); c("mm", dict(M=2048, N=2048, K=2048), mm)
c("resid", dict(M=4096, N=4096, K=4096), lambda x, w, r: torch.addmm(r, x, w.t()))
c("i8lin", dict(M=1, N=4096, K=4096), lambda x, w, s: (x @ w.to(x.dtype).t()) * s)
c("lin_gelu", dict(M=512, N=4096, K=1024), lambda x, w, b: F.gelu(F.linear(x, w, b)))
c("sm", dict(M=8192, N=8192), lambda x: torch.softmax(x, -1))
c("tradd", dict(M=8192, N=8192), lambda x, y: x + y.t())
B.summary()
