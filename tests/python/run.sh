#!/bin/sh
# The Python package on the emulator, with the standard library alone; with NumPy where it is installed.
#
# Input: run.sh BUILD_DIR. Output: what failed, and `python: N passed, M failed[, K skipped]`. Exit 1 when M is not 0.
set -u
cd "$(dirname "$0")/../.." || exit 3
command -v python3 >/dev/null || { echo 'skipped: the Python package: no python3'; echo 'python: 0 passed, 0 failed, 1 skipped'; exit 0; }
FX_LIBRARY="$PWD/$1/libfx.so" PYTHONPATH=runtime/python PYTHONDONTWRITEBYTECODE=1 exec python3 tests/python/test_package.py
