"""What a kernel may be called with, and where it then runs.

In: torch tensors, arrays with the buffer protocol (NumPy's, memoryview, array), CUDA arrays that give DLPack. Out: of each kind how to tell shapes apart, how to find
an address, how to make an output. torch and NumPy are looked at where the caller has already imported them, and never imported here.
"""
import contextlib
import ctypes as c
import functools
import sys
import threading

from ._library import CUDA, DLPACK, Emulation, Error, Tensor, check, library


class Array:
    """What is known of one argument. strides None: row-major. device None: in host memory, then address is 0."""

    __slots__ = ("dtype", "shape", "strides", "device", "address", "keep")

    def __init__(self, dtype, shape, strides=None, device=None, address=0, keep=None):
        self.dtype, self.shape, self.strides, self.device, self.address, self.keep = dtype, tuple(shape), strides, device, address, keep

    def key(self):
        return self.dtype, self.shape, self.strides, self.device


def row_major(shape, strides):
    """Whether these strides, in elements, are those of a row-major array; axes of one element may have any."""
    expected = 1
    if 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


# ---- torch ----


class TorchArrays:
    def __init__(self, torch):
        self.torch = torch
        names = {"bool": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64", "u32": "uint32", "u64": "uint64", "f8e4m3": "float8_e4m3fn",
                 "f8e5m2": "float8_e5m2", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
        self.of = {fx: getattr(torch, name) for fx, name in names.items() if hasattr(torch, name)}
        self.name = {dtype: fx for fx, dtype in self.of.items()}
        self.raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def key(self, arrays, has_out):
        """What tells calls apart that need another launch; None where a gradient would have to be recorded. The shortest way to it: this is most of a call."""
        key = [has_out]
        for a in arrays:
            if a.requires_grad and self.torch.is_grad_enabled():
                return None
            key += (a.shape, a.dtype, a.get_device(), None if a.is_contiguous() else (a.stride(), a.is_neg()))
        return tuple(key)

    def describe(self, a):
        if not isinstance(a, self.torch.Tensor):
            raise Error(f"a torch tensor is expected beside the others, not {type(a).__name__}")
        if a.dtype not in self.name:
            raise Error(f"fx has no dtype for {a.dtype}")
        if a.layout != self.torch.strided or a.is_conj() or a.is_neg():
            raise Error("a dense tensor is expected, neither sparse nor a view that is conjugated or negated: .to_dense(), .resolve_conj()")
        if a.device.type not in ("cuda", "cpu"):
            raise Error(f"a tensor on {a.device.type} is not taken: cuda and cpu are")
        shape, strides = tuple(a.shape), a.stride()
        return Array(self.name[a.dtype], shape, None if row_major(shape, strides) else strides, a.device.index if a.device.type == "cuda" else None,
                     a.data_ptr() if a.device.type == "cuda" else 0)

    def dtype_of(self, dtype):
        if dtype not in self.of:
            raise Error(f"this torch has no dtype for {dtype}")
        return self.of[dtype]

    def maker(self, dtype, shape, device):
        """A function that makes such a tensor."""
        return functools.partial(self.torch.empty, shape, dtype=self.dtype_of(dtype), device=self.torch.device("cuda", device))

    def workspace(self, n_bytes, device):
        memory = self.torch.empty(n_bytes, dtype=self.torch.uint8, device=self.torch.device("cuda", device))
        return memory.data_ptr(), memory

    def stream(self, device):
        return self.raw_stream(device) if self.raw_stream else self.torch.cuda.current_stream(device).cuda_stream

    def guard(self, device):
        return self.torch.cuda.device(device)

    def state(self, a):
        """Where a tensor lies, and how often torch has seen it written to: as long as its memory lives, the same state is the same contents."""
        return a.data_ptr(), -1 if a.is_inference() else a._version

    def life(self, a):
        """What says whether the memory of a tensor still lives, and does not keep it."""
        from torch.multiprocessing.reductions import StorageWeakRef

        return StorageWeakRef(a.untyped_storage())

    def is_capturing(self):
        return self.torch.cuda.is_current_stream_capturing()

    def use_on(self, memory, stream):
        """Memory of the workspace kind is read on that stream too: it is not given to others before what is enqueued there is done."""
        memory.record_stream(self.torch.cuda.ExternalStream(stream))

    def load(self, a):
        a = a.detach().contiguous()
        return a.data_ptr(), a

    def store(self, a, memory):
        a.copy_(self.make(self.name[a.dtype], a.shape, memory))

    def make(self, dtype, shape, memory):
        if not memory:
            return self.torch.empty(shape, dtype=self.dtype_of(dtype))
        return self.torch.frombuffer(memory, dtype=self.dtype_of(dtype)).reshape(shape)


# ---- the buffer protocol ----

FORMATS = {"?": "bool", "b": "i8", "B": "u8", "h": "i16", "i": "i32", "l": "i64", "q": "i64", "I": "u32", "L": "u64", "Q": "u64", "e": "f16", "f": "f32", "d": "f64"}
LETTERS = {"bool": "?", "i8": "b", "u8": "B", "i16": "h", "i32": "i", "i64": "q", "u32": "I", "u64": "Q", "f16": "e", "f32": "f", "f64": "d"}
NARROW = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}  # ml_dtypes has them, the buffer protocol no letter


