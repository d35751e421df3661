#!/usr/bin/env python3
"""Products of every shape beside cuBLAS: sweep.py [--seed FILE or NUMBER] [--take N/OF or FIRST:END] [--shapes MxNxK,...] [--rounds N] [--lib SO], on a machine with a GPU, PyTorch and build/libfx.so.

`gelu_tanh(x @ w + b)` of bf16, w stored (N, K), at the extents that the seed draws: 200 with M, N and K log-uniform in 1..8192, 60 with K up to 262144; every other one has its extents rounded up to multiples of 8 ("aligned"; else "odd").
Nothing is tuned. Ours is timed with the extents compiled in and, as `free`, without; beside it are cuBLASLt's fused epilogue (torch._addmm_activation) and a product followed by kernels, eager. Integers are compared in every element first.
Shapes are timed in an order drawn from the seed, so that a `--deadline` leaves out some of every kind; `--shapes` are others than the seed's.
Graphs of launches over copies of the arguments, interleaved in random order, medians. The floor of a shape is the larger of its operations at 800 TFLOP/s and its bytes at 3 TB/s; a stratum is aligned or odd, its floor over or under 15 us.

Output: a JSON line a shape; of every stratum the geometric mean and the least ratio (the best peer's time over ours), and what is under 0.8.
"""
import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import libfx

HERE = pathlib.Path(__file__).resolve().parent
SPEC = "kernel lin(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] { y = gelu_tanh(x @[K] w + b) }\n"
ROTATED, MOST_COPIES, WORKERS = 150 << 20, 24, 12
MOST_FLOPS, MOST_BYTES = 3e12, 2 << 30


