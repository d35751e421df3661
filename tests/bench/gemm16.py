#!/usr/bin/env python3
"""Contractions of 16-bit floats beside PyTorch's product of the same shape (cuBLAS), which has no epilogue.

Needs PyTorch and a GPU, and build/libfx.so. First every entry that takes the arguments is run on small integers, of which all sums are exact, and every element compared. Then all
are timed as CUDA graphs whose operands are rotated through more than the L2 cache, interleaved in random order; the median of the rounds is taken.

  gemm16.py                    what a launch would take
  gemm16.py --variants         every entry
  gemm16.py --only swiglu      cases whose name contains that
  gemm16.py --case plain:2048x2112x7168   another one, M x N x K, and of batched and lora also B or R; alone where there is no --only
  gemm16.py --lib a.so --lib b.so   builds of the library beside each other

Output: a line a case and entry: microseconds, and cuBLAS's time over it. Exit 1 when an element was wrong.
"""
import argparse
import ctypes as c
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

import torch

import libfx

SPEC = """
kernel plain(x: T[M,K], w: T[K,N]) -> (y: T[M,N]) { y = x @ w }
kernel plain_nk(x: T[M,K], w: T[N,K]) -> (y: T[M,N]) { y = x @[K] w }
kernel plain_km(x: T[K,M], w: T[K,N]) -> (y: T[M,N]) { y = x @[K] w }
kernel bias_gelu(x: T[M,K], w: T[K,N], b: T[N]) -> (y: T[M,N]) { y = gelu(x @ w + b) }
kernel residual(x: T[M,K], w: T[N,K], r: T[M,N]) -> (y: T[M,N]) { y = x @[K] w + r }
kernel swiglu(x: T[M,K], w: T[N,K], v: T[N,K]) -> (y: T[M,N]) { y = silu(x @[K] w) * (x @[K] v) }
kernel batched(x: T[B,M,K], w: T[B,K,N]) -> (y: T[B,M,N]) { y = x @[K] w }
kernel lora(x: T[M,K], w: T[N,K], u: T[M,R], v: T[R,N]) -> (y: T[M,N]) { y = x @[K] w + u @ v }
kernel f32_out(x: T[M,K], w: T[K,N]) -> (y: f32[M,N]) { y = x @ w }
kernel cast(x: f32[M,K], w: T[N,K]) -> y: T[M,N] with { fuse: require } { y = T(x) @[K] w }
kernel int8(x: T[M,K], w: i8[N,K], s: T[N]) -> y: T[M,N] with { fuse: require } { y = x @[K] T(w * s) }
kernel int8_after(x: T[M,K], w: i8[N,K], s: T[N]) -> y: T[M,N] with { fuse: require } { y = (x @[K] T(w)) * s }
kernel scaled(x: T[M,K], s: T[K], w: T[N,K]) -> y: T[M,N] with { fuse: require } { y = (x * s) @[K] w }
"""
CASES = [("plain", dict(M=s, K=s, N=s)) for s in (512, 1024, 2048, 4096, 8192)]
CASES += [("plain", dict(M=2048, N=2112, K=7168)), ("plain", dict(M=300, N=5000, K=4104)), ("plain", dict(M=2048, N=12288, K=3072)), ("plain", dict(M=72, N=4096, K=4096))]
CASES += [("plain_nk", dict(M=s, K=s, N=s)) for s in (1024, 4096, 8192)] + [("plain_km", dict(M=4096, K=4096, N=4096))]
CASES += [("bias_gelu", dict(M=s, K=s, N=s)) for s in (1024, 2048, 4096, 8192)]
CASES += [("residual", dict(M=4096, K=4096, N=4096)), ("f32_out", dict(M=4096, K=4096, N=4096))]
CASES += [("swiglu", dict(M=4096, K=4096, N=4096)), ("swiglu", dict(M=2048, K=4096, N=11008))]
CASES += [(name, dict(M=m, K=k, N=n)) for name in ("cast", "int8", "int8_after", "scaled") for m, k, n in ((4096, 4096, 4096), (2048, 4096, 4096), (1000, 2064, 3000))]
CASES += [("batched", dict(B=64, M=512, K=128, N=512)), ("lora", dict(M=4096, K=4096, N=4096, R=16))]


