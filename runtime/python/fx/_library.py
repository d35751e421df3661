"""libfx.so through ctypes: where it is found, its structs and its calls.

The structs are those of compiler/plan.h, compiler/fx.h and runtime/fx_runtime.h, field by field. `python3 _library.py` prints C that compiles only where they agree;
tests/arch.sh compiles it. A call that does not give FX_OK raises Error with the library's words.
"""
import ctypes as c
import os
import pathlib

DTYPES = ("bool", "u4", "i4", "i8", "u8", "i16", "i32", "i64", "u32", "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64")  # enum fx_dtype
# Of a dtype as DLPack has it: code and bits.
DLPACK = {"bool": (6, 8), "u4": (1, 4), "i4": (0, 4), "i8": (0, 8), "u8": (1, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64), "u32": (1, 32), "u64": (1, 64),
          "f8e4m3": (10, 8), "f8e5m2": (12, 8), "f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "f64": (2, 64)}
MAX_RANK = 8
CUDA = 2  # DLPack's device type


class Error(Exception):
    """What fx refuses or could not do, in its own words. `status` is the number of fx_status in plan.h."""

    def __init__(self, message, status=2):
        super().__init__(message)
        self.status = status


def fields(*given):
    return [(name, kind) for names, kind in given for name in names.split()]


class Expr(c.Structure):
    _fields_ = fields(("n", c.c_int), ("terms", c.c_void_p))


class Extent(c.Structure):
    _fields_ = fields(("name", c.c_char_p), ("value", c.c_int64), ("is_made", c.c_bool))


class Packing(c.Structure):
    _fields_ = fields(("factor storage axis", c.c_int), ("is_msb", c.c_bool))


class Param(c.Structure):
    _fields_ = fields(("name", c.c_char_p), ("dtype", c.c_int), ("is_scalar is_input is_output is_const is_strided has_value", c.c_bool), ("value", c.c_double),
                      ("packed", Packing), ("align rank", c.c_int), ("extents", c.c_int * MAX_RANK),
                      ("below", Expr), ("line", c.c_int))


class Launch(c.Structure):
    _fields_ = fields(("name driver", c.c_char_p), ("flops bytes written", Expr), ("n_phases", c.c_int), ("is_cooperative is_beside is_once", c.c_bool), ("n_args n_variants n_maps", c.c_int),
                      ("maps args variants", c.c_void_p))


class Partition(c.Structure):
    _fields_ = fields(("name", c.c_char_p), ("first_launch n_launches first_buffer n_buffers", c.c_int), ("takes", Expr))


class KernelPlan(c.Structure):
    _fields_ = fields(("name", c.c_char_p), ("n_extents n_params n_buffers n_launches n_checks n_equations", c.c_int), ("extents", c.POINTER(Extent)),
                      ("equations", c.c_void_p), ("params", c.POINTER(Param)), ("buffers", c.c_void_p), ("launches", c.POINTER(Launch)), ("checks", c.c_void_p),
                      ("n_unfused", c.c_int), ("unfused_bytes", Expr), ("receipt", c.c_char_p), ("n_partitions", c.c_int), ("partitions", c.POINTER(Partition)),
                      ("text_hash", c.c_uint64))


class Plan(c.Structure):
    _fields_ = fields(("file arch", c.c_char_p), ("sm_count", c.c_int), ("source", c.c_char_p), ("source_len", c.c_size_t), ("n_kernels", c.c_int),
                      ("kernels", c.POINTER(KernelPlan)))


class Env(c.Structure):
    _fields_ = fields(("extents", c.c_void_p), ("align", c.c_void_p), ("sm_count", c.c_int), ("strides", c.c_void_p))


class Shape(c.Structure):
    _fields_ = fields(("dtype rank", c.c_int), ("extents", c.c_int64 * MAX_RANK))


class Options(c.Structure):
    _fields_ = fields(("size", c.c_size_t), ("arch kernel", c.c_char_p), ("defines", c.POINTER(c.c_char_p)), ("n_defines", c.c_int), ("dump_after stop_after skip", c.c_char_p),
                      ("oracle_only", c.c_bool), ("read_file user", c.c_void_p), ("tests_only unfused", c.c_bool), ("with", c.c_char_p), ("ablate", c.c_int),
                      ("ablate_extents", c.POINTER(c.c_char_p)), ("n_ablate_extents", c.c_int), ("on_stage stage_user read_failure", c.c_void_p), ("gpu", c.c_char_p), ("sm_count", c.c_int))


class Tensor(c.Structure):  # DLPack's DLTensor
    _fields_ = fields(("data", c.c_void_p), ("device_type device_id ndim", c.c_int32), ("code bits", c.c_uint8), ("lanes", c.c_uint16), ("shape strides", c.POINTER(c.c_int64)),
                      ("byte_offset", c.c_uint64))


class Value(c.Structure):
    _fields_ = fields(("tensor", c.POINTER(Tensor)), ("number", c.c_double), ("integer", c.c_int64))


class Hint(c.Structure):
    _fields_ = fields(("name", c.c_char_p), ("value", c.c_int64))


class Emulation(c.Structure):
    _fields_ = fields(("sm_count n_schedules", c.c_int), ("seed", c.c_uint64), ("is_watched", c.c_bool))


class PythonArrays(c.Structure):
    _fields_ = [("size", c.c_size_t), ("exchange", c.c_void_p), ("types", c.c_void_p * 4), ("empty_like", c.c_void_p), ("empty", c.c_void_p), ("is_recording", c.c_void_p)]


MIRRORED = {"expr": Expr, "extent": Extent, "packing": Packing, "param": Param, "launch": Launch, "partition": Partition, "kernel": KernelPlan, "plan": Plan, "env": Env, "shape": Shape,
            "options": Options, "value": Value, "hint": Hint, "emulation": Emulation, "python_arrays": PythonArrays}


def assertions(mirrored):
    """Lines of C that compile where these structs are those of the headers."""
    for name, mirror in mirrored.items():
        yield f'_Static_assert(sizeof(struct fx_{name}) == {c.sizeof(mirror)}, "size of fx_{name}");'
        for field, _ in mirror._fields_:
            yield f'_Static_assert(offsetof(struct fx_{name}, {field}) == {getattr(mirror, field).offset}, "fx_{name}.{field}");'


def header_assertions():
    yield '#include <stddef.h>\n#include "fx.h"\n#include "fx_runtime.h"'
    yield from assertions(MIRRORED)
    yield f'_Static_assert(sizeof(DLTensor) == {c.sizeof(Tensor)} && FX_MAX_RANK == {MAX_RANK} && FX_N_DTYPES == {len(DTYPES)}, "DLTensor, rank, dtypes");'
    for i, dtype in enumerate(DTYPES):
        yield f'_Static_assert(FX_{dtype.upper()} == {i}, "{dtype}");'


PLACE, SIZE, NUMBER = c.c_void_p, c.c_size_t, c.c_int
SIGNATURES = {  # results that are no status, then arguments
    "fx_compile": (NUMBER, (c.c_char_p, SIZE, c.c_char_p, PLACE, PLACE)),
    "fx_close": (None, (PLACE,)),
    "fx_messages": (c.c_char_p, (PLACE,)),
    "fx_get_plan": (c.POINTER(Plan), (PLACE,)),
    "fx_text": (c.c_char_p, (PLACE, NUMBER)),
    "fx_receipt": (c.c_char_p, (PLACE, NUMBER, PLACE)),
    "fx_find_kernel": (c.POINTER(KernelPlan), (PLACE, c.c_char_p)),
    "fx_bind_extents": (NUMBER, (PLACE, PLACE, PLACE, PLACE, SIZE)),
    "fx_argument_extent": (c.c_int64, (PLACE, NUMBER, PLACE)),
    "fx_emulate": (NUMBER, (PLACE,)),
    "fx_context_open": (NUMBER, (NUMBER, PLACE)),
    "fx_context_close": (None, (PLACE,)),
    "fx_context_arch": (c.c_char_p, (PLACE,)),
    "fx_context_device": (c.c_char_p, (PLACE,)),
    "fx_last_error": (c.c_char_p, ()),
    "fx_prepare": (NUMBER, (PLACE, PLACE, c.c_char_p, PLACE, NUMBER, PLACE)),
    "fx_prepared_release": (None, (PLACE,)),
    "fx_workspace_bytes": (NUMBER, (PLACE, PLACE, NUMBER, PLACE)),
    "fx_launch": (NUMBER, (PLACE, PLACE, NUMBER, PLACE, SIZE, PLACE)),
    "fx_const_bytes": (NUMBER, (PLACE, PLACE, NUMBER, PLACE)),
    "fx_const_prepare": (NUMBER, (PLACE, PLACE, NUMBER, PLACE, SIZE, PLACE, PLACE)),
    "fx_constants_release": (None, (PLACE,)),
    "fx_const_workspace_bytes": (NUMBER, (PLACE, PLACE, NUMBER, PLACE)),
    "fx_const_launch": (NUMBER, (PLACE, PLACE, NUMBER, PLACE, SIZE, PLACE)),
    "fx_device_alloc": (NUMBER, (PLACE, SIZE, PLACE)),
    "fx_device_free": (None, (PLACE, PLACE)),
    "fx_device_write": (NUMBER, (PLACE, PLACE, PLACE, SIZE)),
    "fx_device_read": (NUMBER, (PLACE, PLACE, PLACE, SIZE)),
    "fx_stream_open": (NUMBER, (PLACE, PLACE)),
    "fx_stream_close": (None, (PLACE, PLACE)),
    "fx_stream_wait": (NUMBER, (PLACE, PLACE)),
}

OF_OBJECTS = {  # called with Python's lock held: what is not in SIGNATURES
    "fx_python_open": (NUMBER, (PLACE, PLACE)),
    "fx_python_call": (PLACE, (PLACE, PLACE)),
    "fx_python_add": (NUMBER, (c.py_object, PLACE, PLACE, c.c_bool, PLACE, PLACE, SIZE)),
}


def load(path):
    lib, own = c.CDLL(str(path)), c.PyDLL(str(path))
    for name, (result, arguments) in {**SIGNATURES, **OF_OBJECTS}.items():
        call = getattr(own if name in OF_OBJECTS else lib, name)
        call.restype, call.argtypes = result, arguments
        setattr(lib, name, call)
    return lib


def find():
    """FX_LIBRARY, the package's own, the build folder of the tree that the package stands in, what the loader knows."""
    here = pathlib.Path(__file__).resolve().parent
    given = os.environ.get("FX_LIBRARY")
    for path in [given] if given else [here / "libfx.so.0", here.parents[2] / "build/libfx.so"]:
        if given or path.exists():
            return path
    return "libfx.so.0"


_loaded = None


def library():
    """The library, loaded when first asked for."""
    global _loaded
    if _loaded is None:
        try:
            _loaded = load(find())
        except OSError as e:
            raise Error(f"libfx.so is not found: {e}. FX_LIBRARY names it; `make` builds build/libfx.so", 3) from None
    return _loaded


def check(status):
    if status:
        raise Error((library().fx_last_error() or b"").decode() or f"status {status}", status)


if __name__ == "__main__":
    print("\n".join(header_assertions()))
