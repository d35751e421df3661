#!/usr/bin/env python3
"""Convolutions of 16-bit floats beside PyTorch's of the same shape and order (cuDNN, the fastest of its algorithms): with channels last, and, named `first`, as PyTorch has them by itself.

Needs PyTorch and a GPU, and build/libfx.so. First every entry that takes the arguments is run on small integers, of which all sums are exact, and every element compared. Then all
are timed as gemm16.py times them.

  conv16.py                    what a launch would take
  conv16.py --variants         every entry
  conv16.py --only stepped     cases whose name contains that
  conv16.py --fixed            compiled for the extents of each case

Output: a line a case and entry: microseconds, and cuDNN's time over it. Exit 1 when an element was wrong.
"""
import argparse
import ctypes as c
import json
import os
import pathlib
import sys
import tempfile

import torch

import libfx
from gemm16 import graph_of, race

SPEC = """
kernel same[U=3,V=3](x: T[B,H,W,C], k: T[O,U,V,C]) -> (y: T[B,H,W,O]) { y = sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel biased[U=3,V=3](x: T[B,H,W,C], k: T[O,U,V,C], b: T[O]) -> (y: T[B,H,W,O]) { y = relu(sum[U,V,C]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) + b) }
kernel stepped[U=3,V=3](x: T[B,H,W,C], k: T[O,U,V,C]) -> (y: T[B,P=(H+1)//2,Q=(W+1)//2,O]) {
  y = sum[U,V,C]((x[H: 2*idx(P) + idx(U) - 1, W: 2*idx(Q) + idx(V) - 1] ?? 0) * k)
}
kernel inside[U=3,V=3](x: T[B,H=P+U-1,W=Q+V-1,C], k: T[O,U,V,C]) -> (y: T[B,P,Q,O]) { y = sum[U,V,C](x[H: P+U, W: Q+V] * k) }
kernel line[V=5](x: T[B,W,C], k: T[O,V,C]) -> (y: T[B,W,O]) { y = sum[V,C]((x[W: idx(W) + idx(V) - 2] ?? 0) * k) }
kernel first_same[U=3,V=3](x: T[B,C,H,W], k: T[O,C,U,V]) -> (y: T[B,O,H,W]) { y = sum[C,U,V]((x[H: idx(H) + idx(U) - 1, W: idx(W) + idx(V) - 1] ?? 0) * k) }
kernel first_stepped[U=3,V=3](x: T[B,C,H,W], k: T[O,C,U,V]) -> (y: T[B,O,P=(H+1)//2,Q=(W+1)//2]) {
  y = sum[C,U,V]((x[H: 2*idx(P) + idx(U) - 1, W: 2*idx(Q) + idx(V) - 1] ?? 0) * k)
}
kernel first_stem[U=7,V=7](x: T[B,C,H,W], k: T[O,C,U,V]) -> (y: T[B,O,P=(H+1)//2,Q=(W+1)//2]) {
  y = sum[C,U,V]((x[H: 2*idx(P) + idx(U) - 3, W: 2*idx(Q) + idx(V) - 3] ?? 0) * k)
}
kernel first_one(x: T[B,C,H,W], k: T[O,C]) -> (y: T[B,O,H,W]) { y = sum[C](x * k) }
kernel first_sparse(x: T[B,C,H,W], k: T[O,C]) -> (y: T[B,O,P=(H+1)//2,Q=(W+1)//2]) { y = sum[C](x[H: 2*idx(P), W: 2*idx(Q)] * k) }
kernel first_patch[U=16,V=16](x: T[B,C,H=16*P,W=16*Q], k: T[O,C,U,V]) -> (y: T[B,O,P,Q]) { y = sum[C,U,V](x[H: 16*idx(P) + idx(U), W: 16*idx(Q) + idx(V)] * k) }
kernel first_line[V=5](x: T[B,C,W], k: T[O,C,V]) -> (y: T[B,O,W]) { y = sum[C,V]((x[W: idx(W) + idx(V) - 2] ?? 0) * k) }
"""
CASES = [("same", dict(B=16, H=64, W=64, C=128, O=128)), ("same", dict(B=32, H=56, W=56, C=64, O=64)), ("same", dict(B=32, H=14, W=14, C=256, O=256)),
         ("same", dict(B=32, H=7, W=7, C=512, O=512)), ("same", dict(B=32, H=112, W=112, C=32, O=32)), ("biased", dict(B=32, H=28, W=28, C=128, O=128)),
         ("stepped", dict(B=32, H=28, W=28, C=128, O=256)), ("stepped", dict(B=32, H=56, W=56, C=64, O=128)), ("inside", dict(B=32, P=14, Q=14, C=256, O=256)),
         ("inside", dict(B=16, P=64, Q=64, C=128, O=128)), ("line", dict(B=32, W=4096, C=256, O=256))]
