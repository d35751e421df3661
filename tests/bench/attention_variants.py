"""Variants of attention beside plain causal attention at equal work, decoding beside the rate at which caches are read, and errors beside cuDNN's on data that are hard.

    python3 tests/bench/attention_variants.py [--only SUBSTRING] [--lib FILE] [--rounds N] [--prepare] [--no-flex]

Needs PyTorch and a GPU, and build/libfx.so. Values are compared with float64 first; the L2 cache is flushed ahead of each launch; the median of the rounds, interleaved, is taken.
--prepare fills the disk cache and does nothing else.
"""
import argparse
import pathlib
import statistics
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import libfx

HEAD = "q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E]"
CAUSAL = "idx(T) <= idx(S)"


def variant(name, more, score, mask=CAUSAL):
    """A kernel of softmax(where(mask, score, -inf)) @ v."""
    return f"kernel {name}({HEAD}{more}, scale: f32) -> (y: bf16[B,H,S,E]) with {{ fuse: require }} {{ y = softmax[T](where({mask}, {score}, -inf)) @[T] v }}\n"


SCORE = "(q @[D] k) * scale"
SPECS = {
    "plain": variant("plain", "", SCORE),
    "softcap": variant("softcap", "", "tanh((q @[D] k) * (scale / 30)) * 30"),
    "alibi": variant("alibi", ", slope: f32[H]", SCORE + " + slope * f32(idx(T) - idx(S))"),
    "starts": variant("starts", ", start: i32[B,S]", SCORE, CAUSAL + " && idx(T) >= start"),
    "ids": variant("ids", ", id: i32[B,S], key_id: i32[B,T]", SCORE, CAUSAL + " && id == key_id"),
    "window": variant("window", "", SCORE, CAUSAL + " && idx(S) - idx(T) < 1024"),
    "full": f"kernel full({HEAD}, scale: f32) -> (y: bf16[B,H,S,E]) with {{ fuse: require }} {{ y = softmax[T]({SCORE}) @[T] v }}\n",
    "sink": f"kernel sink({HEAD}, logit: f32[H], scale: f32) -> (y: bf16[B,H,S,E]) with {{ fuse: require }} {{\n"
            f"  s = where({CAUSAL}, {SCORE}, -inf)\n  m = max(max[T](s), logit)\n  e = exp(s - m)\n  y = (e / (sum[T](e) + exp(logit - m))) @[T] v\n}}\n",
    "gate": f"kernel gate({HEAD}, g: bf16[B,H,S,E], scale: f32) -> (y: bf16[B,H,S,E]) with {{ fuse: require }} {{\n"
            f"  y = (softmax[T](where({CAUSAL}, {SCORE}, -inf)) @[T] v) * sigmoid(g)\n}}\n",
    "sigmoids": f"kernel sigmoids({HEAD}, scale: f32) -> (y: bf16[B,H,S,E]) with {{ fuse: require }} {{ y = sigmoid(where({CAUSAL}, {SCORE} - 8, -inf)) @[T] v }}\n",
    "latent": "kernel latent(q: bf16[B,H,D=576], kv: bf16[B,T,D], n: i32[B], scale: f32) -> (y: bf16[B,H,E=512]) with { fuse: require } {\n"
              "  y = softmax[T](where(idx(T) < n, (q @[D] kv) * scale, -inf)) @[T] kv[D: idx(E)]\n}\n",
    "paged": "kernel paged(q: bf16[B,G,R,D], kp: bf16[P,L=64,G,D], vp: bf16[P,L,G,D], table: i32[B,J], n: i32[B], _t: bool[T=64*J], scale: f32) -> (y: bf16[B,G,R,D]) with { fuse: require } {\n"
             "  k = kp[P: table[J: idx(T) // 64], L: idx(T) % 64] ?? 0\n  v = vp[P: table[J: idx(T) // 64], L: idx(T) % 64] ?? 0\n"
             "  y = softmax[T](where(idx(T) < n, (q @[D] k) * scale, -inf)) @[T] v\n}\n",
    "lengths": "kernel lengths(q: bf16[B,G,R,D], k: bf16[B,G,T,D], v: bf16[B,G,T,E], n: i32[B], scale: f32) -> (y: bf16[B,G,R,E]) with { fuse: require } {\n"
               "  y = softmax[T](where(idx(T) < n, (q @[D] k) * scale, -inf)) @[T] v\n}\n",
}
CACHES = {"latent": ("kv",), "paged": ("kp", "vp"), "lengths": ("k", "v")}
BIG = dict(B=4, H=16, S=4096, D=128)
CASES = [("plain", BIG, None), ("softcap", BIG, None), ("alibi", BIG, None), ("ids", BIG, "one"), ("ids", BIG, "four"), ("starts", BIG, "one"), ("starts", BIG, "four"), ("plain", dict(B=16, H=16, S=1024, D=128), None),
         ("sink", BIG, None), ("gate", BIG, None), ("sigmoids", BIG, None),
         ("window", dict(B=1, H=16, S=32768, D=128), None), ("latent", dict(B=32, H=16, T=4096), None), ("latent", dict(B=32, H=128, T=4096), None), ("paged", dict(B=32, G=8, R=4, J=64, D=128, P=2048), None),
         ("paged", dict(B=16, G=8, R=8, J=64, D=128, P=1024), "ragged"), ("paged", dict(B=16, G=8, R=8, J=64, D=128, P=1024), "padded"),
         ("latent", dict(B=32, H=16, T=4096), "ragged"), ("lengths", dict(B=32, G=8, R=8, T=4096, D=128), None), ("lengths", dict(B=32, G=8, R=8, T=4096, D=128), "ragged"),
         ("lengths", dict(B=8, G=4, R=5, T=10000, D=64), None)]
