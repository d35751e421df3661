"""Attention, each kernel beside what PyTorch has for it, cuDNN's and FlashAttention's; windows beside FlexAttention, compiled, with --flex.

    python3 tests/bench/attention.py [--short] [--fixed] [--only SUBSTRING] [--lib FILE ...] [--dtype f16] [--rounds N] [--flex] [--prepare]

Needs PyTorch and a GPU, and build/libfx.so. Some heads of every case are first compared with float64, ours and theirs; then all are timed as CUDA graphs whose operands are rotated
through more than the L2 cache, interleaved in random order; the median of the rounds is taken. --short takes the sequences of vision models, which are no multiple of a tile; --fixed compiles extents in. --prepare fills the disk cache and does nothing else.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

import libfx
from gemm16 import graph_of, race

MASK = "where(idx(T) <= idx(S), (q @[D] k) * scale, -inf)"
WINDOW = 1024
SPEC = f"""
kernel full(q: X[B,H,S,D], k: X[B,H,T,D], v: X[B,H,T,E], scale: f32) -> (y: X[B,H,S,E]) with {{ fuse: require }} {{ y = softmax[T]((q @[D] k) * scale) @[T] v }}
kernel causal(q: X[B,H,S,D], k: X[B,H,T,D], v: X[B,H,T,E], scale: f32) -> (y: X[B,H,S,E]) with {{ fuse: require }} {{ y = softmax[T]({MASK}) @[T] v }}
kernel grouped(q: X[B,H,R,S,D], k: X[B,H,T,D], v: X[B,H,T,E], scale: f32) -> (y: X[B,H,R,S,E]) with {{ fuse: require }} {{ y = softmax[T]({MASK}) @[T] v }}
kernel biased(q: X[B,H,S,D], k: X[B,H,T,D], v: X[B,H,T,E], b: X[H,S,T], scale: f32) -> (y: X[B,H,S,E]) with {{ fuse: require }} {{ y = softmax[T]((q @[D] k) * scale + b) @[T] v }}
kernel window(q: X[B,H,S,D], k: X[B,H,T,D], v: X[B,H,T,E], scale: f32) -> (y: X[B,H,S,E]) with {{ fuse: require }} {{
  y = softmax[T](where(idx(T) <= idx(S) && idx(S) - idx(T) < {WINDOW}, (q @[D] k) * scale, -inf)) @[T] v
}}
"""
CASES = [("full", dict(B=4, H=16, S=4096, D=128)), ("causal", dict(B=4, H=16, S=4096, D=128)), ("causal", dict(B=4, H=32, S=2048, D=64)),
         ("grouped", dict(B=1, H=8, R=4, S=4096, D=128)), ("causal", dict(B=1, H=16, S=16384, D=128)), ("full", dict(B=4, H=32, S=2048, D=64)),
         ("causal", dict(B=2, H=8, S=4096, D=256)), ("window", dict(B=1, H=16, S=16384, D=128)), ("full", dict(B=16, H=8, S=4, T=8192, D=128)), ("full", dict(B=1, H=8, S=4, T=32768, D=128)), ("full", dict(B=1, H=8, S=1, T=8192, D=128)),
         ("full", dict(B=8, H=8, S=8, T=4096, D=64)), ("full", dict(B=4, H=8, S=16, T=2048, D=256)), ("full", dict(B=1, H=2, S=1000, D=128)), ("causal", dict(B=1, H=3, S=1337, D=64))]

# ViT-B/16, ViT-H/14, DINO at 384, CLIP's text, Swin's windows of 7 x 7 and of 8 x 8, patches of 32, cross attention over 77 tokens, heads of 40
SHORT = [("full", dict(B=64, H=12, S=197, D=64)), ("full", dict(B=64, H=16, S=257, D=80)), ("full", dict(B=32, H=12, S=577, D=64)), ("full", dict(B=64, H=12, S=50, D=64)),
         ("causal", dict(B=256, H=8, S=77, D=64)), ("full", dict(B=64, H=16, S=256, D=64)), ("biased", dict(B=2048, H=3, S=49, D=32)), ("biased", dict(B=2048, H=4, S=64, D=32)), ("biased", dict(B=64, H=12, S=197, D=64)),
         ("full", dict(B=64, H=16, S=197, D=128)), ("causal", dict(B=64, H=16, S=200, D=128)), ("full", dict(B=4, H=8, S=4096, D=40)), ("full", dict(B=8, H=8, S=1024, D=80))]


def theirs(name, a, backend):
    """PyTorch's, by one of its backends."""
    q, k, v = a["q"], a["k"], a["v"]
    if name == "grouped":
        q, k, v = q.flatten(1, 2), k.repeat_interleave(a["q"].shape[2], 1), v.repeat_interleave(a["q"].shape[2], 1)
    if name == "window":
        return backend(q, k, v, a["scale"])
    if backend is None:
        return torch.softmax((q @ k.transpose(-1, -2)) * a["scale"], -1) @ v
    with torch.nn.attention.sdpa_kernel(backend):
        if name == "biased":
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=a["b"][None].expand(q.shape[0], -1, -1, -1), scale=a["scale"])
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=name != "full", scale=a["scale"])


