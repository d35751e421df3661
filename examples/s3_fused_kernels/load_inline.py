"""What fxc emits for s3_09_add_mul_relu.fx as an operator of PyTorch: the .cu goes through torch.utils.cpp_extension.load_inline as it is, the C launcher beside it.

usage: python3 load_inline.py FXC [--build-only]

Needs PyTorch, nvcc and ninja. Prints how far the operator is from float64; exit 0 where it is right, 1 where not, 77 where something is missing (said on stderr). With
--build-only it is built and imported, for sm_90a, and not run.
"""
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

KERNEL = "add_mul_relu"

# Behind the .cu, in the same file: the launcher asks for entries by name, here are their addresses.
FIND = """
#include <string.h>
#include "launcher.h"

extern "C" CUresult find_entry(void *, const char *name, CUfunction *out) {
#define ENTRY(entry) \\
  if (strcmp(name, #entry) == 0) return cudaGetFuncBySymbol(out, (const void *)entry) == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  add_mul_relu_ENTRIES(ENTRY)
  return CUDA_ERROR_NOT_FOUND;
}
"""

# The operator: checks, then the launch on PyTorch's current stream. It neither synchronises nor allocates.
OPERATOR = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include "launcher.h"
#include "launcher.c"

extern "C" CUresult find_entry(void *, const char *name, CUfunction *out);

static CUdeviceptr address(const at::Tensor &t) { return (CUdeviceptr)t.data_ptr(); }

void add_mul_relu(at::Tensor x, at::Tensor bias, at::Tensor in, double mult) {
  for (const at::Tensor &t : {x, bias, in})
    TORCH_CHECK(t.is_cuda() && t.is_contiguous() && t.scalar_type() == at::kFloat, "contiguous float32 tensors on the GPU, please");
  TORCH_CHECK(x.dim() == 2 && x.sizes() == in.sizes() && bias.dim() == 1 && bias.size(0) == x.size(1), "x and in are [M,N], bias is [N]");
  static struct add_mul_relu_module module;
  static const CUresult loaded = add_mul_relu_load_from(&module, find_entry, nullptr);
  TORCH_CHECK(loaded == CUDA_SUCCESS, "the kernels cannot be loaded: error ", (int)loaded);
  CUresult r = add_mul_relu_launch(&module, at::cuda::getCurrentCUDAStream(), address(x), address(bias), address(in), (float)mult, 0, x.size(0), x.size(1));
  TORCH_CHECK(r == CUDA_SUCCESS, "add_mul_relu: error ", (int)r);
}
"""


def missing(what):
    print(f"load_inline: {what}", file=sys.stderr)
    sys.exit(77)


def emit(fxc, folder, arch):
    """The .cu as text; the launcher and its header as files."""
    spec = pathlib.Path(__file__).with_name("s3_09_add_mul_relu.fx")
    for stage, name in (("cu", "kernels.cu"), ("host-c", "launcher.c"), ("host-h", "launcher.h")):
        subprocess.run([fxc, f"--emit={stage}", "-k", KERNEL, f"--arch={arch}", "-o", str(folder / name), str(spec)], check=True)
    return (folder / "kernels.cu").read_text()


def driver(toolkit):
    """What to link with for the driver: the stub that a toolkit has, or the driver itself."""
    stubs = [os.path.join(toolkit, part, "stubs", "libcuda.so") for part in ("lib64", "lib", "targets/x86_64-linux/lib")]
    drivers = [os.path.join(at, "libcuda.so.1") for at in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib")]
    return next((path for path in stubs + drivers if os.path.exists(path)), "-lcuda")


def build(fxc, folder, capability):
    from torch.utils.cpp_extension import CUDA_HOME, load_inline
    major, minor = capability
    suffix = "a" if major >= 9 else ""
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}{suffix}"
    text = emit(fxc, folder, f"sm_{major}{minor}{suffix}")
    options = {"no_implicit_headers": True} if "no_implicit_headers" in inspect.signature(load_inline).parameters else {}
    return load_inline(name="fx_add_mul_relu", cpp_sources=[OPERATOR], cuda_sources=[text + FIND], functions=[KERNEL], with_cuda=True,
                       extra_include_paths=[str(folder)], extra_ldflags=[driver(CUDA_HOME)], build_directory=str(folder), **options)


def compare(torch, operator):
    """The worst error over shapes of either kind of variant, against float64."""
    worst = 0.0
    torch.manual_seed(0)
    for rows, columns, mult in ((8, 10, 2.3), (8, 8, 0.5), (33, 1037, -1.5), (1024, 512, 0.25)):
        x, t = (torch.randn(rows, columns, device="cuda") for _ in range(2))
        bias = torch.randn(columns, device="cuda")
        want = torch.relu(x.double() + bias.double() + mult * t.double())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # on a stream that is not the default one
            operator(x, bias, t, mult)
        torch.cuda.current_stream().wait_stream(side)
        worst = max(worst, (x.double() - want).abs().max().item())
    return worst


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        import torch
        from torch.utils.cpp_extension import CUDA_HOME
    except ImportError as e:
        missing(f"there is no PyTorch: {e}")
    if not CUDA_HOME or not os.path.exists(os.path.join(CUDA_HOME, "bin", "nvcc")):
        missing("there is no nvcc: PyTorch looks in CUDA_HOME, then on the PATH")
    if not shutil.which("ninja"):
        missing("there is no ninja")
    is_build_only = "--build-only" in sys.argv
    if not is_build_only and not torch.cuda.is_available():
        missing("PyTorch sees no GPU")
    with tempfile.TemporaryDirectory() as folder:
        try:
            module = build(sys.argv[1], pathlib.Path(folder), (9, 0) if is_build_only else torch.cuda.get_device_capability())
        except ImportError as e:
            missing(f"built, but not imported: {e}")
        if is_build_only:
            missing(f"{module.add_mul_relu.__name__} is built and imported, not run")
        worst = compare(torch, module.add_mul_relu)
    print(f"{KERNEL} by load_inline, PyTorch {torch.__version__}: worst error {worst:.3g}, allowed 1e-5")
    sys.exit(0 if worst <= 1e-5 else 1)


main()
