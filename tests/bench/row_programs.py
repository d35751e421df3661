#!/usr/bin/env python3
"""Row programs drawn at random: a spec of one line each, the same in PyTorch, and extents.

In: a seed. Out: program(seed), a Program. As a script it measures them on a GPU: row_programs.py [COUNT [SECONDS [FIRST]]] prints a JSON line a program, microseconds, those of a copy of as many bytes, and their
ratio, and compares every element with float64; row_programs.py --fx COUNT [FIRST] writes the specs with a test block each, for the oracle and the emulator.
"""
import dataclasses
import math
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}
# kept labels, reduced labels and the order of all in memory
LAYOUTS = [("M", "D", "MD")] * 4 + [("BT", "D", "BTD"), ("BT", "D", "BDT"), ("M", "D", "DM"), ("B", "DT", "BDT"), ("C", "BH", "BHC"), ("C", "BH", "BCH"), ("BC", "H", "BHC"), ("MG", "P", "MGP")]


@dataclasses.dataclass
class Program:
    name: str
    text: str           # the kernel
    extents: dict       # at which it moves 64 MB or more
    small: dict         # at which the oracle takes little time
    run: callable       # inputs of PyTorch to its outputs, a tuple
    n_bytes: int        # what its tensors take
    is_open: bool       # whether extents are left open when it is compiled