CASES += [("first_same", dict(B=32, C=64, H=56, W=56, O=64)), ("first_same", dict(B=32, C=128, H=28, W=28, O=128)), ("first_same", dict(B=32, C=256, H=14, W=14, O=256)),
          ("first_same", dict(B=32, C=512, H=7, W=7, O=512)), ("first_same", dict(B=16, C=128, H=64, W=64, O=128)), ("first_same", dict(B=1, C=256, H=64, W=64, O=256)),
          ("first_stepped", dict(B=32, C=64, H=56, W=56, O=128)), ("first_stepped", dict(B=32, C=256, H=14, W=14, O=512)), ("first_one", dict(B=32, C=64, H=56, W=56, O=256)),
          ("first_one", dict(B=32, C=256, H=28, W=28, O=512)), ("first_one", dict(B=32, C=1024, H=14, W=14, O=256)), ("first_one", dict(B=32, C=512, H=7, W=7, O=2048)), ("first_sparse", dict(B=32, C=256, H=56, W=56, O=512)),
          ("first_stem", dict(B=32, C=3, H=224, W=224, O=64)), ("first_same", dict(B=32, C=3, H=224, W=224, O=64)), ("first_patch", dict(B=64, C=3, P=14, Q=14, O=768)), ("first_line", dict(B=32, C=256, W=4096, O=256))]


STEPS = dict(stepped=2, stem=2, sparse=2, patch=16)
PADS = dict(inside=0, line=2, stem=3, one=0, sparse=0, patch=0)


def step_and_pad(name):
    kind = name.removeprefix("first_")
    return STEPS.get(kind, 1), PADS.get(kind, 1)


def planes(name, a):
    """Images and weights as PyTorch's convolution of planes takes them: of a line with one row."""
    x, k = a["x"], a["k"]
    if k.dim() == 2:
        k = k[:, :, None, None]
    if name.endswith("line"):
        at = 2 if name.startswith("first") else 1
        x, k = x.unsqueeze(at), k.unsqueeze(at)
    return (x, k) if name.startswith("first") else (x.permute(0, 3, 1, 2), k.permute(0, 3, 1, 2))


def convolve(name, a):
    """What cuDNN is asked for."""
    step, pad = step_and_pad(name)
    x, k = planes(name, a)
    return torch.nn.functional.conv2d(x, k, a.get("b"), stride=step, padding=(0, pad) if name.endswith("line") else pad)


def reference(name, a):
    """Of integers: a product for each element of the window."""
    step, pad = step_and_pad(name)
    x, k = (t.float().permute(0, 2, 3, 1) for t in planes(name, a))
    high = pad if k.shape[1] > 1 else 0
    x = torch.nn.functional.pad(x, (0, 0, pad, pad, high, high))
    p, q = (x.shape[1] - k.shape[1]) // step + 1, (x.shape[2] - k.shape[2]) // step + 1
    y = sum(x[:, u : u + step * (p - 1) + 1 : step, v : v + step * (q - 1) + 1 : step] @ k[:, u, v].t() for u in range(k.shape[1]) for v in range(k.shape[2]))
    if name == "biased":
        y = torch.relu(y + a["b"].float())
    if name.startswith("first"):
        y = y.permute(0, 3, 1, 2)
        return (y.squeeze(2) if name.endswith("line") else y).contiguous()
    return y.squeeze(1) if name == "line" else y