def drawn(seed):
    """(M, N, K, is aligned) of a seed."""
    r, shapes = random.Random(seed), []
    while len(shapes) < 260:
        most = 8192 if len(shapes) < 200 else 262144
        e = [max(1, round(math.exp(r.uniform(0, math.log(limit))))) for limit in (8192, 8192, most)]
        aligned = len(shapes) % 2 == 0
        if aligned:
            e = [-(-x // 8) * 8 for x in e]
        m, n, k = e
        if 2.0 * m * n * k <= MOST_FLOPS and 2 * (m * k + n * k + m * n) <= MOST_BYTES:
            shapes.append((m, n, k, aligned))
    return shapes


def floor_us(m, n, k):
    return max(2e6 * m * n * k / 800e12, 2e6 * (m * k + n * k + m * n) / 3e12)


def kernels(lib, path, shape, free):
    """Ours at a shape: with the extents compiled in, and without."""
    e = dict(zip("MNK", shape))
    forms = {"ours": [f"{a}={v}" for a, v in e.items()]} | ({"free": []} if free else {})
    return {form: libfx.Kernel(libfx.Spec(lib, path, kernel="lin", defines=d), "lin", e) for form, d in forms.items()}


def warm(lib, path, shapes, free):
    """Fills the disk cache."""
    context = libfx.Context(lib)
    for s in shapes:
        for k in kernels(lib, path, s[:3], free).values():
            try:
                k.prepare(context)
            except libfx.Failure as e:
                print(s, str(e)[:200], file=sys.stderr)


def measured(torch, lib, context, path, shape, rounds, free):
    m, n, k, aligned = shape
    ours = kernels(lib, path, shape[:3], free)
    for x in ours.values():
        x.prepare(context)
    size = 2 * (m * k + n * k + m * n + n)
    n_copies = max(2, min(MOST_COPIES, ROTATED // size + 1))
    whole = lambda *shape, high=2: torch.randint(-high, high + 1, shape, device="cuda").to(torch.bfloat16)
    sets = [[whole(m, k), whole(n, k), whole(n), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)] for _ in range(n_copies)]
    act, gelu = torch._addmm_activation, torch.nn.functional.gelu
    peers = {"lt": lambda x, w, b, y: act(b, x, w.t(), use_gelu=True), "eager": lambda x, w, b, y: gelu(torch.nn.functional.linear(x, w, b), approximate="tanh")}
    runs, entries, wrong = {}, {}, {}
    for who, x in ours.items():
        values = [x.values([t.data_ptr() for t in s]) for s in sets]
        need = x.workspace_bytes(values[0])
        room = torch.empty(max(need, 256), device="cuda", dtype=torch.uint8)
        runs[who] = lambda i, x=x, values=values, room=room, need=need: x.launch(values[i], room.data_ptr(), need, torch.cuda.current_stream().cuda_stream)
        entries[who] = [e for e in x.entries(values[0]) if e != "?"]
        sets[0][3].fill_(float("nan"))
        runs[who](0)
        x0, w0, b0, y0 = sets[0]
        want = gelu((x0.float() @ w0.float().t() + b0.float()), approximate="tanh")
        wrong[who] = ((y0.float() - want).abs() / (want.abs() + 1)).max().item()
    runs.update({who: lambda i, p=p: p(*sets[i]) for who, p in peers.items()})
    repeat = max(1, min(8, 40 // n_copies)) if floor_us(m, n, k) < 100 else 1
    graphs = {}
    for who, run in runs.items():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            run(0)
        torch.cuda.current_stream().wait_stream(stream)
        graphs[who] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[who]):
            for i in range(n_copies * repeat):
                run(i % n_copies)

    def timed(g):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record(), g.replay(), end.record(), end.synchronize()
        return begin.elapsed_time(end) * 1e3 / (n_copies * repeat)

    got = {who: [] for who in graphs}
    for g in graphs.values():
        timed(g)
    for _ in range(rounds):
        for who in random.sample(list(graphs), len(graphs)):
            got[who].append(timed(graphs[who]))
    us = {who: round(statistics.median(v), 2) for who, v in got.items()}
    best = min(us[p] for p in peers)
    line = dict(M=m, N=n, K=k, aligned=aligned, floor=round(floor_us(m, n, k), 2), us=us, ratio=round(best / us["ours"], 3), entries=entries, error={who: float(f"{e:.2g}") for who, e in wrong.items()})
    if free:
        line["free"] = round(us["free"] / us["ours"], 3)
    return line


def mean(ratios):
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", default=str(HERE / "sweep.seed"), help="a number, or a file with one")
    p.add_argument("--take", default="0/1", help="every so many-th shape, 0/4, or those from one to before another, 152:260")
    p.add_argument("--shapes", help="these instead, as 256x256x65536,..")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--no-free", dest="free", action="store_false")
    p.add_argument("--deadline", type=float, default=1e9, help="seconds after which no shape is begun")
    p.add_argument("--warm", help=argparse.SUPPRESS)
    a = p.parse_args()
    began = time.time()
    seed = int(a.seed) if a.seed.isdigit() else int(pathlib.Path(a.seed).read_text().split()[0])
    numbers = [int(x) for x in a.take.replace("/", ":").split(":")]
    shapes = drawn(seed)[slice(numbers[0], numbers[1])] if ":" in a.take else drawn(seed)[numbers[0] :: numbers[1]]
    if a.shapes:
        shapes = [(*e, all(x % 8 == 0 for x in e)) for e in (tuple(int(x) for x in s.split("x")) for s in a.shapes.split(","))]
    random.Random(seed).shuffle(shapes)
    lib, path = libfx.load(a.lib), pathlib.Path(tempfile.gettempdir()) / "fx_sweep.fx"
    if not path.exists() or path.read_text() != SPEC:
        path.write_text(SPEC)
    if a.warm:
        i, n = map(int, a.warm.split("/"))
        return warm(lib, path, shapes[i::n], a.free)
    given = ["--seed", str(seed), "--take", a.take, "--lib", a.lib, *(["--shapes", a.shapes] if a.shapes else []), *([] if a.free else ["--no-free"])]
    for w in [subprocess.Popen([sys.executable, __file__, *given, "--warm", f"{i}/{WORKERS}"]) for i in range(WORKERS)]:
        w.wait()
    print(json.dumps(dict(seed=seed, shapes=len(shapes), compiled_s=round(time.time() - began, 1))), flush=True)
    import torch

    random.seed(1), torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    context, lines = libfx.Context(lib), []
    for s in shapes:
        if time.time() - began > a.deadline:
            print(json.dumps(dict(left_out=len(shapes) - len(lines))))
            break
        try:
            lines.append(measured(torch, lib, context, path, s, a.rounds, a.free))
            print(json.dumps(lines[-1]), flush=True)
        except Exception as e:  # the others are worth having
            print(json.dumps(dict(M=s[0], N=s[1], K=s[2], failed=str(e)[:300])), flush=True)
        torch.cuda.empty_cache()
    for is_aligned in (True, False):
        for over in (True, False):
            some = [x["ratio"] for x in lines if x["aligned"] == is_aligned and (x["floor"] > 15) == over]
            if some:
                print(json.dumps(dict(stratum=f"{'aligned' if is_aligned else 'odd'}, floor {'over' if over else 'under'} 15 us", shapes=len(some), mean=mean(some), least=min(some), under_080=sum(x < 0.8 for x in some))))
    if lines:
        frees = [x["free"] for x in lines if "free" in x] or [1]
        print(json.dumps(dict(all=len(lines), mean=mean([x["ratio"] for x in lines]), least=min(x["ratio"] for x in lines), free=mean(frees), free_worst=max(frees), free_over_5_percent=sum(x > 1.05 for x in frees))))


if __name__ == "__main__":
    main()
