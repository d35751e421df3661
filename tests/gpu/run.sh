#!/bin/sh
# Runs everything that needs a GPU, all parts at once, and adds it up.
#
# Input: run.sh BUILD_DIR; VALUES holds arguments for test_values, "--contractions 2000 --seed 500". Output: what each part prints, as one block when the part
# ends, then a line a part and one of all: N compared, M failed, K not checked. Exit 1 when something failed or a part compared nothing. Generated specs that
# failed lie in BUILD_DIR/found. The GPU is asked for by name, so that nothing falls back to the emulator.
set -u
cd "$(dirname "$0")/../.." || exit 3
dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FX_CACHE_DIR="${FX_CACHE_DIR:-$PWD/$dir/cache}"

# A program that ends without saying what it did, or with another status than its words, has failed.
close_part() { # NAME STATUS COMPARED FAILED UNCHECKED
    failed=$4
    [ "$2" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    [ "$3" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
    printf '%s: %d compared, %d failed, %d not checked\n' "$1" "$3" "$failed" "$5"
}

count() { sed -n "s/$1/\\1/p" "$log" | tail -1 | grep . || echo 0; } # PATTERN of a whole line, with one \( \)

# Each of these reads $log and $status of a part that has ended, and prints its lines of the sum.
close_checks() { # NAME
    close_part "$1" "$status" "$(count '^\([0-9]*\) passed, [0-9]* failed$')" "$(count '^[0-9]* passed, \([0-9]*\) failed$')" 0
}

close_values() { # NAME
    for of in files hand generated contractions; do
        grep -q "^$of: [0-9]* compared" "$log" || continue
        close_part "$of" 0 "$(count "^$of: \\([0-9]*\\) compared.*")" "$(count "^$of: .* \\([0-9]*\\) failed.*")" "$(count "^$of: .* \\([0-9]*\\) not checked.*")"
    done >"$work/values"
    cat "$work/values"
    [ "$status" = 0 ] || grep -qv ' 0 failed' "$work/values" || close_part "$1" "$status" 0 1 0
}

close_tests() { # NAME
    close_part "$1" "$status" "$(count '^\([0-9]*\) ok, .*')" "$(count '.* ok, \([0-9]*\) failed, .*')" "$(count '.* failed, \([0-9]*\) not checked$')"
}

# It takes what not every machine with a GPU has: nothing checked is no failure there.
close_loading() { # NAME
    if [ "$status" = 0 ] && [ "$(count '^\([0-9]*\) ok, .*')" = 0 ]; then
        printf '%s: 0 compared, 0 failed, %d not checked\n' "$1" "$(count '.* failed, \([0-9]*\) not checked$')"
    else
        close_tests "$1"
    fi
}

# A part in the background. One block is printed at a time: who makes the folder has the terminal.
start_part() { # NAME CLOSE COMMAND...
    name=$1 close=$2
    shift 2
    parts="${parts:-} $name"
    {
        log=$work/$name.log
        start=$(date +%s)
        "$@" >"$log" 2>&1 </dev/null
        status=$?
        $close "$name" >"$work/$name.sum"
        until mkdir "$work/turn" 2>/dev/null; do sleep 0.1; done
        printf '== %s, %d s\n' "$name" $(($(date +%s) - start))
        cat "$log"
        rmdir "$work/turn"
    } &
}

start_part test_gpu close_checks "$dir/tests/gpu/test_gpu"
start_part ptx close_checks "$dir/tests/gpu/test_ptx"
start_part threads close_checks "$dir/tests/gpu/test_threads" 60
# shellcheck disable=SC2086
start_part values close_values "$dir/tests/gpu/test_values" --found "$dir/found" ${VALUES:-}
for spec in tests/gpu/*.fx; do
    # shellcheck disable=SC2046
    start_part "$(basename "$spec")" close_tests "$dir/fxc" test --device gpu $(sed -n '1s/^# args: //p' "$spec") "$spec"
done
start_part loading close_loading sh tests/gpu/loading.sh "$dir"
wait
# What the other parts have compiled lies in the cache.
scan_machine_code() {
    command -v "${PYTHON:-python3}" >/dev/null || { echo '0 ok, 0 failed, 1 not checked'; return 0; }
    "${PYTHON:-python3}" tests/gpu/sass.py "$FX_CACHE_DIR"
}
start_part sass close_loading scan_machine_code
wait

echo
# A part that left no line was cut off.
for name in $parts; do
    [ -s "$work/$name.sum" ] || printf '%s: 0 compared, 1 failed, 0 not checked\n' "$name" >"$work/$name.sum"
    cat "$work/$name.sum"
done | awk '{ print; compared += $2; failed += $4; unchecked += $6 }
     END { printf "gpu: %d compared, %d failed, %d not checked\n", compared, failed, unchecked; exit failed > 0 || compared == 0 }'
