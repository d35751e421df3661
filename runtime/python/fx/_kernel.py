"""Specs and kernels as Python sees them: a module has kernels, a kernel is called.

A kernel is compiled for the extents it is called with, once for each set of them, or once for all (`dynamic`). What a call then costs is a look at the shapes, the
memory of its outputs and fx_launch.
"""
import ctypes as c
import pathlib
import threading
import weakref

from . import _arrays, _direct
from ._library import DLPACK, DTYPES, MAX_RANK, CUDA, Error, Hint, Options, Shape, Tensor, Value, check, library

MOST_CONSTANTS = 1024  # of a kernel at one set of shapes: of as many layers
MOST_SETS = 16  # of extents that a kernel is compiled for; from there on it is compiled once for all


def compile(text, *, defines=None, dynamic=False, name="spec.fx"):
    """A spec -> its Module. defines: {name: value} of extents, constants and fns, as -D of the command. dynamic: each kernel is compiled once, for any extents, and not
    for each set of extents it is called with. Raises Error with the messages of the compiler."""
    return Module(text, [f"{n}={v}" for n, v in (defines or {}).items()], dynamic, name)


def compile_file(path, *, defines=None, dynamic=False):
    """The same of a file."""
    return compile(pathlib.Path(path).read_text(), defines=defines, dynamic=dynamic, name=str(path))


class Compilation:
    """A text compiled: closed with this object."""

    def __init__(self, text, name, arch, kernel=None, defines=()):
        self.handle = c.c_void_p()
        data, given = text.encode(), (c.c_char_p * max(1, len(defines)))(*[d.encode() for d in defines])
        options = Options(size=c.sizeof(Options), arch=arch.encode(), kernel=kernel and kernel.encode(), defines=given, n_defines=len(defines))
        status = library().fx_compile(data, len(data), name.encode(), c.byref(options), c.byref(self.handle))
        weakref.finalize(self, library().fx_close, c.c_void_p(self.handle.value)).atexit = False
        if status:
            raise Error((library().fx_messages(self.handle) or b"").decode().rstrip() or "out of memory", status)
        self.plan = library().fx_get_plan(self.handle)


class Module:
    """The kernels of a spec, as attributes and by name: m.linear, m["linear"], list(m)."""

    def __init__(self, text, defines, dynamic, name):
        self.text, self.defines, self.dynamic, self.name = text, defines, dynamic, name
        whole = Compilation(text, name, "sm_90a", defines=self.defines)
        self.warnings = library().fx_messages(whole.handle).decode()
        plan = whole.plan.contents
        self._kernels = {k.name: k for k in (Kernel(self, whole, plan.kernels[i]) for i in range(plan.n_kernels))}
        for name, kernel in self._kernels.items():
            if not hasattr(type(self), name):  # found at once; __getattr__ is for what is not there
                self.__dict__.setdefault(name, kernel)

    def __getitem__(self, name):
        if name not in self._kernels:
            raise Error(f"{self.name} has no kernel {name}: {', '.join(self._kernels)}")
        return self._kernels[name]

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"{self.name} has no kernel {name}: {', '.join(self._kernels) if not name.startswith('_') else ''}")
        return self._kernels[name]

    def __iter__(self):
        return iter(self._kernels)

    def gradient(self, name, wrt, saved=()):
        """The gradient of a kernel by the inputs named, as a Kernel: it takes the inputs, then the outputs named in saved, then an adjoint for each output of floats, and gives
        one for each of wrt."""
        taken, own = set(self._kernels), f"{name}_bwd"
        while own in taken:
            own += "_"
        return Module(f"{self.text}\nkernel {own} = grad({name}, wrt: {', '.join(wrt)}{', saved: ' + ', '.join(saved) if saved else ''})\n", self.defines, self.dynamic, self.name)[own]


class Param:
    def __init__(self, p):
        self.name, self.is_scalar, self.is_input, self.is_output = p.name.decode(), p.is_scalar, p.is_input, p.is_output
        self.dtype = DTYPES[p.packed.storage if p.packed.factor else p.dtype]  # as the argument has it
        self.is_float = self.dtype[0] in "fb" and self.dtype != "bool"
        self.is_inout, self.is_const = p.is_input and p.is_output, p.is_const
        self.default = p.value if p.has_value else None
        self.rank = p.rank


