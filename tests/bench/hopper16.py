#!/usr/bin/env python3
"""What epilogues and computed operands of 16-bit products on sm_90a cost: beside our plain product of the same operations, cuBLASLt's best, eager and compiled PyTorch.

usage: hopper16.py [--lib SO] [--rounds N] [--no-compile] [GROUP...], on a machine with a GPU, PyTorch and build/libfx.so.

A group is raced as a whole: CUDA graphs of launches whose operands go through more than the L2 cache, in random order each round. cuBLASLt's best is the fastest of its first 16
heuristics with 64 MiB of workspace. `torch.compile` (max-autotune without CUDA graphs) runs ahead in processes of its own. Every output is compared with float64.
Output: a line a contender: microseconds, their 10th and 90th percentile, TFLOP/s, the largest error over the largest value, and the ratios peer / ours that the group asks for, each as the median of the
rounds' own ratios with their 10th and 90th percentile.
"""
import argparse
import concurrent.futures
import ctypes as c
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.nn.functional as F

import libfx

SPEC = """
kernel plain(x: T[M,K], w: T[K,N]) -> (y: T[M,N]) { y = x @ w }
kernel plain_nk(x: T[M,K], w: T[N,K]) -> (y: T[M,N]) { y = x @[K] w }
kernel batched(x: T[B,M,K], w: T[B,K,N]) -> (y: T[B,M,N]) { y = x @ w }
kernel lin_gelu(x: T[M,K], w: T[N,K], b: T[N]) -> (y: T[M,N]) { y = gelu(x @[K] w + b) }
kernel lin_gelu_tanh(x: T[M,K], w: T[N,K], b: T[N]) -> (y: T[M,N]) { y = gelu_tanh(x @[K] w + b) }
kernel lin_gelu_kn(x: T[M,K], w: T[K,N], b: T[N]) -> (y: T[M,N]) { y = gelu(x @ w + b) }
kernel split(x: T[M,K], w: T[P=2*N,K]) -> (y: T[M,N]) { l, r = halves[P->N](x @[K] w)
  y = sigmoid(l) * tanh(r) }
kernel split_kn(x: T[M,K], w: T[K,P=2*N]) -> (y: T[M,N]) { l, r = halves[P->N](x @ w)
  y = sigmoid(l) * tanh(r) }
kernel ln_gelu(x: T[M,K], w: T[K,N], b: T[N]) -> (y: T[M,N]) { y = gelu_tanh(layernorm[K](x, eps: 1e-5) @ w + b) }
kernel ln_fold(x: T[M,K], w: T[K,N], b: T[N]) -> (y: T[M,N]) { y = gelu_tanh((x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) + b) }
kernel ln_fold_const(x: T[M,K], w: const T[K,N], b: T[N]) -> (y: T[M,N]) { y = gelu_tanh((x @ w - mean[K](x) * sum[K](w)) * rsqrt(var[K](x) + 1e-5) + b) }
kernel rms_fold(x: T[M,K], w: T[K,N]) -> (y: T[M,N]) { y = (x @ w) * rsqrt(mean[K](x * x) + 1e-5) }
kernel rms_pro(x: T[M,K], g: T[K], w: T[N,K]) -> (y: T[M,N]) { y = T(rmsnorm[K](x) * g) @[K] w }
kernel scale_k(x: T[M,K], s: T[K], w: T[N,K]) -> (y: T[M,N]) { y = (x * s) @[K] w }
kernel cast_x(x: f32[M,K], w: T[N,K]) -> (y: T[M,N]) { y = T(x) @[K] w }
kernel i8_w(x: T[M,K], w: i8[N,K], s: T[N]) -> (y: T[M,N]) { y = (x @[K] T(w)) * s }
kernel i8_w_const(x: T[M,K], w: const i8[N,K], s: T[N]) -> (y: T[M,N]) { y = (x @[K] T(w)) * s }
kernel i8_w_in(x: T[M,K], w: i8[N,K], s: T[N]) -> (y: T[M,N]) { y = x @[K] T(w * s) }
kernel lora_relu(x: T[M,K], w: T[K,N], a: T[K,R], c: T[R,N]) -> (y: T[M,N]) { y = relu(x @ w + T(x @ a) @ c) }
kernel lora_up(x: T[M,K], w: T[K,N], a: T[M,R], c: T[R,N]) -> (y: T[M,N]) { y = x @ w + a @ c }
kernel row_squares(x: T[M,K], w: T[K,N]) -> (y: T[M,N], s: f32[M]) { z = x @ w
  y = z
  s = sum[N](z * z) }
kernel lin_softmax(x: T[M,K], w: T[K,N]) -> (y: T[M,N]) { y = softmax[N](x @ w) }
kernel conv[U=3,V=3](x: T[B,H,W,C], k: T[O,U,V,C]) -> (y: T[B,H,W,O]) { y = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel first_one(x: T[B,C,H,W], k: T[O,C]) -> (y: T[B,O,H,W]) { y = sum[C](x * k) }
kernel mlp(x: T[B,I=512], w1: T[H=512,I], b1: T[H], w2: T[J=256,H], b2: T[J], w3: T[O=1,J], b3: T[O]) -> (y: T[B,O]) {
  y = T(relu(T(relu(x @[I] w1 + b1)) @[H] w2 + b2)) @[J] w3 + b3 }
kernel cosmat(x: T[M,D], y: T[N,D]) -> (s: T[M,N]) { s = (x @[D] y) / (sqrt(sum[D](x*x)) * sqrt(sum[D](y*y))) }
kernel swiglu(x: T[M,K], w: T[N,K], v: T[N,K]) -> (y: T[M,N]) { y = silu(x @[K] w) * (x @[K] v) }
"""
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8}
SCALED = ("w", "a", "c", "k", "w1", "w2", "w3", "v")  # of magnitude K^-1/2


