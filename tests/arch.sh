#!/bin/sh
# Holds the tree to the invariants of docs/architecture.md that a compiler does not check.
#
# Input: arch.sh BUILD_DIR, built. Output: what breaks a rule, where, and `arch: N passed, M failed`. Exit 1 when one fails.
set -u
cd "$(dirname "$0")/.." || exit 3
dir=$1
passed=0 failed=0 skipped=
CC=${CC:-cc}

# A rule holds when its command prints nothing.
rule() { # WHAT COMMAND...
    what=$1
    shift
    found=$("$@" 2>&1)
    if [ -z "$found" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL arch: %s\n' "$what"
        printf '%s\n' "$found" | head -n 20 | sed 's/^/    /'
    fi
}

sources() { find "$@" -name '*.[chy]' -o -name '*.re' -o -name '*.def' | sort; }

cuda_headers() {
    grep -nE '^[ \t]*#[ \t]*include[ \t]*[<"](cuda|cu[A-Z]|nvrtc|nvtx|cublas|cooperative_groups|mma\.h|vector_types)' $(sources compiler runtime) |
        grep -v -e '"cuda_api\.' -e '^compiler/host_c/launcher.h:' # our own declarations; text that is emitted
}

# The modules, lowest first: what each may include and call besides itself. A module uses only modules before it in this list. Public headers (plan.h, dtype.h, and
# fx.h of the whole library) belong to no module. docs/architecture.md says what each module is for.
modules='
compiler/base:
compiler/symbolic: compiler/base
compiler/seam: compiler/base compiler/symbolic
compiler/kernels:
compiler/front: compiler/base
compiler/check: compiler/base compiler/symbolic compiler/seam compiler/front
compiler/grad: compiler/base compiler/symbolic compiler/front compiler/check
compiler/graph: compiler/base compiler/symbolic compiler/front compiler/check
compiler/passes: compiler/base compiler/symbolic compiler/graph
compiler/fuse: compiler/base compiler/graph compiler/passes
compiler/schedule: compiler/base compiler/symbolic compiler/graph
compiler/plan: compiler/base compiler/check compiler/graph compiler/schedule
compiler/emit: compiler/base compiler/seam compiler/kernels compiler/front compiler/graph compiler/schedule compiler/plan
compiler/oracle: compiler/base compiler/check
compiler/report: compiler/base compiler/symbolic compiler/seam compiler/front compiler/check compiler/graph compiler/passes compiler/schedule compiler/plan
compiler/host_c: compiler/base compiler/symbolic compiler/seam compiler/kernels
compiler: compiler/base compiler/symbolic compiler/seam compiler/kernels compiler/front compiler/check compiler/grad compiler/graph compiler/passes compiler/fuse compiler/schedule compiler/plan compiler/emit compiler/oracle compiler/report compiler/host_c
runtime/lib: compiler/base compiler/symbolic compiler/seam
runtime/emu: compiler/base runtime/lib
runtime/command: compiler compiler/base compiler/symbolic compiler/seam compiler/oracle compiler/host_c runtime/lib runtime/emu
'
# Headers that are no module's: public ones, and what the Makefile writes. The runtime sees of the compiler the plan and what it stands on; the command all that a
# program sees, and the writer of JSON; the emulator the table of machines.
headers='
compiler/: plan.h dtype.h dtypes.def parse.h
compiler/report: fx.h
compiler/oracle: fx.h
compiler/host_c: fx.h
compiler: fx.h evaluate.h partitions.h partitions_fit.h pipeline.h plan.h
runtime/lib: fx_runtime.h plan.h dtype.h fx_build.h
runtime/emu: fx_build.h calls.h base/arch.h
runtime/command: fx.h fx_runtime.h plan.h dtype.h dtypes.def base/json.h base/json_read.h
runtime: plan.h
'
may_include() { # ROOM HEADER
    printf '%s\n' "$headers" | grep -E "^($1|${1%%/*}/):" | sed 's/$/ /' | grep -qF " $2 "
}

# FROM TO FILE, a line each: which modules the files of a module include.
includes() {
    for file in $(find compiler runtime -name '*.[chyS]' -o -name '*.re'); do
        half=${file%%/*} module=$(dirname "$file" | cut -d/ -f1-2)
        grep -oE '^[ \t]*#[ \t]*include "[^"]+"' "$file" | sed 's/.*"\(.*\)"/\1/' | while IFS= read -r header; do
            case $header in */*) [ ! -e "$half/$header" ] || { echo "$module $half/${header%%/*} $file: includes $header" && continue; } ;; esac
            may_include "$module" "$header" || echo "$file: includes $header"
        done
    done
}

# Likewise which modules its objects take names from: what nm says of each is defined in one file and undefined in another.
calls() {
    find "$dir/obj/compiler" "$dir/obj/runtime" "$dir/obj/gen" -name '*.o' | while IFS= read -r object; do
        file=${object#"$dir"/obj/}
        case $file in gen/*) module=compiler/front ;; *) module=$(dirname "$file" | cut -d/ -f1-2) ;; esac
        nm "$object" | awk -v module="$module" -v file="${file%.o}" '$1 == "U" { print "U", $2, module, file } $2 ~ /^[TDBRV]$/ { print "D", $3, module, file }'
    done | awk '$1 == "D" { at[$2] = $3 } $1 == "U" { n++; name[n] = $2; module[n] = $3; file[n] = $4 }
        END { for (i = 1; i <= n; i++) if (name[i] in at) print module[i], at[name[i]], file[i] ": calls " name[i] }'
}

# What stands in `includes` or `calls` and not in the table.
runs_up() {
    { printf '%s\n' "$modules"; echo; "$1"; } | awk '
        /^[a-z_\/]+:/ { module = $1; sub(":", "", module); known[module]; for (i = 2; i <= NF; i++) may[module, $i]; next }
        NF < 3 { next }
        $1 ~ /:$/ { print; next }
        $1 != $2 && !(($1, $2) in may) { from = $1; to = $2; $1 = $2 = ""; print from " may not use " to ":" $0 }'
}

# A module that is not in the table, and a table with a circle.
modules_known() {
    find compiler runtime -name '*.[chyS]' | xargs -n 1 dirname | cut -d/ -f1-2 | sort -u | while IFS= read -r module; do
        [ "$module" = runtime ] || printf '%s\n' "$modules" | grep -qE "^$module:" || echo "$module is not in the table"
    done
    printf '%s\n' "$modules" | awk -F: 'NF > 1 { n = split($2, below, " "); for (i = 1; i <= n; i++) if (!(below[i] in seen)) print $1 " stands before " below[i] ", which it uses"; seen[$1] }' |
        grep -v '^runtime/command stands before compiler,'
}

# A tag has one meaning in the whole tree: structs, unions and enums of the sources, the emitted C launcher's among them.
tags_twice() {
    grep -oE '^[ \t]*((static|const|typedef) )*(struct|union|enum) [a-z_0-9]+ \{' $(sources compiler runtime) |
        sed 's/^\([^:]*\):.*\(struct\|union\|enum\) \([a-z_0-9]*\) {/\3 \1/' | sort |
        awk '$1 == last { print $1 " is defined in " file " and in " $2 } { last = $1; file = $2 }'
}

cuda_linked() { ldd "$dir/fxc" "$dir/libfx.so" | grep -iE 'cuda|nvrtc|cublas|nvidia'; }

links_alone() {
    printf 'int main(void) { return 0; }\n' |
        $CC -x c - -x none -Wl,--whole-archive "$dir/libfxc_front.a" -Wl,--no-whole-archive -lm -o "$dir/front_alone" 2>&1 |
        grep -E 'undefined reference|error'
    rm -f "$dir/front_alone"
}

# The hardware, as device code sees it.
hardware='compiler/kernels/ptx.cuh compiler/kernels/ptx_hopper.cuh'

raw_asm() {
    grep -nE '\basm\b[ \t]*(volatile)?[ \t]*\(|__asm' \
        $(ls compiler/kernels/*.cuh | grep -vE '/ptx(_hopper)?\.cuh$') $(sources compiler runtime)
}

own_shared() { grep -nE '\b__shared__\b' $(ls compiler/kernels/*.cuh | grep -v '/ptx\.cuh$'); }

kernel_includes() { grep -nE '^[ \t]*#[ \t]*include' compiler/kernels/*.cuh; }

# What a file of the hardware announces, a name a line.
announced() { sed -n 's|^// \(fx_[a-z0-9_, ]*\):.*|\1|p' "$@" | tr ',' '\n' | tr -d ' '; }

# The emulator's twin of the hardware has every function and struct of it.
twin_lacks() {
    announced $hardware | while IFS= read -r name; do
        grep -qE "\b$name(\(| \{)" runtime/emu/ptx_emu.h || echo "runtime/emu/ptx_emu.h has no $name"
    done
}

# And every function is called, under the name of a case, on the GPU and on the emulator; every struct is used.
ptx_untested() {
    for file in $hardware; do
        cases=tests/gpu/${file##*/}
        announced "$file" | while IFS= read -r name; do
            grep -qE "^// case (.*, )?$name[,:]" "$cases" && grep -v '^//' "$cases" | grep -qE "\b$name(<[^>]*>)?[(,) ]" || echo "$cases has no case of $name"
        done
    done
}

# What the drivers ask of a problem stands once more in the problems that kernel_lab has by hand: compiled on the host, as the emulator compiles emitted files.
by_hand() {
    {
        for file in runtime/emu/calls.h runtime/emu/ptx_emu.h compiler/kernels/math.cuh compiler/kernels/integer.cuh compiler/kernels/access.cuh compiler/kernels/elements.cuh compiler/kernels/engine_simt.cuh \
            compiler/kernels/engine_mma_16.cuh compiler/kernels/engine_mma_32.cuh compiler/kernels/engine_mma_8.cuh compiler/kernels/engine_mma.cuh \
            compiler/kernels/computed.cuh compiler/kernels/driver_gemm.cuh compiler/kernels/driver_pointwise.cuh tests/bench/problems.cuh; do
            printf '#include "%s/%s"\n' "$PWD" "$file"
        done
        cat <<'CODE'
typedef fx_mma<fx_mma_16<fx_bf16>, 64, 64, 64, 2, 2, 4> tensor_cores;
typedef fx_simt<float, 64, 64, 16, 2, 2, 3> cores;
void compile(matmul<fx_bf16, FX_K_MAJOR, FX_MN_MAJOR, 2, 2, true, true> p) { fx_gemm<tensor_cores, true>(p); }
void compile(plain<fx_bf16, FX_MN_MAJOR, FX_STRIDED, false, true> p) { fx_gemm<tensor_cores, false>(p); }
void compile(plain<float, FX_MN_MAJOR, FX_K_MAJOR, false, false> p) { fx_gemm<cores, true>(p); }
void compile(multiply_add<float, int> p) { fx_pointwise<4, true>(p); }
void compile(multiply_add<fx_bf16, long long> p) { fx_pointwise<8, false>(p); }
CODE
    } | "${FX_CXX:-g++}" -x c++ -std=c++17 -w -DFX_PTX -S -o /dev/null -
}

# Every spec that is there, emitted once: SPEC and the file, a line each. What fails to compile is said by the first rule that reads them.
emitted=$dir/arch_emitted
emit_spec() { # TEXT SPEC
    file=$emitted/$(echo "$2" | tr / _).cu
    "$dir/fxc" --emit=cu $(sed -n '1s/^# args: //p' "$1") "$1" -o "$file" >"$emitted/log" 2>&1 </dev/null || cat "$emitted/log" >>"$emitted/failed"
    echo "$2 $file" >>"$emitted/list"
}
emit_specs() {
    rm -rf "$emitted" && mkdir "$emitted" || exit 3
    for spec in examples/*.fx examples/*/*.fx tests/golden/cuda/*.fx tests/language/*.fx tests/language/hand/*.fx; do
        emit_spec "$spec" "$spec"
        # As the emulator runs them: it compiles no more than it launches.
        if grep -q 'fuse: require' "$spec" && [ "${spec#tests/language/}" != "$spec" ]; then
            sed 's/fuse: require/fuse: prefer/' "$spec" >"$emitted/preferred.fx"
            emit_spec "$emitted/preferred.fx" "$spec,preferred"
        fi
    done
}
emit_specs

# What is emitted, by the host's compiler behind the emulator's hardware. Constants in capitals may stand in a pragma alone, which it does not read. What comes of a spec
# ends in an underscore, and hides nothing.
emitted_unread() {
    cat "$emitted/failed" 2>/dev/null
    while read -r spec file; do
        LC_ALL=C "${FX_CXX:-g++}" -x c++ -std=c++17 -fsyntax-only -Wunused -Wunused-parameter -Wshadow -isystem runtime/emu -include calls.h -include ptx_emu.h -DFX_PTX "$file" 2>&1 </dev/null |
            grep -E 'error|warning' | grep -vE "variable '[A-Z]+' |declaration of '[a-z0-9_]*[a-z0-9]' shadows" | sed "s|^|$spec: |"
    done <"$emitted/list"
}

# Structs without members and fields that no member reads, in what is generated.
emitted_empty() {
    while read -r spec file; do
        awk -v spec="$spec" '
            /^\/\/ ==== generated/ { is_ours = 1 }
            !is_ours { next }
            { sub(/ *\/\/.*/, "") }
            /struct [a-z0-9_]* *\{\}/ || (is_open && /^ *\};/) { print spec ": an empty struct: " $0 }
            { is_open = /struct [A-Za-z0-9_]* *\{$/ }
            /^struct [A-Za-z0-9_]* \{$/ { n = 0; split("", seen) }
            /^  [a-z][A-Za-z0-9_ ]* \**[A-Za-z0-9_]*_;$/ { name = $NF; gsub(/[*;]/, "", name); fields[++n] = name }
            { words = split($0, word, /[^A-Za-z0-9_]+/); for (i = 1; i <= words; i++) seen[word[i]]++ }
            /^\};/ { for (i = 1; i <= n; i++) if (seen[fields[i]] < 2) print spec ": nothing reads " fields[i] }' "$file"
    done <"$emitted/list"
}

