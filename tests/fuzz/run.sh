#!/bin/sh
# Runs every fuzz target of a folder for FUZZ_SECONDS (60), all at once: each takes a core.
#
# Input: run.sh FOLDER with the programs of tests/fuzz/fuzz_*.c. What it starts from: tests/fuzz/corpus/TARGET, the goldens, and what earlier runs added in FOLDER/corpus/TARGET. Output: what
# failed, each input that did it by path and in hex, and a closing line `fuzz: N passed, M failed`. Exit 1 when M is not 0.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 3
seconds=${FUZZ_SECONDS:-60}
passed=0 failed=0

# One process a target, single-threaded, ends by itself; the limit beyond is for one that does not.
run_target() { # TARGET
    mkdir -p "corpus/$1" "found/$1"
    rm -f "found/$1"/*
    timeout $((seconds + 120)) "./$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -print_funcs=0 -verbosity=0 \
        -dict="$here/fx.dict" -artifact_prefix="found/$1/" "corpus/$1" "$here/corpus/$1" "$here"/../golden/*/ >"$1.log" 2>&1 </dev/null
    echo $? >"$1.status"
}

# A target that ran nothing has shown nothing.
check_target() { # TARGET
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$1.log")
    if [ "$(cat "$1.status")" = 0 ] && [ -z "$(ls "found/$1")" ] && [ "${runs:-0}" -gt 100 ]; then
        passed=$((passed + 1))
        echo "fuzz/$1: $runs inputs in $seconds s"
        return
    fi
    failed=$((failed + 1))
    echo "FAIL fuzz/$1 (exit $(cat "$1.status"), ${runs:-no} inputs)"
    grep -vE '^(stat::|INFO: )' "$1.log" | head -n 60 | sed 's/^/    /'
    for input in "found/$1"/*; do
        [ -e "$input" ] || continue
        echo "    input $PWD/$input:"
        od -An -v -tx1 "$input" | head -n 256 | sed 's/^/    /'
    done
}

targets=$(ls "$here"/fuzz_*.c | sed 's|.*/fuzz_||; s|\.c$||')
for target in $targets; do run_target "$target" & done
wait
for target in $targets; do check_target "$target"; done
echo "fuzz: $passed passed, $failed failed"
[ $failed = 0 ]
