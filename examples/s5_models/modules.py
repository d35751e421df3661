"""Kernels in modules of PyTorch: the linear layers of a GPT-2-sized MLP block, a LoRA layer, and the norm and gated unit of a Llama block, each a real nn.Module beside the
same one of torch.nn, equal in value, trained ten steps with equal losses.

usage: python3 modules.py [LIBFX_SO]

Prints for each how far the values are from float64, for both, the losses of both, and times of the forward pass and of a training step. Exit 0 where values and losses agree, 1 where
not, 77 without PyTorch or a GPU (said on stderr).
"""
import copy
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
if sys.argv[1:]:
    os.environ["FX_LIBRARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, os.environ.get("FX_PACKAGE", str(ROOT / "runtime/python")))
try:
    import torch
except ImportError:
    print("modules: there is no PyTorch", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("modules: there is no GPU", file=sys.stderr)
    sys.exit(77)
import fx
import fx.torch
from torch import nn
from torch.nn import functional as F

m = fx.compile("""
# Weights as GPT-2 stores them, [in, out]. What training reads again is an output, which the forward pass alone does without.
kernel gpt2_in(x: f32[T,E], w: f32[E,H], b: f32[H]) -> y: f32[T,H] { y = gelu_tanh(x @ w + b) }
kernel gpt2_in_kept(x: f32[T,E], w: f32[E,H], b: f32[H]) -> (y: f32[T,H], h: f32[T,H]) { h = x @ w + b; y = gelu_tanh(h) }
kernel gpt2_out(h: f32[T,H], w: f32[H,E], b: f32[E]) -> y: f32[T,E] { y = h @ w + b }

# W stays as it is; A and B are trained. Weights as torch.nn.Linear stores them, [out, in].
kernel lora(x: f32[T,K], w: f32[N,K], b: f32[N], a: f32[R,K], p: f32[N,R], s: f32 = 2.0) -> y: f32[T,N] { y = x @ w + b + s * (x @ a @ p) }

# The norm, the gate and what it opens; the product down is torch's.
kernel gated(x: bf16[T,E], g: bf16[E], wg: bf16[H,E], wu: bf16[H,E]) -> y: bf16[T,H] {
  n = bf16(rmsnorm[E](x) * g)
  y = silu(n @ wg) * (n @ wu)
}
kernel gated_kept(x: bf16[T,E], g: bf16[E], wg: bf16[H,E], wu: bf16[H,E]) -> (y: bf16[T,H], n: bf16[T,E], u: bf16[T,H], v: bf16[T,H]) {
  n = bf16(rmsnorm[E](x) * g)
  u = n @ wg
  v = n @ wu
  y = silu(u) * v
}
""")
gpt2_in = fx.torch.op(m.gpt2_in)
gpt2_in_kept = fx.torch.op(m.gpt2_in_kept, wrt=["x", "w", "b"], saved=["h"])
gpt2_out = fx.torch.op(m.gpt2_out, wrt=["h", "w", "b"])
lora = fx.torch.op(m.lora, wrt=["x", "a", "p"])
gated = fx.torch.op(m.gated)
gated_kept = fx.torch.op(m.gated_kept, wrt=["x", "g", "wg", "wu"], saved=["n", "u", "v"])


class Gpt2Mlp(nn.Module):
    def __init__(self, width=768):
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(width, 4 * width) * 0.02), nn.Parameter(torch.zeros(4 * width))
        self.w2, self.b2 = nn.Parameter(torch.randn(4 * width, width) * 0.02), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.gelu(x @ self.w1 + self.b1, approximate="tanh") @ self.w2 + self.b2


class Gpt2MlpFx(Gpt2Mlp):
    def forward(self, x):
        h = gpt2_in_kept(x, self.w1, self.b1)[0] if torch.is_grad_enabled() else gpt2_in(x, self.w1, self.b1)
        return gpt2_out(h, self.w2, self.b2)


class Lora(nn.Module):
    def __init__(self, width=2048, rank=16, scale=2.0):
        super().__init__()
        self.base, self.scale = nn.Linear(width, width), scale
        self.a, self.p = nn.Parameter(torch.randn(rank, width) * width**-0.5), nn.Parameter(torch.randn(width, rank) * 0.02)
        self.base.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.t() @ self.p.t())