def product(name, a):
    """What cuBLAS is asked for, in whatever dtype a has."""
    if name == "plain_km":
        return a["x"].t() @ a["w"]
    if name in MADE:  # what is made of an operand is made ahead of time
        return a["x_"] @ a["w_"].t()
    w = a["w"] if name in ("plain", "bias_gelu", "batched", "f32_out") else a["w"].t()
    return a["x"] @ w


MADE = {"cast": lambda x, w: (x, w), "int8": lambda x, w, s: (x, w * s[:, None]), "int8_after": lambda x, w, s: (x, w), "scaled": lambda x, s, w: (x * s, w)}


def reference(name, a, dtype):
    y = product(name, a)
    if name == "int8_after":
        y = y * a["s"]
    if name == "bias_gelu":
        y = (y + a["b"]).double()
        y = 0.5 * y * torch.special.erfc(y * -(0.5**0.5))  # torch.nn.functional.gelu loses its far negative tail
    if name == "residual":
        y = y + a["r"]
    if name == "swiglu":
        y = torch.nn.functional.silu(y.double()) * (a["x"] @ a["v"].t())
    if name == "lora":
        y = y + a["u"] @ a["v"]
    return y if name == "f32_out" else y.to(dtype)


def parsed(case):
    """A case of the command line."""
    name, sizes = case.split(":")
    return name, dict(zip(("M", "N", "K", "R" if name == "lora" else "B"), map(int, sizes.split("x"))))


class Case:
    def __init__(self, context, lib, path, name, extents, dtype):
        self.name, self.extents, self.dtype = name, extents, dtype
        self.spec = libfx.Spec(lib, path, kernel=name)
        self.context, self.lib = context, lib

    def kernel(self, variant):
        k = libfx.Kernel(self.spec, self.name, self.extents)
        k.prepare(self.context)
        if variant >= 0:
            self.context.check(self.lib.fx_pin_variant(k.prepared, 0, variant))
        return k

    def inputs(self, seed, is_exact):
        g = torch.Generator(device="cuda").manual_seed(seed)
        k = libfx.Kernel(self.spec, self.name, self.extents)
        out = {}
        for a in k.args:
            dtype = dict(f32=torch.float32, i8=torch.int8).get(a.dtype, self.dtype)
            if a.is_input and is_exact:
                out[a.name] = torch.randint(-2, 3, a.shape, device="cuda", generator=g).to(dtype)
            elif a.is_input and dtype == torch.int8:
                out[a.name] = torch.randint(-100, 101, a.shape, device="cuda", generator=g).to(dtype)
            elif a.is_input:
                out[a.name] = torch.randn(a.shape, device="cuda", generator=g).to(dtype)
            else:
                out[a.name] = torch.full(a.shape, float("nan"), device="cuda", dtype=torch.float32 if self.name == "f32_out" else self.dtype)
        if self.name in MADE:
            made = MADE[self.name](*(out[a.name].float() for a in k.args if a.is_input))
            out["x_"], out["w_"] = (t.to(self.dtype) for t in made)
        return out

    def bind(self, k, tensors):
        values = k.values([tensors[a.name].data_ptr() for a in k.args])
        n = k.workspace_bytes(values)
        space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
        return values, space, n


def ulps(got, want, dtype):
    """The largest difference in units of the last place of the wanted value."""
    bits = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24}[got.dtype]
    w = want.double()
    unit = torch.exp2(torch.floor(torch.log2(w.abs().clamp_min(1e-30))) - (bits - 1))
    return torch.where(got == want, 0.0, (got.double() - w).abs() / unit).nan_to_num(nan=1e9).max().item()  # infinities are equal


def check(case, variants):
    """Entries with what is wrong of them."""
    a = case.inputs(1, True)
    wide = {n: t.float() for n, t in a.items()}
    want = reference(case.name, wide, torch.float32)
    out = {}
    for v in variants:
        k = case.kernel(v)
        a["y"].fill_(float("nan"))
        values, space, n = case.bind(k, a)
        entry = k.entries(values)[0]
        try:
            k.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream)
            torch.cuda.synchronize()
        except libfx.Failure as e:
            if "does not take these arguments" in str(e):
                continue
            raise
        w = want.to(a["y"].dtype)
        out[v] = (entry, ulps(a["y"], w, case.dtype), (a["y"] != w).sum().item())
    return out


