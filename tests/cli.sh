#!/bin/sh
# The command line: exit codes, usage messages, files in and out, nothing half written.
#
# Input: cli.sh FXC; FX_FIRST, where the first failure is to be the last. Output: what failed, and a closing line
# `cli: N passed, M failed`. Exit 1 when M is not 0. Needs no GPU; one that is there is hidden, so that the answers are
# the same everywhere.
set -u
case $1 in /*) fxc=$1 ;; *) fxc=$PWD/$1 ;; esac
examples=$(cd "$(dirname "$0")/../examples" && pwd)
cuda_goldens=$(cd "$(dirname "$0")/golden/cuda" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 3
export CUDA_VISIBLE_DEVICES= FX_CACHE_DIR="$work/.cache" XDG_DATA_HOME="$work/.data"
unset FX_TUNE_DB
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    printf 'FAIL cli: %s\n' "$*"
    head -n 20 out err | sed 's/^/    /'
    [ -z "${FX_FIRST:-}" ] || exit 1
}
# Runs a command; `out` and `err` hold what it said.
expect() { # STATUS COMMAND...
    wanted=$1
    shift
    line="$*"
    timeout 60 "$@" >out 2>err </dev/null
    got=$?
    if [ $got = "$wanted" ]; then pass; else fail "$line: exit $got, expected $wanted"; fi
}
says() { if grep -q -e "$2" "$1"; then pass; else fail "$line: no '$2' in $1"; fi; } # FILE PATTERN
silent() { if [ ! -s "$1" ]; then pass; else fail "$line: $1 is not empty"; fi; }   # FILE
holds() { if "$@"; then pass; else fail "$line: not so: $*"; fi; }
# The folder holds exactly these files.
only() {
    here=$(ls -A | tr '\n' ' ')
    if [ "$here" = "$(printf '%s\n' "$@" | LC_ALL=C sort | tr '\n' ' ')" ]; then pass; else fail "$line: left $here"; fi
}
# Each group works in an empty folder.
group() {
    cd "$work" || exit 3
    rm -rf "$1"
    mkdir "$1" && cd "$1" || exit 3
    cat >scale.fx <<'FX'
kernel scale(x: f32[M,K], a: f32 = 0.5) -> y: f32[M,K] { y = a * x }
FX
    cat >broken.fx <<'FX'
kernel broken(x: f32[M]) -> y: f32[M] { y = x + z }
FX
    cat >two.fx <<'FX'
kernel one(x: f32[M]) -> y: f32[M] { y = x }
kernel two(x: bf16[M]) -> y: bf16[M] { y = -x }
FX
    : >out
    : >err
}
files='scale.fx broken.fx two.fx out err'

group help
for sub in '' run check test bench tune explain trace annotate aot doctor; do
    expect 0 "$fxc" $sub --help
    says out '^usage: fxc'
    silent err
    holds test "$(wc -l <out)" -le 45
done
expect 0 "$fxc" run -h
expect 0 "$fxc" --version
holds test "$(head -n 1 out)" = 'fxc 0.1.0'
silent err
expect 0 env FX_LIBNVRTC=/nowhere FX_LIBCUDA=/nowhere "$fxc" --version
holds test "$(head -n 1 out)" = 'fxc 0.1.0'

group usage
for arguments in '' 'run' 'check' 'test' 'test scale.fx' 'test two.fx -k one' 'test --device=tpu scale.fx' 'test -i x=1 scale.fx' 'bench' 'tune' 'tune --format=xml scale.fx' 'tune --budget=0 scale.fx' 'tune --candidates=few scale.fx' 'tune --device=cpu scale.fx' 'tune --plan-only scale.fx' 'explain' 'trace' 'trace scale.fx' 'trace two.fx -D M=4' 'trace scale.fx -D M=2 -D K=2 -o trace.txt' 'trace scale.fx -D M=2 -D K=2 --block=1,' 'trace scale.fx -D M=1024 -D K=1024' 'trace --device=gpu scale.fx -D M=2 -D K=2' 'trace --device=emu,plain scale.fx -D M=2 -D K=2' 'trace --device=emu:0 scale.fx -D M=2 -D K=2' 'annotate' 'annotate --arch=sm_90a scale.fx' '--bogus scale.fx' '-Z scale.fx' '--emi=cu scale.fx' '--emit' '--emit=' '--emit=tea scale.fx' \
    '--page=tea' '-o' '-o x scale.fx two.fx' '--arch=sm_1 scale.fx' '--arch=native scale.fx' '-D M scale.fx' '-D =3 scale.fx' '-D M= scale.fx' '-k none scale.fx' \
    '--dump-after=tea scale.fx' '--stop-after=tea scale.fx' '--skip=tea scale.fx' '--skip=algebra.tea scale.fx' '--with=tea scale.fx' '--with=cse scale.fx' '--diagnostics-format=xml scale.fx' 'run --diagnostics-format=xml scale.fx' '--diagnostics-format=json --dump-after=all scale.fx' '--help=x' '--seed=1 scale.fx' \
    'run scale.fx two.fx' 'run --emit=cu scale.fx' 'run --device=tpu scale.fx' 'run two.fx -D M=4' 'run scale.fx' 'run scale.fx -D M=2' \
    'run scale.fx -D M=2 -D K=2 -i z=1' 'run scale.fx -D M=2 -D K=2 -i x' 'run scale.fx -D M=2 -D K=2 -i x=' 'run scale.fx -D M=2 -D K=2 -i y=1' \
    'run scale.fx -D M=2 -D K=2 -o x=x.npy' 'run scale.fx -D M=2 -D K=2 -o x.npy' 'run scale.fx -D M=2 -D K=2 -i x=normal(1)' \
    'run scale.fx -D M=2 -D K=2 -i a=normal.npy' 'run scale.fx -D M=2 -D K=2 --seed=x' 'run scale.fx -D M=2 -D K=2 --seed=-1' 'doctor scale.fx'; do
    expect 2 "$fxc" $arguments
    says err .
    silent out
done
expect 2 "$fxc" --emi=cu scale.fx
says err 'unknown option --emi'
says err "^try 'fxc --help'"
expect 2 "$fxc" --seed=1 scale.fx
says err "one of 'fxc run'"
cp scale.fx kept
expect 2 "$fxc" --emit=fx -o scale.fx scale.fx
says err 'the output scale.fx would overwrite the input'
holds cmp -s scale.fx kept
rm kept
only $files


# An outlier stands in every row, a row being what lies along the last axis.
group outliers
expect 0 "$fxc" run --device=cpu scale.fx -k scale -D M=3 -D K=64 -i 'x=outlier(0,1000)' -i a=1 -o y=y.npy
tail -c 768 y.npy | od -An -v -tf4 -w256 | awk '{ n = 0; for (i = 1; i <= 64; i++) n += $i > 500; print n }' >counts
holds test "$(tr '\n' ' ' <counts)" = '1 1 1 '

group grammar
expect 0 "$fxc" -o a.cu scale.fx
for arguments in '-oa2.cu scale.fx' 'scale.fx -o a2.cu' '--output=a2.cu scale.fx' '--output a2.cu -- scale.fx' '--emit cu --output=a2.cu scale.fx' \
    '-ksc -k scale scale.fx -oa2.cu' '--arch sm_90a scale.fx -oa2.cu'; do
    rm -f a2.cu
    expect 0 "$fxc" $arguments
    holds cmp -s a.cu a2.cu
done
cp scale.fx ./-dash.fx
expect 0 "$fxc" -- -dash.fx
holds test -s ./-dash.cu

# What was read, as a rule of make: of what is included too, and with names that make would read otherwise.
group dependencies
mkdir lib 'a b'
printf 'fn twice(x) = x + x\n' >lib/twice.fx
printf 'fn thrice(x) = x + x + x\n' >'a b/th$#.fx'
printf 'include "twice.fx"\ninclude "th$#.fx"\nkernel both(x: f32[M]) -> y: f32[M] { y = twice(x) * thrice(x) }\n' >both.fx
expect 0 "$fxc" both.fx -I lib -I 'a b' -MD
printf 'both.cu: both.fx \\\n lib/twice.fx \\\n a\\ b/th$$\\#.fx\n' >wanted
holds cmp -s both.d wanted
expect 0 "$fxc" both.fx -I lib -I 'a b' --dependency-file=rule -o out.cu
holds test "$(head -n 1 rule)" = 'out.cu: both.fx \'
expect 0 "$fxc" scale.fx -MFrule --emit=plan
holds test "$(cat rule)" = 'scale.plan: scale.fx'
expect 0 "$fxc" scale.fx -MD -MF rule -o -
holds test "$(cat rule)" = '-: scale.fx'
expect 0 "$fxc" scale.fx two.fx -MD
holds test "$(cat scale.d two.d | tr '\n' ' ')" = 'scale.cu: scale.fx two.cu: two.fx '
for arguments in 'scale.fx two.fx -MF rule' 'scale.fx -MD -o -' 'scale.fx -MF' 'scale.fx -MX' 'scale.fx -MDx' 'run scale.fx -MD'; do
    expect 2 "$fxc" $arguments
    says err .
done
expect 3 "$fxc" scale.fx -MF nowhere/rule
expect 1 "$fxc" broken.fx -MF none
holds test ! -e none

group output
expect 0 "$fxc" scale.fx two.fx
silent out
only $files scale.cu two.cu
mkdir sub
cp scale.fx sub/other.fx
expect 0 "$fxc" sub/other.fx
holds cmp -s scale.fx sub/other.fx
holds test -s other.cu
for stage in ast ir fused plan; do
    expect 0 "$fxc" --emit=$stage scale.fx
    silent out
    holds test -s scale.$stage
done
expect 0 "$fxc" --emit=fx scale.fx
holds test -s scale.out.fx
expect 0 "$fxc" --emit=fx -o again.fx scale.out.fx
holds cmp -s scale.out.fx again.fx
expect 0 "$fxc" --emit=host-c scale.fx
holds test -s scale.c
expect 0 "$fxc" --emit=host-h scale.fx
says scale.h scale_launch
expect 0 "$fxc" -o - scale.fx
holds cmp -s out scale.cu
expect 0 sh -c "\"$fxc\" -o - - <scale.fx"
says out __global__
expect 0 sh -c "\"$fxc\" - <scale.fx"
says out __global__
expect 0 "$fxc" -o /dev/null scale.fx
holds test -c /dev/null
ln -s real.cu link.cu
echo old >real.cu
chmod 640 real.cu
expect 0 "$fxc" -o link.cu scale.fx
holds test -L link.cu
holds cmp -s real.cu scale.cu
holds test "$(stat -c %a real.cu)" = 640
expect 3 sh -c "\"$fxc\" -o - scale.fx >/dev/full"
expect 2 "$fxc" -o scale.fx scale.fx
says scale.fx '^kernel scale'

group failure
expect 1 "$fxc" broken.fx
says err '^broken.fx:1:[0-9]*: error: '
silent out
only $files
echo before >old.cu
expect 1 "$fxc" -o old.cu broken.fx
holds grep -q '^before$' old.cu
expect 1 "$fxc" broken.fx scale.fx
holds test -s scale.cu
expect 1 sh -c "\"$fxc\" - <broken.fx"
says err '<stdin>:1:'
expect 3 "$fxc" missing.fx
says err 'missing.fx'
expect 3 "$fxc" .
expect 3 "$fxc" -o nowhere/x.cu scale.fx
rm -f old.cu scale.cu
only $files
head -c 2000000 /dev/zero | tr '\0' '#' >big.fx
expect 3 "$fxc" big.fx
echo 'kernel f(x: f32[M]) -> y: f32[M] { y = x + }' >syntax.fx
for stage in ast ir fused plan cu; do
    expect 1 "$fxc" --emit=$stage syntax.fx
    says err '^syntax.fx:1:'
done
expect 0 "$fxc" --emit=ast -o - broken.fx
silent err
expect 1 "$fxc" --emit=ir broken.fx
printf 'kernel \000(' >nul.fx
expect 1 "$fxc" nul.fx
: >empty.fx
timeout 10 "$fxc" -o - empty.fx >out 2>err </dev/null
line='empty spec' holds test $? -le 2

group json
empty() { [ "$(cat err)" = '[]' ]; }
# One array, an object a line.
array_of() { [ "$(head -c 1 err)$(tail -n 1 err)" = '[]' ] && [ "$(wc -l <err)" = $(($1 + 2)) ] && [ "$(grep -c '^{"severity":.*},*$' err)" = "$1" ]; } # N
expect 0 "$fxc" --diagnostics-format=json scale.fx two.fx
holds empty
expect 1 "$fxc" --diagnostics-format=json broken.fx
holds array_of 1
says err '"code":"FX2001".*"file":"broken.fx","line":1,'
expect 1 "$fxc" --diagnostics-format=json broken.fx scale.fx broken.fx
holds array_of 2
expect 1 "$fxc" --diagnostics-format=text broken.fx
says err '^broken.fx:1:'
expect 0 "$fxc" --diagnostics-format=json --emit=ast -o - broken.fx
holds empty
expect 2 "$fxc" --diagnostics-format=json -k none scale.fx
holds array_of 1
says err '"code":null'
expect 0 "$fxc" run --diagnostics-format=json scale.fx -D M=3 -D K=5
holds empty
expect 0 "$fxc" explain --no-compile --diagnostics-format=json scale.fx
holds empty
for sub in run check explain annotate; do
    expect 1 "$fxc" $sub --diagnostics-format=json broken.fx
    holds array_of 1
done
echo 'include "nowhere.fx"' >include.fx
expect 1 "$fxc" --diagnostics-format=json include.fx
holds array_of 1
expect 3 "$fxc" --diagnostics-format=json missing.fx
says err '^fxc: '

group page
# A page of explain: nothing of it lies elsewhere, what stands in the spec is text.
expect 0 "$fxc" explain --no-compile --html page.html scale.fx
for part in '<!doctype html>' 'prefers-color-scheme:dark' 'As lowered' 'As fused' 'GPU kernel' '</html>'; do says page.html "$part"; done
holds test "$(grep -cE 'https?:|src=|href=|url\(|@import|<script' page.html)" = 0
echo 'kernel f(x: f32[N]) -> y: f32[N] { y = where(x < 1, x, 1) } # <b>&' >angle.fx
expect 0 "$fxc" explain --no-compile --html - angle.fx
says out '&lt;b&gt;&amp;'
# Nothing is placed below the roof where no launch multiplies; what multiplies is.
holds test "$(grep -c 'roof of memory' out)" = 0
echo 'kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] { y = x @ w }' >angle.fx
expect 0 "$fxc" explain --no-compile --html - angle.fx
says out 'roof of memory'
holds test "$(grep -c '<b>' out)" = 0
expect 1 "$fxc" explain --no-compile --html none.html broken.fx
holds test ! -e none.html
rm -f page.html angle.fx
group sarif
# A log of N results, a line each, whose text is a JSON document where there is a Python to say so.
log_of() { # N
    [ "$(head -c 18 err)" = '{"version":"2.1.0"' ] && [ "$(tail -c 5 err)" = ']}]}' ] && [ "$(grep -c '^{.*"level":"' err)" = "$1" ] || return 1
    ! command -v python3 >/dev/null || python3 -c 'import json, sys
run = json.load(open("err"))["runs"][0]
rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
assert len(run["results"]) == int(sys.argv[1]) and all("ruleId" not in r or rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])' "$1"
}
expect 0 "$fxc" --diagnostics-format=sarif scale.fx two.fx
holds log_of 0
expect 1 "$fxc" --diagnostics-format=sarif broken.fx scale.fx broken.fx
holds log_of 2
says err '^{"ruleId":"FX2001","ruleIndex":[0-9]*,"level":"error","message":{"text":".*"uri":"broken.fx"},"region":{"startLine":1,"startColumn":.*"byteOffset":'
expect 2 "$fxc" --diagnostics-format=sarif -k none scale.fx
holds log_of 1
mkdir -p 'a b'
cp broken.fx 'a b/ä%.fx'
expect 1 "$fxc" --diagnostics-format=sarif 'a b/ä%.fx'
says err '"uri":"a%20b/%C3%A4%25.fx"'
for sub in run check explain annotate; do
    expect 1 "$fxc" $sub --diagnostics-format=sarif "$PWD/broken.fx"
    holds log_of 1
    says err '"uri":"file:///'
done
expect 2 "$fxc" --diagnostics-format=sarif --dump-after=all scale.fx
says err 'both write to stderr'
rm -rf 'a b'
rm -f scale.cu two.cu include.fx
only $files

# What is included is a regular file below the folder of the spec, or below one of -I; what is no spec is quoted nowhere.
group include
k='kernel k(x: f32[M]) -> y: f32[M] { y = act(x) }'
include() { printf 'include "%s"\n%s\n' "$1" "$k" >main.fx; } # PATH
unread() { # PATH REASON
    include "$1"
    expect 1 "$fxc" main.fx
    says err "^main.fx:1:1: error: .*$2.* \[FX1009\]"
    says err '^  ^~'
    says err '^  fix: '
    holds test ! -e main.cu
}
mkdir lib more
echo 'fn act(v) = relu(v)' >lib/act.fx
cp lib/act.fx more/extra.fx
include lib/act.fx
expect 0 "$fxc" -o - main.fx
include .//lib/./act.fx
expect 0 "$fxc" -o - main.fx
cp main.fx below.fx
expect 0 "$fxc" -o - "$PWD/below.fx"
expect 0 sh -c "\"$fxc\" -o - - <below.fx"
unread extra.fx 'cannot read extra.fx: No such file'
expect 1 "$fxc" -I nowhere main.fx
expect 0 "$fxc" -I nowhere -Imore -o - main.fx
expect 0 "$fxc" check --help
says out '-I, --include-dir=DIR'
for sub in 'run --device=cpu -D M=4' 'annotate' 'explain --no-compile'; do
    expect 0 "$fxc" $sub --include-dir=more main.fx
done
# The first that has it decides, whatever the others have.
echo 'fn act(v) = -v' >extra.fx
expect 0 "$fxc" --emit=fx -Imore -o - main.fx
says out 'y = -x'
# What cannot be included is not looked for elsewhere.
rm extra.fx
mkdir extra.fx
expect 1 "$fxc" --emit=fx -Imore -o - main.fx
says err 'cannot read extra.fx: not a regular file'
rmdir extra.fx
echo 'TOKEN=hunter2' >secret
printf '{ "const": 1 }\nTOKEN=hunter2\n' >json
printf 'fn act(v) = (v\n# hunter2' >first.fx
mkfifo pipe
truncate -s 1048577 large
ln -s ../broken.fx lib/link.fx
ln -s lib linked
ln -s /proc/self proc
unread /proc/self/environ 'an absolute path'
unread ../include/lib/act.fx '`[.][.]` in a path'
unread lib/../lib/act.fx '`[.][.]` in a path'
unread '' 'no path'
unread pipe 'cannot read pipe: not a regular file'
unread lib 'cannot read lib: not a regular file'
unread large 'cannot read large: larger than 1 MiB'
unread lib/link.fx 'a symbolic link is not followed'
unread linked/act.fx 'cannot read linked/act.fx'
unread proc/environ 'cannot read proc/environ'
for file in secret json first.fx; do
    unread $file "$file is no .fx file: an error on line"
    holds test -z "$(grep hunter2 out err)"
    expect 1 "$fxc" --diagnostics-format=json main.fx
    holds test -z "$(grep hunter2 out err)"
done
include secret
expect 1 env FX_TOKEN=hunter2 "$fxc" -I /proc/self main.fx
include environ
expect 1 env FX_TOKEN=hunter2 "$fxc" -I /proc/self main.fx
holds test -z "$(grep hunter2 out err)"
# A spec may be quoted from its first whole item on.
printf 'fn act(v) = relu(v)\nfn two(v) = (v\n' >lib/act.fx
include lib/act.fx
expect 1 "$fxc" main.fx
says err '^lib/act.fx:'
# The spec itself is what its user names: a pipe too.
expect 0 sh -c "cat scale.fx >pipe & \"$fxc\" -o - pipe"
expect 3 "$fxc" lib
says err 'cannot read lib: Is a directory'
expect 3 "$fxc" large
says err 'large is larger than 1048576 bytes'

# What is given and cannot be meant: said, with the name and the value, before anything is written.
group given
refused() { # PATTERN ARGUMENT...
    pattern=$1
    shift
    expect 2 "$fxc" "$@"
    says err "$pattern"
    silent out
}
cat >int.fx <<'END'
kernel f(x: f32[M], n: i32, b: u8, c: bool, l: i64, u: u64) -> (y: f32[M], z: i64[M], w: u64[M]) {
  y = x * n + b + f32(c)
  z = broadcast[M](l)
  w = broadcast[M](u)
}
END
sed -i 's/broadcast\[M\](\([lu]\))/i64(x) * 0 + \1/; s/w = i64(x) [*] 0 + u/w = u64(x) * 0 + u/' int.fx
refused '-D M is given twice: M=2 and M=3' run --device=cpu scale.fx -D M=2 -D K=2 -D M=3
refused '-D M is given twice: M=2 and M=2' scale.fx -D M=2 -D M=2
refused '-i x is given twice: x=1 and x=2' run --device=cpu scale.fx -D M=2 -D K=2 -i x=1 -i x=2
refused '-o y is given twice' run --device=cpu scale.fx -D M=2 -D K=2 -o y=a.npy -o y=b.npy
refused '-o y=a.npy and -o z=a.npy would both be written to a.npy' run --device=cpu int.fx -D M=2 -o y=a.npy -o z=a.npy
holds test ! -e a.npy
expect 1 "$fxc" scale.fx -D a=2
says err '-D a names a scalar parameter of scale, .*FX2019'
says err 'fix: `fxc run -i a=VALUE`'
for wrong in n=3.5 n=nan n=inf n=1e10 n=2147483648 n=-2147483649 b=300 b=256 b=-1 b=nan b=0.5 c=2 c=nan c=-1 l=0.5 l=nan l=9223372036854775808 l=-9223372036854775809 \
    l=1e19 u=-1 u=18446744073709551616 u=nan 'n=uniform(0.5,0.6' ; do
    refused "-i ${wrong%%(*}" run --device=cpu int.fx -D M=2 -i "$wrong"
done
refused 'b is of dtype u8, which does not hold that' run --device=cpu int.fx -D M=2 -i b=300
refused 'b is of dtype u8, which does not hold both bounds' run --device=cpu int.fx -D M=2 -i 'b=integers(0,256)'
for right in n=-2147483648 n=2147483647 n=1e3 n=3.0 b=255 b=0 c=1 c=0 l=9223372036854775807 l=-9223372036854775808 l=1e3 u=18446744073709551615 u=010 u=0x10 \
    'b=integers(0,255)' 'n=integers(-3,3)'; do
    expect 0 "$fxc" run --device=cpu int.fx -D M=2 -i "$right"
done
expect 0 "$fxc" run --device=cpu int.fx -D M=1 -i u=18446744073709551615 -i l=-9223372036854775808
says out ' 18446744073709551615$'
says out ' -9223372036854775808$'
expect 0 "$fxc" run --device=cpu int.fx -D M=1 -i u=010 -i l=0x10
says out '^  10$'
says out '^  16$'
mkdir sub
cp scale.fx sub
refused 'scale.fx and sub/scale.fx would both be written to scale.cu' scale.fx sub/scale.fx
cp scale.fx scale.out.fx
refused 'the output of scale.fx would overwrite scale.out.fx' --emit=fx scale.fx scale.out.fx
refused '--arch=native is the GPU that run, check, test and bench use' --arch=native scale.fx
refused '--arch=native is the GPU' explain --arch=native scale.fx
for pair in chekc:check rnu:run tests:test benhc:bench expalin:explain trce:trace doctr:doctor annotat:annotate; do
    refused "there is no subcommand ${pair%:*}, .* did you mean 'fxc ${pair#*:}'" "${pair%:*}" scale.fx
done
refused "there is no subcommand compile, .* use 'fxc FILE.fx'" compile scale.fx
refused "there is no subcommand help, .* use 'fxc --help'" help
refused "unknown stage 'cuda': expected cu, ast, .*, fx" --emit=cuda scale.fx
refused 'the file has no kernel f; it has scale' --kernel=f scale.fx
expect 3 "$fxc" mlp scale.fx
says err 'cannot read mlp'
cp scale.fx tests # a file is a spec, whatever it is called
expect 0 "$fxc" tests

group run
expect 0 "$fxc" run --device=cpu scale.fx -D M=3 -D K=5
says out '^y: f32\[3,5\]  mean '
silent err
cp out first
expect 0 "$fxc" run scale.fx -D M=3 -D K=5
says err '^on the emulator (no GPU: .*)$'
holds cmp -s out first
expect 0 "$fxc" run --device=cpu scale.fx -D M=3 -D K=5 --seed=1
holds test "$(cat out)" != "$(cat first)"
expect 0 "$fxc" run --device=cpu scale.fx -D M=3 -D K=5 -i x=3 -i a=2
says out 'mean 6  min 6  max 6'
says out '^  6 6 6 6 6 6 6 6 [.][.][.]$' # eight of fifteen
expect 0 "$fxc" run --device=cpu scale.fx -D M=3 -D K=5 -i 'x=integers(4,4)'
says out 'mean 2  min 2  max 2'
expect 0 "$fxc" run --device=cpu scale.fx -D M=0 -D K=5
says out 'f32\[0,5\]'
expect 0 "$fxc" run --device=cpu scale.fx -D M=3 -D K=5 -o y=y.npy
silent out
holds test "$(wc -c <y.npy)" = 188
expect 0 "$fxc" run --device=cpu scale.fx -i x=y.npy -i a=1 -o y=again.npy
holds cmp -s y.npy again.npy
expect 0 sh -c "\"$fxc\" run --device=cpu scale.fx -i x=y.npy -i a=1 -o y=- | cmp - y.npy"
expect 0 "$fxc" run --device=cpu two.fx -k two -D M=6 -i 'x=uniform(-1,1)' -o y=b.npy
says b.npy "'<V2'"
expect 0 "$fxc" run --device=cpu two.fx -k two -i x=b.npy -o y=c.npy
expect 0 "$fxc" run --device=cpu two.fx -k two -i x=c.npy -o y=d.npy
holds cmp -s b.npy d.npy
expect 0 "$fxc" run --device=cpu two.fx -k one -D M=4 -o y=f.npy
expect 0 "$fxc" run --device=cpu two.fx -k two -i x=f.npy
says out 'bf16\[4\]'
expect 2 "$fxc" run --device=cpu two.fx -k one -i x=b.npy
says err "raw elements"
expect 2 "$fxc" run --device=cpu scale.fx -i x=f.npy -D K=4
expect 2 "$fxc" run --device=cpu scale.fx -i x=y.npy -D K=4
says err '[45].*[45]'
expect 3 "$fxc" run --device=cpu scale.fx -i x=missing.npy
expect 3 "$fxc" run --device=cpu scale.fx -i x=scale.fx
says err 'not a .npy file'
expect 3 "$fxc" run --device=cpu scale.fx -i x=/dev/zero
says err 'not a .npy file'
head -c 150 y.npy >cut.npy
expect 3 "$fxc" run --device=cpu scale.fx -i x=cut.npy
says err 'bytes of data'
expect 3 "$fxc" run --device=cpu scale.fx -i x=y.npy -o y=nowhere/y.npy
expect 7 "$fxc" run --device=cpu scale.fx -D M=1000000000 -D K=100000
expect 1 "$fxc" run --device=cpu broken.fx -D M=1
rm -f again.npy b.npy c.npy d.npy f.npy y.npy cut.npy
only $files first

group arguments
cat >update.fx <<'END'
kernel update(x: inout f32[M,N], b: f32[N], h: f32[H=2*N], p: f32 = 0.25) -> sum: f32[M,N] {
  require 0 <= p && p < N
  sum = x + 0
  x = x * p + b
}
END
expect 0 "$fxc" run --device=cpu update.fx -D M=2 -D N=3 -i x=4 -i b=2 -o x=x.npy -o sum=sum.npy
expect 0 "$fxc" run --device=cpu update.fx -i x=x.npy -i b=0 -i p=1 # N stands in x, H follows
says out '^x: f32\[2,3\]  mean 3 '
expect 0 "$fxc" run --device=cpu update.fx -i x=sum.npy -D N=3 -i b=0 -i p=1
says out '^sum: f32\[2,3\]  mean 4 '
expect 2 "$fxc" run --device=cpu update.fx -D M=2 -D N=3 -i p=3
says err 'require 0 <= p && p < N. does not hold (update, line 2): p is 3, N is 3$'
silent out
expect 2 "$fxc" run --device=cpu update.fx -D M=2 -D N=3 -i sum=1
says err "no input 'sum'"
expect 2 "$fxc" run --device=cpu update.fx -D M=2 -D N=3 -o b=b.npy
expect 0 "$fxc" --emit=plan -o - update.fx
says out '^  inout x: f32\[M,N\]$'
# a block gives the whole of what concat joins, not its parts
printf 'kernel j(a: f32[A], b: f32[B]) -> y: f32[P=A+B] { y = concat[P](a{A->P}, b{B->P}) }\ntest j { A=2 B=3 P=5 }\n' >join.fx
timeout 60 "$fxc" test join.fx >out 2>err </dev/null
says out ' j (line 2)'
line='test of a concat'
holds test "$(grep -c 'does not hold' err)" = 0
rm -f x.npy sum.npy update.fx join.fx
only $files

group gpu
expect 1 "$fxc" check broken.fx -D M=3
timeout 60 "$fxc" bench scale.fx -D M=3 -D K=5 >out 2>err </dev/null
status=$?
line='bench without a GPU'
holds test $status = 4 -o $status = 5
silent out
says err 'no GPU: .'
says err 'run bench where there is one'
timeout 60 "$fxc" run --device=gpu scale.fx -D M=3 -D K=5 >out 2>err </dev/null
status=$?
line='run --device=gpu without one'
holds test $status = 4 -o $status = 5
rm -rf "$work/.cache"
timeout 60 "$fxc" doctor >out 2>err </dev/null
status=$?
line=doctor
holds test $status = 0 -o $status = 4
says out nvrtc
says out '^gpu: none'
says out "^cache: none ($work/.cache: not there yet)$"
# NVRTC of a toolkit, in each place where one has it.
for place in lib64 targets/x86_64-linux/lib targets/sbsa-linux/lib; do
    mkdir -p "kit/$place"
    ln -s "$(cd "$(dirname "$fxc")" && pwd)/tests/fake_nvrtc.so" "kit/$place/libnvrtc.so.13"
    CUDA_PATH=$PWD/kit FX_LIBNVRTC= timeout 60 "$fxc" doctor >out 2>err </dev/null
    line="doctor with a toolkit that has $place"
    says out "^libnvrtc: .*/kit/$place/libnvrtc.so.13$"
    rm -r kit
