"""What the kernels of the acceptance examples compute, in PyTorch's own words: a function of the same parameters by name (`in` is in_), and how far a right result may be.

In: tensors of any floating dtype; in float64 a function is the reference, in the kernel's dtype what PyTorch's users would write, which is what is timed. Out: one
tensor an output, in order. Invariant: nothing here knows how fx computes anything.
"""
import re

import torch
import torch.nn.functional as F

FUNCTIONS, ERRORS, EXACT = {}, {}, {}
U = 2.0 ** -24


def function(*names, error=None, exact=None):
    """The function of these kernels; error(tensors in float64, rounding) bounds what rounding may make of it, beside that of the output and its last operations. exact
    stands in its place as the reference, where PyTorch's operators leave open what a spec defines."""
    def put(f):
        for name in names or (f.__name__,):
            FUNCTIONS[name] = f
            ERRORS[name] = error
            EXACT[name] = exact or f
        return f
    return put


def find(kernel):
    """The function, the bound and the reference of a kernel: variants by dtype, precision or `const` share them."""
    while kernel not in FUNCTIONS:
        shorter = re.sub(r"_(tf32|f16|bf16|f32|i32|const)$", "", kernel)
        if shorter == kernel:
            return None, None, None
        kernel = shorter
    return FUNCTIONS[kernel], ERRORS[kernel], EXACT[kernel]


class Rounding:
    """How factors and sums are rounded: of f32 in full, or to tf32; f16 and bf16 products are exact in f32, and a computed factor may be rounded as the stored one is."""

    def __init__(self, is_tf32, dtypes):
        self.factors = 2 * 2.0 ** -11 if is_tf32 else 0.0
        self.computed = max([torch.finfo(t).eps / 2 for t in dtypes if t in (torch.float16, torch.bfloat16)], default=0.0)

    def dot(self, a, b):
        """Of a @ b: the largest error of any element. Roundings of f32 sums are taken as independent, and as no more than 8 deviations together: of 186,624 terms
        the sure bound, all of them in one direction, says nothing."""
        k = a.shape[-1]
        return ((min(k, 8 * k ** 0.5) + 16) * U + self.factors) * (a.abs() @ b.abs()).max().item()


def single(t):
    """f32 as a kernel's output, without taking anything from the reference."""
    return t if t.dtype == torch.float64 else t.float()


def by(gain):
    """The error of x @ w.T + b, times what follows makes of it."""
    return lambda a, r: gain * r.dot(a["x"], a["w"].T)


# ---- S0: split activation ----

def split(l, r):
    return torch.sigmoid(l) * torch.tanh(r)


@function("split_act", error=lambda a, r: 2 * r.dot(a["a"], a["w"]))
def split_act(a, w):
    return split(*(a @ w).chunk(2, 1))


@function("split_halves", error=lambda a, r: 2 * r.dot(a["a"], a["w"].T))
def split_halves(a, w):
    return split(*F.linear(a, w).chunk(2, 1))


@function("split_pair", error=lambda a, r: 2 * max(r.dot(a["a"], a["wl"].T), r.dot(a["a"], a["wr"].T)))
def split_pair(a, wl, wr):
    return split(F.linear(a, wl), F.linear(a, wr))


@function("two_sums", error=lambda a, r: 2 * max(r.dot(a["a"], a["bl"].T), r.dot(a["a"], a["br"].T)))
def two_sums(a, bl, br):
    return split(F.linear(a, bl), F.linear(a, br))


@function("split_interleaved", "interleaved", "masked_sums", error=lambda a, r: 2 * r.dot(a["a"], a["w"].T))
def interleaved(a, w):
    c = F.linear(a, w)
    return split(c[:, ::2], c[:, 1::2])


@function("split_axis_halves", error=lambda a, r: 2 * r.dot(a["a"], a["w"].flatten(0, 1).T))
def split_axis_halves(a, w):
    return split(*F.linear(a, w.flatten(0, 1)).chunk(2, 1))


@function("split_axis_interleaved", error=lambda a, r: 2 * r.dot(a["a"], a["w"].flatten(0, 1).T))
def split_axis_interleaved(a, w):
    return interleaved(a, w.flatten(0, 1))


@function()
def split_add(x):
    left, right = x[:, ::2], x[:, 1::2]
    return left.contiguous(), right.contiguous(), left + right


@function()
def split_mul(x):
    return x[:, ::2] * x[:, 1::2]


