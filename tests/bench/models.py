#!/usr/bin/env python3
"""65 layers of current models beside eager PyTorch and torch.compile: models.py [SECONDS] [KERNEL...], on a machine with a GPU and build/libfx.so.

They were written from docs/language.md alone (models.fx). Output: a JSON line a case, microseconds, the ratio of PyTorch's best time and ours, and how far both are from float64, over the largest value; the
geometric mean. `gdelta` changes its state in place, in ours and in PyTorch's: its errors say nothing.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

from beside import Bench

HERE = pathlib.Path(__file__).resolve().parent
B, ONLY = Bench(HERE.parents[1], deadline=float(sys.argv[1]) if len(sys.argv) > 1 else 540), sys.argv[2:]
EXTENTS = """
tconv2 B=16 C=128 H=32 W=32 O=64
tconv2_bf B=16 C=256 H=32 W=32 O=128
tconv22 B=16 C=256 H=64 W=64 O=128
up1d B=16 C=512 T=1024 O=256
bilinear2 B=8 C=64 H=128 W=128
maxpool3 B=64 C=64 H=112 W=112
maxpool2 B=32 C=64 H=112 W=112
avgpool2 B=32 C=256 H=56 W=56
gconv B=32 G=32 C=8 H=56 W=56 O=8
dw3 B=32 C=192 H=56 W=56
dw7 B=32 C=192 H=56 W=56
dw7f B=16 C=96 H=56 W=56
dw7l B=32 H=56 W=56 C=96
convnext B=32 C=96 H=56 W=56
mbconv B=32 C=64 E=256 H=28 W=28 R=16
conv33_bwd B=32 C=64 H=56 W=56 O=64
conv33l B=32 C=128 H=56 W=56 O=128
convl_bwd B=32 H=28 W=28 C=128 O=128
stepl_bwd B=16 H=64 W=64 C=128 O=128
tconvl B=16 H=32 W=32 C=256 O=128
tconv1d4 B=16 C=256 T=2048 O=128
pshuffle B=16 C=64 H=128 W=128
punshuffle B=16 C=64 H=128 W=128
swinpart B=32 H=56 W=56 C=96
swin N=2048 H=3
swin64 N=2048 H=4
conformer B=16 T=1024 C=256
dw1d31 B=16 T=1024 C=256
f8block M=4096 N=4096 K=4096
f8blockd M=4096 N=4096 K=4096
awq M=16 N=4096 K=4096
gptq M=1 N=4096 K=4096
nf4 N=8192 K=8192
mmoe B=4096 D=512 E=8 F=256 T=2
rope_il B=4 S=4096 H=32 J=8 E=64
kvwrite B=64 T=4096 S=1 H=8 D=128
dlrmdot B=4096 N=26 E=128
diffattn B=2 H=16 S=2048 D=64 T=2048 E=128
linattn B=4 H=16 S=4096 D=64 E=64
muon M=2048 N=2048
muon_ab M=2048 N=2048
lingelu_bwd M=4096 K=2048 N=2048
perceiver B=8 H=8 S=256 T=4096 D=64
rmsqkv M=4096 C=4096 N=6144
topkgate M=16384 N=64
embbag B=8192 L=32 V=100000 D=128
cosloss M=16384 D=1024
kl M=8192 N=8192
focal M=8192 N=8192
smoothce M=8192 V=32000
zce M=4096 V=32000
lstmcell B=256 I=1024 H=1024 N=1024
grucell B=256 I=1024 N=1024
gdelta B=32 H=32 D=128 E=128
layerscale M=16384 D=1024
se B=64 C=256 H=56 W=56 R=16
patch B=32 H=224 W=224 O=1024
unfold B=16 C=64 H=56 W=56
fold B=16 C=64 H=56 W=56
clip M=4096 D=512
positions B=1024 S=4096
l2norm_qk B=4 S=4096 H=16 D=128
conv1x1s2 B=32 C=256 H=56 W=56 O=512
gconvl B=32 G=32 C=8 H=56 W=56 O=8
moegated M=4096 D=512 E=8 F=512
"""
EXTENTS = {l.split()[0]: {a: int(b) for a, b in (x.split("=") for x in l.split()[1:])} for l in EXTENTS.strip().split("\n")}


def c(name, f, **k):
    if ONLY and name not in ONLY: return
    k.setdefault("weights", ("k", "w", "w1", "w2", "w3", "kd", "u", "s1", "s2"))
    B.case(HERE / "models.fx", name, EXTENTS[name], f, rounds=5, **k)
ct = lambda x, k, b: F.conv_transpose2d(x, k, b, stride=2, padding=1)
cl = lambda x: x.permute(0, 3, 1, 2)
def first(k): return k.unsqueeze(1)
def nib(q, n, msb=False, bits=32):
    sh = torch.arange(0, bits, 4, device=q.device)
    if msb: sh = sh.flip(0)
    return ((q.long()[..., None] >> sh) & 15).reshape(*q.shape[:-1], -1)[..., :n]
def gptq(x, q, z, s, awq=False):
    dt = x.dtype
    w = nib(q, 4096)
    zz = nib(z, 4096)
    if not awq: zz = zz + 1
    r = lambda t: t.repeat_interleave(128, 0)
    return x @ ((w - r(zz)).to(dt) * r(s.to(dt)))
def gptq_k(x, q, z, s):
    # packed along K, the first axis of q[K/8, N]
    sh = torch.arange(0, 32, 4, device=q.device)
    w = ((q.long()[:, None, :] >> sh[None, :, None]) & 15).reshape(-1, q.shape[-1])
    zz = nib(z, 4096) + 1
    r = lambda t: t.repeat_interleave(128, 0)
    return x @ ((w - r(zz)).to(x.dtype) * r(s.to(x.dtype)))
def nf4(x, q, am, code):
    w = code[nib(q, 8192, True, 8)] * am.repeat_interleave(64, 1)
    return (w @ x.to(w.dtype))
def mb(x, w1, b1, kd, bd, s1, t1, s2, t2, w2, b2):
    h = F.silu(F.conv2d(x, w1[:, :, None, None], b1))
    d = F.silu(F.conv2d(h, first(kd), bd, padding=1, groups=kd.shape[0]))
    p = d.mean((2, 3))
    s = torch.sigmoid(F.linear(F.silu(F.linear(p, s1, t1)), s2, t2))
    return x + F.conv2d(d * s[:, :, None, None], w2[:, :, None, None], b2)
def cnx(x, kd, bd, g, be, w1, b1, w2, b2, ls):
    d = F.conv2d(cl(x), first(kd), bd, padding=3, groups=kd.shape[0]).permute(0, 2, 3, 1)
    n = F.layer_norm(d, g.shape, g, be, 1e-6)
    return x + ls * F.linear(F.gelu(F.linear(n, w1, b1)), w2, b2)
def conf(x, g, be, w1, b1, kd, ga, bb, w2, b2):
    n = F.layer_norm(x, g.shape, g, be)
    h = F.glu(F.linear(n, w1, b1), -1)
    d = F.conv1d(h.transpose(1, 2), first(kd), padding=15, groups=kd.shape[0]).transpose(1, 2)
    return x + F.linear(F.silu(d * ga + bb), w2, b2)
def cbwd(x, k, dz):
    r = torch.ops.aten.convolution_backward(dz, x, k, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    return r[0], r[1]
def lbwd(step):
    def f(x, k, dz):
        r = torch.ops.aten.convolution_backward(cl(dz), cl(x), cl(k), None, [step, step], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
        return r[0].permute(0, 2, 3, 1), r[1].permute(0, 2, 3, 1)
    return f
def part(x):
    b, h, w, ch = x.shape
    return torch.roll(x, (-4, -4), (1, 2)).view(b, h // 8, 8, w // 8, 8, ch).permute(0, 1, 3, 2, 4, 5).reshape(-1, 64, ch)
def swin(q, k, v, tab, ri):
    bias = tab[ri.long()].permute(2, 0, 1)[None].contiguous()
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), scale=0.17677669).transpose(1, 2)
def swin64(qkv, tab):
    q, k, v = (t.transpose(1, 2) for t in qkv.unbind(2))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=tab[None], scale=0.17677669).transpose(1, 2)
def f8b(a, sa, b, sb):
    w = a.to(torch.bfloat16) * sa.repeat_interleave(128, 1).to(torch.bfloat16)
    v = b.to(torch.bfloat16) * sb.repeat_interleave(128, 0).repeat_interleave(128, 1).to(torch.bfloat16)
    return w @ v.t()
def f8s(a, sa, b, sb):
    return torch._scaled_mm(a, b.t(), scale_a=sa.t().contiguous().t(), scale_b=sb.t(), out_dtype=torch.bfloat16)
def mmoe(x, w1, b1, g):
    e, f, d = w1.shape
    h = torch.relu(x @ w1.reshape(-1, d).t() + b1.reshape(-1)).view(-1, e, f)
    p = torch.softmax((x @ g.reshape(-1, d).t()).view(-1, g.shape[0], e), -1)
    return p @ h
def ril(q, k, cc, s):
    def r(x):
        a, b = x[..., 0::2], x[..., 1::2]
        c_, s_ = cc[None, :, None], s[None, :, None]
        return torch.stack((a * c_ - b * s_, a * s_ + b * c_), -1).flatten(-2).to(x.dtype)
    return r(q), r(k)
def kvw(kc, vc, k, v, at):
    i = torch.arange(k.shape[0], device=k.device)[:, None]; t = at[:, None] + torch.arange(k.shape[1], device=k.device)
    kc[i, t] = k; vc[i, t] = v
    return kc, vc
def dlrm(d, s):
    z = torch.cat((d[:, None], s), 1)
    return z @ z.transpose(1, 2)
def diff(q, k, v, lam):
    a, b = (F.scaled_dot_product_attention(q[:, :, i], k[:, :, i], v, is_causal=True, scale=0.125) for i in (0, 1))
    return a - lam[None, :, None, None].to(a.dtype) * b
def lin(q, k, v):
    b, h, s, d = q.shape
    r = lambda t: t.view(b, h, s // 128, 128, -1)
    qc, kc, vc = r(q), r(k), r(v)
    kv = kc.transpose(-1, -2) @ vc
    st = kv.cumsum(2) - kv
    inner = (qc @ kc.transpose(-1, -2)).tril() @ vc
    return (inner + qc @ st).reshape(b, h, s, -1)
def muon(x):
    a = x @ x.t(); b = -4.775 * a + 2.0315 * (a @ a)
    return 3.4445 * x + b @ x
def muab(x):
    a = x @ x.t(); return torch.addmm(a, a, a, beta=-4.775, alpha=2.0315)
def lgb(x, w, b, dy):
    h = F.linear(x, w, b)
    g = torch.ops.aten.gelu_backward(dy, h)
    return g @ w, g.t() @ x, g.sum(0)
def perc(q, k, v): return F.scaled_dot_product_attention(q[None].expand(k.shape[0], -1, -1, -1), k, v, scale=0.125).transpose(1, 2)
def topk(x):
    v, i = x.topk(2, -1)
    return torch.zeros_like(x).scatter(-1, i, torch.softmax(v, -1))
def focal(x, t):
    p = torch.sigmoid(x); ce = F.binary_cross_entropy_with_logits(x, t, reduction="none")
    pt = p * t + (1 - p) * (1 - t)
    return (0.25 * ce * (1 - pt) ** 2).mean()
def zce(z, t):
    l = torch.logsumexp(z, -1)
    return (l - z.gather(1, t[:, None])[:, 0] + 1e-4 * l * l).mean()
def lstm(x, h, w, u, b, cc):
    i, f, g, o = (F.linear(x, w, b) + F.linear(h, u)).chunk(4, 1)
    cn = torch.sigmoid(f) * cc + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cn), cn
def gru(x, h, w, u, b, d):
    n = h.shape[1]
    a = F.linear(x, w.reshape(3 * n, -1), b.reshape(-1)).chunk(3, 1); e = F.linear(h, u.reshape(3 * n, -1), d.reshape(-1)).chunk(3, 1)
    r, z = torch.sigmoid(a[0] + e[0]), torch.sigmoid(a[1] + e[1]); nn = torch.tanh(a[2] + r * e[2])
    return (1 - z) * nn + z * h
def gd(s, q, k, v, g, beta):
    d = s * g.exp()[..., None, None]
    kf, vf, qf = k.to(s.dtype), v.to(s.dtype), q.to(s.dtype)
    u = (vf - (d * kf[..., None]).sum(-2)) * beta[..., None]
    n = d + kf[..., None] * u[..., None, :]
    s.copy_(n)
    return s, (n * qf[..., None]).sum(-2).to(v.dtype)
def se(x, s1, t1, s2, t2):
    s = torch.sigmoid(F.linear(torch.relu(F.linear(x.mean((2, 3)), s1, t1)), s2, t2))
    return x * s[:, :, None, None]
def clip(a, b, t):
    s = t * (a @ b.t()).float(); l = torch.arange(s.shape[0], device=s.device)
    return (F.cross_entropy(s, l) + F.cross_entropy(s.t(), l)) / 2
def mg(x, wg, w1, w3, w2):
    p = torch.softmax(x @ wg.t(), -1)
    e, f, d = w1.shape
    h = (F.silu(x @ w1.reshape(-1, d).t()) * (x @ w3.reshape(-1, d).t())).view(-1, e, f) * p[..., None]
    return h.reshape(-1, e * f) @ w2.permute(0, 2, 1).reshape(e * f, -1)
CASES = dict(
 tconv2=ct, tconv2_bf=ct, tconv22=lambda x, k, b: F.conv_transpose2d(x, k, b, stride=2),
 up1d=lambda x, k, b: F.conv1d(F.interpolate(x, scale_factor=2), k, b, padding=2),
 bilinear2=lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
 maxpool3=lambda x: F.max_pool2d(x, 3, 2, 1), maxpool2=lambda x: F.max_pool2d(x, 2), avgpool2=lambda x: F.avg_pool2d(x, 2),
 gconv=lambda x, k: F.conv2d(x.flatten(1, 2), k.flatten(0, 1), padding=1, groups=k.shape[0]).view(x.shape),
 dw3=lambda x, k, b: F.relu6(F.conv2d(x, first(k), b, padding=1, groups=k.shape[0])),
 dw7=lambda x, k, b: F.conv2d(x, first(k), b, padding=3, groups=k.shape[0]), dw7f=lambda x, k, b: F.conv2d(x, first(k), b, padding=3, groups=k.shape[0]),
 dw7l=lambda x, k, b: F.conv2d(cl(x), first(k), b, padding=3, groups=k.shape[0]).permute(0, 2, 3, 1),
 convnext=cnx, mbconv=mb, conv33_bwd=cbwd,
 conv33l=lambda x, k, b: F.relu(F.conv2d(cl(x), cl(k), b, padding=1)).permute(0, 2, 3, 1),
 convl_bwd=lbwd(1), stepl_bwd=lbwd(2), tconvl=lambda x, k: F.conv_transpose2d(cl(x), cl(k).transpose(0, 1), stride=2, padding=1).permute(0, 2, 3, 1),
 tconv1d4=lambda x, k: F.conv_transpose1d(x, k, stride=4, padding=4)[..., :4 * x.shape[-1]],
 pshuffle=lambda x: F.pixel_shuffle(x, 2), punshuffle=lambda x: F.pixel_unshuffle(x, 2), swinpart=part, swin=swin, swin64=swin64,
 conformer=conf, dw1d31=lambda x, k: F.conv1d(x.transpose(1, 2), first(k), padding=15, groups=k.shape[0]).transpose(1, 2),
 f8block={"eager": f8b, "scaled_mm": f8s}, f8blockd={"eager": f8b, "scaled_mm": f8s},
 awq=lambda x, q, z, s: gptq(x, q, z, s, True), gptq=gptq_k, nf4=nf4, mmoe=mmoe, rope_il=ril, kvwrite=kvw, dlrmdot=dlrm, diffattn=diff, linattn=lin, muon=muon, muon_ab=muab,
 lingelu_bwd=lgb, perceiver=perc, rmsqkv=lambda x, g, w: F.rms_norm(x, g.shape, g, 1e-6) @ w.t(), topkgate=topk,
 embbag=lambda i, t: F.embedding_bag(i, t, mode="mean"), cosloss=lambda x, y: (1 - F.cosine_similarity(x, y, -1)).mean(),
 kl=lambda x, t: F.kl_div(F.log_softmax(x, -1), F.log_softmax(t, -1), log_target=True, reduction="batchmean"), focal=focal,
 smoothce=lambda z, t: F.cross_entropy(z.float() if z.dtype != torch.float64 else z, t, label_smoothing=0.1), zce=zce, lstmcell=lstm, grucell=gru, gdelta=gd,
 layerscale=lambda x, h, g, b: x + g * (h + b), se=se,
 patch=lambda x, k, b, pos: F.conv2d(x, k, b, stride=14).permute(0, 2, 3, 1) + pos,
 unfold=lambda x: F.unfold(x, 3, padding=1), fold=lambda y: F.fold(y, (56, 56), 3, padding=1), clip=clip,
 positions=lambda m: torch.where(m != 0, m.long().cumsum(1) - 1, 1), l2norm_qk=lambda q, k, g: tuple(F.rms_norm(t, g.shape, g, 1e-6).transpose(1, 2) for t in (q, k)),
 conv1x1s2=lambda x, k: F.conv2d(x, k[:, :, None, None], stride=2),
 gconvl=lambda x, k: F.conv2d(cl(x.flatten(3, 4)), cl(k.flatten(0, 1)), padding=1, groups=k.shape[0]).permute(0, 2, 3, 1).reshape(x.shape), moegated=mg)
draw0 = Bench.draw
def draw(self, a, ext, weights, below={}):
    if a.name == "ids": return torch.randint(0, ext["V"], a.shape, device="cuda")
    if a.name == "t" and a.dtype == "i64": return torch.randint(0, ext["V"], a.shape, device="cuda")
    if a.name == "t" and a.is_scalar: return 10.0
    if a.name == "t" and a.dtype == "f32": return torch.rand(a.shape, device="cuda")
    if a.name == "at": return torch.randint(0, ext["T"] - ext["S"], a.shape, device="cuda", dtype=torch.int32)
    if a.name == "ri": return torch.randint(0, 169, a.shape, device="cuda", dtype=torch.int32)
    if a.name == "mask": return torch.randint(0, 2, a.shape, device="cuda", dtype=torch.int32)
    if a.name == "q" and a.dtype == "u8": return torch.randint(0, 256, a.shape, device="cuda", dtype=torch.uint8)
    if a.name in ("g", "beta") and a.dtype == "f32": return -torch.rand(a.shape, device="cuda") if a.name == "g" else torch.rand(a.shape, device="cuda")
    if a.name in ("sa", "sb", "am"): return torch.rand(a.shape, device="cuda") + 0.5
    return draw0(self, a, ext, weights, below)
Bench.draw = draw
NOCOMPILE = {"f8block", "f8blockd"}
FIRST = "dw7 dw7l dw7f conformer dw1d31 dw3 gconv gconvl mbconv convnext maxpool2 maxpool3 avgpool2 bilinear2 pshuffle punshuffle rope_il tconv2 tconv2_bf swin swin64 conv33_bwd up1d patch mmoe moegated dlrmdot muon muon_ab linattn gptq awq nf4 kvwrite diffattn".split()
for n in FIRST + [n for n in CASES if n not in FIRST]: c(n, CASES[n], compiles=n not in NOCOMPILE)
B.summary()