done

group blocks
cat >blocks.fx <<'FX'
const alpha = 0.5
fn act(v) = relu(v)
kernel f(x: f32[M,F=2*N], a: f32) -> (y: f32[M,F], n: f32[N]) {
  y = act(a * alpha * x)
  n = 3
}
kernel g(x: f32[M]) -> y: f32[M] { y = -x }
test f { M=3 F=8 a=4 init: 2 }
test f { M=3 N=2 a=4 alpha=0.25 act=abs x.init: -3 seed: 1 tol: exact }
bench g { M=8 warmup: 3 rep: 120 init: nan vs: [unfused, cublaslt] }
test g { M=5 tol: abs <= 0.5 init: uniform(7,7) }
FX
expect 6 "$fxc" test --device=cpu blocks.fx
says out '^not checked f (line 8): .* y \[0,0\] is 4, \[2,7\] is 4; n \[0\] is 3, \[3\] is 3$'
says out '^not checked f (line 9): .* y \[0,0\] is 3, \[2,3\] is 3; n \[0\] is 3, \[1\] is 3$'
says out '^not checked g (line 11): .* y \[0\] is -7, \[4\] is -7$'
says out '^0 ok, 0 failed, 3 not checked$'
silent err
expect 6 "$fxc" test --device=cpu -k g blocks.fx
holds test "$(grep -c ' f ' out)" = 0
expect 6 sh -c "\"$fxc\" test --device=cpu - <blocks.fx"
says out '^0 ok, 0 failed, 3 not checked$'
# Blocks that run at once say the same, in the same order, on both streams.
cat >many.fx <<'FX'
kernel f(x: f32[M], a: f32) -> y: f32[M] { y = a * x }
test f { M=3000000 a=2 }
test f { M=3 }
test f { M=1 a=4 }
kernel g(x: f32[M], w: f32[K]) -> y: f32[M] { y = x + sum[K](w) }
test g { M=3 }
test f { M=5 a=1 init: ones }
FX
for arguments in '--device=cpu many.fx' '--device=cpu blocks.fx many.fx blocks.fx' '--device=emu:2,plain -k g blocks.fx' '--device=emu:2 many.fx --max-bytes=1e6'; do
    # shellcheck disable=SC2086
    expect "$(status=0; "$fxc" test $arguments >one.out 2>one.err || status=$?; echo $status)" "$fxc" test --jobs=4 $arguments
    holds test -s one.out
    holds cmp -s one.out out
    holds cmp -s one.err err