# hints.def names words that people type into a spec, none of which is emitted.
cuda_strings() {
    grep -nE '"[^"]*(__shared__|__syncthreads|blockIdx|threadIdx|__shfl)' $(sources compiler runtime | grep -v '^compiler/front/hints.def$')
}

# Read off the objects, so that words in comments and names that end alike do not count.
prints_or_exits() {
    nm -A -u "$dir/libfx.a" |
        grep -E ' (printf|vprintf|puts|putchar|perror|__printf_chk|__vprintf_chk|stdout|stderr|exit|_exit|abort|atexit|signal|setlocale|chdir|system)$'
}

# ---- what a user of the library sees ----

public=$(sed -n 's/^PUBLIC *:= //p' Makefile)

# Names that are no function of a public header, or that begin otherwise.
private_names() {
    while read -r name; do
        case $name in fx_*) grep -qE "\b$name\(" $public || echo "$name" ;; *) echo "$name" ;; esac
    done
}
archive_names() { nm -g --defined-only "$dir/libfx.a" | awk 'NF == 3 { print $3 }'; }
shared_names() { nm -D --defined-only "$dir/libfx.so" | awk '$3 !~ /^(_init|_fini|__asan|__ubsan)/ { print $3 }'; }
archive_exports() { archive_names | private_names; }
shared_exports() { shared_names | private_names; }

