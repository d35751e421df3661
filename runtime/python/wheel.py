"""Packs the package and a libfx.so into a wheel: a zip file by PEP 427, which takes no build tool.

usage: wheel.py LIBFX_SO FOLDER

Writes FOLDER/fx_tensor-VERSION-py3-none-linux_MACHINE.whl. The wheel needs no other package; NVRTC comes with the extra `nvrtc`.
"""
import base64
import hashlib
import pathlib
import platform
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = "fx_tensor"


def main(library, folder):
    version = re.search(r'__version__ = "(.*)"', (HERE / "fx/__init__.py").read_text()).group(1)
    tag = f"py3-none-linux_{platform.machine()}"
    info = f"{NAME}-{version}.dist-info"
    files = {f"fx/{p.name}": p.read_bytes() for p in sorted((HERE / "fx").glob("*.py"))}
    files["fx/libfx.so.0"] = pathlib.Path(library).read_bytes()
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {NAME.replace('_', '-')}\nVersion: {version}\nSummary: tensor algebra over named axes, compiled to fused CUDA kernels\n"
        "Requires-Python: >=3.9\nProvides-Extra: nvrtc\nRequires-Dist: nvidia-cuda-nvrtc >=13,<14; extra == 'nvrtc'\n").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: fx {version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = pathlib.Path(folder) / f"{NAME}-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)  # the same bytes whenever it is packed
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py LIBFX_SO FOLDER")
    main(*sys.argv[1:])
