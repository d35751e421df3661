#!/usr/bin/env python3
"""Contractions of f32 beside PyTorch's product of the same shape (cuBLAS), with TF32 off and on; how far both are from float64.

Needs PyTorch and a GPU, and build/libfx.so. Every case is run on small integers first, of which all sums are exact, with every element compared, and timed as gemm16.py does. cuBLAS has no epilogue.

  gemm32.py                    what a launch would take
  gemm32.py --variants         every entry of the last launch
  gemm32.py --errors           the largest and the mean square error over the magnitudes added up, by kind of data, ours and cuBLAS's
  gemm32.py --ends             infinities, NaN, subnormal numbers and those near the ends of the range: where either has what float64 has not
  gemm32.py --precision tf32   with that attribute
  gemm32.py --attributes TEXT  with others: fuse: require
  gemm32.py --free             extents are those of the call, not compiled in
  gemm32.py --with '' --with fuse.halves   one run of the default and of a rule that is off by default, as fxc --with
  gemm32.py --case plain:2048x2112x7168 --lib a.so --lib b.so --only 4096, as gemm16.py
"""
import argparse
import ctypes as c
import pathlib
import sys
import tempfile

import torch

import libfx
from gemm16 import graph_of, parsed, race

SPEC = """
kernel plain(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N]) ATTRIBUTES { y = x @ w }
kernel plain_nk(x: f32[M,K], w: f32[N,K]) -> (y: f32[M,N]) ATTRIBUTES { y = x @[K] w }
kernel bias_gelu(x: f32[M,K], w: f32[K,N], b: f32[N]) -> (y: f32[M,N]) ATTRIBUTES { y = gelu(x @ w + b) }
kernel gated(x: f32[M,K], w: f32[K,N], v: f32[K,N]) -> (y: f32[M,N]) ATTRIBUTES { y = silu(x @ w) * (x @ v) }
"""
CASES = [("plain", dict(M=s, K=s, N=s)) for s in (512, 1024, 2048, 4096)] + [("plain_nk", dict(M=s, K=s, N=s)) for s in (1024, 4096)]
CASES += [("bias_gelu", dict(M=4096, K=4096, N=4096)), ("plain", dict(M=1024, K=8192, N=8192)), ("gated", dict(M=4096, K=4096, N=4096))]


def product(name, a):
    return a["x"] @ (a["w"].t() if name == "plain_nk" else a["w"])


def reference(name, a):
    y = product(name, a)
    if name == "bias_gelu":
        y = y + a["b"]
        y = 0.5 * y * torch.special.erfc(y * -(0.5**0.5))
    return torch.nn.functional.silu(y) * (a["x"] @ a["v"]) if name == "gated" else y


class Case:
    def __init__(self, context, lib, path, name, extents, is_free=False, rules=""):
        self.name, self.context, self.lib = name, context, lib
        self.spec = libfx.Spec(lib, path, kernel=name, defines=[] if is_free else [f"{n}={e}" for n, e in extents.items()], rules=rules)
        self.extents = extents

    def kernel(self, variant=-1):
        k = libfx.Kernel(self.spec, self.name, self.extents)
        k.prepare(self.context)
        if variant >= 0:
            self.context.check(self.lib.fx_pin_variant(k.prepared, k.plan.n_launches - 1, variant))
        return k

    def inputs(self, draw):
        return {a.name: draw(a.shape) if a.is_input else torch.full(a.shape, float("nan"), device="cuda") for a in libfx.Kernel(self.spec, self.name, self.extents).args}

    def bind(self, k, a):
        values = k.values([a[x.name].data_ptr() for x in k.args])
        n = k.workspace_bytes(values)
        return values, torch.empty(max(1, n), dtype=torch.uint8, device="cuda"), n

    def run(self, a, k=None):
        k = k or self.kernel()
        a["y"].fill_(float("nan"))
        values, space, n = self.bind(k, a)
        k.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        return a["y"]


def normal(shape):
    return torch.randn(shape, device="cuda")


def one_large(shape):
    x = torch.randn(shape, device="cuda")
    return x.scatter_(-1, torch.randint(0, shape[-1], (*shape[:-1], 1), device="cuda"), 1e4)