@function()
def by_rows(x):
    return x.reshape(-1).clone()


@function()
def by_columns(x):
    return x.T.reshape(-1)


@function()
def set_even(x):
    y = x.clone()
    y[:, ::2] = 1
    return y, y[:, ::2] * y[:, 1::2]


@function()
def addresses():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.arange(64, device=device)[:, None] * 2048 + torch.arange(2048, device=device)


@function()
def tile(x, row, col):
    t = torch.zeros(64, 64, dtype=x.dtype, device=x.device)
    row, col = int(row), int(col)
    part = x[64 * row:64 * row + 64, 64 * col:64 * col + 64]
    t[:part.shape[0], :part.shape[1]] = part
    return t


@function(error=lambda a, r: (4096 ** 0.5 * 8 + 16) * U * F.avg_pool2d(a["x"][None].abs(), 64)[0].max().item() * 4096)
def tile_sums(x):
    return x.unflatten(0, (-1, 64)).unflatten(2, (-1, 64)).sum((1, 3))


@function()
def copy_transposed(x):
    return x.clone()


@function()
def transpose(x):
    return x.T.contiguous()


@function(error=lambda a, r: 1.13 * r.dot(a["x"], a["w"].T) * (1 + 2 * F.linear(a["x"], a["w"], a["b"]).abs().max().item()))
def geglu(x, w, b):
    z, g = F.linear(x, w, b).chunk(2, 1)
    return z * F.gelu(g)


# ---- S1: norm, linear, gelu ----

def norm_error(a, r):
    n = F.layer_norm(a["x"], a["x"].shape[1:])
    spread = a["x"].abs().max().item() / (a["x"].var(1, correction=0).min().item() + 1e-5) ** 0.5  # of a mean far from 0 less is left of the deviations
    return 1.13 * (r.dot(n, a["w"]) + 8 * U * spread * a["w"].abs().sum(0).max().item() + r.computed * (n.abs() @ a["w"].abs()).max().item())


@function("ln_linear_gelu", "ln_linear_gelu_const", "ln_linear_any", "folded", "ln_linear_gelu_folded", error=norm_error)
def ln_linear_gelu(x, w, b):
    return F.gelu(F.linear(F.layer_norm(x, x.shape[1:]), w.T, b), approximate="tanh")


@function("ln_linear_safe", error=norm_error)
def ln_linear_safe(x, w, b):
    return single(ln_linear_gelu(x, w, b))


@function()
def fast_gelu(x):
    return F.gelu(x, approximate="tanh")


@function()
def exact_gelu(x):
    return F.gelu(x)


@function(error=lambda a, r: 32 * U * a["x"].abs().max().item())
def gelu_difference(x):
    return F.gelu(x) - F.gelu(x, approximate="tanh")


@function(error=lambda a, r: (a["w"].shape[0] + 16) * U * a["w"].abs().sum(0).max().item())
def column_sums(w):
    return w.sum(0) if w.dtype == torch.float64 else w.sum(0, dtype=torch.float32)


@function()
def outer_rows(p, q):
    return p[:, None] * 2 + q


@function()
def outer_columns(p, q):
    return p * 2 + q[:, None]


# ---- S2: the puzzles ----

@function("add", "add_blocked")
def add(x):
    return x + 10


@function("outer_add", "outer_add_blocked")
def outer_add(x, y):
    return y[:, None] + x


@function()
def mul_relu(x, y):
    return torch.relu(y[:, None] * x)


@function()
def mul_relu_2d(x, y):
    return torch.relu(x * y[:, None])


@function()
def mul_relu_2d_bwd(x, y, dz):
    return dz * y[:, None] * (x * y[:, None] > 0)


@function(error=lambda a, r: (a["x"].shape[1] + 16) * U * a["x"].abs().sum(1).max().item())
def long_sum(x):
    return x.sum(1)


@function(error=lambda a, r: (a["x"].shape[1] + 64) * U * torch.softmax(a["x"], 1).max().item())
def softmax_rows(x):
    return torch.softmax(x, 1)


@function(error=lambda a, r: (a["k"].shape[0] + 64) * 4 * U * (1 + a["q"].abs().max().item() * a["k"].abs().max().item()) * a["v"].abs().max().item())
def flash_scalar(q, k, v):
    return torch.softmax(q[:, None] * k, 1) @ v