def worst(name, a, y):
    """The largest error of some heads, and the root of the mean square, against float64."""
    most, squares, n = 0.0, 0.0, 0
    q, k, v = a["q"], a["k"], a["v"]
    if name == "grouped":
        q, k, v, y = q.flatten(1, 2), k.repeat_interleave(q.shape[2], 1), v.repeat_interleave(q.shape[2], 1), y.reshape(q.flatten(1, 2).shape[:3] + (v.shape[-1],))
    for b, h in {(0, 0), (q.shape[0] - 1, q.shape[1] - 1)}:
        for first in range(0, q.shape[2], 2048):
            rows = slice(first, first + 2048)
            s = q[b, h, rows].double() @ k[b, h].double().t() * a["scale"]
            if name == "biased":
                s += a["b"][h, rows].double()
            elif name != "full":
                t, m = torch.arange(k.shape[2], device="cuda")[None], torch.arange(first, first + s.shape[0], device="cuda")[:, None]
                s.masked_fill_((t > m) | (m - t >= WINDOW) if name == "window" else t > m, float("-inf"))
            e = (torch.softmax(s, -1) @ v[b, h].double() - y[b, h, rows].double()).abs().nan_to_num(nan=1e9)
            most, squares, n = max(most, e.max().item()), squares + (e * e).sum().item(), n + e.numel()
    return most, (squares / n) ** 0.5


