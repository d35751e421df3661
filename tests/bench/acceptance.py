#!/usr/bin/env python3
"""Measures the acceptance examples beside PyTorch: a row for each bench block of examples/s0_* .. s4_*, ours, eager and torch.compile.

Needs PyTorch and a GPU, and build/libfx.so. Every element of every output is compared with the same function in float64 on the device first; a result beyond its bound is printed as
wrong and gets no time. Then all are timed as CUDA graphs of launches whose arguments are rotated through more than the L2 cache, interleaved in random order, and the median
of the rounds is taken. Graphs leave the host's time of a launch out, which flatters eager and torch.compile.

  acceptance.py                             all groups: S4 torch.compile with max-autotune, the others without
  acceptance.py --group s3 --only lora      rows whose kernel or file contains that
  acceptance.py --dtype bf16                the rows all of whose tensors of floats are f32, with these tensors in bf16 or f16; those of tf32 are left out. May be given several times; f32 is as they are
  acceptance.py --tests                     test blocks instead: compared, every element, not timed
  acceptance.py --dtype tf32                those rows with their products by tf32
  acceptance.py --group level2              other fused products, in tests/bench/level2; in no group unless named, torch.compile in its default mode
  acceptance.py --fixed                     extents compiled in
  acceptance.py --mode max-autotune-no-cudagraphs    what torch.compile is asked for
  acceptance.py --deadline 400              torch.compile's rows that are not ready after so many seconds are printed as not measured
  acceptance.py --emu                       without a GPU: the test blocks on the emulator, compared, as far as --max-flops lets it

Output: a line of markdown a row, and JSON lines in OUT (a folder, --out or $OUT), in acceptance.jsonl. Exit 1 when a row failed or was wrong, or none was compared.
"""
import argparse
import gc
import json
import math
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import libfx
import references

FOLDERS = {"s0": "s0_split_activation", "s1": "s1_norm_linear", "s2": "s2_puzzles", "s3": "s3_fused_kernels", "s4": "s4_level2", "level2": "../tests/bench/level2"}
TORCH = {"bool": torch.bool, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
         "f32": torch.float32, "f64": torch.float64}
ROTATED_BYTES, MOST_COPIES = 200_000_000, 64
HEAD = "| group | file | kernel | extents | kernels | worst error | bound | eager's error | ours us | eager us | compile us | eager / ours | compile / ours | note |"


class Slow(Exception):
    """A row took longer than it may."""


# ---- rows ----

class Row:
    """A block of a file: which kernel, at which extents, of what inputs."""

    def __init__(self, group, path, block, is_cast):
        self.group, self.path, self.kernel = group, path, block.kernel.decode()
        self.extents = dict(self._pairs(block.extents, block.n_extents, int))
        self.inputs = dict(self._pairs(block.inputs, block.n_inputs, str))
        self.defines = dict(self._pairs(block.defines, block.n_defines, str))
        self.seed = block.seed if block.has_seed else 0
        self.tolerance = (libfx.TOLERANCES[block.tolerance.kind], block.tolerance.value)
        self.is_bench, self.line = block.is_bench, block.line
        self.is_tf32 = "tf32" in self._attributes()
        self.is_cast, self.is_fixed = is_cast, False

    def _pairs(self, given, n, of):
        for i in range(n):
            name, value = given[i].decode().split("=", 1)
            yield name, of(value)

    def _attributes(self):
        """What stands in the kernel's `with`."""
        text = self.path.read_text()
        own = re.search(rf"^kernel {re.escape(self.kernel)}\b.*?(?=^(?:kernel|fn|test|bench) |\Z)", text, re.M | re.S)
        attributes = re.search(r"\bwith \{([^}]*)\}", own.group()) if own else None
        return attributes.group(1) if attributes else ""

    def title(self):
        of_inputs = () if self.is_bench else ((k, v) for k, v in self.inputs.items())
        return " ".join(f"{k}={v}" for k, v in (*self.extents.items(), *self.defines.items(), *of_inputs))

    def name(self):
        return f"{self.group} {self.path.stem} {self.kernel} {self.title()}"


