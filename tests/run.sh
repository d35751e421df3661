#!/bin/sh
# Runs test suites, all of them even when one fails, and adds them up.
#
# Input: run.sh BUILD_DIR SUITE...: unit (every Check program BUILD_DIR/tests/test_*), golden, cli, docs, arch, python, lsp, emu, fuzz; FX_UNIT names the
# programs of unit, else all: "test_json test_npy". FX_JOBS programs and suites run at once, or as many as there are cores; emu and fuzz run last, alone,
# as they take all cores. Output: what failed, what was skipped and why, a line `SUITE: N passed, M failed[, K skipped]` for each, what each suite counted,
# the processor time that it took, and `N passed, M failed, K skipped` alone as the last line. A suite that runs beside others is written in one piece,
# in its turn; all else is written as it comes. Exit 1 when M is not 0.
set -u
cd "$(dirname "$0")/.." || exit 3
dir=$1
shift
# The wheel lies beside build/fxc, where test programs in a folder of their own do not look.
wheel=$PWD/build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13
[ -n "${FX_LIBNVRTC:-}" ] || [ ! -e "$wheel" ] || export FX_LIBNVRTC="$wheel"
# A test that sets no limit has a minute: Check's four seconds also kill tests of 0.1 s on a machine that stands still for a moment.
export CK_DEFAULT_TIMEOUT=60
# Nor is the cache of whoever runs this for tests to use. What is compiled for the emulator is the same under sanitizers.
export FX_CACHE_DIR="$PWD/${dir%/san}/cache"

# What takes longest begins first, so that at the end no core waits for another; the rest follows in its order. The closing lines say what took how long.
longest='test_nvrtc test_passes test_examples arch test_compare docs test_host_c cli test_emu test_emu_async python'

# One Check program: its own summary line says how many checks there were; one that dies without it is one failure. What SKIP_TEST says is no pass.
# Several run at once: what one has to say is written in one piece.
run_program() { # NAME
    log=$work/$1.log
    case $dir in */san)
        # Freed memory is held back for 16 MB, not 256: else each test's process touches new pages for all it allocates.
        export ASAN_OPTIONS="${ASAN_OPTIONS:-quarantine_size_mb=16:malloc_context_size=8}"
        ;;
    esac
    timeout 2400 "$dir/tests/$1" >"$log" 2>&1 </dev/null
    awk -v name="unit/$1" -v status=$? '
        { text[NR] = $0 }
        /^skipped: / { print name ": " $0; skipped++ }
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$/ { gsub(/[^0-9 ]/, ""); checks += $2; bad += $3 + $4; seen = 1 }
        END {
            if (!seen || (status && !bad)) { bad++; checks++ }
            if (bad) { print "FAIL " name " (exit " status ")"; for (i = 1; i <= NR; i++) print "    " text[i] }
            print name ": " checks - bad - skipped " passed, " bad " failed" (skipped ? ", " skipped " skipped" : "")
        }' "$log" >"$work/$1.said"
    flock "$work" cat "$work/$1.said"
}

run_suite() { # SUITE
    case $1 in
    golden) sh tests/golden/run.sh "$dir/fxc" ;;
    cli) sh tests/cli.sh "$dir/fxc" ;;
    docs) sh tests/docs.sh "$dir/fxc" ;;
    arch) sh tests/arch.sh "$dir" ;;
    python) sh tests/python/run.sh "$dir" ;;
    lsp) if command -v python3 >/dev/null; then python3 tests/lsp.py "$dir/fxc"; else echo 'skipped: lsp: no python3'; echo 'lsp: 0 passed, 0 failed, 1 skipped'; fi ;;
    emu) sh tests/emu/run.sh "$dir" ;;
    fuzz) sh tests/fuzz/run.sh "$dir/fuzz" ;;
    *) echo "FAIL $1: no such suite"; echo "$1: 0 passed, 1 failed" ;;
    esac
}

# Processor seconds of this process's children, for the closing lines.
note_seconds() { # SUITE, "" or PROGRAM
    times >"$work/$1$2.times"
    awk -v name="$*" 'NR == 2 { gsub("s", ""); split($1, u, "m"); split($2, s, "m"); print 60 * (u[1] + s[1]) + u[2] + s[2], name }' "$work/$1$2.times" >>"$work/seconds"
}

run_job() { # NAME: a program of unit, or a suite
    case $1 in
    test_*) run_program "$1" && note_seconds unit "$1" ;;
    *)
        run_suite "$1" >"$work/$1.out" 2>&1
        note_seconds "$1" ""
        ;;
    esac
}

if [ "$1" = --job ]; then
    work=$3
    run_job "$2"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

list_jobs() { # SUITE...
    for suite in "$@"; do
        case $suite in
        unit) for name in ${FX_UNIT:-$(cd tests/unit && ls test_*.c | sed 's/\.c$//')}; do echo "$name"; done ;;
        emu | fuzz) ;;
        *) echo "$suite" ;;
        esac
    done | awk -v longest="$longest" '
        { wanted[$1]; name[NR] = $1 }
        END {
            n = split(longest, first, " ")
            for (i = 1; i <= n; i++) if (first[i] in wanted) { print first[i]; delete wanted[first[i]] }
            for (i = 1; i <= NR; i++) if (name[i] in wanted) print name[i]
        }'
}

# tee writes what it reads at once, unlike awk.
list_jobs "$@" | xargs -P "${FX_JOBS:-$(nproc)}" -I NAME sh tests/run.sh "$dir" --job NAME "$work" | tee "$work/unit.out"
# A suite that dies before its own line is one failure as well.
for suite in "$@"; do
    case $suite in
    unit) ;;
    emu | fuzz) { run_suite "$suite" 2>&1; note_seconds "$suite" ""; } | tee "$work/$suite.out" ;;
    *) cat "$work/$suite.out" ;;
    esac
    { cat "$work/$suite.out"; echo "end of $suite"; } >>"$work/all"
done
sort -rn "$work/seconds" | awk '
    { if (!($2 in sum)) suite[++n] = $2; sum[$2] += $1 }
    NF > 2 && ++m <= 8 { programs = programs sprintf("%s%s %.0f", m > 1 ? ", " : "", $3, $1) }
    END {
        for (i = 1; i <= n; i++)
            said = said sprintf("%s%s %.0f%s", i > 1 ? "; " : "processor seconds: ", suite[i], sum[suite[i]], suite[i] == "unit" ? " (" programs ")" : "")
        print said
    }'
awk '
    BEGIN {
        split("unit tests golden specs cli assertions docs blocks,_tables_and_pages arch rules python tests lsp sessions emu specs_and_test_blocks fuzz targets", pairs, " ")
        for (i = 1; i in pairs; i += 2) { unit_of[pairs[i]] = pairs[i + 1]; gsub(/_/, " ", unit_of[pairs[i]]) }
    }
    /^end of / {
        if (!lines) { print "FAIL " $3 ": no result"; failed++; counted++ }
        if ($3 in unit_of) said = said (said ? "; " : "counted: ") $3 " " counted + 0 " " unit_of[$3]
        lines = counted = 0
        next
    }
    /^[a-z_\/0-9]+: [0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { passed += $2; failed += $4; skipped += $6; counted += $2 + $4 + $6; lines++ }
    END { print said; print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped"; exit failed > 0 }' "$work/all"