def parted(rng, total, n, least=1):
    """n extents whose product is about total."""
    out = []
    for i in range(n - 1):
        e = max(least, round(total ** (rng.uniform(0.3, 0.7) if n - i == 2 else rng.uniform(0.2, 0.4))))
        e = e if rng.random() < 0.3 else max(least, e // 8 * 8 or e)
        out.append(e)
        total = max(1, total // e)
    return out + [max(least, total)]


def program(seed):
    rng = random.Random(seed)
    kept, reduced, order = rng.choice(LAYOUTS)
    dtype, wide = rng.choice(["f32", "bf16", "bf16", "f16"]), rng.random() < 0.2
    out_dtype = "f32" if wide else dtype
    full, over, stat = ",".join(order), ",".join(reduced), ",".join(kept)
    dims = tuple(order.index(l) for l in reduced)
    inputs, lines, used = [("x", dtype, order)], [], {"x"}

    def take(name, labels, d=dtype):
        if name not in used:
            used.add(name)
            inputs.append((name, d, labels))
        return name

    def view(t, labels):
        """A tensor of some labels beside one of all."""
        return t.reshape([t.shape[labels.index(l)] if l in labels else 1 for l in order])

    ops = []  # what PyTorch does, each on the named values so far

    def let(name, text, f):
        lines.append(f"{name} = {text}")
        ops.append((name, f))

    def red(f):
        return lambda t: f(t)

    def total(t):
        return t.sum(dims, keepdim=True)

    def mean(t):
        return t.mean(dims, keepdim=True)

    def var(t):
        return ((t - mean(t)) ** 2).mean(dims, keepdim=True)

    def lse(t):
        m = t.amax(dims, keepdim=True)
        return (t - m).exp().sum(dims, keepdim=True).log() + m

    gl, sl = reduced[-1], kept
    pre = rng.choice(["x", "x", "r", "s", "silu", "g"])
    let("v", {"x": "x * 2", "r": f"x + {take('r', order)}" if pre == "r" else "", "s": f"x * {take('s', sl)}" if pre == "s" else "", "silu": "silu(x)",
              "g": f"x * {take('g', gl)}" if pre == "g" else ""}[pre],
        {"x": lambda e: e["x"] * 2, "r": lambda e: e["x"] + e["r"], "s": lambda e: e["x"] * view(e["s"], sl), "silu": lambda e: e["x"] * e["x"].sigmoid(), "g": lambda e: e["x"] * view(e["g"], gl)}[pre])
    outputs = []
    if rng.random() < 0.25:  # only results of rows
        kind = rng.choice(["sum", "mean", "max", "logsumexp", "var", "norm", "argmax", "two"])
        if kind == "argmax" and len(reduced) > 1:
            kind = "max"
        squeeze = lambda t: t.reshape([t.shape[order.index(l)] for l in kept])
        text, f = {"sum": (f"sum[{over}](v)", total), "mean": (f"mean[{over}](v)", mean), "max": (f"max[{over}](v)", lambda t: t.amax(dims, keepdim=True)), "logsumexp": (f"logsumexp[{over}](v)", lse),
                   "var": (f"var[{over}](v)", var), "norm": (f"sqrt(sum[{over}](v * v))", lambda t: total(t * t).sqrt()),
                   "argmax": (f"argmax[{over}](v)", lambda t: t.argmax(dims[0], keepdim=True)), "two": (f"mean[{over}](v)", mean)}[kind]
        let("y", text, lambda e: squeeze(f(e["v"])))
        outputs.append(("y", "i64" if kind == "argmax" else "f32", kept))
        if kind == "two":
            let("z", f"max[{over}](abs(v))", lambda e: squeeze(e["v"].abs().amax(dims, keepdim=True)))
            outputs.append(("z", "f32", kept))
    else:
        cores = [(f"softmax[{over}](v)", lambda t: (t - lse(t)).exp()), (f"layernorm[{over}](v)", lambda t: (t - mean(t)) / (var(t) + 1e-5).sqrt()),
                 (f"rmsnorm[{over}](v)", lambda t: t / (mean(t * t) + 1e-5).sqrt()), (f"v - max[{over}](v)", lambda t: t - t.amax(dims, keepdim=True)),
                 (f"v / (sum[{over}](abs(v)) + 1)", lambda t: t / (total(t.abs()) + 1)), (f"v - logsumexp[{over}](v)", lambda t: t - lse(t)),
                 (f"v * rsqrt(sum[{over}](v * v) + 1e-6)", lambda t: t / (total(t * t) + 1e-6).sqrt()), (f"v * (v - sum[{over}](v * v))", lambda t: t * (t - total(t * t)))]
        if len(reduced) == 1:
            cores.append((f"cumsum[{over}](v)", lambda t: t.cumsum(dims[0])))
        text, f = rng.choice(cores)
        let("n", text, lambda e: f(e["v"]))
        post = rng.choice(["none", "affine", "relu", "add", "silu"])
        let("y", {"none": "n", "affine": f"n * {take('g', gl)} + {take('b', gl)}" if post == "affine" else "", "relu": "relu(n)",
                  "add": f"n + {take('q', order)}" if post == "add" else "", "silu": "silu(n)"}[post],
            {"none": lambda e: e["n"], "affine": lambda e: e["n"] * view(e["g"], gl) + view(e["b"], gl), "relu": lambda e: e["n"].relu(), "add": lambda e: e["n"] + e["q"],
             "silu": lambda e: e["n"] * e["n"].sigmoid()}[post])
        outputs.append(("y", out_dtype, order))
        if rng.random() < 0.2:
            let("k", "v", lambda e: e["v"])
            outputs.append(("k", dtype, order))
        if rng.random() < 0.2:
            let("t", f"max[{over}](v)", lambda e: e["v"].amax(dims).reshape([e["v"].shape[order.index(l)] for l in kept]))
            outputs.append(("t", "f32", kept))

    def run(*given):
        e = {n: t for (n, _, _), t in zip(inputs, given)}
        for n, f in ops:
            e[n] = f(e)
        return tuple(e[n] for n, _, _ in outputs)

    each = sum(BYTES[d] for _, d, l in inputs + outputs if len(l) == len(order))
    n = rng.uniform(80e6, 300e6) / each
    cols = 2 ** rng.uniform(6, 17)
    cols = round(cols) if rng.random() < 0.2 else max(8, round(cols) // 8 * 8)
    if reduced == "P":
        cols = rng.choice([32, 64, 128, 256])
    by_label = dict(zip(reduced, parted(rng, cols, len(reduced))))
    by_label |= dict(zip(kept, parted(rng, max(1, round(n / math.prod(by_label.values()))), len(kept))))
    extents = {l: by_label[l] for l in order}
    small = {l: rng.randrange(2, 9) if l in kept else rng.randrange(2, 12) if len(reduced) > 1 else rng.choice([5, 16, 37, 64, 96, 130]) for l in order}
    name = f"rows{seed}"
    args = ", ".join(f"{n}: {d}[{','.join(l)}]" for n, d, l in inputs)
    outs = ", ".join(f"{n}: {d}[{','.join(l)}]" for n, d, l in outputs)
    n_bytes = sum(BYTES[d] * math.prod(extents[a] for a in l) for _, d, l in inputs + outputs)
    return Program(name, f"kernel {name}({args}) -> ({outs}) {{ {'; '.join(lines)} }}", extents, small, run, n_bytes, rng.random() < 0.25)


def specs(count, first):
    for i in range(first, first + count):
        p = program(i)
        yield p.text
        yield f"test {p.name} {{ {' '.join(f'{l}={e}' for l, e in p.small.items())} }}"


def main():
    import json
    import time
    from concurrent.futures import ThreadPoolExecutor

    import torch

    from beside import Bench
    args = sys.argv[1:]
    count, seconds, first = int(args[0]) if args else 100, float(args[1]) if len(args) > 1 else 100, int(args[2]) if len(args) > 2 else 0
    bench = Bench(HERE.parents[1], deadline=seconds)
    programs = [program(i) for i in range(first, first + count)]
    shares = []

    def prepared(p):
        path = pathlib.Path(f"/tmp/{p.name}.fx")
        path.write_text(p.text)
        spec = bench.fx.Spec(bench.lib, path, defines=() if p.is_open else [f"{l}={e}" for l, e in p.extents.items()])
        k = bench.fx.Kernel(spec, p.name, p.extents)
        k.prepare(bench.context)
        return k

    with ThreadPoolExecutor(14) as pool:
        kernels = [pool.submit(prepared, p) for p in programs]
        for p, k in zip(programs, kernels):
            if time.time() > bench.end:
                print("left out: deadline", flush=True)
                break
            try:
                line = measured(bench, k.result(), p.run, peers=False)
                shares.append(line["share"])
            except Exception as e:
                line = dict(failed=repr(e)[:300])
            print(json.dumps(dict(program=p.text, is_open=p.is_open, **p.extents) | line), flush=True)
            torch.cuda.empty_cache()
        pool.shutdown(cancel_futures=True)
    shares.sort()
    if shares:
        print(f"{len(shares)} programs, geometric mean {math.exp(sum(map(math.log, shares)) / len(shares)):.3f} of a copy, least {shares[:12]}, under 0.6: {sum(s < 0.6 for s in shares)}")


def measured(bench, k, f, compiled=False, peers=True, rounds=7, others={}):
    """A prepared kernel beside a copy of as many bytes and, if so asked, beside f and f compiled, and others, functions of all arguments that fill the outputs; what it gave is compared with f in float64, and
    what others give with ours."""
    import torch

    from beside import T
    extents = dict(zip(k.labels, k.extents))
    n_bytes = sum(math.prod(a.shape) * T[a.dtype].itemsize for a in k.args if not a.is_scalar)
    n = max(1, min(16, math.ceil(200e6 / n_bytes)))
    sets = [[bench.draw(a, extents, ()) if a.is_input else torch.empty(a.shape, device="cuda", dtype=T[a.dtype]) for a in k.args] for _ in range(n)]
    values = [bench.values(k, [t.data_ptr() for t in s]) for s in sets]
    n_workspace = k.workspace_bytes(values[0])
    workspace = torch.empty(max(256, n_workspace), device="cuda", dtype=torch.uint8)
    half = -(-n_bytes // 8192) * 4096  # of both sides, which begin at whole pages: else a copy takes up to five times as long
    copies = [torch.empty(2, -(-half // (1 << 21)) << 21, device="cuda", dtype=torch.uint8)[:, :half] for _ in range(n)]
    inputs = [[t for a, t in zip(k.args, s) if a.is_input] for s in sets]

    def ours(i):
        k.launch(values[i], workspace.data_ptr(), n_workspace, torch.cuda.current_stream().cuda_stream)

    ours(0)
    torch.cuda.synchronize()
    want = f(*[t.double() if t.is_floating_point() else t for t in inputs[0]])
    want = want if isinstance(want, tuple) else (want,)
    outs = [t for a, t in zip(k.args, sets[0]) if a.is_output]
    error = max(((o.double() - w.double()).abs().max() / w.double().abs().max().clamp(min=1e-30)).item() for o, w in zip(outs, want))
    del want
    calls = {"ours": ours, "copy": lambda i: copies[i][1].copy_(copies[i][0])}
    if peers:
        calls["eager"] = lambda i: f(*inputs[i])
    if compiled:
        torch._dynamo.reset()
        made = torch.compile(f, dynamic=False)
        calls["compiled"] = lambda i: made(*inputs[i])
    kept = [o.clone() for o in outs]
    for who, other in others.items():
        status = other(sets[0])
        torch.cuda.synchronize()
        apart = max(((o.double() - w.double()).abs().max() / w.double().abs().max().clamp(min=1e-30)).item() for o, w in zip(outs, kept))
        if status or not apart < 0.01:
            print(who, "left out:", status, apart, flush=True)
            continue
        calls[who] = lambda i, other=other: other(sets[i])
    took = {}
    for who, call in calls.items():
        if who in ("eager", "compiled"):  # what they set up at first is not captured
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                call(0)
            torch.cuda.current_stream().wait_stream(s)
            torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            for i in range(n):
                call(i)
        took[who] = (g, [])

    def timed(g, times):
        a, b = torch.cuda.Event(True), torch.cuda.Event(True)
        a.record()
        for _ in range(times):
            g.replay()
        b.record()
        b.synchronize()
        return a.elapsed_time(b) * 1e3 / n / times

    times = {who: max(1, round(1000 / max(1, timed(g, 1) * n))) for who, (g, _) in took.items()}
    for _ in range(rounds):
        order = list(took)
        random.shuffle(order)
        for who in order:
            took[who][1].append(timed(took[who][0], times[who]))
    us = {w: round(sorted(v)[len(v) // 2], 2) for w, (_, v) in took.items()}
    best = min((v for w, v in us.items() if w not in ("ours", "copy")), default=None)
    out = dict(mb=round(n_bytes / 1e6, 2), us=us, share=round(us["copy"] / us["ours"], 3), err=float(f"{error:.2g}"), entries=k.entries(values[0]))
    return out | (dict(ratio=round(best / us["ours"], 3)) if best else {})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fx"]:
        print("\n".join(specs(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)))
    else:
        main()