def graded(shape):
    return torch.randn(shape, device="cuda") * torch.exp2(torch.linspace(-12, 12, shape[-1], device="cuda"))


KINDS = [("normal", normal, 4096), ("positive", lambda s: torch.rand(s, device="cuda"), 4096), ("normal", normal, 16384), ("positive", lambda s: torch.rand(s, device="cuda"), 16384),
         ("one large", one_large, 4096), ("graded", graded, 4096), ("constant 0.1", lambda s: torch.full(s, 0.1, device="cuda"), 4096)]


def errors(case_of):
    for kind, draw, k in KINDS:
        case = case_of("plain", dict(M=1024, K=k, N=1024))
        a = case.inputs(draw)
        if kind == "graded":
            a["w"] = a["w"].t().contiguous() if k == 1024 else torch.randn(a["w"].shape, device="cuda") * torch.exp2(torch.linspace(12, -12, k, device="cuda"))[:, None]
        wide = {n: t.double() for n, t in a.items()}
        want, size = product("plain", wide), product("plain", {n: t.abs() for n, t in wide.items()})
        line = []
        for y in (case.run(a), product("plain", a)):
            e = (y.double() - want).abs() / size
            line.append(f"{e.max().item():.1e} {e.square().mean().sqrt().item():.1e}")
        print(f"{kind:14} K={k:<6} ours {line[0]}   cuBLAS {line[1]}   (largest, root of the mean square)", flush=True)


