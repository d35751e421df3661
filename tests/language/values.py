#!/usr/bin/env python3
"""Writes NN_name.values beside the specs NN_name.fx: inputs, and what docs/language.md says each kernel makes of them.

Usage: python3 values.py [DIRECTORY] (default: where this file stands). Needs Python and NumPy alone. tests/unit/test_language.c reads
the files, which are committed; run this after a change here and look at the difference. It knows nothing of the compiler: every
kernel is worked out again below, in float64, from inputs already rounded to their dtypes; integers are exact.

A file is words: `kernel NAME` begins a case; `extent L 16` and `define act=sigmoid` are what -D says; `input NAME DTYPE EXTENTS..` and
`output NAME DTYPE EXTENTS..` take the rest of their line and are followed by the elements in row-major order. An input's elements are
what its dtype holds exactly; a packed tensor is given in its storage dtype. An output's are unrounded. `#` begins a comment.

Where docs/language.md leaves a value open, it is NumPy's, and a comment that begins `open:` says so.
"""
import math
import os
import sys

import numpy as np

np.seterr(all="ignore")
INF, NAN = float("inf"), float("nan")
INTEGERS = {"bool": (0, 1), "i8": (-2**7, 2**7 - 1), "u8": (0, 2**8 - 1), "i16": (-2**15, 2**15 - 1), "i32": (-2**31, 2**31 - 1),
            "i64": (-2**63, 2**63 - 1), "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}
# bits of the significand, least exponent of a normal number, largest finite value
FLOATS = {"f8e4m3": (4, -6, 448.0), "f8e5m2": (3, -14, 57344.0), "f16": (11, -14, 65504.0), "bf16": (8, -126, (2 - 2.0**-7) * 2.0**127),
          "f32": (24, -126, (2 - 2.0**-23) * 2.0**127), "f64": (53, -1022, sys.float_info.max)}


def rounded(dtype, x):
    """x to the nearest value of a float dtype, ties to even, beyond its range infinite; f8 saturates."""
    x = np.asarray(x, np.float64)
    if dtype == "f64":
        return x
    bits, least, top = FLOATS[dtype]
    exponent = np.maximum(np.frexp(np.where(np.isfinite(x), x, 0))[1] - 1, least)
    step = np.ldexp(1.0, exponent - bits + 1)
    y = np.where(np.isfinite(x), np.rint(np.where(np.isfinite(x), x, 0) / step) * step, x)
    limit = top if dtype.startswith("f8") else INF
    return np.where(np.abs(y) > top, np.copysign(limit, y), y)


def check_rounding():
    x = np.concatenate([np.random.RandomState(1).standard_normal(4000) * 2.0**e for e in (-160, -30, -20, -8, 0, 15, 127)] + [[65519.9, 65520, -0.0, INF]])
    assert np.array_equal(rounded("f16", x), x.astype(np.float16).astype(np.float64))
    assert np.array_equal(rounded("f32", x), x.astype(np.float32).astype(np.float64))
    assert rounded("bf16", 1 + 2.0**-8) == 1 and rounded("bf16", 1 + 3 * 2.0**-8) == 1 + 2.0**-6
    assert rounded("f8e4m3", 1000) == 448 and rounded("f8e5m2", -1e9) == -57344 and rounded("f8e4m3", 2.0**-9 * 1.5) == 2.0**-8


# ---- the files ----

FILES = {}


def element(dtype, v):
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        v = int(v)
        assert low <= v <= high, (dtype, v)
        return str(v)
    v = float(v)
    return "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf") if math.isinf(v) else "%.17g" % v


class Case:
    """One run of a kernel: inputs are drawn or given and come back as float64 or exact integers, outputs are set."""

    def __init__(self, spec, kernel, seed=0, extents={}, defines={}):
        self.random = np.random.RandomState(seed + 1000 * len(FILES.setdefault(spec, [])) + sum(map(ord, kernel)))
        self.lines = ["kernel " + kernel]
        self.lines += ["extent %s %d" % e for e in extents.items()] + ["define %s=%s" % d for d in defines.items()]
        FILES[spec].append(self)

    def array(self, role, name, dtype, v):
        self.lines.append(" ".join([role, name, dtype] + [str(n) for n in v.shape]))
        if v.size:
            rows = v.reshape(-1, v.shape[-1]) if v.ndim else v.reshape(1, 1)
            self.lines += [" ".join(element(dtype, e) for e in row) for row in rows]

    def given(self, name, dtype, v):
        if dtype in INTEGERS:
            v = np.array(v, dtype=object)
            self.array("input", name, dtype, v)
            return v if dtype in ("u64", "i64") else v.astype(bool if dtype == "bool" else np.int64)
        v = np.array(v, np.float64)
        assert np.array_equal(rounded(dtype, v), v, equal_nan=True), (name, dtype)
        self.array("input", name, dtype, v)
        return v

    def normal(self, name, dtype, *shape, mean=0.0, std=1.0):
        return self.given(name, dtype, rounded(dtype, mean + std * self.random.standard_normal(shape)))

    def uniform(self, name, dtype, *shape, low=0.0, high=1.0):
        return self.given(name, dtype, rounded(dtype, self.random.uniform(low, high, shape)))

    def integers(self, name, dtype, *shape, low, high):
        return self.given(name, dtype, self.random.randint(low, high + 1, shape))

    def output(self, name, dtype, v):
        v = np.array(v, dtype=object) if dtype in INTEGERS else np.asarray(v, np.float64)
        self.array("output", name, dtype, v)


def write(directory):
    for spec, cases in sorted(FILES.items()):
        with open(os.path.join(directory, spec + ".values"), "w") as f:
            f.write("# written by values.py\n" + "\n".join("\n".join(c.lines) + "\n" for c in cases))


# ---- what the language's functions mean ----

def each(f, *x):
    return np.vectorize(f, otypes=[np.float64])(*x) if np.size(x[0]) else np.zeros(np.shape(x[0]))


def erf(x): return each(math.erf, x)
def phi(x): return 0.5 * each(math.erfc, -np.asarray(x) / math.sqrt(2))  # the normal distribution
def density(x): return np.exp(-np.asarray(x) ** 2 / 2) / math.sqrt(2 * math.pi)
def gelu(x): return x * phi(x)
def dgelu(x): return phi(x) + x * density(x)
def gelu_tanh(x): return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
def sigmoid(x): return 1 / (1 + np.exp(-x))
def relu(x): return np.maximum(x, 0)  # passes NaN on
def softplus(x): return np.logaddexp(0, x)


def shift(x, axis):
    top = np.max(x, axis=axis, keepdims=True, initial=-INF)
    return np.where(np.isfinite(top), top, 0)


def softmax(x, axis):
    """Shifted by the maximum where that is finite, else by 0; where the sum is 0 so are the shares."""
    e = np.exp(x - shift(x, axis))
    s = e.sum(axis=axis, keepdims=True)
    return np.where(s == 0, 0, e / np.where(s == 0, 1, s))


def logsumexp(x, axis):
    s = shift(x, axis)
    return (np.log(np.exp(x - s).sum(axis=axis, keepdims=True)) + s).reshape(np.sum(x, axis=axis).shape)


def layernorm(x, axis, eps):
    d = x - x.mean(axis=axis, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=axis, keepdims=True) + eps)


def rmsnorm(x, axis, eps): return x / np.sqrt((x * x).mean(axis=axis, keepdims=True) + eps)


def wrap(dtype, v):
    """Exact integers to their lowest bits, as two's complement."""
    low, high = INTEGERS[dtype]
    return np.vectorize(lambda e: (int(e) - low) % (high - low + 1) + low, otypes=[object])(v)