class LoraFx(Lora):
    def forward(self, x):
        return lora(x, self.base.weight, self.base.bias, self.a, self.p, self.scale)


class LlamaMlp(nn.Module):
    def __init__(self, width=2048, inner=5632):
        super().__init__()
        self.norm = nn.Parameter(torch.ones(width))
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x):
        n = F.rms_norm(x, x.shape[-1:], self.norm, 1e-5)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class LlamaMlpFx(LlamaMlp):
    def forward(self, x):
        args = x, self.norm, self.gate.weight, self.up.weight
        return x + self.down(gated_kept(*args)[0] if torch.is_grad_enabled() else gated(*args))


def losses(module, x, target, steps=10):
    own = copy.deepcopy(module)
    optimizer = torch.optim.SGD([p for p in own.parameters() if p.requires_grad], lr=0.5)
    said = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(own(x).float(), target)
        loss.backward()
        optimizer.step()
        said.append(loss.item())
    return said


def step_of(module, x, target):
    own = copy.deepcopy(module)

    def step():
        F.mse_loss(own(x).float(), target).backward()
        for p in own.parameters():
            p.grad = None
    return step


def forward_of(module, x):
    def forward():
        with torch.no_grad():
            module(x)
    return forward


def times(calls, rounds=15, n=4):
    """Median milliseconds a call by device events, all in turns."""
    took = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(n):
                call()
            end.record()
            end.synchronize()
            took[name].append(begin.elapsed_time(end) / n)
    return {name: sorted(t)[len(t) // 2] for name, t in took.items()}


def main():
    torch.manual_seed(1)
    wrong = 0
    for theirs, ours, shape, dtype, allowed in ((Gpt2Mlp, Gpt2MlpFx, (4096, 768), torch.float32, 1e-5), (Lora, LoraFx, (2048, 2048), torch.float32, 1e-5), (LlamaMlp, LlamaMlpFx, (2048, 2048), torch.bfloat16, 1e-2)):
        name = theirs.__name__
        their = theirs().cuda().to(dtype)
        our = ours().cuda().to(dtype)
        our.load_state_dict(their.state_dict())
        x, target = torch.randn(shape, device="cuda", dtype=dtype), torch.randn(shape, device="cuda")
        with torch.no_grad():
            exact = copy.deepcopy(their).double()(x.double())
            off = [((module(x).double() - exact).abs().max() / exact.abs().max()).item() for module in (their, our)]
        both = [losses(module, x, target) for module in (their, our)]
        apart = max(abs(a - b) / abs(a) for a, b in zip(*both))
        is_right = off[1] <= max(2 * off[0], allowed) and apart <= allowed and both[1][-1] < both[1][0]
        wrong += not is_right
        print(f"{name} {tuple(shape)} {str(dtype)[6:]}: {'ok' if is_right else 'WRONG'}; off float64 by {off[0]:.1e} (torch), {off[1]:.1e} (fx); losses apart by {apart:.1e}")
        print("  torch " + " ".join(f"{l:.6f}" for l in both[0]))
        print("  fx    " + " ".join(f"{l:.6f}" for l in both[1]))
        compiled = torch.compile(their)
        forward = times({"torch": forward_of(their, x), "torch.compile": forward_of(compiled, x), "fx": forward_of(our, x)})
        step = times({"torch": step_of(their, x, target), "torch.compile": step_of(compiled, x, target), "fx": step_of(our, x, target)})
        for what, t in (("forward", forward), ("training step", step)):
            print(f"  {what}, ms: torch {t['torch']:.3f}, torch.compile {t['torch.compile']:.3f}, fx {t['fx']:.3f}: {t['torch'] / t['fx']:.2f} of torch's speed, {t['torch.compile'] / t['fx']:.2f} of torch.compile's", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main() != 0)
