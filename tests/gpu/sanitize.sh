#!/bin/sh
# Runs tests/gpu/smallest.fx, every variant of each kernel, under compute-sanitizer: reads and writes outside what was allocated, races in shared memory, barriers misused.
#
# Input: sanitize.sh BUILD_DIR. Output: a line a kernel, shape and tool, what the tool found, then N passed, M failed. Exit 1 when something failed or nothing ran.
set -u
cd "$(dirname "$0")/../.." || exit 3
export dir="$1" spec=tests/gpu/smallest.fx work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
command -v compute-sanitizer >/dev/null || { echo 'sanitize: compute-sanitizer is not on PATH; nothing was run'; exit 1; }

# A kernel found wrong under the tool has failed too, and so has a run that compared nothing.
export check='
    tool=$1; kernel=$2; shift 2
    log=$work/$tool.$(echo "$kernel $*" | tr -c "a-z0-9_\n" .)
    extents=; for extent; do extents="$extents -D $extent"; done
    if compute-sanitizer --tool "$tool" --error-exitcode 99 "$dir/fxc" check --device=gpu --all-variants -k "$kernel" $extents "$spec" >"$log" 2>&1 &&
        grep -q "SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards" "$log"; then echo "ok $tool $kernel $*"
    else echo "FAIL $tool $kernel $*"; grep "=========\|wrong\|fxc:" "$log" | head -20 | sed "s/^/    /"; fi'
sed -n 's/^test \([a-z0-9_]*\) { \(.*\) }$/\1 \2/p' "$spec" | while read -r case; do
    for tool in memcheck racecheck synccheck; do echo "$tool $case"; done
done | xargs -P "$(nproc)" -I CASE sh -c 'sh -c "$check" check $0' CASE >"$work/all"
sort "$work/all" | grep '^ok' | cut -d' ' -f2 | uniq -c
grep -v '^ok' "$work/all"
awk '/^ok/ { passed++ } /^FAIL/ { failed++ } END { printf "sanitize: %d passed, %d failed\n", passed, failed; exit failed > 0 || !passed }' "$work/all"
