#!/bin/sh
# Runs what is emitted on the emulator and compares it with the oracle: the kernels of tests/language on the values of their files, written by hand too, generated
# specs, and the test blocks of tests/gpu and of the examples that are small enough. Every launch runs under several orders of its threads; of some of the specs, and of the smallest
# problem of each driver and engine, every access is seen. The functions of ptx_emu.h run on the cases by which test_ptx compares them with a GPU.
#
# Input: run.sh BUILD_DIR; EMU holds other arguments for test_values, "--contractions 2000 --seed 500". Output: what failed, a line a part, the seconds it took, and
# `emu: N passed, M failed`; specs that failed lie in BUILD_DIR/found. A part in which nothing was compared has failed.
set -u
cd "$(dirname "$0")/../.." || exit 3
dir=$1
work=$(mktemp -d)
log=$work/log
trap 'rm -rf "$work"' EXIT
export FX_CACHE_DIR="${FX_CACHE_DIR:-$PWD/$dir/cache}"
start=$(date +%s)
passed=0 failed=0

count() { sed -n "s/$1/\\1/p" "$log" | tail -1 | grep . || echo 0; } # PATTERN of a whole line, with one \( \)

close_part() { # NAME STATUS PASSED FAILED
    bad=$4
    { [ "$2" = 0 ] && [ "$3" -gt 0 ]; } || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + $3)) failed=$((failed + bad))
}

# Reports then name no lines: what failed, a test block or a spec in BUILD_DIR/found, is run again without it.
export FX_CXX="$PWD/tests/emu/cxx.sh"

run_values() { # ARGUMENTS of test_values
    "$dir/tests/gpu/test_values" --found "$dir/found" "$@" >"$log" 2>&1
    status=$?
    grep -vE ' ok, [0-9]+ launches$| refused, FX[0-9]+$|^[0-9]+ passed, ' "$log"
    close_part values "$status" "$(count '^\([0-9]*\) passed, [0-9]* failed$')" "$(count '^[0-9]* passed, \([0-9]*\) failed$')"
}

# clang, where there is one, compiles what is not watched: most entries take longer to compile than to run.
EMU_CLANG=$(command -v "${CLANG:-clang}") EMU_LIBGCC=$(g++ -print-libgcc-file-name)
export EMU_CLANG EMU_LIBGCC

# Seeds: the first ones by every variant and in every layout, then 200 of which every access is seen under every order of threads, then the rest as they are chosen.
if [ -n "${EMU:-}" ]; then
    # shellcheck disable=SC2086
    run_values --emu $EMU
else
    run_values --emu --generated 20 --contractions 34
    run_values seed --watched --brief --generated 100 --contractions 100 --seed 1000
    run_values seed --emu --brief --generated 380 --contractions 380 --seed 2000
fi

# ---- the cases of the hardware's functions, which a GPU machine compares with their twins: they compile for the emulator, and end ----

if [ -z "${EMU:-}" ]; then
    FX_DRY=right "$dir/tests/gpu/test_ptx" >"$log" 2>&1
    status=$?
    grep -vE '^ok |^[0-9]+ passed, ' "$log"
    close_part ptx "$status" 1 0 # one check: the words are compared with themselves
fi

# ---- test blocks: a process a file or folder, as many at once as there are cores ----

n_blocks=0 begun=

add_blocks() { # NAME DEVICE MOST_BYTES [OPTION...] SPEC..., a line about all of them
    n_blocks=$((n_blocks + 1))
    printf '%s\n' "$@" >"$work/$n_blocks"
}

run_blocks() { # NUMBER
    { read -r name && read -r device && read -r bytes && specs=$(cat); } <"$work/$1"
    # These run longer than they take to compile.
    case $name in bins.fx | rows.fx) clang= ;; *) clang=$EMU_CLANG ;; esac
    # Of every driver and engine once, what nothing was assigned to holds a pattern.
    case $name in smallest.fx) fill=1 ;; *) fill= ;; esac
    # shellcheck disable=SC2086
    EMU_FILL=$fill EMU_CLANG=$clang "$dir/fxc" test --device "$device" --max-flops 2e6 --max-bytes "$bytes" $specs >"$work/$1.log" 2>&1
    echo $? >"$work/$1.status"
}

# Takes what nobody else has taken: who makes the folder has it.
work_off() {
    number=0
    while [ $number -lt $n_blocks ]; do
        number=$((number + 1))
        if mkdir "$work/$number.taken" 2>/dev/null; then run_blocks $number; fi
    done
}

close_blocks() { # NUMBER
    read -r name <"$work/$1"
    log=$work/$1.log
    status=$(cat "$work/$1.status")
    [ "$status" = 0 ] || grep -vE '^ok |^[0-9]+ ok, ' "$log"
    sed -n "s|^\([0-9]* ok, .*\)|$name: \1|p" "$log"
    close_part "$name" "$status" "$(count '^\([0-9]*\) ok, .*')" "$(count '.* ok, \([0-9]*\) failed, .*')"
}

for folder in tests/examples/*/; do
    set -- "$folder"*.values
    [ ! -e "$1" ] || run_values : --emu --folder "${folder%/}" --generated 0 --contractions 0
done

# What takes longest begins first, so that at the end no core waits for another.
longest='rows.fx bins.fx partial.fx contractions.fx computed.fx chain.fx skinny.fx'
for spec in $(for name in $longest; do echo "tests/gpu/$name"; done) tests/gpu/*.fx; do
    case " $begun " in *" $spec "*) continue ;; esac
    begun="$begun $spec"
    device=emu:5,plain
    [ "$spec" != tests/gpu/smallest.fx ] || device=emu:5
    # shellcheck disable=SC2046
    add_blocks "$(basename "$spec")" $device inf $(sed -n '1s/^# args: //p' "$spec") "$spec"
done
for folder in examples examples/*/; do
    set -- "${folder%/}"/*.fx
    [ ! -e "$1" ] || add_blocks "${folder%/}" emu:5,plain 2e6 "$@"
done
for worker in $(seq "$(nproc)"); do work_off & done
wait
number=0
while [ $number -lt $n_blocks ]; do
    number=$((number + 1))
    close_blocks $number
done
echo "on the emulator: $(($(date +%s) - start)) s"
echo "emu: $passed passed, $failed failed"
[ "$failed" = 0 ]