@function(error=lambda a, r: 32 * U * a["k"].abs().sum().item() * a["x"].abs().max().item())
def conv2d(x, k):
    return F.conv2d(F.pad(x[:, None], (0, k.shape[1] - 1, 0, k.shape[0] - 1)), k[None, None])[:, 0]


@function(error=lambda a, r: r.dot(a["x"], a["y"]))
def bmm(x, y):
    return x @ y


def nibbles(words):
    """Eight to a word, the lowest first."""
    return ((words[..., None] >> torch.arange(0, 32, 4, device=words.device, dtype=words.dtype)) & 15).flatten(-2)


def dequantised(scale, offset, weight):
    return (scale[..., None] * (nibbles(weight).unflatten(-1, (-1, 8)) - offset[..., None])).flatten(1)


def quant_error(a, r):
    offset = nibbles(a["offset"])[..., : a["scale"].numel() // a["offset"].shape[0] if a["offset"].dim() > 1 else None].reshape(a["scale"].shape)
    return r.dot(dequantised(a["scale"], offset, a["weight"]), a["activation"])


@function(error=quant_error)
def quant_dot(scale, offset, weight, activation):
    return dequantised(scale, nibbles(offset)[:, : scale.shape[1]], weight) @ activation


@function(error=quant_error)
def quant_dot_8(scale, offset, weight, activation):
    return dequantised(scale, nibbles(offset).view(scale.shape), weight) @ activation


@function()
def unpack(w):
    return nibbles(w)


@function()
def expand_offset(offset):
    return nibbles(offset).repeat_interleave(8, 1)


# ---- S3: the lecture on fused kernels ----

def perceptron(x, *layers):
    for w, b in layers:
        x = torch.relu(F.linear(x, w, b))
    return x


def layers_error(x, layers, r):
    """Of linear layers with something between that changes no faster than its operand."""
    error = 0.0
    for w, b in layers:
        error = error * w.abs().sum(1).max().item() + r.dot(x, w.T)
        x = torch.relu(F.linear(x, w, b))
    return error


@function(error=by(1))
def layer(x, w, b):
    return perceptron(x, (w, b))


@function(error=lambda a, r: layers_error(a["x"], ((a["w1"], a["b1"]), (a["w2"], a["b2"])), r))
def dense_small(x, w1, b1, w2, b2):
    return perceptron(x, (w1, b1), (w2, b2))


@function("dense_main", "mlp", error=lambda a, r: layers_error(a["x"], [(a[f"w{i}"], a[f"b{i}"]) for i in range(1, 5)], r))
def dense_main(x, w1, b1, w2, b2, w3, b3, w4, b4):
    return perceptron(x, (w1, b1), (w2, b2), (w3, b3), (w4, b4))


def exact_slot(ids, card):
    """The remainder by 0 is 0."""
    return torch.where(card == 0, 0, (ids + 1) % torch.where(card == 0, 1, card))


def exact_embed(ids, card, table):
    """What lies past the table is 0."""
    slot, features = exact_slot(ids, card), torch.arange(table.shape[0], device=ids.device)
    return torch.where((slot < table.shape[1])[..., None], table[features, slot.clamp(max=table.shape[1] - 1)], 0)


@function(exact=exact_slot)
def hash_index(ids, card):
    return (ids + 1) % card


@function(exact=exact_embed)
def embed_hashed(ids, card, table):
    return table[torch.arange(table.shape[0], device=ids.device), (ids + 1) % card]


@function()
def embed_modulus(ids, table):
    return table[torch.arange(table.shape[0], device=ids.device), (ids + 1) % table.shape[1]]


@function()
def token_index(ids, tokens):
    return (tokens == ids[..., None]).int().argmax(-1)


@function()
def embed_token(ids, tokens, table):
    return table[torch.arange(table.shape[0], device=ids.device), token_index(ids, tokens)]


@function()
def interact_cat(d, s):
    return torch.cat((d, s.flatten(1)), 1)


@function()
def interact_dot(d, s):
    c = interact_cat(d, s)
    return (c[:, :, None] * c[:, None]).flatten(1)


def prediction_layers(a):
    return [(a[f"w{i}"], a[f"b{i}"]) for i in range(1, 4) if f"w{i}" in a]


def prediction_error(a, r):
    return layers_error(interact_dot(a["d"], a["s"]), prediction_layers(a), r)


@function(error=prediction_error)
def top_layer(d, s, w1, b1):
    return perceptron(interact_dot(d, s), (w1, b1))


@function(error=prediction_error)
def prediction(d, s, w1, b1, w2, b2):
    return torch.sigmoid(F.linear(perceptron(interact_dot(d, s), (w1, b1)), w2, b2))


@function(error=prediction_error)
def prediction_main(d, s, w1, b1, w2, b2, w3, b3):
    return torch.sigmoid(F.linear(perceptron(interact_dot(d, s), (w1, b1), (w2, b2)), w3, b3))


@function("add_relu", "add_relu_512", error=lambda a, r: 2 * U * (a["x"].abs().max() + a["b"].abs().max()).item())
def add_relu(x, b):
    return torch.relu(x + b)


def terms_error(a, r):
    return 4 * U * (a["x"].abs().max() + a["bias"].abs().max() + abs(a.get("mult", 1)) * a["in_"].abs().max()).item()


@function(error=terms_error)
def add_mul_relu_fixed(x, bias, in_, baked=0.5):
    return torch.relu(x + bias + float(baked) * in_)


@function(error=terms_error)
def add_mul_relu(x, bias, in_, mult):
    return torch.relu(x + bias + mult * in_)


ACTIVATIONS = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu, "silu": F.silu}