def in_dtype(path, dtype, folder):
    """A copy of a file whose kernels of f32 alone have tensors of another dtype, or products of tf32, and the names of those kernels.

    16-bit kernels are as one would write them in that dtype: `precision: ieee`, which in f32 says no more than that products are not tf32, would in 16 bits keep computed factors in f32, as no library does.
    """
    names = set()

    def cast(header):
        floats = set(re.findall(r"\b(?:f16|bf16|f32|f64)\b", header.group()))
        if floats != {"f32"} or "tf32" in header.group():
            return header.group()
        names.add(header.group(1))
        if dtype == "tf32":
            return header.group().replace("precision: ieee", "precision: tf32")
        plain = re.sub(r" with \{ precision: ieee \}|(?<=\{) precision: ieee,|, precision: ieee\b", "", header.group())
        return re.sub(r"\bf32\b(?=\[)", dtype, plain)
    text = re.sub(r"^kernel (\w+)\b[^{]*?(?:\bwith \{[^}]*\}\s*)?\{", cast, path.read_text(), flags=re.M)
    to = pathlib.Path(folder) / dtype / path.name
    to.parent.mkdir(exist_ok=True)
    if not to.exists() or to.read_text() != text:  # processes of torch.compile read it, too
        to.write_text(text)
    return to, names


def rows_of(lib, args):
    rows = []
    for group, dtype in ((g, d) for d in args.dtype or [None] for g in args.group):
        for path in sorted((libfx.ROOT / "examples" / FOLDERS[group]).glob("*.fx")):
            names = None
            if dtype:
                path, names = in_dtype(path, dtype, args.out)
            spec = libfx.Spec(lib, path, tests_only=True)
            title = f"{group} {dtype}" if dtype else group
            rows += [Row(title, path, b, bool(dtype)) for b in spec.blocks() if names is None or b.kernel.decode() in names]
    for r in rows:
        r.is_fixed = args.fixed
    tests = [r for r in rows if not r.is_bench]
    wanted = [r for r in rows if r.is_bench != args.tests]
    for r in wanted:  # a bench has the tolerance of a test of the same inputs
        for t in tests:
            if r.is_bench and not r.is_cast and (t.path, t.kernel, t.extents, t.defines, t.inputs) == (r.path, r.kernel, r.extents, r.defines, r.inputs) and t.tolerance[0] != "derived":
                r.tolerance = t.tolerance
    return [r for r in wanted if not args.only or any(o in r.name() for o in args.only)]


# ---- inputs ----

def draw(source, argument, dtype, generator, device):
    """As `init:` says: of a distribution of its own, or as fxc draws what nothing is said of."""
    shape, is_float = argument.shape, dtype.is_floating_point
    given = re.fullmatch(r"(\w+)\((.*),(.*)\)", source or "")
    kind, a, b = (given.group(1), float(given.group(2)), float(given.group(3))) if given else (source or ("normal" if is_float else "integers"), 0.0, 1.0)
    if argument.packed[0] and not given:
        return torch.randint(-2**31, 2**31, shape, generator=generator, device=device).to(dtype)
    if not given and not is_float and kind == "integers":
        a, b = (0, 1) if dtype == torch.bool else (0, 4) if argument.dtype[0] == "u" else (-4, 4)
    if kind in ("normal", "outlier"):
        t = torch.randn(shape, generator=generator, device=device, dtype=torch.float32 if dtype != torch.float64 else dtype) * (b if kind == "normal" else 1) + a
        if kind == "outlier":  # one element of each row stands far away
            t.scatter_add_(-1, torch.randint(shape[-1], (*shape[:-1], 1), generator=generator, device=device), torch.full((*shape[:-1], 1), b, device=device))
        return t.to(dtype)
    if kind == "uniform":
        return (torch.rand(shape, generator=generator, device=device) * (b - a) + a).to(dtype)
    if kind == "integers":
        return torch.randint(int(a), int(b) + 1, shape, generator=generator, device=device).to(dtype)
    return torch.full(shape, 1.0 if kind == "ones" else float(kind), device=device).to(dtype)


def listed(got):
    return list(got) if isinstance(got, (tuple, list)) else [got]