class BufferArrays:
    """In host memory. What is made is a NumPy array where the first argument is one, else a memoryview."""

    def __init__(self, numpy=None):
        self.numpy = numpy

    def view(self, a):
        narrow = NARROW.get(getattr(getattr(a, "dtype", None), "name", None))
        if narrow:
            return narrow, memoryview(a.view("u2" if narrow == "bf16" else "u1"))
        v = memoryview(a)
        letter = v.format.lstrip("@=<|")
        if letter not in FORMATS or v.itemsize * 8 != DLPACK[FORMATS[letter]][1]:
            raise Error(f"an array of format '{v.format}' is not taken: fx has no dtype for it, or its bytes are swapped")
        return FORMATS[letter], v

    def describe(self, a):
        dtype, v = self.view(a)
        return Array(dtype, v.shape)

    def load(self, a):
        data = self.view(a)[1].tobytes()
        return c.cast(c.c_char_p(data), c.c_void_p).value, data

    def store(self, a, memory):
        v = self.view(a)[1]
        if v.readonly or not v.c_contiguous:
            raise Error("an array that is written has to be writable and row-major")
        if memory:
            v.cast("B")[:] = memory

    def make(self, dtype, shape, memory):
        if self.numpy:
            if dtype in LETTERS:
                kind = self.numpy.dtype(LETTERS[dtype])
            else:
                try:
                    import ml_dtypes
                except ImportError:
                    raise Error(f"NumPy has no {dtype}: install ml_dtypes") from None
                kind = self.numpy.dtype(getattr(ml_dtypes, {fx: name for name, fx in NARROW.items()}[dtype]))
            return self.numpy.frombuffer(memory, dtype=kind).reshape(shape)
        if dtype not in LETTERS:
            raise Error(f"the buffer protocol has no {dtype}: call with NumPy arrays, and have ml_dtypes")
        if 0 in shape:  # a memoryview has no extent of 0
            return memoryview(memory).cast(LETTERS[dtype])
        return memoryview(memory).cast(LETTERS[dtype], shape=shape) if shape else memoryview(memory).cast(LETTERS[dtype])



# ---- DLPack ----

c.pythonapi.PyCapsule_GetPointer.restype = c.c_void_p
c.pythonapi.PyCapsule_GetPointer.argtypes = (c.py_object, c.c_char_p)