@function(error=lambda a, r: 2 * terms_error(a, r))
def add_mul_act(x, bias, in_, mult, act="relu"):
    return ACTIVATIONS[act](x + bias + mult * in_)


def low_rank(x, W, b, A, B, alpha):
    return x @ W + b + alpha * (x @ A @ B)


def lora_error(x, W, A, B, alpha, r):
    return r.dot(x, W) + abs(alpha) * (r.dot(x, A) * B.abs().sum(0).max().item() + r.dot(x @ A, B))


@function(error=lambda a, r: lora_error(a["x"], a["W"], a["A"], a["B"], a["alpha"], r))
def lora_relu(x, W, b, A, B, alpha):
    return torch.relu(low_rank(x, W, b, A, B, alpha))


@function(error=lambda a, r: lora_error(a["x"], a["W"], a["A"], a["B"], a["alpha"], r))
def lora_sigmoid(x, W, b, A, B, alpha):
    return torch.sigmoid(low_rank(x, W, b, A, B, alpha))


def lora_mlp_error(a, r):
    h = torch.relu(low_rank(a["x"], a["W1"], a["b1"], a["A1"], a["B1"], a["alpha"]))
    slope = (a["W2"].abs() + abs(a["alpha"]) * (a["A2"].abs() @ a["B2"].abs())).sum(0).max().item()
    return slope * lora_error(a["x"], a["W1"], a["A1"], a["B1"], a["alpha"], r) + lora_error(h, a["W2"], a["A2"], a["B2"], a["alpha"], r)


@function(error=lora_mlp_error)
def lora_mlp(x, W1, b1, A1, B1, W2, b2, A2, B2, alpha):
    return torch.sigmoid(low_rank(torch.relu(low_rank(x, W1, b1, A1, B1, alpha)), W2, b2, A2, B2, alpha))


@function("mlp_one", "mlp_best", error=lambda a, r: layers_error(a["x"], ((a["W1"].T, a["b1"]), (a["W2"].T, a["b2"])), r))
def mlp_one(x, W1, b1, W2, b2):
    return torch.sigmoid(torch.relu(x @ W1 + b1) @ W2 + b2)


# ---- S4: fused products of a public benchmark ----

@function(error=by(1.5))
def sub_mul_relu(x, w, b):
    return torch.relu((F.linear(x, w, b) - 2.0) * 1.5)


@function(error=by(1.2))
def mish_mish(x, w, b):
    return F.mish(F.mish(F.linear(x, w, b)))


def normalised(h, g):
    """What a norm makes of an error of its operand: the operand's own, its mean's and its deviation's."""
    return 4 * (g.abs() / (h.var(-1, correction=0) + 1e-5).sqrt().min()).max().item()


@function(error=lambda a, r: a["s"].abs().max().item() * r.dot(a["x"], a["w"].T) * normalised((F.linear(a["x"], a["w"], a["b"]) * a["s"]).T, a["g"]))
def scale_batch_norm(x, w, b, s, g, be):
    return F.batch_norm(F.linear(x, w, b) * s, None, None, g, be, training=True)


