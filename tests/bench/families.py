#!/usr/bin/env python3
"""62 kernels of physics, graphics, recommendation, diffusion, losses and odd shapes beside eager PyTorch and torch.compile: families.py [SECONDS] [KERNEL...], on a machine with a GPU and build/libfx.so.

They were written from docs/language.md alone (families.fx). Output as of models.py.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

from beside import Bench

HERE = pathlib.Path(__file__).resolve().parent
B, ONLY = Bench(HERE.parents[1], deadline=float(sys.argv[1]) if len(sys.argv) > 1 else 540), sys.argv[2:]


def c(name, f, w=(), compiles=True, **ext):
    if not ONLY or name in ONLY:
        B.case(HERE / "families.fx", name, ext, f, weights=w, rounds=5, compiles=compiles)


bf = torch.bfloat16
c("vq", lambda x, k: torch.cdist(x, k).argmin(1), N=65536, D=64, J=1024)
c("vqp", lambda x, k: ((k * k).sum(1) - 2 * x @ k.T).argmin(1), N=65536, D=64, J=1024)
def infonce(a, b, tau=0.07):
    z = (a @ b.T).float() / tau
    return (torch.logsumexp(z, 1) - (a.float() * b.float()).sum(1) / tau).mean()
c("infonce", infonce, w=("a", "b"), B=8192, D=512)
c("w8a8", {"eager": lambda x, w, sx, sw, b: (torch._int_mm(x, w.T) * sx[:, None] * sw + b).to(bf)}, M=4096, N=4096, K=4096)
c("w8a8", {"eager": lambda x, w, sx, sw, b: (torch._int_mm(x, w.T) * sx[:, None] * sw + b).to(bf)}, M=64, N=4096, K=4096)
def pad(u, d, s):
    p = [0, 0] * u.dim(); i = 2 * (u.dim() - 1 - d)
    if s > 0: p[i + 1] = s
    else: p[i] = -s
    q = F.pad(u, p)
    return q.narrow(d, s if s > 0 else 0, u.shape[d])
c("lap3", lambda u: sum(pad(u, d, s) for d in range(3) for s in (-1, 1)) - 6 * u, X=384, Y=384, Z=384)
c("wave", lambda u, p, k: 2 * u - p + k * (sum(pad(u, d, s) for d in range(2) for s in (-1, 1)) - 4 * u), Y=4096, X=4096)
def bs(s, k, t, r=0.02, v=0.3):
    S, K, T = s.abs() + 1, k.abs() + 1, t.abs() + 0.1
    d1 = (torch.log(S / K) + (r + 0.5 * v * v) * T) / (v * torch.sqrt(T)); d2 = d1 - v * torch.sqrt(T)
    e = K * torch.exp(-r * T)
    n1, n2 = 0.5 * (1 + torch.erf(d1 * 0.70710678)), 0.5 * (1 + torch.erf(d2 * 0.70710678))
    return S * n1 - e * n2, e * (1 - n2) - S * (1 - n1)
c("bs", lambda s, k, t, *a: bs(s, k, t), N=16777216)
def nbody(p, m):
    d = p[None] - p[:, None]
    r2 = (d * d).sum(-1) + 1e-3
    return (m[None, :, None] * d * (r2 ** -1.5)[..., None]).sum(1)
c("nbody", nbody, N=8192)
c("cmm", lambda a, b, k, d: (a @ k - b @ d, a @ d + b @ k), w=("c", "d"), M=2048, K=2048, N=2048)
c("tnet", lambda a, b: torch.einsum("akbl,ldke->abde", a, b), A=64, K=64, B=64, L=64, D=64, E=64)
c("tnet16", lambda a, b: torch.einsum("akbl,ldke->abde", a, b), w=("b",), A=64, K=64, B=64, L=64, D=64, E=64)
c("xf4", lambda m, x: (m @ x[..., None])[..., 0], N=2097152)
sd = lambda q, k, v: F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)
c("sdcross", sd, compiles=False, B=4, S=4096, T=77, H=10, D=64)
c("sdcross", sd, compiles=False, B=4, S=4096, T=4096, H=8, D=40)
c("sdcross", sd, compiles=False, B=8, S=1024, T=1024, H=8, D=80)
c("vit", F.scaled_dot_product_attention, compiles=False, B=64, H=16, S=257, T=257, D=80)
c("vit", F.scaled_dot_product_attention, compiles=False, B=64, H=12, S=197, T=197, D=64)
def rmsb(x, g, dy):
    x, g, dy = (t.float() if t.dtype != torch.float64 else t for t in (x, g, dy))
    r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6); n = x * r; d = dy * g
    return (r * (d - n * (d * n).mean(-1, keepdim=True))), (dy * n).sum(0)
c("rmsb", lambda x, g, dy: tuple(t.to(x.dtype) for t in rmsb(x, g, dy)), M=8192, D=4096)
def sgb(g, u, dy):
    s = torch.sigmoid(g)
    return dy * u * s * (1 + g * (1 - s)), dy * g * s
c("sgb", sgb, M=8192, N=11008)
c("gnsd", lambda x, g, b: F.silu(F.group_norm(x.permute(0, 3, 1, 2), 32, g, b)).permute(0, 2, 3, 1), N=8, H=64, W=64, C=320)
c("stem", lambda x, k, s, t: F.relu(F.conv2d(x, k, stride=2, padding=3) * s[:, None, None] + t[:, None, None]).to(x.dtype), w=("k",), B=64, C=3, H=224, W=224, O=64)
c("dil", lambda x, k, b: F.relu(F.conv2d(x.permute(0, 3, 1, 2), k.permute(0, 3, 1, 2), b, padding=2, dilation=2)).permute(0, 2, 3, 1), w=("k",), B=16, H=64, W=64, C=256, O=256)
def wn(x, kf, kg, b, d):
    v = F.pad(x, (64, 0))
    return torch.tanh(F.conv1d(v, kf, b, dilation=64)) * torch.sigmoid(F.conv1d(v, kg, d, dilation=64))
c("wavenet", wn, w=("kf", "kg"), B=16, C=128, T=16000, O=128)
c("upconv", lambda x, k, b: F.conv2d(x.permute(0, 3, 1, 2).repeat_interleave(2, 2).repeat_interleave(2, 3), k.permute(0, 3, 1, 2), b, padding=1).permute(0, 2, 3, 1), w=("k",), B=2, H=64, W=64, C=512, O=512)
c("lrn", lambda x: x / (1 + 0.00002 * 5 * F.avg_pool3d((x * x)[:, None], (5, 1, 1), 1, (2, 0, 0)).squeeze(1)) ** 0.75, B=32, C=96, H=56, W=56)
c("gapfc", lambda x, w, b: F.linear(x.mean((2, 3)), w, b), w=("w",), B=256, C=2048, H=7, W=7, N=1000)
def sobel(x):
    p = F.pad(x, (1, 1, 1, 1)); h, w = x.shape[1:]
    s = lambda i, j: p[:, i:i + h, j:j + w]
    gx = s(0, 2) + 2 * s(1, 2) + s(2, 2) - s(0, 0) - 2 * s(1, 0) - s(2, 0)
    gy = s(2, 0) + 2 * s(2, 1) + s(2, 2) - s(0, 0) - 2 * s(0, 1) - s(0, 2)
    return torch.sqrt(gx * gx + gy * gy)
c("sobel", sobel, B=4, H=2048, W=2048)
c("blur", lambda x, k, l: F.conv2d(F.conv2d(x[:, None], l[None, None, None], padding=(0, 5)), k[None, None, :, None], padding=(5, 0))[:, 0], B=8, H=2048, W=2048)
c("gsample", lambda x, g: F.grid_sample(x, g, align_corners=True), B=16, C=32, H=128, W=128, P=128, Q=128)
def gcn(a, x, w):
    d = torch.rsqrt(a.abs().sum(1) + 1)[:, None]
    return F.relu(d * (a @ (d * (x @ w)).to(a.dtype)))
c("gcn", gcn, w=("w",), N=8192, F=512, O=256)
def ret(q, k, v, g):
    S = q.shape[2]; i = torch.arange(S, device=q.device)
    r = (i[:, None] - i[None]).to(g.dtype)
    dec = torch.where(r >= 0, torch.exp2(-g.abs()[:, None, None] * 0.02 * r), 0)
    return ((q @ k.transpose(-1, -2)) * dec.to(q.dtype)) @ v
c("retention", ret, w=("q", "k"), B=2, H=16, S=2048, D=128)
c("moedec", lambda x, e, w: F.silu(torch.bmm(w[e % w.shape[0]], x[..., None])[..., 0]), w=("w",), T=64, E=8, F=2048, D=1024)
c("bert", lambda t, y, we, wp, wt, g, b: F.layer_norm(we[t % we.shape[0]] + wp + wt[y % 2], g.shape, g, b), B=64, S=512, D=768, V=30522)
c("sample", lambda z, t: torch.softmax(z.float() / (t.abs() + 0.5)[:, None], -1), B=128, V=128256)
c("beam", lambda z, s: torch.log_softmax(z.float(), -1) + s[..., None], B=32, J=4, V=50257)
def iou(a, g):
    x0, y0 = torch.maximum(a[:, None, 0], g[None, :, 0]), torch.maximum(a[:, None, 1], g[None, :, 1])
    x1, y1 = torch.minimum(a[:, None, 2], g[None, :, 2]), torch.minimum(a[:, None, 3], g[None, :, 3])
    i = F.relu(x1 - x0) * F.relu(y1 - y0)
    A, G = ((a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])).abs(), ((g[:, 2] - g[:, 0]) * (g[:, 3] - g[:, 1])).abs()
    return (i / (A[:, None] + G[None] - i + 1)).max(1)
c("iou", lambda a, g: tuple(iou(a, g)), N=262144, M=128)
def mxq(x):
    t = x.float().reshape(x.shape[0], -1, 32)
    a = torch.exp2(torch.ceil(torch.log2(t.abs().amax(-1) / 448 + 1e-20)))
    return (t / a[..., None]).reshape(x.shape).to(torch.float8_e4m3fn), a
c("mxq", lambda x: mxq(x), M=8192, G=256)
c("f8lin", lambda x, w, a, s, b: F.gelu(torch._scaled_mm(x, w.T, a, s, bias=b, out_dtype=bf), approximate="tanh"), M=4096, N=4096, K=4096)
c("dgemm", lambda a, b, k: torch.addmm(k, a, b, alpha=2), compiles=False, M=2048, K=2048, N=2048)
c("dbmm", lambda a, b: a @ b, compiles=False, B=64, M=256, K=256, N=256)
c("cov", lambda x: (x - x.mean(0)).T @ (x - x.mean(0)) / (x.shape[0] - 1), N=100000, D=256)
c("kmu", lambda x, l: (F.one_hot(l % 256, 256).to(x.dtype).T @ x, F.one_hot(l % 256, 256).to(x.dtype).sum(0)), N=262144, D=32)
c("rbf", lambda x, z, a: torch.exp(-0.01 * ((x * x).sum(1)[:, None] + (z * z).sum(1) - 2 * x @ z.T)) @ a, N=8192, M=8192, D=64)
c("logreg", lambda x, w, t: x.T @ (torch.sigmoid(x @ w) - t) / x.shape[0], N=1048576, D=128)
c("fm", lambda v, x: 0.5 * ((v * x[..., None]).sum(1) ** 2 - ((v * x[..., None]) ** 2).sum(1)).sum(1), B=32768, F=39, E=16)
c("dcn", lambda x0, x, w, b: x0 * (x @ w + b) + x, w=("w",), B=16384, D=1024)
c("tower", lambda u, i: tuple((u @ i.T).float().max(1)), w=("i",), M=1024, N=262144, K=64)
c("segsm", lambda x: (torch.softmax(x, 1), x.argmax(1)), B=8, C=21, H=512, W=512)
def segce(x, t):
    k = t % 32
    return F.cross_entropy(x.float() if x.dtype != torch.float64 else x, torch.where(k < x.shape[1], k, 255), ignore_index=255)
c("segce", segce, B=8, C=21, H=512, W=512)
c("attnpool", lambda x, u: (torch.softmax((x @ u).float() * 0.03, 1)[:, None].to(x.dtype) @ x)[:, 0], B=128, T=1024, D=1024)
def grn(x, g, b):
    gx = torch.linalg.vector_norm(x.float() if x.dtype == bf else x, dim=(1, 2), keepdim=True)
    return (g * (x * (gx / (gx.mean(-1, keepdim=True) + 1e-6))) + b + x).to(x.dtype)
c("grn", grn, B=32, H=56, W=56, C=384)
c("cbam", lambda x, k: x * torch.sigmoid(F.conv2d(torch.stack([x.mean(1), x.amax(1)], 1), k[None], padding=3)), B=32, C=128, H=56, W=56)
c("relu2", lambda x, w: F.relu(x @ w.T) ** 2, w=("w",), M=4096, K=4096, F=16384)
c("clipg", lambda g: g * torch.clamp(1 / (torch.linalg.vector_norm(g, dtype=torch.float32 if g.dtype == bf else None) + 1e-6), max=1).to(g.dtype), M=4096, N=11008)
def qkrope(q, g, cs, sn):
    n = F.rms_norm(q, g.shape, g)
    a, b = n.chunk(2, -1); s, t = cs[:, None], sn[:, None]
    return torch.cat([a * s - b * t, b * s + a * t], -1).to(q.dtype)
c("qkrope", qkrope, B=4, S=4096, H=32, E=64)
c("head", lambda h, w: torch.tanh((h @ w.T) / 30) * 30, w=("w",), M=256, K=4096, V=128256)
c("conv3d", lambda x, k: F.relu(F.conv3d(x, k, padding=1)), w=("k",), B=8, C=32, Z=16, H=64, W=64, O=64)
c("conv3df", lambda x, k: F.relu(F.conv3d(x, k, padding=1)), w=("k",), B=8, C=32, Z=16, H=32, W=32, O=64)
c("bgemv", lambda a, x: torch.bmm(a, x[..., None])[..., 0].float(), w=("a",), B=256, M=512, K=1024)
c("small3", lambda a, b: a @ b, B=65536, M=16, K=16, N=16)
def mb1(x, w, dy):
    dz = dy * (x @ w > 0).to(dy.dtype)
    return dz @ w.T, x.T @ dz
c("mlp_bwd1", mb1, w=("w",), M=8192, K=2048, N=4096)
B.summary()