class DlpackArrays:
    """In the memory of a GPU. Outputs are given by `out`: DLPack says how to lend memory, not how to make any."""

    no_memory = "an array that is neither torch's nor in host memory: give the memory of the outputs, out="

    def describe(self, a):
        kind, device = a.__dlpack_device__()
        if int(kind) not in (CUDA, 13):  # 13: managed
            raise Error(f"an array on a DLPack device of type {int(kind)} is not taken: CUDA memory (2, 13) and host arrays with the buffer protocol are")
        capsule = a.__dlpack__(stream=1)  # the legacy default stream, which waits for whatever the producer has enqueued
        t = Tensor.from_address(c.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor"))
        dtype = {dlpack: fx for fx, dlpack in DLPACK.items()}.get((t.code, t.bits))
        if dtype is None or t.lanes != 1:
            raise Error(f"fx has no dtype for DLPack's code {t.code} of {t.bits} bits and {t.lanes} lanes")
        shape = tuple(t.shape[i] for i in range(t.ndim))
        strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
        return Array(dtype, shape, None if strides is None or row_major(shape, strides) else strides, device, (t.data or 0) + t.byte_offset, capsule)

    def workspace(self, n_bytes, device):
        context, at = context_of(device), c.c_void_p()
        check(library().fx_device_alloc(context.handle, n_bytes, c.byref(at)))
        return at.value, Owned(context, at)

    def stream(self, device):
        return 0

    def guard(self, device):
        return contextlib.nullcontext()



class Owned:
    """Device memory of our own; it is freed with this."""

    def __init__(self, context, at):
        self.context, self.at = context, at

    def __del__(self):
        library().fx_device_free(self.context.handle, self.at)


_kinds = {}


def kind_of(a):
    """The kind of an argument's type."""
    kind = _kinds.get(type(a))
    if kind is None:
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch and isinstance(a, torch.Tensor):
            kind = next((k for k in _kinds.values() if isinstance(k, TorchArrays)), None) or TorchArrays(torch)
        elif numpy and isinstance(a, numpy.ndarray):
            kind = BufferArrays(numpy)
        elif hasattr(a, "__dlpack__"):
            kind = DlpackArrays()
        else:
            try:
                memoryview(a)
            except TypeError:
                raise Error(f"{type(a).__name__} is no array: torch tensors, what has the buffer protocol, and CUDA arrays with __dlpack__ are taken") from None
            kind = BufferArrays()
        _kinds[type(a)] = kind
    return kind


# ---- where kernels run ----


class Context:
    def __init__(self, ordinal, is_emulated=False):
        self.handle, self.is_emulated = c.c_void_p(), is_emulated
        check(library().fx_context_open(ordinal, c.byref(self.handle)))
        self.arch, self.device = library().fx_context_arch(self.handle).decode(), library().fx_context_device(self.handle).decode()


_lock = threading.RLock()
_contexts = {}  # by ordinal; they live as long as the process
_wish = "auto"
_is_emulated = False


def use(device):
    """Where arrays in host memory are computed with: "gpu", "emu" (the emulator), or "auto": the GPU where there is one, else the emulator. To be said before the first
    call of a kernel: a process on the emulator stays there."""
    global _wish
    if device not in ("auto", "gpu", "emu"):
        raise Error(f'use("{device}"): "auto", "gpu" and "emu" are taken')
    with _lock:
        if _contexts and device != "auto" and (device == "emu") != _is_emulated:
            raise Error(f"use({device!r}): kernels of this process already run on the {'emulator' if _is_emulated else 'GPU'}")
        _wish = device


def emulate():
    global _is_emulated
    check(library().fx_emulate(c.byref(Emulation(n_schedules=1))))
    _is_emulated = True


def context_of(device):
    """That of a device; None: for arrays in host memory."""
    found = _contexts.get(device or 0)
    if found and (device is None or not _is_emulated):
        return found
    with _lock:
        if device is not None and _is_emulated:
            raise Error("kernels of this process run on the emulator, which takes arrays in host memory")
        if (device or 0) not in _contexts:
            if device is None and _wish == "emu":
                emulate()
            try:
                _contexts[device or 0] = Context(device or 0, _is_emulated)
            except Error:
                if device is not None or _wish != "auto":
                    raise
                emulate()
                _contexts[0] = Context(0, True)
        return _contexts[device or 0]