class Kernel:
    """Called with its inputs, `inout` tensors among them, in the order of the spec or by name; gives its outputs, a tuple where there are several, None where all it does is
    to change `inout` tensors. out: memory for the outputs. stream: an address of a CUstream, where it is not torch's current one."""

    def __init__(self, module, compilation, plan):
        self.module, self.name, self._compilation, self._plan = module, plan.name.decode(), compilation, plan
        self.params = [Param(plan.params[i]) for i in range(plan.n_params)]
        self.labels = [plan.extents[i].name.decode() for i in range(plan.n_extents)]
        self.inputs = [p for p in self.params if p.is_input]
        self.outputs = [p for p in self.params if p.is_output and not p.is_input]
        self._tensors = [i for i, p in enumerate(self.inputs) if not p.is_scalar]
        self._all_tensors = len(self._tensors) == len(self.inputs)
        self._n_inputs = len(self.inputs)
        self._bound, self._dynamic, self._lock = {}, {}, threading.RLock()
        self._direct = None  # what launches by itself in shapes met before

    def __repr__(self):
        return f"<fx kernel {self.name}({', '.join(p.name for p in self.inputs)}) -> ({', '.join(p.name for p in self.outputs)})>"

    def __call__(self, *args, **named):
        return self._call(*args, **named)

    def _otherwise(self):
        """What `_direct` hands calls on to; it does not keep the kernel, which keeps `_direct`."""
        kernel = weakref.ref(self)
        return lambda *args, **named: kernel()._call(*args, **named)

    def _call_directly(self, direct):
        """Calls go to `direct` from now on, without a function of Python in between: it is the `__call__` of a class of its own."""
        self._direct = direct
        self.__class__ = type("Kernel", (Kernel,), {"__call__": direct, "__slots__": ()})

    def _call(self, *args, out=None, stream=None, **named):
        if named or len(args) != self._n_inputs:
            args = self._arrange(args, named)
        tensors = args if self._all_tensors else [args[i] for i in self._tensors]
        if out is not None:
            out = tuple(out) if isinstance(out, (tuple, list)) else (out,)
            if len(out) != len(self.outputs):
                raise Error(f"{self.name} has {len(self.outputs)} outputs, out has {len(out)}")
            tensors = [*tensors, *out]
        if not tensors:
            raise Error(f"{self.name} has no tensor among its arguments: give the memory of its outputs, out=")
        kind = _arrays._kinds.get(type(tensors[0])) or _arrays.kind_of(tensors[0])
        if not isinstance(kind, _arrays.TorchArrays):
            return self._call_described(kind, args, tensors, out, stream)
        try:
            key = kind.key(tensors, out is not None)
        except (AttributeError, RuntimeError):
            for t in tensors:
                kind.describe(t)  # says what is wrong with one
            raise
        if key is None:
            raise Error(f"{self.name} is called on tensors that require a gradient, which a call does not record: fx.torch.op(kernel, wrt=[..]), or torch.no_grad()")
        bound = self._bound.get(key)
        if bound is None:
            described = [kind.describe(t) for t in tensors]
            if described[0].device is None:
                return self._call_described(kind, args, tensors, out, stream)
            bound = self._bind_once(key, kind, described, out)
        if out is None:
            out = [make() for make in bound.makers]
            tensors = [*tensors, *out]
        bound.launch([t.data_ptr() for t in tensors], args, kind.stream(bound.device) if stream is None else stream, tensors=tensors)
        return out[0] if len(out) == 1 else tuple(out) or None

    def _arrange(self, args, named):
        """Arguments by position and by name, with defaults, in the order of the spec."""
        if len(args) > self._n_inputs:
            raise Error(f"{self.name} takes {self._n_inputs} inputs ({', '.join(p.name for p in self.inputs)}), not {len(args)}")
        given = dict(zip((p.name for p in self.inputs), args))
        for name, value in named.items():
            if name in given or name not in {p.name for p in self.inputs}:
                raise Error(f"{self.name}: {name} is {'given twice' if name in given else 'no input: ' + ', '.join(p.name for p in self.inputs)}")
            given[name] = value
        for p in self.inputs:
            if p.name not in given and p.default is None:
                raise Error(f"{self.name}: {p.name} is missing")
        return [given.get(p.name, p.default) for p in self.inputs]

    # ---- what has to be described first: host memory, DLPack ----

    def _call_described(self, kind, args, tensors, out, stream):
        described = [kind.describe(t) for t in tensors]
        where = {d.device for d in described}
        if len(where) > 1:
            raise Error(f"{self.name}: its arguments are on several devices")
        key = (type(kind), out is not None, *[d.key() for d in described])
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bind_once(key, kind, described, out)
        n = len(self._tensors)
        if described[0].device is not None:
            if out is None and self.outputs:
                raise Error(f"{self.name}: {kind.no_memory}")
            bound.launch([d.address for d in described], args, stream or 0)
            return None if out is None else out[0] if len(out) == 1 else out
        return bound.run_staged(tensors[:n], out, args)

    # ---- compiling for what is called ----

    def _bind_once(self, key, kind, described, out):
        """What is bound stays: `_direct` refers to it."""
        with self._lock:
            if key not in self._bound:
                bound = self._bind(kind, described, len(out or ()))
                if bound.makers is not None and not bound.const_bytes:  # it knows no constants
                    direct = _direct.add(self._direct, self._plan, bound, out is not None, self._otherwise())
                    if direct is not self._direct:
                        self._call_directly(direct)
                self._bound[key] = bound
            return self._bound[key]

    def _bind(self, kind, described, n_out):
        with self._lock:
            device = described[0].device
            for d in described:
                if d.device != device:
                    raise Error(f"{self.name}: its arguments are on several devices")
            if device is None:
                context = _arrays.context_of(None)
            else:
                with kind.guard(device):
                    context = _arrays.context_of(device)
            extents = self.extents_of(described, n_out)
            prepared = self._prepare(context, extents)
            return Bound(self, kind, context, device, prepared, extents, described, n_out)

    def extents_of(self, described, n_out=0):
        """The extents of all labels, from the shapes of the tensors among the inputs, and of the outputs where they are given."""
        at = iter(described[: len(self._tensors)])
        outs = iter(described[len(self._tensors):])
        shapes, keep = (c.c_void_p * len(self.params))(), []
        for i, p in enumerate(self.params):
            d = None
            if p.is_input and not p.is_scalar:
                d = next(at)
            elif not p.is_input and n_out:
                d = next(outs)
            if d is not None:
                if len(d.shape) > MAX_RANK:
                    raise Error(f"{p.name} has rank {len(d.shape)}, but {p.rank} is expected")
                shape = Shape(dtype=DTYPES.index(d.dtype), rank=len(d.shape))
                shape.extents[: len(d.shape)] = d.shape
                keep.append(shape)
                shapes[i] = c.addressof(shape)
        extents, message = (c.c_int64 * max(1, len(self.labels)))(), c.create_string_buffer(600)
        status = library().fx_bind_extents(c.byref(self._plan), shapes, extents, message, 600)
        if status:
            raise Error(f"{self.name}: {message.value.decode()}", status)
        return extents

    def _defines(self, extents):
        of_shapes = {self._plan.params[i].extents[axis] for i, p in enumerate(self.params) for axis in range(p.rank)}  # the spec's own labels
        named = {}
        for i in sorted(of_shapes):
            if self._plan.extents[i].value < 0 and extents[i] >= 0:
                named.setdefault(self.labels[i], extents[i])
        return named

    def _with(self, extents):
        return [*self.module.defines, *[f"{n}={e}" for n, e in extents.items()]]

    def _prepare(self, context, extents):
        named = self._defines(extents)
        is_static = not self.module.dynamic and len({b.extents_key for b in self._bound.values()} | {tuple(extents)}) <= MOST_SETS
        if is_static:
            compiled = Compilation(self.module.text, self.module.name, context.arch, self.name, self._with(named))
        else:
            compiled = self._dynamic.get(context.arch)
            if compiled is None:
                compiled = self._dynamic[context.arch] = Compilation(self.module.text, self.module.name, context.arch, self.name, self.module.defines)
        hints = (Hint * max(1, len(named)))(*[Hint(l.encode(), e) for l, e in named.items()])
        prepared = c.c_void_p()
        check(library().fx_prepare(context.handle, compiled.plan, self.name.encode(), hints, len(named), c.byref(prepared)))
        return prepared

    def shape_of(self, param, extents):
        i = self.params.index(param)
        return tuple(library().fx_argument_extent(c.byref(self._plan.params[i]), axis, extents) for axis in range(param.rank))

    # ---- for people ----

    def _text(self, call, extents, arch):
        compiled = Compilation(self.module.text, self.module.name, arch, self.name, self._with(extents))
        return call(compiled.handle).decode()

    def source(self, arch="sm_90a", **extents):
        """The CUDA text, with these extents compiled in."""
        return self._text(lambda handle: library().fx_text(handle, 4), extents, arch)

    def explain(self, arch="sm_90a", **extents):
        """What was fused, its bytes, operations and predicted times, as `fxc explain -v`."""
        return self._text(lambda handle: library().fx_receipt(handle, 0, None), extents, arch)


