#!/usr/bin/env python3
"""Compositions of all kinds beside eager PyTorch, to find what is slow: compositions.py [SECONDS] [KERNEL...], on a machine with a GPU and build/libfx.so.

Output: a JSON line a case, microseconds and the ratio PyTorch / ours, compared with float64 where PyTorch computes the function in it; the geometric mean. The peer of softcap is causal attention
without the cap: its error says nothing.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

from beside import Bench

HERE = pathlib.Path(__file__).resolve().parent


def first(x):
    """Channels, which lie last, as the axis where PyTorch wants them."""
    return x.permute(0, 3, 1, 2)


def attention(q, k, v, is_causal=False):
    return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=is_causal)[0]


def lstm(x, h, w, u, b, c):
    gates, size, width = w.shape
    z = (F.linear(x, w.reshape(gates * size, width)) + F.linear(h, u.reshape(gates * size, size)) + b.reshape(-1).to(x.dtype)).reshape(-1, gates, size)
    cn = torch.sigmoid(z[:, 1]) * c + torch.sigmoid(z[:, 0]) * torch.tanh(z[:, 2])
    return (torch.sigmoid(z[:, 3]) * torch.tanh(cn)).to(x.dtype), cn


def rope(x, c, s):
    a, b = x.chunk(2, -1)
    c, s = c[:, None], s[:, None]
    return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)


def quantised(x, group, most, dtype):
    v = x.reshape(x.shape[0], -1, group)
    scale = v.float().abs().amax(-1) / most
    q = v / scale[..., None]
    return (torch.round(q) if dtype == torch.int8 else q).reshape(x.shape).to(dtype), scale.squeeze(1)


def adamw(p, g, m, v):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.sub_(0.001 * (m / (v.sqrt() + 1e-8) + 0.01 * p))
    return p, m, v


def relative(q, k, v, r):
    at = torch.arange(q.shape[1], device=q.device)
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=r[:, at[:, None] - at + q.shape[1] - 1][None])[0]


def swapped(q, k, v):
    return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)


CASES = [
    ("conv3", dict(B=16, H=64, W=64, C=128, O=128), lambda x, k, b: F.relu(F.conv2d(first(x), first(k), b, padding=1)).permute(0, 2, 3, 1)),
    ("conv3n", dict(B=16, C=64, H=66, W=66, O=128), lambda x, k, b: F.relu(F.conv2d(x, k, b))),
    ("conv1", dict(B=32, C=256, H=28, W=28, O=512), lambda x, k, b: F.relu(F.conv2d(x, k[:, :, None, None], b))),
    ("conv1d", dict(B=32, C=256, T=4096, O=256), lambda x, k: F.conv1d(x, k, padding=2)),
    ("stride2", dict(B=32, H=56, W=56, C=128, O=256), lambda x, k: F.conv2d(first(x), first(k), stride=2, padding=1).permute(0, 2, 3, 1)),
    ("patch", dict(B=64, C=3, H=224, W=224, O=768), lambda x, k, b: F.conv2d(x, k, b, stride=16).permute(0, 2, 3, 1)),
    ("dwconv", dict(B=32, C=256, H=56, W=56), lambda x, k: F.conv2d(x, k[:, None], padding=1, groups=k.shape[0])),
    ("avgpool", dict(B=32, C=256, H=56, W=56), lambda x: F.avg_pool2d(x, 3, 2, 1)),
    ("maxpool", dict(B=32, C=256, H=56, W=56), lambda x: F.max_pool2d(x, 2)),
    ("up2", dict(B=16, C=64, H=128, W=128), lambda x: F.interpolate(x, scale_factor=2, mode="nearest")),
    ("pixshuf", dict(B=16, C=64, H=128, W=128), lambda x: x.permute(0, 1, 4, 2, 5, 3).reshape(x.shape[0], x.shape[1], 2 * x.shape[4], 2 * x.shape[5])),
    ("bn_train", dict(N=64, C=64, H=56, W=56), lambda x, g, b: F.batch_norm(x, None, None, g, b, True, eps=1e-5)),
    ("ln3", dict(B=64, C=64, H=56, W=56), lambda x: F.layer_norm(x, x.shape[1:])),
    ("instnorm", dict(B=32, C=64, H=128, W=128), lambda x, g: F.instance_norm(x, weight=g)),
    ("sm2", dict(B=32, C=21, H=256, W=256), lambda x: torch.softmax(x, 1)),
    ("std2", dict(B=64, C=64, H=56, W=56), lambda x: (x.mean((0, 2, 3)), torch.sqrt(x.var((0, 2, 3), correction=0) + 1e-5))),
    ("rownorm", dict(M=32768, N=1024), lambda x: F.normalize(x, dim=1)),
    ("cosine", dict(M=16384, N=4096), lambda x, y: F.cosine_similarity(x, y, dim=1, eps=0)),
    ("huber", dict(M=8192, N=8192), lambda x, y: F.smooth_l1_loss(x, y)),
    ("kldiv", dict(M=8192, N=8192), lambda x, y: F.kl_div(x, y, reduction="batchmean")),
    ("frob", dict(M=8192, N=8192), lambda x: x / torch.norm(x)),
    ("clipnorm", dict(N=67108864), lambda g: g * torch.clamp(1 / torch.norm(g), max=1)),
    ("rowcol", dict(M=8192, N=8192), lambda x: (x.sum(1), x.sum(0))),
    ("minmax", dict(B=128, M=4096, N=512), lambda x: x.amax(1)),
    ("argm", dict(B=128, M=4096, N=512), lambda x: x.argmax(1)),
    ("avgall", dict(B=64, C=2048, H=7, W=7), lambda x: x.mean((2, 3))),
    ("cmul", dict(M=4096, N=4096), lambda a, b: torch.view_as_real(torch.view_as_complex(a) * torch.view_as_complex(b))),
    ("topmask", dict(M=16384, N=4096), lambda x: torch.where(x >= x.topk(2, 1).values[:, 1:], x, 0)),
    ("bilinear", dict(B=512, I=256, J=256, O=64), lambda x, w, y: F.bilinear(x, y, w)),
    ("quad", dict(M=16384, I=512), lambda x, w: ((x @ w) * x).sum(1)),
    ("mahal", dict(M=16384, I=512), lambda x, w: ((x @ w) * x).sum(1)),
    ("pdist", dict(M=4096, N=4096, D=128), lambda x, y: torch.cdist(x, y)),
    ("l1dist", dict(M=4096, N=4096, D=128), lambda x, y: torch.cdist(x, y, p=1.0)),
    ("lin_red", dict(M=1024, K=4096, N=4096), lambda x, w, b: F.gelu(F.linear(x, w, b)).sum(1)),
    ("linf", dict(M=1024, K=8192, N=8192), lambda x, w, b: F.relu(F.linear(x, w, b)) * 0.5),
    ("linf", dict(M=128, K=1024, N=512), lambda x, w, b: F.relu(F.linear(x, w, b)) * 0.5),
    ("lin_ms", dict(M=1024, K=4096, N=1024), lambda x, w, b: torch.softmax(F.silu(F.linear(x, w, b)), 1)),
    ("wnorm", dict(N=4096, K=4096, M=4096), lambda v, g, x: F.linear(x, v * (g / torch.norm(v, dim=1))[:, None])),
    ("mlp3", dict(M=16384, A=512, B=1024, C=1024, D=256), lambda x, a, b, c: F.linear(F.relu(F.linear(F.relu(F.linear(x, a)), b)), c)),
    ("gram2", dict(M=65536, N=512), lambda x: (lambda m: m.t() @ m / x.shape[0])(x - x.mean(0))),
    ("cosmat", dict(M=8192, N=8192, D=512), lambda x, y: F.normalize(x, dim=1) @ F.normalize(y, dim=1).t()),
    ("contrast", dict(M=8192, D=512), lambda x, y: (lambda s: (s.logsumexp(1) - s.diagonal()).mean())(20 * (x @ y.t()).float())),
    ("moegate", dict(M=16384, D=4096), lambda x, w: (lambda s: (s, s.argmax(1)))(torch.softmax((x @ w.t()).float(), 1))),
    ("moe", dict(E=8, T=1024, K=2048, F=4096), lambda x, w, v: F.relu(x @ w) @ v),
    ("geglu", dict(M=4096, F=8192, K=2048), lambda x, w: (lambda h: h[:, :h.shape[1] // 2] * F.gelu(h[:, h.shape[1] // 2:]))(F.linear(x, w))),
    ("lora", dict(M=4096, K=4096, N=4096, R=16), lambda x, w, a, c: F.linear(x, w) + F.linear(F.linear(x, a), c)),
    ("matvecT", dict(K=14336, N=4096), lambda w, x: x @ w),
    ("bmm_small", dict(B=4096, M=32, K=64, N=32), lambda x, w: x @ w),
    ("linattn", dict(H=64, S=4096, D=128, E=128), lambda q, k, v: q @ (k.transpose(1, 2) @ v)),
    ("gram", dict(B=64, C=256, N=4096), lambda x: x @ x.transpose(1, 2)),
    ("attn64", dict(H=64, S=2048, T=2048, D=64), attention),
    ("softcap", dict(H=32, S=4096, T=4096, D=128), lambda q, k, v: attention(q, k, v, True)),
    ("dec", dict(H=64, R=8, T=16384, D=128), attention),
    ("attnf", dict(H=32, S=1024, T=1024, D=64), attention),
    ("swin", dict(W=4096, H=6), lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, attn_mask=b[None]).transpose(1, 2).contiguous()),
    ("emb", dict(B=32, S=2048, V=50257, D=1024), lambda ids, table, pos: F.embedding(ids, table) + pos),
    ("embbag", dict(B=8192, L=50, V=1000000, D=64), lambda ids, table: F.embedding_bag(ids, table, mode="sum")),
    ("segsum", dict(N=1048576, D=64), lambda x, s: torch.zeros(64, x.shape[1], device="cuda").index_add_(0, s, x)),
    ("onehotgrad", dict(N=65536, D=256), lambda dy, ids: torch.zeros(1024, dy.shape[1], device="cuda").index_add_(0, ids, dy)),
    ("outer_relu", dict(M=8192, N=8192), lambda x, y: F.relu(x[:, None] * y)),
    ("transp2", dict(A=512, B=64, C=512), lambda x: x.permute(2, 1, 0).contiguous()),
    ("sinkhorn", dict(B=64, M=512, N=512), lambda x: (lambda a: torch.exp(a - a.logsumexp(1, keepdim=True)))(x - x.logsumexp(2, keepdim=True))),
    ("lstm", dict(B=128, I=1024, H=1024), lstm),
    ("xent", dict(M=4096, V=32000), lambda z, t: F.cross_entropy(z.float(), t)),
    ("xent_bwd", dict(M=4096, V=32000), lambda z, t: ((torch.softmax(z.float(), 1) - F.one_hot(t, z.shape[1])) / z.shape[0]).to(z.dtype)),
    ("rope", dict(B=4, S=4096, H=32, D=128), rope),
    ("rmsres", dict(M=8192, D=4096), lambda x, r, g: (x + r, F.rms_norm(x + r, (x.shape[1],), g, 1e-5))),
    ("lin_ce", dict(M=4096, K=2048, V=32000), lambda x, w, t: F.cross_entropy((x @ w.t()).float(), t, reduction="none")),
    ("tconv", dict(B=16, C=64, H=32, W=32, O=64), lambda x, k: F.conv_transpose2d(x, k, stride=2, padding=1)),
    ("conv_gn", dict(B=32, C=64, H=56, W=56, O=64), lambda x, k, b: (lambda h: torch.clamp(h * 2, 0, 1) * h)(F.conv2d(x, k, b, padding=1))),
    ("conv3d", dict(B=4, C=16, D=16, H=32, W=32, O=32), lambda x, k: F.relu(F.conv3d(x, k, padding=1))),
    ("lin_gn", dict(M=1024, K=1024, N=1024), lambda x, w, b: F.group_norm(F.linear(x, w, b), 8)),
    ("lin_swish_gn", dict(M=4096, K=1024, N=4096), lambda x, w, b: F.group_norm(F.silu(F.linear(x, w)) + b, 64)),
    ("lin_max_sub_gelu", dict(M=4096, K=1024, N=4096), lambda x, w, b: F.gelu(F.linear(x, w, b).amax(1) - 0.5)),
    ("lin_lse", dict(M=1024, K=8192, N=8192), lambda x, w: F.gelu(F.leaky_relu(torch.logsumexp((x @ w.t()).float(), 1)))),
    ("lin_pool", dict(M=1024, K=8192, N=8192), lambda x, w: F.max_pool1d(x @ w.t(), 2).sum(1) * 0.5),
    ("adaln", dict(B=16, S=1024, D=1152), lambda x, sc, sh: F.layer_norm(x, (x.shape[-1],)) * (1 + sc[:, None]) + sh[:, None]),
    ("gatedres", dict(B=16, S=1024, D=1152), lambda x, h, g: x + g[:, None] * h),
    ("rowq8", dict(M=8192, K=4096), lambda x: quantised(x, x.shape[1], 127, torch.int8)),
    ("f8q", dict(M=8192, K=4096), lambda x: quantised(x, 128, 448, torch.float8_e4m3fn)),
    ("dwconv1d", dict(B=8, T=4096, C=4096), lambda x, k, b: F.silu(F.conv1d(F.pad(x.transpose(1, 2), (3, 0)), k[:, None], b, groups=k.shape[0])).transpose(1, 2)),
    ("mqa_dec", dict(B=64, H=32, T=4096, D=128), lambda q, k, v: F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]),
    ("relpos", dict(H=16, S=2048, T=2048, D=64, R=4095), relative),
    ("cross", dict(B=8, S=4096, T=77, H=8, D=64), swapped),
    ("cross", dict(B=4, S=2048, T=2048, H=16, D=64), swapped),
    ("lin3d", dict(B=8, S=512, K=768, N=3072), lambda x, w, b: F.gelu(F.linear(x, w, b))),
    ("lin3d", dict(B=8, S=512, K=3072, N=768), lambda x, w, b: F.gelu(F.linear(x, w, b))),
    ("heads", dict(B=8, S=1024, K=2048, E=2048), lambda x, w: F.linear(x, w).reshape(x.shape[0], x.shape[1], 16, -1).transpose(1, 2).contiguous()),
    ("oproj", dict(B=8, H=16, S=1024, D=128, N=2048), lambda o, w, r: F.linear(o.transpose(1, 2).reshape(o.shape[0], o.shape[2], -1), w.reshape(w.shape[0], -1)) + r),
    ("f32mm_t", dict(M=2048, N=4096, K=1024), lambda x, w: x.t() @ w),
    ("wgrad", dict(B=8, S=1024, K=2048, N=2048), lambda x, dy: (dy.reshape(-1, dy.shape[-1]).t() @ x.reshape(-1, x.shape[-1])).float()),
    ("bgrad", dict(M=16384, N=4096), lambda dy: dy.sum(0, dtype=torch.float32)),
    ("gelu_bwd", dict(M=8192, N=8192), lambda x, dy: torch.ops.aten.gelu_backward(dy, x)),
    ("sm_bwd", dict(M=16384, N=2048), lambda p, dp: p * (dp - (p.float() * dp).sum(1, keepdim=True))),
    ("adamw", dict(N=33554432), adamw),
    ("ema", dict(N=67108864), lambda a, b: a.mul_(0.999).add_(b, alpha=0.001)),
    ("rgb2gray", dict(B=32, H=512, W=512), lambda x: (0.299 * x[..., 0].float() + 0.587 * x[..., 1].float() + 0.114 * x[..., 2].float()) / 255),
    ("normimg", dict(B=64, H=224, W=224), lambda x, m, s: ((x.float() / 255 - m) * s).permute(0, 3, 1, 2).to(torch.float16).contiguous()),
    ("bilin", dict(B=8, C=64, H=128, W=128), lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)),
    ("softplus_mul", dict(M=8192, N=8192), lambda x, g: F.mish(x) * g),
    ("cumsum1", dict(M=4096, N=4096), lambda x: x.cumsum(1)),
    ("rcumsum", dict(M=4096, N=4096), lambda x: x.flip(1).cumsum(1).flip(1)),
    ("triu", dict(N=2048, M=2048, P=2048), lambda a, b: torch.triu(a) @ b),
    ("diagmm", dict(N=8192, M=8192), lambda d, b: d[:, None] * b),
    ("mm3d", dict(B=16, M=1024, K=2048, N=768), lambda a, b: a @ b),
    ("mm4d", dict(B=8, I=256, J=512, K=256, N=768), lambda a, w: a @ w),
    ("tallmm", dict(M=32768, K=32, N=32768), lambda a, b: a @ b),
    ("tallmm", dict(M=32, K=16384, N=32), lambda a, b: a @ b),
    ("tallmm", dict(M=8205, K=2949, N=5921), lambda a, b: a @ b),
    ("maskmean", dict(B=64, S=512, D=1024), lambda x, m: ((x * m[..., None]).sum(1) / m.sum(1, keepdim=True).clamp(min=1)).to(x.dtype)),
    ("l2n_lin", dict(M=4096, K=4096, N=4096), lambda x, w: (x / torch.sqrt((x.float() ** 2).sum(1, keepdim=True) + 1e-6)).to(x.dtype) @ w.t()),
    ("rmslin", dict(M=4096, K=4096, N=4096), lambda x, g, w: F.rms_norm(x, (x.shape[1],), g, 1e-5) @ w.t()),
    ("rmslin", dict(M=64, K=4096, N=4096), lambda x, g, w: F.rms_norm(x, (x.shape[1],), g, 1e-5) @ w.t()),
    ("lnlin", dict(M=2048, K=1024, N=3072), lambda x, g, b, w, c: F.linear(F.layer_norm(x, (x.shape[1],), g, b), w, c)),
    ("rmsheads", dict(B=4, S=4096, H=32, D=128), lambda x, g: F.rms_norm(x, (x.shape[-1],), g, 1e-5).transpose(1, 2).contiguous()),
    ("triplet", dict(M=32768, D=1024), lambda a, p, n: F.relu(torch.norm(a - p, dim=1) - torch.norm(a - n, dim=1) + 1).mean()),
    ("hinge", dict(M=32768, N=1024), lambda x, t: F.relu(1 - x * t[:, None]).mean()),
]

# What torch.compile makes one kernel of is also measured compiled.
COMPILED = {"xent", "xent_bwd", "rope", "rmsres", "adaln", "gatedres", "rowq8", "f8q", "dwconv1d", "bgrad", "gelu_bwd", "sm_bwd", "rgb2gray", "normimg", "softplus_mul", "diagmm", "maskmean",
            "rmsheads", "triplet", "hinge"}


class Compositions(Bench):
    def draw(self, a, ext, weights, below={}):
        if a.name == "t" and a.dtype == "i64":
            return torch.randint(0, ext["V"], a.shape, device="cuda")
        if a.dtype == "bool":
            return torch.rand(a.shape, device="cuda") < 0.7
        if a.dtype == "u8":
            return torch.randint(0, 256, a.shape, device="cuda", dtype=torch.uint8)
        if a.name == "v" and "N" in ext and len(ext) == 1:  # a mean of squares
            return torch.rand(a.shape, device="cuda")
        if a.name in ("ids", "s") and a.dtype == "i32":
            return torch.randint(0, ext.get("V", 1024 if a.name == "ids" else 64), a.shape, device="cuda", dtype=torch.int32)
        return super().draw(a, ext, weights, below)


def main():
    torch.backends.cudnn.benchmark = True
    seconds, only = float(sys.argv[1]) if len(sys.argv) > 1 else 540, sys.argv[2:]
    bench = Compositions(HERE.parents[1], deadline=seconds)
    for name, extents, peer in CASES:
        if not only or name in only:
            bench.case(HERE / "compositions.fx", name, extents, peer, weights=("w", "k", "u"), compiles=name in COMPILED, rounds=5)
    bench.summary()


if __name__ == "__main__":
    main()
