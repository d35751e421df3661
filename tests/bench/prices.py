#!/usr/bin/env python3
"""Predicted over measured: prices.py, on a machine with a GPU, PyTorch and build/libfx.so.

Every bench block of the examples, its extents compiled in: the time that the receipt predicts over the median of CUDA graphs of launches, arguments rotated through more than the L2 cache. Values are not compared, which acceptance.py and test-gpu do.
Output: a JSON line a block in OUT/prices.jsonl, then, for all blocks and by driver, how many ratios lie where, their geometric mean, and their geometric deviation, exp of the root mean square of their logarithms.

  prices.py --only linear       blocks whose file or kernel contains that
  prices.py --read FILE         the summary of a run before, no GPU needed; with --again the prices are those of this libfx.so, the times those of the file
"""
import argparse
import ctypes as c
import gc
import json
import math
import os
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import libfx

FORMAT_JSON = 1
BINS = (0.25, 0.5, 0.67, 0.77, 0.87, 1 / 0.87, 1.3, 1.5, 2, 4)  # ends of the bars


class Block:
    """A bench block: file, kernel, what it gives of extents, constants and inputs."""

    def __init__(self, path, block):
        def pairs(given, n):
            return dict(given[i].decode().split("=", 1) for i in range(n))
        self.path, self.kernel = path, block.kernel.decode()
        self.extents, self.inputs = pairs(block.extents, block.n_extents), pairs(block.inputs, block.n_inputs)
        self.defines = pairs(block.defines, block.n_defines)
        self.seed = block.seed if block.has_seed else 0
        self.title = " ".join(f"{k}={v}" for k, v in (*self.extents.items(), *self.defines.items()))

    def given(self):
        return [f"{k}={v}" for k, v in (*self.defines.items(), *self.extents.items())]

    def key(self):
        return [str(self.path.relative_to(libfx.ROOT)), self.kernel, self.title]


def blocks_of(lib, only):
    out = []
    for path in sorted((libfx.ROOT / "examples").rglob("*.fx")):
        spec = libfx.Spec(lib, path, tests_only=True)
        out += [Block(path, b) for b in spec.blocks() if b.is_bench]
    return [b for b in out if not only or any(o in f"{b.path.stem} {b.kernel}" for o in only)]


def predicted(lib, spec):
    """What the receipt: microseconds, and the launches."""
    lib.fx_receipt.restype = c.c_char_p
    receipt = json.loads(lib.fx_receipt(spec.handle, FORMAT_JSON, None))
    kernel = receipt["kernels"][0]
    launches = [{k: l[k] for k in ("driver", "schedule", "predicted_us", "bytes_alone_us", "bound")} |
                {"entry": next((e["entry"] for e in l["entries"] if e["launched"]), "?"), "bytes": l["bytes"]["value"], "flops": l["flops"]["value"]} for l in kernel["launches"]]
    return {"predicted_for": receipt["predicted_for"], "predicted": kernel["predicted_us"], "launches": launches}


def compile_block(lib, block, arch, device):
    return libfx.Spec(lib, block.path, arch, block.kernel, block.given(), gpu=device)


# ---- on a GPU ----

def measure(lib, block, kernel, context, rounds):
    import acceptance as a
    import torch
    generator, inputs = torch.Generator(device="cuda").manual_seed(block.seed), {}
    for x in kernel.args:
        if not x.is_input:
            continue
        source = block.inputs.get(x.name)
        if x.is_scalar:
            inputs[x.name] = float(source) if source else x.default if x.default is not None else 0.5
        else:
            inputs[x.name] = a.draw(source, x, a.TORCH[x.dtype], generator, "cuda")
    outputs = [torch.empty(x.shape, dtype=a.TORCH[x.dtype], device="cuda") for x in kernel.args if x.is_output and not x.is_input]
    copies, n_bytes = a.copies_of(inputs, outputs)
    bound, held = [], []
    for i in range(copies):
        given = []
        for x in kernel.args:
            t = inputs.get(x.name)
            if t is None:
                t = torch.empty(x.shape, dtype=a.TORCH[x.dtype], device="cuda")
            elif torch.is_tensor(t) and i:
                t = t.clone()
            given.append(t)
        held.append(given)
        bound.append(kernel.values([t if not torch.is_tensor(t) else t.data_ptr() for t in given]))
    constants, kept = zip(*(constants_of(lib, kernel, values) for values in bound))
    size = c.c_size_t()
    context.check(lib.fx_const_workspace_bytes(constants[0], bound[0], len(kernel.args), c.byref(size)))
    n = size.value
    workspace = torch.zeros(max(n, 1), dtype=torch.uint8, device="cuda")

    def call(i):
        context.check(lib.fx_const_launch(constants[i % copies], bound[i % copies], len(kernel.args), c.c_void_p(workspace.data_ptr()), c.c_size_t(n),
                                          c.c_void_p(torch.cuda.current_stream().cuda_stream)))
    us, spread = a.time_all({"ours": call}, copies, rounds)["ours"]
    for x in constants:
        lib.fx_constants_release(x)
    return {"measured": us, "spread": spread, "entries": kernel.entries(bound[0]), "argument_bytes": n_bytes}


