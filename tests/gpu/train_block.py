"""A transformer of two blocks trained for 50 steps by operators of fx, attention with what its forward saves, beside the same in eager PyTorch in bf16 and in f32.

    python3 tests/gpu/train_block.py        # with FX_LIBRARY, or build/libfx.so

Needs PyTorch and a GPU. The losses of both in bf16 have to be as near to each other as each is to those in f32, or nearer than a hundredth of them.
"""
import pathlib
import sys

import torch
from torch.nn.functional import gelu, scaled_dot_product_attention

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtime/python"))
import fx  # noqa: E402
import fx.torch  # noqa: E402

SPEC = """
kernel attention(q: bf16[B,H,S,D], k: bf16[B,H,T,D], v: bf16[B,H,T,E], scale: f32) -> (y: bf16[B,H,S,E], l: f32[B,H,S]) {
  s = where(idx(T) <= idx(S), (q @ k) * scale, -inf)
  l = logsumexp[T](s)
  y = softmax[T](s) @ v
}
kernel linear(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @ w }
kernel linear_gelu(x: bf16[M,K], w: bf16[N,K], b: bf16[N]) -> y: bf16[M,N] { y = gelu(x @ w + b) }
kernel norm(x: bf16[M,K], g: bf16[K]) -> y: bf16[M,K] { y = rmsnorm[K](x, eps: 1e-6) * g }
"""
B, H, S, D, LAYERS, STEPS, RATE = 4, 8, 512, 64, 2, 50, 0.3
E = H * D


class Ours:
    def __init__(self):
        m = fx.compile(SPEC)
        self.attention_op = fx.torch.op(m.attention, wrt=["q", "k", "v"], saved=["y", "l"])
        self.linear = fx.torch.op(m.linear, wrt=["x", "w"])
        self.linear_gelu = fx.torch.op(m.linear_gelu, wrt=["x", "w", "b"])
        self.norm = fx.torch.op(m.norm, wrt=["x", "g"])

    def attention(self, q, k, v):
        return self.attention_op(q.contiguous(), k.contiguous(), v.contiguous(), D ** -0.5)[0]


class Eager:
    @staticmethod
    def attention(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True)

    @staticmethod
    def linear(x, w):
        return x @ w.t()

    @staticmethod
    def linear_gelu(x, w, b):
        return gelu(x @ w.t() + b)

    @staticmethod
    def norm(x, g):
        x32 = x.float()
        return ((x32 * torch.rsqrt(x32.square().mean(-1, keepdim=True) + 1e-6)) * g.float()).to(x.dtype)


def block(ops, x, w):
    """x of B * S rows."""
    q, k, v = (t.reshape(B, S, H, D).transpose(1, 2) for t in ops.linear(ops.norm(x, w["g1"]), w["qkv"]).chunk(3, -1))
    y = ops.attention(q, k, v).transpose(1, 2).reshape(B * S, E)
    x = x + ops.linear(y, w["o"])
    return x + ops.linear(ops.linear_gelu(ops.norm(x, w["g2"]), w["up"], w["b"]), w["down"])


def train(ops, dtype):
    torch.manual_seed(5)
    shapes = dict(qkv=(3 * E, E), o=(E, E), up=(4 * E, E), b=(4 * E,), down=(E, 4 * E))
    layers = [{n: torch.randn(s, device="cuda") * (0 if len(s) == 1 else s[1] ** -0.5) for n, s in shapes.items()} for _ in range(LAYERS)]
    for w in layers:
        w["g1"] = w["g2"] = torch.ones(E, device="cuda")
    layers = [{n: t.to(dtype).clone().requires_grad_() for n, t in w.items()} for w in layers]
    x, target = torch.randn(B * S, E, device="cuda").to(dtype), torch.randn(B * S, E, device="cuda").to(dtype)
    losses = []
    for _ in range(STEPS):
        y = x
        for w in layers:
            y = block(ops, y, w)
        loss = (y.float() - target.float()).square().mean()
        loss.backward()
        with torch.no_grad():
            for w in layers:
                for p in w.values():
                    p -= RATE * p.grad
                    p.grad = None
        losses.append(loss.item())
    return losses


def main():
    ours, eager, exact = train(Ours(), torch.bfloat16), train(Eager(), torch.bfloat16), train(Eager(), torch.float32)
    apart = max(abs(a - b) / b for a, b in zip(ours, eager))
    noise = max(abs(a - b) / b for a, b in zip(eager, exact))
    from_exact = max(abs(a - b) / b for a, b in zip(ours, exact))
    print(f"{STEPS} steps: loss {ours[0]:.5f} to {ours[-1]:.5f}, eager {eager[0]:.5f} to {eager[-1]:.5f}, in f32 {exact[0]:.5f} to {exact[-1]:.5f}")
    print(f"largest relative difference of a loss: ours from eager {apart:.2e}, eager from f32 {noise:.2e}, ours from f32 {from_exact:.2e}")
    is_right = ours[-1] < 0.9 * ours[0] and (apart <= 0.01 or apart <= 2 * noise)
    print("train_block: " + ("ok" if is_right else "FAILED"))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
