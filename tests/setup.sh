#!/bin/sh
# Makes a Debian machine able to build fx, and to test it: compiler, generators, NVRTC; g++ for the emulator; the Check library, clang with libFuzzer.
#
# Input: setup.sh [demo|test], the machine as it is; or setup.sh nvrtc, which fetches the wheel alone, into build/nvrtc-VERSION, and prints the
# library's path. Output: what is missing gets installed, from Debian and, for NVRTC where no CUDA toolkit is, from the nvidia-cuda-nvrtc wheel
# into build/nvrtc: the version below, which the tests pass with, or FX_NVRTC_VERSION. Without the rights to install: a list of what to install
# and exit 4.
# Whatever mirror or proxy apt and pip are configured with is used. Says nothing when nothing is missing.
set -u
cd "$(dirname "$0")/.." || exit 3
PATH=$PATH:/usr/sbin:/sbin
wheel=nvidia-cuda-nvrtc==${FX_NVRTC_VERSION:-13.0.88}
wheel_dir=build/nvrtc
[ "${1:-}" != nvrtc ] || wheel_dir=build/nvrtc-${wheel#*==}

for_emulator=${1:-}
for_tests=
[ "$for_emulator" != test ] || for_tests=test
clang=${CLANG:-clang}

have() { command -v "$1" >/dev/null 2>&1; }

# The places where the runtime looks, in its order.
have_nvrtc() {
    [ -n "${FX_LIBNVRTC:-}" ] && [ -f "$FX_LIBNVRTC" ] && return 0
    for dir in ${CUDA_PATH:+"$CUDA_PATH"} ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda* /opt/cuda; do
        for lib in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib; do
            [ -e "$dir/$lib/libnvrtc.so.13" ] || [ -e "$dir/$lib/libnvrtc.so.12" ] && return 0
        done
    done
    [ -e "$wheel_dir/nvidia/cu13/lib/libnvrtc.so.13" ] && return 0
    ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1[23] '
}

have_fuzzer() {
    have "$clang" && ls "$("$clang" -print-resource-dir)"/lib/*/libclang_rt.fuzzer* >/dev/null 2>&1
}

# The Debian packages that are not there, each tested by what it is needed for.
missing_packages() {
    have cc || echo gcc
    [ -e /usr/include/stdlib.h ] || echo '#include <stdlib.h>' | cc -E - >/dev/null 2>&1 || echo libc6-dev
    have make || echo make
    have re2c || echo re2c
    have lemon || echo lemon
    have pkg-config || echo pkg-config
    [ -z "$for_tests" ] || [ -e /usr/include/check.h ] || pkg-config --exists check 2>/dev/null || echo check
    [ -z "$for_emulator" ] || have "${FX_CXX:-g++}" || echo g++
    [ -z "$for_tests" ] || ldconfig -p 2>/dev/null | grep -q 'libsqlite3\.so\.0 ' || echo libsqlite3-0
    [ -z "$for_tests" ] || have_fuzzer || echo clang libclang-rt-dev
    [ "$nvrtc" = yes ] || python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
}

by_hand() {
    {
        echo "setup: $1; install this, then run make again:"
        [ -z "$packages" ] || echo "  apt-get install --no-install-recommends $packages"
        [ "$nvrtc" = yes ] ||
            echo "  python3 -m pip install --no-deps --target $wheel_dir '$wheel'   (or a CUDA toolkit, 12 or 13)"
    } >&2
    exit 4
}

install_packages() {
    have apt-get || by_hand 'this machine has no apt-get'
    as_root=
    if [ "$(id -u)" != 0 ]; then
        have sudo && sudo -n true 2>/dev/null || by_hand 'no rights to install packages'
        as_root='sudo -n'
    fi
    echo "setup: installing $packages"
    # sudo drops the proxy settings, so they are handed on by name.
    set -- env DEBIAN_FRONTEND=noninteractive
    for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
        eval "value=\${$name:-}"
        [ -z "$value" ] || set -- "$@" "$name=$value"
    done
    # An update that fails may still have left lists that serve.
    $as_root "$@" apt-get update -qq </dev/null || echo 'setup: apt-get update failed, trying with the lists at hand' >&2
    $as_root "$@" apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 $packages \
        </dev/null >/dev/null ||
        by_hand 'apt-get could not install everything'
}

# Into a folder of its own first, so that a download cut short is never taken for the library.
install_nvrtc() {
    echo "setup: fetching NVRTC ($wheel) into $wheel_dir"
    rm -rf "$wheel_dir" "$wheel_dir.part"
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install -q --no-deps --no-compile --only-binary :all: \
        --target "$wheel_dir.part" "$wheel" </dev/null || by_hand 'pip could not fetch NVRTC'
    rm -f "$wheel_dir.part"/nvidia/cu13/lib/*.alt.*
    [ -e "$wheel_dir.part/nvidia/cu13/lib/libnvrtc.so.13" ] || by_hand 'the wheel holds no libnvrtc.so.13'
    mv "$wheel_dir.part" "$wheel_dir"
}

nvrtc=no
if [ "${1:-}" = nvrtc ]; then
    packages=
    [ -d "$wheel_dir" ] || install_nvrtc >&2
    echo "$PWD/$wheel_dir/nvidia/cu13/lib/libnvrtc.so.13"
    exit 0
fi
have_nvrtc && nvrtc=yes
packages=$(missing_packages | tr '\n' ' ' | sed 's/ $//')
[ -z "$packages" ] || install_packages
packages=
[ "$nvrtc" = yes ] || install_nvrtc
exit 0
