"""Calls that go to fx_launch directly (runtime/lib/python.c), over the stand-ins for driver and NVRTC and a stand-in for torch that has DLPack's exchange table.

In: FX_LIBRARY, FX_LIBCUDA, FX_LIBNVRTC, the package on PYTHONPATH. Out: what failed, and as the last line how many checks held; exit 1 where one did not.
"""
import contextlib
import ctypes as c
import gc
import math
import os
import sys
import threading
import traceback
import types
import weakref

# ---- a torch of a few lines ----

torch = sys.modules["torch"] = types.ModuleType("torch")
WIDTHS = {"float32": (2, 32), "bfloat16": (4, 16), "int32": (0, 32), "uint8": (1, 8), "bool": (6, 8)}
for name in WIDTHS:
    setattr(torch, name, name)
torch.strided, torch._C = "strided", types.SimpleNamespace()
grad_mode, made, current, at, fails, recorded, capturing = [True], [], [0x77], [1 << 20], [], [], [False]


class Tensor:
    layout, device_type, _version = torch.strided, "cuda", 0

    def __init__(self, shape, dtype="float32", device=0, strides=None, requires_grad=False):
        self.shape, self.dtype, self.index, self.requires_grad = tuple(shape), dtype, device, requires_grad
        self.strides = strides or tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))
        at[0] += 1 << 32
        self.address = at[0]
        self.memory = ((c.c_int64 * 8)(*self.shape), (c.c_int64 * 8)(*self.strides))

    device = property(lambda self: types.SimpleNamespace(type="cuda", index=self.index))

    def is_contiguous(self):
        return self.strides == tuple(math.prod(self.shape[i + 1:]) for i in range(len(self.shape)))

    def get_device(self):
        return self.index

    def stride(self):
        return self.strides

    def is_neg(self):
        return False

    is_conj = is_inference = is_neg

    def data_ptr(self):
        return self.address

    def untyped_storage(self):
        return types.SimpleNamespace(resize_=lambda n: None, of=weakref.ref(self))

    def record_stream(self, stream):
        recorded.append((self.address, stream))


class Parameter(Tensor):
    pass


def empty_like(like):
    if "memory" in fails:
        raise MemoryError("no memory")
    made.append("like")
    return Tensor(like.shape, like.dtype, like.index)


def empty(shape, dtype=None, device=None):
    made.append("empty")
    return Tensor(shape if isinstance(shape, tuple) else (shape,), dtype, device[1])


def empty_strided(shape, strides, dtype):
    if "memory" in fails:
        raise MemoryError("no memory")
    made.append("strided")
    return Tensor(shape, dtype, 1 if "device" in fails else 0, strides)


torch._C._dynamo = types.SimpleNamespace(guards=types.SimpleNamespace(_empty_strided_cuda=empty_strided))
torch.Tensor, torch.nn, torch.empty_like, torch.empty = Tensor, types.SimpleNamespace(Parameter=Parameter), empty_like, empty
torch.device = lambda kind, index: (kind, index)
torch.is_grad_enabled = lambda: grad_mode[0]
torch.cuda = types.SimpleNamespace(device=lambda device: contextlib.nullcontext(), current_stream=lambda device: types.SimpleNamespace(cuda_stream=current[0]),
                                   is_current_stream_capturing=lambda: capturing[0], ExternalStream=lambda stream: stream)
for name in ("torch.multiprocessing", "torch.multiprocessing.reductions"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch.multiprocessing.reductions"].StorageWeakRef = lambda storage: types.SimpleNamespace(expired=lambda: storage.of() is None)

import fx  # noqa: E402
from fx._library import Tensor as View, library  # noqa: E402


@c.CFUNCTYPE(c.c_int, c.py_object, c.POINTER(View))
def describe(t, out):
    if "describe" in fails:
        c.pythonapi.PyErr_SetString(c.py_object(ValueError), b"not described")
        return -1
    v = out[0]
    v.data, v.device_type, v.device_id, v.ndim, v.lanes, v.byte_offset = t.address, 2, t.index, len(t.shape), 1, 0
    v.code, v.bits = WIDTHS[t.dtype]
    v.shape, v.strides = c.cast(t.memory[0], c.POINTER(c.c_int64)), c.cast(t.memory[1], c.POINTER(c.c_int64))
    return 0


@c.CFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))
def current_stream(kind, device, out):
    out[0] = current[0]
    return -1 if "stream" in fails else 0


class Table(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("previous", c.c_void_p), ("others", c.c_void_p * 3), ("describe", type(describe)), ("current_stream", type(current_stream))]


