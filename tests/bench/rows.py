#!/usr/bin/env python3
"""Rows and bytes: kernels bound by memory beside a copy of as many bytes, and beside PyTorch: rows.py [-a | -w WORKERS] [SECONDS [KERNEL...]], -a leaving PyTorch out, on a machine with a GPU and build/libfx.so.

Output: a JSON line a case: microseconds of ours, of a copy of as many bytes, of eager and compiled PyTorch, for few rows of the fastest of by_hand.cu where nvcc is found; share, the copy's over ours; ratio, the
best peer's over ours. Every element is compared with float64. Other processes run torch.compile ahead; a case says what was not ready. The kernel `sweep` is amr at many extents.
"""
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_FX_GRAPH_CACHE", "1")
import torch
import torch.nn.functional as F
from concurrent.futures import ThreadPoolExecutor

from beside import T, Bench
from row_programs import measured

HERE = pathlib.Path(__file__).resolve().parent


def first(x):
    return x.permute(0, 3, 1, 2)


def ln_bwd(x, g, dy):
    xf, d = x.to(torch.promote_types(x.dtype, torch.float32)), dy.to(torch.promote_types(x.dtype, torch.float32))
    mu = xf.mean(1, keepdim=True)
    r = ((xf - mu) ** 2).mean(1, keepdim=True).add(1e-5).rsqrt()
    n, h = (xf - mu) * r, d * g
    return ((h - h.mean(1, keepdim=True) - n * (h * n).mean(1, keepdim=True)) * r).to(x.dtype), (d * n).sum(0), d.sum(0)


def rope(x, c, s):
    a, b = x.chunk(2, -1)
    c, s = c[:, None], s[:, None]
    return torch.cat((a * c - b * s, b * c + a * s), -1).to(x.dtype)


def quantised(x, group, least, most, dtype):
    v = x.to(torch.promote_types(x.dtype, torch.float32)).reshape(x.shape[0], -1, group)
    scale = v.abs().amax(-1).clamp(min=least) / most
    q = v / scale[..., None]
    q = torch.round(q) if dtype == torch.int8 else q
    return (q if x.dtype == torch.float64 else q.to(dtype)).reshape(x.shape), scale.squeeze(1)


def rmsres(x, r, g):
    s = x + r
    return s, F.rms_norm(s, (s.shape[1],), g, 1e-5)


WIDE = torch.promote_types
# kernel, extents, PyTorch's function, whether it is also compiled
CASES = [
    ("gn_nchw", dict(N=8, G=32, H=64, W=64), lambda x, g, b: F.silu(F.group_norm(x, 32, g, b)), True),
    ("gn_nhwc", dict(N=8, G=32, H=64, W=64), lambda x, g, b: F.silu(F.group_norm(first(x), 32, g, b)).permute(0, 2, 3, 1), True),
    ("bn_nhwc", dict(N=8, H=64, W=64, C=256), lambda x, g, b: F.batch_norm(first(x), None, None, g, b, True).permute(0, 2, 3, 1), True),
    ("bn_nchw", dict(N=8, C=256, H=64, W=64), lambda x, g, b: F.batch_norm(x, None, None, g, b, True), True),
    ("ln_bwd", dict(M=8192, D=4096), ln_bwd, False),
    ("xent", dict(M=4096, V=128256), lambda z, t: F.cross_entropy(z.to(WIDE(z.dtype, torch.float32)), t), True),
    ("rope", dict(S=8192, H=32, E=64), rope, True),
    ("q_token", dict(M=8192, N=4096), lambda x: quantised(x, x.shape[1], 1e-12, 127, torch.int8), True),
    ("q8_token", dict(M=8192, N=4096), lambda x: quantised(x, x.shape[1], 1e-4, 448, torch.float8_e4m3fn), True),
    ("q8_group", dict(M=8192, G=32), lambda x: quantised(x, 128, 1e-4, 448, torch.float8_e4m3fn), True),
    ("tr_add", dict(M=8192, N=8192), lambda x, y: x + y.t(), True),
    ("tr_add16", dict(M=8192, N=8192), lambda x, y: x + y.t(), True),
    ("colsum", dict(M=65536, N=1024), lambda x: x.sum(0), True),
    ("colsum16", dict(M=65536, N=1024), lambda x: x.sum(0, dtype=WIDE(x.dtype, torch.float32)), True),
    ("rmsres", dict(M=4096, D=4096), rmsres, True),
    ("rmsres", dict(M=16384, D=8192), rmsres, False),
    ("silumul", dict(M=8192, N=8192), lambda x, u: F.silu(x) * u, True),
    ("outer", dict(M=8192, N=8192), lambda x, y: F.relu(x[:, None] * y), True),
    ("outer_bwd", dict(M=8192, N=8192), lambda x, y, d: torch.where(x * y > 0, d * y, 0), True),
    ("cumrow", dict(M=16, N=1 << 20), lambda x: x.cumsum(1), True),
    ("cumrow", dict(M=4096, N=4096), lambda x: x.cumsum(1), True),
]
for m, n in (8192, 8192), (1024, 65536), (65536, 1024):
    CASES += [("sm", dict(M=m, N=n), lambda x: torch.softmax(x, -1), True), ("ln", dict(M=m, N=n), lambda x, g, b: F.layer_norm(x, (x.shape[1],), g, b), True),
              ("rowsum", dict(M=m, N=n), lambda x: x.sum(1, dtype=WIDE(x.dtype, torch.float32)), True)]
