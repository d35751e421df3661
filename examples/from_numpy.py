"""A kernel called with NumPy arrays: on GPU 0 where there is one, else on the emulator. The package `fx` is installed from its wheel, or on PYTHONPATH.

usage: python3 from_numpy.py [emu | gpu]

Prints the output of y = gelu(x @ w + b), how far the farthest element is from the same in double precision, and what is allowed; exit 0 where it is within that.
"""
import math
import sys

import numpy as np

import fx

if sys.argv[1:]:
    fx.use(sys.argv[1])
m = fx.compile("kernel linear_gelu(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = gelu(x @ w + b) }")
rng = np.random.default_rng(1)
x, w, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((4, 64), (64, 3), (3,)))
y = m.linear_gelu(x, w, b)

sums = x.astype(np.float64) @ w + b
exact = sums * (1 + np.vectorize(math.erf)(sums / math.sqrt(2))) / 2
off, allowed = np.abs(y - exact).max(), 1.2 * (64 + 16) * 2.0**-24 * (np.abs(x) @ np.abs(w) + np.abs(b)).max()  # a rounding a term; gelu's slope is under 1.2
print(y)
print(f"off by {off:.1e}, {allowed:.1e} allowed")
sys.exit(not off <= allowed)