old = Table(1, 3, None, (c.c_void_p * 3)(), describe, current_stream)
table = Table(2, 0, c.addressof(old))  # of a version to come: what is wanted stands behind it
capsule = c.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = c.py_object, (c.c_void_p, c.c_char_p, c.c_void_p)
name_of_capsule = b"dlpack_exchange_api"
Tensor.__dlpack_c_exchange_api__ = capsule(c.addressof(table), name_of_capsule, None)

fake = c.CDLL(os.environ["FX_LIBCUDA"])
fake.fake_cuda_argument.restype = c.c_uint64
fake.fake_cuda_argument.argtypes = (c.c_int,)
fake.fake_cuda_log.restype = c.c_char_p
fake.fake_cuda_fail.argtypes = (c.c_char_p, c.c_int, c.c_int)
fake.fake_cuda_take_arguments(3)

m = fx.compile("""
kernel add(x: f32[N], y: f32[N]) -> s: f32[N] { s = x + y }
kernel step(x: inout f32[N], rate: f32 = 0.5, n: i32 = 3) { x = x - rate * n }
kernel both(x: i32[M,N]) -> (most: i32[M], all: i32[M]) { most = max[N](x); all = sum[N](x) }
kernel lines(x: f32[M,N] strided) -> y: f32[N,M] strided { y = x }
kernel long(x: f32[M,N]) -> y: f32[M] { y = sum[N](x) }
""", dynamic=True)
tests = []


def test(f):
    tests.append(f)
    return f


def refuses(words, call, kind=fx.Error):
    try:
        call()
    except kind as e:
        assert words in str(e), str(e)
        return
    raise AssertionError(f"is not refused: {words}")


def is_direct(kernel, *args, **named):
    """Whether a call goes directly: it is made, and what would be handed on is only noted."""
    handed_on = []
    kernel._call = lambda *args, **named: handed_on.append(args)
    try:
        return kernel._direct is not None and (kernel._direct(*args, **named), not handed_on)[1]
    finally:
        del kernel._call


def launched(n):
    return [fake.fake_cuda_argument(i) for i in range(n)]


@test
def goes_directly():
    x, y = Tensor((1024,)), Tensor((1024,))
    m.add(x, y)
    made.clear()
    s = m.add(x, y)
    assert made == ["like"] and type(s) is Tensor and s.shape == (1024,) and s.dtype == "float32"
    assert launched(3) == [x.address, y.address, s.address]
    fake.fake_cuda_clear()
    assert is_direct(m.add, x, y) and fake.fake_cuda_log().decode().count("cuLaunchKernel") == 1 and "stream 1" in fake.fake_cuda_log().decode()
    assert not is_direct(m.add, x, y, out=s)  # strides of the outputs are another matter
    assert m.add(x, y, out=s) is s and is_direct(m.add, x, y, out=s) and is_direct(m.add, x, y, out=(s,)) and is_direct(m.add, x, y, out=None)
    assert m.add(x, y, out=s) is s and launched(3) == [x.address, y.address, s.address]


@test
def what_does_not():
    x, y = Tensor((1024,)), Tensor((1024,))
    m.add(x, y)
    assert is_direct(m.add, x, y)
    for args, named in [((x,), {}), ((x, y, y), {}), ((x,), {"y": y}), ((x, y), {"stream": 0}), ((x, y), {"out": None, "stream": 0}), ((x, Tensor((1023,))), {}), ((x, Tensor((1024,), "bfloat16")), {}),
                        ((x, Tensor((32, 32))), {}), ((x, Tensor((1024,), device=1)), {}), ((x, Tensor((1024,), strides=(2,))), {}), ((x, 1), {}), ((x, None), {}), ((x, y), {"out": [y]}),
                        ((x, y), {"out": (y, y)}), ((x, y), {"out": 1}), ((x, type("Other", (Tensor,), {})((1024,))), {})]:
        assert not is_direct(m.add, *args, **named), (args, named)
    refuses("axis N of y is 1023", lambda: m.add(x, Tensor((1023,))))
    refuses("y is bf16", lambda: m.add(x, Tensor((1024,), "bfloat16")))
    refuses("several devices", lambda: m.add(x, Tensor((1024,), device=1)))
    refuses("not contiguous", lambda: m.add(x, Tensor((1024,), strides=(2,))))
    refuses("y is missing", lambda: m.add(x))
    assert m.add(x, y=y).shape == (1024,)
    assert is_direct(m.add, x, y)


@test
def gradients():
    x, w = Tensor((64,)), Parameter((64,), requires_grad=True)
    grad_mode[0] = False
    m.add(x, w)
    assert is_direct(m.add, x, w)
    grad_mode[0] = True
    assert not is_direct(m.add, x, w)
    refuses("require a gradient", lambda: m.add(x, w))
    w.requires_grad = False
    assert is_direct(m.add, x, w)