def inputs(kernel, seed, is_exact, dtype):
    g = torch.Generator(device="cuda").manual_seed(seed)
    out = {}
    for a in kernel.args:
        if not a.is_input:
            out[a.name] = torch.full(a.shape, float("nan"), device="cuda", dtype=dtype)
        elif is_exact:
            out[a.name] = torch.randint(-1, 2, a.shape, device="cuda", generator=g).to(dtype)
        else:
            out[a.name] = torch.randn(a.shape, device="cuda", generator=g).to(dtype)
    return out


def bind(k, tensors):
    values = k.values([tensors[a.name].data_ptr() for a in k.args])
    n = k.workspace_bytes(values)
    space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
    return values, space, n


def launch(k, bound):
    k.launch(bound[0], bound[1].data_ptr(), bound[2], torch.cuda.current_stream().cuda_stream)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--variants", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--dtype", default="bf16")
    p.add_argument("--rounds", type=int, default=25)
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    args = p.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    dtype = dict(bf16=torch.bfloat16, f16=torch.float16)[args.dtype]
    path = pathlib.Path(tempfile.mkdtemp()) / "conv16.fx"
    path.write_text(SPEC.replace("T[", args.dtype + "["))
    lib = libfx.load(args.lib)
    lib.fx_pin_variant.argtypes = [c.c_void_p, c.c_int, c.c_int]
    context = libfx.Context(lib)
    out = open(pathlib.Path(os.environ.get("OUT", ".")) / "conv16.jsonl", "a")
    is_wrong = False
    for name, extents in CASES:
        label = name + " " + " ".join(f"{l}={e}" for l, e in extents.items())
        if args.only not in label:
            continue
        spec = libfx.Spec(lib, path, kernel=name, defines=[f"{l}={e}" for l, e in extents.items()] if args.fixed else ())
        plain = libfx.Kernel(spec, name, extents)
        n_variants = plain.plan.launches[0].n_variants if args.variants and plain.plan.n_launches == 1 else 0
        a, kernels = inputs(plain, 1, True, dtype), []
        want = reference(name, a).to(dtype)
        for v in range(-1, n_variants):
            k = libfx.Kernel(spec, name, extents)
            k.prepare(context)
            if v >= 0:
                context.check(lib.fx_pin_variant(k.prepared, 0, v))
            a["y"].fill_(float("nan"))
            try:
                bound = bind(k, a)
                entry = k.entries(bound[0])[0]
                launch(k, bound)
                torch.cuda.synchronize()
            except libfx.Failure as e:
                if "does not take these arguments" in str(e):
                    continue
                raise
            n_wrong = (a["y"] != want).sum().item()
            if n_wrong:
                is_wrong = True
                print(f"{label}: {entry}: WRONG, {n_wrong} of {want.numel()} elements differ", flush=True)
            kernels.append((v, entry, k))
        sets = [inputs(plain, i, False, dtype) for i in range(max(1, min(8, 150_000_000 // sum(t.numel() * t.element_size() for t in a.values()) + 1)))]
        copies, flops = len(sets), 2 * want.numel() * a["k"][0].numel()
        n = max(copies, min(100, int(1e-3 / (flops / 6e14)) + 1))
        contenders = [("cudnn", graph_of(lambda i: convolve(name, sets[i % copies]), n), n)]
        for v, entry, k in kernels:
            bounds = [bind(k, s) for s in sets]
            contenders.append(((v, entry), graph_of(lambda i, k=k, bounds=bounds: launch(k, bounds[i % copies]), n), n))
        times = race(contenders, args.rounds)
        base = times["cudnn"]
        print(f"{label}: cudnn {base:.2f} us, {flops / base / 1e6:.0f} TFLOPS", flush=True)
        for key, t in times.items():
            if key != "cudnn":
                print(f"    {'chosen' if key[0] < 0 else '      '} {key[1]:40} {t:9.2f} us  {flops / t / 1e6:.0f} TFLOPS  {base / t:.3f}", flush=True)
                out.write(json.dumps(dict(case=label, dtype=args.dtype, entry=key[1], chosen=key[0] < 0, us=t, cudnn=base)) + "\n")
        out.flush()
        del contenders, sets, kernels, a, want
        torch.cuda.empty_cache()
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
