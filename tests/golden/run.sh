#!/bin/sh
# Compares what fxc prints for tests/golden/STAGE/NAME.fx with NAME.out beside it.
#
# Input: run.sh FXC [--update]. Each folder names a stage and so an --emit, annotate/ and explain/ the subcommand; in error/ the compilation must fail with exit
# 1 and its messages are compared. A first line `# args: ...` of a spec adds arguments. fxc runs inside the folder, so
# that messages name bare files. Every code of compiler/base/diags.def must have one. --update rewrites the .out files that differ and lists them. Exit 1 when one fails.
set -u
set -f
here=$(cd "$(dirname "$0")" && pwd)
fxc=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
update=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Runs one spec inside its folder; leaves what is compared in $work/got and succeeds when the exit status is the expected one.
run_spec() { # STAGE FILE
    args=$(sed -n '1s/^# args: //p' "$2")
    case $1 in
    parse) emit=ast want=0 ;;
    ir) emit=ir want=0 ;;
    fuse) emit=fused want=0 ;;
    plan) emit=plan want=0 ;;
    cuda) emit=cu want=0 ;;
    host-c) emit=host-c want=0 ;;
    fx) emit=fx want=0 ;;
    annotate | language) emit= sub=annotate want=0 ;;
    explain) emit= sub='explain --no-compile' want=0 ;;
    error) emit=cu want=1 ;;
    esac
    if [ -n "$emit" ]; then set -- "$@" --emit=$emit -o -; else set -- "$@" $sub; fi
    stage_file=$2
    shift 2
    timeout 60 "$fxc" "$@" $args "$stage_file" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    got=$work/out
    [ $want = 0 ] || got=$work/err
    [ $status = $want ] && return 0
    echo "exit $status, expected $want" >"$work/why"
    cat "$work/err" >>"$work/why"
    return 1
}

fail() { # NAME, the reason in $work/why
    failed=$((failed + 1))
    echo "FAIL golden/$1"
    head -n 40 "$work/why" | sed 's/^/    /'
}

check_spec() { # STAGE FILE
    name=$1/$2
    out=${2%.fx}.out
    if ! run_spec "$1" "$2"; then
        fail "$name"
    elif cmp -s "$out" "$got"; then
        passed=$((passed + 1))
    elif [ "$update" = --update ]; then
        [ -e "$out" ] && echo "changed golden/$1/$out" || echo "created golden/$1/$out"
        cp "$got" "$out"
        passed=$((passed + 1))
    elif [ -e "$out" ]; then
        diff -u "$out" "$got" >"$work/why"
        fail "$name"
    else
        echo "$out is missing; make golden-update writes it" >"$work/why"
        fail "$name"
    fi
}

for stage in parse ir fx fuse plan cuda host-c annotate explain language error; do
    folder=$here/$stage
    [ $stage != language ] || folder=$here/../language # whose specs have values beside them too
    if ! cd "$folder" 2>"$work/why"; then
        fail "$stage"
        continue
    fi
    for file in $(ls | grep '\.fx$'); do
        check_spec $stage "$file"
    done
    echo 'no spec beside it' >"$work/why"
    for out in $(ls | grep '\.out$'); do
        [ -e "${out%.out}.fx" ] || fail "$stage/$out"
    done
done
# Every row of the table of diagnostics is shown by a golden that bears its code.
for code in $(sed -n 's/^DIAG("\(FX[0-9]*\)".*/\1/p' "$here/../../compiler/base/diags.def"); do
    echo "no tests/golden/error/${code}_*.out shows [$code]" >"$work/why"
    set +f
    if cat "$here"/error/"${code}"_*.out 2>/dev/null | grep -q "\[$code\]"; then passed=$((passed + 1)); else fail "$code"; fi
    set -f
done
echo 'no spec found' >"$work/why"
[ $((passed + failed)) != 0 ] || fail none
echo "golden: $passed passed, $failed failed"
[ $failed = 0 ]
