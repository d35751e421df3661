"""Kernels as operators of PyTorch: torch.compile, export and CUDA graphs go through them, gradients are derived from the spec.

    linear = fx.torch.op(m.linear, wrt=["x", "w", "b"])
    linear(x, w, b).sum().backward()

Plain tensors go to the kernel without PyTorch's dispatcher, as long as nobody watches or changes what operators do; gradients are then recorded by a torch.autograd.Function.
"""
import itertools
import threading

import torch

from ._kernel import Kernel
from ._library import Error

_count = itertools.count()


def op(kernel, wrt=None, name=None, saved=None):
    """A kernel -> an operator `fx::NAME` (name, else the kernel's with a number), called with the inputs in their order or by name; scalars with a default may be left out.
    wrt: inputs that gradients pass to; the backward kernel is the spec's gradient by those of them that need one in a call, compiled when first needed.
    saved: outputs that are kept for it, and that it reads."""
    if not isinstance(kernel, Kernel):
        raise Error(f"op takes a kernel, as m.linear, not {type(kernel).__name__}")
    wrt = list(wrt or [])
    known = {p.name: p for p in kernel.inputs}
    for p in wrt:
        if p not in known or known[p].is_scalar or not known[p].is_float:
            raise Error(f"wrt: {p} is no tensor of floats among the inputs of {kernel.name}: {', '.join(known)}")
    if wrt and any(p.is_inout for p in kernel.inputs):
        raise Error(f"{kernel.name} changes an `inout` tensor: gradients do not pass through what is changed in place")
    forward = _define(kernel, name or f"{kernel.name}_{next(_count)}")
    saved, outputs = list(saved or []), [p.name for p in kernel.outputs]
    for o in saved:
        if o not in outputs:
            raise Error(f"saved: {o} is no output of {kernel.name}: {', '.join(outputs)}")
    return _shorten(forward, kernel, _derive(forward, kernel, wrt, saved) if wrt else None)


SCALARS = {"b": "bool", "f": "float", "i": "int", "u": "int"}


def _schema(kernel):
    args = []
    # A default may stand where all behind it have one too: a gradient takes tensors behind the scalars.
    required = max((i for i, p in enumerate(kernel.inputs) if not p.is_scalar or p.default is None), default=-1)
    for i, p in enumerate(kernel.inputs):
        if p.is_scalar:
            default = "" if i < required or p.default is None else f" = {p.default if p.is_float else int(p.default)}"
            args.append(f"{'float' if p.is_float else SCALARS[p.dtype[0]]} {p.name}{default}")
        else:
            args.append(f"Tensor({chr(97 + i % 26)}{i}!) {p.name}" if p.is_inout else f"Tensor {p.name}")
    results = ["Tensor"] * len(kernel.outputs)
    return f"({', '.join(args)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def _define(kernel, name):
    def run(*args):
        with torch.no_grad():
            return kernel(*args)

    changed = [p.name for p in kernel.inputs if p.is_inout]
    own = torch.library.custom_op(f"fx::{name}", run, mutates_args=changed, schema=_schema(kernel))

    @own.register_fake
    def fake(*args):
        tensors = [a for a, p in zip(args, kernel.inputs) if not p.is_scalar]
        shapes = _output_shapes(kernel, tensors)
        outs = [tensors[0].new_empty(shape, dtype=_dtype(p)) for shape, p in zip(shapes, kernel.outputs)]
        return outs[0] if len(outs) == 1 else tuple(outs) or None

    return own


def _dtype(param):
    from ._arrays import kind_of

    return kind_of(torch.empty(0)).dtype_of(param.dtype)


def _output_shapes(kernel, tensors):
    """Extents of the outputs: those of the inputs' axes as they are, which may be symbolic; others by the spec's equations, for which the inputs' have to be numbers."""
    from ._arrays import Array, kind_of

    names, at = {}, iter(tensors)
    for i, p in enumerate(kernel.params):
        if p.is_input and not p.is_scalar:
            shape = next(at).shape
            for axis in range(min(p.rank, len(shape))):
                if not kernel._plan.params[i].packed.factor:
                    names.setdefault(kernel._plan.params[i].extents[axis], shape[axis])
    shapes, numbers = [], None
    for i, p in enumerate(kernel.params):
        if p.is_input:
            continue
        plan, shape = kernel._plan.params[i], []
        for axis in range(p.rank):
            label = plan.extents[axis]
            fixed = kernel._plan.extents[label].value
            if fixed < 0 and label in names and not plan.packed.factor:
                shape.append(names[label])
                continue
            if numbers is None:
                kind = kind_of(tensors[0])
                numbers = kernel.extents_of([Array(kind.name[t.dtype], [int(e) for e in t.shape]) for t in tensors])
            shape.append(kernel.shape_of(p, numbers)[axis])
        shapes.append(shape)
    return shapes