class Bound:
    """A kernel at one set of shapes on one device: prepared, with frames of arguments ready."""

    def __init__(self, kernel, kind, context, device, prepared, extents, described, n_out):
        self.kernel, self.kind, self.context, self.device, self.prepared = kernel, kind, context, device, prepared
        self.extents_key, self.n = tuple(extents), len(kernel.params)
        weakref.finalize(self, library().fx_prepared_release, c.c_void_p(prepared.value)).atexit = False
        at, outs = iter(described[: len(kernel._tensors)]), iter(described[len(kernel._tensors):])
        self.layout, self.output_shapes = [], []
        for p in kernel.params:
            if p.is_input:
                d = None if p.is_scalar else next(at)
            else:
                shape = kernel.shape_of(p, extents)
                self.output_shapes.append((p.dtype, shape))
                d = next(outs) if n_out else _arrays.Array(p.dtype, shape)
            self.layout.append(d and (d.dtype, d.shape, d.strides))
        self.frames = []
        frame, n_bytes = self._frame(), c.c_size_t()
        check(library().fx_workspace_bytes(self.prepared, frame[1], self.n, c.byref(n_bytes)))
        self.workspace_bytes = n_bytes.value
        check(library().fx_const_bytes(self.prepared, frame[1], self.n, c.byref(n_bytes)))
        self.const_bytes, self._constants, self._lock = n_bytes.value, {}, threading.Lock()
        self._captured = set()  # what graphs read that were captured: nobody says when they go
        self._const = [i for i, p in enumerate(p for p in kernel.inputs if not p.is_scalar) if p.is_const]
        self.frames.append(frame)
        self.makers = [kind.maker(dtype, shape, device) for dtype, shape in self.output_shapes] if isinstance(kind, _arrays.TorchArrays) and device is not None else None
        self._launch, self._handle = library().fx_launch, prepared.value

    def _frame(self):
        """Room for the arguments of one launch: its tensors, the address of its values, and its values."""
        values, tensors, scalars = (Value * max(1, self.n))(), [], []
        for i, layout in enumerate(self.layout):
            if layout is None:
                scalars.append((values[i], self.kernel.params[i]))
                continue
            dtype, shape, strides = layout
            code, bits = DLPACK[dtype]
            t = Tensor(device_type=CUDA, device_id=self.device or 0, ndim=len(shape), code=code, bits=bits, lanes=1, shape=(c.c_int64 * max(1, len(shape)))(*shape))
            if strides is not None:
                t.strides = (c.c_int64 * max(1, len(shape)))(*strides)
            values[i].tensor = c.pointer(t)
            tensors.append((t, self.kernel.params[i]))
        return [t for t, p in tensors if p.is_input] + [t for t, p in tensors if not p.is_input], c.addressof(values), scalars, values

    def constants(self, tensors, values, stream):
        """What was computed from the `const` tensors among these, now if need be; None where it cannot be while a graph is captured."""
        state = [self.kind.state(tensors[i]) for i in self._const]
        kept, is_capturing = self._constants.get(key := tuple(state)), self.kind.is_capturing()
        if kept is None or not kept.is_alive():
            if is_capturing:
                return None
            with self._lock:
                now = dict(state)
                gone = [k for k, x in self._constants.items() if not x.is_alive() or any(now.get(at, n) != n for at, n in k)]  # other contents lie there
                for k in gone + list(self._constants)[: -MOST_CONSTANTS]:
                    self._constants.pop(k, None)
                kept = self._constants[key] = Constants(self, [tensors[i] for i in self._const], values, stream)
        if is_capturing:
            self._captured.add(kept)
        if stream not in kept.streams:
            kept.streams.add(stream)
            self.kind.use_on(kept.memory, stream)
        return kept

    def launch(self, addresses, args, stream, workspace=None, tensors=None):
        """addresses: of the tensors among the inputs, then of the outputs; tensors: those, where what depends on `const` ones is to be kept."""
        try:
            frame = self.frames.pop()
        except IndexError:
            frame = self._frame()
        places, values, scalars, _ = frame
        for t, address in zip(places, addresses):
            t.data = address
        if scalars:
            given = iter([args[i] for i, p in enumerate(self.kernel.inputs) if p.is_scalar])
            for value, p in scalars:
                x = next(given)
                if p.is_float:
                    value.number = float(x)
                else:
                    value.integer = int(x)
        keep, launch, handle, n_bytes = None, self._launch, self._handle, self.workspace_bytes
        if self.const_bytes and tensors is not None:
            constants = self.constants(tensors, values, stream)
            if constants is not None:
                launch, handle, n_bytes = library().fx_const_launch, constants.handle, constants.workspace_bytes
        if n_bytes and workspace is None:
            workspace, keep = self.kind.workspace(n_bytes, self.device)
        status = launch(handle, values, self.n, workspace, n_bytes, stream)
        if status:
            message = (library().fx_last_error() or b"").decode()
            raise Error(f"{self.kernel.name}: {message}", status)
        self.frames.append(frame)
        if isinstance(keep, _arrays.Owned):  # nobody else keeps it until the launch is over
            check(library().fx_stream_wait(self.context.handle, stream))

    def run_staged(self, tensors, out, args):
        """Arguments in host memory: copied to the device, launched, copied back."""
        lib, context, places = library(), self.context.handle, []

        def place(n_bytes):
            at = c.c_void_p()
            check(lib.fx_device_alloc(context, max(1, n_bytes), c.byref(at)))
            places.append(at)
            return at

        def size(dtype, shape):
            n = DLPACK[dtype][1] // 8
            for extent in shape:
                n *= extent
            return n

        stream, kernel = c.c_void_p(), self.kernel
        layouts = [l for l, p in zip(self.layout, kernel.params) if p.is_input and l]
        try:
            check(lib.fx_stream_open(context, c.byref(stream)))
            ins = []
            for t, (dtype, shape, _) in zip(tensors, layouts):
                n_bytes = size(dtype, shape)
                ins.append(place(n_bytes))
                source, keep = self.kind.load(t)
                if n_bytes:
                    check(lib.fx_device_write(context, ins[-1], source, n_bytes))
                del keep
            outs = [place(size(dtype, shape)) for dtype, shape in self.output_shapes]
            workspace = place(self.workspace_bytes) if self.workspace_bytes else None
            self.launch([a.value for a in ins + outs], args, stream.value, workspace and workspace.value)
            check(lib.fx_stream_wait(context, stream))

            def fetch(at, dtype, shape):
                memory = bytearray(size(dtype, shape))
                if memory:
                    check(lib.fx_device_read(context, (c.c_char * len(memory)).from_buffer(memory), at, len(memory)))
                return memory

            changed = [p for p in kernel.inputs if not p.is_scalar]
            for t, p, at, (dtype, shape, _) in zip(tensors, changed, ins, layouts):
                if p.is_output:
                    self.kind.store(t, fetch(at, dtype, shape))
            results = []
            for i, (at, (dtype, shape)) in enumerate(zip(outs, self.output_shapes)):
                memory = fetch(at, dtype, shape)
                if out is not None:
                    self.kind.store(out[i], memory)
                    results.append(out[i])
                else:
                    results.append(self.kind.make(dtype, shape, memory))
            return results[0] if len(results) == 1 else tuple(results) or None
        finally:
            for at in places:
                lib.fx_device_free(context, at)
            if stream:
                lib.fx_stream_close(context, stream)


class Constants:
    """What a bound kernel computes from `const` tensors alone, once for all launches with these: torch's memory, which goes with this."""

    def __init__(self, bound, tensors, values, stream):
        lib, kind = library(), bound.kind
        address, self.memory = kind.workspace(bound.const_bytes, bound.device)
        handle, n_bytes = c.c_void_p(), c.c_size_t()
        check(lib.fx_const_prepare(bound.prepared, values, bound.n, address, bound.const_bytes, stream, c.byref(handle)))
        weakref.finalize(self, lib.fx_constants_release, c.c_void_p(handle.value)).atexit = False
        check(lib.fx_const_workspace_bytes(handle, values, bound.n, c.byref(n_bytes)))
        check(lib.fx_stream_wait(bound.context.handle, stream))  # launches on other streams find it done
        self.handle, self.workspace_bytes, self.streams = handle.value, n_bytes.value, {kind.stream(bound.device)}  # whose memory it is
        self.lives = [kind.life(t) for t in tensors]

    def is_alive(self):
        """Whether the tensors' memory still is theirs; else another tensor may lie at the same place."""
        return not any(life.expired() for life in self.lives)