def ln(x):
    return F.layer_norm(x, (x.shape[-1],), eps=1e-5)


# The same functions by PyTorch, of tensors of any dtype.
EAGER = dict(
    plain=lambda x, w: x @ w, plain_nk=lambda x, w: x @ w.t(), batched=lambda x, w: x @ w, lin_gelu=lambda x, w, b: F.gelu(F.linear(x, w, b)),
    lin_gelu_tanh=lambda x, w, b: F.gelu(F.linear(x, w, b), approximate="tanh"), lin_gelu_kn=lambda x, w, b: F.gelu(x @ w + b),
    split=lambda x, w: (lambda h: h[:, : h.shape[1] // 2].sigmoid() * h[:, h.shape[1] // 2 :].tanh())(x @ w.t()),
    split_kn=lambda x, w: (lambda h: h[:, : h.shape[1] // 2].sigmoid() * h[:, h.shape[1] // 2 :].tanh())(x @ w),
    ln_gelu=lambda x, w, b: F.gelu(ln(x) @ w + b, approximate="tanh"), ln_fold=lambda x, w, b: F.gelu(ln(x) @ w + b, approximate="tanh"),
    ln_fold_const=lambda x, w, b: F.gelu(ln(x) @ w + b, approximate="tanh"), rms_fold=lambda x, w: F.rms_norm(x, (x.shape[1],), eps=1e-5) @ w,
    rms_pro=lambda x, g, w: F.rms_norm(x, (x.shape[1],), g, 1e-5) @ w.t(), scale_k=lambda x, s, w: (x * s) @ w.t(), cast_x=lambda x, w: x.to(w.dtype) @ w.t(),
    i8_w=lambda x, w, s: (x @ w.to(x.dtype).t()) * s, i8_w_const=lambda x, w, s: (x @ w.to(x.dtype).t()) * s, i8_w_in=lambda x, w, s: x @ (w.to(x.dtype) * s[:, None]).t(), lora_relu=lambda x, w, a, u: F.relu(x @ w + (x @ a) @ u),
    lora_up=lambda x, w, a, u: x @ w + a @ u, row_squares=lambda x, w: (lambda z: (z, z.float().square().sum(1)))(x @ w), lin_softmax=lambda x, w: torch.softmax(x @ w, -1),
    conv=lambda x, k: F.conv2d(x.permute(0, 3, 1, 2), k.permute(0, 3, 1, 2), padding=1).permute(0, 2, 3, 1), first_one=lambda x, k: F.conv2d(x, k[:, :, None, None]),
    mlp=lambda x, w1, b1, w2, b2, w3, b3: F.linear(F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)), w3, b3),
    cosmat=lambda x, y: (x @ y.t()) / (x.norm(dim=1)[:, None] * y.norm(dim=1)), swiglu=lambda x, w, v: F.silu(x @ w.t()) * (x @ v.t()))


def mnk(*s, **more):
    return dict(zip("MNK", s)) | more


def flops(name, e):
    if name == "conv":
        return 18.0 * e["B"] * e["H"] * e["W"] * e["C"] * e["O"]
    if name == "first_one":
        return 2.0 * e["B"] * e["H"] * e["W"] * e["C"] * e["O"]
    if name == "mlp":
        return 2.0 * e["B"] * (512 * 512 + 512 * 256 + 256)
    if name == "cosmat":
        return 2.0 * e["M"] * e["N"] * e["D"]
    return 2.0 * e.get("B", 1) * e["M"] * e["N"] * e["K"] * (2 if name in ("split", "split_kn", "swiglu") else 1)


class Group:
    """Ours by name (one name a contender: `kernel` or `kernel/label`), peers of the first one's arguments: `eager`, `lt` (cuBLASLt's product alone), `lt_gelu`, `compiled`, and ratios (over, under)."""

    def __init__(self, label, dtype, ours, peers, ratios):
        self.label, self.dtype, self.ours, self.peers, self.ratios = label, dtype, ours, peers, ratios


def one(kernel, e, dtype="bf16", peers=("eager",), beside=()):
    """A kernel beside peers and beside other kernels of ours."""
    label = f"{kernel} {dtype} " + " ".join(f"{l}={v}" for l, v in e.items())
    return Group(label, dtype, [(kernel, e), *beside], peers, [(p, kernel) for p in peers] + [(b[0], kernel) for b in beside])


S4096 = mnk(4096, 4096, 4096)
GROUPS = {}
GROUPS["plain"] = [one(k, e, d, ("lt",)) for d in ("bf16", "f16") for k in ("plain", "plain_nk")
                   for e in ([mnk(s, s, s) for s in (1024, 2048, 4096, 8192)] + [mnk(2048, 2112, 7168), mnk(300, 5000, 4104), mnk(2048, 12288, 3072)])]
GROUPS["split"] = [one("split", mnk(*s), peers=("lt2", "eager", "compiled"), beside=[("plain_nk", mnk(s[0], 2 * s[1], s[2]))]) for s in ((1024, 2048, 2048), (4096, 4096, 4096), (8192, 14336, 4096))]
GROUPS["split"] += [one("split_kn", mnk(*s), peers=("eager",), beside=[("plain", mnk(s[0], 2 * s[1], s[2]))]) for s in ((1024, 2048, 2048), (4096, 4096, 4096))]
GROUPS["gelu"] = [one("lin_gelu", mnk(*s), peers=("lt", "lt_gelu", "eager"), beside=[("lin_gelu_tanh", mnk(*s)), ("plain_nk", mnk(*s))])
                  for s in ((512, 4096, 1024), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 14336, 4096))]
GROUPS["norm"] = [one("ln_gelu", mnk(512, 4096, 1024), "f16", ("lt", "eager", "compiled"), [("ln_fold", mnk(512, 4096, 1024)), ("plain", mnk(512, 4096, 1024))]),
                  one("ln_gelu", mnk(4096, 16384, 4096), "f16", ("lt", "eager", "compiled"), [("ln_fold", mnk(4096, 16384, 4096)), ("ln_fold_const", mnk(4096, 16384, 4096)), ("plain", mnk(4096, 16384, 4096))]),
                  one("ln_fold", S4096, "bf16", ("eager",), [("ln_fold_const", S4096), ("rms_fold", S4096), ("lin_gelu_kn", S4096), ("plain", S4096)])]
GROUPS["computed"] = [Group("operands computed on the way, bf16 4096^3", "bf16", [(k, S4096) for k in ("cast_x", "i8_w", "i8_w_const", "i8_w_in", "scale_k", "rms_pro", "plain_nk")], ("lt",),
                            [(p, k) for k in ("cast_x", "i8_w", "i8_w_const", "i8_w_in", "scale_k", "rms_pro") for p in ("plain_nk", "lt")])]
GROUPS["odd"] = [Group("odd pitches, bf16", "bf16", [("plain_nk", mnk(4095, 4097, 4093)), ("plain_nk/aligned", S4096)], ("eager",), [("plain_nk/aligned", "plain_nk"), ("eager", "plain_nk")]),
                 Group("odd pitches, w [K,N], bf16", "bf16", [("plain", mnk(4095, 4097, 4093)), ("plain/aligned", S4096)], ("eager",), [("plain/aligned", "plain"), ("eager", "plain")])]
GROUPS["lora"] = [one("lora_relu", mnk(4096, 4096, 4096, R=16), peers=("lt", "eager", "compiled"), beside=[("lora_up", mnk(4096, 4096, 4096, R=16)), ("plain", S4096)]),
                  one("lora_relu", mnk(8192, 8192, 4096, R=64), peers=("lt", "eager", "compiled"), beside=[("plain", mnk(8192, 8192, 4096))])]
GROUPS["more"] = [one("batched", mnk(1024, 1024, 1024, B=64)), one("conv", dict(B=32, H=56, W=56, C=64, O=64)), one("conv", dict(B=32, H=14, W=14, C=256, O=256)),
                  one("first_one", dict(B=32, C=512, H=7, W=7, O=2048)), one("first_one", dict(B=32, C=256, H=28, W=28, O=512)),
                  one("row_squares", S4096, beside=[("plain", S4096)]), one("lin_softmax", mnk(8192, 256, 4096), beside=[("plain", mnk(8192, 256, 4096))]),
                  one("cosmat", dict(M=8192, N=8192, D=512), beside=[("plain_nk", mnk(8192, 8192, 512))]),
                  one("swiglu", mnk(1000, 3000, 2000), beside=[("plain_nk", mnk(1000, 6000, 2000))]), one("swiglu", mnk(2048, 5504, 2056), beside=[("plain_nk", mnk(2048, 11008, 2056))])]
GROUPS["mlp"] = [one("mlp", dict(B=b), peers=("eager", "compiled")) for b in (128, 2048, 16384)]


class Lt:
    """cuBLASLt by ctypes, as much as a product of row-major matrices takes."""

    def __init__(self):
        self.l = next(l for l in map(self._open, ("libcublasLt.so.13", "libcublasLt.so", "libcublasLt.so.12")) if l)
        self.handle, self.space = c.c_void_p(), torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        self.check(self.l.cublasLtCreate(c.byref(self.handle)))

    @staticmethod
    def _open(name):
        try:
            return c.CDLL(name)
        except OSError:
            return None

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"cuBLASLt: status {status}")

    def product(self, x, w, y, is_nk, bias=None):
        """The launch of the best algorithm for y = x @ w, or gelu by tanh of that and a bias; the addresses are those of the call."""
        (m, k), n, code = x.shape, y.shape[1], {torch.bfloat16: 14, torch.float16: 2}[x.dtype]
        desc, pref = c.c_void_p(), c.c_void_p()
        self.check(self.l.cublasLtMatmulDescCreate(c.byref(desc), 68, 0))
        put = lambda attr, v: self.check(self.l.cublasLtMatmulDescSetAttribute(desc, attr, c.byref(v), c.c_size_t(c.sizeof(v))))
        put(3, c.c_int32(1 if is_nk else 0))
        if bias is not None:
            put(7, c.c_int32(36)), put(8, c.c_void_p(bias.data_ptr()))
        layouts = []
        for rows, cols in ((k, n) if is_nk else (n, k), (k, m), (n, m)):
            layout = c.c_void_p()
            self.check(self.l.cublasLtMatrixLayoutCreate(c.byref(layout), code, c.c_uint64(rows), c.c_uint64(cols), c.c_int64(rows)))
            layouts.append(layout)
        self.check(self.l.cublasLtMatmulPreferenceCreate(c.byref(pref)))
        size = c.c_uint64(64 << 20)
        self.check(self.l.cublasLtMatmulPreferenceSetAttribute(pref, 1, c.byref(size), c.c_size_t(8)))
        results, found = (c.c_ubyte * (96 * 16))(), c.c_int()
        a, b, d = layouts
        self.check(self.l.cublasLtMatmulAlgoGetHeuristic(self.handle, desc, a, b, d, d, pref, 16, results, c.byref(found)))
        one_, zero = c.c_float(1), c.c_float(0)

        def launch(i, x, w, y, bias=None):
            if bias is not None:
                put(8, c.c_void_p(bias.data_ptr()))
            self.check(self.l.cublasLtMatmul(self.handle, desc, c.byref(one_), c.c_void_p(w.data_ptr()), a, c.c_void_p(x.data_ptr()), b, c.byref(zero), c.c_void_p(y.data_ptr()), d,
                                             c.c_void_p(y.data_ptr()), d, c.byref(results, 96 * i), c.c_void_p(self.space.data_ptr()), c.c_size_t(64 << 20),
                                             c.c_void_p(torch.cuda.current_stream().cuda_stream)))

        best = (math.inf, 0)
        for i in range(found.value):
            try:
                for _ in range(2):
                    launch(i, x, w, y, bias)
            except RuntimeError:
                continue
            start, end, times = torch.cuda.Event(True), torch.cuda.Event(True), []
            for _ in range(3):
                start.record()
                for _ in range(8):
                    launch(i, x, w, y, bias)
                end.record(), end.synchronize()
                times.append(start.elapsed_time(end))
            best = min(best, (min(times), i))
        return lambda x, w, y, bias=None: launch(best[1], x, w, y, bias)