@test
def scalars():
    x = Tensor((256,))
    m.step(x, 0.25, 7)
    made.clear()
    assert m.step(x, 0.5, 9) is None and made == []
    assert is_direct(m.step, x, 1, True)
    values = launched(3)
    assert values[0] == x.address and values[1] & 0xffffffff == 0x3f800000 and values[2] & 0xffffffff == 1
    for rate, n in [("a", 1), (1, 2.5), (None, 1), (1, 1 << 70)]:
        assert not is_direct(m.step, x, rate, n)
    refuses("cannot hold", lambda: m.step(x, 1, 1 << 40))
    assert m.step(x) is None  # defaults take the other way


@test
def several_outputs():
    x = Tensor((8, 16), "int32")
    m.both(x)
    most, total = m.both(x)
    assert is_direct(m.both, x) and most.shape == total.shape == (8,) and launched(3)[1:] != [most.address, total.address]
    out = (Tensor((8,), "int32"), Tensor((8,), "int32"))
    assert m.both(x, out=out) == out and m.both(x, out=out) is out and launched(3) == [x.address, *[o.address for o in out]]
    assert not is_direct(m.both, x, out=out[:1])


@test
def strides():
    x = Tensor((4, 6), strides=(12, 2))
    m.lines(x)
    assert is_direct(m.lines, x) and not is_direct(m.lines, Tensor((4, 6), strides=(18, 3))) and not is_direct(m.lines, Tensor((4, 6)))
    wide = Tensor((6, 4), strides=(8, 2))
    m.lines(x, out=wide)
    assert is_direct(m.lines, x, out=wide) and not is_direct(m.lines, x, out=Tensor((6, 4))) and is_direct(m.lines, x)


@test
def workspace():
    x = Tensor((4, 1 << 22))
    m.long(x)
    bound = list(m.long._bound.values())[-1]
    made.clear()
    m.long(x)
    assert made == ["like"] * (2 if bound.workspace_bytes else 1) and bound.workspace_bytes, (made, bound.workspace_bytes)


@test
def on_the_current_device():
    # Where the context of the kernel is current, memory comes the shorter way; elsewhere not.
    context = c.c_void_p()
    assert fake.cuDevicePrimaryCtxRetain(c.byref(context), 0) == 0
    x, y, z, w = Tensor((1024,)), Tensor((4, 1 << 22)), Tensor((0, 3), "int32"), Tensor((4, 6), strides=(12, 2))
    for kernel, args in ((m.add, (x, x)), (m.long, (y,)), (m.both, (z,)), (m.lines, (w,))):
        kernel(*args)
        made.clear()
        kernel(*args)
        liked = list(made)
        assert set(liked) == {"like"}, (kernel, liked)
        assert fake.cuCtxPushCurrent_v2(context) == 0
        made.clear()
        outs = kernel(*args)
        assert made == ["strided"] * len(liked) and is_direct(kernel, *args)
        assert all(o.is_contiguous() or 0 in o.shape for o in (outs if isinstance(outs, tuple) else (outs,)))
        for what in ("memory", "device"):
            fails.append(what)
            assert not is_direct(kernel, *args) or kernel is m.long and what == "device"  # its workspace is looked at by nobody
            fails.clear()
        assert fake.cuCtxPopCurrent_v2(c.byref(context)) == 0
    assert fake.cuDevicePrimaryCtxRelease_v2(0) == 0


@test
def constants_that_a_graph_reads():
    # Its memory stays, whatever becomes of the weight; what no graph read goes.
    for is_captured in (False, True):
        k = fx.compile("kernel k(x: f32[M,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * sum[K](w) }").k
        x, w = Tensor((4, 8)), Tensor((16, 8))
        k(x, w)
        bound = list(k._bound.values())[-1]
        kept = [weakref.ref(next(iter(bound._constants.values())).memory)]
        capturing[0] = is_captured
        k(x, w)
        capturing[0] = False
        assert bound.const_bytes and len(bound._constants) == 1
        w._version = 1
        k(x, w)
        kept.append(weakref.ref(next(iter(bound._constants.values())).memory))
        capturing[0] = is_captured
        k(x, w)
        capturing[0] = False
        w = Tensor((16, 8))
        k(x, w)
        gc.collect()
        assert len(bound._constants) == 1 and [m() is not None for m in kept] == [is_captured] * 2