DATA = ("normal", "large logits", "all equal")


def inputs(kernel, name, extents, data):
    a = {}
    for p in kernel.args:
        if p.is_scalar:
            a[p.name] = extents.get("D", 576) ** -0.5
        elif not p.is_input:
            a[p.name] = torch.full(p.shape, float("nan"), device="cuda", dtype=torch.bfloat16)
        elif p.name in ("id", "key_id", "start"):
            step = p.shape[1] if data == "one" else p.shape[1] // 4
            x = torch.arange(p.shape[1], device="cuda") // step * (1 if p.name != "start" else step)
            a[p.name] = x.int().expand(p.shape).contiguous()
        elif p.name == "slope":
            a[p.name] = torch.exp2(-8 * torch.arange(1, p.shape[0] + 1, device="cuda") / p.shape[0]).float()
        elif p.name == "logit":
            a[p.name] = torch.zeros(p.shape, device="cuda")
        elif p.name == "table":
            a[p.name] = torch.randperm(extents["P"], device="cuda")[: p.shape[0] * p.shape[1]].reshape(p.shape).int()
        elif p.name == "n":
            most = extents.get("T", extents.get("J", 0) * 64)
            a[p.name] = torch.full(p.shape, most, device="cuda", dtype=torch.int32) if data not in ("ragged", "padded") else torch.randint(1, most + 1, p.shape, device="cuda", dtype=torch.int32)
        elif p.name == "_t":
            a[p.name] = torch.zeros(p.shape, device="cuda", dtype=torch.bool)
        else:
            x = torch.randn(p.shape, device="cuda")
            a[p.name] = (x * 8 if data == "large logits" and p.name in "qk" else torch.ones_like(x) if data == "all equal" else x).bfloat16()
    if data == "padded":  # a table has no pages beyond a length
        a["table"][torch.arange(a["table"].shape[1], device="cuda") * 64 >= a["n"][:, None]] = -1
    return a


def expected(name, a):
    """The last head in float64, and where it lies in y."""
    scale = a["scale"]
    if name == "latent":
        q, kv = a["q"][-1].double(), a["kv"][-1, :a["n"][-1]].double()
        return torch.softmax(q @ kv.t() * scale, -1) @ kv[:, :512], lambda y: y[-1]
    if name == "paged":
        pages = a["table"][-1].long()
        k, v = (a[n][pages][:, :, -1].flatten(0, 1)[:a["n"][-1]].double() for n in ("kp", "vp"))
        return torch.softmax(a["q"][-1, -1].double() @ k.t() * scale, -1) @ v, lambda y: y[-1, -1]
    if name == "lengths":
        k, v = (a[n][-1, -1, :a["n"][-1]].double() for n in "kv")
        return torch.softmax(a["q"][-1, -1].double() @ k.t() * scale, -1) @ v, lambda y: y[-1, -1]
    q, k, v = (a[n][-1, -1].double() for n in "qkv")
    first = max(0, q.shape[0] - 4096)
    q = q[first:]
    s = q @ k.t() * scale
    m, t = torch.arange(first, first + q.shape[0], device="cuda")[:, None], torch.arange(k.shape[0], device="cuda")[None]
    mask = t <= m if name != "full" else t >= 0
    if name == "softcap":
        s = torch.tanh(s / 30) * 30
    if name == "alibi":
        s = s + a["slope"][-1].double() * (t - m)
    if name == "ids":
        mask = mask & (a["id"][-1][:, None] == a["key_id"][-1][None])
    if name == "starts":
        mask = mask & (t >= a["start"][-1][:, None])
    if name == "window":
        mask = mask & (m - t < 1024)
    s = s.masked_fill(~mask, float("-inf"))
    if name == "sigmoids":
        p = torch.sigmoid(s - 8)
    elif name == "sink":
        p = torch.softmax(torch.cat((s, a["logit"][-1].double().expand(s.shape[0], 1)), 1), -1)[:, :-1]
    else:
        p = torch.softmax(s, -1)
    y = p @ v
    if name == "gate":
        y = y * torch.sigmoid(a["g"][-1, -1].double())
    return y, lambda y: y[-1, -1, first:]


def vendor(a, backend, is_causal=True):
    def go():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(a["q"], a["k"], a["v"], is_causal=is_causal, scale=a["scale"])
    return go


