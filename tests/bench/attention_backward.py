"""Gradients of an attention by q, k and v, those of `grad` beside cuDNN's and FlashAttention's, all of which read what their forwards have saved.

    python3 tests/bench/attention_backward.py [--lib FILE] [--rounds N] [--anew]

Needs PyTorch and a GPU, and build/libfx.so. The last head is compared with float64; the L2 cache is flushed ahead of each launch; the median of the rounds, interleaved, is taken.
"""
import argparse
import pathlib
import statistics
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import libfx

SPEC = """
kernel causal(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,S,E], l: f32[B,H,S]) {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel causal_bwd = grad(causal, wrt: q, k, v, saved: y, l)
kernel full(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,S,E], l: f32[B,H,S]) {
  s = (q @ k) * scale
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel full_bwd = grad(full, wrt: q, k, v, saved: y, l)
kernel causal_anew = grad(causal, wrt: q, k, v)
kernel full_anew = grad(full, wrt: q, k, v)
"""
CASES = [dict(B=4, H=16, S=4096, D=128), dict(B=4, H=32, S=2048, D=64)]


def expected(a, is_causal):
    """The gradients of the last head, in float64."""
    q, k, v, dy = (a[n][-1, -1].double() for n in ("q", "k", "v", "dy"))
    s = (q @ k.t()) * a["scale"]
    if is_causal:
        s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
    p = torch.softmax(s, -1)
    ds = p * (dy @ v.t() - (dy * (p @ v)).sum(-1, keepdim=True)) * a["scale"]
    return dict(dq=ds @ k, dk=ds.t() @ q, dv=p.t() @ dy)


def stored(a, is_causal):
    """What the forward stores beside: y, and the logarithms of the rows' sums, a head at a time."""
    y, l = torch.empty_like(a["q"]), torch.empty(a["q"].shape[:3], device="cuda")
    for b in range(y.shape[0]):
        for h in range(y.shape[1]):
            s = (a["q"][b, h].float() @ a["k"][b, h].float().t()) * a["scale"]
            if is_causal:
                s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
            l[b, h] = torch.logsumexp(s, -1)
            y[b, h] = (torch.softmax(s, -1) @ a["v"][b, h].float()).bfloat16()
    return dict(y=y, l=l, dl=torch.zeros_like(l))


def ours(context, lib, path, name, extents, a):
    """A function that launches it, its entries, and where its results are."""
    kernel = libfx.Kernel(libfx.Spec(lib, path, kernel=name), name, extents)
    kernel.prepare(context)
    results = {p.name: torch.full(p.shape, float("nan"), device="cuda", dtype=torch.bfloat16) for p in kernel.args if not p.is_input}
    values = kernel.values([x.data_ptr() if torch.is_tensor(x) else x for x in (dict(a, **results)[p.name] for p in kernel.args)])
    n = kernel.workspace_bytes(values)
    space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
    return lambda: kernel.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream), kernel.entries(values), results


def theirs(a, backend, is_causal):
    inputs = [a[n].clone().requires_grad_() for n in ("q", "k", "v")]
    with sdpa_kernel(backend):
        y = scaled_dot_product_attention(*inputs, is_causal=is_causal, scale=a["scale"])
    return lambda: torch.autograd.grad(y, inputs, a["dy"], retain_graph=True)


def race(contenders, rounds):
    flush = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    times = {name: [] for name in contenders}
    for i in range(rounds + 2):
        for name, go in contenders.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            begin.record()
            go()
            end.record()
            torch.cuda.synchronize()
            if i >= 2:
                times[name].append(begin.elapsed_time(end) * 1e3)
    return {name: statistics.median(t) for name, t in times.items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--rounds", type=int, default=11)
    p.add_argument("--anew", action="store_true", help="also gradients that compute anew what the forward could have saved")
    args = p.parse_args()
    path = pathlib.Path(tempfile.mkdtemp()) / "backward.fx"
    path.write_text(SPEC)
    lib = libfx.load(args.lib)
    context = libfx.Context(lib)
    for case in CASES:
        extents = dict(case, T=case["S"], E=case["D"])
        torch.manual_seed(0)
        shape = [case[n] for n in "BHSD"]
        a = {n: torch.randn(shape, device="cuda", dtype=torch.bfloat16) for n in ("q", "k", "v", "dy")}
        a["scale"] = case["D"] ** -0.5
        for name in ("causal_bwd", "full_bwd") + (("causal_anew", "full_anew") if args.anew else ()):
            is_causal = name.startswith("causal")
            a.update(stored(a, is_causal))
            want = expected(a, is_causal)
            go, entries, results = ours(context, lib, path, name, extents, a)
            go()
            torch.cuda.synchronize()
            worst = {n: (x[-1, -1].double() - want[n]).abs().nan_to_num(nan=1e9).max().item() for n, x in results.items()}
            contenders = {"ours": go, "cudnn": theirs(a, SDPBackend.CUDNN_ATTENTION, is_causal), "flash": theirs(a, SDPBackend.FLASH_ATTENTION, is_causal)}
            times = race(contenders, args.rounds)
            best = min(times["cudnn"], times["flash"])
            print(f"{name} {case}: " + ", ".join(f"{n} {t:.1f} us" for n, t in times.items()) + f"; {best / times['ours']:.2f}; errors {worst}; {entries}", flush=True)


if __name__ == "__main__":
    main()
