#!/usr/bin/env python3
"""What it costs that extents are known at the launch alone: shapes.py [KERNEL...], on a machine with a GPU and build/libfx.so.

Each kernel of shapes.fx at several extents, compiled without them and with them (-D). Every partition of the former is compared with float64, and timed in turn with the latter: graphs of launches over copies of the arguments that exceed L2,
medians. Output: a JSON line a case: microseconds as chosen, with -D, of every partition, and chosen / with -D.
"""
import ctypes as c
import json
import math
import pathlib
import statistics
import sys

import torch

import libfx

HERE = pathlib.Path(__file__).resolve().parent
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i8": torch.int8}
ROUNDS, L2 = 15, 120 << 20
norm = lambda x, g: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * g
REFERENCES = {
    "lin_gelu": lambda x, w, b: torch.nn.functional.gelu(x @ w.t() + b),
    "softmax_rows": lambda x: torch.softmax(x, -1),
    "norm_rows": norm,
    "attention": lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * 0.08838834764, -1) @ v,
    "sum_rows": lambda x: x.sum(1),
    "sum_columns": lambda x: x.sum(0),
    "product": lambda x, w: x @ w,
    "norm_linear": lambda x, g, w: norm(x, g) @ w,
    "mlp": lambda x, w, v: torch.relu(x @ w) @ v,
    "weights8": lambda x, w, s: (x @ w.t()) * s,
    "pool_max": lambda x, w: ((x @ w).amax(0), (x @ w).sum(1)),
}
CASES = [("lin_gelu", dict(M=m, N=4096, K=4096)) for m in (1, 16, 300, 4096)]
CASES += [("softmax_rows", dict(B=b, T=t)) for b, t in ((65536, 128), (4096, 4096), (16, 1 << 20), (1, 1 << 22))]
CASES += [("norm_rows", dict(B=b, T=t)) for b, t in ((65536, 128), (4096, 4096), (8, 65536))]
CASES += [("attention", dict(H=32, S=s, T=t)) for s, t in ((1, 4096), (16, 4096), (2048, 2048))]
CASES += [("sum_rows", dict(B=b, T=t)) for b, t in ((1 << 20, 16), (4096, 4096), (4, 1 << 22))]
CASES += [("sum_columns", dict(B=b, T=t)) for b, t in ((1 << 20, 16), (4096, 4096), (4, 1 << 22))]
CASES += [("product", dict(M=m, N=n, K=k)) for m, n, k in ((64, 64, 65536), (16, 4096, 4096), (256, 256, 65536), (2048, 2048, 2048))]
CASES += [("norm_linear", dict(M=m, N=4096, K=4096)) for m in (1, 64, 1024, 4096)]
CASES += [("mlp", dict(M=4096, K=1024, H=h, N=1024)) for h in (16, 64, 1024)]
CASES += [("weights8", dict(M=m, N=4096, K=4096)) for m in (1, 64, 4096)]
CASES += [("pool_max", dict(M=m, K=k, N=n)) for m, k, n in ((4096, 16, 4096), (1024, 1024, 1024))]


class Call:
    """A prepared kernel with its arguments: copies enough to exceed L2."""

    def __init__(self, context, kernel, copies, partition=-1):
        self.kernel, self.copies = kernel, copies
        context.check(kernel.lib.fx_pin_partition(kernel.prepared, partition))
        self.values = [kernel.values([t.data_ptr() for t in tensors]) for tensors in copies]
        n = kernel.workspace_bytes(self.values[0])
        self.workspace = torch.empty(max(n, 1), dtype=torch.uint8, device="cuda")
        self.n_bytes = n
        self.partition = partition

    def launch(self, i):
        self.kernel.launch(self.values[i % len(self.values)], self.workspace.data_ptr(), self.n_bytes, torch.cuda.current_stream().cuda_stream)

    def graph(self, n):
        self.kernel.context.check(self.kernel.lib.fx_pin_partition(self.kernel.prepared, self.partition))
        self.launch(0)
        torch.cuda.synchronize()
        self.n, self.captured = n, torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.captured):
            for i in range(n):
                self.launch(i)

    def time(self):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record(); self.captured.replay(); end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e3 / self.n


