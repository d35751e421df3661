"""fx: tensor algebra over named axes, compiled to one CUDA kernel and called like a function.

    import fx, torch
    m = fx.compile("kernel linear(x: f16[M,K], w: f16[K,N], b: f16[N]) -> y: f16[M,N] { y = gelu(x @ w + b) }")
    y = m.linear(x, w, b)                       # torch tensors on a GPU: on the current stream, memory by torch
    y = m.linear(out=y, x=x, w=w, b=b)          # into memory that is there

Arrays on the CPU (NumPy's, or whatever has the buffer protocol) are copied to the GPU and back; where there is no GPU the emulator runs the same code, which takes a
C++ compiler and patience. docs/python.md has the rest.
"""
from ._arrays import use
from ._kernel import Kernel, Module, compile, compile_file
from ._library import Error

__all__ = ["compile", "compile_file", "use", "Error", "Kernel", "Module"]
__version__ = "0.1.0"