@function(error=lambda a, r: 1.1 * r.dot(a["x"], a["w"].T) * normalised((F.silu(F.linear(a["x"], a["w"], a["b"])) + a["a"]).unflatten(1, (64, -1)), a["g"]))
def silu_group_norm(x, w, b, a, g, be):
    return F.group_norm(F.silu(F.linear(x, w, b)) + a, 64, g, be)


def batch_norm_error(a, r):
    return 1.13 * r.dot(a["x"], a["w"].T) * normalised(F.linear(a["x"], a["w"], a["b"]).T, a["g"])


@function(error=batch_norm_error)
def batch_norm_gelu_relu(x, w, b, g, be):
    return torch.relu(F.gelu(F.batch_norm(F.linear(x, w, b), None, None, g, be, training=True)))


@function(error=batch_norm_error)
def batch_norm_bias_silu(x, w, b, g, be, c):
    return F.silu(F.batch_norm(F.linear(x, w, b), None, None, g, be, training=True) + c)


@function(error=lambda a, r: layers_error(a["x"], ((a["w"], a["b"]), (a["w2"], a["b2"])), r))
def mlp_logsumexp(x, w, b, w2, b2):
    return torch.logsumexp(F.linear(torch.sigmoid(F.linear(x, w, b)), w2, b2), 1)


@function(error=by(1.2))
def mean_logsumexp_gelu(x, w, b, s):
    m = (F.linear(x, w, b) - s).mean(1, keepdim=True)
    return F.gelu(torch.logsumexp(m, 1, keepdim=True)) + x


@function(error=by(0.6))
def scale_hardtanh_gelu(x, w, b):
    return F.gelu(F.hardtanh(F.linear(x, w, b) * 0.5, -2, 2))


@function(error=lambda a, r: a["w"].shape[0] / 4 * r.dot(a["x"], a["w"].T))
def pair_max_sum(x, w, b):
    return F.max_pool1d(F.linear(x, w, b)[:, None], 2)[:, 0].sum(1) * 0.5


@function(error=by(2.2))
def silu_scale(x, w, b):
    return F.silu(F.linear(x, w, b)) * 2.0


@function(error=by(0.5))
def relu_div(x, w, b):
    return torch.relu(F.linear(x, w, b)) / 2.0


@function(error=lambda a, r: r.dot(a["x"], a["w"].T) * normalised(F.linear(a["x"], a["w"], a["b"]).unflatten(1, (512, -1)), a["g"]))
def group_norm_min(x, w, b, g, be, a):
    return F.group_norm(F.linear(x, w, b), 512, g, be).min(1).values + a[:, None]


@function(error=by(0.55))
def silu_clamp_tanh(x, w, b):
    return torch.clamp(torch.tanh(torch.clamp(F.silu(F.linear(x, w, b)) / 2, -1, 1)), -1, 1)


@function(error=by(1.3))
def silu_tanh_gelu(x, w, b, a):
    return F.hardtanh(F.gelu(torch.tanh(F.silu(F.linear(x, w, b) + a))), -1, 1)


@function(error=by(2.3))
def gelu_softmax(x, w, b):
    return torch.softmax(F.gelu(F.linear(x, w, b)), 1)


# ---- other fused products of the kind of S4 ----

@function(error=by(2.0))
def mul_leaky(x, w, b):
    return F.leaky_relu(F.linear(x, w, b) * 2.0, 0.1)


def summed(gain):
    """Of a sum over the columns of a linear layer."""
    return lambda a, r: gain * a["w"].shape[0] * r.dot(a["x"], a["w"].T)


@function(error=summed(0.75))
def div_sum_scale(x, w):
    return (F.linear(x, w) / 2).sum(1) * 1.5


@function(error=summed(1.0))
def row_sums(x, w, b):
    return F.linear(x, w, b).sum(1)


@function(error=by(60.0))
def clamp_logsumexp_mish(x, w, b):
    h = F.linear(x, w, b) * 2.0
    h = torch.logsumexp(torch.clamp(h + h, -10, 10), 1)
    return h * F.mish(h)


def grouped_error(groups, gain):
    return lambda a, r: gain * r.dot(a["x"], a["w"].T) * normalised(F.linear(a["x"], a["w"], a.get("b")).unflatten(1, (groups, -1)), a.get("g", a["x"].new_ones(())))