for m, n in (4, 4), (128, 512), (1024, 64), (16384, 64), (8192, 512), (65536, 512), (262144, 4), (262144, 1024):
    CASES.append(("amr", dict(M=m, N=n), lambda x, y, z: F.relu((x + y) * z), True))
for m in 1, 4, 16:
    for n in 4096, 14336:
        CASES += [("rmsres", dict(M=m, D=n), rmsres, True), ("sm", dict(M=m, N=n), lambda x: torch.softmax(x, -1), True),
                  ("q_token", dict(M=m, N=n), lambda x: quantised(x, x.shape[1], 1e-12, 127, torch.int8), True), ("silumul", dict(M=m, N=n), lambda x, u: F.silu(x) * u, True)]
SWEEP = [("amr", dict(M=m, N=n), lambda x, y, z: F.relu((x + y) * z), True) for m in (4, 32, 256, 2048, 16384, 65536, 262144) for n in (4, 16, 64, 256, 1024)]
BY_HAND = {"rmsres": 0, "sm": 1, "q_token": 2, "silumul": 3}
THREADS = {3: (64, 128, 256, 65, 129, 257)}  # of odd numbers, 4 bytes a thread


def by_hand():
    """What calls kernel number k of by_hand.cu by blocks of t threads, or None where it could not be built."""
    out = pathlib.Path("/tmp/by_hand.so")
    try:
        subprocess.run(["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", out, HERE / "by_hand.cu"], check=True)
        lib = ctypes.CDLL(out)
    except (OSError, subprocess.CalledProcessError) as e:
        return print("by hand:", repr(e)[:200])

    def call(k, t, tensors, m, n):
        p = (ctypes.c_void_p * len(tensors))(*[x.data_ptr() for x in tensors])
        return lib.by_hand(k, t, p, ctypes.c_int64(m), ctypes.c_int64(n), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    return call


def hands(call, name, extents):
    """The ways in which it was written by hand: functions of a set of tensors, those for the outputs last."""
    if not call or name not in BY_HAND or extents["M"] > 16:
        return {}
    m, n = extents["M"], extents.get("N", extents.get("D"))
    k = BY_HAND[name]
    return {f"hand{t}": (lambda tensors, t=t: call(k, t, tensors, m, n)) for t in THREADS.get(k, (256, 512, 1024)) if k == 3 or n <= t * 32}


class Rows(Bench):
    def prepared(self, name, extents):
        spec = self.fx.Spec(self.lib, HERE / "rows.fx", kernel=name, defines=[f"{l}={e}" for l, e in extents.items()])
        k = self.fx.Kernel(spec, name, extents)
        k.prepare(self.context)
        return k


def warm(cases, bench):
    """Runs in a process of its own: fills the cache on disk."""
    for name, extents, f, _ in cases:
        try:
            spec = bench.fx.Spec(bench.lib, HERE / "rows.fx", kernel=name, defines=[f"{l}={e}" for l, e in extents.items()])
            k = bench.fx.Kernel(spec, name, extents)
            torch._dynamo.reset()
            torch.compile(f, dynamic=False)(*[bench.draw(a, k_extents(k), ()) for a in k.args if a.is_input])
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except Exception as e:
            print(name, repr(e)[:200], flush=True)


def k_extents(k):
    return dict(zip(k.labels, k.extents))


def main():
    args = sys.argv[1:]
    workers, mine = 12, -1
    is_alone = args[:1] == ["-a"]
    if is_alone:
        workers, args = 0, args[1:]
    elif args[:1] == ["-w"]:
        workers, args = int(args[1]), args[2:]
    if args[:1] == ["--warm"]:
        mine, args = int(args[1]), args[2:]
    seconds, only = float(args[0]) if args else 300, args[1:]
    cases = [c for c in CASES if not only or c[0] in only] + (SWEEP if "sweep" in only else [])
    compiled = [c for c in cases if c[3]]
    bench = Rows(HERE.parents[1], deadline=seconds)
    if mine >= 0:
        return warm(compiled[mine::workers], bench)
    started = time.time()
    ahead = [subprocess.Popen([sys.executable, __file__, "-w", str(workers), "--warm", str(i), *args]) for i in range(min(workers, len(compiled)))]
    with ThreadPoolExecutor(4) as pool:
        kernels = [pool.submit(bench.prepared, *c[:2]) for c in cases]
        for k in kernels:
            k.exception()
    for p in ahead:
        try:
            p.wait(max(1, bench.end - 35 - time.time()))
        except subprocess.TimeoutExpired:
            p.kill()
            print("torch.compile: not all were ready", flush=True)
    call = None if is_alone else by_hand()
    print(f"ready after {time.time() - started:.0f} s", flush=True)
    for (name, extents, f, is_compiled), k in zip(cases, kernels):
        if time.time() > bench.end:
            print("left out: deadline", flush=True)
            break
        try:
            k = k.result()
            line = measured(bench, k, f, compiled=is_compiled and not is_alone, peers=not is_alone, others=hands(call, name, extents))
            if "ratio" in line:
                bench.ratios.append(line["ratio"])
        except Exception as e:
            line = dict(failed=repr(e)[:300])
        print(json.dumps(dict(case=name, **extents) | line), flush=True)
        torch.cuda.empty_cache()
    bench.summary()


if __name__ == "__main__":
    main()