# A function that a public header declares is in both libraries.
undefined_api() {
    archive_names >"$dir/arch.archive"
    shared_names >"$dir/arch.shared"
    sed -n 's/^[a-z].*[ *]\(fx_[a-z0-9_]*\)(.*/\1/p' $(ls $public | grep '\.h$') | while read -r name; do
        grep -qE "static inline .*\b$name\(" $public && continue
        for library in archive shared; do grep -qx "$name" "$dir/arch.$library" || echo "the $library library has no $name"; done
    done
    rm -f "$dir/arch.archive" "$dir/arch.shared"
}

# Every function that takes a pointer is called with NULL in test_api.
null_untested() {
    for header in compiler/fx.h runtime/fx_runtime.h; do
        grep -v '^#' $header | $CC -E -P -x c - | tr '\n' ' ' | tr ';{}' '\n' | sed -n 's/.*[ *]\(fx_[a-z0-9_]*\)(.*\*.*/\1/p' | while read -r name; do
            grep -qE "\b$name\(NULL|\b$name\(.*, NULL" tests/unit/test_api.c || echo "tests/unit/test_api.c does not call $name with NULL"
        done
    done
}

# What editors colour are the language's words: those of the lexer and of the table of dtypes.
uncoloured() {
    { grep -oE '"[a-z]+" +\{ return T_' compiler/front/lex.re | sed 's/^"\([a-z]*\)".*/\1/'; sed -n 's/^DTYPE([A-Z0-9]*, "\([a-z0-9]*\)".*/\1/p' compiler/dtypes.def; } | while read -r word; do
        for file in runtime/editors/vim/syntax/fx.vim runtime/editors/vscode/syntaxes/fx.tmLanguage.json; do
            grep -qE "\b$word\b" $file || echo "$file does not colour $word"
        done
    done
}

