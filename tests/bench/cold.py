#!/usr/bin/env python3
"""How long a spec takes from its text to the end of its first launch, nothing cached, a context open: every bench block's kernel at the extents of the block.

usage: cold.py [--lib SO] [--cores N]... [--rounds N] [KERNEL.. of FILE.fx..], on a machine with a GPU: files and names of kernels in any order; without names, every block of the files.

A measurement is a process of its own, on so many cores (taskset). Output: a line a kernel and number of cores: milliseconds of fx_compile, of fx_prepare with the extents, of the first launch, and of all three;
of `--rounds` processes the median. Arguments are memory as it comes.
"""
import argparse
import ctypes as c
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

import libfx

BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2}


def blocks(lib, path):
    """The first bench block of every kernel of a file: name, extents."""
    found = {}
    for b in libfx.Spec(lib, path, tests_only=True).blocks():
        if b.is_bench and b.kernel.decode() not in found:
            found[b.kernel.decode()] = [b.extents[i].decode() for i in range(b.n_extents)] + [b.defines[i].decode() for i in range(b.n_defines)]
    return found


def once(lib, path, name):
    """Milliseconds of the three steps."""
    given = blocks(lib, path)[name]
    context = libfx.Context(lib)
    context.free(context.alloc(1 << 20))
    start = time.perf_counter()
    spec = libfx.Spec(lib, path, context.arch, name, given)
    compiled = time.perf_counter()
    kernel = libfx.Kernel(spec, name, {})
    kernel.prepare(context)
    ready = time.perf_counter()
    values = kernel.values([(a.default or 0) if a.is_scalar else context.alloc(math.prod(a.shape) * BYTES.get(a.dtype, 1)) for a in kernel.args])
    size = kernel.workspace_bytes(values)
    space, word = context.alloc(size), c.c_uint()
    kernel.constants(values, None)
    launching = time.perf_counter()
    kernel.launch(values, space, size, None)
    context.read(c.addressof(word), space, 1)
    return (compiled - start) * 1e3, (ready - compiled) * 1e3, (time.perf_counter() - launching) * 1e3


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--cores", type=int, action="append")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--once", action="store_true", help="this process is the one that is measured")
    p.add_argument("what", nargs="+")
    args = p.parse_args()
    lib = libfx.load(args.lib)
    files, names = [w for w in args.what if w.endswith(".fx")], [w for w in args.what if not w.endswith(".fx")]
    if args.once:
        print(*once(lib, files[0], names[0]))
        return 0
    status = 0
    for path in files:
        for name in blocks(lib, path):
            if names and name not in names:
                continue
            for cores in args.cores or [16, 2]:
                command = ["taskset", "-c", f"0-{cores - 1}", sys.executable, __file__, "--once", "--lib", args.lib, path, name]
                took = []
                for _ in range(args.rounds):
                    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"FX_CACHE": "off", "CUDA_CACHE_DISABLE": "1"})
                    if done.returncode:
                        print(f"{name}, {cores} cores: {done.stderr.strip()[-300:]}")
                        status = 1
                        break
                    took.append([float(x) for x in done.stdout.split()])
                else:
                    steps = [statistics.median(t) for t in zip(*took)]
                    print(f"{name:28} {cores:2} cores: compile {steps[0]:7.1f}  prepare {steps[1]:7.1f}  launch {steps[2]:6.1f}  all {statistics.median(map(sum, took)):7.1f} ms  {pathlib.Path(path).name}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