@function(error=lambda a, r: a["r"].abs().max().item() * grouped_error(1, 1.0)(a, r))
def row_norm_residual(x, w, b, r):
    h = F.linear(x, w, b)
    return (F.layer_norm(h, h.shape[1:]) + r) * r


@function(error=grouped_error(16, 1.0))
def group_norm_hardtanh(x, w, b, g, be):
    return F.hardtanh(F.group_norm(F.linear(x, w, b), 16, g, be), -2, 2)


@function(error=by(1.5))
def scaled_residual(x, w, b):
    h = F.linear(x, w, b)
    return h * 0.5 + h


@function(error=summed(0.25))
def sigmoid_row_sums(x, w, b):
    return torch.sigmoid(F.linear(x, w, b)).sum(1)


@function(error=grouped_error(512, 2.0))
def group_norm_leaky_double(x, w, b, g, be):
    h = F.leaky_relu(F.group_norm(F.linear(x, w, b), 512, g, be))
    return h + h


@function(error=by(1.3))
def logsumexp_leaky_gelu(x, w, b):
    h = torch.logsumexp(F.linear(x, w, b), 1)
    return F.gelu(F.gelu(F.leaky_relu(F.leaky_relu(h))))


@function(error=by(2.0))
def linear_softmax(x, w, b):
    return torch.softmax(F.linear(x, w, b), 1)


@function(error=by(1.0))
def min_sub(x, w, b, c):
    return torch.minimum(F.linear(x, w, b), c) - c


@function(error=by(1.5))
def sigmoid_scale_residual(x, w, b):
    h = F.linear(x, w, b)
    return torch.sigmoid(h) * 2.0 + h


@function(error=by(1.0))
def add_relu_linear(x, w, b):
    return torch.relu(F.linear(x, w, b))


@function(error=by(1.2))
def max_sub_gelu(x, w, b, c):
    return F.gelu(F.linear(x, w, b).amax(1) - c)


@function(error=batch_norm_error)
def batch_norm_scale_softmax(x, w, b, g, be, s):
    return torch.softmax(s * F.batch_norm(F.linear(x, w, b), None, None, g, be, training=True), 1)


@function(error=by(0.12))
def div_gelu(x, w, b):
    return F.gelu(F.linear(x, w, b) / 10.0)


@function(error=lambda a, r: 1.3 * a["v"].abs().max().item() * grouped_error(256, 1.0)(a, r))
def group_norm_silu_mul_silu(x, w, b, g, be, v):
    return F.silu(F.silu(F.group_norm(F.linear(x, w, b), 256, g, be)) * v)


def squashed_error(a, r):
    h = F.mish(F.hardtanh(F.linear(a["x"], a["w"], a["b"]) + a["a"]))
    return 1.1 * r.dot(a["x"], a["w"].T) * normalised(h.unflatten(1, (256, -1)), a["g"])


@function(error=squashed_error)
def hardtanh_mish_group_norm(x, w, b, a, g, be):
    return F.group_norm(F.mish(F.hardtanh(F.linear(x, w, b) + a)), 256, g, be)


@function(error=by(2.3))
def average_gelu_max(x, w, b):
    return (F.gelu(F.avg_pool1d(F.linear(x, w, b)[:, None], 16)[:, 0]) * 2.0).amax(1)


def conv_error(gain, is_normalised=False):
    """The largest sum of magnitudes of a convolution, and what a norm of planes makes of its error."""
    def of(a, r):
        size = F.conv2d(a["x"].abs(), a["k"].abs(), padding=1).max().item()
        terms = a["k"][0].numel()
        norm = normalised(F.conv2d(a["x"], a["k"], a["b"]).flatten(2), a["x"].new_ones(())) if is_normalised else 1.0
        return gain * ((min(terms, 8 * terms ** 0.5) + 16) * U + r.factors) * size * norm
    return of


@function(error=conv_error(1.0))
def conv_min_tanh(x, k, b):
    return torch.tanh(torch.tanh(F.conv2d(x, k, b).amin(1)))


@function(error=conv_error(0.5, True))
def conv_norm_div(x, k, b):
    return F.instance_norm(F.conv2d(x, k, b)) / 2.0


@function(error=conv_error(1.6))
def conv_hardswish_relu(x, k, b):
    return torch.relu(F.hardswish(F.conv2d(x, k, b)))


@function(error=conv_error(1.2))
def conv_gelu_mean(x, k, b):
    return F.gelu(F.conv2d(x, k, b, padding=1)).mean((2, 3))
