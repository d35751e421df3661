#!/usr/bin/env python3
"""Kernels of state spaces, mixtures of experts, vision, volumes, particles, alignments, graphs, optimisers and gradients beside eager PyTorch and torch.compile: families2.py [SECONDS] [KERNEL...], on a machine with a GPU and build/libfx.so.

They were written from docs/language.md alone (families2.fx). Output as of models.py. CASES are read by what checks them without a GPU too: (kernel, function, options, extents, small extents).
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
CASES = []


def c(name, f, small, w=(), compiles=True, below=None, **ext):
    """w: inputs that are divided by the root of their last extent; below: integer inputs and what they index."""
    CASES.append((name, f, dict(weights=w, compiles=compiles, below=below or {}), ext, small))


def up(*ts):
    """What is computed in f32 of 16-bit inputs."""
    r = tuple(t.float() if t.dtype in (torch.bfloat16, torch.float16) else t for t in ts)
    return r if len(r) > 1 else r[0]


def shift(x, d, n=1, fill=0.0):
    """x[d: d - n] ?? fill, of n > 0; of n < 0 what comes later."""
    p = torch.full_like(x.narrow(d, 0, abs(n)), fill)
    k = x.shape[d] - abs(n)
    return torch.cat([p, x.narrow(d, 0, k)], d) if n > 0 else torch.cat([x.narrow(d, -n, k), p], d)


def recur(a, b, d):
    """A loop over steps: PyTorch has no linear recurrence."""
    h, out = torch.zeros_like(b.select(d, 0)), []
    for t in range(b.shape[d]):
        h = (a.select(d, t) if torch.is_tensor(a) and a.dim() == b.dim() else a) * h + b.select(d, t)
        out.append(h)
    return torch.stack(out, d)


# state spaces and gated linear layers
def decay(a):
    return torch.cumsum(-a.abs() * 0.1, 2)


def ssd_chunk(x, a, b, c):
    s = decay(a).permute(0, 1, 3, 2)
    m = torch.exp((s[..., :, None] - s[..., None, :]).masked_fill(torch.ones(s.shape[-1], s.shape[-1], dtype=torch.bool, device=x.device).triu(1), -torch.inf))
    g = (c @ b.transpose(-1, -2))[:, :, None] * m
    return (g.to(x.dtype) @ x.transpose(2, 3)).transpose(2, 3)


def ssd_state(x, a, b):
    s = decay(a)
    return torch.einsum("bnlhp,bnls->bnhps", x * torch.exp(s[:, :, -1:] - s)[..., None].to(x.dtype), b)


c("ssd_chunk", ssd_chunk, dict(B=1, N=2, L=32, H=2, P=16, S=16), w=("b",), B=2, N=16, L=256, H=24, P=64, S=128)
c("ssd_state", ssd_state, dict(B=1, N=2, L=32, H=2, P=16, S=16), B=2, N=16, L=256, H=24, P=64, S=128)
c("ssd_pass", lambda h, a: shift(recur(torch.exp(-a.abs())[..., None, None], h, 1), 1), dict(B=1, N=3, H=2, P=8, S=8), B=2, N=16, H=24, P=64, S=128)
def rwkv_mix(x, mr, mk, mv):
    d = shift(x, 1) - x
    return x + d * mr, x + d * mk, x + d * mv
c("rwkv_mix", rwkv_mix, dict(B=2, T=5, C=24), B=8, T=2048, C=2048)
def wkv(k, v, w, u):
    f, e = torch.exp(-w.abs()), torch.exp(k)
    n, d = recur(f, e * v, 1), recur(f, e, 1)
    b = torch.exp(u + k)
    return (shift(n, 1) + b * v) / (shift(d, 1) + b)
c("wkv", wkv, dict(B=2, T=9, C=12), compiles=False, B=8, T=512, C=768)
def sscan(x, dt, a, b, c, s):
    x, dt, b, c = up(x, dt, b, c)
    g = F.softplus(dt)
    h = recur(torch.exp(-g[..., None] * a.abs()), (g * x)[..., None] * b[:, :, None], 1)
    return (h * c[:, :, None]).sum(-1) + s * x
c("sscan", sscan, dict(B=2, T=9, D=12, N=4), compiles=False, B=2, T=512, D=1536, N=16)
def longconv(x, k, d):
    return F.conv1d(F.pad(x, (x.shape[2] - 1, 0)), k.flip(1)[:, None], groups=x.shape[1]) + d[:, None] * x
c("longconv", longconv, dict(B=2, C=3, T=24), w=("k",), B=4, C=256, T=1024)
def qrnn(z, f, o):
    z, f, o = up(z, f, o)
    g = torch.sigmoid(f)
    return torch.sigmoid(o) * recur(g, (1 - g) * torch.tanh(z), 1)
c("qrnn", qrnn, dict(B=2, T=9, C=24), compiles=False, B=16, T=512, C=1024)
c("lightconv", lambda x, w: sum(torch.softmax(w.float(), -1).to(x.dtype)[..., u:u + 1] * shift(x, 1, 6 - u) if u < 6 else torch.softmax(w.float(), -1).to(x.dtype)[..., u:u + 1] * x for u in range(7)),
  dict(B=2, T=9, H=2, D=8), B=8, T=1024, H=16, D=64)
# mixtures of experts and projections
def dsrouter(x, w, b):
    s = torch.sigmoid((x @ w.T).float() if x.dtype != torch.float64 else x @ w.T)
    t = (s + b * 0.01).unflatten(1, (8, -1))
    keep = torch.zeros_like(t[..., 0]).scatter(1, t.topk(2, -1)[0].sum(-1).topk(2, -1)[1], 1)
    i = (t - 1e9 * (1 - keep[..., None])).flatten(1).topk(4, -1)[1]
    p = torch.zeros_like(s).scatter(1, i, 1) * s
    return p / (p.sum(1, keepdim=True) + 1e-20)
c("dsrouter", dsrouter, dict(M=9, D=32, E=64), w=("w",), M=8192, D=2048, E=256)
def moe_in(x, at, w, v):
    t = x[at.long()]
    return F.silu(torch.bmm(t, w.transpose(1, 2))) * torch.bmm(t, v.transpose(1, 2))
c("moe_in", moe_in, dict(M=9, E=2, C=5, D=32, F=24), w=("w", "v"), below=dict(at="M"), M=8192, E=8, C=2048, D=2048, F=1408)
c("moe_out", lambda y, g, e, p: (g[..., None] * y[e.long(), p.long()]).sum(1).to(y.dtype), dict(E=2, C=5, D=32, M=9, K=2), below=dict(e="E", p="C"), E=8, C=2048, D=2048, M=8192, K=2)
c("mla_q", lambda q, w: torch.einsum("thd,hdr->thr", q, w), dict(T=9, H=2, D=16, R=32), w=("w",), T=128, H=128, D=128, R=512)
def mla_dec(q, p, c, k, n):
    s = (torch.einsum("bhr,btr->bht", q, c) + torch.einsum("bhe,bte->bht", p, k)) * 0.07216878
    s = s.masked_fill(torch.arange(c.shape[1], device=q.device) >= n[:, None, None], -torch.inf)
    return torch.softmax(up(s), -1).to(q.dtype) @ c
c("mla_dec", mla_dec, dict(B=2, H=4, R=32, E=16, T=24), below=dict(n="T"), B=32, H=16, R=512, E=64, T=4096)
def qrope(x, w, cs, sn):
    a, b = (x @ w.T).unflatten(1, (32, 128)).chunk(2, -1)
    return torch.cat([a * cs[:, None] - b * sn[:, None], b * cs[:, None] + a * sn[:, None]], -1).to(x.dtype)
c("qrope", qrope, dict(S=5, K=32), w=("w",), S=4096, K=4096)
def rms(x, eps=1e-6):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
def gemmares(x, h, g, k):
    t = x.dtype
    x, h, g, k = up(x, h, g, k)
    r = x + rms(h) * (1 + g)
    return r.to(t), (rms(r) * (1 + k)).to(t)
c("gemmares", gemmares, dict(M=5, D=48), M=8192, D=3584)
def t5bias(tab):
    i = torch.arange(1024, device=tab.device)
    n = i[None] - i[:, None]
    f = n.abs()
    l = (8 + (torch.log(f.clamp(min=1).float() / 8) / 2.772588722 * 8).long()).clamp(max=15)
    return tab[torch.where(n > 0, 16, 0) + torch.where(f < 8, f, l)].permute(2, 0, 1).to(torch.bfloat16).contiguous()
c("t5bias", t5bias, dict(H=1), H=16)
def dora(x, w, a, b, m):
    v = (w + b @ a).float() if x.dtype != torch.float64 else w + b @ a
    return ((x @ w.T + (x @ a.T) @ b.T) * (m / torch.linalg.vector_norm(v, dim=1))).to(x.dtype)
c("dora", dora, dict(M=5, K=32, N=24, R=4), w=("w", "a"), M=4096, K=4096, N=4096, R=16)
def lora_bwd(x, w, a, b, dy):
    d = (dy @ b) * 2
    return dy @ w + d @ a, d.T @ x, dy.T @ (x @ a.T) * 2
c("lora_bwd", lora_bwd, dict(M=9, K=32, N=24, R=4), w=("w", "a", "b"), M=8192, K=4096, N=4096, R=16)
def bitnet(x, w, s):
    a = x.abs().amax(1, keepdim=True).clamp(min=1e-5).to(s.dtype) / 127
    q = torch.round((x / a).clamp(-128, 127))
    y = torch._int_mm(q.to(torch.int8), w.T) if x.is_cuda and x.dtype != torch.float64 else q.double() @ w.T.double()
    return (y * a * s).to(x.dtype)
c("bitnet", bitnet, dict(M=5, K=32, N=24), M=512, N=4096, K=4096)
c("joint", lambda f, g, w, b: torch.tanh(f[:, :, None] + g[:, None]) @ w.T + b, dict(B=2, T=5, U=3, H=32, V=24), w=("w",), B=8, T=200, U=40, H=640, V=1024)


# pictures and volumes
def nhwc(f):
    return lambda x, k, *a: f(x.permute(0, 3, 1, 2), k.permute(0, 3, 1, 2), *a).permute(0, 2, 3, 1)
c("timeadd", nhwc(lambda x, k, b, t, w: F.conv2d(x, k, b, padding=1) + (F.silu(t) @ w.T)[..., None, None]), dict(B=2, H=4, W=5, C=16, O=16, E=32), w=("k", "w"), B=4, H=64, W=64, C=320, O=320, E=1280)
def modconv(x, k, s):
    d = torch.rsqrt((s * s) @ (up(k) ** 2).sum((2, 3)).T + 1e-8)
    return (F.conv2d((x * s[..., None, None]).to(x.dtype), k, padding=1) * d[..., None, None]).to(x.dtype)
c("modconv", modconv, dict(B=2, C=16, H=4, W=4, O=16), w=("k",), B=8, C=512, H=32, W=32, O=512)
c("spade", lambda x, g, b: F.instance_norm(x) * (1 + g) + b, dict(B=2, C=3, H=4, W=4), B=4, C=256, H=64, W=64)
c("skipconv", lambda a, b, k, c: F.silu(torch.cat([a, b], -1) @ k.T + c), dict(B=2, H=3, W=4, C=16, D=16, O=24), w=("k",), B=4, H=64, W=64, C=320, D=320, O=320)
c("gluconv", lambda x, k, b: F.glu(F.conv1d(x, k, b, padding=1), 1), dict(B=2, C=16, T=12, O=8), w=("k",), B=16, C=256, T=2000, O=256)
def natten(q, k, v, r):
    n = q.shape[1]
    wins = lambda x: F.pad(x, (0, 0, 0, 0, 6, 6)).unfold(1, 13, 1)
    s = torch.einsum("bthd,bthdu->bthu", q, wins(k)) * 0.17677669 + r
    return torch.einsum("bthu,bthdu->bthd", torch.softmax(up(s), -1).to(q.dtype), wins(v))
c("natten", natten, dict(B=1, T=16, H=2, D=8), B=8, T=2048, H=8, D=32)
def costvol(a, b):
    h, w = a.shape[2:]
    p = F.pad(b, (4, 4, 4, 4))
    return torch.stack([torch.stack([(a * p[:, :, u:u + h, v:v + w]).mean(1) for v in range(9)], 1) for u in range(9)], 1)
c("costvol", costvol, dict(B=1, C=4, H=5, W=6), B=4, C=128, H=96, W=112)
def patchify(x):
    b, ch, h, w = x.shape
    return x.reshape(b, ch, h // 16, 16, w // 16, 16).permute(0, 2, 4, 3, 5, 1).reshape(b, -1, 256 * ch).to(torch.bfloat16)
c("patchify", patchify, dict(B=1, C=3, H=32, W=32), B=64, C=3, H=384, W=384)
c("chshuf", lambda x: x.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2), dict(B=2, C=6, H=4, W=4), B=128, C=232, H=28, W=28)
c("bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False), dict(B=1, C=2, H=6, W=7), B=8, C=3, H=512, W=512)
def ssim(x, y, k):
    g = lambda v: F.conv2d(v[:, None], k.abs()[None, None], padding=5)[:, 0]
    a, b = g(x), g(y)
    va, vb, cv = g(x * x) - a * a, g(y * y) - b * b, g(x * y) - a * b
    return ((2 * a * b + 0.01) * (2 * cv + 0.03) / ((a * a + b * b + 0.01) * (va + vb + 0.03))).mean()
c("ssim", ssim, dict(B=2, H=12, W=13), B=24, H=256, W=256)
def median3(x):
    p = F.pad(x, (1, 1, 1, 1))
    h, w = x.shape[1:]
    s3 = lambda a, b, c: (torch.minimum(a, torch.minimum(b, c)), torch.maximum(torch.minimum(a, b), torch.minimum(torch.maximum(a, b), c)), torch.maximum(a, torch.maximum(b, c)))
    r = [s3(*[p[:, i:i + h, j:j + w] for j in range(3)]) for i in range(3)]
    lo, mid, hi = zip(*r)
    return s3(torch.maximum(lo[0], torch.maximum(lo[1], lo[2])), s3(*mid)[1], torch.minimum(hi[0], torch.minimum(hi[1], hi[2])))[1]
c("median3", median3, dict(B=1, H=6, W=7), B=8, H=1080, W=1920)
def harris(x):
    gx, gy = (shift(x, 2, -1) - shift(x, 2)) * 0.5, (shift(x, 1, -1) - shift(x, 1)) * 0.5
    box = lambda v: F.avg_pool2d(v[:, None], 5, 1, 2, divisor_override=1)[:, 0]
    a, b, d = box(gx * gx), box(gx * gy), box(gy * gy)
    return a * d - b * b - 0.05 * (a + d) ** 2
c("harris", harris, dict(B=1, H=8, W=9), B=8, H=1024, W=1024)
def bilat(x):
    p, n, d = F.pad(x, (2, 2, 2, 2)), 0, 0
    for u in range(5):
        for v in range(5):
            t = p[:, u:u + x.shape[1], v:v + x.shape[2]]
            w = torch.exp(-2 * (t - x) ** 2 - 0.1 * ((u - 2) ** 2 + (v - 2) ** 2))
            n, d = n + w * t, d + w
    return n / d
c("bilat", bilat, dict(B=1, H=8, W=9), B=8, H=1024, W=1024)
c("hist", lambda x: torch.zeros(x.shape[0], 256, device=x.device, dtype=torch.int32).scatter_add_(1, x.flatten(1).long(), torch.ones(1, 1, device=x.device, dtype=torch.int32).expand(x.shape[0], x[0].numel())),
  dict(B=2, H=8, W=9), below=dict(x=256), B=16, H=512, W=512)
c("integral", lambda x: torch.cumsum(torch.cumsum(x, 2), 1), dict(B=2, H=8, W=9), B=16, H=1024, W=1024)
def haar(x):
    a, b, d, e = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
    return (a + b + d + e) * 0.5, (a - b + d - e) * 0.5, (a + b - d - e) * 0.5, (a - b - d + e) * 0.5
c("haar", haar, dict(B=1, C=2, H=8, W=8), B=16, C=64, H=256, W=256)
c("tvloss", lambda x: ((x[:, :, 1:] - x[:, :, :-1]).abs().sum() + (x[..., 1:] - x[..., :-1]).abs().sum()) / x.numel(), dict(B=1, C=2, H=8, W=9), B=16, C=3, H=1024, W=1024)
def posenc(x):
    a = x[..., None] * torch.exp2(torch.arange(10, device=x.device, dtype=x.dtype))
    return torch.stack([torch.sin(a), torch.cos(a)], 2).flatten(1).half()
c("posenc", posenc, dict(N=9), N=1048576)
def volren(s, col, t):
    a = 1 - torch.exp(-F.relu(s) * 0.05)
    w = a * shift(torch.cumprod(1 - a + 1e-10, 1), 1, 1, 1.0)
    return (w[..., None] * torch.sigmoid(col)).sum(1), (w * t).sum(1), w
c("volren", volren, dict(R=5, N=20), R=65536, N=192)
def trilerp(g, p):
    q = (p.clamp(-2, 2) + 2) * 0.25
    x = g.to(p.dtype).permute(3, 0, 1, 2)[None] if p.dtype == torch.float64 else g.permute(3, 0, 1, 2)[None]
    return F.grid_sample(x, (2 * q - 1)[None, None, None].to(x.dtype), align_corners=True)[0, :, 0, 0].T.contiguous()
def trilerp2(g, p):
    z, y, x, ch = g.shape
    q = (p.clamp(-2, 2) + 2) * 0.25 * torch.tensor([x - 1, y - 1, z - 1], device=p.device)
    i = q.floor().long()
    f = q - q.floor()
    out = 0
    for dz in range(2):
        for dy in range(2):
            for dx in range(2):
                w = (f[:, 0] if dx else 1 - f[:, 0]) * (f[:, 1] if dy else 1 - f[:, 1]) * (f[:, 2] if dz else 1 - f[:, 2])
                out = out + w[:, None] * g[(i[:, 2] + dz).clamp(max=z - 1), (i[:, 1] + dy).clamp(max=y - 1), (i[:, 0] + dx).clamp(max=x - 1)]
    return out.to(g.dtype)
c("trilerp", trilerp2, dict(Z=4, Y=5, X=6, C=8, N=20), Z=64, Y=64, X=64, C=32, N=524288)
def splat(px, m, s, o, col):
    a = (torch.sigmoid(o) * torch.exp(-((px[:, None] - m[None]) ** 2).sum(-1) * (s.abs() + 0.1))).clamp(max=0.99)
    return (a * shift(torch.cumprod(1 - a, 1), 1, 1, 1.0)) @ col
c("splat", splat, dict(P=9, G=20), P=65536, G=256)
def skin(v, j, w, t):
    m = (w[..., None, None] * t[:, j.long()]).sum(2)
    return (m[..., :3] @ v[..., None])[..., 0] + m[..., 3]
c("skin", skin, dict(B=2, N=9, J=5), below=dict(j="J"), B=64, N=6890, J=24)


# particles, grids, small systems
c("sph", lambda p: (F.relu(1 - ((p[:, None] - p[None]) ** 2).sum(-1)) ** 3).sum(1) * 1.56668, dict(N=24), N=16384)
def lj(p):
    d = p[:, None] - p[None]
    r = (d * d).sum(-1) + torch.eye(p.shape[0], device=p.device, dtype=p.dtype) * (1e6 - 0.1) + 0.1
    i = 1 / r
    s = i ** 3
    return (torch.where(r < 6.25, 24 * s * (2 * s - 1) * i, 0.0)[..., None] * d).sum(1), (2 * s * (s - 1)).sum(1)
c("lj", lj, dict(N=24), N=8192)
def chamfer(a, b):
    r = ((a[:, :, None] - b[:, None]) ** 2).sum(-1)
    return r.amin(2).mean(1) + r.amin(1).mean(1)
c("chamfer", chamfer, dict(B=2, N=12, M=9), B=16, N=4096, M=4096)
def grayscott(u, v):
    lap = lambda x: sum(torch.roll(x, s, d) for d in (0, 1) for s in (-1, 1)) - 4 * x
    r = u * v * v
    return u + 0.16 * lap(u) - r + 0.06 * (1 - u), v + 0.08 * lap(v) + r - 0.122 * v
c("grayscott", grayscott, dict(Y=6, X=8), Y=4096, X=4096)
def fdtd(hx, hy, hz, ex, ey, ez):
    n = lambda x, d: shift(x, d, -1) - x
    return hx + 0.5 * (n(ey, 2) - n(ez, 1)), hy + 0.5 * (n(ez, 0) - n(ex, 2)), hz + 0.5 * (n(ex, 1) - n(ey, 0))
c("fdtd", fdtd, dict(X=4, Y=5, Z=8), X=256, Y=256, Z=256)
def star8(u, k):
    s = lambda d, n: shift(u, d, n) if n else u
    return sum(k[i] * (s(0, 4 - i) + s(1, 4 - i) + s(2, 4 - i)) for i in range(9))
c("star8", star8, dict(X=8, Y=9, Z=10), X=256, Y=256, Z=256)
def lbm(f, w, cx, cy):
    cx, cy = cx % 3 - 1, cy % 3 - 1
    y, x = torch.arange(f.shape[1], device=f.device), torch.arange(f.shape[2], device=f.device)
    s = f[torch.arange(9, device=f.device)[:, None, None], ((y - cy[:, None]) % f.shape[1])[:, :, None], ((x - cx[:, None]) % f.shape[2])[:, None]]
    b = lambda t: t.to(f.dtype)[:, None, None]
    r = s.abs().sum(0) + 1
    ux, uy = (s * b(cx)).sum(0) / r, (s * b(cy)).sum(0) / r
    e = 3 * (ux * b(cx) + uy * b(cy))
    return s - 0.6 * (s - b(w) * r * (1 + e + 0.5 * e * e - 1.5 * (ux * ux + uy * uy)))
c("lbm", lbm, dict(Y=6, X=8), Y=2048, X=2048)
c("minplus", lambda a, b: (a[:, :, None] + b[None]).amin(1), dict(M=9, K=12, N=10), M=1024, K=1024, N=1024)
def inv3(a):
    t = lambda i, j: a[:, i % 3, j % 3]
    r = [[t(j + 1, i + 1) * t(j + 2, i + 2) - t(j + 1, i + 2) * t(j + 2, i + 1) for j in range(3)] for i in range(3)]
    det = sum(a[:, 0, j] * r[j][0] for j in range(3)) ** 2 + 3
    return torch.stack([torch.stack(q, -1) for q in r], 1) / det[:, None, None]
c("inv3", inv3, dict(N=9), N=1048576)
c("kalman", lambda p, f, q: f @ p @ f.T + q, dict(N=9), N=262144)
# products of many factors, distances, alignments
c("mttkrp", lambda x, b, c: torch.einsum("ijk,jr,kr->ir", x, b, c), dict(I=8, J=6, K=5, R=4), I=512, J=256, K=256, R=32)
c("tucker", lambda g, u, v, w: torch.einsum("abc,ia,jb,kc->ijk", g, u, v, w), dict(A=3, B=4, C=5, I=6, J=7, K=8), A=32, B=32, C=32, I=256, J=256, K=256)
def opm(a, b, w):
    o = torch.einsum("sic,sjd->ijcd", a, b) / a.shape[0]
    return o.flatten(2) @ w.flatten(1).T
c("opm", opm, dict(S=8, I=4, C=8, J=5, D=8, Z=16), w=("w",), S=128, I=256, C=32, J=256, D=32, Z=128)
c("trimul", lambda a, b: torch.einsum("ikc,jkc->ijc", a, b), dict(I=8, K=8, C=8, J=8), I=256, K=256, C=128, J=256)
c("style", lambda x, t: ((up(x @ x.transpose(1, 2)) / x.shape[2] - t) ** 2).mean(), dict(B=2, C=8, N=16), B=8, C=512, N=4096)
c("crfstep", lambda a, t, e: torch.logsumexp(a[:, :, None] + t[None], 1) + e, dict(B=3, I=8, J=9), B=1024, I=256, J=256)
def viterbi(a, t, e):
    m, i = (a[:, :, None] + t[None]).max(1)
    return m + e, i
c("viterbi", viterbi, dict(B=3, I=8, J=9), B=1024, I=256, J=256)
c("bahdanau", lambda q, k, v: torch.tanh(q[:, :, None] + k[:, None]) @ v, dict(B=2, S=3, T=5, H=16), B=32, S=64, T=200, H=512)
def netvlad(x, c, w):
    a = torch.softmax(up(x @ w.T), -1)
    return (a.transpose(1, 2).to(x.dtype) @ x) - a.sum(1)[..., None] * c
c("netvlad", netvlad, dict(B=2, N=9, D=16, K=8), w=("w",), B=32, N=1024, D=512, K=64)
def slot(x, q):
    a = torch.softmax(up(q @ x.transpose(1, 2)) * 0.125, 1) + 1e-8
    return up((a / a.sum(-1, keepdim=True)).to(x.dtype) @ x)
c("slot", slot, dict(B=2, N=9, D=16, S=3), B=64, N=4096, D=64, S=7)
def rff(x, b):
    z = 6.2831853 * (x @ b)
    return torch.cat([torch.cos(z), torch.sin(z)], 1).half()
c("rff", rff, dict(N=9, F=8), w=("b",), N=262144, F=256)
def mel(x, w, dc, ds, m):
    s = x.unfold(1, 400, 160) * w
    a, b = s @ dc, s @ ds
    return torch.log(((a * a + b * b) @ m.abs()).clamp(min=1e-10))
c("mel", mel, dict(B=1, T=800), B=16, T=160000)
def siglip(a, b, t=10.0, s=-10.0):
    z = (a @ b.T).float() * t + s if a.dtype != torch.float64 else a @ b.T * t + s
    return F.softplus(z * (1 - 2 * torch.eye(z.shape[0], device=z.device, dtype=z.dtype))).sum() / z.shape[0]
c("siglip", siglip, dict(B=9, D=16), w=("a", "b"), B=8192, D=768)
def barlow(a, b):
    n = lambda x: (x - x.mean(0)) * torch.rsqrt(x.var(0, unbiased=False) + 1e-5)
    cc = n(a).T @ n(b) / a.shape[0]
    d = torch.diagonal(cc)
    return ((d - 1) ** 2).sum() + 0.005 * ((cc * cc).sum() - (d * d).sum())
c("barlow", barlow, dict(N=12, D=8), N=4096, D=2048)
def supcon(z, y):
    s = up(z @ z.T) * 0.1
    e = torch.eye(z.shape[0], device=z.device, dtype=torch.bool)
    k = y % 100
    p = (k[:, None] == k[None]) & ~e
    return (torch.logsumexp(s.masked_fill(e, -torch.inf), 1) - (s * p).sum(1) / p.sum(1).clamp(min=1)).mean()
c("supcon", supcon, dict(B=12, D=16), B=4096, D=128)
def arcface(x, w, y):
    cs = F.normalize(up(x), dim=1).to(x.dtype) @ F.normalize(up(w), dim=1).to(x.dtype).T
    h = torch.arange(w.shape[0], device=x.device) == (y % w.shape[0])[:, None]
    return 64 * torch.where(h, cs * 0.87758 - torch.sqrt((1 - cs * cs).clamp(min=0)) * 0.47943, cs)
c("arcface", arcface, dict(B=5, D=16, K=12), B=512, D=512, K=85742)


# losses and rows
def dino(s, t, cen):
    s, t = up(s, t)
    return -(torch.softmax((t - cen) * 25, 1) * torch.log_softmax(s * 10, 1)).sum(1).mean()
c("dino", dino, dict(B=3, K=24), B=512, K=65536)
def distill(s, t):
    s, t = up(s, t)
    return 4 * F.kl_div(torch.log_softmax(s * 0.5, 1), torch.log_softmax(t * 0.5, 1), reduction="batchmean", log_target=True)
c("distill", distill, dict(M=3, V=24), M=4096, V=32000)
def dice(z, t):
    p, g = torch.sigmoid(up(z)), (t > 0).to(up(z).dtype)
    return 1 - ((2 * (p * g).sum((2, 3)) + 1) / (p.sum((2, 3)) + g.sum((2, 3)) + 1)).mean()
c("dice", dice, dict(B=2, C=2, H=5, W=6), B=16, C=4, H=512, W=512)
c("vae", lambda m, v: (m + torch.exp(0.5 * v) * torch.rand_like(m), -0.5 * (1 + v - m * m - torch.exp(v)).sum(1).mean()), dict(B=3, D=16), B=16384, D=1024)
def ppo(z, a, o, g):
    q = torch.log_softmax(z, 1)
    r = torch.exp(q.gather(1, (a % z.shape[1])[:, None])[:, 0] - o)
    return -torch.minimum(r * g, r.clamp(0.8, 1.2) * g).mean(), -(torch.exp(q) * q).sum(1).mean()
c("ppo", ppo, dict(N=9, A=6), N=262144, A=18)
def gae(r, v, d):
    n = (d < 1).to(v.dtype)
    e = r + 0.99 * n * shift(v, 0, -1) - v
    a = recur((0.9405 * n).flip(0), e.flip(0), 0).flip(0)
    return a, a + v
c("gae", gae, dict(T=9, B=12), compiles=False, T=128, B=8192)
def gumbel(z):
    z = up(z)
    return torch.argmax(z * 1.25 - torch.log(-torch.log(torch.rand_like(z) + 1e-9) + 1e-9), 1), torch.softmax(z, 1).amax(1)
c("gumbel", gumbel, dict(B=3, V=50), B=128, V=128256)
def dropln(x, r, b, g, c):
    h = r + F.dropout(x + b, 0.1)
    return h, F.layer_norm(h, g.shape, g, c)
c("dropln", dropln, dict(M=5, D=32), M=16384, D=1024)
c("bpr", lambda u, i, a, p, n: F.softplus((u[a.long()] * (i[n.long()] - i[p.long()])).sum(1)).mean(), dict(U=9, I=7, D=16, B=12), below=dict(a="U", p="I", n="I"), U=100000, I=50000, D=64, B=262144)
def mixup(x, p, l):
    a = torch.sigmoid(l)[:, None, None, None]
    return (a * x + (1 - a) * x[p % x.shape[0]]).to(x.dtype)
c("mixup", mixup, dict(B=3, C=2, H=4, W=5), B=256, C=3, H=224, W=224)
def din(h, t, w, b, v, n):
    q = t[:, None].expand_as(h)
    s = (F.relu(torch.cat([h, q, h - q, h * q], -1) @ w.T + b) @ v)
    return torch.where((torch.arange(h.shape[1], device=h.device) < (n % 64)[:, None])[..., None], s[..., None] * h, 0.0).sum(1).to(h.dtype)
c("din", din, dict(B=2, T=70, D=16, H=8), w=("w",), B=2048, T=100, D=64, H=80)


# graphs
def gatn(h, s, d, at):
    i = at.long()
    e = F.leaky_relu((h @ s)[:, None] + (h @ d)[i], 0.2)
    return (torch.softmax(e, 1)[..., None] * h[i]).sum(1)
c("gatn", gatn, dict(N=9, F=16, K=4), w=("s", "d"), below=dict(at="N"), N=100000, F=64, K=16)
c("edgemax", lambda u, v, at: F.relu(u[:, None] + v[at.long()]).amax(1), dict(N=9, F=16, K=4), below=dict(at="N"), N=131072, F=64, K=20)
c("sage", lambda x, at, w, v: F.relu(x @ w.T + x[at.long()].mean(1) @ v.T), dict(N=9, F=32, K=4, O=16), w=("w", "v"), below=dict(at="N"), N=100000, F=256, K=10, O=256)
c("segmax", lambda x, s: torch.full((64, x.shape[1]), -torch.inf, device=x.device, dtype=x.dtype).scatter_reduce(0, (s % 64).long()[:, None].expand_as(x), x, "amax"), dict(N=200, D=8), N=262144, D=64)


# steps of optimisers, gradients
def lion(p, m, g):
    u = torch.sign(0.9 * up(m) + 0.1 * up(g))
    return p * 0.9999 - 1e-4 * u, (0.99 * up(m) + 0.01 * up(g)).to(m.dtype)
c("lion", lion, dict(N=50), N=16777216)
def adafactor(p, r, col, g):
    q = g * g + 1e-30
    r, col = 0.99 * r.abs() + 0.01 * q.mean(1), 0.99 * col.abs() + 0.01 * q.mean(0)
    u = g * torch.rsqrt((r / r.mean())[:, None] * col)
    return p - 1e-3 * u / torch.sqrt((u * u).mean()).clamp(min=1), r, col
c("adafactor", adafactor, dict(M=6, N=8), M=4096, N=4096)
def lamb(p, m, v, g):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v.abs() + 0.001 * g * g
    u = m / (torch.sqrt(v) + 1e-6) + 0.01 * p
    return p - 1e-3 * (p.norm() / u.norm()) * u, m, v
c("lamb", lamb, dict(M=6, N=8), M=4096, N=4096)
c("shampoo", lambda g, l, r: (0.95 * l + 0.05 * (g @ g.T), 0.95 * r + 0.05 * (g.T @ g)), dict(M=6, N=8), M=2048, N=2048)
def adam8(p, g, m, s):
    v = 0.9 * (m * s.abs()[:, None]) + 0.1 * g
    t = v.abs().amax(1).clamp(min=1e-12) / 127
    return p - 1e-3 * v, torch.round(v / t[:, None]).to(torch.int8), t
c("adam8", adam8, dict(G=3), G=65536)
def specnorm(w, u):
    a = w.T @ u
    v = a * torch.rsqrt((a * a).sum() + 1e-12)
    b = w @ v
    t = b * torch.rsqrt((b * b).sum() + 1e-12)
    return w / (t @ b), t
c("specnorm", specnorm, dict(M=6, N=8), M=4096, N=4096)
def normb(x, g, b, dy, dims, per):
    """Gradient of a norm over dims of x, with a gain per channel (dimension 1); per: x to where statistics are alike, and back."""
    t = x.dtype
    x, g, dy = up(x, g, dy)
    gg = g[None, :, None, None]
    X, D = per(x), per(dy * gg)
    m = X.mean(dims, keepdim=True)
    r = torch.rsqrt(X.var(dims, unbiased=False, keepdim=True) + 1e-5)
    n = (X - m) * r
    dx = (r * (D - D.mean(dims, keepdim=True) - n * (D * n).mean(dims, keepdim=True))).reshape(x.shape)
    return dx.to(t), (dy * n.reshape(x.shape)).sum((0, 2, 3)).to(t), dy.sum((0, 2, 3)).to(t)
c("gnb", lambda x, g, b, dy: normb(x, g, b, dy, (2, 3, 4), lambda t: t.unflatten(1, (32, -1))), dict(N=2, C=64, H=3, W=4), N=16, C=320, H=64, W=64)
c("bnb", lambda x, g, b, dy: normb(x, g, b, dy, (0, 2, 3), lambda t: t), dict(N=3, C=4, H=3, W=4), N=64, C=256, H=28, W=28)
def mpb(x, dy):
    y, i = F.max_pool2d(up(x), 2, return_indices=True)
    return torch.zeros_like(up(x)).flatten(2).scatter(2, i.flatten(2), up(dy).flatten(2)).view_as(x).to(x.dtype)
c("mpb", mpb, dict(B=2, C=2, H=6, W=8), B=64, C=64, H=112, W=112)
c("upb", lambda x, dy: up(dy).unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).sum((3, 5)).to(x.dtype), dict(B=2, C=2, H=3, W=4), B=16, C=256, H=64, W=64)
def dwb(x, k, dy):
    h, w = x.shape[2:]
    p = F.pad(x, (1, 1, 1, 1))
    dk = torch.stack([(dy * p[:, :, u:u + h, v:v + w]).sum((0, 2, 3)) for u in range(3) for v in range(3)], 1).view(-1, 3, 3)
    return F.conv2d(dy, k.flip(1, 2)[:, None], padding=1, groups=k.shape[0]), dk
c("dwb", dwb, dict(B=2, C=3, H=5, W=6), w=("k",), B=32, C=256, H=56, W=56)
def prelub(x, a, dy):
    return torch.where(x > 0, dy, a[:, None, None] * dy), torch.where(x > 0, 0.0, dy * x).sum((0, 2, 3))
c("prelub", prelub, dict(B=2, C=3, H=4, W=5), B=32, C=256, H=56, W=56)
def wnb(v, g, dw):
    r = torch.rsqrt((v * v).sum(1, keepdim=True))
    s = (dw * v).sum(1, keepdim=True)
    return g[:, None] * r * (dw - v * s * r * r), (s * r)[:, 0]
c("wnb", wnb, dict(O=5, I=16), O=4096, I=4096)
# numbers of few bits
def fq(x):
    s = x.abs().amax(1, keepdim=True) / 127
    return (x / s).round().clamp(-128, 127) * s
c("fq", fq, dict(O=5, K=16), O=11008, K=4096)
c("kv8dec", lambda q, k, v, ks, vs: torch.einsum("bht,bthd->bhd", torch.softmax(torch.einsum("bhd,bthd->bht", up(q), k.to(up(q).dtype)) * ks.transpose(1, 2) * 0.001, -1) * vs.transpose(1, 2), v.to(up(q).dtype)).to(q.dtype),
  dict(B=2, H=2, D=16, T=12), B=32, H=8, D=128, T=4096)
def f8deq(w, s):
    return (up8(w).unflatten(1, (-1, 128)).unflatten(0, (-1, 128)) * s[:, None, :, None]).flatten(2).flatten(0, 1).to(torch.bfloat16)
def up8(w):
    return w if w.dtype in (torch.float32, torch.float64) else w.float()
c("f8deq", f8deq, dict(I=1, J=2), I=56, J=32)

if __name__ == "__main__":
    from beside import Bench
    bench, only = Bench(HERE.parents[1], deadline=float(sys.argv[1]) if len(sys.argv) > 1 else 540), sys.argv[2:]
    for name, f, options, extents, _ in CASES:
        if not only or name in only:
            bench.case(HERE / "families2.fx", name, extents, f, rounds=5, **options)
    bench.summary()