class Problem:
    """A row's kernel, its arguments, and the function of them."""

    def __init__(self, lib, row, arch, device):
        self.row, self.device = row, device
        given = {**row.defines, **(row.extents if row.is_fixed else {})}
        self.spec = libfx.Spec(lib, row.path, arch, row.kernel, [f"{k}={v}" for k, v in given.items()])
        self.kernel = libfx.Kernel(self.spec, row.kernel, row.extents)
        self.function, self.error, self.exact = references.find(row.kernel)
        if not self.function:
            raise libfx.Failure(f"no PyTorch function stands beside {row.kernel}")
        self.inputs = [a for a in self.kernel.args if a.is_input]
        self.outputs = [a for a in self.kernel.args if a.is_output]

    def draw(self):
        """{parameter: tensor, or number of a scalar}."""
        generator = torch.Generator(device=self.device).manual_seed(self.row.seed)
        out = {}
        for a in self.inputs:
            source = self.row.inputs.get(a.name)
            if a.is_scalar:
                default = a.default if a.default is not None else random.Random(self.row.seed).gauss(0, 1)
                out[a.name] = float(source) if source else default
            else:
                out[a.name] = draw(source, a, TORCH[a.dtype], generator, self.device)
        return out

    def given(self, inputs, is_double=False):
        """What the function is given: `in` is no name in Python."""
        def of(v):
            return v.double() if is_double and torch.is_tensor(v) and v.is_floating_point() else v
        return {**{k + "_" if k == "in" else k: of(v) for k, v in inputs.items()}, **self.row.defines}

    def call(self, inputs):
        return listed(self.function(**self.given(inputs)))

    def reference(self, inputs):
        return listed(self.exact(**self.given(inputs, True)))

    def bound(self, inputs, want, output):
        """How far from float64 an element may be, and what says so."""
        kind, value = ("derived", 0.0) if self.row.is_cast else self.row.tolerance
        if not TORCH[output.dtype].is_floating_point:
            return 0.0
        largest = want.abs().max().item() if want.numel() else 0.0
        if kind == "abs":
            return value
        if kind == "exact":
            return torch.finfo(TORCH[output.dtype]).eps / 2 * largest
        if kind == "rel":
            return value * largest
        of_sums = self.error(self.given(inputs, True), references.Rounding(self.row.is_tf32, {TORCH[a.dtype] for a in self.inputs})) if self.error else 0.0
        return of_sums + (torch.finfo(TORCH[output.dtype]).eps / 2 + 32 * references.U) * largest


# ---- ours ----

class Ours:
    """Launches of a prepared kernel on memory of PyTorch's."""

    def __init__(self, problem, context):
        self.problem, self.kernel = problem, problem.kernel
        self.kernel.prepare(context)

    def bind(self, inputs):
        """One set of arguments: outputs of their own, full of NaN; what is written in place is a copy."""
        given, self_outputs = [], []
        for a in self.kernel.args:
            x = inputs.get(a.name)
            if a.is_output:
                x = x.clone() if a.is_input else poisoned(a, self.problem.device)
                self_outputs.append(x)
            given.append(x)
        values = self.kernel.values([x if not torch.is_tensor(x) else x.data_ptr() for x in given])
        self.kernel.constants(values, torch.cuda.current_stream().cuda_stream)  # before any launch is captured
        n = self.kernel.workspace_bytes(values)
        workspace = torch.full((max(n, 1),), 0xff, dtype=torch.uint8, device=self.problem.device)
        return {"values": values, "tensors": given, "outputs": self_outputs, "workspace": workspace, "n": n}

    def launch(self, bound):
        self.kernel.launch(bound["values"], bound["workspace"].data_ptr(), bound["n"], torch.cuda.current_stream().cuda_stream)


def poisoned(argument, device):
    t = TORCH[argument.dtype]
    return torch.full(argument.shape, math.nan if t.is_floating_point else (1 if t == torch.bool else 77), dtype=t, device=device)


class Emulated:
    """Likewise on the emulator: tensors of the CPU are copied there and back."""

    def __init__(self, problem, context):
        self.problem, self.kernel, self.context = problem, problem.kernel, context
        self.kernel.prepare(context)

    def run(self, inputs):
        held, given, outputs = [], [], []
        for a in self.kernel.args:
            x = inputs.get(a.name)
            if a.is_scalar:
                given.append(x)
                continue
            x = poisoned(a, "cpu") if x is None else x.clone().contiguous()
            n_bytes = x.numel() * x.element_size()
            p = self.context.alloc(n_bytes)
            self.context.write(p, x.data_ptr(), n_bytes)
            held.append(p)
            given.append(p)
            if a.is_output:
                outputs.append((p, x, n_bytes))
        values = self.kernel.values(given)
        n = self.kernel.workspace_bytes(values)
        workspace = self.context.alloc(n)
        self.kernel.launch(values, workspace, n, 0)
        for p, x, n_bytes in outputs:
            self.context.read(x.data_ptr(), p, n_bytes)
        for p in (*held, workspace):
            self.context.free(p)
        return [x for _, x, _ in outputs]


