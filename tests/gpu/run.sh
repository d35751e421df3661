#!/bin/sh
# Runs everything that needs a GPU and adds it up.
#
# Input: run.sh BUILD_DIR; VALUES holds arguments for test_values, "--contractions 2000 --seed 500". Output: what each part prints, then a line a part and one
# of all: N compared, M failed, K not checked. Exit 1 when something failed or a part compared nothing. Generated specs that failed lie in
# BUILD_DIR/found.
set -u
cd "$(dirname "$0")/../.." || exit 3
dir=$1
log=$(mktemp)
parts=$(mktemp)
trap 'rm -f "$log" "$parts"' EXIT
export FX_CACHE_DIR="${FX_CACHE_DIR:-$PWD/$dir/cache}"

# A program that ends without saying what it did, or with another status than its words, has failed.
close_part() { # NAME STATUS COMPARED FAILED UNCHECKED
    failed=$4
    [ "$2" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    [ "$3" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
    printf '%s: %d compared, %d failed, %d not checked\n' "$1" "$3" "$failed" "$5" >>"$parts"
}

run() { # COMMAND...: shown as it goes, kept in $log; status in $status
    { "$@" 2>&1; echo "status $?"; } | tee "$log" | grep --line-buffered -v '^status [0-9]*$'
    status=$(sed -n 's/^status //p' "$log")
}

count() { sed -n "s/$1/\\1/p" "$log" | tail -1 | grep . || echo 0; } # PATTERN of a whole line, with one \( \)

run "$dir/tests/gpu/test_gpu"
close_part test_gpu "$status" "$(count '^\([0-9]*\) passed, [0-9]* failed$')" "$(count '^[0-9]* passed, \([0-9]*\) failed$')" 0

run "$dir/tests/gpu/test_ptx"
close_part ptx "$status" "$(count '^\([0-9]*\) passed, [0-9]* failed$')" "$(count '^[0-9]* passed, \([0-9]*\) failed$')" 0

# shellcheck disable=SC2086
run "$dir/tests/gpu/test_values" --found "$dir/found" ${VALUES:-}
parts_before=$(wc -l <"$parts")
for part in files hand generated contractions; do
    grep -q "^$part: [0-9]* compared" "$log" || continue
    close_part "$part" 0 "$(count "^$part: \\([0-9]*\\) compared.*")" "$(count "^$part: .* \\([0-9]*\\) failed.*")" "$(count "^$part: .* \\([0-9]*\\) not checked.*")"
done
failed_parts=$(tail -n +$((parts_before + 1)) "$parts" | grep -vc ' 0 failed')
[ "$status" = 0 ] || [ "$failed_parts" -gt 0 ] || close_part values "$status" 0 1 0

for spec in tests/gpu/*.fx; do
    run "$dir/fxc" test --device=gpu "$spec"
    close_part "$(basename "$spec")" "$status" "$(count '^\([0-9]*\) ok, .*')" "$(count '.* ok, \([0-9]*\) failed, .*')" "$(count '.* failed, \([0-9]*\) not checked$')"
done

# It takes what not every machine with a GPU has: nothing checked is no failure here.
run sh tests/gpu/loading.sh "$dir"
if [ "$status" = 0 ] && [ "$(count '^\([0-9]*\) ok, .*')" = 0 ]; then
    printf 'loading: 0 compared, 0 failed, %d not checked\n' "$(count '.* failed, \([0-9]*\) not checked$')" >>"$parts"
else
    close_part loading "$status" "$(count '^\([0-9]*\) ok, .*')" "$(count '.* ok, \([0-9]*\) failed, .*')" "$(count '.* failed, \([0-9]*\) not checked$')"
fi

echo
awk '{ print; compared += $2; failed += $4; unchecked += $6 }
     END { printf "gpu: %d compared, %d failed, %d not checked\n", compared, failed, unchecked; exit failed > 0 || compared == 0 }' "$parts"