done
for jobs in 0 -1 257 two 2x ''; do
    expect 2 "$fxc" test --device=cpu --jobs=$jobs blocks.fx
    says err 'jobs'
done
rm many.fx one.out one.err
expect 2 "$fxc" test --device=cpu -k f blocks.fx -D N=1 -D alpha=8
says err 'F is 8 in the block on line 8'
says out '^FAILED f (line 8): '
says out '^not checked f (line 9): .* y \[0,0\] is 96, '
expect 2 "$fxc" test --device=cpu scale.fx two.fx
printf 'kernel g(x: f32[M]) -> y: f32[M] { y = x + z }\ntest g { M=3 }\n' >wrong.fx
expect 1 "$fxc" test --device=cpu wrong.fx blocks.fx
says out '^FAILED g (line 2): '
says out '^0 ok, 1 failed, 3 not checked$'
printf 'kernel g(x: f32[M], w: f32[K]) -> y: f32[M] { y = x + sum[K](w) }\ntest g { M=3 }\n' >open.fx
expect 2 "$fxc" test --device=cpu open.fx
says err 'extent K of w is not known.* line 2'
status=0
timeout 60 "$fxc" test --device=gpu blocks.fx >out 2>err </dev/null || status=$?
line='test --device=gpu without one'
holds test $status = 4 -o $status = 5
silent out
# The stand-in's launches write nothing, so every output is the NaN it was poisoned with: right where NaN is what is wanted, wrong elsewhere.
cat >poison.fx <<'FX'
kernel g(x: f32[M,N]) -> y: f32[M,N] with { fuse: require } { y = x * x + x }
test g { M=5 N=3 init: nan }
test g { M=5 N=3 init: nan tol: abs <= 1 }
FX
fakes=$(dirname "$fxc")/tests
stand_in() { env FX_LIBCUDA="$fakes/fake_cuda.so" FX_LIBNVRTC="$fakes/fake_nvrtc.so" FAKE_CUDA_LEFT="$work/left" "$fxc" "$@"; }
expect_stand_in() { # STATUS ARGUMENTS...; of what it took from the driver nothing is left
    line="$* over a stand-in"
    wanted=$1
    shift
    rm -f "$work/left"
    stand_in "$@" >out 2>err </dev/null
    got=$?
    if [ $got = "$wanted" ]; then pass; else fail "$line: exit $got, expected $wanted"; fi
    [ ! -e "$work/left" ] || holds test "$(cat "$work/left")" = 0
}
# A comparison of NaN with NaN says nothing, whatever tolerance is stated.
expect_stand_in 6 test poison.fx
says out '^not checked g (line 2): y error 0 of 0 allowed, 15 elements, 15 NaN; all elements of an output are NaN or open'
says out '^not checked g (line 3): '
says out '^0 ok, 0 failed, 2 not checked$'
expect_stand_in 6 check poison.fx -D M=5 -D N=3 -i x=nan
holds test "$(cat "$work/left")" = 0
echo 'test g { M=5 N=3 init: 1 tol: rel <= 1 }
test g { M=0 N=3 }' >>poison.fx
expect_stand_in 6 test poison.fx
says out '^FAILED g (line 4): y \[0,0\] got nan, want 2; 15 wrong, error inf of 2 allowed, 15 elements, 15 are 2$'
says out '^not checked g (line 5): y 0 elements$'
says out '^0 ok, 1 failed, 3 not checked$'
holds test "$(ls "$work/.cache" | grep -c 'cubin$')" -gt 0
# Memory that holds one of these blocks at a time: those that find none beside others run again alone, and say what they say without others. One finds none at all.
cat >short.fx <<'FX'
kernel g(x: f32[M]) -> y: f32[M] { y = x * x + x }
FX
for i in 1 2 3 4 5 6 7 8; do echo "test g { M=40000$i init: $i }" >>short.fx; done
echo 'test g { M=700000 }' >>short.fx
export FAKE_CUDA_MEMORY=5000000
expect_stand_in 6 test --jobs=1 short.fx
says out '^FAILED g (line 2): y \[0\] got nan, want 2; 400001 wrong'
says out '^FAILED g (line 10): it could not be run$'
holds test "$(grep -c 'out of memory' err)" = 1
mv out one.out
mv err one.err
for jobs in 2 8; do
    expect_stand_in 6 test --jobs=$jobs short.fx
    holds cmp -s one.out out
    holds cmp -s one.err err
