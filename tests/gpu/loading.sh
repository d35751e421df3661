#!/bin/sh
# What fxc emits, in programs that have neither its compiler nor its runtime: a C program with the launcher, files compiled ahead of time and vendored ones beside the runtime, on two devices too,
# vendored kernels beside those that engines write by hand, and an operator of PyTorch.
#
# Input: loading.sh BUILD_DIR. Output: a line a way, and a closing line `N ok, M failed, K not checked`; not checked is what lacks a compiler, cuda.h, nvcc, PyTorch or a
# GPU, and says which. Exit 1 when M is not 0. PYTHON and NVCC name others than python3 and nvcc; ARCH another arch than sm_90a for the C program and what nvcc compiles;
# SAY=1 prints the lines of what is compiled ahead of time and of the engine's kernels, which it times then.
set -u
cd "$(dirname "$0")/../.." || exit 3
dir=$1
fxc=$dir/fxc
folder=examples/s3_fused_kernels
arch=${ARCH:-sm_90a}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ok=0 failed=0 unchecked=0

# Where nvcc is, a toolkit is too; else where toolkits lie.
nvcc=$(command -v "${NVCC:-nvcc}" || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
toolkit=
for home in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${nvcc%/bin/nvcc}" /usr/local/cuda /usr; do
    [ -z "$toolkit" ] && [ -n "$home" ] && [ -f "$home/include/cuda.h" ] && toolkit=$home
done

# The toolkit has a stub to link with; else the driver itself will do.
driver=-lcuda
for file in /run/opengl-driver/lib/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1 \
    "$toolkit/targets/x86_64-linux/lib/stubs/libcuda.so" "$toolkit/lib/stubs/libcuda.so" "$toolkit/lib64/stubs/libcuda.so"; do
    [ -f "$file" ] && driver=$file
done

skip() { # NAME WHY
    unchecked=$((unchecked + 1))
    echo "not checked  $1: $2"
}

# Runs a command that says itself what came out; 77 is what cannot run here.
try() { # NAME COMMAND...
    name=$1
    shift
    timeout "${LIMIT:-300}" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status = 127 ] && grep -q 'libcuda.so' "$work/err" && status=77 # no driver
    case $status in
    0) ok=$((ok + 1)) && echo "ok           $name: $(tail -n 1 "$work/out")" ;;
    77) skip "$name" "$(tail -n 1 "$work/err")" ;;
    *)
        failed=$((failed + 1))
        echo "FAILED       $name: $*"
        tail -n 30 "$work/out" "$work/err"
        ;;
    esac
}

# A step on the way to something that is then tried.
step() { # NAME COMMAND...
    name=$1
    shift
    "$@" >"$work/out" 2>"$work/err" && return 0
    failed=$((failed + 1))
    echo "FAILED       $name: $*"
    tail -n 30 "$work/out" "$work/err"
    return 1
}

# Builds by a function, in a folder of its own beside what else is built.
begin() { # NAME
    mkdir "$work/$1"
    (
        work=$work/$1
        "build_$1"
    ) >"$work/$1/log" 2>&1 &
    eval "pid_$1=$!"
}

# Whether it was built; where not, that is one failure.
is_built() { # NAME
    eval "wait \"\$pid_$1\"" && return 0
    failed=$((failed + 1))
    cat "$work/$1/log"
    return 1
}

# Device code for one architecture, by as many threads as there are cores.
compile_cuda() { # OUTPUT SOURCE OPTION...
    out=$1 source=$2
    shift 2
    "$nvcc" -gencode "arch=compute_${arch#sm_},code=$arch" --split-compile=0 -Werror all-warnings -Xcompiler -Wall,-Wextra -O2 "$@" -c -o "$out" "$source"
}