# ---- comparing ----

def worst(got, want, rows=1 << 26):
    """The largest distance of any element, in pieces; a NaN or an infinity that the other has not is infinitely far."""
    far = 0.0
    got, want = got.reshape(-1), want.reshape(-1)
    for at in range(0, got.numel(), rows):
        g, w = got[at:at + rows].double(), want[at:at + rows].double()
        same = (g == w) | (g.isnan() & w.isnan())
        d = torch.where(same, torch.zeros_like(w), (g - w).abs())
        d = torch.where(d.isnan(), torch.full_like(d, math.inf), d)
        far = max(far, d.max().item())
    return far


def eager_of(problem, inputs):
    """PyTorch's own results, or None where it refuses what a spec defines: a remainder by 0, an index outside."""
    try:
        return problem.call(inputs)
    except (ZeroDivisionError, IndexError, RuntimeError):
        return None


def compare(problem, inputs, results, eager):
    """Of all outputs the worst error beside its bound, by how much of the bound it takes, and eager's error of that output."""
    want = problem.reference(inputs)
    if len(want) != len(results):
        raise libfx.Failure(f"{len(results)} outputs, of the PyTorch function {len(want)}")
    report = None
    for i, (output, got, w) in enumerate(zip(problem.outputs, results, want)):
        if tuple(w.shape) != tuple(got.shape):
            raise libfx.Failure(f"{output.name} is {tuple(got.shape)}, of the PyTorch function {tuple(w.shape)}")
        error, bound, eager_error = worst(got, w), problem.bound(inputs, w, output), worst(eager[i], w) if eager else None
        if problem.row.is_cast and eager_error is not None:  # what an intermediate result rounded to 16 bits comes to was derived for no kernel
            bound = max(bound, eager_error)
        part = error / bound if bound else (0.0 if error == 0 else math.inf)
        if report is None or part > report["part"]:
            report = {"part": part, "error": error, "bound": bound, "eager_error": eager_error, "elements": got.numel()}
    return report


# ---- timing ----