done
unset FAKE_CUDA_MEMORY
rm short.fx one.out one.err
rm -rf "$work/.cache"
expect_stand_in 0 bench --no-cache blocks.fx
holds test ! -e "$work/.cache"
expect 2 "$fxc" --no-cache blocks.fx
expect_stand_in 0 bench blocks.fx
says out '^bench g (line 10)$'
says out 'median of 40 x 3 launches'
says out '^vs unfused: [0-9.]* us; fused it takes'
says out '^vs cublaslt: not available in this version$'
expect_stand_in 0 bench --html=page.html blocks.fx
for part in '<!doctype html>' 'Measured on Fake GPU' '<td>g ' '<td>g, unfused ' '</html>'; do says page.html "$part"; done
holds test "$(grep -cE 'https?:|src=|href=|url\(|@import|<script' page.html)" = 0
rm page.html
expect_stand_in 2 bench --html=page.html --ablate blocks.fx
expect_stand_in 3 bench --html=nowhere/page.html blocks.fx
expect_stand_in 6 bench --html=page.html -k g blocks.fx -D M=8
holds test ! -e page.html
expect_stand_in 2 bench blocks.fx -D M=8
expect_stand_in 6 bench -k g blocks.fx -D M=8
says err 'not timed'
expect_stand_in 0 bench -k g blocks.fx -D M=8 -i x=nan
holds test "$(grep -c bench out)" = 0

