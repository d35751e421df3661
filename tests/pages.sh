#!/bin/sh
# Holds the pages of docs/puzzles.md to what `fxc trace` writes.
#
# Input: pages.sh FXC [--update]. A row of the table is `| [NAME](puzzles/NAME.html) | `FILE ARGS` | ..`; FILE lies in examples/s2_puzzles/. --update writes the pages that
# differ and lists them. Output: what failed, what was not checked, `pages: N passed, M failed, K not checked`. Exit 1 when one fails, else 77 when one was not checked; an example without a page, a page without a row and no row at all are failures.
set -u
set -f
fxc=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
update=${2:-}
cd "$(dirname "$0")/.." || exit 3
work=$(mktemp -d)
compiler=$("${FX_CXX:-g++}" -dumpversion | cut -d. -f1) # its debug information says which line an access stands in
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 unchecked=0

fail() {
    failed=$((failed + 1))
    echo "FAIL pages: $1"
}

# The extents and the kernel follow the file; every page is of the emulator as it is by default.
check_page() { # PAGE FILE ARGS...
    page=$1 file=$2
    shift 2
    (cd examples/s2_puzzles && timeout 60 "$fxc" trace "$@" -o "$work/page.html" "$file") >"$work/log" 2>&1 </dev/null || {
        fail "$page: fxc trace $file $*: $(head -n 3 "$work/log")"
        return
    }
    if cmp -s "$work/page.html" "docs/$page"; then
        passed=$((passed + 1))
    elif [ "$update" = --update ]; then
        cp "$work/page.html" "docs/$page" && echo "changed docs/$page" && passed=$((passed + 1))
    elif [ "$compiler" != 12 ]; then
        unchecked=$((unchecked + 1))
        echo "pages: docs/$page: not checked, it is of g++ 12 and here is $compiler"
    else
        fail "docs/$page is not what fxc trace writes; make pages writes it anew: $(diff "docs/$page" "$work/page.html" 2>&1 | head -n 4)"
    fi
}

sed -n 's/^| \[[a-z0-9_]*\](\(puzzles\/[a-z0-9_]*\.html\)) | `\([^`]*\)` |.*/\1 \2/p' docs/puzzles.md >"$work/rows"
while read -r page args; do
    # shellcheck disable=SC2086
    check_page "$page" $args
done <"$work/rows"
for file in $(ls examples/s2_puzzles | grep '\.fx$'); do
    grep -q "^puzzles/${file%.fx}.html $file" "$work/rows" || fail "docs/puzzles.md has no row of $file"
done
for page in $(ls docs/puzzles); do
    grep -q "^puzzles/$page " "$work/rows" || fail "docs/puzzles/$page has no row in docs/puzzles.md"
done
[ -s "$work/rows" ] || fail 'docs/puzzles.md has no rows'
echo "pages: $passed passed, $failed failed, $unchecked not checked"
[ $failed = 0 ] || exit 1
[ $unchecked = 0 ] || exit 77
