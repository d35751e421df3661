"""libfx.so by ctypes, for benchmarks: specs compiled, kernels prepared and launched on memory that others own, entry by entry.

In: a library that `make` built. Out: Spec, Kernel, Context. The structs are those of the Python package; what fails raises Failure with the library's words.
"""
import ctypes as c
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "runtime/python"))
from fx._library import DLPACK, DTYPES, MAX_RANK, Emulation, Error as Failure, Hint, KernelPlan, Options, Tensor, Value, assertions, fields  # noqa: E402

TOLERANCES = ("derived", "exact", "abs", "rel", "f16_ulp", "worst")


class Tolerance(c.Structure):
    _fields_ = fields(("kind", c.c_int), ("value", c.c_double))


class Block(c.Structure):
    _fields_ = fields(("kernel file", c.c_char_p), ("line", c.c_int), ("is_bench", c.c_bool), ("n_defines n_extents n_inputs n_beside", c.c_int),
                      ("defines extents inputs beside", c.POINTER(c.c_char_p)), ("has_seed", c.c_bool), ("seed", c.c_uint64), ("tolerance", Tolerance), ("warmup rep", c.c_int64))


def header_assertions():
    """C that compiles where the structs above are those of the headers."""
    yield '#include <stddef.h>\n#include "fx.h"'
    yield from assertions({"tolerance": Tolerance, "test": Block})
    yield f'_Static_assert(FX_TOL_WORST == {len(TOLERANCES) - 1}, "tolerances");'


def load(path):
    lib = c.CDLL(str(path))
    for name in ("fx_messages", "fx_last_error", "fx_chosen_entry", "fx_context_arch", "fx_context_device"):
        getattr(lib, name).restype = c.c_char_p
    lib.fx_get_plan.restype = lib.fx_tests.restype = c.c_void_p
    lib.fx_find_kernel.restype = c.POINTER(KernelPlan)
    lib.fx_argument_extent.restype = c.c_int64
    return lib


def texts(given):
    """A C array of strings."""
    return (c.c_char_p * max(1, len(given)))(*[g.encode() for g in given])


class Spec:
    """A file, compiled; `kernel` alone where it is given. With tests_only nothing but its blocks. `rules` are applied that are off by default, as fxc --with does."""

    def __init__(self, lib, path, arch="sm_90a", kernel=None, defines=(), tests_only=False, gpu=None, rules=""):
        text = pathlib.Path(path).read_bytes()
        self.lib, self.handle, self._given = lib, c.c_void_p(), texts(defines)
        options = Options(size=c.sizeof(Options), arch=arch.encode(), kernel=kernel and kernel.encode(), defines=self._given, n_defines=len(defines), tests_only=tests_only,
                          gpu=gpu and gpu.encode(), **{"with": rules.encode() or None})
        status = lib.fx_compile(text, c.c_size_t(len(text)), str(path).encode(), c.byref(options), c.byref(self.handle))
        if status:
            raise Failure(lib.fx_messages(self.handle).decode() if self.handle else "out of memory")

    def blocks(self):
        n = c.c_int()
        at = self.lib.fx_tests(self.handle, c.byref(n))
        return [(c.cast(at, c.POINTER(Block)))[i] for i in range(n.value)]

    def plan(self):
        return c.c_void_p(self.lib.fx_get_plan(self.handle))


class Context:
    """A GPU, or the emulator: then before any other in this process."""

    def __init__(self, lib, is_emulated=False):
        self.lib, self.handle = lib, c.c_void_p()
        if is_emulated:
            self.check(lib.fx_emulate(c.byref(Emulation(sm_count=4, n_schedules=1))))
        self.check(lib.fx_context_open(0, c.byref(self.handle)))
        self.arch, self.device = lib.fx_context_arch(self.handle).decode(), lib.fx_context_device(self.handle).decode()

    def check(self, status):
        if status:
            raise Failure(self.lib.fx_last_error().decode())

    def alloc(self, n_bytes):
        p = c.c_void_p()
        self.check(self.lib.fx_device_alloc(self.handle, c.c_size_t(max(1, n_bytes)), c.byref(p)))
        return p.value

    def free(self, p):
        self.lib.fx_device_free(self.handle, c.c_void_p(p))

    def write(self, device, host, n_bytes):
        self.check(self.lib.fx_device_write(self.handle, c.c_void_p(device), c.c_void_p(host), c.c_size_t(n_bytes)))

    def read(self, host, device, n_bytes):
        self.check(self.lib.fx_device_read(self.handle, c.c_void_p(host), c.c_void_p(device), c.c_size_t(n_bytes)))