# What compared nothing by which a wrong result would show is not checked; a stated tolerance vouches for constants.
group unchecked
cat >unchecked.fx <<'FX'
kernel root(x: f32[M]) -> (y: f32[M], z: f32[M]) { y = sqrt(x - 100); z = x }
kernel none(x: f32[M]) -> y: f32[M] { y = x * 0 }
kernel rows(x: f32[M,N], i: i64[T]) -> y: f32[T,N] { y = x[M: i] ?? 0 }
kernel large(x: bf16[M,K], w: bf16[K,N]) -> y: f32[M,N] { y = x @ w }
test root { M=64 }
test none { M=64 }
test none { M=64 tol: exact }
test rows { M=3000 N=3 T=50 }
test large { M=300 N=800 K=300 tol: worst }
FX
expect 6 "$fxc" test --device emu:1,plain unchecked.fx
says out '^not checked root (line 5): y .*, 64 elements, 64 NaN; z .*; all elements of an output are NaN or open: draw other inputs'
says out '^not checked none (line 6): y .* 64 are 0; one value would be right for every element'
says out '^ok  none (line 7): '
says out '^ok  rows (line 8): y error 0 of 0 allowed, 150 elements$'
says out '^ok  large (line 9): .* of 240000 elements$'
says out '^3 ok, 0 failed, 2 not checked$'
# Copies of factors whose batch label lies contiguous are made from a million results on, of which some are compared.
cat >inside_out.fx <<'FX'
kernel two(a: bf16[I=64,K=64,C=256], b: bf16[J=64,K,C], c: bf16[J,K,C]) -> (y: bf16[I,J,C], z: bf16[I,J,C] strided) {
  y = sum[K](a * b)
  z = sum[K](a * c)
}
FX
expect 0 "$fxc" check --device emu:2,plain inside_out.fx -i 'a=integers(-2,2)' -i 'b=integers(-2,2)' -i 'c=integers(-2,2)'
says out '^two_2_: wgmma '
says out '^ok: the same on integers, [0-9]* elements compared, [0-9]* of them exactly, 0 wrong$'
expect 6 "$fxc" check --device emu:1,plain unchecked.fx -k root -D M=64
says out '^  y: 64 of 64 elements compared, 0 wrong, 64 NaN; '
says out '^not checked: all elements of an output are NaN or open'
expect 6 "$fxc" check --device emu:1,plain unchecked.fx -k none -D M=64
says out '^not checked: one value would be right for every element'
# All variants that the extents of an empty tensor allow take it, those that need an aligned address too.
echo 'kernel empty(x: bf16[M,K]) -> y: bf16[M,K] { y = softmax[K](x) }' >empty.fx
expect 6 "$fxc" check --device emu:1,plain --all-variants empty.fx -D M=0 -D K=96
says out '^empty_: .* 16-byte accesses$'
says out '^not checked: every output is empty$'
# A tensor whose address is promised to be aligned has one, whatever its size.
echo 'kernel odd(x: bf16[M,K] align 16) -> y: bf16[M,K] align 64 { y = x + 1 }' >odd.fx
expect 0 "$fxc" check --device emu:1,plain odd.fx -D M=3 -D K=5
expect 0 "$fxc" check --device emu:1,plain unchecked.fx -k large -D M=300 -D N=800 -D K=300
says out '^ok: large on the emulator, .* 0 wrong$'
says out '^ok: the same on integers, \([0-9]*\) elements compared, \1 of them exactly, 0 wrong$'
worst() { sed -n 's/.*bound \(.*\)$/\1/p' out; }
narrow=$(worst)
expect 0 "$fxc" check --device emu:1,plain --worst-case unchecked.fx -k large -D M=300 -D N=800 -D K=300
holds awk "BEGIN { exit !($(worst) > 4 * $narrow) }"

# Without a GPU the emulator takes its place and says so; a problem of hours is not begun, and where there is no emulator either nothing was checked.
group stand_in
echo 'test scale { M=30 K=7 }
test scale { M=65536 K=65536 }' >>scale.fx
echo 'kernel big(x: bf16[M,K], w: bf16[K,N]) -> y: bf16[M,N] { y = x @ w }' >big.fx
echo 'kernel pairs(x: f32[M], y: f32[N]) -> s: f32[M] { s = sum[N](exp(x * y)) }' >pairs.fx # few bytes, no multiply-adds
expect 0 "$fxc" check scale.fx -D M=3 -D K=5
says err '^on the emulator (no GPU: .*)$'
says out '^ok: scale on the emulator, 15 elements compared, 0 wrong$'
expect 6 "$fxc" test scale.fx
says err '^on the emulator (no GPU: .*)$'
says out '^ok  scale (line 2): '
says out '^not checked scale (line 3): no GPU, and the emulator would take about .* minutes: give smaller extents, or --device=emu'
says out '^1 ok, 0 failed, 1 not checked$'
for spec in big pairs; do
    size='-D M=4096 -D K=4096 -D N=4096'
    [ $spec = big ] || size='-D M=1000000 -D N=1000000'
    expect 6 "$fxc" check $spec.fx $size
    says out '^not checked: no GPU, and the emulator would take about .*--device=emu'
    holds test "$(grep -c '^ok' out)" = 0
    timeout 60 "$fxc" run $spec.fx $size >out 2>err </dev/null
    status=$?
    line="run $spec.fx too large for the emulator"
    holds test $status = 4 -o $status = 5
    silent out
    says err '^fxc: no GPU, and the emulator would take about '
done
expect 6 env FX_CXX=/nowhere "$fxc" check scale.fx -D M=3 -D K=5
says out '^not checked: no GPU: .*; no emulator: .*there is no /nowhere'
expect 6 env FX_CXX=/nowhere "$fxc" test scale.fx -D M=3 -D K=5
says out '^0 ok, 0 failed, 2 not checked$'
expect 0 env FX_CXX=/nowhere "$fxc" run scale.fx -D M=3 -D K=5
says err '^by the oracle, not what is emitted (no GPU: .*; no emulator: '
expect 4 env FX_CXX=/nowhere "$fxc" check --device=emu scale.fx -D M=3 -D K=5
for sub in run check; do # what is asked for by name is that or an error
    timeout 60 "$fxc" $sub --device=gpu scale.fx -D M=3 -D K=5 >out 2>err </dev/null
    status=$?
    line="$sub --device=gpu without one"
    holds test $status = 4 -o $status = 5
    says err 'no GPU: '
    silent out
done
expect 0 "$fxc" check --diagnostics-format=json scale.fx -D M=3 -D K=5
holds test "$(grep -c 'on the emulator' err)" = 0

# What is fixed when it is compiled is not divided by: rows of 512 take shifts, rows of any length a division. Without NVRTC there is nothing to look at.
group ptx
for spec in s3_06_add_relu s3_07_add_relu_any; do
    "$fxc" --emit=ptx -o $spec.ptx "$examples/s3_fused_kernels/$spec.fx" >out 2>err
    status=$?
    line="--emit=ptx $spec.fx"
    [ $status = 4 ] || holds test $status = 0
    [ $status = 4 ] || holds test "$(grep -cE '\<(div|rem)\.' $spec.ptx)" $([ $spec = s3_06_add_relu ] && echo = || echo -gt) 0
done

# Ahead of time: files, and a program made of nothing but them, with the stand-in in the place of the driver. Without NVRTC there is no machine code.
group aot
for arguments in '' 'scale.fx two.fx' '--arch= scale.fx' '--arch=sm_80, scale.fx' '--arch=sm_80,,sm_90a scale.fx' '--arch=sm_80,sm_80 scale.fx' '--arch=sm_1 scale.fx' '--arch=native scale.fx' \
    '-o - scale.fx' '-o here/ scale.fx' '-D M scale.fx' '-k none scale.fx' '--diagnostics-format=xml scale.fx' '--emit=cu scale.fx' '-'; do
    expect 2 "$fxc" aot $arguments
    says err .
    silent out
done
expect 1 "$fxc" aot broken.fx
says err '^broken.fx:1:.*FX2001'
only $files
if "$fxc" doctor >doctor 2>&1; then
    expect 0 "$fxc" aot two.fx --arch=sm_80,sm_90a -o both
    silent err
    only $files doctor both.c both.h both_sm_80.cu both_sm_90a.cu
    for arch in sm_80 sm_90a; do expect 0 sh -c "\"$fxc\" --arch=$arch two.fx -o - | cmp - both_$arch.cu"; done
    expect 0 "$fxc" aot -k one two.fx --diagnostics-format=json
    holds test "$(cat err)" = '[]'
    holds test -s two_sm_90a.cu
    expect 3 "$fxc" aot -o nowhere/both -k one two.fx
    mkdir alone
    cat >alone/main.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include "both.h"
int main(void) {
    size_t bytes = 7;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *p, *at = (void *)256;
    if (one_prepare() != 201 || one_launch(NULL, at, at, NULL, 5) != 201) return 1; /* no context is current */
    p = dlsym(driver, "fake_cuda_make_current");
    ((void *(*)(void))p)();
    if (one_workspace(&bytes, 5) != 0 || bytes != 0) return 2;
    if (one_launch(NULL, at, at, NULL, 5) != 0 || two_launch(NULL, at, at, NULL, 1000) != 0) return 3;
    if (one_launch(NULL, at, at, NULL, -1) != 1 || two_launch(NULL, (char *)at + 1, at, NULL, 3) != 1) return 4;
    puts(both_error_name(both_NO_CODE));
    return both_unload();
}
C
    mv both.c both.h alone
    ln -s "$(cd "$(dirname "$fxc")" && pwd)/tests/fake_cuda.so" alone/libcuda.so.1
    expect 0 sh -c "cd alone && ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -c both.c && ${CC:-cc} -w main.c both.o -ldl -lpthread -o main"
    expect 0 env LD_LIBRARY_PATH="$PWD/alone" FAKE_CUDA_LEFT="$PWD/left" alone/main
    holds test "$(cat out)" = both_NO_CODE
    holds test "$(cat left)" = 0
