#!/bin/sh
# Holds README.md and docs/ to what the command does.
#
# Input: docs.sh FXC. Every ```fx block of the pages must compile, every ```fx-tested block too, and its `test` blocks must hold on the emulator, every ```fx-checked block must become a graph and be refused with FX3001 or FX3003 when it is
# to be compiled, every ```fx-refused CODE block must fail with exit 1 and that code, every ```fx-out ARGS block must be what `fxc ARGS` prints for the
# block of fx before it, every ```fx-run ARGS block what `fxc run ARGS` prints of it on the emulator; a ```cpp block must be a program that exits with 0; README's ```cuda block must be lines of what its fx block becomes, in order, an ```explain ARGS block lines of what `fxc explain ARGS` says, a ```demo block lines of what the demo prints on the emulator, in order. A ```fx-rows block is a spec with HERE in it, for
# which the code in the second column of every row of the table behind it must stand. A first line `# args: ...` of a block adds arguments. What the
# tables of the sources list must stand on the page about it, links must lead somewhere, to headings too (site.py), and the pages of docs/puzzles.md must be what `fxc trace` writes (pages.sh). Output: what failed, `docs: N passed, M failed`. Exit 1 when
# one fails.
set -u
set -f
fxc=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.." || exit 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

result() { # STATUS NAME, on failure the reason in $work/why
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL docs: $2"
        head -n 20 "$work/why" | sed 's/^/    /'
    fi
}