build_launcher() {
    step "C program" "$fxc" --emit=host-c "--arch=$arch" -o "$work/lora.c" $folder/s3_11_lora.fx || return 1
    step "C program" "$fxc" --emit=host-h "--arch=$arch" -o "$work/lora.h" $folder/s3_11_lora.fx || return 1
    # Waiting is the caller's to do.
    if grep -E 'Synchronize|cuMemAlloc' "$work/lora.c"; then
        echo "FAILED       C program: the launcher waits or allocates"
        return 1
    fi
    step "C program" ${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror -I"$work" -I"$toolkit/include" $folder/launch.c "$work/lora.c" \
        "$driver" -lm -o "$work/launch" &&
        step "C program" "$fxc" --emit=cubin "--arch=$arch" -o "$work/lora.cubin" $folder/s3_11_lora.fx
}

build_cubin() {
    step "nvcc" "$fxc" "--arch=$arch" -o "$work/lora.cu" $folder/s3_11_lora.fx &&
        step "nvcc" "$nvcc" -arch="$arch" -cubin -Werror all-warnings -o "$work/lora.cubin" "$work/lora.cu"
}

# Files compiled ahead of time, beside the runtime: the same bytes, and what a launch costs. They are built where nothing else is.
build_ahead() {
    for spec in attention linear norm; do
        step "ahead of time" "$fxc" aot tests/gpu/ahead/$spec.fx $(sed -n '1s/^# args: //p' tests/gpu/ahead/$spec.fx) --arch=sm_80,sm_90a -o "$work/ahead_$spec" || return 1
        mkdir "$work/$spec" && cp "$work/ahead_$spec.c" "$work/ahead_$spec.h" "$work/$spec" || return 1
        (cd "$work/$spec" && step "ahead of time" ${CC:-cc} -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c -o "$work/$spec.o" "ahead_$spec.c") || return 1
    done
    step "ahead of time" ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -I"$work" -Icompiler -Iruntime tests/gpu/ahead/equal.c "$work/attention.o" "$work/linear.o" "$work/norm.o" \
        "$dir/libfx.a" -ldl -lpthread -lm -o "$work/equal" &&
        step "two devices" ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -I"$work" -Icompiler -Iruntime tests/gpu/ahead/devices.c "$work/linear.o" \
            "$dir/libfx.a" -ldl -lpthread -lm -o "$work/devices"
}

# The same, vendored.
build_vendored() {
    for spec in attention linear norm; do
        step "vendored" "$fxc" --emit=vendor "--arch=$arch" tests/gpu/ahead/$spec.fx $(sed -n '1s/^# args: //p' tests/gpu/ahead/$spec.fx) -o "$work/$spec.cu" || return 1
        step "vendored" compile_cuda "$work/$spec.o" "$work/$spec.cu" || return 1
    done
    step "vendored" ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -DVENDORED -Icompiler -Iruntime -c -o "$work/equal.o" tests/gpu/ahead/equal.c || return 1
    step "vendored" "$nvcc" -o "$work/equal" "$work/equal.o" "$work/attention.o" "$work/linear.o" "$work/norm.o" "$dir/libfx.a" -ldl -lpthread -lm
}

# Vendored kernels beside the same functions by hand.
build_engine() {
    step "engine" "$fxc" --emit=vendor "--arch=$arch" tests/gpu/engine/kernels.fx -o "$work/kernels.cu" &&
        step "engine" compile_cuda "$work/kernels.o" "$work/kernels.cu" &&
        step "engine" compile_cuda "$work/engine.o" tests/gpu/engine/engine.cu -std=c++17 &&
        step "engine" "$nvcc" -o "$work/engine" "$work/engine.o" "$work/kernels.o"
}

builds=ahead
[ -z "$toolkit" ] || builds="$builds launcher"
[ -z "$nvcc" ] || builds="$builds vendored engine"
[ -z "$nvcc" ] || [ -z "$toolkit" ] || builds="$builds cubin"
for build in $builds; do begin "$build"; done

if [ -z "$toolkit" ]; then
    skip "C program" "there is no cuda.h: CUDA_HOME, CUDA_PATH and /usr/local/cuda were looked at"
elif is_built launcher; then
    try "C program, cubin of fxc" "$work/launcher/launch" "$work/launcher/lora.cubin"
    if [ -z "$nvcc" ]; then
        skip "C program, cubin of nvcc" "there is no nvcc"
    elif is_built cubin; then
        try "C program, cubin of nvcc" "$work/launcher/launch" "$work/cubin/lora.cubin"
    fi
fi
if is_built ahead; then
    try "two devices" "$work/ahead/devices" tests/gpu/ahead
    try "ahead of time" "$work/ahead/equal" tests/gpu/ahead -t
    [ -z "${SAY:-}" ] || cat "$work/out"
fi
if [ -z "$nvcc" ]; then
    skip "vendored" "there is no nvcc"
    skip "engine" "there is no nvcc"
else
    is_built vendored && try "vendored" "$work/vendored/equal" tests/gpu/ahead -t
    is_built engine && try "engine" "$work/engine/engine" ${SAY:+-t}
    [ -z "${SAY:-}" ] || cat "$work/out"
fi
[ -n "${CUDA_HOME:-}" ] || [ -z "$toolkit" ] || export CUDA_HOME="$toolkit"
try "PyTorch, load_inline" "${PYTHON:-python3}" $folder/load_inline.py "$fxc"
try "PyTorch, the package" "${PYTHON:-python3}" tests/gpu/package.py "$dir/libfx.so"

echo "$ok ok, $failed failed, $unchecked not checked"
[ $failed = 0 ]