fi

group double
cat >double.fx <<'END'
kernel double(x: inout f32[M,N], b: f32[N], t: f32[M,N], mult: f64) { x = f32(relu(x + b + mult * t)) }
END
expect 0 "$fxc" explain --no-compile double.fx
says err 'warning: f32 and f64 meet here.*FX2027'

group emulator
echo 'kernel e(x: f32[M]) -> y: f32[M] { y = exp(x) * 3.1 }' >e.fx
for seed in 0 1 2; do
    expect 0 "$fxc" check --device=emu --seed $seed e.fx -D M=40000
    says out '; largest error [0-9.e-]*, relative [0-9.e-]*, [12] ulp$'
    # 256 threads a block, 4 elements a thread
    holds awk '/worst at/ { sub(/.*\[/, ""); at = int($0) }
        /written by/ { gsub(/,/, ""); found = $4 == int(at / 1024) && $6 == 40 && $8 == int(at % 1024 / 4) && $10 == "fx_e_vector" }
        END { exit !found }' out
done
expect 0 "$fxc" check --device=emu,plain e.fx -D M=40000
holds test "$(grep -c 'written by' out)" = 0

# What the emulator compiles lies in memory: nothing is left in a folder, however the command ends.
group temporary
mkdir tmp
real=$(command -v "${FX_CXX:-g++}")
cat >cxx <<END
#!/bin/sh
ls -A "\$TMPDIR" >"$PWD/seen"
if [ -e "$PWD/signal" ]; then kill -s "\$(cat "$PWD/signal")" \$PPID; fi
exec $real "\$@"
END
chmod +x cxx
expect 0 env TMPDIR="$PWD/tmp" FX_CXX="$PWD/cxx" FX_CACHE=off "$fxc" run --device=emu,plain scale.fx -D M=4 -D K=4 -o y=y.npy
# Another entry may be compiled meanwhile: the compiler's own files are called cc*.
holds test -e seen
holds test -z "$(grep -v '^cc' seen)"
rm y.npy
for signal in INT:130 TERM:143 KILL:137; do
    echo "${signal%:*}" >signal
    timeout 60 sh -c 'env TMPDIR="$PWD/tmp" FX_CXX="$PWD/cxx" FX_CACHE=off "$0" run --device=emu,plain scale.fx -D M=4 -D K=4 -o y=y.npy; exit $?' "$fxc" >out 2>err </dev/null
    got=$?
    line="kill -s ${signal%:*}"
    holds test $got = "${signal#*:}"
    # The compiler runs on, and removes what is its own.
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(ls -A tmp)" ] || sleep 1; done
    holds test -z "$(ls -A tmp)"
done
only $files tmp cxx seen signal

group ablate
cat >ablate.fx <<'FX'
kernel h(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] with { fuse: require } {
  y = relu(x @ w + b)
}
bench h { M=16 K=32 N=24 warmup: 2 rep: 100 init: nan }
FX
expect 0 "$fxc" bench --ablate --plan-only ablate.fx
silent err
says out '^terms of h$'
says out '^        whole  *1  *6752  *24576  gemm$'
says out '^     2  epilogue  *1  *6656  *24576  x @ w + b; instead x @ w$'
says out '^     2  epilogue  *1  *6752  *24576  relu(x @ w + b); instead x @ w + b$'
holds test "$(wc -l <out)" = 5
expect 0 "$fxc" bench --ablate --plan-only --json ablate.fx -D M=16 -D K=32 -D N=24
says out '^\[{"version":1,"kernel":"h","device":null,"extents":{"M":16,"K":32,"N":24},"whole":{"no_time":"only planned","bytes":6752,"flops":24576,"drivers":\["gemm"\]},"terms":\[$'
says out '"term":"x @ w + b","call":null,"instead":"x @ w","no_time":"only planned","bytes":6656'
says out '^{.*}\]}\]$'
expect 2 "$fxc" bench --ablate --plan-only ablate.fx -D M=16
expect 2 "$fxc" bench --json ablate.fx
says err 'json goes with --ablate'
expect 2 "$fxc" bench --plan-only ablate.fx
expect 1 "$fxc" bench --ablate --plan-only broken.fx -D M=3
timeout 60 "$fxc" bench --ablate ablate.fx >out 2>err </dev/null
status=$?
line='bench --ablate without a GPU'
holds test $status = 4 -o $status = 5
silent out
# Over the stand-in, whose results are all NaN: right without any term.
expect_stand_in 0 bench --ablate ablate.fx
says out '^h on .*, whole: [0-9.]* us, 1 kernel, [0-9]* registers (median of 50 x 2 launches, in turn with those below)$'
says out '^     2  epilogue  *[0-9.]*  *-*[0-9.]*  *-*[0-9.]*  *[0-9]*  *1  x @ w + b; instead x @ w$'
expect_stand_in 0 bench --ablate --json ablate.fx
says out '"instead":"x @ w","no_time":null,"bytes":6656,"flops":24576,"drivers":\["gemm"\],"us":[0-9.e+-]*,"min_us"'
says out '"costs_us":[0-9.e+-]*,"costs_percent":'
# What is not right gets no time: whole, none at all; without a term, that one.
expect_stand_in 6 bench --ablate ablate.fx -D M=16 -D K=32 -D N=24 -i x=1 -i w=1 -i b=1
says err 'not timed: its result is not known to be right'
silent out
expect_stand_in 0 bench --ablate ablate.fx -D M=16 -D K=32 -D N=24 -i x=1 -i w=1 -i b=nan
says out '^     2  epilogue      no time: its result is not known to be right: x @ w + b; instead x @ w$'
says out '  relu(x @ w + b); instead x @ w + b$'

# Ranked by predictions without a GPU; timed over the stand-in, and on the emulator.
group tune
cat >tune.fx <<'FX'
kernel h(x: bf16[M,K], w: bf16[K,N], b: f32[N]) -> y: bf16[M,N] { y = relu(x @ w + b) }
kernel s(x: f32[M]) -> y: f32[M] { y = x + 1 }
bench h { M=1024 K=512 N=256 }
bench s { M=40 }
FX
expect 0 "$fxc" tune --plan-only tune.fx
silent err
says out '^h on sm_90a, M=1024 K=512 N=256: [0-9]* ways, none timed$'
says out '^   1          -  *[0-9]*\.[0-9]*      -      -      -  fx_h_.*'
says out '^s on sm_90a, M=40: 2 ways, none timed$'
holds test "$(grep -c "<- the plan's own" out)" = 2
awk '/^ *[0-9]+ +-/ { if ($3 < last) exit 1; last = $3 } /^$/ { last = 0 }' out || fail 'tune: not in order'
expect 0 "$fxc" tune --plan-only --format=csv tune.fx
holds test "$(grep -c '^kernel,device,extents,rank,' out)" = 1
says out '^s,"sm_90a","M=40",1,"","fx_s_vector","'
expect 0 "$fxc" tune --plan-only --format=json tune.fx -k h -D M=64 -D K=64 -D N=64
says out '^\[{"version":1,"kernel":"h","device":"sm_90a","extents":{"M":64,"K":64,"N":64},"seconds":0,"kept":null,"ways":\[$'
says out '"no_time":"it was not tried","is_plans":true}'
says out '^{.*}\]}\]$'
timeout 60 "$fxc" tune tune.fx >out 2>err </dev/null
status=$?
line='tune without a GPU'
holds test $status = 4 -o $status = 5
silent out
says err 'tune --plan-only'
# NaN is right, whatever the stand-in leaves: every way is.
expect_stand_in 0 tune tune.fx -k h -D M=64 -D K=64 -D N=64 -i x=nan --candidates=3
says out '^h on .*, M=64 K=64 N=64: 3 of [0-9]* ways timed in [0-9.]* s$'
says out '^   1  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9.]*  fx_h_'
says out '^[0-9]* more are predicted to take longer$'
expect_stand_in 6 tune tune.fx -k h -D M=64 -D K=64 -D N=64 --candidates=2
says err 'a result is wrong'
silent out
expect 0 "$fxc" tune --device=emu:4,plain --candidates=2 --format=csv tune.fx -k s -D M=40
says out '^s,"the emulator","M=40",1,"","fx_s_[a-z]*","[^"]*",[0-9.]*,[0-9.]*,[0-9.]*,[0-9.]*,0.0000,[01],""$'
# Without SQLite nothing is kept, and nothing fails for it.
expect 0 env FX_LIBSQLITE=/nowhere "$fxc" tune --device=emu:4,plain --db=t.db tune.fx -k s -D M=40
says out '^not kept: SQLite is not found (.*): install libsqlite3-0$'
expect 0 env FX_LIBSQLITE=/nowhere "$fxc" run --device=emu:4,plain --db=t.db two.fx -k one -D M=4
says err '^tuned choices: SQLite is not found'
holds test ! -e t.db
# What is kept is taken where it is asked for: rows that name another entry, or none, or are of other extents, of a damaged file.
edit() { # FILE SQL
    line="$2"
    python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); print(d.execute(sys.argv[2]).fetchall()); d.commit()' "$1" "$2" >out 2>err || fail "$2"
}
if python3 -c 'import sqlite3' 2>err; then
    check="$fxc check --device=emu:4,plain tune.fx -k s"
    expect 0 "$fxc" tune --device=emu:4,plain --db=folder/t.db tune.fx -k s -D M=40
    says out '^kept in folder/t.db$'
    edit folder/t.db "SELECT device, extents, version, kernel FROM choice"
    says out "^\[('the emulator', 'M=40', '0.1.0', 's')\]$"
    for entry in fx_s_vector:'16-byte accesses' fx_s_any:'any alignment' fx_s_gone:'16-byte accesses' fx_s_any,fx_s_any:'16-byte accesses' :'16-byte accesses'; do
        edit folder/t.db "UPDATE choice SET entries = '${entry%%:*}'"
        expect 0 $check -D M=40 --db=folder/t.db
        says err '^tuned choices: folder/t.db, 1 rows$'
        says out "${entry#*:}$"
    done
    edit folder/t.db "UPDATE choice SET entries = 'fx_s_any'"
    expect 0 env FX_TUNE_DB=folder/t.db $check -D M=40
    says out 'any alignment$'
    expect 0 $check -D M=40
    says out '16-byte accesses$'
    expect 0 $check -D M=41 --db=folder/t.db
    for extents in M=-40 M=4000000000000000000000 M=40,N=2 M= N=40 ''; do
        edit folder/t.db "UPDATE choice SET extents = '$extents'"
        expect 0 $check -D M=40 --db=folder/t.db
        says out '16-byte accesses$'
    done
    # A view that never ends is given up.
    edit folder/t.db "DROP TABLE choice"
    edit folder/t.db "CREATE VIEW choice AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS kernel_hash, 'the emulator' AS device, 'M=40' AS extents, '0.1.0' AS version, 'fx_s_any' AS entries FROM n"
    expect 0 $check -D M=40 --db=folder/t.db
    says err '^tuned choices: folder/t.db: interrupted$'
    says out '16-byte accesses$'
    # Any bytes are no database, and are left as they are; what is cut off is told.
    printf 'no database at all, but long enough to be taken for one by its size alone %0600d' 7 >bytes.db
    cp bytes.db copy.db
    expect 0 $check -D M=40 --db=bytes.db
    says err 'bytes.db: file is not a database'
    expect 0 "$fxc" tune --device=emu:4,plain --db=bytes.db tune.fx -k s -D M=40
    says out '^not kept: bytes.db: file is not a database$'
    holds cmp -s bytes.db copy.db
    head -c 5000 folder/t.db >cut.db
    expect 0 $check -D M=40 --db=cut.db
    says out '^ok: '
    expect 0 $check -D M=40 --db=nowhere.db
    holds test ! -e nowhere.db
    # Two processes keep their rows at once.
    for m in 10 20 30 50; do timeout 60 "$fxc" tune --device=emu:4,plain --db=many.db tune.fx -k s -D M=$m >out.$m 2>&1 & done
    wait
    edit many.db "SELECT count(*) FROM choice"
    says out '^\[(4,)\]$'
    rm -rf folder bytes.db copy.db cut.db many.db out.10 out.20 out.30 out.50