# Writes the fenced blocks of a page to $work/blocks/NNN, what stands behind the fence to NNN.fence, the line to NNN.line; the table behind a block
# fx-rows to NNN.rows, a row a line: its line on the page, a blank and the code in its second column.
split_page() { # PAGE
    rm -rf "$work/blocks"
    mkdir "$work/blocks"
    awk -v to="$work/blocks/" '
        /^```/ && open { close(file); open = 0; next }
        /^```fx-rows$/ { rows = sprintf("%s%03d.rows", to, n + 1); printf "" >rows; n_heads = 0 }
        /^[|]/ && !open && rows != "" {
            if (n_heads++ < 2) next # the head and the rule under it
            code = $0
            sub(/^[|][^|]*[|] *`/, "", code)
            sub(/` *[|].*$/, "", code)
            print NR " " code >rows
            next
        }
        n_heads { close(rows); rows = ""; n_heads = 0 }
        /^```/ { open = 1; file = sprintf("%s%03d", to, ++n); print substr($0, 4) >(file ".fence"); print NR >(file ".line")
                 close(file ".fence"); close(file ".line"); printf "" >file; next }
        open { print >file }' "$1"
}

# Runs fxc on the block of fx seen last, in a folder where it is called spec.fx; both streams go to $work/out.
run_spec() { # ARGS...
    extra=$(sed -n '1s/^# args: //p' "$work/spec.fx")
    (cd "$work" && timeout 60 "$fxc" "$@" $extra -o - spec.fx >out 2>&1 </dev/null)
}

# Whether every line of the file, but for those left out, is a line of $work/out, in that order.
in_order() { # FILE
    awk 'NR == FNR { if ($0 !~ /^ *(\/\/ \.\.\..*)?$/) want[++n] = $0; next }
         at < n && $0 == want[at + 1] { at++ }
         END { if (at < n) { print "not there, or not in this order: " want[at + 1]; exit 1 } }' "$1" "$work/out" >"$work/why"
}

check_block() { # NAME FENCE FILE
    case $2 in
    fx)
        cp "$3" "$work/spec.fx"
        run_spec
        status=$?
        cp "$work/out" "$work/why"
        result $status "$1 does not compile"
        ;;
    fx-tested)
        cp "$3" "$work/spec.fx"
        run_spec
        status=$?
        cp "$work/out" "$work/why"
        result $status "$1 does not compile"
        (cd "$work" && timeout 120 "$fxc" test --device=emu $extra spec.fx >out 2>&1 </dev/null)
        status=$?
        cp "$work/out" "$work/why"
        result $status "$1: its tests do not hold"
        ;;
    fx-checked)
        cp "$3" "$work/spec.fx"
        run_spec --emit=ir
        status=$?
        cp "$work/out" "$work/why"
        result $status "$1 is not right"
        run_spec
        { echo "exit $?, it may be marked fx:" && cat "$work/out"; } >"$work/why"
        grep -q ': error: .*\[FX300[13]\]$' "$work/out"
        result $? "$1 is not refused for want of a schedule"
        ;;
    fx-rows)
        check_rows "$1" "$3"
        ;;
    fx-refused\ *)
        cp "$3" "$work/spec.fx"
        code=${2#fx-refused }
        run_spec
        status=$?
        { echo "exit $status" && cat "$work/out"; } >"$work/why"
        [ $status = 1 ] && grep -q "error: .*\[$code\]\$" "$work/out"
        result $? "$1 is not refused with $code"
        ;;
    fx-out*)
        run_spec ${2#fx-out}
        diff -u "$3" "$work/out" >"$work/why"
        result $? "$1 is not what fxc prints"
        ;;
    fx-run*)
        (cd "$work" && timeout 120 "$fxc" run --device=emu ${2#fx-run} spec.fx >out 2>why </dev/null && diff -u "$3" out >why)
        result $? "$1 is not what fxc run prints"
        ;;
    cpp)
        mkdir -p "$work/program"
        cp "$3" "$work/program/program.cc"
        libraries=$(dirname "$fxc")
        "${FX_CXX:-g++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Icompiler -Iruntime -o "$work/program/program" "$work/program/program.cc" -L"$libraries" -lfx -Wl,-rpath,"$libraries" >"$work/why" 2>&1 &&
            timeout 120 "$work/program/program" >"$work/why" 2>&1 </dev/null
        result $? "$1 does not compile, or fails"
        ;;
    explain*)
        extra=$(sed -n '1s/^# args: //p' "$work/spec.fx")
        (cd "$work" && timeout 60 "$fxc" explain --no-compile ${2#explain} $extra spec.fx >out 2>&1 </dev/null)
        in_order "$3"
        result $? "$1 is not what the receipt says"
        ;;
    demo)
        cp "$work/demo" "$work/out"
        in_order "$3"
        result $? "$1 is not what the demo prints"
        ;;
    cuda)
        run_spec
        in_order "$3"
        result $? "$1 is not what the spec becomes"
        ;;
    esac
}

check_rows() { # NAME FILE
    grep -q HERE "$2" && [ -s "$2.rows" ]
    status=$?
    echo 'no HERE, or no table' >"$work/why"
    result $status "$1 checks nothing"
    while read -r row code; do
        CODE=$code awk '{ at = index($0, "HERE"); print at ? substr($0, 1, at - 1) ENVIRON["CODE"] substr($0, at + 4) : $0 }' "$2" >"$work/spec.fx"
        run_spec --emit=ir
        status=$?
        cp "$work/out" "$work/why"
        result $status "${1%:*}:$row is not right: $code"
    done <"$2.rows"
}

check_page() { # PAGE
    split_page "$1"
    set +f
    for block in "$work"/blocks/*.fence; do
        [ -e "$block" ] || continue
        file=${block%.fence}
        set -f
        check_block "$1:$(cat "$file.line")" "$(cat "$block")" "$file"
    done
    set -f
}

# Each word of a list must stand on the page as a word; an empty list is a failure of its own.
all_stand_on() { # PAGE WHAT WORDS
    for word in $3; do
        grep -qwF -e "$word" "$1" || echo "$word"
    done >"$work/why" 2>&1
    [ -n "$3" ] || echo 'the list is empty' >"$work/why"
    [ ! -s "$work/why" ]
    result $? "$1 leaves out $2"
}

# Each has a row of a table: a word of the prose may be its name by chance.
all_have_rows() { # PAGE WHAT NAMES
    for name in $3; do
        grep -qE "^\\| \`?$name\`? \\|" "$1" || echo "no row $name"
    done >"$work/why" 2>&1
    [ -n "$3" ] || echo 'the list is empty' >"$work/why"
    [ ! -s "$work/why" ]
    result $? "$1 leaves out $2"
}

check_links() { # PAGE
    for link in $(grep -oE '\]\([a-zA-Z0-9_./-]+\.[a-z]+' "$1" | sed 's/^](//' | sort -u); do
        [ -e "$(dirname "$1")/$link" ] || echo "$link"
    done >"$work/why"
    [ ! -s "$work/why" ]
    result $? "$1 links to what is not there"
}

# The demo, on the emulator everywhere; why there is no GPU differs between machines.
echo 'no NVRTC' >"$work/why"
CUDA_VISIBLE_DEVICES= timeout 300 sh examples/demo.sh "$fxc" >"$work/demo.all" 2>"$work/why"
result $? 'the demo fails'
sed 's/ (no GPU: .*)$/ (no GPU: ...)/' "$work/demo.all" >"$work/demo"
awk '/^== /{ is_cuda = /CUDA/ } is_cuda { cuda++ } !is_cuda { n++ } END { print n + 0 " lines beside " cuda + 0 " of CUDA"; exit !(n > 20 && n < 60 && cuda > 20 && cuda < 120) }' "$work/demo" >"$work/why"
result $? 'the demo is no screen'
for page in README.md $(find docs -name '*.md' | sort); do
    check_page "$page"
    check_links "$page"
done
table() { sed -n "$@"; } # SCRIPT FILE...
all_stand_on docs/diagnostics.md 'codes of diags.def' "$(table 's/^DIAG("\([A-Z0-9]*\)".*/\1/p' compiler/base/diags.def)"
all_stand_on docs/language.md 'functions of ops.def' "$(table 's/^OP([A-Z0-9]*, "\([a-z0-9]*\)",.*/\1/p' compiler/base/ops.def compiler/base/named_ops.def)"
all_stand_on docs/language.md 'functions of the prelude' "$(table 's/^fn \([a-z0-9_]*\).*/\1/p' compiler/front/prelude.fx)"
all_stand_on docs/language.md 'dtypes' "$(table 's/^DTYPE([A-Z0-9]*, "\([a-z0-9]*\)",.*/\1/p' compiler/dtypes.def)"
all_stand_on docs/language.md 'axis operators' "$(table '/axis_operators\[\] = {/,/^};/s/{"\([a-z]*\)",/\n\1\n/gp' compiler/check/check_operator.c | grep '^[a-z]*$')"
all_stand_on docs/language.md 'attributes' "$(table '/^static bool check_pin/,/^}/s/"\([a-z0-9_]*\)"/\n\1\n/gp; s/.*name_is(a->name, "\([a-z_]*\)").*/\1/p' compiler/check/check.c | grep '^[a-z][a-z0-9_]*$')"
all_stand_on docs/language.md 'words of the lexer' "$(table 's/^ *"[a-z]*" .*{ return T_[A-Z]*; }.*/&/p' compiler/front/lex.re | grep -o '"[a-z]*"' | tr -d '"')"
all_have_rows docs/passes.md 'passes' "$(table 's/^    {"\([a-z_]*\)", pass_.*/\1/p' compiler/pipeline.c)"
all_have_rows docs/passes.md 'rules of canonicalise' "$(table 's/^    RULE(\([a-z_]*\),.*/\1/p' compiler/passes/canonicalise.c)"
all_have_rows docs/kernels.md 'schedules' "$(table 's/^SCHEDULE(\([a-z_]*\),.*/\1/p' compiler/schedule/schedules.def)"
all_have_rows docs/kernels.md 'files of kernels/' "$(ls compiler/kernels | grep cuh)"
for command in 'make demo' 'make test'; do
    echo "no $command" >"$work/why"
    grep -qF "$command" README.md
    result $? 'README.md leaves out a command'
done
# Links to headings too, as the static site has them.
python3 docs/site.py "$work/site" >"$work/why" 2>&1
result $? 'make site fails, or a link leads nowhere'
# A page of the site has every heading and every row of tables of its source.
awk '/^```/ { code = !code } !code && /^#+ / { heads++ } !code && /^[|]/ && !/^[|][- |:]*$/ { rows++ } END { print heads + 0, rows + 0 }' docs/language.md >"$work/want"
awk '{ heads += gsub(/<h[1-6] id=/, ""); rows += gsub(/<tr>/, "") } END { print heads + 0, rows + 0 }' "$work/site/language.html" >"$work/got"
diff "$work/want" "$work/got" >"$work/why" 2>&1
result $? 'the site leaves out headings or rows of docs/language.md'
# The tutorial's traces are those whose pages are checked.
grep -o '`fxc trace p[^`]*`, \[page\]([a-z0-9_/.]*)' docs/tutorial.md | sed 's/^`fxc trace //; s/`, \[page\](/ /; s/)$//' >"$work/traces"
sed -n 's/^| \[[a-z0-9_]*\](\(puzzles\/[a-z0-9_]*\.html\)) | `\([^`]*\)` |.*/\2 \1/p' docs/puzzles.md >"$work/rows"
grep -vxF -f "$work/rows" "$work/traces" >"$work/why"
[ ! -s "$work/why" ] && [ "$(wc -l <"$work/traces")" = 12 ]
result $? 'docs/tutorial.md traces what docs/puzzles.md does not, or not twelve puzzles'
sh tests/pages.sh "$fxc" >"$work/why" 2>&1
status=$?
skipped=$(grep -c ': not checked, ' "$work/why")
if [ $status = 77 ]; then grep ': not checked, ' "$work/why"; else result $status 'pages are not what fxc trace writes'; fi # not checked is no pass
split_page README.md
# README's commands, in a folder that looks like that of the sources, without a GPU; the comment says which exit status is not 0.
mkdir -p "$work/tree/build"
ln -s "$PWD/examples" "$work/tree/examples"
ln -s "$fxc" "$work/tree/build/fxc"
grep '^build/fxc ' README.md >"$work/commands"
wc -l <"$work/commands" >"$work/why"
[ "$(wc -l <"$work/commands")" -ge 10 ]
result $? 'README.md has lost its commands'
while read -r line; do
    (cd "$work/tree" && CUDA_VISIBLE_DEVICES= timeout 120 sh -c "${line%%#*}" </dev/null >out 2>err)
    status=$?
    { echo "exit $status" && cat "$work/tree/err"; } >"$work/why"
    case $line in
    *'exits 4 or 5 without a GPU') [ $status = 4 ] || [ $status = 5 ] ;;
    *) [ $status = 0 ] ;;
    esac
    result $? "README.md: $line"
done <"$work/commands"
diff -u examples/linear_gelu.fx "$work/blocks/001" >"$work/why"
result $? 'README.md shows another linear_gelu.fx'
echo "docs: $passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ $failed = 0 ]