# ---- the shorter way ----

_PLAIN = (torch.Tensor, torch.nn.Parameter)


try:  # a torch that lacks one of these: every call goes through its dispatcher
    _modes, _functions, _profiled = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack, torch._C._autograd._profiler_enabled
    _transform, _trace, _compiles = torch._C._functorch.peek_interpreter_stack, torch._C._get_tracing_state, torch.compiler.is_compiling
    _can_shorten = True
except AttributeError:
    _can_shorten = False


def _watched():
    """Whether somebody watches or changes operators: a mode, a transform of torch.func, a trace, the profiler."""
    return _modes() or _functions() or _profiled() or _transform() is not None or _trace() is not None


def _shorten(own, kernel, record):
    """The same operator, whose calls with plain tensors go to the kernel, or to `record` where gradients are. What changes tensors in place is torch's to count."""
    n, at = len(kernel.inputs), [i for i, p in enumerate(kernel.inputs) if not p.is_scalar]
    if any(p.is_inout for p in kernel.inputs) or not at or not _can_shorten:
        return own
    long_way = type(own).__call__

    def call(self, *args, **named):
        if _compiles() or named or len(args) != n or _watched():
            return long_way(self, *args, **named)
        is_recorded = False
        for i in at:
            a = args[i]
            if type(a) not in _PLAIN:
                return long_way(self, *args, **named)
            is_recorded = is_recorded or a.requires_grad
        if not is_recorded or not torch.is_grad_enabled():
            return kernel(*args)
        return record(*args) if record else long_way(self, *args, **named)

    own.__class__ = type("Operator", (type(own),), {"__call__": call})
    return own


def _derive(forward, kernel, wrt, saved):
    floats = [i for i, p in enumerate(kernel.outputs) if p.is_float]
    position = {p.name: i for i, p in enumerate(kernel.inputs)}
    operators, lock = {}, threading.Lock()  # by the inputs that gradients are asked for

    def backward_of(needed):
        with lock:
            if needed not in operators:
                which = "" if len(needed) == len(wrt) else "_" + "_".join(str(position[p]) for p in needed)
                operators[needed] = _define(kernel.module.gradient(kernel.name, list(needed), saved), f"{forward._name}_bwd{which}")
            return operators[needed]

    def setup(ctx, inputs, output):
        outs = output if isinstance(output, (tuple, list)) else (output,)
        named = {p.name: o for p, o in zip(kernel.outputs, outs)}
        ctx.save_for_backward(*[a for a, p in zip(inputs, kernel.inputs) if not p.is_scalar], *[named[o] for o in saved])
        ctx.scalars = [a for a, p in zip(inputs, kernel.inputs) if p.is_scalar]
        ctx.shapes = [(outs[i].shape, outs[i].dtype, outs[i].device) for i in floats]

    def derive(ctx, *adjoints):
        needed = tuple(p for p in wrt if ctx.needs_input_grad[position[p]])
        if not needed:  # it is another input that needs one, which has none
            return (None,) * len(kernel.inputs)
        tensors, scalars = iter(ctx.saved_tensors), iter(ctx.scalars)
        args = [next(scalars) if p.is_scalar else next(tensors) for p in kernel.inputs] + list(tensors)
        for i, (shape, dtype, device) in zip(floats, ctx.shapes):
            d = adjoints[i]
            args.append(torch.zeros(shape, dtype=dtype, device=device) if d is None else d.contiguous())
        given = backward_of(needed)(*args)
        given = given if isinstance(given, (tuple, list)) else (given,)
        grads = [None] * len(kernel.inputs)
        for p, g in zip(needed, given):
            grads[position[p]] = g
        return tuple(grads)

    backward_of(tuple(wrt))  # a spec that has no gradient is refused here
    forward.register_autograd(derive, setup_context=setup)

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            output = kernel(*args)
            setup(ctx, args, output)
            return output

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, *adjoints):
            return derive(ctx, *adjoints)

    return Recorded.apply