fi
rm tune.fx
only $files

group explain
expect 0 "$fxc" explain --no-compile scale.fx
silent err
says out '^scale: 1 GPU kernel, predicted .*, nominal M=4096 K=4096 (-D replaces); moves '
says out '^    line 1: pointwise y = a \* x$'
holds test "$(wc -l <out)" = 4
expect 0 "$fxc" explain -v --no-compile scale.fx
says out 'nominal extents, which -D NAME=VALUE replaces: M=4096 K=4096'
says out '^    not mma: '
expect 0 "$fxc" explain --verbose --no-compile scale.fx -D M=64 -D K=64
says out '  extents: M=64 K=64$'
says out 'launched here: grid [0-9]'
holds test -z "$(grep registers out)"
expect 0 "$fxc" explain --no-compile --explain-format=json two.fx
silent err
says out '^{"version":1,"file":"two.fx","arch":"sm_90a"'
expect 0 "$fxc" explain --explain-format=text --no-compile two.fx
# What only compiling shows: of the entries launched, also where extents are free, or of all; without NVRTC a line says what is left out.
expect 0 "$fxc" explain -v scale.fx -D M=64 -D K=64
if [ -s err ]; then
    says err 'fxc: registers and spills are left out: '
else
    holds test "$(grep -c '[1-9][0-9]* registers, 0 bytes of local memory' out)" = 1
    expect 0 "$fxc" explain -v scale.fx
    holds test "$(grep -c '[1-9][0-9]* registers, 0 bytes of local memory' out)" = 1
    expect 0 "$fxc" explain -v --compile-all scale.fx
    holds test "$(grep -c '[1-9][0-9]* registers, 0 bytes of local memory' out)" = "$(grep -c '^    entry' out)"
    expect 0 "$fxc" explain --explain-format=json --no-cache scale.fx -D M=64 -D K=64
    says out '"compiled":{"registers":[1-9]'
fi
expect 0 env FX_LIBNVRTC=/nowhere FX_CACHE=off CUDA_PATH=/nowhere "$fxc" explain scale.fx -D M=64 -D K=64
expect 2 "$fxc" explain --explain-format=tea scale.fx
says err 'text or json, not .tea'
printf 'kernel f(x: f32[M,K], w: f32[K,N]) -> y: f32[M,N] {\n  y = (0.125 * x) @ w\n}\n' >ruled.fx
expect 0 "$fxc" explain -v --no-compile ruled.fx
says out 'rule scale_out at line 2: (0.125 \* x) @ w; '
expect 2 "$fxc" --with=algebra.tea ruled.fx
says err 'there is no rule algebra.tea; known:.* algebra.exp2'
for arguments in --skip=algebra --skip=algebra.scale_out; do
    expect 0 "$fxc" explain -v --no-compile ruled.fx $arguments
    holds test -z "$(grep ' rule ' out)"
done
rm ruled.fx
expect 1 "$fxc" explain broken.fx
only $files

group trace
expect 0 "$fxc" trace scale.fx -D M=4 -D K=8
silent out
silent err
only $files scale.html
holds test "$(tail -n 1 scale.html)" = '</html>'
rm scale.html
expect 0 "$fxc" trace scale.fx -D M=4 -D K=8 -o -
says out '^{"version":1,"file":"scale.fx","arch":"sm_90a","kernels":'
silent err
cp out twice
expect 0 "$fxc" trace scale.fx -D M=4 -D K=8 -o trace.json
holds cmp -s trace.json twice
rm trace.json twice
printf '\ntest scale { M=3 K=5 }\ntest scale { M=1024 K=1024 }\n' >>scale.fx
expect 0 "$fxc" trace scale.fx -o -
says out '"shape":\[3,5\]'
expect 2 "$fxc" trace scale.fx --block=1 -o -
silent out
printf 'kernel again(x: f32[M,K]) -> (y: f32[M,K], s: f32[M]) with { fuse: require } { y = x * sum[M](x); s = sum[K](y) }\n' >again.fx
expect 0 "$fxc" trace --device=emu:3 again.fx -D M=512 -D K=64 -o -
says out '"grid":3,'
expect 0 "$fxc" trace --device=emu again.fx -D M=512 -D K=64 -o -
says out '"grid":16,'
rm again.fx
expect 2 "$fxc" trace scale.fx -D M=1024 -D K=1024
says err 'smaller extents with -D'
says err '^fxc: -D M=1024 -D K=1024$'
expect 4 env FX_CXX=/nowhere FX_CACHE=off "$fxc" trace scale.fx
expect 3 "$fxc" trace scale.fx -o nowhere/trace.html
expect 1 "$fxc" trace broken.fx
only $files

group timeline
expect 0 env FX_TRACE=time.json "$fxc" run --device=emu scale.fx -D M=4 -D K=8
holds test "$(head -n 1 time.json)$(tail -n 1 time.json)" = '[]'
for event in 'compile scale.fx' 'parse scale.fx' 'fuse scale' 'schedule scale' 'plan scale.fx' 'prepare scale' 'build fx_scale' 'load fx_scale' 'enqueue fx_scale' 'launch scale'; do
    says time.json "^{\"name\":\"$event"
done
says time.json '"by":"host compiler","arch":"emulator","cache":"'
holds test "$(grep -c '"ph":"X","ts":[0-9]*\.[0-9]*,"dur":[0-9]*\.[0-9]*,"pid":[0-9]*,"tid":[0-9]*,"args":{' time.json)" = "$(grep -c '"ph":"X"' time.json)"
expect 0 env FX_TRACE=time.json "$fxc" run --device=emu scale.fx -D M=4 -D K=8
says time.json '"cache":"hit"'
expect 0 env FX_TRACE= "$fxc" run --device=emu scale.fx -D M=4 -D K=8
expect 3 env FX_TRACE=nowhere/time.json "$fxc" run --device=emu scale.fx -D M=4 -D K=8
says err 'FX_TRACE: cannot write nowhere/time.json'
rm time.json
only $files

# What was to be written and is not is exit 3: every subcommand, whatever else it would have exited with that only stdout says.
group full_disk
printf 'kernel f(x: f32[M]) -> y: f32[M] { y = x + 1 }\ntest f { M=8 }\n' >test.fx
for arguments in '--emit=fx -o - scale.fx' 'run --device=cpu scale.fx -D M=2 -D K=2' 'check --device=emu scale.fx -D M=2 -D K=2' 'test --device=cpu test.fx' 'test --device=emu test.fx' \
    'explain --no-compile scale.fx' 'annotate scale.fx' '--help' 'test --help' '--version'; do
    expect 3 sh -c "\"$fxc\" $arguments >/dev/full"
    says err '^fxc: cannot write stdout'
    holds test "$(grep -c '^fxc: cannot write stdout' err)" = 1
done
expect 3 env FX_TRACE=/dev/full "$fxc" -o - scale.fx
says err '^fxc: FX_TRACE: cannot write /dev/full: No space left on device$'
# What stderr says decides where there is more.
expect 6 env FX_TRACE=/dev/full "$fxc" test --device=cpu test.fx
says err '^fxc: FX_TRACE: cannot write /dev/full'
expect 1 sh -c "\"$fxc\" --emit=fx -o - broken.fx >/dev/full"
rm test.fx
only $files