class Argument:
    """A parameter at the extents of a kernel: name, dtype as it is stored, shape; or a scalar."""

    def __init__(self, p, dtype, shape):
        self.name, self.dtype, self.shape = p.name.decode(), dtype, shape
        self.is_scalar, self.is_input, self.is_output = p.is_scalar, p.is_input, p.is_output
        self.element, self.packed = DTYPES[p.dtype], (p.packed.factor, p.packed.axis, p.packed.is_msb)
        self.default = p.value if p.has_value else None


class Kernel:
    """A kernel at given extents: {label: extent}, those that equations define left out or not."""

    def __init__(self, spec, name, extents):
        self.spec, self.lib, self.name = spec, spec.lib, name
        self.plan = spec.lib.fx_find_kernel(spec.plan(), name.encode())[0]
        self.labels = [self.plan.extents[i].name.decode() for i in range(self.plan.n_extents)]
        self.extents = (c.c_int64 * max(1, len(self.labels)))(*[self.plan.extents[i].value for i in range(self.plan.n_extents)])
        for label, value in extents.items():
            self.extents[self.labels.index(label)] = value
        message = c.create_string_buffer(400)
        if spec.lib.fx_solve_extents(c.byref(self.plan), self.extents, message, c.c_size_t(400)):
            raise Failure(message.value.decode())
        if -1 in list(self.extents)[: len(self.labels)]:
            raise Failure(f"{name}: no extent for {[l for l, e in zip(self.labels, self.extents) if e < 0]}")
        self.args = [self._argument(self.plan.params[i]) for i in range(self.plan.n_params)]
        self.launches = [(self.plan.launches[i].driver.decode(), self.plan.launches[i].n_phases) for i in range(self.plan.n_launches)]
        self.prepared = c.c_void_p()

    def _argument(self, p):
        shape = [self.lib.fx_argument_extent(c.byref(p), axis, self.extents) for axis in range(p.rank)]
        return Argument(p, DTYPES[p.packed.storage if p.packed.factor else p.dtype], shape)

    def prepare(self, context):
        """Compiles what these extents can reach."""
        named = {}
        for label, extent in zip(self.labels, self.extents):
            named.setdefault(label, extent)  # of labels that share a name, as those of fns may, the first is the spec's
        hints = (Hint * max(1, len(named)))(*[Hint(l.encode(), e) for l, e in named.items()])
        self.context = context
        context.check(self.lib.fx_prepare(context.handle, self.spec.plan(), self.name.encode(), hints, len(named), c.byref(self.prepared)))

    def values(self, given):
        """The arguments of a launch; given: an address, or a scalar's value, for each parameter."""
        values = (Value * max(1, len(self.args)))()
        for v, a, x in zip(values, self.args, given):
            if a.is_scalar:
                v.number, v.integer = float(x), int(x)
                continue
            code, bits = DLPACK[a.dtype]
            shape = (c.c_int64 * max(1, len(a.shape)))(*a.shape)
            t = Tensor(data=x, device_type=2, device_id=0, ndim=len(a.shape), code=code, bits=bits, lanes=1, shape=shape)
            v.tensor = c.pointer(t)
        return values

    def workspace_bytes(self, values):
        n = c.c_size_t()
        self.context.check(self.lib.fx_workspace_bytes(self.prepared, values, len(self.args), c.byref(n)))
        return n.value

    def constants(self, values, stream):
        """What depends on `const` tensors alone, computed once of arguments that stay as they are; None where there is nothing."""
        kept = self.__dict__.setdefault("_kept", {})
        if id(values) not in kept:
            n, handle = c.c_size_t(), c.c_void_p()
            self.context.check(self.lib.fx_const_bytes(self.prepared, values, len(self.args), c.byref(n)))
            if n.value:
                memory = self.context.alloc(n.value)
                self.context.check(self.lib.fx_const_prepare(self.prepared, values, len(self.args), c.c_void_p(memory), n, c.c_void_p(stream), c.byref(handle)))
            kept[id(values)] = values, handle if n.value else None
        return kept[id(values)][1]

    def launch(self, values, workspace, n_bytes, stream):
        constants = self.constants(values, stream)
        call = self.lib.fx_launch if constants is None else self.lib.fx_const_launch
        self.context.check(call(self.prepared if constants is None else constants, values, len(self.args), c.c_void_p(workspace), c.c_size_t(n_bytes), c.c_void_p(stream)))

    def entries(self, values):
        """What a launch would take, an entry a kernel."""
        return [(self.lib.fx_chosen_entry(self.prepared, i, values, len(self.args)) or b"?").decode() for i in range(self.plan.n_launches)]


if __name__ == "__main__":
    print("\n".join(header_assertions()))