# Every warning that a careful user may have on, in C11 and in C++17; FX_OPTIONS as the page of a reader has it.
header_warnings() {
    for header in $(ls $public | grep '\.h$'); do
        for compiler in "$CC -x c -std=c11" "${FX_CXX:-g++} -x c++ -std=c++17"; do
            {
                echo "#include \"$header\""
                [ $header != compiler/fx.h ] || echo 'void given(struct fx_options *); void given(struct fx_options *to) { struct fx_options options = FX_OPTIONS; *to = options; }'
            } | LC_ALL=C $compiler -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wmissing-field-initializers -I. -Icompiler -Iruntime - 2>&1 |
                grep -E 'error|warning' | sed "s|^|$header: |"
        done
    done
}

top_level() {
    entries=$(git ls-files 2>/dev/null | sed 's|/.*||' | sort -u)
    [ -n "$entries" ] || entries=$(ls)
    for entry in $entries; do
        case $entry in
        Makefile | README.md | compiler | runtime | examples | tests | docs | build | .*) ;;
        *) echo "$entry has no place at the top" ;;
        esac
    done
    for entry in Makefile README.md compiler runtime examples tests docs; do
        [ -e $entry ] || echo "$entry is missing"
    done
}

# The tests' own reporting: a stand-in for a program that passes one test, fails one and skips one, and goldens of which a folder is missing.
reports() {
    work=$(mktemp -d)
    mkdir -p "$work/tests" "$work/golden" "$work/compiler"
    printf '#!/bin/sh\nprintf "skipped: b: no reason\\n33%%%%: Checks: 3, Failures: 1, Errors: 0\\n"\nexit 1\n' >"$work/tests/test_x"
    chmod +x "$work/tests/test_x"
    FX_UNIT=test_x sh tests/run.sh "$work" unit >"$work/said" 2>&1 && echo 'exit 0 where one failed'
    for line in 'unit/test_x: skipped: b: no reason' 'FAIL unit/test_x (exit 1)' 'unit/test_x: 1 passed, 1 failed, 1 skipped' 'counted: unit 3 tests'; do
        grep -qxF "$line" "$work/said" || echo "run.sh does not say: $line"
    done
    [ "$(tail -n 1 "$work/said")" = '1 passed, 1 failed, 1 skipped' ] || echo "run.sh ends with: $(tail -n 1 "$work/said")"
    cp tests/golden/run.sh "$work/golden"
    sh "$work/golden/run.sh" "$dir/fxc" 2>&1 | grep -qx 'FAIL golden/parse' || echo 'a folder of goldens that is missing is no failure'
    rm -rf "$work"
}

