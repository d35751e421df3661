"""What a call from Python costs the host: a kernel of fx, the same through an operator of PyTorch, PyTorch's own functions, a Triton kernel; and fx_launch alone.

usage: python3 call.py [LIBFX_SO]

Prints microseconds a call, the least of several rounds taken in turns. The kernels are so small that the host is what takes the time.
"""
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["FX_LIBRARY"] = str(pathlib.Path(sys.argv[1] if sys.argv[1:] else ROOT / "build/libfx.so").resolve())
sys.path.insert(0, str(ROOT / "runtime/python"))
import torch

import fx
import fx.torch

m = fx.compile("kernel add(x: f32[N], y: f32[N], z: f32[N]) -> s: f32[N] { s = x + y * z }")
x, y, z = (torch.ones(1024, device="cuda") for _ in range(3))
out = torch.empty(1024, device="cuda")
ways = {"fx": lambda: m.add(x, y, z), "fx, out=": lambda: m.add(x, y, z, out=out), "torch.addcmul": lambda: torch.addcmul(x, y, z),
        "torch.addcmul, out=": lambda: torch.addcmul(x, y, z, out=out)}
op = fx.torch.op(m.add)
ways["fx.torch.op"] = lambda: op(x, y, z)
try:
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, z, s, n, B: tl.constexpr):
        at = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(s + at, tl.load(x + at, at < n) + tl.load(y + at, at < n) * tl.load(z + at, at < n), at < n)

    def with_triton():
        s = torch.empty_like(x)
        add[(1,)](x, y, z, s, 1024, B=1024)
        return s

    ways["Triton, and empty_like"] = with_triton
    ways["Triton"] = lambda: add[(1,)](x, y, z, out, 1024, B=1024)
except ImportError:
    print("no Triton")
m.add(x, y, z, out=out)
bound = [b for k, b in m.add._bound.items() if k[0]][0]
frame, stream = bound.frames[0], torch.cuda.current_stream().cuda_stream
ways["fx_launch by ctypes"] = lambda: bound._launch(bound._handle, frame[1], bound.n, None, 0, stream)

best = {}
for round in range(7):
    for name, call in ways.items():
        call()
        torch.cuda.synchronize()
        n, start = 500, time.perf_counter()
        for _ in range(n):
            call()
        took = (time.perf_counter() - start) / n * 1e6
        torch.cuda.synchronize()
        best[name] = min(best.get(name, took), took)
for name, took in best.items():
    print(f"{took:8.2f} us  {name}")