def flex(name, a):
    """FlexAttention, compiled, of the same mask and score."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    n = a["q"].shape[2]
    masks = {"window": lambda b, h, m, t: (t <= m) & (m - t < 1024)}
    if name in ("ids", "starts"):
        of = a["id"] if name == "ids" else a["start"]
        masks[name] = lambda b, h, m, t: (t <= m) & (of[b, m] == of[b, t])
    scores = {"softcap": lambda s, b, h, m, t: torch.tanh(s / 30) * 30}
    if name == "alibi":
        slope = a["slope"]
        scores["alibi"] = lambda s, b, h, m, t: s + slope[h] * (t - m)
    mask = create_block_mask(masks.get(name, lambda b, h, m, t: t <= m), a["q"].shape[0] if name in ("ids", "starts") else None, None, n, n)
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda: compiled(a["q"], a["k"], a["v"], score_mod=scores.get(name), block_mask=mask, scale=a["scale"])


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


class Ours:
    def __init__(self, context, lib, folder, name, extents):
        path = pathlib.Path(folder) / f"{name}.fx"
        path.write_text(SPECS[name])
        self.context, self.name, self.extents = context, name, extents
        given = dict(extents, T=extents.get("T", extents.get("S")), E=extents.get("D"))
        self.kernel = libfx.Kernel(libfx.Spec(lib, path, kernel=name), name, {l: e for l, e in given.items() if e is not None and not (name == "paged" and l in "ET")})
        self.kernel.prepare(context)

    def go(self, a):
        values = self.kernel.values([x.data_ptr() if torch.is_tensor(x) else x for x in (a[p.name] for p in self.kernel.args)])
        n = self.kernel.workspace_bytes(values)
        space = torch.empty(max(1, n), dtype=torch.uint8, device="cuda")
        self.entry = self.kernel.entries(values)[0]
        return lambda: self.kernel.launch(values, space.data_ptr(), n, torch.cuda.current_stream().cuda_stream)


def errors(context, lib, folder, args):
    """Of plain attention, with a causal mask and without: the largest error and the root of the mean square beside cuDNN's."""
    for name in ("plain", "full"):
        for extents in (dict(B=1, H=2, S=4096, D=128), dict(B=1, H=2, S=2048, D=64)):
            ours = Ours(context, lib, folder, name, extents)
            for data in () if args.prepare else DATA:
                torch.manual_seed(1)
                a = inputs(ours.kernel, name, extents, data)
                ours.go(a)()
                want, part = expected(name, a)
                found = {"ours": a["y"], "cudnn": vendor(a, SDPBackend.CUDNN_ATTENTION, name == "plain")(), "flash": vendor(a, SDPBackend.FLASH_ATTENTION, name == "plain")()}
                e = {n: (part(y).double() - want).nan_to_num(nan=1e9) for n, y in found.items()}
                print(f"error {name} {extents} {data}: " + ", ".join(f"{n} {x.abs().max().item():.2e} rms {x.square().mean().sqrt().item():.2e}" for n, x in e.items()), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--lib", default=str(libfx.ROOT / "build/libfx.so"))
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--prepare", action="store_true")
    p.add_argument("--no-flex", action="store_true")
    args = p.parse_args()
    folder = tempfile.mkdtemp()
    lib = libfx.load(args.lib)
    context = libfx.Context(lib)
    if args.only in "errors":
        errors(context, lib, folder, args)
    for name, extents, data in CASES:
        if args.only not in name:
            continue
        ours = Ours(context, lib, folder, name, extents)
        if args.prepare:
            continue
        torch.manual_seed(0)
        a = inputs(ours.kernel, name, extents, data)
        go = ours.go(a)
        go()
        want, part = expected(name, a)
        error = (part(a["y"]).double() - want).abs().nan_to_num(nan=1e9).max().item()
        contenders = {"ours": go}
        if name == "plain":
            contenders["cudnn"], contenders["flash"] = vendor(a, SDPBackend.CUDNN_ATTENTION), vendor(a, SDPBackend.FLASH_ATTENTION)
        elif name == "lengths" and data is None:
            contenders["cudnn"], contenders["flash"] = vendor(a, SDPBackend.CUDNN_ATTENTION, False), vendor(a, SDPBackend.FLASH_ATTENTION, False)
        elif name in ("softcap", "alibi", "ids", "starts", "window") and not args.no_flex:
            try:
                contenders["flex"] = flex(name, a)
                contenders["flex"]()
            except Exception as e:
                contenders.pop("flex", None)
                print(f"{name}: flex: {str(e).splitlines()[0]}")
        times = race(contenders, args.rounds)
        best = min((t for n, t in times.items() if n != "ours"), default=float("nan"))
        read = ""
        if name in CACHES:
            n_bytes = a["n"].sum().item() * 2 * sum(a[n].shape[-1] for n in CACHES[name]) * extents.get("G", 1)
            read = f"; {n_bytes / times['ours'] / 1e6:.2f} TB/s of caches"
        print(f"{name} {extents} {data or ''}: " + ", ".join(f"{n} {t:.1f} us" for n, t in times.items()) + f"; {best / times['ours']:.2f}{read}; error {error:.2e}; {ours.entry}", flush=True)


if __name__ == "__main__":
    main()
