#!/bin/sh
# Runs test suites one after another, all of them even when one fails, and adds them up.
#
# Input: run.sh BUILD_DIR SUITE...: unit (every Check program BUILD_DIR/tests/test_*), golden, cli, docs, arch, emu, fuzz. Output: what failed, a
# line `SUITE: N passed, M failed` for each, and a closing line `N passed, M failed` of its own. Exit 1 when M is not 0.
set -u
cd "$(dirname "$0")/.." || exit 3
dir=$1
shift
# The wheel lies beside build/fxc, where test programs in a folder of their own do not look.
wheel=$PWD/build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13
[ -n "${FX_LIBNVRTC:-}" ] || [ ! -e "$wheel" ] || export FX_LIBNVRTC="$wheel"
# Nor is the cache of whoever runs this for tests to use.
export FX_CACHE_DIR="$PWD/$dir/cache"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One Check program: its own summary line says how many checks there were; one that dies without it is one failure.
run_program() { # PROGRAM
    timeout 900 "$1" >"$log" 2>&1 </dev/null
    status=$?
    awk -v name="unit/$(basename "$1")" -v status=$status '
        { text[NR] = $0 }
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ { gsub(/[^0-9 ]/, ""); checks += $2; bad += $3 + $4; seen = 1 }
        END {
            if (!seen || (status && !bad)) { bad++; checks++ }
            if (bad) { print "FAIL " name " (exit " status ")"; for (i = 1; i <= NR; i++) print "    " text[i] }
            print name ": " checks - bad " passed, " bad " failed"
        }' "$log"
}

run_suite() { # SUITE
    case $1 in
    unit) for program in $(ls tests/unit/test_*.c 2>/dev/null); do
            run_program "$dir/tests/$(basename "$program" .c)"
        done ;;
    golden) sh tests/golden/run.sh "$dir/fxc" ;;
    cli) sh tests/cli.sh "$dir/fxc" ;;
    docs) sh tests/docs.sh "$dir/fxc" ;;
    arch) sh tests/arch.sh "$dir" ;;
    emu) sh tests/emu/run.sh "$dir" ;;
    fuzz) sh tests/fuzz/run.sh "$dir/fuzz" ;;
    *) echo "FAIL $1: no such suite"; echo "$1: 0 passed, 1 failed" ;;
    esac
}

# A suite that dies before its own line is one failure as well.
for suite in "$@"; do
    run_suite "$suite" 2>&1
    echo "end of $suite"
done | awk '
    /^end of / { if (!lines) { print "FAIL " $3 ": no result"; failed++ } lines = 0; next }
    { print }
    /^[a-z_\/0-9]+: [0-9]+ passed, [0-9]+ failed$/ { passed += $2; failed += $4; lines++ }
    END { print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }'