def graph_of(go, n):
    go(0)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(n):
            go(i)
    return g


def race(contenders, rounds):
    times = {name: [] for name, *_ in contenders}
    order = list(contenders)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for r in range(rounds + 3):
        random.shuffle(order)
        for name, g, n in order:
            start.record()
            g.replay()
            end.record()
            end.synchronize()
            if r >= 3:
                times[name].append(start.elapsed_time(end) * 1000 / n)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--variants", action="store_true")
    p.add_argument("--entries", default="", help="of the entries, those whose name contains it")
    p.add_argument("--only", default=None)
    p.add_argument("--case", action="append", type=parsed, default=[])
    p.add_argument("--dtype", default="bf16")
    p.add_argument("--rounds", type=int, default=25)
    p.add_argument("--lib", action="append")
    args = p.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    dtype = dict(bf16=torch.bfloat16, f16=torch.float16)[args.dtype]
    path = pathlib.Path(tempfile.mkdtemp()) / "gemm16.fx"
    path.write_text(SPEC.replace("T[", args.dtype + "[").replace("T(", args.dtype + "("))
    libs = []
    for at in args.lib or [str(libfx.ROOT / "build/libfx.so")]:
        lib = libfx.load(at)
        lib.fx_pin_variant.argtypes = [c.c_void_p, c.c_int, c.c_int]
        libs.append((pathlib.Path(at).stem if args.lib else "", lib, libfx.Context(lib)))
    out = open(pathlib.Path(os.environ.get("OUT", ".")) / "gemm16.jsonl", "a")
    is_wrong = False
    listed = CASES if args.only is not None or not args.case else []
    for name, extents in listed + args.case:
        label = name + " " + " ".join(f"{l}={e}" for l, e in extents.items())
        if (name, extents) in listed and args.only and args.only not in label:
            continue
        cases = []
        for lib_name, lib, context in libs:
            try:
                case = Case(context, lib, path, name, extents, dtype)
                k = libfx.Kernel(case.spec, name, extents)
                n_variants = k.plan.launches[0].n_variants if args.variants and k.plan.n_launches == 1 else 0
                checked = check(case, range(-1, n_variants))
            except libfx.Failure as e:
                print(f"{lib_name} {label}: {e}")
                is_wrong = True
                continue
            for v, (entry, worst, n_wrong) in checked.items():
                bad = worst > (1 if name in ("bias_gelu", "swiglu") else 0)
                is_wrong |= bad
                if bad:
                    print(f"{lib_name} {label}: {entry}: WRONG, {n_wrong} elements differ, worst {worst:.1f} ulp", flush=True)
                if v < 0 or args.entries in entry:
                    cases.append((case, v, f"{lib_name} {entry}"))
        if not cases:
            continue
        case = cases[0][0]
        bytes_of = sum(t.numel() * t.element_size() for t in case.inputs(2, False).values())
        copies = max(1, min(8, 150_000_000 // bytes_of + 1))
        sets = [case.inputs(i, False) for i in range(copies)]
        flops = 2 * extents["M"] * extents["N"] * extents["K"] * extents.get("B", 1)
        n = max(copies, min(100, int(1e-3 / (flops / 6e14)) + 1))
        contenders = [("cublas", graph_of(lambda i: product(name, sets[i % copies]), n), n)]
        for number, (case, v, entry) in enumerate(cases):
            k = case.kernel(v)
            bound = [case.bind(k, s) for s in sets]
            go = lambda i, k=k, bound=bound: k.launch(bound[i % copies][0], bound[i % copies][1].data_ptr(), bound[i % copies][2], torch.cuda.current_stream().cuda_stream)
            contenders.append(((number, v, entry), graph_of(go, n), n))
        times = race(contenders, args.rounds)
        base = times["cublas"]
        print(f"{label}: cublas {base:.2f} us, {flops / base / 1e6:.0f} TFLOPS", flush=True)
        for key, t in times.items():
            if key != "cublas":
                print(f"    {'chosen' if key[1] < 0 else '      '} {key[2]:40} {t:9.2f} us  {base / t:.3f}", flush=True)
                out.write(json.dumps(dict(case=label, dtype=args.dtype, entry=key[2], chosen=key[1] < 0, us=t, cublas=base)) + "\n")
        out.flush()
        del contenders, sets
        torch.cuda.empty_cache()
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
