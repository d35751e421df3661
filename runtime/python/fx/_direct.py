"""Calls that go from Python to fx_launch directly, by way of runtime/lib/python.c.

A kernel called with torch tensors on a GPU, in the shapes of a call before, goes this way where torch has DLPack's exchange table (2.11 has, on the type of tensors).
Whatever else there is the callable hands on to Kernel._call, which describes its arguments and says what is wrong with them.
"""
import ctypes as c
import os
import sysconfig

from ._library import Error, PythonArrays, check, library

_arrays = None  # those whose table is open; False: there is no such way


def _table(torch):
    capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if capsule is None or sysconfig.get_config_var("Py_GIL_DISABLED") or os.environ.get("FX_DIRECT") == "off":
        return None
    pointer = c.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c.c_void_p, (c.py_object, c.c_char_p)
    return pointer(capsule, b"dlpack_exchange_api")


def _empty(torch):
    """torch's function of (shape, strides, dtype) that makes tensors on the current device: what its own compiler calls, half of the time of empty_like; None where it has none."""
    return getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None), "_empty_strided_cuda", None)


def opened(torch):
    """Whether calls with this torch's tensors may go directly."""
    global _arrays
    if _arrays is None:
        _arrays = False
        try:
            table = _table(torch)
            if table:
                empty = _empty(torch)
                arrays = PythonArrays(size=c.sizeof(PythonArrays), exchange=table, empty_like=id(torch.empty_like), empty=None if empty is None else id(empty), is_recording=id(torch.is_grad_enabled))
                arrays.types[0], arrays.types[1] = id(torch.Tensor), id(torch.nn.Parameter)
                check(library().fx_python_open(c.pythonapi._handle, c.byref(arrays)))
                _arrays = arrays
        except (Error, ValueError, AttributeError):  # a table of another kind: the other way remains
            pass
    return bool(_arrays)


def _template(kind, dtype, shape, device):
    """A tensor that others may be made like, of no memory."""
    t = kind.maker(dtype, shape, device)()
    t.untyped_storage().resize_(0)
    return t


def _row_major(shape):
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * max(extent, 1))
    return tuple(strides[:len(shape)])


def _places(objects):
    return (c.c_void_p * len(objects))(*[None if o is None else id(o) for o in objects])


def add(direct, plan, bound, has_out, otherwise):
    """The callable `direct`, made where it is None, with what is bound; None where there is no such way. otherwise: called with the arguments of other calls."""
    if not opened(bound.kind.torch):
        return None
    if direct is None:
        made = library().fx_python_call(c.byref(plan), id(otherwise))
        if not made:
            return None
        direct = c.cast(made, c.py_object).value
        c.pythonapi.Py_DecRef(c.py_object(direct))
    kinds = [*bound.output_shapes, ("u8", (bound.workspace_bytes,)) if bound.workspace_bytes else None]
    like = [kind and _template(bound.kind, *kind, bound.device) for kind in kinds]
    made_of = [kind and (kind[1], _row_major(kind[1]), bound.kind.dtype_of(kind[0])) for kind in kinds]
    frame = bound._frame()
    check(library().fx_python_add(direct, bound.prepared, frame[1], has_out, _places(like), _places(made_of), bound.workspace_bytes))
    return direct
