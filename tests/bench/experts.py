"""Linear attention, both of whose factors are computed, and a layer of a mixture of experts, whose rows are gathered, beside eager and compiled PyTorch.

    python3 tests/bench/experts.py [--only SUBSTRING] [--lib FILE] [--rounds N] [--prepare]

Needs PyTorch and a GPU, and build/libfx.so. Extents are compiled in. The last head or expert is compared with float64; the L2 cache is flushed ahead of each launch; the median of the rounds, interleaved, is taken.
--prepare fills the disk cache and does nothing else.
"""
import argparse
import pathlib
import tempfile

import torch
from torch.nn.functional import elu, silu

import libfx
from attention_variants import race

SPEC = """
fn phi(x) = where(x > 0, x + 1, exp(x))
kernel linear(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E]) -> y: bf16[B,H,S,E] {
  a = phi(q)
  b = phi(k)
  y = (a @[D] bf16(b @[T] v)) / (a @[D] sum[T](b))
}
kernel causal(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E]) -> y: bf16[B,H,S,E] {
  p = where(idx(T) <= idx(S), bf16(phi(q)) @[D] bf16(phi(k)), 0)
  y = (p @[T] v) / sum[T](p)
}
kernel experts(x: bf16[M,K], row: i32[X,C], w1: bf16[X,F,K], w3: bf16[X,F,K], w2: bf16[X,K,F]) -> y: bf16[X,C,K] {
  a = x[M: row] ?? 0
  h = bf16(silu(a @[K] w1) * (a @[K] w3))
  y = h @[F] w2
}
"""
HEADS = dict(B=4, H=16, S=4096, T=4096, D=128, E=128)
CASES = [("linear", HEADS), ("linear", dict(HEADS, D=64, E=64)), ("causal", HEADS), ("causal", dict(HEADS, B=16, S=512, T=512)), ("experts", dict(M=8192, X=8, C=2048, K=2048, F=4096)), ("experts", dict(M=64, X=64, C=8, K=2048, F=1024))]


def phi(x):
    return elu(x) + 1


def linear(q, k, v):
    a, b = phi(q), phi(k)
    return (a @ (b.transpose(-1, -2) @ v)) / (a @ b.sum(-2, dtype=torch.float32).to(q.dtype)[..., None])


def causal(q, k, v):
    p = torch.tril(phi(q) @ phi(k).transpose(-1, -2))
    return (p @ v) / p.sum(-1, keepdim=True, dtype=torch.float32).to(q.dtype)


def experts(x, row, w1, w3, w2):
    a = x[row]
    return (silu(a @ w1.transpose(-1, -2)) * (a @ w3.transpose(-1, -2))) @ w2.transpose(-1, -2)


def inputs(kernel, extents):
    a = {}
    for p in kernel.args:
        if not p.is_input:
            a[p.name] = torch.full(p.shape, float("nan"), device="cuda", dtype=torch.bfloat16)
        elif p.name == "row":
            a[p.name] = torch.randint(0, extents["M"], p.shape, device="cuda").int()
        else:
            a[p.name] = (torch.randn(p.shape, device="cuda") * (p.shape[-1] ** -0.5 if p.name[0] == "w" else 1)).bfloat16()
    return a


def expected(name, a):
    """The last head or expert in float64."""
    if name == "experts":
        return experts(a["x"].double(), a["row"][-1], *(a[n][-1].double() for n in ("w1", "w3", "w2"))), lambda y: y[-1]
    q, k, v = (a[n][-1, -1].double() for n in "qkv")
    p = phi(q) @ phi(k).t()
    p = torch.tril(p) if name == "causal" else p
    return (p @ v) / p.sum(-1, keepdim=True), lambda y: y[-1, -1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--prepare", action="store_true")
    args = p.parse_args()
    path = pathlib.Path(tempfile.mkdtemp()) / "experts.fx"
    path.write_text(SPEC)
    lib = libfx.load(args.lib)
    context = libfx.Context(lib)
    for name, extents in CASES:
        if args.only not in name:
            continue
        kernel = libfx.Kernel(libfx.Spec(lib, path, kernel=name, defines=[f"{l}={e}" for l, e in extents.items()]), name, extents)
        kernel.prepare(context)
        if args.prepare:
            continue
        torch.manual_seed(0)
        a = inputs(kernel, extents)
        values = kernel.values([a[q.name].data_ptr() for q in kernel.args])
        n = kernel.workspace_bytes(values)
        space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
        contenders = {"ours": lambda: kernel.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream)}
        contenders["ours"]()
        want, part = expected(name, a)
        error = (part(a["y"]).double() - want).abs().nan_to_num(nan=1e9).max().item()
        given = [a[q.name] for q in kernel.args if q.is_input]
        eager = globals()[name]
        try:
            contenders["eager"] = lambda: eager(*given)
            theirs = (part(eager(*given)).double() - want).abs().nan_to_num(nan=1e9).max().item()
            compiled = torch.compile(eager, dynamic=False)
            contenders["compiled"] = lambda: compiled(*given)
            compiled(*given)
        except RuntimeError as e:
            print(f"{name}: PyTorch: {str(e).splitlines()[0]}")
        times = race(contenders, args.rounds)
        best = min((t for k, t in times.items() if k != "ours"), default=float("nan"))
        print(f"{name} {extents}: " + ", ".join(f"{k} {t:.1f} us" for k, t in times.items()) + f"; {best / times['ours']:.2f}; error {error:.2e}, eager's {theirs:.2e}; {kernel.entries(values)}", flush=True)
        del a, given, space, values
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