def ends(case_of):
    case = case_of("plain", dict(M=1024, K=1024, N=1024))
    inf, nan = float("inf"), float("nan")
    def with_rows(values):
        def make(a):
            for i, v in enumerate(values):
                a["x"][i * 7 % 1024, i * 131 % 1024] = v
        return make
    def scaled(f, g):
        def make(a):
            a["x"] *= f
            a["w"] *= g
        return make
    def near_most(a):
        a["x"].copy_(torch.where(torch.rand_like(a["x"]) < 0.002, 3.4028234e38 * torch.rand_like(a["x"]).add_(1).div_(2), a["x"] * 1e30))
        a["w"] *= 1e-8
    kinds = [("infinities", with_rows([inf, -inf])), ("NaN", with_rows([nan])), ("largest", with_rows([3.4028234e38, -3.4028234e38])), ("all subnormal", scaled(1e-40, 1.0)),
             ("subnormal by large", scaled(1e-40, 1e38)), ("tiny", scaled(1e-22, 1e-20)), ("near the largest", near_most), ("zeros", scaled(0.0, 1.0)), ("2^-126", scaled(2.0**-126, 2.0**60)),
             ("large by small", scaled(1e37, 1e-37))]
    for kind, make in kinds:
        a = case.inputs(normal)
        make(a)
        wide = {n: t.double() for n, t in a.items()}
        want = product("plain", wide)
        size = product("plain", {n: t.abs() for n, t in wide.items()})
        line = []
        for y in (case.run(a).clone(), product("plain", a)):
            finite = want.isfinite() & (want.abs() + 1e-5 * size < 3.4e38)
            off = (y.double() - want).abs() > 1e-5 * size + 1024 * 2.0**-149
            sort = (y.isnan() != want.isnan()) | ((y == inf) != (want == inf)) | ((y == -inf) != (want == -inf))
            line.append(f"{(finite & (off | ~y.isfinite())).sum().item()} off, {(sort & ~want.isfinite()).sum().item()} of another sort")
        print(f"{kind:20} ours: {line[0]}; cuBLAS: {line[1]}; {(~want.isfinite()).sum().item()} not finite", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--variants", action="store_true")
    p.add_argument("--errors", action="store_true")
    p.add_argument("--ends", action="store_true")
    p.add_argument("--precision", default="")
    p.add_argument("--attributes", default="")
    p.add_argument("--free", action="store_true")
    p.add_argument("--only", default=None)
    p.add_argument("--case", action="append", type=parsed, default=[])
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--lib", action="append")
    p.add_argument("--with", dest="rules", action="append")
    args = p.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    path = pathlib.Path(tempfile.mkdtemp()) / "gemm32.fx"
    attributes = ", ".join([f"precision: {args.precision}"] * bool(args.precision) + [args.attributes] * bool(args.attributes))
    path.write_text(SPEC.replace("ATTRIBUTES", f"with {{ {attributes} }}" if attributes else ""))
    libs = []
    for at in args.lib or [str(libfx.ROOT / "build/libfx.so")]:
        lib = libfx.load(at)
        lib.fx_pin_variant.argtypes = [c.c_void_p, c.c_int, c.c_int]
        context = libfx.Context(lib)
        libs += [(" ".join([pathlib.Path(at).stem] * bool(args.lib) + [rules] * bool(rules)), lib, context, rules) for rules in args.rules or [""]]
    if args.errors or args.ends:
        torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
        for lib_name, lib, context, rules in libs:
            print(lib_name, flush=True)
            case_of = lambda name, extents: Case(context, lib, path, name, extents, args.free, rules)
            errors(case_of) if args.errors else ends(case_of)
        return 0
    is_wrong = False
    listed = CASES if args.only is not None or not args.case else []
    for name, extents in listed + args.case:
        label = name + " " + " ".join(f"{n}={e}" for n, e in extents.items())
        if (name, extents) in listed and args.only and args.only not in label:
            continue
        runs = []
        for lib_name, lib, context, rules in libs:
            case = Case(context, lib, path, name, extents, args.free, rules)
            k = case.kernel()
            n_variants = k.plan.launches[k.plan.n_launches - 1].n_variants if args.variants else 0
            a = case.inputs(lambda shape: torch.randint(-2, 3, shape, device="cuda").float())
            want = reference(name, {n: t.double() for n, t in a.items()})
            for v in range(-1, n_variants):
                k = case.kernel(v)
                try:
                    y = case.run(a, k)
                except libfx.Failure as e:
                    if "does not take these arguments" in str(e):
                        continue
                    raise
                n_wrong = ((y.double() - want).abs() > (1e-5 * want.abs() + 1e-6 if name in ("bias_gelu", "gated") else 0)).sum().item() + (y != y).sum().item()
                entry = " ".join(e.replace("fx_" + name, "") for e in k.entries(case.bind(k, a)[0]))
                is_wrong |= n_wrong > 0
                if n_wrong:
                    print(f"{lib_name} {label}: {entry}: WRONG, {n_wrong} elements", flush=True)
                runs.append((case, k, v, f"{lib_name} {entry}"))
        sets = [runs[0][0].inputs(normal) for _ in range(max(1, min(8, 150_000_000 // sum(4 * t.numel() for t in a.values()) + 1)))]
        flops = 2 * extents["M"] * extents["N"] * extents["K"]
        n = max(len(sets), min(100, int(1e-3 / (flops / 1e14)) + 1))
        contenders, kept = [], []  # kept: workspaces, as long as graphs may be replayed
        for is_tf32 in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = is_tf32
            contenders.append((is_tf32, graph_of(lambda i: product(name, sets[i % len(sets)]), n), n))
        torch.backends.cuda.matmul.allow_tf32 = False
        for number, (case, k, v, entry) in enumerate(runs):
            bound = [case.bind(k, s) for s in sets]
            kept.append(bound)
            go = lambda i, k=k, bound=bound: k.launch(bound[i % len(sets)][0], bound[i % len(sets)][1].data_ptr(), bound[i % len(sets)][2], torch.cuda.current_stream().cuda_stream)
            contenders.append(((number, v, entry), graph_of(go, n), n))
        times = race(contenders, args.rounds)
        print(f"{label}: cuBLAS FP32 {times[False]:.2f} us, TF32 {times[True]:.2f} us", flush=True)
        for key, t in times.items():
            if not isinstance(key, bool):
                print(f"    {'chosen' if key[1] < 0 else '      '} {key[2]:60} {t:9.2f} us  {times[False] / t:.3f} of FP32  {times[True] / t:.3f} of TF32", flush=True)
        del contenders, kept, sets
        torch.cuda.empty_cache()
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