group annotate
expect 0 "$fxc" annotate scale.fx
says out '^kernel scale$'
says out 'a \* x  *f32\[M,K\]'
silent err
cp out first
expect 0 "$fxc" annotate scale.fx -o types
silent out
holds cmp -s first types
expect 0 sh -c "\"$fxc\" annotate - <scale.fx | cmp - types"
expect 2 "$fxc" annotate -o scale.fx scale.fx
expect 3 "$fxc" annotate -o nowhere/types scale.fx
expect 1 "$fxc" annotate broken.fx
says err '^broken.fx:1:'
expect 0 "$fxc" annotate -k two two.fx
holds test "$(grep -c '^kernel' out)" = 1
# What no schedule takes still has its types.
echo 'kernel s(x: f32[B,T]) -> y: f32[B] { y = sum[T](x) }' >sum.fx
expect 0 "$fxc" annotate sum.fx
rm -f first types sum.fx
only $files

# What `make install` leaves builds a program by pkg-config, as README says, against either library; it runs where the stand-ins are. A mutant is
# not what it installs.
check_install() {
group install
sources=$(dirname "$examples")
expect 0 env -u MAKEFLAGS -u MAKELEVEL make -s -C "$sources" install PREFIX="$work/prefix" $([ "$(basename "$(dirname "$fxc")")" = san ] && echo SAN=1)
for file in bin/fxc lib/libfx.a lib/libfx.so lib/libfx.so.0 lib/pkgconfig/fx.pc lib/cmake/fx/fxConfig.cmake lib/cmake/fx/fxConfigVersion.cmake include/fx/fx.h; do holds test -e "$work/prefix/$file"; done
expect 0 "$work/prefix/bin/fxc" -o - scale.fx
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
sed -n "s/^cc embed.c \(.*\)  *# .*/\1/p" "$sources/README.md" | sed "s|/opt/fx|$work/prefix|g" >flags
holds test "$(wc -l <flags)" = 2
while read -r flags; do
    expect 0 sh -c "${CC:-cc} -o embed $examples/embed.c $flags"
    expect 0 env FX_LIBCUDA="$fakes/fake_cuda.so" FX_LIBNVRTC="$fakes/fake_nvrtc.so" ./embed
    holds test "$(wc -l <out)" = 2
    readelf -d embed >dynamic
    echo "$(grep -c 'libfx.so.0' dynamic)" >>links
done <flags
holds test "$(tr '\n' ' ' <links)" = '1 0 '
unset PKG_CONFIG_PATH
check_pages
check_cmake
}

# Every option and subcommand stands on the man page and in every completion, every function of the headers on the page of the library.
check_pages() {
    share=$work/prefix/share
    pages="$share/man/man1/fxc.1 $share/bash-completion/completions/fxc $share/zsh/site-functions/_fxc $share/fish/vendor_completions.d/fxc.fish"
    for page in $pages "$share/man/man3/libfx.3" "$share/man/man5/fx.5"; do holds test -s "$page"; done
    sed 's/\\-/-/g' "$share/man/man1/fxc.1" >fxc.1
    sed -n 's/^OPTION([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$sources/runtime/command/options.def" | sort -u >options
    sed -n 's/^SUBCOMMAND([A-Z_]*, "\([a-z]*\)".*/\1/p' "$sources/runtime/command/options.def" | sed '/^$/d' >subcommands
    line='options on every page'
    holds test "$(wc -l <options)" -gt 25
    for page in fxc.1 $pages; do
        while read -r name; do
            sed 's/\\-/-/g' "$page" | grep -q -e "$(case $page in *fish) echo "-l $name" ;; *) echo "--$name" ;; esac)\\>" || fail "$page has no --$name"
        done <options
        while read -r name; do grep -q "\\<$name\\>" "$page" || fail "$page has no $name"; done <subcommands
    done
    line='functions on the page of the library'
    cat "$sources"/compiler/fx.h "$sources"/compiler/plan.h "$sources"/runtime/fx_runtime.h | sed -n 's/^[a-z].*[ *]\(fx_[a-z0-9_]*\)(.*/\1/p' | sort -u >functions
    holds test "$(wc -l <functions)" -gt 50
    while read -r name; do grep -q "\\<$name(" "$share/man/man3/libfx.3" || fail "libfx.3 has no $name"; done <functions
    if command -v bash >bash.path; then
        expect 0 bash -c ". '$share/bash-completion/completions/fxc' && COMP_WORDS=(fxc run --se) COMP_CWORD=2 && _fxc 2>&1; echo \"\${COMPREPLY[*]}\""
        says out '^--seed=$'
        expect 0 bash -c ". '$share/bash-completion/completions/fxc' && COMP_WORDS=(fxc tra) COMP_CWORD=1 && _fxc; echo \"\${COMPREPLY[*]}\""
        says out '^trace$'
    fi
    command -v mandoc >mandoc.path || return 0
    for page in man1/fxc.1 man3/libfx.3 man5/fx.5; do expect 0 mandoc -Tlint -Werror "$share/man/$page"; done
}

# The same program by find_package, and one of a spec that CMake has compiled ahead of time, again when what it includes changes. Where there is no cmake, nothing is looked at.
check_cmake() {
    command -v cmake >cmake.path || return 0
    mkdir cmake lib
    cp "$examples/embed.c" cmake
    printf 'fn half(x) = x * 0.5\n' >lib/half.fx
    printf 'include "half.fx"\nkernel scale(x: f32[N], a: f32) -> y: f32[N] { y = half(x) * a }\n' >cmake/scale.fx
    printf '#include "scaling.h"\nint main(void) { return scale_prepare() != scaling_NO_DRIVER; }\n' >cmake/main.c
    cat >cmake/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(embedding C)
find_package(fx 0.1 CONFIG REQUIRED)
add_executable(embed embed.c)
target_link_libraries(embed fx::fx)
add_executable(embed_static embed.c)
target_link_libraries(embed_static fx::static)
add_executable(ahead EXCLUDE_FROM_ALL main.c)
fx_compile(ahead scale.fx ARCH sm_80 sm_90a NAME scaling INCLUDE_DIRS ../lib)
CMAKE
    expect 0 cmake -S cmake -B built -DCMAKE_PREFIX_PATH="$work/prefix"
    expect 0 cmake --build built
    for program in embed embed_static; do
        expect 0 env FX_LIBCUDA="$fakes/fake_cuda.so" FX_LIBNVRTC="$fakes/fake_nvrtc.so" built/$program
        holds test "$(wc -l <out)" = 2
    done
    "$fxc" doctor >doctor 2>&1 || return 0
    expect 0 cmake --build built --target ahead
    holds test -s built/fx/ahead/scaling.d
    ln -s "$fakes/fake_cuda.so" libcuda.so.1
    expect 1 env LD_LIBRARY_PATH="$PWD" built/ahead # a driver, and no context
    before=$(cksum <built/fx/ahead/scaling_sm_80.cu)
    sleep 1
    printf 'fn half(x) = x * 0.25\n' >lib/half.fx
    expect 0 cmake --build built --target ahead
    holds test "$before" != "$(cksum <built/fx/ahead/scaling_sm_80.cu)"
}
[ "$(basename "$(dirname "$fxc")")" = mutants_c ] || check_install

# The demo's reference tells a value from the next one: gelu(1) is 0.84134, in bf16 16215 / 2^14.
group reference
reference() { printf 'tensor x\n1 0\ntensor w\n1 0 5 5\ntensor b\n0 0\ntensor y\n%s 0\n' "$1" | awk -f "$examples/linear_gelu_reference.awk" >out; }
line='the reference of linear_gelu'
holds reference 16215
says out '^2 elements compared, 0 wrong'
holds test "$(reference 16216; echo $?)" = 1
holds test "$(reference 16214; echo $?)" = 1
holds test "$(reference 32704; echo $?)" = 1 # a NaN

group examples
expect 0 "$fxc" "$examples/linear_gelu.fx" "$examples/mlp.fx"
expect 0 "$fxc" run --device=cpu "$examples/mlp.fx" -i "x=$examples/data/criteo.npy" -o y=y.npy
holds test "$(wc -c <y.npy)" = 256
if "$fxc" doctor >doctor 2>&1; then
    expect 0 "$fxc" --emit=cubin "$examples/linear_gelu.fx"
    holds test "$(head -c 4 linear_gelu.cubin | tail -c 3)" = ELF
    expect 0 "$fxc" --emit=ptx -o - "$examples/linear_gelu.fx"
    says out '^.version'
fi

group names # of headers, under nvcc and the host's C compiler; NVRTC compiles them in unit/test_nvrtc
cp "$cuda_goldens/names.fx" .
expect 0 "$fxc" --emit=cu names.fx
expect 0 "$fxc" --emit=host-c names.fx
expect 0 "$fxc" --emit=vendor -o vendored.cu names.fx
says vendored.cu '^extern "C" cudaError_t .*_launch(cudaStream_t stream'
if command -v nvcc >nvcc; then
    expect 0 nvcc -arch=sm_90a -ptx -Werror all-warnings -o names.ptx names.cu
    expect 0 nvcc -Xcompiler -Wall,-Wextra,-Werror -c -o names.o names.c
    expect 0 nvcc -gencode arch=compute_90a,code=sm_90a -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -c -o vendored.o vendored.cu
    # What the scheme stands on: no macro ends in an underscore unless it begins with one.
    : >empty.cu
    expect 0 sh -c 'nvcc -arch=sm_90a -E -Xcompiler -dM empty.cu >macros'
    says macros '#define M_PI_2 '
    expect 1 grep -E '^#define [A-Za-z][A-Za-z0-9_]*_( |\(|$)' macros
fi

cd "$work" || exit 3
echo "cli: $passed passed, $failed failed"
[ $failed = 0 ]
