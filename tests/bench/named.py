#!/usr/bin/env python3
"""Extents compiled in and open, beside PyTorch and beside the rate of reading: named.py [--only NAME,...] [--rounds N] [--lib SO] [--deadline S], on a machine with a GPU, PyTorch and build/libfx.so.

Each case of CASES, from the specs of this folder and of the examples, once with its extents compiled in (`fixed`) and once without (`open`), beside the fastest of its peers. Every output of both is compared with the peer in float64 where that computes it.
Graphs of launches over copies of the arguments that exceed the L2 cache, interleaved in random order, medians. `share` is the time that `sum[T](x)` of as many bytes takes over ours. `bits`: twenty launches of each, the workspace filled with noise between them, gave the same bits.

Output: a JSON line a case: microseconds, ratio = best peer / fixed, open = open / fixed, entries; then the geometric means.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import time

import libfx

HERE = pathlib.Path(__file__).resolve().parent
S3, S2 = libfx.ROOT / "examples/s3_fused_kernels", libfx.ROOT / "examples/s2_puzzles"
ROTATED, MOST_COPIES, WORKERS, LAUNCHES = 200 << 20, 16, 14, 20


def nk(m, n, k):
    return dict(M=m, N=n, K=k)


# spec, kernel, extents; "share": the rate of reading is what it is held to
CASES = [
    (HERE / "layers.fx", "mm_nk", nk(256, 256, 65536)),
    (HERE / "layers.fx", "mm_f32", nk(128, 1024, 65536)),
    (HERE / "layers.fx", "mm_nk", nk(64, 64, 65536)),
    (HERE / "layers.fx", "mm_nk", nk(64, 64, 65000)),
    (HERE / "layers.fx", "mm_nk", nk(16, 64, 262144)),
    (HERE / "layers.fx", "mm_nk", nk(1024, 1024, 65536)),
    (HERE / "layers.fx", "mm_nk", nk(1, 4096, 4096), "share"),
    (HERE / "layers.fx", "mm_nk", nk(4, 4096, 4096), "share"),
    (HERE / "layers.fx", "mm_nk", nk(16, 4096, 4096), "share"),
    (HERE / "layers.fx", "mm_nk", nk(1, 14336, 4096), "share"),
    (HERE / "layers.fx", "mm_nk", nk(4, 14336, 4096), "share"),
    (HERE / "layers.fx", "mm_nk", nk(16, 14336, 4096), "share"),
    (HERE / "layers.fx", "swiglu", nk(64, 14336, 4096)),
    (HERE / "layers.fx", "i8lin", nk(1, 14336, 4096), "share"),
    (HERE / "layers.fx", "i8lin", nk(16, 14336, 4096), "share"),
    (HERE / "layers.fx", "i8lin", nk(64, 14336, 4096), "share"),
    (HERE / "layers.fx", "w4", nk(1, 14336, 4096), "share"),
    (HERE / "layers.fx", "w4", nk(16, 14336, 4096), "share"),
    (HERE / "layers.fx", "w4", nk(64, 14336, 4096), "share"),
    (HERE / "layers.fx", "w4", nk(1, 4096, 4096), "share"),
    (HERE / "layers.fx", "w4", nk(16, 4096, 4096), "share"),
    (HERE / "compositions.fx", "dec", dict(H=128, R=4, T=8192, D=128), "share"),
    (S3 / "s3_04_prediction.fx", "top_layer", dict(B=128, E=16, S=26, H=512)),
    (S3 / "s3_04_prediction.fx", "prediction", dict(B=2, E=16, S=26)),
    (S3 / "s3_04_prediction.fx", "prediction_main", dict(B=128, E=16, S=26)),
    (S2 / "p12_quant_dot.fx", "quant_dot", dict(J=4096, L=4096, C=64)),
    # what else people compile without extents
    (HERE / "layers.fx", "lin_gelu", nk(64, 64, 64)),
    (HERE / "layers.fx", "lin_gelu", nk(512, 4096, 1024)),
    (HERE / "layers.fx", "mm_nk", nk(300, 5000, 4104)),
    (HERE / "layers.fx", "mm_nk", nk(512, 512, 4096)),
    (HERE / "layers.fx", "mm_nk", nk(2017, 263, 3193)),
    (HERE / "layers.fx", "mm_nk", nk(84, 86, 4268)),
    (HERE / "layers.fx", "mm_nk", nk(391, 142, 177696)),
    (HERE / "layers.fx", "mm", nk(4096, 4096, 4096)),
    (HERE / "layers.fx", "mm", nk(4095, 4097, 4093)),
    (HERE / "layers.fx", "mm_f32", nk(1024, 1024, 1024)),
    (HERE / "layers.fx", "attn", dict(H=64, S=2048, T=2048, D=128)),
    (HERE / "layers.fx", "sm", dict(M=8192, N=8192)),
    (HERE / "layers.fx", "cumd", dict(B=4, K=1024, N=2048)),
    (HERE / "compositions.fx", "conv3", dict(B=16, H=64, W=64, C=128, O=128)),
    (HERE / "compositions.fx", "conv3n", dict(B=16, C=64, H=66, W=66, O=128)),
    (HERE / "compositions.fx", "conv1", dict(B=32, C=256, H=28, W=28, O=512)),
    (HERE / "compositions.fx", "bn_train", dict(N=64, C=64, H=56, W=56)),
    (HERE / "compositions.fx", "rowcol", dict(M=8192, N=8192)),
    (HERE / "compositions.fx", "lora", dict(M=4096, K=4096, N=4096, R=16)),
    (HERE / "compositions.fx", "rmslin", dict(M=1024, K=4096, N=4096)),
]


def kernels(lib, case):
    path, name, e = case[:3]
    return {"fixed": libfx.Kernel(libfx.Spec(lib, path, kernel=name, defines=[f"{a}={v}" for a, v in e.items()]), name, e),
            "open": libfx.Kernel(libfx.Spec(lib, path, kernel=name), name, e)}


def warm(lib, cases):
    """Fills the disk cache."""
    context = libfx.Context(lib)
    for c in cases:
        try:
            for k in kernels(lib, c).values():
                k.prepare(context)
        except libfx.Failure as e:
            print(c[1:], str(e)[:200], file=sys.stderr)


def peers():
    """By kernel: functions of the inputs; the first is the reference."""
    import torch
    import torch.nn.functional as F

    import compositions
    import references as r

    def unpacked(q, s):
        u = ((q[..., None] >> torch.arange(8, device=q.device, dtype=torch.int32) * 4) & 15).reshape(q.shape[0], -1)
        return (u - 8).to(s.dtype) * s.repeat_interleave(128, 1)

    half = {}

    def in_bf16(x, w, s):  # cuBLAS of as many elements in bf16; values are others
        key = w.data_ptr()
        if key not in half:
            half[key] = w.to(torch.bfloat16)
        return (x @ half[key].t()) * s

    def plain(q, k, v):
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]

    out = {name: {"eager": f} for name, _, f in compositions.CASES}
    out |= {"mm": {"eager": lambda x, w: x @ w}, "mm_f32": {"eager": lambda x, w: x @ w}, "mm_nk": {"eager": lambda x, w: x @ w.t()},
            "swiglu": {"eager": lambda x, w, v: F.silu(x @ w.t()) * (x @ v.t())},
            "i8lin": {"eager": lambda x, w, s: (x @ w.to(x.dtype).t()) * s, "bf16": in_bf16},
            "w4": {"eager": lambda x, q, s: x @ unpacked(q, s.to(x.dtype)).t()},
            "lin_gelu": {"eager": lambda x, w, b: F.gelu(F.linear(x, w, b)), "lt": lambda x, w, b: torch._addmm_activation(b, x, w.t(), use_gelu=True)},
            "attn": {"eager": plain}, "dec": {"eager": plain}, "sm": {"eager": lambda x: torch.softmax(x, -1)}, "cumd": {"eager": lambda x: x.cumsum(1)}}
    return out | {name: {"eager": getattr(r, name)} for name in ("top_layer", "prediction", "prediction_main", "quant_dot")}


def measured(torch, lib, context, case, functions, rounds, reading):
    path, name, e = case[:3]
    ours = kernels(lib, case)
    for k in ours.values():
        k.prepare(context)
    dtypes = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32, "i8": torch.int8}
    args = ours["fixed"].args

    def drawn(a):
        t = dtypes[a.dtype]
        if not a.is_input:
            return torch.empty(a.shape, device="cuda", dtype=t)
        if not t.is_floating_point:
            high = 100 if t == torch.int8 else 2**31 - 1
            return torch.randint(-high, high, a.shape, device="cuda", dtype=t)
        x = torch.randn(a.shape, device="cuda")
        return (x * a.shape[-1] ** -0.5 if a.name[0] in "wvk" else x).to(t)

    size = sum(math.prod(a.shape) * dtypes[a.dtype].itemsize for a in args)
    n = max(2, min(MOST_COPIES, math.ceil(ROTATED / size)))
    sets = [[drawn(a) for a in args] for _ in range(n)]
    inputs = [[x for a, x in zip(args, s) if a.is_input] for s in sets]
    outputs = [x for a, x in zip(args, sets[0]) if a.is_output]
    runs, errors, entries, same = {}, {}, {}, True
    reference = next(iter(functions.values()))
    in_tuple = lambda x: x if isinstance(x, tuple) else (x,)
    try:
        want = in_tuple(reference(*[x.double() if x.is_floating_point() else x for x in inputs[0]]))
    except (RuntimeError, torch.OutOfMemoryError):
        want = in_tuple(reference(*inputs[0]))
    want = [w.float() for w in want]
    for who, k in ours.items():
        values = [k.values([t.data_ptr() for t in s]) for s in sets]
        need = k.workspace_bytes(values[0])
        room = torch.empty(max(need, 256), device="cuda", dtype=torch.uint8)
        runs[who] = lambda i, k=k, values=values, room=room, need=need: k.launch(values[i], room.data_ptr(), need, torch.cuda.current_stream().cuda_stream)
        entries[who] = [x for x in k.entries(values[0]) if x != "?"]
        first = None
        for _ in range(LAUNCHES):
            room.random_(0, 255)
            for o in outputs:
                o.fill_(math.nan if o.is_floating_point() else 0)
            runs[who](0)
            bits = [o.clone().view(torch.uint8) for o in outputs]
            same &= first is None or all(torch.equal(a, b) for a, b in zip(first, bits))
            first = first or bits
        errors[who] = max(((o.float() - w).abs().max() / w.abs().max().clamp(min=1e-30)).item() for o, w in zip(outputs, want))
    del want
    runs.update({who: lambda i, p=p: p(*inputs[i]) for who, p in functions.items()})
    graphs = {}
    for who, run in runs.items():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for i in range(n if who == "bf16" else 2):
                run(i)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        graphs[who] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[who]):
            for i in range(n):
                run(i)

    def timed(g, repeat):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeat):
            g.replay()
        end.record(), end.synchronize()
        return begin.elapsed_time(end) * 1e3 / n / repeat

    repeat = {who: max(1, round(1200 / max(1, timed(g, 1) * n))) for who, g in graphs.items()}
    got = {who: [] for who in graphs}
    for _ in range(rounds):
        for who in random.sample(list(graphs), len(graphs)):
            got[who].append(timed(graphs[who], repeat[who]))
    us = {who: round(statistics.median(v), 2) for who, v in got.items()}
    line = dict(case=name, **e, us=us, ratio=round(min(us[p] for p in functions) / us["fixed"], 3), open=round(us["open"] / us["fixed"], 3))
    if "share" in case:
        line["share"] = round(reading(size) / us["fixed"], 3)
    return line | dict(bits=same, error={w: float(f"{x:.2g}") for w, x in errors.items()}, entries=entries)


def reading_time(torch, lib, context, rounds):
    """Microseconds in which a row program reads so many bytes."""
    known = {}

    def reading(size):
        rows = max(1, size // 16384)
        if rows not in known:
            k = libfx.Kernel(libfx.Spec(lib, HERE / "shapes.fx", kernel="sum_rows", defines=[f"B={rows}", "T=4096"]), "sum_rows", dict(B=rows, T=4096))
            k.prepare(context)
            n = max(2, min(MOST_COPIES, math.ceil(ROTATED / size)))
            sets = [[torch.randn(rows, 4096, device="cuda"), torch.empty(rows, device="cuda")] for _ in range(n)]
            values, times = [k.values([t.data_ptr() for t in s]) for s in sets], []
            need, graph = k.workspace_bytes(values[0]), torch.cuda.CUDAGraph()
            room = torch.empty(max(need, 256), device="cuda", dtype=torch.uint8)
            launch = lambda v: k.launch(v, room.data_ptr(), need, torch.cuda.current_stream().cuda_stream)
            launch(values[0])
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                for v in values:
                    launch(v)
            for _ in range(rounds + 2):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record(), graph.replay(), end.record(), end.synchronize()
                times.append(begin.elapsed_time(end) * 1e3 / n)
            known[rows] = statistics.median(times[2:])
        return known[rows]

    return reading


def mean(ratios):
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="kernels, with commas")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--deadline", type=float, default=1e9, help="seconds after which no case is begun")
    p.add_argument("--warm", type=int, help=argparse.SUPPRESS)
    a = p.parse_args()
    began, lib = time.time(), libfx.load(a.lib)
    cases = [c for c in CASES if not a.only or c[1] in a.only.split(",")]
    if a.warm is not None:
        return warm(lib, cases[a.warm :: WORKERS])
    for w in [subprocess.Popen([sys.executable, __file__, "--only", a.only, "--lib", a.lib, "--warm", str(i)]) for i in range(min(WORKERS, len(cases)))]:
        w.wait()
    print(json.dumps(dict(cases=len(cases), compiled_s=round(time.time() - began, 1))), flush=True)
    import torch

    random.seed(1), torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.zeros(1, device="cuda")
    context, functions, lines = libfx.Context(lib), peers(), []
    reading = reading_time(torch, lib, context, a.rounds)
    for c in cases:
        if time.time() - began > a.deadline:
            print(json.dumps(dict(left_out=len(cases) - len(lines))))
            break
        try:
            lines.append(measured(torch, lib, context, c, functions[c[1]], a.rounds, reading))
            print(json.dumps(lines[-1]), flush=True)
        except Exception as e:  # the others are worth having
            print(json.dumps(dict(case=c[1], **c[2], failed=repr(e)[:300])), flush=True)
        torch.cuda.empty_cache()
    if lines:
        opens = [x["open"] for x in lines]
        print(json.dumps(dict(cases=len(lines), ratio=mean([x["ratio"] for x in lines]), open=mean(opens), worst_open=max(opens), open_over_5_percent=sum(x > 1.05 for x in opens), bits=all(x["bits"] for x in lines))))


if __name__ == "__main__":
    main()