class Ours:
    def __init__(self, context, lib, path, name, extents):
        self.kernel_name = name.split("/")[0]
        self.spec = libfx.Spec(lib, path, kernel=self.kernel_name, defines=[f"{l}={e}" for l, e in extents.items()])
        self.k = libfx.Kernel(self.spec, self.kernel_name, extents)
        t = time.time()
        self.k.prepare(context)
        self.prepare_s = time.time() - t


def draw(a, generator):
    if a.dtype == "i8":
        return torch.randint(-100, 101, a.shape, device="cuda", dtype=torch.int8, generator=generator)
    t = torch.randn(a.shape, device="cuda", dtype=torch.float32, generator=generator)
    if a.name in SCALED and len(a.shape) > 1:
        t *= (math.prod(a.shape) / min(a.shape)) ** -0.5 if a.name == "k" else max(a.shape[-1], a.shape[-2]) ** -0.5
    return t.to(TYPES[a.dtype])


def graph_of(go, n):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        go(0), go(n - 1)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(n):
            go(i)
    return g


def quantile(v, q):
    v = sorted(v)
    return v[min(len(v) - 1, round(q * (len(v) - 1)))]


def spread(v, form):
    return f"{quantile(v, 0.5):{form}} [{quantile(v, 0.1):{form}}, {quantile(v, 0.9):{form}}]"


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def compiled(name):
    torch._dynamo.reset()
    return torch.compile(EAGER[name], dynamic=False, mode="max-autotune-no-cudagraphs")