def graph_of(call, n_launches):
    """A graph of calls, call(i) for i from 0."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for i in range(2):
            call(i)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(n_launches):
            call(i)
    return g


def once(g):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    g.replay()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def time_all(calls, copies, rounds):
    """Microseconds of each call, {name: (median, spread)}: rounds in random order. calls[name](i) is to use the arguments of copy i % copies."""
    launches, graphs = {}, {}
    for name, call in calls.items():
        g = graph_of(call, copies)
        once(g)
        estimate = max(once(g) / copies, 0.3)
        launches[name] = copies * max(1, min(1000, math.ceil(500 / (estimate * copies))))
        graphs[name] = g if launches[name] == copies else graph_of(call, launches[name])
        del g
    until, times = time.time() + 0.1, {name: [] for name in calls}
    while time.time() < until:
        for g in graphs.values():
            once(g)
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            times[name].append(once(graphs[name]) / launches[name])
    out = {}
    for name, t in times.items():
        t.sort()
        out[name] = (statistics.median(t), (t[len(t) * 3 // 4] - t[len(t) // 4]) / statistics.median(t))
    return out


def copies_of(inputs, outputs):
    n_bytes = sum(t.numel() * t.element_size() for t in (*inputs.values(), *outputs) if torch.is_tensor(t))
    return max(1, min(MOST_COPIES, math.ceil(ROTATED_BYTES / max(1, n_bytes)))), n_bytes


def set_tf32(is_tf32):
    torch.set_float32_matmul_precision("high" if is_tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = is_tf32


def compiled(problem, mode):
    """The function as torch.compile makes it."""
    torch._dynamo.reset()
    set_tf32(problem.row.is_tf32)
    mode = mode or ("max-autotune-no-cudagraphs" if problem.row.group.startswith("s4") else "default")
    return torch.compile(problem.function, dynamic=False, mode=mode)


def measure(problem, ours, args, is_compile_ready):
    """What a row comes to, in a dict: compared, then timed."""
    row = problem.row
    set_tf32(row.is_tf32)
    inputs = problem.draw()
    first = ours.bind(inputs)
    ours.launch(first)
    torch.cuda.synchronize()
    eager = problem.call(inputs) if row.is_bench else None  # on a GPU an index outside ends the process
    out = {**compare(problem, inputs, first["outputs"], eager), "entries": problem.kernel.entries(first["values"])}
    copies, out["bytes"] = copies_of(inputs, first["outputs"])
    out["is_right"] = out["part"] <= 1
    del eager
    if not out["is_right"] or args.tests:
        return out
    sets = [inputs] + [{k: v.clone() if torch.is_tensor(v) else v for k, v in inputs.items()} for _ in range(copies - 1)]
    bound = [first] + [ours.bind(s) for s in sets[1:]]
    calls = {"ours": lambda i: ours.launch(bound[i % copies]), "eager": lambda i: problem.call(sets[i % copies])}
    if is_compile_ready:
        try:
            f, given = compiled(problem, args.mode), [problem.given(s) for s in sets]
            out["compile_error"] = worst(listed(f(**given[0]))[0], problem.reference(inputs)[0])
            calls["compile"] = lambda i: f(**given[i % copies])
        except Slow:
            raise
        except Exception as e:  # whatever a compiler of others throws
            out["note"] = f"torch.compile: {type(e).__name__}"
    for name, (us, spread) in time_all(calls, copies, args.rounds).items():
        out[name], out[name + "_spread"] = us, spread
    return out


# ---- torch.compile ahead: processes that fill its cache on disk, each a share of the rows ----

def warm(args, rows):
    """Runs in a process of its own: compiles rows args.warm of args.workers, says each as it is done."""
    lib = libfx.load(args.lib)
    for row in rows[args.warm::args.workers]:
        try:
            problem = Problem(lib, row, "sm_90a", "cuda")
            compiled(problem, args.mode)(**problem.given(problem.draw()))
            torch.cuda.synchronize()
            print("done", row.name(), flush=True)
        except Exception as e:
            print("failed", row.name(), type(e).__name__, str(e).splitlines()[:1], file=sys.stderr, flush=True)
        gc.collect()
        torch.cuda.empty_cache()


class Ahead:
    """Those processes, and which rows they are done with."""

    def __init__(self, args, argv):
        self.processes, self.logs = [], []
        env = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "2"}  # of each
        for i in range(args.workers):
            log = open(pathlib.Path(args.out) / f"compile.{i}.log", "w+")
            self.logs.append(log)
            self.processes.append(subprocess.Popen([sys.executable, __file__, *argv, "--warm", str(i)], stdout=log, stderr=log, env=env))

    def wait(self, until):
        while any(p.poll() is None for p in self.processes) and time.time() < until:
            time.sleep(0.2)
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.wait()
        done = set()
        for log in self.logs:
            log.seek(0)
            done |= {line[5:].rstrip("\n") for line in log if line.startswith("done ")}
        return done


# ---- the table ----

def number(x, form="{:.3g}"):
    return "" if x is None else form.format(x)


def line(row, out):
    us = [out.get(k) for k in ("ours", "eager", "compile")]
    ratios = [number(t / us[0], "{:.2f}") if t and us[0] else "" for t in us[1:]]
    words = "not measured" if out.get("is_right") and us[0] and not us[2] and out.get("asked_compile") else ""
    cells = [row.group, row.path.stem, row.kernel, row.title(), out.get("kernels", ""), number(out.get("error")), number(out.get("bound")), number(out.get("eager_error")),
             *[number(t, "{:.2f}") for t in us[:2]], number(us[2], "{:.2f}") or words, *ratios, out.get("note", "")]
    return "| " + " | ".join(str(c) for c in cells) + " |"


def say(row, out, log):
    print(line(row, out), flush=True)
    log.write(json.dumps({"group": row.group, "file": row.path.stem, "kernel": row.kernel, "extents": row.extents, "defines": row.defines, **out}) + "\n")
    log.flush()


def on_alarm(*_):
    raise Slow("took too long")


def failed(e):
    return {"is_right": False, "note": "FAILED: " + (str(e) or type(e).__name__).splitlines()[0][:160].replace("|", "/")}


def guarded(args, row, work):
    """What work() gives, or a dict with the reason why it gives nothing."""
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, args.row_seconds)
    try:
        return work()
    except Exception as e:  # whatever it is: the rows behind it are to be measured
        return failed(e)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def describe(problem):
    return f"{len(problem.kernel.launches)}: " + ", ".join(d.replace(", ", "+") for d, _ in problem.kernel.launches)


def flops_of(row):
    """About: the product of the extents, up to three."""
    sizes = sorted(row.extents.values(), reverse=True)[:3]
    return 2 * math.prod(sizes)


def on_emulator(args, lib, rows, log):
    context = libfx.Context(lib, is_emulated=True)
    n, n_wrong = 0, 0
    for row in rows:
        if flops_of(row) > args.max_flops:
            continue

        def work():
            problem = Problem(lib, row, context.arch, "cpu")
            inputs = problem.draw()
            out = compare(problem, inputs, Emulated(problem, context).run(inputs), eager_of(problem, inputs))
            return {**out, "kernels": describe(problem), "is_right": out["part"] <= 1}
        out = guarded(args, row, work)
        if not out["is_right"] and "note" not in out:
            out["note"] = "WRONG"
        say(row, out, log)
        n, n_wrong = n + 1, n_wrong + (not out["is_right"])
    return n, n_wrong


def prepare(lib, row, context):
    try:
        problem = Problem(lib, row, context.arch, "cuda")
        return {"problem": problem, "ours": Ours(problem, context)}
    except libfx.Failure as e:
        return failed(e)


def on_gpu(args, lib, rows, log, argv):
    torch.cuda.init()
    torch.zeros(1, device="cuda")  # its context is the one we use
    started = time.time()
    ahead = Ahead(args, argv) if args.compile and not args.tests else None
    context = libfx.Context(lib)
    with ThreadPoolExecutor(4 if ahead else os.cpu_count()) as pool:  # ours compile while theirs do
        prepared = dict(zip(map(id, rows), pool.map(lambda row: prepare(lib, row, context), rows)))
    print(f"<!-- {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; ours prepared after {time.time() - started:.0f} s -->", flush=True)
    done = ahead.wait(started + args.deadline) if ahead else set()
    if ahead:
        print(f"<!-- torch.compile ready for {len(done)} of {len(rows)} rows after {time.time() - started:.0f} s -->", flush=True)
    n_wrong = 0
    for row in rows:
        out = prepared.pop(id(row))
        if "problem" in out:
            problem, ours = out["problem"], out["ours"]
            out = guarded(args, row, lambda: measure(problem, ours, args, row.name() in done))
            out = {"kernels": describe(problem), "asked_compile": args.compile, **out}
        if not out["is_right"]:
            n_wrong += 1
            out.setdefault("note", f"WRONG: {out.get('part', 0):.3g} of its bound")
        say(row, out, log)
        problem = ours = None
        gc.collect()
        torch.cuda.empty_cache()
    return len(rows), n_wrong


def main(argv):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--group", action="append", choices=sorted(FOLDERS))
    p.add_argument("--only", action="append", help="rows whose file, kernel or extents contain it")
    p.add_argument("--dtype", action="append", choices=("f32", "bf16", "f16", "tf32"))
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--mode")
    p.add_argument("--tests", action="store_true")
    p.add_argument("--emu", action="store_true")
    p.add_argument("--max-flops", type=float, default=2e6, help="of a block on the emulator")
    p.add_argument("--no-compile", dest="compile", action="store_false")
    p.add_argument("--deadline", type=float, default=300, help="seconds that torch.compile has for all rows")
    p.add_argument("--workers", type=int, default=8, help="processes that run torch.compile ahead")
    p.add_argument("--row-seconds", type=float, default=60)
    p.add_argument("--rounds", type=int, default=25)
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--out", default=os.environ.get("OUT", "."))
    p.add_argument("--warm", type=int, help=argparse.SUPPRESS)
    args = p.parse_args(argv)
    args.group = args.group or sorted(FOLDERS.keys() - {"level2"})
    args.tests = args.tests or args.emu
    for name in ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"):  # by which the processes hand over what they compiled
        os.environ.setdefault(name, "1")
    torch.manual_seed(0)
    random.seed(0)
    torch.set_grad_enabled(False)
    lib = libfx.load(args.lib)
    rows = rows_of(lib, args)
    if args.warm is not None:
        return warm(args, rows)
    print(HEAD + "\n" + re.sub(r"[^|]+", "---", HEAD), flush=True)
    with open(pathlib.Path(args.out) / "acceptance.jsonl", "w") as log:
        n, n_wrong = on_emulator(args, lib, rows, log) if args.emu else on_gpu(args, lib, rows, log, argv)
    print(f"{n} rows, {n_wrong} failed or wrong")
    return 1 if n_wrong or not n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
