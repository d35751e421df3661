#!/bin/sh
# fx as its users have it: installed to a prefix, programs built against that by pkg-config and by CMake, as C and as C++, kernels compiled ahead of time, the wheel in an environment of its own.
#
# Input: install.sh BUILD_DIR [gpu]. Programs run on the emulator; with gpu on the GPU. NUMPY names what pip installs in place of numpy, for a machine that reaches no index. Output: a line a
# way, and a closing line `N ok, M failed, K not checked`; not checked is what lacks CMake, g++, NVRTC, venv or NumPy, and says which. Exit 1 when M is not 0.
set -u
cd "$(dirname "$0")/.." || exit 3
tree=$PWD dir=$PWD/$1 device=${2:-emu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
arg=$([ "$device" = gpu ] || echo emu)
ok=0 failed=0 unchecked=0
# What belongs to the tree is not what an installed fx finds.
unset FX_LIBRARY PYTHONPATH MAKEFLAGS MAKELEVEL 2>/dev/null
export FX_CACHE_DIR="$work/cache"

skip() { # NAME WHY
    unchecked=$((unchecked + 1))
    echo "not checked  $1: $2"
}

try() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$work/out" 2>"$work/err"; then
        ok=$((ok + 1))
        echo "ok           $name: $(tail -n 1 "$work/out")"
    else
        failed=$((failed + 1))
        echo "FAILED       $name: $*"
        tail -n 30 "$work/out" "$work/err"
        return 1
    fi
}

# Runs a program that prints the two rows of examples/embed.c.
computes() { # PROGRAM
    timeout 300 "$1" $arg >"$work/rows" || return 1
    cat "$work/rows"
    [ "$(awk 'NF == 4 { n++; s += $1 + $2 + $3 + $4 } END { printf "%d %.4f", n, s }' "$work/rows")" = '2 24.9549' ]
}

# The first row of code of a language in a page of the docs, one that runs on the emulator by itself.
code_of() { awk -v fence='```'"$2" '$0 == fence { f = 1; next } /^```/ { if (f) exit } f' "$1"; }

mkdir "$work/programs" && cd "$work/programs" || exit 3
cp "$tree/examples/embed.c" . && cp embed.c embed.cpp && code_of "$tree/docs/embedding.md" cpp >wrapped.cpp

try "make install" make -s -C "$tree" install "B=$1" "PREFIX=$prefix" || exit 1
try "fxc of the prefix" sh -c "'$prefix/bin/fxc' --version | head -n 1" || exit 1

# ---- pkg-config ----

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
rpath="-Wl,-rpath,$prefix/lib"
strict="-O2 -Wall -Wextra -Wpedantic -Werror"
build() { # NAME COMPILER... : then what it made is run
    name=$1
    shift
    rm -f program
    try "$name, built" sh -c "$* -o program && echo '$1'" && try "$name, run" computes ./program
}
if command -v pkg-config >/dev/null; then
    shared="$(pkg-config --cflags --libs fx) $rpath"
    static=$(pkg-config --static --cflags --libs fx | sed 's/-lfx/-l:libfx.a/')
    build "C99, shared" ${CC:-cc} -std=c99 $strict embed.c "$shared"
    build "C11, static" ${CC:-cc} -std=c11 $strict embed.c "$static"
    if command -v "${CXX:-g++}" >/dev/null; then
        build "C++11, shared" ${CXX:-g++} -std=c++11 $strict embed.cpp "$shared"
        build "C++17, static" ${CXX:-g++} -std=c++17 $strict embed.cpp "$static"
        if [ "$device" = emu ]; then
            try "C++ with handles that end themselves" sh -c "${CXX:-g++} -std=c++17 $strict wrapped.cpp $shared -o program && ./program"
        fi
    else
        skip "C++" "there is no g++"
    fi
else
    skip "pkg-config" "it is not there"
fi

# ---- CMake ----