@test
def constants_of_streams():
    k = fx.compile("kernel k(x: f32[M,N], w: const f32[K,N]) -> y: f32[M,N] { y = x * sum[K](w) }").k
    x, w = Tensor((4, 8)), Tensor((16, 8))
    recorded.clear()
    k(x, w, stream=0x99)  # made there, in memory of the current stream
    memory = next(iter(list(k._bound.values())[-1]._constants.values())).memory
    k(x, w, stream=0x99), k(x, w)
    assert recorded == [(memory.address, 0x99)]


@test
def many_shapes():
    tensors = [Tensor((n, 2), "int32") for n in range(1, 100)]
    for x in tensors:
        m.both(x)
    assert all(is_direct(m.both, x) for x in tensors) and not is_direct(m.both, Tensor((100, 2), "int32"))


@test
def failures():
    x, y = Tensor((1024,)), Tensor((1024,))
    m.add(x, y)
    for what in ("describe", "stream", "memory"):
        fails.append(what)
        assert not is_direct(m.add, x, y), what
        assert m.add(x, y).shape == (1024,)  # the other way needs none of these
        fails.clear()
    fake.fake_cuda_fail(b"cuLaunchKernel", 1, 2)
    assert not is_direct(m.add, x, y)
    fake.fake_cuda_fail(b"cuLaunchKernel", 1, 2)
    m.add(x, y)  # the second try works
    fake.fake_cuda_clear()
    fx.compile("kernel k(x: f32[N]) -> y: f32[N] { y = x }").k(x)
    assert is_direct(m.add, x, y)


@test
def references():
    x, y, s = Tensor((1024,)), Tensor((1024,)), Tensor((1024,))
    m.add(x, y), m.add(x, y, out=s)

    def many():
        for _ in range(100):
            m.add(x, y)
            m.add(x, y, out=s)
            m.step(x, 0.25, 7)
            is_direct(m.add, x, 1)
            is_direct(m.add, x, y, out=[s])
    many()
    counted = (x, y, s, True, None, NotImplemented, Tensor, (x, y))
    before = [sys.getrefcount(o) for o in counted]
    gc.collect()
    n = len(gc.get_objects())
    many()
    gc.collect()
    after = [sys.getrefcount(o) for o in counted]
    assert all(abs(a - b) < 50 for a, b in zip(after, before)), (before, after)
    assert abs(len(gc.get_objects()) - n) < 20
    k = fx.compile("kernel k(x: f32[N]) -> y: f32[N] { y = x }")
    k.k(x), k.k(x)
    assert type(k.k) is not fx.Kernel and isinstance(k.k, fx.Kernel) and "kernel k" in repr(k.k) and k.k(x=x).shape == (1024,)
    gone, t = weakref.ref(k.k), k.k._direct
    del k
    gc.collect()
    assert gone() is None
    del t


@test
def threads():
    xs = [Tensor((32 * i + 32,)) for i in range(8)]
    wrong = []

    def run(x):
        try:
            for _ in range(200):
                if m.add(x, x).shape != x.shape:
                    wrong.append(x.shape)
        except Exception:
            wrong.append(traceback.format_exc())
    running = [threading.Thread(target=run, args=(x,)) for x in xs for _ in range(2)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    assert not wrong, wrong[0]


@test
def misuse():
    lib, plan = library(), m.add._plan
    interpreter, arrays = c.pythonapi._handle, fx._direct._arrays
    assert lib.fx_python_open(None, c.byref(arrays)) == 2 and lib.fx_python_open(interpreter, None) == 2
    short = fx._library.PythonArrays(size=8)
    assert lib.fx_python_open(interpreter, c.byref(short)) == 2
    later = Table(3, 0, None)
    bad = fx._library.PythonArrays.from_buffer_copy(arrays)
    bad.exchange = c.addressof(later)
    assert lib.fx_python_open(interpreter, c.byref(bad)) == 2 and b"version 1" in lib.fx_last_error()
    assert lib.fx_python_open(c.CDLL(os.environ["FX_LIBCUDA"])._handle, c.byref(arrays)) in (0, 4)
    assert not lib.fx_python_call(None, None)
    for args in ((m.add._direct, None, None, False, None, None, 0), (m.lines._direct, list(m.add._bound.values())[0].prepared, 1, False, 1, None, 0), (len, list(m.add._bound.values())[0].prepared, 1, False, 1, None, 0)):
        assert lib.fx_python_add(*args) == 2
    _ = plan


bad = 0
for t in tests:
    try:
        t()
    except Exception:
        bad += 1
        print(f"FAIL {t.__name__}\n{traceback.format_exc()}")
print(f"{len(tests) - bad} held, {bad} failed")
sys.exit(bad != 0)