def floordiv(a, b): return np.vectorize(lambda p, q: int(p) // int(q) if int(q) else 0, otypes=[object])(a, b)
def modulo(a, b): return np.vectorize(lambda p, q: int(p) % int(q) if int(q) else 0, otypes=[object])(a, b)


def philox(counter, key):
    """Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, 2011): four words of counter, two of key, to four words."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def check_philox():
    """The published vectors of Random123 for philox4x32 with 10 rounds."""
    ones = 0xFFFFFFFF
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    assert philox([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def rand(shape, seed, off):
    """Element e, counted in row-major order over the listed labels: word e % 4 of the block e // 4, its upper 24 bits as a fraction."""
    seed, off = int(seed), int(off)
    words = []
    for e in range(int(np.prod(shape))):
        c = e // 4
        block = philox([c & 0xFFFFFFFF, c >> 32, off & 0xFFFFFFFF, off >> 32], [seed & 0xFFFFFFFF, seed >> 32])
        words.append((block[e % 4] >> 8) * 2.0**-24)
    return np.array(words).reshape(shape)


def read(x, *at, fill):
    """x at integer positions, `fill` where one of them is outside."""
    at = np.broadcast_arrays(*[np.array(p, dtype=object) for p in at])
    result = np.empty(at[0].shape)
    for i in np.ndindex(result.shape):
        p = [int(q[i]) for q in at]
        result[i] = x[tuple(p)] if all(0 <= q < n for q, n in zip(p, x.shape)) else fill[i] if np.ndim(fill) else fill
    return result


# ---- the examples of the language ----

def linear_gelu():
    for m, k, n, std in (3, 5, 7, 1), (2, 1, 9, 3):
        c = Case("01_linear_gelu", "linear_gelu")
        x, w, b = c.normal("x", "f16", m, k), c.normal("w", "f16", k, n, std=std), c.normal("b", "f16", n)
        c.output("y", "f16", gelu(x @ w + b))


def split_act():
    for m, k, n in (3, 5, 4), (2, 7, 1):
        c = Case("02_split_act", "split_act")
        z = c.normal("a", "f32", m, k) @ c.normal("w", "f32", k, 2 * n)
        c.output("d", "f32", sigmoid(z[:, :n]) * np.tanh(z[:, n:]))


def geglu():
    for m, k, n in (3, 6, 5), (1, 4, 7):
        c = Case("03_geglu", "geglu")
        x, w, b = c.normal("x", "bf16", m, k), c.normal("w", "bf16", 2 * n, k), c.normal("b", "bf16", 2 * n)
        z = x @ w.T + b
        c.output("y", "bf16", z[:, :n] * gelu(z[:, n:]))


def ln_linear_gelu():
    for m, k, n, mean in (3, 8, 5, 0), (2, 9, 4, 30):
        c = Case("04_ln_linear_gelu", "ln_linear_gelu")
        x, w, b = c.normal("x", "f16", m, k, mean=mean), c.normal("w", "f16", k, n), c.normal("b", "f16", n)
        c.output("y", "f16", gelu_tanh(layernorm(x, 1, 1e-5) @ w + b))
    c = Case("04_ln_linear_gelu", "ln_linear_gelu")  # a row without variance
    x = c.given("x", "f16", [[2, 2, 2, 2, 2], [1, -1, 1, -1, 0.5]])
    w, b = c.normal("w", "f16", 5, 3), c.normal("b", "f16", 3)
    c.output("y", "f16", gelu_tanh(layernorm(x, 1, 1e-5) @ w + b))


def lora():
    for m, k, n, r, alpha in (3, 7, 5, 2, 0.5), (2, 4, 6, 3, -1.75):
        c = Case("05_lora", "lora")
        x, W, b = c.normal("x", "f16", m, k), c.normal("W", "f16", k, n), c.normal("b", "f16", n)
        A, B = c.normal("A", "f16", k, r), c.normal("B", "f16", r, n)
        alpha = c.given("alpha", "f32", alpha)
        c.output("y", "f16", relu(x @ W + b + alpha * ((x @ A) @ B)))


def mlp2():
    for m, k, h, n in (3, 4, 7, 5), (1, 9, 2, 6):
        c = Case("06_mlp2", "mlp2")
        x, W1, b1 = c.normal("x", "f32", m, k), c.normal("W1", "f32", h, k), c.normal("b1", "f32", h)
        W2, b2 = c.normal("W2", "f32", n, h), c.normal("b2", "f32", n)
        c.output("y", "f32", sigmoid(relu(x @ W1.T + b1) @ W2.T + b2))


def res_drop():
    for p, seed, off in (0.5, 1, 0), (0, 42, 3), (0.25, 2**64 - 1, 2**63 + 5), (0.1, 0x0123456789ABCDEF, 2**32), (1, 7, 7):
        c = Case("07_res_drop", "res_drop")
        x, w, b, r = c.normal("x", "f16", 5, 3), c.normal("w", "f16", 3, 7), c.normal("b", "f16", 7), c.normal("r", "f16", 5, 7)
        p = c.given("p", "f32", rounded("f32", p))
        seed, off = c.given("seed", "u64", seed), c.given("off", "u64", off)
        keep = rand((5, 7), seed, off) >= p
        c.output("y", "f16", r + np.where(keep, (x @ w + b) / (1 - p), 0))
        c.output("keep", "bool", keep)


def softmax_rows():
    for b, t, std in (4, 7, 1), (3, 9, 40), (5, 1, 2):
        c = Case("08_softmax_rows", "softmax_rows")
        c.output("z", "f32", softmax(c.normal("x", "f32", b, t, std=std), 1))
    c = Case("08_softmax_rows", "softmax_rows")
    x = c.given("x", "f32", [[-INF, 1, -INF, 2], [-INF] * 4, [1, NAN, 2, 3], [2.0**127, 2.0**127, -2.0**127, 0], [-1000, -1001, -1002, -INF]])
    c.output("z", "f32", softmax(x, 1))


def flash():
    for b, h, s, t, d, scale in (2, 3, 4, 5, 6, 0.25), (1, 2, 7, 4, 3, -0.5), (2, 1, 3, 3, 8, 3.0):  # S > T: rows that see no key
        c = Case("09_flash", "flash")
        q, k, v = c.normal("q", "f16", b, h, s, d), c.normal("k", "f16", b, h, t, d), c.normal("v", "f16", b, h, t, d)
        scale = c.given("scale", "f32", scale)
        o, lse = np.zeros((b, h, s, d)), np.full((b, h, s), -INF)
        for i in np.ndindex(b, h, s):
            keys = [j for j in range(t) if j - t <= i[2] - s]
            score = np.array([scale * (q[i] @ k[i[0], i[1], j]) for j in keys])
            if keys:
                top = score.max()
                weight = np.exp(score - top)
                o[i] = sum(w * v[i[0], i[1], j] for w, j in zip(weight, keys)) / weight.sum()
                lse[i] = math.log(weight.sum()) + top
        assert np.isinf(lse).any() == (s > t)
        c.output("o", "f16", o)
        c.output("lse", "f32", lse)


def fields(words, bits, n, is_signed=False, word_bits=32, msb=False):
    """The first n fields along the last axis of words."""
    result = np.zeros(words.shape[:-1] + (n,), np.int64)
    per = word_bits // bits
    for i in range(n):
        at = i % per
        v = (words[..., i // per].astype(np.int64) % 2**word_bits) >> (bits * (per - 1 - at if msb else at)) & (2**bits - 1)
        result[..., i] = np.where(is_signed & (v >= 2 ** (bits - 1)), v - 2**bits, v)
    return result


def w4():
    for j, groups, columns in (5, 3, 4), (2, 9, 3), (3, 8, 1):
        c, l = Case("10_w4", "w4"), 8 * groups
        sc = c.normal("sc", "f32", j, groups)
        zp = fields(c.integers("zp", "i32", j, (groups + 7) // 8, low=-2**31, high=2**31 - 1), 4, groups)
        wq = fields(c.integers("wq", "i32", j, l // 8, low=-2**31, high=2**31 - 1), 4, l)
        y = c.normal("y", "f32", l, columns)
        c.output("z", "f32", (np.repeat(sc, 8, axis=1) * (wq - np.repeat(zp, 8, axis=1))) @ y)


def bmm():
    c = Case("11_bmm", "bmm")
    x, y = c.normal("x", "f32", 3, 4, 6), c.normal("y", "f32", 3, 6, 5)
    c.output("z", "f32", np.stack([x[b] @ y[b] for b in range(3)]))


def conv_relu():
    for b, ch, h, w, o in (2, 3, 5, 7, 4), (1, 2, 1, 4, 3):
        c = Case("12_conv_relu", "conv_relu")
        x, k, bias = c.normal("x", "f16", b, ch, h, w), c.normal("k", "f16", o, ch, 3, 3), c.normal("b", "f16", o)
        padded = np.zeros((b, ch, h + 2, w + 2))
        padded[:, :, 1:-1, 1:-1] = x
        z = sum(np.einsum("bchw,oc->bohw", padded[:, :, u:u + h, v:v + w], k[:, :, u, v]) for u in range(3) for v in range(3))
        c.output("z", "f16", relu(z + bias[:, None, None]))


def mul_relu():
    for special in False, True:
        c = Case("13_mul_relu", "mul_relu")
        x = c.given("x", "f32", [[0, NAN, INF, -INF], [1, -2, 0, -0.0], [NAN, 1, 2, -3]]) if special else c.normal("x", "f32", 5, 7)
        y = c.given("y", "f32", [1, -2, NAN]) if special else c.normal("y", "f32", 5)
        c.output("z", "f32", relu(x * y[:, None]))
    for special in False, True:
        c = Case("13_mul_relu", "mul_relu_bwd")  # relu'(0) = 0
        x = c.given("x", "f32", [[0, 1, -1], [2, -2, 0]]) if special else c.normal("x", "f32", 5, 7)
        y = c.given("y", "f32", [3, 0]) if special else c.normal("y", "f32", 5)
        dz = c.normal("dz", "f32", *x.shape)
        c.output("dx", "f32", np.where(x * y[:, None] > 0, dz * y[:, None], 0))


def row_sum():
    for b, t in (4, 9), (3, 0):
        c = Case("14_row_sum", "row_sum")
        c.output("z", "f32", c.normal("x", "f32", b, t).sum(axis=1))
    c = Case("14_row_sum", "row_sum")
    c.output("z", "f32", c.given("x", "f32", [[INF, 1, 2], [INF, -INF, 0], [NAN, 1, 1], [2.0**99, -2.0**99, 1]]).sum(axis=1))
    for t in 2, 3, 8, 9:
        c = Case("14_row_sum", "maxpool")
        x = c.normal("x", "f32", 3, t)
        c.output("z", "f32", np.array([[x[b, 2 * q:2 * q + 3].max() for q in range((t - 1) // 2)] for b in range(3)]).reshape(3, -1))
    c = Case("14_row_sum", "maxpool")
    x = c.given("x", "f32", [[1, 2, NAN, 4, 5, 6, 7], [-INF, -INF, -INF, -INF, -INF, 2, 1]])
    c.output("z", "f32", [[x[b, 2 * q:2 * q + 3].max() for q in range(3)] for b in range(2)])


def embed():
    for edge in False, True:
        c = Case("15_embed", "embed")
        b, s, v, e = 4, 3, 6, 2
        if edge:  # open: ids + 1 wraps where it overflows
            ids = c.given("ids", "i64", [[-1, -7, 2**53 + 1], [2**63 - 1, -2**63, 5], [10**18 + 3, 0, 99], [-2, 11, 2**62]])
            card = c.given("card", "i64", [6, 0, 1000])  # by zero: row 0; beyond the table: 0
        else:
            ids, card = c.integers("ids", "i64", b, s, low=-20, high=20), c.given("card", "i64", [6, 4, -3])
        table = c.normal("table", "f32", s, v, e)
        at = modulo(wrap("i64", ids + 1), card)
        c.output("e", "f32", [[[table[j, at[i, j], k] if 0 <= at[i, j] < v else 0 for k in range(e)] for j in range(s)] for i in range(b)])
    for b, s, e, h in (3, 2, 2, 4), (2, 3, 1, 5):
        c = Case("15_embed", "top1")
        p = (s + 1) * e
        d, t = c.normal("d", "f32", b, e), c.normal("s", "f32", b, s, e)
        W1, b1 = c.normal("W1", "f32", h, p, p), c.normal("b1", "f32", h)
        x = np.concatenate([d, t.reshape(b, s * e)], axis=1)
        c.output("h", "f32", relu(np.einsum("bp,bq,hpq->bh", x, x, W1) + b1))


def add_mul_act():
    for act in None, "sigmoid":
        c = Case("16_add_mul_act", "add_mul_act", defines={"act": act} if act else {})
        x, b, t, mult = c.normal("x", "f32", 4, 5), c.normal("b", "f32", 5), c.normal("t", "f32", 4, 5), c.given("mult", "f32", -1.5)
        c.output("x", "f32", (sigmoid if act else relu)(x + b + mult * t))


def dlinear():
    for m, n, k in (4, 5, 3), (2, 7, 6):
        c = Case("17_dlinear", "dlinear")
        dz = c.normal("g", "f16", m, n) * dgelu(c.normal("pre", "f16", m, n))
        w = c.normal("w", "f16", k, n)
        c.output("dx", "f16", dz @ w.T)
        c.output("db", "f32", dz.sum(axis=0))
        c.output("amax", "f32", np.abs(dz).max())


# ---- rule by rule ----

def integers():
    spec, n = "18_integers", 12
    small = dict(low=-20, high=20)
    for dtype, edges in ("i32", ([-2**31, 2**31 - 1, -2**31, 7, -7, 0], [-1, -2, 0, -2**31, 2**31 - 1, 0])), \
                        ("i64", ([-2**63, 2**63 - 1, 2**62 + 1, -2**62 - 1, 3, 0], [10, -10, 0, 7, -2**63, 5])), ("u64", None):
        kernel = "divide" if dtype == "i32" else "divide_" + dtype
        if edges:
            c = Case(spec, kernel)
            a, b = c.given("a", dtype, edges[0]), c.given("b", dtype, edges[1])
            c.output("q", dtype, wrap(dtype, floordiv(a, b)))  # open: the least by -1 wraps
            c.output("r", dtype, modulo(a, b))
        c = Case(spec, kernel)
        if dtype == "u64":
            a = c.given("a", dtype, [2**64 - 1, 2**63, 2**53 + 1, 9, 0, 2**64 - 2])
            b = c.given("b", dtype, [2, 3, 2**53, 0, 5, 2**64 - 1])
        else:
            a, b = c.integers("a", dtype, n, **small), c.given("b", dtype, [3, -3, 5, -5, 1, -1, 0, 7, -7, 20, 2, -4])
        c.output("q", dtype, floordiv(a, b))
        c.output("r", dtype, modulo(a, b))
    c = Case(spec, "mixed")
    a, b = c.given("a", "u32", [2**32 - 1, 0, 5, 2**31, 2**31]), c.given("b", "i32", [-2**31, -1, -7, 2**31 - 1, 2])
    c.output("s", "i64", a + b), c.output("d", "i64", b - a), c.output("p", "i64", a * b), c.output("less", "bool", b < a)
    c = Case(spec, "promoted")
    a, b = c.given("a", "i8", [-128, 127, -1, 100]), c.given("b", "u8", [255, 255, 0, 200])
    c.output("s", "i32", a + b + 200), c.output("p", "i32", a * b), c.output("n", "i32", -b)
    c = Case(spec, "wrapped")  # open: what overflows keeps its lowest bits
    a, b = c.given("a", "i32", [2**31 - 1, -2**31, 65536, 46341, 3]), c.given("b", "i32", [1, 1, 65536, 46341, -4])
    c.output("s", "i32", wrap("i32", a + b)), c.output("d", "i32", wrap("i32", a - b)), c.output("p", "i32", wrap("i32", a * b))
    c = Case(spec, "wide")
    a, b = c.given("a", "i64", [2**53 + 1, -2**62, 10**17, 5]), c.given("b", "i32", [2, -1, 30, -2**31])
    u = c.given("c", "u64", [2**62, 2**53 + 1, 0, 2**62 + 2**53 + 1])
    c.output("s", "i64", a + b), c.output("p", "i64", wrap("i64", a * b)), c.output("t", "u64", wrap("u64", u * 3 + 1))
    c = Case(spec, "unsigned")  # open: u32 with u32 stays u32, and wraps
    a, b = c.given("a", "u32", [2**32 - 1, 2**31, 10, 7]), c.given("b", "u32", [2, 2**31 + 5, 3, 0])
    c.output("s", "u32", wrap("u32", a + b)), c.output("q", "u32", floordiv(a, b))
    c = Case(spec, "with_floats")
    i, x = c.integers("i", "i32", 7, low=-9, high=9), c.normal("x", "f32", 7)
    c.output("s", "f32", i + x), c.output("h", "f32", i + 0.5), c.output("r", "f32", i / x)
    c = Case(spec, "extremes")
    a, b = c.integers("a", "i32", 9, low=-9, high=9), c.given("b", "i32", [-3, 0, 5, 8, -8, 0, 1, -1, 2])
    c.output("lo", "i32", np.minimum(a, b)), c.output("hi", "i32", np.maximum(a, b))
    c.output("c", "i32", np.clip(a, -3, 3)), c.output("m", "i32", np.abs(a) * np.sign(b))
    c = Case(spec, "contracted")
    x, w = c.integers("x", "i8", 3, 7, low=-128, high=127), c.integers("w", "i8", 7, 4, low=-128, high=127)
    c.output("y", "i32", x @ w)


def casts():
    spec = "19_casts"
    c = Case(spec, "to_integers")
    x = c.given("x", "f32", rounded("f32", [NAN, INF, -INF, -0.9, 0.9, 1.999, -1.999, 127.5, 128, -128.9, -129, 255.9, 256, 32767.5, -32769, 2147483520,
                                            2**31, -2**31, -3e9, 4294967040, 2**32, 9.2e18, 2**63, -2**63, 1.8e19, 2**64, 1e30, -1e30]))
    for name, dtype in zip("abcdefg", ("i8", "u8", "i16", "i32", "u32", "i64", "u64")):
        low, high = INTEGERS[dtype]
        c.output(name, dtype, [0 if math.isnan(v) else high if v >= high else low if v <= low else int(v) for v in x])
    c = Case(spec, "between_integers")
    x = c.given("x", "i32", [0, 1, -1, 127, 128, -128, -129, 255, 256, 65535, 32768, -32769, 2**31 - 1, -2**31, 513])
    for name, dtype in zip("abcd", ("i8", "u8", "i16", "u32")):
        c.output(name, dtype, wrap(dtype, x))
    c.output("e", "i64", x), c.output("f", "bool", x != 0)
    c = Case(spec, "to_floats")
    x = c.normal("x", "f32", 9, std=3)
    for name, dtype in zip("hbef", ("f16", "bf16", "f8e4m3", "f8e5m2")):
        c.output(name, "f32", rounded(dtype, x) - x)
    c = Case(spec, "overflowing")
    x = c.given("x", "f32", rounded("f32", [65504, 65519, 65520, -1e6, 448, 464, 465, 500, -57344, -61440, 7e4, NAN, 1e-8, 3e-8, 2**-9, 2**-10, 1.1 * 2**-10,
                                            2**-17, 1.5 * 2**-17, 3.14159, -0.3]))
    for name, dtype in zip("hef", ("f16", "f8e4m3", "f8e5m2")):
        c.output(name, "f32", rounded(dtype, x))
    c = Case(spec, "from_integers")  # one rounding: through f64 the third and the fourth would be ties
    x = c.given("x", "i64", [2**24 + 1, 2049, 2**54 + 2**30 + 1, -2**54 - 2**30 - 1, 2051, 65520, -65519, 2**53 + 1, -2**63, 2**63 - 1, 0, 7])
    c.output("s", "f32", [exact_round("f32", int(v)) for v in x])
    c.output("h", "f32", [exact_round("f16", int(v)) for v in x])
    c.output("d", "f64", [float(int(v)) for v in x])
    c = Case(spec, "of_bools")
    x = c.given("x", "f32", [0, -0.0, 1, -1, NAN, INF, 2.0**-149])
    c.output("b", "bool", x != 0), c.output("s", "f32", (x > 0) * 2.0), c.output("i", "i32", (x > 0) + 1)
    c = Case(spec, "rounded_middle")
    x, w = c.normal("x", "f32", 3, 6), c.normal("w", "f32", 6, 4)
    c.output("y", "f32", rounded("f16", x) @ rounded("f16", w))
    c = Case(spec, "to_nearest")  # of two the even one
    x = c.given("x", "f32", rounded("f32", [NAN, INF, -INF, 0.5, 1.5, -0.5, -1.5, 2.5, 0.49999997, 7.5, -8.5, 126.5, 127.5, -127.5, -128.5, -129, 254.5, 255.5,
                                            300, 32766.5, 32767.5, -32768.5, 8388609, -8388609, 2**31, 1e30, -1e30, -0.0]))
    for name, dtype in zip("abcd", ("i8", "u8", "i16", "i32")):
        low, high = INTEGERS[dtype]
        c.output(name, dtype, [0 if math.isnan(v) else high if v >= high else low if v <= low else round(float(v)) for v in x])


def exact_round(dtype, v):
    """An integer of any size rounded once."""
    bits, _, top = FLOATS[dtype]
    drop = max(abs(v).bit_length() - bits, 0)
    q, rest = abs(v) >> drop, abs(v) & ((1 << drop) - 1)
    half = (1 << drop) >> 1
    q += rest > half or (drop > 0 and rest == half and q & 1)
    r = float(q << drop)
    return math.copysign(INF if r > top else r, v)


def reductions():
    spec = "20_reductions"
    c = Case(spec, "counts")
    x = c.normal("x", "f32", 4, 6)
    c.output("n", "i32", (x > 0).sum(axis=1)), c.output("some", "bool", (x > 1).any(axis=1))
    c.output("every", "bool", (x > -1).all(axis=0)), c.output("both", "bool", (x > 100).any())
    c = Case(spec, "extremes")
    x = c.normal("x", "f32", 4, 6)
    c.output("lo", "f32", x.min(axis=1)), c.output("hi", "f32", x.max(axis=0)), c.output("top", "f32", x.max())
    # ties: the first; open: the first NaN wins
    for x in [[1, 3, 3, 2], [0, -1, -1, 3], [2, NAN, 5, NAN], [-INF, -INF, -INF, -INF], [INF, 1, INF, -INF]], [[-0.0, 0, 1], [1, 1, 1], [2, -5, -5]]:
        c = Case(spec, "places")
        x = c.given("x", "f32", x)
        c.output("a", "i64", np.argmax(x, axis=1)), c.output("b", "i64", np.argmin(x, axis=1)), c.output("c", "i64", np.argmax(x, axis=0))
    for mean in 0, 1000:
        c = Case(spec, "moments")
        x = c.normal("x", "f32", 3, 7, mean=mean)
        c.output("m", "f32", x.mean(axis=1)), c.output("v", "f32", x.var(axis=1)), c.output("w", "f32", x.var(axis=1, ddof=1)), c.output("all", "f32", x.var())
    c = Case(spec, "products")
    x = c.normal("x", "f32", 3, 4, 5)
    c.output("p", "f32", x.prod(axis=(0, 2))), c.output("q", "f32", x.prod(axis=1)), c.output("s", "f32", (x * x).sum(axis=(0, 1)))
    c = Case(spec, "of_integers")
    x = c.integers("x", "i8", 3, 5, low=-128, high=127)
    c.output("s", "i32", x.sum(axis=1)), c.output("p", "i32", x.prod(axis=0)), c.output("hi", "i32", x.max(axis=1))
    c.output("lo", "i32", x.min(axis=0)), c.output("at", "i64", np.argmin(x, axis=1))
    c = Case(spec, "mean_of_integers")  # open: the mean of integers is a float
    c.output("m", "f32", c.integers("x", "i32", 4, 7, low=-9, high=9).mean(axis=1))
    c = Case(spec, "weighted")
    x, keep = c.normal("x", "f32", 4, 5), c.integers("keep", "bool", 4, 5, low=0, high=1)
    c.output("s", "f32", (keep * x).sum(axis=1)), c.output("n", "i32", keep.sum(axis=0))


def scans():
    spec = "21_scans"
    for special in False, True:
        for axis, kernel in (1, "last"), (0, "first"):
            c = Case(spec, kernel)
            x = c.given("x", "f32", [[1, INF, 2, -INF, 3], [2, NAN, 1, 0, 1], [0, 5, 6, INF, 1]]) if special else c.normal("x", "f32", 4, 6)
            c.output("s", "f32", np.cumsum(x, axis=axis)), c.output("p", "f32", np.cumprod(x * (1 if axis else 2), axis=axis))
    c = Case(spec, "of_integers")
    c.output("s", "i32", np.cumsum(c.integers("x", "i32", 5, 3, low=-99, high=99), axis=0))
    c = Case(spec, "of_conditions")
    c.output("s", "i32", np.cumsum(c.normal("x", "f32", 3, 8) > 0, axis=1))
    c = Case(spec, "of_product")
    c.output("y", "f32", np.cumsum(c.normal("x", "f32", 5, 4) @ c.normal("w", "f32", 4, 3), axis=0))


def parts():
    spec = "22_parts"
    c = Case(spec, "of_input")
    x = c.normal("x", "f32", 3, 10)
    c.output("l", "f32", x[:, :5]), c.output("r", "f32", x[:, 5:]), c.output("e", "f32", x[:, 0::2]), c.output("o", "f32", x[:, 1::2])
    c = Case(spec, "of_left")
    x, w = c.normal("x", "f32", 3, 8), c.normal("w", "f32", 4, 5)
    c.output("h", "f32", (x[:, :4] * sigmoid(x[:, 4:])) @ w), c.output("e", "f32", (x[:, 0::2] - 2 * x[:, 1::2]) @ w)
    c = Case(spec, "of_result")
    z = c.normal("x", "f32", 3, 4) @ c.normal("w", "f32", 4, 10) + c.normal("b", "f32", 10)
    c.output("y", "f32", z[:, 0::2] * np.tanh(z[:, 1::2]))
    c = Case(spec, "first_axis")
    x = c.normal("x", "f32", 6, 4)
    c.output("t", "f32", x[:3] - x[3:]), c.output("u", "f32", x[0::2] - x[1::2])
    c = Case(spec, "three")
    x = c.normal("x", "f32", 2, 12)
    c.output("q", "f32", x[:, :4]), c.output("k", "f32", x[:, 8:]), c.output("i", "f32", x[:, 1::3])
    c = Case(spec, "rotary")
    x, co, s = c.normal("x", "f32", 3, 10), c.normal("c", "f32", 3, 5), c.normal("s", "f32", 3, 5)
    c.output("a", "f32", x[:, 0::2] * co - x[:, 1::2] * s), c.output("b", "f32", x[:, 0::2] * s + x[:, 1::2] * co)


def relabels():
    spec = "23_relabels"
    c = Case(spec, "symmetric")
    x = c.normal("x", "f32", 5, 5)
    c.output("y", "f32", x + 2 * x.T)
    c = Case(spec, "flattened")
    x = c.normal("x", "f32", 3, 4, 5)
    c.output("p", "f32", [[x[a, b, e] for a in range(3) for e in range(5)] for b in range(4)])
    c.output("q", "f32", [[x[a, b, e] for b in range(4)] for e in range(5) for a in range(3)])
    c.output("r", "f32", x.reshape(60))
    c = Case(spec, "split")
    x = c.normal("x", "f32", 2, 12)
    c.output("y", "f32", [[[x[m, 3 * a + b] for a in range(4)] for b in range(3)] for m in range(2)])
    c.output("z", "f32", [[[[x[m, (e * 2 + d) * 3 + b] for b in range(3)] for d in range(2)] for m in range(2)] for e in range(2)])
    c = Case(spec, "order")
    x, w = c.normal("x", "f32", 2, 4, 3), c.normal("w", "f32", 4, 5)
    c.output("y", "f32", np.einsum("amb,mn->abn", x, w).reshape(6, 5))
    c = Case(spec, "heads")
    x, w = c.normal("x", "f32", 4, 3), c.normal("w", "f32", 3, 10)
    c.output("y", "f32", np.stack([(x @ w)[:, :5], (x @ w)[:, 5:]]))
    c = Case(spec, "merged")
    x, w = c.normal("x", "f32", 2, 4, 3), c.normal("w", "f32", 6, 5)
    c.output("y", "f32", np.einsum("hsv,hvd->sd", x, w.reshape(2, 3, 5)))


def transposed():
    spec = "24_transposed"
    c = Case(spec, "gram")
    x = c.normal("x", "f32", 4, 7)
    c.output("y", "f32", x @ x.T)
    c = Case(spec, "transposed")
    c.output("y", "f32", c.normal("x", "f32", 5, 5).T)
    c = Case(spec, "turned")
    c.output("y", "f32", c.normal("x", "f32", 3, 5).T)
    c = Case(spec, "diagonal")
    x = c.normal("x", "f32", 6, 6)
    c.output("d", "f32", np.diag(x)), c.output("t", "f32", np.trace(x))
    c = Case(spec, "pairwise")
    x = c.normal("x", "f32", 5, 3)
    c.output("y", "f32", [[((p - q) ** 2).sum() for q in x] for p in x])


def access():
    spec = "25_access"

    def at(n): return np.arange(n)

    c = Case(spec, "gather")
    ids, t = c.given("ids", "i32", [3, -1, 0, 5, 6, 2**31 - 1, -2**31]), c.normal("t", "f32", 6, 4)
    c.output("y", "f32", t[np.clip(ids, 0, 5)])
    c = Case(spec, "gather_or")
    ids, t = c.given("ids", "i64", [[3, -1, 2**32], [6, 0, 5]]), c.normal("t", "f32", 6, 4)
    c.output("y", "f32", read(t, ids[:, :, None], at(4), fill=-1))
    c = Case(spec, "gather_pairs")
    i, j, x = c.given("i", "i32", [0, 2, 3, -1, 1, 2]), c.given("j", "i32", [4, 5, 0, 0, 1, -3]), c.normal("x", "f32", 3, 5)
    c.output("y", "f32", read(x, i, j, fill=0))
    c = Case(spec, "gather_grid")
    i, j, x = c.given("i", "i32", [0, 2, -1, 3]), c.given("j", "i32", [4, 1, 1, 5, 0]), c.normal("x", "f32", 3, 5)
    c.output("y", "f32", read(x, i[:, None], j, fill=0))
    for n in 7, 8, 1:
        c = Case(spec, "strided_odd")
        c.output("y", "f32", c.normal("x", "f32", 3, n)[:, 1::2])
    c = Case(spec, "reversed")
    c.output("y", "f32", c.normal("x", "f32", 3, 7)[:, ::-1])
    for n in 7, 2:
        c = Case(spec, "rolled")
        c.output("y", "f32", np.roll(c.normal("x", "f32", 3, n), -3, axis=1))
    c = Case(spec, "shifted")
    x, b, rows = c.normal("x", "f32", 3, 6), c.given("b", "f32", 2.5), at(3)[:, None]
    c.output("l", "f32", read(x, rows, at(6) - 1, fill=0)), c.output("r", "f32", read(x, rows, at(6) + 2, fill=-INF))
    c.output("f", "f32", read(x, rows, at(6) + 1, fill=float(b)))
    c = Case(spec, "dilated")
    x = c.normal("x", "f32", 7)
    c.output("y", "f32", read(x, 2 * at(7), fill=0)), c.output("z", "f32", read(x, 3 - 2 * at(7), fill=7))
    for n in 7, 3:
        c = Case(spec, "either")
        x = c.normal("x", "f32", n)
        c.output("y", "f32", read(x, at(n) - 2, fill=read(x, at(n) + 3, fill=9)))
    c = Case(spec, "repeated")
    y = np.repeat(c.normal("x", "f32", 3, 4), 2, axis=1)
    c.output("y", "f32", y), c.output("z", "f32", y)
    c = Case(spec, "windows")
    x = c.normal("x", "f32", 5, 10)
    c.output("y", "f32", [[x[2 * p:2 * p + 2, 3 * q:3 * q + 3].sum() for q in range(3)] for p in range(2)])
    c = Case(spec, "banded")
    x, k = c.normal("x", "f32", 2, 6), c.normal("k", "f32", 5)
    c.output("y", "f32", sum(k[u] * read(x, at(2)[:, None], at(6) + 2 * u - 4, fill=0) for u in range(5)))
    c = Case(spec, "of_result")
    z = c.normal("x", "f32", 3, 4) @ c.normal("w", "f32", 4, 5)
    c.output("y", "f32", z[:, ::-1]), c.output("z", "f32", read(relu(z), at(3)[:, None], at(5) - 1, fill=0.5))
    for s in 0, 4, 5, -1:
        c = Case(spec, "at_scalar")
        x, s = c.normal("x", "f32", 3, 5), int(c.given("s", "i32", s))
        c.output("y", "f32", x[:, s] if 0 <= s < 5 else np.zeros(3))
    c = Case(spec, "twice")
    ids, jds, x = c.given("ids", "i32", [3, 9, 0, 1]), c.given("jds", "i32", [0, 1, 2, 3, 4, -1]), c.normal("x", "f32", 5)
    c.output("y", "f32", read(x, read(ids, jds, fill=-1), fill=-5))


def concat():
    spec = "26_concat"
    for shape in (3, 2, 4), (5, 0, 1):
        c = Case(spec, "three")
        c.output("y", "f32", np.concatenate([c.normal(name, "f32", 3, n) for name, n in zip("abc", shape)], axis=1))
    c = Case(spec, "stacked")
    a, b = c.normal("a", "f32", 2, 5), c.normal("b", "f32", 3, 5)
    c.output("y", "f32", np.concatenate([b * 2, relu(a)]))
    c = Case(spec, "contracted")
    a, b, w = c.normal("a", "f32", 3, 2), c.normal("b", "f32", 3, 4), c.normal("w", "f32", 6, 5)
    c.output("y", "f32", a @ w[:2] + b @ w[2:])
    c = Case(spec, "of_integers")
    a, b = c.integers("a", "i32", 3, low=-2**31, high=2**31 - 1), c.integers("b", "i32", 5, low=-9, high=9)
    c.output("y", "i32", np.concatenate([a, b]))
    c = Case(spec, "relabelled_after")
    a, b = c.normal("s", "f32", 3, 2, 2), c.normal("t", "f32", 2, 4)
    c.output("y", "f32", np.concatenate([b, a.reshape(3, 4), 2 * b]))


def index():
    spec = "27_index"
    c = Case(spec, "iota")
    c.output("y", "i64", np.arange(5))
    c = Case(spec, "flat")
    x = c.normal("x", "f32", 3, 5)
    m, n = np.indices((3, 5))
    c.output("i", "i64", m * 5 + n), c.output("s", "i64", 35), c.output("y", "f32", x * m - n / 2)
    c = Case(spec, "checkered")
    m, n = np.indices((4, 7))
    x = c.normal("x", "f32", 4, 7)
    c.output("y", "f32", np.where((m + n // 2) % 2 == 0, x, -x))
    c = Case(spec, "below")
    m, n = np.indices((4, 6))
    c.output("y", "f32", np.where((n - 2 <= m) & (m != 1), c.normal("x", "f32", 4, 6), -INF))
    c = Case(spec, "lengths")
    x, length = c.normal("x", "f32", 5, 6), c.given("n", "i32", [0, 3, 6, 9, -2])
    s = np.array([x[b, :max(k, 0)].sum() for b, k in enumerate(length)])
    c.output("s", "f32", s), c.output("m", "f32", s / np.maximum(length, 1))
    c = Case(spec, "one_hot")
    ids, w = c.given("ids", "i64", [2, 0, -1, 4, 5]), c.normal("w", "f32", 5, 3)
    hot = np.array([[i == v for v in range(5)] for i in ids])
    c.output("h", "bool", hot), c.output("y", "f32", hot @ w)


def norms():
    spec = "28_norms"
    for m, k, mean in (3, 7, 0), (4, 5, 12):
        c = Case(spec, "norms")
        x, g, b = c.normal("x", "f32", m, k, mean=mean), c.normal("g", "f32", k), c.normal("b", "f32", k)
        c.output("r", "f32", rmsnorm(x, 1, 1e-6) * g), c.output("l", "f32", layernorm(x, 1, 1e-3) * g + b)
        c.output("a", "f32", layernorm(x, (0, 1), 0.5)), c.output("c", "f32", layernorm(x, 0, 1e-5))
    # a row whose maximum is not finite is shifted by 0
    for x in None, [[-INF, -INF, -INF], [INF, 1, 2], [1, INF, INF], [0, NAN, 1], [-INF, 5, 700]]:
        c = Case(spec, "shares")
        x = c.given("x", "f32", x) if x else c.normal("x", "f32", 4, 6, std=20)
        c.output("s", "f32", softmax(x, 1)), c.output("c", "f32", softmax(x, 0)), c.output("a", "f32", softmax(x, (0, 1)))
        c.output("l", "f32", logsumexp(x, 1)), c.output("t", "f32", logsumexp(x, (0, 1)))
    c = Case(spec, "by_hand")
    x = c.normal("x", "f32", 3, 8, std=3)
    c.output("s", "f32", softmax(x, 1)), c.output("l", "f32", logsumexp(x, 1)), c.output("n", "f32", layernorm(x, 1, 1e-5))
    c = Case(spec, "attend")
    q, k, v = c.normal("q", "f32", 3, 4), c.normal("k", "f32", 5, 4), c.normal("v", "f32", 5, 6)
    c.output("o", "f32", softmax(q @ k.T, 1) @ v)


def conditions():
    spec = "29_conditions"
    c = Case(spec, "choose")
    a, b, m = c.normal("a", "f32", 4, 6, std=1.5), c.normal("b", "f32", 6), c.given("m", "bool", [1, 0, 0, 1])[:, None]
    c.output("y", "f32", np.where(m, a, b)), c.output("z", "f32", np.clip(a, -1, 1)), c.output("w", "f32", np.where(m & (a >= b), a, 0))
    c = Case(spec, "logic")
    p, q = c.given("p", "bool", [0, 0, 1, 1, 1]), c.given("q", "bool", [0, 1, 0, 1, 0])
    c.output("c", "bool", p & q), c.output("d", "bool", p | q), c.output("n", "bool", ~p), c.output("x", "bool", p | (~q & ~p))
    c = Case(spec, "compared")
    a, b = c.given("a", "f32", [0, -0.0, 1, NAN, NAN, INF, -INF, 2, 1]), c.given("b", "f32", [-0.0, 0, 2, 1, NAN, INF, INF, 1, NAN])
    for name, v in zip(("lt", "le", "gt", "ge", "eq", "ne"), (a < b, a <= b, a > b, a >= b, a == b, a != b)):
        c.output(name, "bool", v)
    c = Case(spec, "counted")
    x, p, q = c.given("x", "f32", [1.5, -2, 3, NAN]), c.given("p", "bool", [0, 1, 1, 0]), c.given("q", "bool", [1, 0, 1, 1])
    c.output("s", "i32", 2 * p.astype(int) + q), c.output("y", "f32", x * p - q.astype(float)), c.output("n", "bool", np.isnan(x))
    c = Case(spec, "guarded")
    x = c.given("x", "f32", [-1, 0, 2, 0.5, -INF, INF])
    c.output("y", "f32", [math.log(v) if v > 0 and v < INF else INF if v > 0 else 0 for v in x])
    for on, n in (1, 3), (1, 2), (0, 5):
        c = Case(spec, "by_scalar")
        x, on, n = c.normal("x", "f32", 3), bool(c.given("on", "bool", on)), int(c.given("n", "i32", n))
        c.output("y", "f32", x if on else -x), c.output("z", "f32", x * n if n > 2 and on else x)
    c = Case(spec, "precedence")
    a, b, e = c.normal("a", "f32", 7), c.normal("b", "f32", 7), c.normal("c", "f32", 7)
    c.output("p", "f32", (a - b) - e), c.output("q", "f32", (a / b) / e), c.output("r", "f32", -(a * a) - b * e)
    c.output("s", "f32", a**8 / 4), c.output("t", "f32", np.exp2(-b) * e), c.output("u", "bool", (a + b < e * 2) | ((a < b) & (b >= e)))


def extents():
    spec = "30_extents"
    for h in 7, 6, 1:
        c = Case(spec, "pool")
        x = c.normal("x", "f32", h, 3)
        c.output("y", "f32", np.array([x[2 * p:2 * p + 2].max(axis=0) for p in range(h // 2)]).reshape(h // 2, 3))
    c = Case(spec, "window")
    x = np.concatenate([[0], c.normal("x", "f32", 6), [0]])
    c.output("y", "f32", [x[t:t + 3].sum() / 3 for t in range(6)])
    for a, b in (2, 3), (5, 1):  # B from L = 2*A + 3*B
        c = Case(spec, "linear")
        n = 2 * a + 3 * b
        x, s, y = c.normal("x", "f32", n), c.normal("a", "f32", a), c.normal("y", "f32", n)
        c.output("b", "i64", b + np.arange(b)), c.output("s", "f32", s * (x @ y))
    c = Case(spec, "required")
    x, w, p = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 4, 5), c.given("p", "f32", 0.25)
    c.output("y", "f32", x @ w / 0.75)
    c = Case(spec, "square")
    c.output("y", "f32", c.normal("x", "f32", 4, 4) @ c.normal("v", "f32", 4, 3))
    for n in 10, 8, 3:
        c = Case(spec, "ceiling")
        x = c.normal("x", "f32", n)
        c.output("y", "f32", [x[4 * b:4 * b + 4].sum() for b in range((n + 3) // 4)])


def fns():
    spec = "31_fns"
    for half in 0.5, 0.75:
        c = Case(spec, "defaults", defines={} if half == 0.5 else {"half": half})
        x = c.normal("x", "f32", 5)
        c.output("a", "f32", 2 * x + 0.25), c.output("b", "f32", 3 * x + 0.25), c.output("c", "f32", 2 * x - 1)
        c.output("d", "f32", (2 * half + 2) * (2 * x + half) + 0.25)
    c = Case(spec, "bodies")
    x = c.normal("x", "f32", 3, 8)
    m = x.mean(axis=1)
    c.output("d", "f32", x - m[:, None]), c.output("m", "f32", m), c.output("n", "f32", np.sqrt((x * x).sum(axis=1) + 1e-3))
    c.output("e", "f32", np.sqrt((x * x).sum())), c.output("f", "f32", (x[:, :4] * x[:, 4:]).sum(axis=1))
    c = Case(spec, "fresh")  # the fn's own I and J are not the kernel's
    x = c.normal("x", "f32", 5, 6)
    z = relu(x) * 2
    c.output("y", "f32", (x[:, :3] * x[:, 3:] - z[:, :3] * z[:, 3:]).sum(axis=1))
    c = Case(spec, "rebound")
    x = c.normal("x", "f32", 5)
    c.output("y", "f32", ((x + 1) ** 2 - x) * 3)
    c = Case(spec, "read_back")  # what is read back is not yet rounded
    x = c.normal("x", "f32", 5)
    c.output("h", "f16", x / 3), c.output("r", "f32", 2 * x)


def gradients():
    spec = "32_gradients"

    def softmax_bwd(y, dy): return y * (dy - (dy * y).sum(axis=1, keepdims=True))

    for name in "probs", "probs_bwd":
        c = Case(spec, name)
        x, w = c.normal("x", "f64", 3, 4), c.normal("w", "f64", 4, 5)
        y = softmax(x @ w, 1)
        if name == "probs":
            c.output("y", "f64", y)
        else:
            dz = softmax_bwd(y, c.normal("dy", "f64", 3, 5))
            c.output("dx", "f64", dz @ w.T), c.output("dw", "f64", x.T @ dz)
    for name in "dense", "dense_bwd":
        c = Case(spec, name)
        x, w, b = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 5, 4), c.normal("b", "f32", 5)
        z = x @ w.T + b
        if name == "dense":
            c.output("y", "f32", gelu(z))
        else:
            dz = c.normal("dy", "f32", 3, 5) * dgelu(z)
            c.output("dx", "f32", dz @ w), c.output("dw", "f32", dz.T @ x), c.output("db", "f32", dz.sum(axis=0))
    for name in "normed", "normed_bwd":
        c = Case(spec, name)
        x, g = c.normal("x", "f32", 3, 6), c.normal("g", "f32", 6)
        h = layernorm(x, 1, 1e-5)
        if name == "normed":
            c.output("y", "f32", h * g)
        else:
            dy = c.normal("dy", "f32", 3, 6)
            dh, r = dy * g, 1 / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
            c.output("dx", "f32", r * (dh - dh.mean(axis=1, keepdims=True) - h * (dh * h).mean(axis=1, keepdims=True)))
            c.output("dg", "f32", (dy * h).sum(axis=0))
    for name in "filtered", "filtered_bwd":
        c = Case(spec, name)
        x, k = c.normal("x", "f32", 2, 6), c.normal("k", "f32", 3)
        padded = np.pad(x, ((0, 0), (1, 1)))
        if name == "filtered":
            c.output("y", "f32", sum(k[u] * padded[:, u:u + 6] for u in range(3)))
        else:
            dy = c.normal("dy", "f32", 2, 6)
            dx = np.zeros((2, 8))
            for u in range(3):
                dx[:, u:u + 6] += k[u] * dy
            c.output("dx", "f32", dx[:, 1:-1]), c.output("dk", "f32", [(dy * padded[:, u:u + 6]).sum() for u in range(3)])
    for name in "gated", "gated_bwd":
        c = Case(spec, name)
        x = c.normal("x", "f32", 3, 10)
        l, s = x[:, :5], sigmoid(x[:, 5:])
        if name == "gated":
            c.output("y", "f32", l * s)
        else:
            dy = c.normal("dy", "f32", 3, 5)
            c.output("dx", "f32", np.concatenate([dy * s, dy * l * s * (1 - s)], axis=1))
    for name in "two", "two_bwd":
        c = Case(spec, name)
        x, b = c.normal("x", "f32", 4, 3), c.normal("b", "f32", 3)
        if name == "two":
            c.output("s", "f32", logsumexp(x + b, 1)), c.output("t", "f32", (x * x).sum(axis=0) * np.tanh(b))
        else:
            ds, dt = c.normal("ds", "f32", 4), c.normal("dt", "f32", 3)
            p = softmax(x + b, 1) * ds[:, None]
            c.output("dx", "f32", p + 2 * x * (np.tanh(b) * dt))
            c.output("db", "f32", p.sum(axis=0) + (x * x).sum(axis=0) * dt / np.cosh(b) ** 2)
    for name in "scanned", "scanned_bwd":
        c = Case(spec, name)
        x = c.normal("x", "f32", 3, 6)
        if name == "scanned":
            c.output("y", "f32", np.cumsum(x, axis=1) * x)
        else:
            dy = c.normal("dy", "f32", 3, 6)
            later = np.array([[(dy * x)[m, n:].sum() for n in range(6)] for m in range(3)])
            c.output("dx", "f32", dy * np.cumsum(x, axis=1) + later)
    for name in "peaks", "peaks_bwd":
        c = Case(spec, name)
        x = c.normal("x", "f32", 4, 6)
        if name == "peaks":
            c.output("y", "f32", x.max(axis=1) - x.min(axis=1))
        else:
            dy = c.normal("dy", "f32", 4)[:, None]
            c.output("dx", "f32", dy * (x == x.max(axis=1, keepdims=True)) - dy * (x == x.min(axis=1, keepdims=True)))
    for name in "divided", "divided_bwd":
        c = Case(spec, name)
        a, b = c.normal("a", "f32", 8), c.uniform("b", "f32", 8, low=0.5, high=2)
        if name == "divided":
            c.output("y", "f32", a / b + np.exp(a) * np.log(b) - np.sqrt(b) + np.where(a < 0, a * b, b**3))
        else:
            dy = c.normal("dy", "f32", 8)
            c.output("da", "f32", dy * (1 / b + np.exp(a) * np.log(b) + np.where(a < 0, b, 0)))
            c.output("db", "f32", dy * (-a / b**2 + np.exp(a) / b - 0.5 / np.sqrt(b) + np.where(a < 0, a, 3 * b * b)))
    for name in "gram", "gram_bwd":
        c = Case(spec, name)
        x = c.normal("x", "f32", 4, 3)
        if name == "gram":
            c.output("y", "f32", x @ x.T)
        else:
            dy = c.normal("dy", "f32", 4, 4)
            c.output("dx", "f32", (dy + dy.T) @ x)


def small_floats():
    spec = "33_small_floats"
    c = Case(spec, "bf")
    x, w = c.normal("x", "bf16", 3, 7), c.normal("w", "bf16", 5, 7)
    c.output("y", "bf16", x @ w.T), c.output("s", "f32", x.sum(axis=1))
    c = Case(spec, "f8")
    x, w, s = c.normal("x", "f8e4m3", 3, 6), c.normal("w", "f8e5m2", 6, 4), c.normal("sx", "f32", 3)
    c.output("y", "f16", s[:, None] * (x @ w))
    c = Case(spec, "each")
    a = c.given("a", "f16", [65504, 2.0**-24, 2.0**-14, -1.5, INF, NAN, 0.0999755859375])
    b = c.given("b", "bf16", [2.0**100, 2.0**-133, -2.0**-126, 3.140625, 1, -INF, 255])
    d = c.given("c", "f8e4m3", [448, 2.0**-9, -2.0**-6, 1.875, -0.0, 2, 0.4375])
    e = c.given("d", "f8e5m2", [57344, 2.0**-16, -2.0**-14, 1.75, 3, 4, NAN])
    c.output("p", "f32", a + b * d - e), c.output("q", "f16", a)


def f64():
    spec = "34_f64"
    c = Case(spec, "dense")
    c.output("y", "f64", gelu(c.normal("x", "f64", 3, 7) @ c.normal("w", "f64", 7, 4) + c.normal("b", "f64", 4)))
    c = Case(spec, "mixed")
    x, y, i = c.normal("x", "f32", 6), c.normal("y", "f64", 6), c.integers("i", "i64", 6, low=-1000, high=1000)
    c.output("z", "f64", x + y * i), c.output("r", "f64", rounded("f32", y) - y), c.output("d", "f64", x / 3)
    c = Case(spec, "spread")
    x = c.normal("x", "f64", 3, 8, mean=5)
    c.output("m", "f64", x.mean(axis=1)), c.output("v", "f64", x.var(axis=1)), c.output("s", "f64", softmax(x, 1))


def specials():
    spec = "35_specials"
    a, b = np.meshgrid([NAN, INF, -INF, 0.5, -2, 7, 0], [NAN, INF, -INF, 0.25, -1])
    c = Case(spec, "pointwise")
    a, b = c.given("a", "f32", a.ravel()), c.given("b", "f32", b.ravel())
    c.output("hi", "f32", np.maximum(a, b)), c.output("lo", "f32", np.minimum(a, b)), c.output("c", "f32", np.clip(a, -1, 1))
    c.output("r", "f32", relu(a)), c.output("s", "f32", np.clip(a, 0, 6)), c.output("q", "bool", np.isnan(a + b))
    c = Case(spec, "reduced")
    x = c.given("x", "f32", [[1, NAN, 3, -INF], [INF, 2, INF, 0], [-INF, INF, 1, 1], [-INF, -INF, -INF, -INF], [3, 1, 1, 3], [NAN, NAN, 1, 0]])
    c.output("hi", "f32", x.max(axis=1)), c.output("lo", "f32", x.min(axis=1)), c.output("s", "f32", x.sum(axis=1)), c.output("p", "f32", x.prod(axis=1))
    c.output("a", "i64", np.argmax(x, axis=1)), c.output("b", "i64", np.argmin(x, axis=1)), c.output("m", "f32", x.mean(axis=1))
    c = Case(spec, "divided")
    a = c.given("a", "f32", [1, -1, 0, INF, -INF, NAN, 1, 88, -200, 3])
    b = c.given("b", "f32", [0, 0, 0, INF, 2, 1, INF, 2, -INF, -4])
    c.output("d", "f32", a / b), c.output("e", "f32", np.exp(a)), c.output("g", "f32", sigmoid(a) - np.tanh(a)), c.output("l", "f32", np.log(np.abs(b)))
    c = Case(spec, "masked")
    x, keep = c.normal("x", "f32", 4, 5), c.given("keep", "bool", [[1, 0, 1, 1, 0], [0] * 5, [0, 0, 0, 1, 0], [1] * 5])
    v = np.where(keep, x, -INF)
    c.output("s", "f32", softmax(v, 1)), c.output("l", "f32", logsumexp(v, 1))


def empty():
    spec = "36_empty"
    c = Case(spec, "reduced")
    c.normal("x", "f32", 3, 0)
    # open: the mean of nothing is 0/0
    for name, dtype, v in ("s", "f32", 0), ("p", "f32", 1), ("hi", "f32", -INF), ("lo", "f32", INF), ("l", "f32", -INF), ("m", "f32", NAN), \
                          ("some", "bool", 0), ("every", "bool", 1), ("n", "i32", 0):
        c.output(name, dtype, [v] * 3)
    for m, k, n in (3, 0, 4), (0, 5, 4), (3, 5, 0):
        c = Case(spec, "dense")
        x, w, b = c.normal("x", "f32", m, k), c.normal("w", "f32", k, n), c.normal("b", "f32", n)
        c.output("y", "f32", relu(x @ w + b))
    for a, b in (0, 3), (2, 0), (0, 0):
        c = Case(spec, "joined")
        c.output("y", "f32", np.concatenate([c.normal("a", "f32", 2, a), c.normal("b", "f32", 2, b)], axis=1))
    c = Case(spec, "outside")  # a table without rows: every id is outside
    c.given("ids", "i32", [0, 1, -1, 5]), c.normal("t", "f32", 0, 3)
    c.output("y", "f32", np.full((4, 3), 3))
    for m, n in (3, 0), (0, 4):
        c = Case(spec, "scanned")
        c.output("y", "f32", c.normal("x", "f32", m, n))


def pointwise():
    spec = "37_pointwise"
    grid = rounded("f32", [-8.5, -6, -3, -2.5, -1, -0.75, -0.1, -1e-3, 0, 1e-3, 0.3, 0.5, 1, 1.5, 2.5, 3, 6, 7.25])
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    for source in "normal", "grid":
        c = Case(spec, "activations")
        x = c.given("x", "f32", grid) if source == "grid" else c.normal("x", "f32", 9)
        for name, v in zip("abcdefgh", (relu(x), np.clip(x, 0, 6), np.where(x > 0, x, 0.01 * x), gelu(x), gelu_tanh(x), x * sigmoid(x), sigmoid(x), np.tanh(x))):
            c.output(name, "f32", v)
        c = Case(spec, "more")
        x = c.given("x", "f32", grid) if source == "grid" else c.normal("x", "f32", 9)
        for name, v in zip("abcdefg", (np.where(x > 0, x, np.expm1(x)), scale * np.where(x > 0, x, alpha * np.expm1(x)), softplus(x), x * np.tanh(softplus(x)),
                                       x * np.clip(x + 3, 0, 6) / 6, np.clip(x, -1, 1), dgelu(x))):
            c.output(name, "f32", v)
    c = Case(spec, "given")
    x = c.given("x", "f32", grid)
    c.output("a", "f32", np.where(x > 0, x, 0.25 * x)), c.output("b", "f32", np.where(x > 0, x, 0.5 * np.expm1(x))), c.output("c", "f32", np.clip(x, -0.5, 1.5))
    c = Case(spec, "elementary")
    x, y = c.normal("x", "f32", 9, std=2), c.uniform("y", "f32", 9, low=0.1, high=20)
    for name, v in zip("abcdefghi", (np.exp(x), np.exp2(x), np.log(y), np.log2(y), np.sqrt(y), 1 / np.sqrt(y), erf(x), np.sin(x), np.cos(x))):
        c.output(name, "f32", v)
    c = Case(spec, "stepped")  # round: halves to even; open: sign(0) = 0, sign(NaN) = NaN
    x = c.given("x", "f32", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, -0.25, 0, 0.75, 1e10, NAN, INF, -INF, 2.0**23 + 1])
    for name, v in zip("abcde", (np.abs(x), np.sign(x), np.floor(x), np.ceil(x), np.rint(x))):
        c.output(name, "f32", v)
    c = Case(spec, "several")
    x, y, z = c.normal("x", "f32", 9), c.uniform("y", "f32", 9, low=0.1, high=3), c.normal("z", "f32", 9)
    for name, v in zip("abcdef", (np.minimum(x, z), np.maximum(x, z), y**x, x * y + z, y * y, np.where(x < z, x, y))):
        c.output(name, "f32", v)
    for values in ([-0.5, -1e-3, -1e-8, -1e-30, 0, 1e-30, 1e-8, 1e-3, 0.5, 3, 80], [-1, -2, INF, NAN, -0.0]):
        c = Case(spec, "near_zero")
        x = c.given("x", "f32", rounded("f32", values))
        c.output("a", "f32", np.log1p(x)), c.output("b", "f32", np.expm1(x))
    c = Case(spec, "softplus_far")  # neither end overflows
    x = c.given("x", "f32", [1000, -1000, 60, -60, INF, -INF, NAN])
    c.output("y", "f32", softplus(x))


def orders():
    spec = "38_orders"
    c = Case(spec, "chain")
    c.output("y", "f32", c.normal("a", "f32", 2, 3) @ c.normal("b", "f32", 3, 4) @ c.normal("c", "f32", 4, 5))
    c = Case(spec, "batched")
    c.output("y", "f32", np.einsum("mbk,kbn->bnm", c.normal("a", "f32", 4, 2, 5), c.normal("b", "f32", 5, 2, 3)))
    c = Case(spec, "several")
    c.output("y", "f32", np.einsum("kml,lnk->mn", c.normal("a", "f32", 3, 4, 2), c.normal("b", "f32", 2, 5, 3)))
    c = Case(spec, "named")
    c.output("y", "f32", c.normal("a", "f32", 6, 3).T @ c.normal("b", "f32", 6, 4))
    c = Case(spec, "dot")
    y = c.normal("x", "f32", 7) @ c.normal("w", "f32", 7)
    c.output("y", "f32", y), c.output("z", "f32", 2 * y)
    c = Case(spec, "outer")
    x, w, b = c.normal("x", "f32", 3), c.normal("w", "f32", 5), c.normal("b", "f32", 3, 5)
    c.output("y", "f32", np.outer(w, x)), c.output("z", "f32", np.outer(x, w) - b)
    c = Case(spec, "fullest")
    b, x, w = c.normal("b", "f32", 3), c.normal("x", "f32", 3, 6), c.normal("w", "f32", 6, 4)
    c.output("y", "f32", (b[:, None] * x) @ w)
    c = Case(spec, "broadcast")
    b, x = c.normal("b", "f32", 5), c.normal("x", "f32", 3)
    c.output("y", "f32", np.tile(b, (3, 1))), c.output("z", "f32", np.repeat(x, 5).reshape(3, 5))
    c = Case(spec, "both_stored")
    x, w, v = c.normal("x", "f32", 3, 6), c.normal("w", "f32", 4, 6), c.normal("v", "f32", 4, 5)
    c.output("y", "f32", (x @ w.T @ v).T)
    c = Case(spec, "tighter")
    x, A, B, d = c.normal("x", "f32", 3, 5), c.normal("A", "f32", 5, 2), c.normal("B", "f32", 2, 4), c.normal("c", "f32", 3, 4)
    c.output("y", "f32", 0.5 * ((x @ A) @ B) - d * d / 4)
    c = Case(spec, "scalars")
    x, a, s, n = c.normal("x", "f32", 5), c.given("a", "f32", -1.5), c.given("s", "f32", 0.375), c.given("n", "i32", 3)
    c.output("y", "f32", a * x + s * 3)
    c = Case(spec, "laid_out")
    c.output("y", "f32", c.normal("x", "f32", 3, 6) @ c.normal("w", "f32", 6, 5))


def packed():
    spec, word = "39_packed", dict(low=-2**31, high=2**31 - 1)
    for n in 11, 16:
        for kernel in "unsigned", "signed", "from_high":
            c = Case(spec, kernel)
            w = fields(c.integers("w", "i32", 3, (n + 7) // 8, **word), 4, n, is_signed=kernel != "unsigned", msb=kernel == "from_high")
            c.output("y", "f32", w @ c.normal("x", "f32", n)), c.output("e", "i32", w * 2 if kernel == "from_high" else w)
    c = Case(spec, "first_axis")
    w = fields(c.integers("w", "u32", 2, 3, low=0, high=2**32 - 1).T, 4, 13).T
    c.output("y", "f32", c.normal("x", "f32", 13) @ w), c.output("e", "i32", w - 8)
    c = Case(spec, "in_bytes")
    w = fields(c.integers("w", "u8", 4, 3, low=0, high=255), 4, 5, word_bits=8)
    c.output("y", "f32", w @ c.normal("x", "f32", 5, 2))
    c = Case(spec, "bytes")
    w = fields(c.integers("w", "i32", 3, 2, **word), 8, 6, is_signed=True)
    c.output("y", "f32", w @ c.normal("x", "f32", 6)), c.output("e", "i32", w)
    for n in 11, 8:
        c = Case(spec, "extent_given", extents={"L": n})
        c.output("e", "i32", fields(c.integers("w", "i32", 2, (n + 7) // 8, **word), 4, n))


def rands():
    spec = "40_rand"
    for seed, off in (3, 5), (2**64 - 1, 2**64 - 2), (2**32, 0):
        c = Case(spec, "listed")
        c.normal("x", "f32", 3, 5)
        seed, off = c.given("seed", "u64", seed), c.given("off", "u64", off)
        c.output("a", "f32", rand((3, 5), seed, off)), c.output("b", "f32", rand((5, 3), seed, off).T), c.output("c", "f32", rand((5,), seed, int(off) + 1))
    c = Case(spec, "noisy")
    x, seed = c.normal("x", "f32", 4, 3), c.given("seed", "u64", 2**53 + 1)
    c.output("y", "f32", x + (rand((4, 3), seed, 7) - 0.5))
    c = Case(spec, "beside")
    x, seed, off = c.normal("x", "f32", 4, 7), c.given("seed", "u64", 11), c.given("off", "u64", 2**40)
    c.output("y", "f32", np.where(rand((4, 7), seed, off) < 0.5, x, 0).sum(axis=0))


def drawn(c, name, dtype, *shape):
    """Few elements of any value, many small integers: a file has them all."""
    return c.normal(name, dtype, *shape) if np.prod(shape) < 24 else c.integers(name, dtype, *shape, low=-3, high=3)


def in_place():
    spec = "41_in_place"
    for b, t in (5, 7), (2, 65):
        c = Case(spec, "softmax")
        c.output("x", "f32", softmax(drawn(c, "x", "f32", b, t), 1))
        c = Case(spec, "columns")
        x = drawn(c, "x", "f16", b, t)
        c.output("x", "f16", x - x.mean(axis=0))
    c = Case(spec, "few")
    x = c.integers("x", "f32", 2, 70, low=-2, high=3)
    s = x.sum(axis=1)
    c.output("x", "f32", x / (1 + abs(s))[:, None]), c.output("s", "f32", s)
    for m, n, k in (4, 5, 3), (65, 8, 8), (3, 72, 8), (4, 8, 72):  # past the edge of a tile in one direction each
        c = Case(spec, "accumulate")
        x = drawn(c, "c", "f32", m, n)
        c.output("c", "f32", x + drawn(c, "a", "f16", m, k) @ drawn(c, "b", "f16", k, n)), c.output("y", "f32", x)
        if m > 8 or n > 8:
            continue
        c = Case(spec, "operand")
        c.output("x", "f32", relu(drawn(c, "x", "f32", m, n) @ drawn(c, "w", "f32", n, n)))
        c = Case(spec, "late")
        x = drawn(c, "x", "f16", m, k)
        c.output("x", "f16", 0.5 * x), c.output("y", "f16", x @ drawn(c, "w", "f16", k, n))
    c = Case(spec, "first")
    x = drawn(c, "x", "f16", 6, 56)
    c.output("x", "f16", 2 * x), c.output("y", "f16", x[0])
    c = Case(spec, "reversed")
    x = c.integers("x", "i32", 71, low=-2**31, high=2**31 - 10)
    c.output("x", "i32", x[::-1] + c.given("n", "i32", 9))
    c = Case(spec, "swapped")
    a, b = drawn(c, "a", "f32", 4, 9), drawn(c, "b", "f32", 4, 9)
    c.output("a", "f32", b), c.output("b", "f32", a)
    c = Case(spec, "crossed")
    a, b = drawn(c, "a", "f32", 5, 8), drawn(c, "b", "f32", 8, 5)
    a = a + b.sum(axis=1)
    c.output("a", "f32", a), c.output("b", "f32", b + a.sum(axis=1))
    for r, k in (5, 9), (1, 70):
        c = Case(spec, "scaled")
        a, s = drawn(c, "a", "f32", r, k), drawn(c, "s", "f32", r)
        c.output("s", "f32", s + a.sum(axis=1)), c.output("y", "f32", a * (s / abs(a).sum(axis=1))[:, None])
    c = Case(spec, "counted")
    n, a = c.integers("n", "i32", 20, low=-9, high=9), c.integers("a", "bool", 20, 33, low=0, high=1)
    c.output("n", "i32", n + a.astype(np.int64).sum(axis=1))
    for t in 6, 70:
        c = Case(spec, "running")
        x = c.integers("x", "f32", 3, t, low=-3, high=4)
        c.output("x", "f32", np.cumsum(x, axis=1) + x.max(axis=1)[:, None])
    c = Case(spec, "shifted")
    x = c.integers("x", "f32", 3, 37, low=-3, high=4)
    c.output("x", "f32", 0.5 * x + np.pad(x, ((0, 0), (1, 0)))[:, :-1])
    c = Case(spec, "picked")
    p, t = c.integers("p", "i64", 40, low=-3, high=12), c.integers("t", "i64", 10, low=0, high=99)
    c.output("p", "i64", np.where((p >= 0) & (p < 10), t[np.clip(p.astype(int), 0, 9)], -1))
    c = Case(spec, "filled")
    x, b = drawn(c, "x", "bf16", 7, 24), c.given("b", "f32", np.arange(24) / 4)
    c.output("x", "bf16", np.tile(b, (7, 1))), c.output("y", "f32", x.max(axis=1))


def strided():
    spec = "42_strided"
    for m, n in (5, 7), (6, 32), (1, 8), (0, 4):
        c = Case(spec, "scale")
        c.output("y", "f32", drawn(c, "x", "f32", m, n) * 2 + drawn(c, "b", "f32", n))
        c = Case(spec, "moved")
        x = drawn(c, "x", "f32", m, n)
        c.output("x", "f32", x + 0.5 * drawn(c, "t", "f32", m, n))
    c = Case(spec, "scale") # what does not change along an axis may have stride 0 there
    x, b = np.repeat(np.arange(6.0), 16).reshape(6, 16), np.full(16, 2.5)
    c.output("y", "f32", c.given("x", "f32", x) * 2 + c.given("b", "f32", b))
    for a, b, d in (3, 4, 16), (2, 5, 9):
        c = Case(spec, "kinds")
        x, k, w = drawn(c, "x", "f16", a, b, d), c.integers("k", "i8", a, d, low=-128, high=127), c.integers("c", "bool", b, d, low=0, high=1)
        c.output("y", "bf16", np.where(w, x, 0).transpose(0, 2, 1)), c.output("z", "i32", np.where(w, k[:, None, :], 1))
    for m, n, k in (4, 5, 3), (65, 8, 8), (3, 72, 8), (4, 8, 72):  # past the edge of a tile in one direction each
        c = Case(spec, "product")
        c.output("y", "f16", relu(drawn(c, "x", "f16", m, k) @ drawn(c, "w", "f16", k, n) + drawn(c, "r", "f32", m, n)))
        if m > 8:
            continue
        c = Case(spec, "product_nk")
        x = drawn(c, "x", "bf16", k, m)
        c.output("y", "f32", drawn(c, "w", "bf16", n, k) @ x)
    for m, n, k in (4, 5, 3), (65, 4, 4), (4, 68, 4), (4, 4, 20):
        c = Case(spec, "product_f32")
        c.output("y", "f32", drawn(c, "x", "f32", 2, m, k) @ drawn(c, "w", "f32", 2, k, n))
    c = Case(spec, "product")
    x = np.repeat(np.arange(16.0)[None, :] / 8, 8, axis=0)
    c.output("y", "f16", relu(c.given("x", "f16", x) @ drawn(c, "w", "f16", 16, 8) + drawn(c, "r", "f32", 8, 8)))
    c = Case(spec, "two_sums")
    c.output("y", "f32", np.einsum("jml,nlj->mn", drawn(c, "x", "f32", 2, 20, 8), drawn(c, "w", "f32", 13, 8, 2)))
    for b, t in (5, 7), (1, 70), (9, 8):
        c = Case(spec, "softmax")
        c.output("z", "bf16", softmax(drawn(c, "x", "bf16", b, t), 1))
        c = Case(spec, "place")
        c.output("a", "i64", drawn(c, "x", "f32", b, t).argmax(axis=1))
        if t > 8:
            continue
        c = Case(spec, "columns")
        x, s = drawn(c, "x", "f32", 3, b, t), drawn(c, "s", "f32", b, t)
        m = x.max(axis=(0, 1))
        c.output("m", "f32", m), c.output("y", "f32", x * s - m)
    for t in 9, 140:
        c = Case(spec, "running")
        c.output("y", "f64", np.cumsum(c.integers("x", "f64", t, low=-9, high=9)))
    c = Case(spec, "gathered")
    t, i = c.integers("t", "f32", 9, 20, low=-9, high=9), c.integers("i", "i64", 13, low=-2, high=10)
    c.output("y", "f32", np.where(((i >= 0) & (i < 9))[:, None], t[np.clip(i.astype(int), 0, 8)], 0))
    for n in 16, 16 * 8:
        c = Case(spec, "words")
        w = fields(c.integers("w", "i32", 5, n // 8, low=-2**31, high=2**31 - 1), 4, n)
        c.output("y", "f32", w @ drawn(c, "x", "f32", n))
    c = Case(spec, "turned")
    c.output("x", "f16", drawn(c, "x", "f16", 9, 24)[::-1])
    c = Case(spec, "one")
    c.output("y", "f32", -drawn(c, "x", "f32", 5, 1, 12).transpose(1, 0, 2))
    c = Case(spec, "attended")
    q, k, v = c.normal("q", "f16", 2, 5, 8), c.normal("k", "f16", 2, 7, 8), c.normal("v", "f16", 2, 7, 4)
    s = q @ k.transpose(0, 2, 1)
    c.output("o", "f16", softmax(s, 2) @ v), c.output("l", "f32", s.max(axis=2))


def recur(a, b, start=None):
    """h = a h + b along the last axis, from nothing or from what is given for the other axes."""
    a, b = np.broadcast_arrays(a, b)
    h = np.zeros(b.shape, b.dtype)
    for t in range(b.shape[-1]):
        h[..., t] = a[..., t] * h[..., t - 1] + b[..., t] if t else b[..., 0] if start is None else a[..., 0] * start + b[..., 0]
    return h


def recurrences():
    spec = "43_recurrences"
    for special in False, True:
        c = Case(spec, "last")
        a = c.given("a", "f32", [[NAN, 0, -2, 1, 3], [1, 1, NAN, 0, 1], [5, 1, 1, 0, 1]]) if special else c.uniform("a", "f32", 4, 7, low=-1)
        b = c.given("b", "f32", [[1, -1, 2, 0, 3], [1, 2, 3, 4, 5], [2, INF, 7, 1, 1]]) if special else c.normal("b", "f32", 4, 7)
        c.output("h", "f32", recur(a, b))
    c = Case(spec, "first")
    a, b, s = c.uniform("a", "f32", 6, 5, low=-1), c.normal("b", "f32", 6, 5), c.normal("s", "f32", 5)
    c.output("h", "f32", recur(a.T, b.T).T), c.output("g", "f32", recur(a.T, b.T, s).T)
    c = Case(spec, "decays")
    a, x, g, s = c.uniform("a", "f32", 3), c.normal("x", "f16", 2, 9, 3, 4), c.normal("g", "f16", 2, 9, 3), c.given("s", "f32", 0.75)
    h = recur(a[:, None, None], (x * (1 - a)[:, None]).transpose(0, 2, 3, 1), s).transpose(0, 3, 1, 2)
    c.output("y", "f16", (g * sigmoid(g))[..., None] * h)
    c = Case(spec, "of_integers")
    c.output("h", "i32", recur(c.integers("a", "i32", 12, low=-2, high=2), c.integers("b", "i32", 12, low=-9, high=9)))
    c = Case(spec, "of_factors")
    a, b = c.uniform("a", "f32", 3, 6, low=-1), c.normal("b", "f32", 3)
    c.output("h", "f32", recur(a, b[:, None]))
    for special in False, True:
        c = Case(spec, "extremes")
        x = c.given("x", "f32", [[1, 2, NAN, 3], [-INF, -2, INF, -5], [4, 2, 1, NAN]]) if special else c.normal("x", "f32", 5, 8)
        for name, f, axis in ("a", np.maximum, 1), ("b", np.minimum, 1), ("c", np.maximum, 0), ("d", np.minimum, 0):
            c.output(name, "f32", f.accumulate(x, axis=axis))
    c = Case(spec, "of_conditions")
    c.output("y", "i32", np.maximum.accumulate((c.normal("x", "f32", 3, 8, mean=-1) > 0).astype(np.int64), axis=1))
    c = Case(spec, "last_bwd")
    a, b, dh = c.uniform("a", "f32", 3, 6, low=-1), c.normal("b", "f32", 3, 6), c.normal("dh", "f32", 3, 6)
    db = recur(np.concatenate([a[:, :1], a[:, :0:-1]], axis=1), dh[:, ::-1])[:, ::-1]
    c.output("da", "f32", db * np.concatenate([np.zeros((3, 1)), recur(a, b)[:, :-1]], axis=1)), c.output("db", "f32", db)
    c = Case(spec, "largest")
    c.output("y", "f32", np.maximum.accumulate(c.normal("x", "f32", 9)))
    c = Case(spec, "largest_bwd")  # the first 2 is the extreme twice, then shares with the second; 3 is it once, then 5
    c.given("x", "f32", [2, 1, 2, 3, 0, 5, 5]), c.given("dy", "f32", [1, 10, 100, 1000, 10000, 4, 8])
    c.output("dx", "f32", [1 + 10 + 50, 0, 50, 11000, 0, 4 + 4, 4])


def products():
    spec = "44_products"
    for m, n, k in (4, 5, 7), (3, 2, 0):
        c = Case(spec, "three")
        x, w, s = c.normal("x", "f32", m, k), c.normal("w", "f32", n, k), c.uniform("s", "f32", k, low=0.5, high=2)
        for name, f in ("y", s), ("z", s), ("q", 1 / s):
            c.output(name, "f32", np.einsum("mk,nk,k->mn", x, w, f))
    c = Case(spec, "ints")
    x, w, s = c.integers("x", "i8", 3, 6, low=-128, high=127), c.integers("w", "i8", 4, 6, low=-128, high=127), c.integers("s", "i32", 6, low=-9, high=9)
    c.output("y", "i32", np.einsum("mk,nk,k->mn", x, w, s))
    c = Case(spec, "narrow")
    x, w, s = c.normal("x", "f16", 2, 3, 5), c.normal("w", "f16", 2, 4, 5), c.normal("s", "f32", 2, 5)
    c.output("y", "f32", np.einsum("bmk,bnk,bk->bmn", x, w, s))
    c = Case(spec, "bilinear")
    x, w, y = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 2, 4, 5), c.normal("y", "f32", 3, 5)
    c.output("z", "f32", np.einsum("bi,oij,bj->bo", x, w, y))
    c = Case(spec, "two_weights")
    x, u, v = c.normal("x", "f32", 3, 4), c.normal("u", "f32", 4, 5), c.normal("v", "f32", 5, 6)
    c.output("z", "f32", np.einsum("bi,ij,jo->bo", x, u, v))
    c = Case(spec, "ring")
    a, b, d, e = c.normal("a", "f32", 3, 4), c.normal("b", "f32", 4, 2), c.normal("c", "f32", 2, 5), c.normal("d", "f32", 5, 3)
    c.output("t", "f32", np.einsum("ij,jk,kl,li->", a, b, d, e))
    c = Case(spec, "core")
    g, a, b, d = c.normal("g", "f32", 2, 3, 2), c.normal("a", "f32", 4, 2), c.normal("b", "f32", 3, 3), c.normal("c", "f32", 5, 2)
    c.output("t", "f32", np.einsum("pqr,ip,jq,kr->ijk", g, a, b, d))
    c = Case(spec, "form")
    x, w = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 4, 4)
    c.output("q", "f32", np.einsum("mi,ij,mj->m", x, w, x))
    c = Case(spec, "then")
    x, u, v, z = c.normal("x", "f32", 3), c.normal("u", "f32", 3, 4), c.normal("v", "f32", 4, 2), c.normal("z", "f32", 2, 5)
    c.output("y", "f32", np.einsum("i,ij,jo,op->p", x, u, v, z))
    c = Case(spec, "stored")
    x, w, s = c.normal("x", "f32", 2, 3), c.normal("w", "f32", 4, 3), c.normal("s", "f32", 3)
    p = np.einsum("mk,nk,k->mnk", x, w, s)
    c.output("p", "f32", p), c.output("y", "f32", p.sum(axis=2))
    c = Case(spec, "rows")
    x, y, z = c.normal("x", "f32", 3, 6), c.uniform("y", "f32", 3, 6, low=0.5, high=2), c.uniform("z", "f32", 6, low=0.5, high=2)
    c.output("s", "f32", (x * y * z).sum(axis=1)), c.output("t", "f32", (x / z / y).sum(axis=1))
    c = Case(spec, "one")
    x, w, s = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 2, 4), c.normal("s", "f32", 4)
    c.output("y", "f32", np.einsum("mk,nk,k->mn", x, w, s))
    c = Case(spec, "one_bwd")
    x, w, s, dy = c.normal("x", "f32", 3, 4), c.normal("w", "f32", 2, 4), c.normal("s", "f32", 4), c.normal("dy", "f32", 3, 2)
    c.output("dx", "f32", np.einsum("mn,nk,k->mk", dy, w, s)), c.output("dw", "f32", np.einsum("mn,mk,k->nk", dy, x, s)), c.output("ds", "f32", np.einsum("mn,mk,nk->k", dy, x, w))


def tails():
    spec = "45_tails"
    c = Case(spec, "tails")
    x = c.uniform("x", "f32", 12, low=-36, high=-32)
    soft = np.log1p(np.exp(x))
    c.output("a", "f32", soft), c.output("b", "f32", np.exp(x) / (1 + np.exp(x))), c.output("c", "f32", x * np.exp(x) / (1 + np.exp(x)))
    c.output("d", "f32", gelu(x / 4)), c.output("e", "f32", x * np.tanh(soft))
    c = Case(spec, "near_zero")
    x = c.uniform("x", "f32", 12, low=-2e-12, high=2e-12)
    elu = np.where(x > 0, x, np.expm1(x))
    c.output("a", "f32", elu), c.output("b", "f32", 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)))
    c.output("c", "f32", np.tanh(x)), c.output("d", "f32", x * np.tanh(np.log1p(np.exp(x))))


def placed(x, axis, at, v):
    """x with x[:, .., at] = v along the axis; at is an array over the axes before it, or a number. Outside nothing is written."""
    x = np.array(x)
    at = np.broadcast_to(np.asarray(at, dtype=np.int64), x.shape[:axis])
    for where in np.ndindex(*at.shape):
        if 0 <= at[where] < x.shape[axis]:
            x[where + (at[where],)] = v[where]
    return x


def places():
    spec = "46_places"
    for b, t, h, d in (3, 5, 2, 8), (2, 9, 3, 5), (0, 4, 1, 8), (2, 0, 1, 8):
        c = Case(spec, "decode")
        x, k, at = c.normal("cache", "f16", b, t, h, d), c.normal("k", "f16", b, h, d), c.integers("at", "i32", b, low=-2, high=t + 1)
        c.output("cache", "f16", placed(x, 1, at, k))
    for b, t, s, d in (3, 9, 4, 8), (2, 7, 3, 5):
        c = Case(spec, "append")
        x, k, at = c.normal("cache", "f32", b, t, d), c.normal("k", "f32", b, s, d), c.given("at", "i64", [t - 2, 1, -2][:b])
        for i in range(s):
            x = placed(x, 1, np.array([int(a) for a in at]) + i, 2 * k[:, i])
        c.output("cache", "f32", x)
        c = Case(spec, "append_bwd")
        c.normal("cache", "f32", b, t, d), c.normal("k", "f32", b, s, d)
        at = np.array([int(a) for a in c.given("at", "i64", [t - 2, 1, -2][:b])])
        dx = c.normal("dcache", "f32", b, t, d)
        rest, dk = np.array(dx), np.zeros((b, s, d))
        for i in range(b):
            for j in range(s):
                if 0 <= at[i] + j < t:
                    rest[i, at[i] + j], dk[i, j] = 0, 2 * dx[i, at[i] + j]
        c.output("dcache_", "f32", rest), c.output("dk", "f32", dk)
    for b, d, t, s, at in (2, 5, 9, 4, 3), (2, 8, 16, 4, 14):
        c = Case(spec, "turned")
        x, k, at = np.array(c.normal("cache", "f16", b, d, t)), c.normal("k", "f16", b, s, d), int(c.given("at", "i32", at))
        n = min(s, t - at)
        x[:, :, at:at + n] = k[:, :n].transpose(0, 2, 1)
        c.output("cache", "f16", x)
    for b, t, e in (3, 5, 8), (2, 4, 3):
        c = Case(spec, "rotated")
        kc, vc, k, v = c.normal("kc", "f16", b, t, 2 * e), c.normal("vc", "f16", b, t, 2 * e), c.normal("k", "f16", b, 2 * e), c.normal("v", "f16", b, 2 * e)
        cs, sn, at = c.normal("c", "f32", b, e), c.normal("s", "f32", b, e), c.integers("at", "i32", b, low=0, high=t - 1)
        l, r = k[:, :e], k[:, e:]
        c.output("kc", "f16", placed(kc, 1, at, np.concatenate([l * cs - r * sn, r * cs + l * sn], 1))), c.output("vc", "f16", placed(vc, 1, at, v))
    c = Case(spec, "column")
    x, v, i = c.integers("x", "i32", 9, 7, low=-9, high=9), c.integers("v", "i32", 9, low=-99, high=99), c.integers("i", "i32", 9, low=-1, high=7)
    c.output("x", "i32", placed(x, 1, i, v))
    for m, n, i in (5, 7, 3), (3, 40, 3), (4, 40, 0):
        c = Case(spec, "cleared")
        x = np.array(c.integers("x", "bool", m, n, low=0, high=1))
        i = int(c.given("i", "i32", i))
        x[i:i + 1] = False
        c.output("x", "bool", x.astype(int))
    c = Case(spec, "diagonal")
    x, v = np.array(c.normal("x", "f32", 7, 7)), c.normal("v", "f32", 7)
    np.fill_diagonal(x, v)
    c.output("x", "f32", x)
    c = Case(spec, "knight")
    x, v = np.array(c.normal("x", "f32", 4, 9)), c.normal("v", "f32", 5, 4)
    for i in range(5):
        for j in range(4):
            if 2 * i + j < 9:
                x[3 - j, 2 * i + j] = v[i, j]
    c.output("x", "f32", x)
    c = Case(spec, "ring")
    x, v, n = c.normal("x", "f32", 5, 4, 8), c.normal("v", "f32", 5, 8), c.integers("n", "i32", 5, low=-9, high=99)
    c.output("x", "f32", placed(x, 1, n % 4, v))
    for d in 8, 5:
        b, t = 4, 6
        c = Case(spec, "decayed")
        x, v, at = c.normal("x", "f32", b, t, d), c.normal("v", "f32", b, d), c.given("at", "i32", [3, 0, 6, -1])
        c.output("x", "f32", placed(x, 1, at, 0.5 * x[np.arange(b), np.clip(at, 0, t - 1)] + v))
        c = Case(spec, "first")
        x, v, at = c.normal("x", "f32", b, t, d), c.normal("v", "f32", b, d), c.given("at", "i32", [3, 0, 6, -1])
        c.output("x", "f32", placed(x, 1, at, v + x[:, 0]))
        c = Case(spec, "counted")
        x, n, v = c.normal("x", "f32", b, t, d), c.given("n", "i32", [3, 0, 6, 5]), c.normal("v", "f32", b, d)
        c.output("x", "f32", placed(x, 1, n, v)), c.output("n", "i32", n + 1)
        c = Case(spec, "crossed")
        x, n, v = c.normal("x", "f32", b, t, d), c.given("n", "i32", [3, 0, 6, 5]), c.normal("v", "f32", b, d)
        after = np.concatenate([x, np.zeros((b, 2, d))], 1)[np.arange(b), n + 1]
        c.output("x", "f32", placed(x, 1, n, v + after)), c.output("n", "i32", n[::-1])
        c = Case(spec, "around")
        x, v, at = c.normal("x", "f32", b, t, d), c.normal("v", "f32", b, d), c.given("at", "i32", [3, 0, 6, 5])
        y = placed(x, 1, at, v)
        c.output("x", "f32", y), c.output("before", "f32", x.sum(1)), c.output("after", "f32", y.sum(1))
        c = Case(spec, "quantised")
        q, s, v = c.integers("q", "i8", b, t, d, low=-99, high=99), c.normal("s", "f32", b, t), c.normal("v", "f32", b, d)
        at, a = c.given("at", "i32", [3, 0, 6, 5]), abs(v).max(1) / 127
        c.output("q", "i8", placed(q, 1, at, np.rint(v / a[:, None]).astype(np.int64))), c.output("s", "f32", placed(s, 1, at, a))
        c = Case(spec, "projected")
        x, a, w = c.integers("x", "f32", b, t, d, low=-3, high=3), c.integers("a", "f16", b, 9, low=-2, high=2), c.integers("w", "f16", 9, d, low=-2, high=2)
        c.output("x", "f32", placed(x, 1, c.given("at", "i32", [3, 0, 6, 5]), a @ w))
        c = Case(spec, "summed")
        x, n, v = c.normal("x", "f32", b, t, d), c.integers("n", "i32", b, 3, low=0, high=2), c.normal("v", "f32", b, d)
        c.output("x", "f32", placed(x, 1, n.sum(1), v + x[:, 0]))
    for b, t, d in (3, 3, 24), (2, 3, 37), (1, 2, 130):
        c = Case(spec, "normed")
        x, v, g = c.normal("x", "f16", b, t, d), c.normal("v", "f16", b, d), c.normal("g", "f32", d)
        c.output("x", "f16", placed(x, 1, c.given("at", "i32", [t, 0, 2][:b]), v / np.sqrt((v * v).mean(1) + 1e-5)[:, None] * g))
        c = Case(spec, "lifted")
        x, v = np.array(c.normal("x", "f32", d, t, b)), c.normal("v", "f32", d, b)
        for i, to in enumerate(c.given("at", "i32", [1, -1, 2][:b])):
            if 0 <= to:
                x[:, to, i] = v[:, i] - v[:, i].mean()
        c.output("x", "f32", x)
        c = Case(spec, "running")
        x, last, v = c.normal("x", "f32", b, t, d), c.normal("last", "f32", b, t), c.integers("v", "f32", b, d, low=-3, high=3)
        at = c.given("at", "i32", [t, 0, 2][:b])
        c.output("x", "f32", placed(x, 1, at, v.cumsum(1))), c.output("last", "f32", placed(last, 1, at, v.sum(1)))
    c = Case(spec, "column_of")
    x, v = np.array(c.normal("x", "f32", 4, 3, 5)), c.normal("v", "f32", 4)
    c.given("i", "i32", 2)
    x[:, 2] = (v * v)[:, None]
    c.output("x", "f32", x)
    c = Case(spec, "column_bwd")
    c.normal("x", "f32", 4, 3, 5)
    v = c.normal("v", "f32", 4)
    c.given("i", "i32", 2)
    dx = np.array(c.normal("dx", "f32", 4, 3, 5))
    c.output("dv", "f32", 2 * v * dx[:, 2].sum(1))
    dx[:, 2] = 0
    c.output("dx_", "f32", dx)


def main():
    check_rounding()
    check_philox()
    for make in (linear_gelu, split_act, geglu, ln_linear_gelu, lora, mlp2, res_drop, softmax_rows, flash, w4, bmm, conv_relu, mul_relu, row_sum, embed, add_mul_act,
                 dlinear, integers, casts, reductions, scans, parts, relabels, transposed, access, concat, index, norms, conditions, extents, fns, gradients,
                 small_floats, f64, specials, empty, pointwise, orders, packed, rands, in_place, strided, recurrences, products, tails, places):
        make()
    write(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))


main()