def run(group, ours, lt, rounds, with_compile):
    gen = torch.Generator(device="cuda").manual_seed(0)
    contenders, errors, entries, sets_of, plain_flops = {}, {}, {}, {}, {}
    for (name, extents), mine in zip(group.ours, ours):
        k = mine.k
        size = sum(math.prod(a.shape) * TYPES[a.dtype].itemsize for a in k.args)
        n = max(2, min(16, math.ceil(160e6 / size)))
        sets = [[draw(a, gen) if a.is_input else torch.full(a.shape, float("nan"), device="cuda", dtype=TYPES[a.dtype]) for a in k.args] for _ in range(n)]
        values = [k.values([t.data_ptr() for t in s]) for s in sets]
        for v in values:  # what is made of const tensors, before anything is captured
            k.constants(v, None)
        size = k.workspace_bytes(values[0])
        space = torch.empty(max(256, size), dtype=torch.uint8, device="cuda")
        go = lambda i, k=k, values=values, space=space, size=size: k.launch(values[i], space.data_ptr(), size, torch.cuda.current_stream().cuda_stream)
        go(0), torch.cuda.synchronize()
        entries[name] = " + ".join(e for e in k.entries(values[0]) if e != "?")
        inputs = [[t for t, a in zip(s, k.args) if a.is_input] for s in sets]
        outputs = [t for t, a in zip(sets[0], k.args) if a.is_output]
        want = as_tuple(EAGER[mine.kernel_name](*[t.double() if t.is_floating_point() else t for t in inputs[0]]))
        errors[name] = max(((o.double() - w.double()).abs().max() / w.abs().max()).item() for o, w in zip(outputs, want))
        if not math.isfinite(errors[name]):
            errors[name] = math.inf
        del want
        contenders[name], sets_of[name], plain_flops[name] = (go, n), (inputs, sets), flops(mine.kernel_name, extents)
    first = group.ours[0][0]
    inputs, sets = sets_of[first]
    n = len(inputs)
    for peer in group.peers:
        f = EAGER[ours[0].kernel_name]
        if peer == "eager":
            contenders[peer] = (lambda i: f(*inputs[i])), n
        elif peer == "compiled":
            if with_compile:
                cf = compiled(ours[0].kernel_name)
                cf(*inputs[0])
                contenders[peer] = (lambda i: cf(*inputs[i])), n
        else:
            is_nk = ours[0].kernel_name in ("plain_nk", "lin_gelu", "split", "cast_x")
            x0 = inputs[0][0] if group.dtype != "bf16" or inputs[0][0].dtype != torch.float32 else inputs[0][0].bfloat16()
            w0 = inputs[0][1]
            y0 = torch.empty(x0.shape[0], w0.shape[0] if is_nk else w0.shape[1], dtype=x0.dtype, device="cuda")
            has_bias = peer == "lt_gelu"
            go = lt.product(x0, w0, y0, is_nk, inputs[0][2] if has_bias else None)
            all_x = [x0] * n if x0 is not inputs[0][0] else [i[0] for i in inputs]
            contenders[peer] = (lambda i, go=go, all_x=all_x, y0=y0, has_bias=has_bias: go(all_x[i], inputs[i][1], y0, inputs[i][2] if has_bias else None)), n
        plain_flops[peer] = plain_flops[first]
    graphs = {}
    for who, (go, n) in contenders.items():
        graphs[who] = graph_of(go, n), n
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)

    def timed(who, reps):
        g, n = graphs[who]
        start.record()
        for _ in range(reps):
            g.replay()
        end.record(), end.synchronize()
        return start.elapsed_time(end) * 1e3 / n / reps

    reps = {}
    for who, (_, n) in graphs.items():
        timed(who, 1)
        reps[who] = max(1, round(1000 / (timed(who, 1) * n)))
    times = {who: [] for who in graphs}
    for r in range(rounds + 2):
        order = list(graphs)
        random.shuffle(order)
        for who in order:
            t = timed(who, reps[who])
            if r >= 2:
                times[who].append(t)
    print(f"== {group.label}")
    for who, t in times.items():
        rate = plain_flops[who] / quantile(t, 0.5) / 1e6
        print(f"   {who:18} {spread(t, '.2f'):32} us {rate:6.1f} TFLOP/s" + (f"  error {errors[who]:.2g}  {entries[who]}" if who in errors else ""))
    for over, under in group.ratios:
        if over in times and under in times:
            print(f"   {over} / {under}: " + spread([a / b for a, b in zip(times[over], times[under])], ".3f"))
    sys.stdout.flush()


