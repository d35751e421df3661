#!/bin/sh
# Shows how the emitted CUDA of every example and golden changes between another revision and this tree.
#
# Input: emit_diff.sh FXC REF. REF is checked out and built in build/emit-diff. Output: a unified diff, a closing line of
# what differs. Exit as diff does: 0 the same, 1 different, 3 when REF cannot be built.
set -u
cd "$(dirname "$0")/.." || exit 3
fxc=$PWD/$1
ref=$2
work=$PWD/build/emit-diff

rm -rf "$work"
git worktree prune
mkdir -p "$work/old" "$work/new"
git worktree add --quiet --detach "$work/tree" "$ref" || exit 3
trap 'git worktree remove --force "$work/tree"' EXIT
MAKEFLAGS='' make -s -C "$work/tree" build/fxc >"$work/build.log" 2>&1 || {
    echo "emit-diff: $ref does not build, see build/emit-diff/build.log" >&2
    exit 3
}

# Both compilers read this tree's specs; a spec one of them refuses shows as its messages.
emit_all() { # FXC FOLDER
    for spec in examples/*.fx examples/*/*.fx tests/golden/cuda/*.fx; do
        [ -e "$spec" ] || continue
        "$1" --emit=cu $(sed -n '1s/^# args: //p' "$spec") "$spec" -o - >"$2/$(basename "$spec" .fx).cu" 2>&1 </dev/null
    done
}
emit_all "$work/tree/build/fxc" "$work/old"
emit_all "$fxc" "$work/new"
cd "$work" || exit 3
diff -ruN old new
status=$?
echo "emit-diff: $(diff -rqN old new | wc -l) of $(ls new | wc -l) files differ from $ref"
exit $status