def flex(extents):
    """FlexAttention over the window, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    mask = create_block_mask(lambda b, h, m, t: (t <= m) & (m - t < WINDOW), None, None, extents["S"], extents["S"])
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v, scale: compiled(q, k, v, block_mask=mask, scale=scale)


class Case:
    def __init__(self, context, lib, path, name, extents, is_fixed=False):
        self.context, self.name = context, name
        extents = dict(extents, T=extents.get("T", extents["S"]), E=extents["D"])
        self.spec = libfx.Spec(lib, path, kernel=name, defines=[f"{l}={e}" for l, e in extents.items()] if is_fixed else ())
        self.kernel = libfx.Kernel(self.spec, name, extents)
        self.kernel.prepare(context)

    def inputs(self, seed, dtype):
        g = torch.Generator(device="cuda").manual_seed(seed)
        out = {}
        for a in self.kernel.args:
            if a.is_scalar:
                out[a.name] = self.kernel.extents[self.kernel.labels.index("D")] ** -0.5
            elif a.is_input:
                out[a.name] = torch.randn(a.shape, device="cuda", generator=g).to(dtype)
            else:
                out[a.name] = torch.full(a.shape, float("nan"), device="cuda", dtype=dtype)
        return out

    def go(self, a):
        """A function that launches it on these arguments."""
        values = self.kernel.values([x.data_ptr() if torch.is_tensor(x) else x for x in (a[p.name] for p in self.kernel.args)])
        n = self.kernel.workspace_bytes(values)
        space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
        self.entry = self.kernel.entries(values)[0]
        return lambda: self.kernel.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--lib", action="append")
    p.add_argument("--dtype", default="bf16")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--flex", action="store_true")
    p.add_argument("--prepare", action="store_true")
    p.add_argument("--short", action="store_true")
    p.add_argument("--fixed", action="store_true")
    args = p.parse_args()
    dtype = dict(bf16=torch.bfloat16, f16=torch.float16)[args.dtype]
    path = pathlib.Path(tempfile.mkdtemp()) / "attention.fx"
    path.write_text(SPEC.replace("X[", args.dtype + "["))
    libs = [(pathlib.Path(at).stem, libfx.load(at)) for at in args.lib or [str(libfx.ROOT / "build/libfx.so")]]
    libs = [(name, lib, libfx.Context(lib)) for name, lib in libs]
    vendors = dict(cudnn=torch.nn.attention.SDPBackend.CUDNN_ATTENTION, flash=torch.nn.attention.SDPBackend.FLASH_ATTENTION)
    is_wrong = False
    for name, extents in SHORT if args.short else CASES:
        label = name + " " + " ".join(f"{l}={e}" for l, e in extents.items())
        if args.only not in label:
            continue
        contenders, errors, sets, wide, copies = [], {}, None, None, 1
        heads = extents["B"] * extents["H"] * extents.get("R", 1)
        pairs = extents["S"] * WINDOW - WINDOW ** 2 / 2 if name == "window" else extents["S"] * extents.get("T", extents["S"]) / (1 if name in ("full", "biased") else 2)
        flops = 4 * heads * pairs * extents["D"]
        for lib_name, lib, context in libs:
            case = Case(context, lib, path, name, extents, args.fixed)
            if args.prepare:
                continue
            if sets is None:
                bytes_of = sum(t.numel() * t.element_size() for t in case.inputs(2, dtype).values() if torch.is_tensor(t))
                copies = max(1, min(8, 150_000_000 // bytes_of + 1))
                sets = [case.inputs(i, dtype) for i in range(copies)]
                n = max(copies, min(100, int(1e-3 / max(flops / 5e14, bytes_of / 3e12)) + 1))
            goes = [case.go(a) for a in sets]
            sets[0]["y"].fill_(float("nan"))
            goes[0]()
            torch.cuda.synchronize()
            key = f"{lib_name} {case.entry}"
            errors[key] = worst(name, sets[0], sets[0]["y"])
            contenders.append((key, graph_of(lambda i, goes=goes: goes[i % copies](), n), n))
        if args.prepare:
            continue
        if "T" in extents:  # of few rows: by kernels of its own, too
            vendors["eager"] = None
        else:
            vendors.pop("eager", None)
        if name == "biased":  # FlashAttention takes none
            vendors["efficient"] = torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION
        else:
            vendors.pop("efficient", None)
        backends = vendors if name != "window" else dict(flex=flex(extents)) if args.flex else {}
        for key, backend in backends.items():
            try:
                errors[key] = worst(name, sets[0], theirs(name, sets[0], backend))
                if name == "grouped":  # repeated outside of what is timed
                    wide = wide or [dict(a, q=a["q"].flatten(1, 2), k=a["k"].repeat_interleave(a["q"].shape[2], 1), v=a["v"].repeat_interleave(a["q"].shape[2], 1)) for a in sets]
                    contenders.append((key, graph_of(lambda i, backend=backend, wide=wide: theirs("causal", wide[i % copies], backend), n), n))
                else:
                    contenders.append((key, graph_of(lambda i, backend=backend: theirs(name, sets[i % copies], backend), n), n))
            except RuntimeError as e:
                print(f"{label}: {key}: {str(e).splitlines()[0]}")
        times = race(contenders, args.rounds)
        best = min((times[k] for k in backends if k in times), default=float("nan"))
        print(label, flush=True)
        for key, t in times.items():
            is_wrong |= not errors[key][0] < 0.05
            print(f"    {key:60} {t:9.2f} us  {flops / t / 1e6:6.0f} TFLOPS  {bytes_of / t / 1e3:6.0f} GB/s  {best / t:.3f}  error {errors[key][0]:.2e}, rms {errors[key][1]:.2e}", flush=True)
        del contenders, sets, wide
        torch.cuda.empty_cache()
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
