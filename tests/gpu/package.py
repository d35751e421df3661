"""The Python package beside PyTorch on a GPU: values, streams, graphs, gradients, torch.compile, opcheck, threads.

usage: python3 package.py LIBFX_SO

Prints what failed, and as the last line how many checks held; exit 0 where all did, 1 where not, 77 where PyTorch or a GPU is missing (said on stderr). Values are compared
with float64: integers exactly, others within the bound stated beside them.
"""
import os
import pathlib
import sys
import threading
import traceback

os.environ["FX_LIBRARY"] = str(pathlib.Path(sys.argv[1]).resolve())
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtime/python"))
try:
    import torch
except ImportError:
    print("package: there is no PyTorch", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("package: there is no GPU", file=sys.stderr)
    sys.exit(77)
import fx
import fx.torch

SPEC = """
kernel linear(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = gelu(x @ w + b) }
kernel half(x: bf16[M,K], w: bf16[N,K]) -> y: bf16[M,N] { y = x @[K] w }
kernel step(x: inout f32[N], g: f32[N], s: f32 = 0.5) { x = x - s * g }
kernel both(x: i32[M,N]) -> (most: i32[M], all: i64[N]) { most = max[N](x); all = sum[M](i64(x)) }
kernel lines(x: f32[M,N] strided) -> y: f32[N,M] { y = x }
kernel norm(x: f32[M,N], g: f32[N]) -> y: f32[M,N] { y = rmsnorm[N](x) * g }
kernel scaled(x: f32[M,N], w: const f32[K,N], v: const f32[K]) -> y: f32[M,N] { y = x * sum[K](w * v) }
kernel by_two(x: f32[N], w: f32[N], s: f32 = 2.0) -> y: f32[N] { y = s * x * w }
kernel pairs(x: f32[M,E=2*N]) -> y: f32[M,N] { y = x[E: idx(N)] * x[E: idx(N) + size(N)] }
"""
m = fx.compile(SPEC)
cuda = torch.device("cuda")
tests = []


def test(f):
    tests.append(f)
    return f


def normal(*shape, dtype=torch.float32, seed=1):
    return torch.randn(*shape, generator=torch.Generator(cuda).manual_seed(seed), device=cuda, dtype=torch.float32).to(dtype)


def whole(*shape, most=5, dtype=torch.float32):
    return torch.randint(-most, most + 1, shape, device=cuda).to(dtype)


def near(got, want, bound):
    assert got.shape == want.shape and torch.isfinite(got).all(), (got.shape, want.shape)
    worst = (got.double() - want.double()).abs().max().item()
    assert worst <= bound, f"off by {worst}, {bound} allowed"


def reference(x, w, b):
    return torch.nn.functional.gelu(x.double() @ w.double() + b.double())


def refuses(words, call):
    try:
        call()
    except fx.Error as e:
        assert words in str(e), str(e)
        return
    raise AssertionError(f"is not refused: {words}")


@test
def exact():
    x, w = whole(129, 72, dtype=torch.bfloat16), whole(40, 72, dtype=torch.bfloat16)
    assert torch.equal(m.half(x, w).double(), (x.double() @ w.double().t()).to(torch.bfloat16).double())
    x = whole(33, 70, most=1000, dtype=torch.int32)
    most, total = m.both(x)
    assert torch.equal(most, x.amax(1)) and torch.equal(total, x.long().sum(0)) and total.dtype == torch.int64


@test
def random_data():
    # K + 16 roundings of 2^-24 of sums of at most |x| |w| <= 5 * 5 * K; gelu's slope is under 1.2.
    for shape in ((64, 128, 96), (1, 300, 17), (257, 64, 64)):
        x, w, b = normal(shape[0], shape[1]), normal(shape[1], shape[2], seed=2), normal(shape[2], seed=3)
        near(m.linear(x, w, b), reference(x, w, b), 1.2 * (shape[1] + 16) * 2**-24 * 25 * shape[1])


@test
def memory_given_and_in_place():
    x, g = whole(1000), whole(1000)
    want = x - 0.25 * g
    assert m.step(x, g, 0.25) is None and torch.equal(x, want)
    y = torch.full((30, 20), float("nan"), device=cuda)
    x = whole(20, 30)
    assert m.lines(x, out=y) is y and torch.equal(y, x.t())
    assert torch.equal(m.lines(whole(40, 60)[::2, ::3]).isnan(), torch.zeros(20, 20, dtype=torch.bool, device=cuda))
    z = whole(40, 60)
    assert torch.equal(m.lines(z[::2, ::3]), z[::2, ::3].t())


@test
def host_tensors():
    x, w, b = torch.ones(3, 4), torch.ones(4, 5), torch.full((5,), 96.0)
    y = m.linear(x, w, b)
    assert y.device.type == "cpu" and torch.equal(y, torch.full((3, 5), 100.0))


@test
def refusals():
    x, w, b = normal(4, 8), normal(8, 8), normal(8)
    refuses("axis K of w is 9", lambda: m.linear(x, normal(9, 8), b))
    refuses("x is f64", lambda: m.linear(x.double(), w, b))
    refuses("not contiguous", lambda: m.linear(normal(8, 4).t(), w, b))
    refuses("several devices", lambda: m.linear(x, w.cpu(), b))
    refuses("require a gradient", lambda: m.linear(x.requires_grad_(), w, b))
    refuses("wrt: q is no tensor", lambda: fx.torch.op(m.linear, wrt=["q"]))
    refuses("inout", lambda: fx.torch.op(m.step, wrt=["g"]))


@test
def streams():
    side = torch.cuda.Stream()
    x, w = whole(512, 512, dtype=torch.bfloat16), whole(512, 512, dtype=torch.bfloat16)
    want = m.half(x, w)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        x2 = x.clone()
        y = m.half(x2, w)
    side.synchronize()
    assert torch.equal(y, want)


@test
def graphs():
    x, w, b = whole(64, 64), whole(64, 64), whole(64)
    y = m.linear(x, w, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = m.linear(x, w, b)
    for i in range(100):
        x.copy_(whole(64, 64))
        graph.replay()
        want = m.linear(x, w, b)
        assert torch.equal(y, want), f"replay {i}"


@test
def constants():
    """What depends on `const` tensors is kept for as long as they hold what they held, and for no other tensor that comes to lie there."""
    def want(x, w, v):
        return x.double() * (w.double() * v.double()[:, None]).sum(0)

    x, v = whole(32, 48), whole(20)
    layers = [whole(20, 48) for _ in range(3)]
    for _ in range(2):
        for w in layers:
            near(m.scaled(x, w, v), want(x, w, v), 0)
    bound = next(iter(m.scaled._bound.values()))
    assert len(bound._constants) == 3, len(bound._constants)
    w = layers[0]
    w += 1  # counted: computed anew, what was kept of it goes
    near(m.scaled(x, w, v), want(x, w, v), 0)
    assert len(bound._constants) == 3, len(bound._constants)
    v.mul_(2)
    near(m.scaled(x, w, v), want(x, w, v), 0)
    assert len(bound._constants) == 1, len(bound._constants)
    for seed in range(8):  # memory that was freed is used again: the same address, another tensor
        near(m.scaled(x, t := whole(20, 48), v), want(x, t, v), 0)
        del t
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        near(m.scaled(x, w, v), want(x, w, v), 0)
    graph, y = torch.cuda.CUDAGraph(), m.scaled(x, w, v)
    fresh = whole(20, 48)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        m.scaled(x, w, v, out=y)
        z = m.scaled(x, fresh, v)  # of which nothing is kept: computed by the graph
    x.copy_(whole(32, 48))
    graph.replay()
    near(y, want(x, w, v), 0)
    near(z, want(x, fresh, v), 0)
    near(m.scaled(x, fresh, v), want(x, fresh, v), 0)
    with torch.inference_mode():
        w = whole(20, 48)
        near(m.scaled(x, w, v), want(x, w, v), 0)


@test
def gradients():
    op = fx.torch.op(m.linear, wrt=["x", "w", "b"])
    given = [normal(24, 32), normal(32, 16, seed=2), normal(16, seed=3)]
    ours, theirs = [t.clone().requires_grad_() for t in given], [t.double().requires_grad_() for t in given]
    adjoint = normal(24, 16, seed=4)
    op(*ours).backward(adjoint)
    reference(*theirs).backward(adjoint.double())
    for a, b in zip(ours, theirs):
        near(a.grad, b.grad, 64 * 2**-24 * 25 * 32)
    x = normal(8, 64).requires_grad_()
    norm = fx.torch.op(m.norm, wrt=["x"])
    g = normal(64, seed=9)
    norm(x, g).square().sum().backward()
    y = x.detach().double().requires_grad_()
    (y * torch.rsqrt(y.square().mean(1, keepdim=True) + 1e-6) * g.double()).square().sum().backward()
    near(x.grad, y.grad, 2**-10)
    by_two = fx.torch.op(m.by_two, wrt=["x"])  # the default stands ahead of the adjoint
    x, w = whole(64).requires_grad_(), whole(64)
    (by_two(x, w) + by_two(x, w, 3.0)).sum().backward()
    assert torch.equal(x.grad, 5 * w)


@test
def operators_by_themselves():
    """Plain tensors go past the dispatcher; whoever watches operators, or changes what they do, meets them."""
    op, both, by_two = fx.torch.op(m.linear, wrt=["x", "w", "b"]), fx.torch.op(m.both), fx.torch.op(m.by_two, wrt=["x"])
    given = [normal(24, 32), normal(32, 16, seed=2), normal(16, seed=3)]
    want, adjoint = m.linear(*given), normal(24, 16, seed=4)
    assert torch.equal(op(*given), want) and isinstance(op, torch.library.CustomOpDef)
    assert [t.dtype for t in both(whole(5, 6, dtype=torch.int32))] == [torch.int32, torch.int64]
    for needed in ((True, True, True), (False, True, False), (True, False, True)):
        grads = []
        for way in (op, lambda *args: op(*args[:2], b=args[2])):  # by name: the dispatcher's
            args = [t.clone().requires_grad_(n) for t, n in zip(given, needed)]
            y = way(*args)
            assert torch.equal(y, want) and (type(y.grad_fn).__name__ == "RecordedBackward") == (way is op), y.grad_fn
            y.backward(adjoint)
            grads.append([t.grad for t in args])
        assert all(a is None and b is None or torch.equal(a, b) for a, b in zip(*grads)) and [g is not None for g in grads[0]] == list(needed)
    x, w = whole(64), whole(64).requires_grad_()
    by_two(x, w, 2.0).sum().backward()  # gradients do not pass to w
    assert w.grad is None and type(by_two(x.requires_grad_(), w, 2.0).grad_fn).__name__ == "RecordedBackward"
    with torch.no_grad():
        assert not op(given[0].clone().requires_grad_(), *given[1:]).requires_grad
    args = [t.clone().requires_grad_() for t in given]
    y = op(*args)
    with torch.no_grad():
        args[1] += 1
    try:
        y.backward(adjoint)
        raise AssertionError("w was changed after it was saved")
    except RuntimeError as e:
        assert "modified by an inplace operation" in str(e), e
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch._subclasses.fake_tensor import FakeTensorMode

    assert "ops.fx" in make_fx(lambda *args: op(*args))(*given).code
    with FakeTensorMode():
        assert type(op(*[torch.empty(t.shape, device=cuda) for t in given])) is not torch.Tensor
    refuses("w is f64", lambda: op(given[0], given[1].double(), given[2]))


@test
def training():
    """Ten steps of a two-layer perceptron: losses as PyTorch's own in f64, to f32's roundings."""
    op = fx.torch.op(m.linear, wrt=["x", "w", "b"])

    def train(layer, dtype):
        torch.manual_seed(3)
        ws = [(torch.randn(*s, device=cuda, dtype=torch.float32) * 0.2).to(dtype).requires_grad_() for s in ((16, 32), (32,), (32, 8), (8,))]
        x, t = torch.randn(64, 16, device=cuda).to(dtype), torch.randn(64, 8, device=cuda).to(dtype)
        losses = []
        for _ in range(10):
            loss = (layer(layer(x, ws[0], ws[1]), ws[2], ws[3]) - t).square().mean()
            loss.backward()
            with torch.no_grad():
                for w in ws:
                    w -= 0.1 * w.grad
                    w.grad = None
            losses.append(loss.item())
        return losses

    ours, theirs = train(op, torch.float32), train(lambda x, w, b: torch.nn.functional.gelu(x @ w + b), torch.float64)
    assert theirs[-1] < theirs[0] and all(abs(a - b) < 1e-4 for a, b in zip(ours, theirs)), (ours, theirs)


@test
def compiled():
    op, pairs, step = fx.torch.op(m.linear), fx.torch.op(m.pairs), fx.torch.op(m.step)

    def f(x, w, b):
        return op(x * 1, w, b) + 1

    x, w, b = whole(32, 16), whole(16, 8), whole(8)
    assert torch.equal(torch.compile(f, fullgraph=True, backend="aot_eager")(x, w, b), f(x, w, b))
    dynamic = torch.compile(lambda x: pairs(x) * 2, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (3, 5, 9):
        x = whole(rows, 12)
        assert torch.equal(dynamic(x), x[:, :6] * x[:, 6:] * 2)

    def g(x, d):
        step(x, d, 2.0)
        return x + 1

    x, d = whole(100), whole(100)
    want = x - 2 * d + 1
    assert torch.equal(torch.compile(g, fullgraph=True, backend="aot_eager")(x, d), want)


@test
def checked_by_torch():
    torch.library.opcheck(fx.torch.op(m.linear, wrt=["x", "w", "b"]), tuple(t.requires_grad_() for t in (normal(8, 16), normal(16, 8), normal(8))))
    torch.library.opcheck(fx.torch.op(m.both), (whole(5, 6, dtype=torch.int32),))
    torch.library.opcheck(fx.torch.op(m.step), (whole(64), whole(64), 0.5))


@test
def dlpack():
    class Lent:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self, stream=None):
            return self.t.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return self.t.__dlpack_device__()

    x, w, b = whole(8, 8), whole(8, 8), whole(8)
    y = torch.full((8, 8), float("nan"), device=cuda)
    torch.cuda.synchronize()
    m.linear(Lent(x), Lent(w), Lent(b), out=Lent(y))
    torch.cuda.synchronize()
    assert torch.equal(y, m.linear(x, w, b))
    refuses("give the memory of the outputs", lambda: m.linear(Lent(x), Lent(w), Lent(b)))


@test
def threads():
    wrong = []

    def run(seed):
        try:
            own = fx.compile(SPEC)
            for i in range(40):
                x, w = whole(16 * seed, 32, dtype=torch.bfloat16), whole(24, 32, dtype=torch.bfloat16)
                for k in (own.half, m.half):
                    if not torch.equal(k(x, w).double(), (x.double() @ w.double().t()).to(torch.bfloat16).double()):
                        wrong.append((seed, i))
        except Exception as e:
            wrong.append((seed, repr(e)))

    all_of_them = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 9)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert not wrong, wrong[:3]


@test
def several_devices():
    for device in range(min(2, torch.cuda.device_count())):
        x, w = (whole(32, 32, dtype=torch.bfloat16).to(f"cuda:{device}") for _ in range(2))
        y = m.half(x, w)
        assert y.device.index == device and torch.equal(y.double(), (x.double() @ w.double().t()).to(torch.bfloat16).double())


def main():
    failed = 0
    for f in tests:
        try:
            f()
        except Exception:
            failed += 1
            print(f"FAILED {f.__name__}")
            traceback.print_exc(limit=-3, file=sys.stdout)
    print(f"{len(tests) - failed} of {len(tests)} checks hold on {torch.cuda.get_device_name()}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