# What Python sees of the structs, where there is one to say it.
python_structs() {
    for file in runtime/python/fx/_library.py tests/bench/libfx.py; do
        PYTHONDONTWRITEBYTECODE=1 python3 $file | $CC -x c -fsyntax-only -iquote compiler -iquote runtime -
    done
}

rule 'no cuda header is included' cuda_headers
rule 'every module is in the table, and none is above what it uses' modules_known
rule 'modules include what the table allows' runs_up includes
rule 'modules call what the table allows' runs_up calls
rule 'no tag of a struct, union or enum is defined twice' tags_twice
rule 'no cuda library is linked' cuda_linked
rule 'the compiler links without the runtime' links_alone
rule 'asm only in ptx.cuh and ptx_hopper.cuh' raw_asm
rule 'shared memory only through fx_smem' own_shared
rule 'kernel files include nothing' kernel_includes
rule 'the emulator has every function of ptx.cuh and ptx_hopper.cuh' twin_lacks
rule 'every function of ptx.cuh and ptx_hopper.cuh is compared between GPU and emulator' ptx_untested
rule 'problems written by hand are what the drivers ask for' by_hand
rule 'emitted code computes nothing that is not read' emitted_unread
rule 'emitted structs have no member that is not read' emitted_empty
rule 'no cuda in C strings' cuda_strings
rule 'the library never prints, exits or changes the process' prints_or_exits
rule 'the archive has the names of the public headers only' archive_exports
rule 'the shared library has the names of the public headers only' shared_exports
rule 'both libraries have every function of the public headers' undefined_api
rule 'every function of the API is called with NULL' null_untested
rule 'editors colour every word of the language' uncoloured
rule 'public headers compile without warnings in C11 and C++17' header_warnings
rule 'the top level holds its seven entries' top_level
if command -v python3 >/dev/null; then
    rule 'the structs of the Python package are those of the headers' python_structs
else
    echo 'skipped: the structs of the Python package: no python3'
    skipped=1
fi
rule 'tests skipped, failed and missing are reported as such' reports
echo "arch: $passed passed, $failed failed${skipped:+, $skipped skipped}"
[ $failed = 0 ]
