#!/bin/sh
# What large specs cost to compile, in process time.
#
# Input: front.sh FXC [ROUNDS]. Output: a line a spec: milliseconds of user and system time, the mean over ROUNDS (20) runs. A measurement, not a test.
set -eu
case $1 in /*) fxc=$1 ;; *) fxc=$PWD/$1 ;; esac
rounds=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

head='kernel f(x: f32[M], a: f32[M], b: f32[M], c: f32[M]) -> y: f32[M] {'
awk -v head="$head" 'function sum(first,   i, s) { s = first; for (i = 1; i < 990; i++) s = s " + " substr("xabc", i % 4 + 1, 1); return s }
    BEGIN {
        print head "\n  y = " sum("x") "\n}" >"one_sum_of_990.fx"
        print head "\n  p = " sum("x") "\n  q = p * (" sum("p") ")\n  r = q * (" sum("q") ")\n  y = r * (" sum("r") ")\n}" >"four_sums_of_990.fx"
        print head "\n  h0 = x" >"4000_statements.fx"
        for (i = 0; i < 4000; i++) print "  h" i + 1 " = h" i " " substr("+-*", i % 3 + 1, 1) " a" >"4000_statements.fx"
        print "  y = h4000\n}" >"4000_statements.fx"
        for (i = 0; i < 500; i++) print "fn fn_" i "(v) = v * " i ".5 + 1" >"500_fns.fx"
        print head "\n  h = x" >"500_fns.fx"
        for (i = 0; i < 500; i++) print "  h = fn_" i "(h)" >"500_fns.fx"
        print "  y = h\n}" >"500_fns.fx"
        # five hundred accesses, each of which must be shown to stay inside
        print head "\n  h = x" >"500_accesses.fx"
        for (i = 0; i < 250; i++) print "  h = h + a[M: max(idx(M) - " i ", 0)] * b[M: (idx(M) + " i ") % M]" >"500_accesses.fx"
        print "  y = h\n}" >"500_accesses.fx"
        for (i = 0; i < 500; i++) print "kernel k" i "(x: f32[M]) -> y: f32[M] { y = x * " i ".5 + 1 }" >"500_kernels.fx"
    }'
for spec in *.fx; do
    "$fxc" -o "$spec.cu" "$spec"
    sh -c 'i=0; while [ $i -lt '"$rounds"' ]; do "$0" -o /dev/null "$1"; i=$((i + 1)); done; times' "$fxc" "$spec" |
        awk -v spec="${spec%.fx}" -v rounds="$rounds" -v bytes="$(wc -c <"$spec.cu")" '
            function seconds(t) { split(t, part, /[ms]/); return part[1] * 60 + part[2] }
            NR == 2 { printf "%-18s %6.1f ms, %d bytes of CUDA\n", spec, (seconds($1) + seconds($2)) / rounds * 1000, bytes }'
done