def warm(names):
    """Compiles what a later process will compile."""
    gen = torch.Generator(device="cuda").manual_seed(0)
    lib = libfx.load(libfx.ROOT / "build/libfx.so")
    for name in names:
        for group in GROUPS[name]:
            if "compiled" in group.peers:
                kernel, extents = group.ours[0]
                path = pathlib.Path(tempfile.mkdtemp()) / "hopper16.fx"
                path.write_text(SPEC.replace("T[", group.dtype + "[").replace("T(", group.dtype + "("))
                k = libfx.Kernel(libfx.Spec(lib, path, kernel=kernel, defines=[f"{l}={e}" for l, e in extents.items()]), kernel, extents)
                compiled(kernel)(*[draw(a, gen) for a in k.args if a.is_input])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--no-compile", action="store_true")
    p.add_argument("--warm", action="store_true", help="only compile, for a later process")
    p.add_argument("groups", nargs="*")
    args = p.parse_args()
    names = args.groups or list(GROUPS)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True
    if args.warm:
        return warm(names)
    began = time.time()
    ahead = {}
    if not args.no_compile:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())
        for n in names:
            if any("compiled" in g.peers for g in GROUPS[n]):
                ahead[n] = subprocess.Popen([sys.executable, __file__, "--warm", n], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    torch.zeros(1, device="cuda")
    lib = libfx.load(args.lib)
    context = libfx.Context(lib)
    print(context.device, torch.__version__)
    threading.stack_size(16 << 20)
    folder = pathlib.Path(tempfile.mkdtemp())
    paths = {}
    for d in ("bf16", "f16"):
        paths[d] = folder / f"{d}.fx"
        paths[d].write_text(SPEC.replace("T[", d + "[").replace("T(", d + "("))
    groups = [g for n in names for g in GROUPS[n]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        waiting = [[pool.submit(Ours, context, lib, paths[g.dtype], k, e) for k, e in g.ours] for g in groups]
        lt = Lt()
        late = set()
        for name, process in ahead.items():
            try:
                process.wait(max(0.1, began + 75 - time.time()))
            except subprocess.TimeoutExpired:
                process.kill()
                late.add(name)
                print(f"torch.compile was not ready: {name}")
        prepared = []
        for g, w in zip(groups, waiting):
            try:
                prepared.append((g, [f.result() for f in w]))
            except Exception as e:
                print(f"== {g.label}: {e}")
    print(f"ready after {time.time() - began:.0f} s")
    for g, ours in prepared:
        is_ready = any(g in GROUPS[n] for n in set(ahead) - late)
        try:
            run(g, ours, lt, args.rounds, is_ready)
        except Exception as e:
            print(f"== {g.label}: {e!r}"[:600])
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