# NVRTC, where the tree has its own: what is installed looks for one of a toolkit.
own=$(find "$dir/nvrtc" -name 'libnvrtc.so.1?' 2>/dev/null | head -n 1)
[ -z "$own" ] || export FX_LIBNVRTC="$own"

# Ahead of time NVRTC makes the machine code.
has_nvrtc=$("$prefix/bin/fxc" --emit=cubin -o /dev/null "$tree/examples/linear_gelu.fx" 2>"$work/why" && echo yes)
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(embedding C CXX)
find_package(fx 0.1 CONFIG REQUIRED)
foreach(kind fx static)
  add_executable(c_${kind} embed.c)
  add_executable(cxx_${kind} embed.cpp)
  target_link_libraries(c_${kind} fx::${kind})
  target_link_libraries(cxx_${kind} fx::${kind})
endforeach()
if(AHEAD)
  add_executable(ahead ahead.c)
  fx_compile(ahead linear_gelu.fx ARCH sm_80 sm_90a)
endif()
CMAKE
cp "$tree/examples/linear_gelu.fx" .
printf '#include <stdio.h>\n#include "linear_gelu.h"\nint main(void) {\n    int r = linear_gelu_prepare();\n    puts(linear_gelu_error_name(r));\n    return r != 0 && r != linear_gelu_NO_DRIVER;\n}\n' >ahead.c
if ! command -v cmake >/dev/null || ! command -v "${CXX:-g++}" >/dev/null; then
    skip "CMake" "there is no cmake, or no g++"
elif try "CMake" cmake -S . -B built "-DCMAKE_PREFIX_PATH=$prefix" "-DAHEAD=$has_nvrtc" && try "CMake, built" cmake --build built; then
    for program in c_fx cxx_fx c_static cxx_static; do try "CMake, $program" computes "built/$program"; done
    [ -z "$has_nvrtc" ] || [ "$device" = gpu ] || try "CMake, ahead of time" built/ahead
fi

# ---- ahead of time, where nothing else is ----

if [ -n "$has_nvrtc" ]; then
    mkdir "$work/alone" "$work/written" && cd "$work/alone" || exit 3
    for spec in attention linear norm; do
        try "ahead of time, $spec" "$prefix/bin/fxc" aot "$tree/tests/gpu/ahead/$spec.fx" $(sed -n '1s/^# args: //p' "$tree/tests/gpu/ahead/$spec.fx") --arch=sm_80,sm_90a -o "$work/written/$spec"
        rm -rf ./* && cp "$work/written/$spec.c" "$work/written/$spec.h" . || continue
        try "ahead of time, $spec as C99" sh -c "${CC:-cc} -std=c99 $strict -c $spec.c && size $spec.o | tail -n 1"
        if command -v "${CXX:-g++}" >/dev/null; then try "ahead of time, $spec as C++17" sh -c "${CXX:-g++} -std=c++17 $strict -x c++ -c $spec.c && ls $spec.o"; fi
    done
    cd "$work/programs" || exit 3
else
    skip "ahead of time" "$(tail -n 1 "$work/why")"
fi

# ---- the wheel ----

if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    skip "wheel" "there is no python3 with venv"
elif try "wheel" make -s -C "$tree" wheel "B=$1" && try "environment" python3 -m venv "$work/env"; then
    python=$work/env/bin/python
    try "wheel, installed" "$python" -m pip install --disable-pip-version-check "$dir"/wheel/*.whl &&
        try "wheel, imported" "$python" -c 'import fx; print(fx.__file__)'
    if "$python" -m pip install -q --disable-pip-version-check "${NUMPY:-numpy}" >"$work/out" 2>&1; then
        try "NumPy arrays" "$python" "$tree/examples/from_numpy.py" "$device"
    else
        skip "NumPy arrays" "$(tail -n 1 "$work/out")"
    fi
fi

echo "$ok ok, $failed failed, $unchecked not checked"
[ $failed = 0 ]