def constants_of(lib, kernel, values):
    """What depends on `const` tensors alone, computed once, and the memory it lies in."""
    import torch
    size, handle, stream = c.c_size_t(), c.c_void_p(), c.c_void_p(torch.cuda.current_stream().cuda_stream)
    kernel.context.check(lib.fx_const_bytes(kernel.prepared, values, len(kernel.args), c.byref(size)))
    memory = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
    kernel.context.check(lib.fx_const_prepare(kernel.prepared, values, len(kernel.args), c.c_void_p(memory.data_ptr()), size, stream, c.byref(handle)))
    torch.cuda.synchronize()
    return handle, memory


def prepare(lib, block, context):
    try:
        kernel = libfx.Kernel(compile_block(lib, block, context.arch, context.device), block.kernel, {})
        kernel.prepare(context)
        return kernel
    except libfx.Failure as e:
        return e


def copy_rate():
    """Bytes a second, read plus written, of a large copy."""
    import acceptance as a
    import torch
    x, y = (torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(2))
    return 2 * x.numel() / a.time_all({"copy": lambda i: y.copy_(x)}, 1, 15)["copy"][0] * 1e6


def on_gpu(lib, args, log):
    import torch
    torch.zeros(1, device="cuda")  # its context is the one we use
    torch.set_grad_enabled(False)
    context, rows = libfx.Context(lib), []
    blocks = blocks_of(lib, args.only)
    print(f"{context.device}: a copy moves {copy_rate() / 1e9:.0f} GB/s", flush=True)
    with ThreadPoolExecutor(8) as pool:
        for block, kernel in zip(blocks, pool.map(lambda b: prepare(lib, b, context), blocks)):
            row = {"block": block.key(), "device": context.device}
            try:
                if isinstance(kernel, Exception):
                    raise kernel
                row |= predicted(lib, kernel.spec) | measure(lib, block, kernel, context, args.rounds)
                rows.append(row)
            except Exception as e:  # whatever it is: the blocks behind it are to be measured
                row["failed"] = (str(e) or type(e).__name__).splitlines()[0]
                print(*block.key(), "FAILED", row["failed"], flush=True)
            log.write(json.dumps(row) + "\n")
            log.flush()
            kernel = None
            gc.collect()
            torch.cuda.empty_cache()
    return rows


# ---- the summary ----

def kind(row):
    """What its launches are of: one driver, or several."""
    drivers = {f"{l['driver']} by {l['schedule']}" if l["driver"] == "gemm" else l["driver"] for l in row["launches"]}
    return drivers.pop() if len(drivers) == 1 else "several drivers"


def deviation(ratios):
    return math.exp(math.sqrt(sum(math.log(r) ** 2 for r in ratios) / len(ratios)))


def histogram(ratios):
    counts = [0] * (len(BINS) + 1)
    for r in ratios:
        counts[sum(r >= b for b in BINS)] += 1
    return counts


def summary(rows):
    names = [f"< {BINS[0]:g}"] + [f"{b:.2f}" for b in BINS]
    print("| launches | blocks | " + " | ".join(names) + " | mean | deviation |")
    print("|" + "---|" * (len(names) + 4))
    kinds = sorted({kind(r) for r in rows})
    for k in [None] + kinds:
        ratios = [r["predicted"] / r["measured"] for r in rows if k in (None, kind(r))]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"| {k or 'all'} | {len(ratios)} | " + " | ".join(str(n or "") for n in histogram(ratios)) + f" | {mean:.2f} | {deviation(ratios):.2f} |")


def worst(rows, n):
    for r in sorted(rows, key=lambda r: -abs(math.log(r["predicted"] / r["measured"])))[:n]:
        launches = ", ".join(f"{l['entry']} {l['predicted_us']:.1f}" for l in r["launches"])
        print(f"{r['predicted'] / r['measured']:6.2f}  {r['predicted']:9.1f} / {r['measured']:9.1f} us  {' '.join(r['block'][1:])}: {launches}")


def read(lib, args):
    rows = [json.loads(l) for l in pathlib.Path(args.read).read_text().splitlines()]
    rows = [r for r in rows if "measured" in r and (not args.only or any(o in " ".join(r["block"]) for o in args.only))]
    if not args.again:
        return rows
    blocks = {tuple(b.key()): b for b in blocks_of(lib, args.only)}
    for r in rows:
        block = blocks[tuple(r["block"])]
        r |= predicted(lib, compile_block(lib, block, "sm_90a", r["device"]))
        if r["launches"][0]["entry"] not in r["entries"]:
            print("another entry:", *r["block"], r["launches"][0]["entry"])
    return rows


def main(argv):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", action="append")
    p.add_argument("--read", metavar="FILE")
    p.add_argument("--again", action="store_true")
    p.add_argument("--worst", type=int, default=12, help="blocks to list")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--out", default=os.environ.get("OUT", "."))
    args = p.parse_args(argv)
    lib = libfx.load(args.lib)
    if args.read:
        rows = read(lib, args)
    else:
        with open(pathlib.Path(args.out) / "prices.jsonl", "w") as log:
            rows = on_gpu(lib, args, log)
    if not rows:
        return 1
    summary(rows)
    worst(rows, args.worst)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