def worst(call, references):
    """The largest error of an output, over the magnitude of the largest element."""
    kernel = call.kernel
    kernel.context.check(kernel.lib.fx_pin_partition(kernel.prepared, call.partition))
    outputs = call.copies[0][len(kernel.args) - len(references):]
    for t in outputs:
        t.fill_(float("nan"))
    call.launch(0)
    torch.cuda.synchronize()
    return max(((o.double() - r).abs().max() / r.abs().max()).item() if torch.isfinite(o).all() else math.inf for o, r in zip(outputs, references))


def case(lib, context, name, extents):
    defines = [f"{k}={v}" for k, v in extents.items()]
    free = libfx.Kernel(libfx.Spec(lib, HERE / "shapes.fx", kernel=name), name, extents)
    fixed = libfx.Kernel(libfx.Spec(lib, HERE / "shapes.fx", kernel=name, defines=defines), name, extents)
    for k in (free, fixed):
        k.prepare(context)
    torch.manual_seed(1)
    tensors = []
    for a in free.args:
        t = torch.randint(-8, 8, a.shape, device="cuda") if a.dtype == "i8" else torch.randn(a.shape, device="cuda") / (a.shape[-1] ** 0.25 if len(a.shape) > 1 else 1)
        tensors.append(t.to(TORCH[a.dtype]))
    n_bytes = sum(t.numel() * t.element_size() for t in tensors)
    copies = [tensors] + [[t.clone() for t in tensors] for _ in range(min(24, L2 // n_bytes + 1))]
    inputs = [t.double() for t, a in zip(tensors, free.args) if a.is_input]
    references = REFERENCES[name](*inputs)
    references = references if isinstance(references, tuple) else (references,)
    n_partitions = max(1, free.plan.n_partitions)
    calls = {"chosen": Call(context, free, copies), "fixed": Call(context, fixed, copies)}
    if n_partitions > 1:
        calls.update({f"partition {i}": Call(context, free, copies, i) for i in range(n_partitions)})
    errors = {k: worst(v, references) for k, v in calls.items()}
    n = max(2, min(48, int(4000 / max(1.0, n_bytes / 3e6))))
    slow = {}
    for k, call in list(calls.items()):  # of partitions that are made for other extents one launch is enough
        call.graph(1)
        call.time()
        once = call.time()
        if k.startswith("partition") and once > 4 * slow.get("chosen", once):
            slow[k] = once
            calls.pop(k)
            continue
        slow.setdefault("chosen", once)
        call.graph(n)
    times = {k: [] for k in calls}
    for call in calls.values():
        call.time()
    for _ in range(ROUNDS):
        for k, call in calls.items():
            times[k].append(call.time())
    context.check(lib.fx_pin_partition(free.prepared, -1))
    us = {k: statistics.median(v) for k, v in times.items()}
    us.update({k: v for k, v in slow.items() if k != "chosen"})
    entries = [e for e in free.entries(calls["chosen"].values[0]) if e != "?"]
    print(json.dumps(dict(case=name, **extents, ratio=round(us["chosen"] / us["fixed"], 3), us={k: round(v, 2) for k, v in us.items()}, error={k: float(f"{v:.2g}") for k, v in errors.items()},
                          entries=entries, fixed=fixed.entries(calls["fixed"].values[0]))), flush=True)
    return us["chosen"] / us["fixed"]


def main():
    lib = libfx.load(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].endswith(".so") else libfx.ROOT / "build/libfx.so")
    only = [a for a in sys.argv[1:] if not a.endswith(".so")]
    context = libfx.Context(lib)
    ratios = []
    for name, extents in CASES:
        if only and name not in only:
            continue
        try:
            ratios.append(case(lib, context, name, extents))
        except Exception as e:  # the others are worth having
            print(json.dumps(dict(case=name, **extents, failed=str(e)[:300])), flush=True)
        torch.cuda.empty_cache()
    if ratios:
        print(json.dumps(dict(cases=len(ratios), worst=round(max(ratios), 3), within_5_percent=sum(r <= 1.05 for r in ratios))))


if __name__ == "__main__":
    main()
