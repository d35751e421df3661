#!/bin/sh
# The whole path on one spec: to CUDA, to machine code, to numbers, compared with an independent computation, explained.
#
# Input: demo.sh FXC. Output: a screen, and a page of CUDA; files in build/demo; exit 1 when a step fails. What is run is
# what is shown: on a GPU where there is one, else on the emulator. The extents are those of the data: with them open
# there are a hundred entries for all extents, which take a minute to compile.
#
# data/criteo.npy holds two rows of the Criteo click log after log(1+x), f32 [2,13]:
#   5 110 0 16 0 1 0 14 7 1 0 306 0
#   32 3 5 0 1 0 0 61 5 0 1 3157 5
# written by numpy.save("criteo.npy", numpy.log1p(numpy.array(rows, "f4"))).
set -eu
case $1 in /*) fxc=$1 ;; *) fxc=$PWD/$1 ;; esac
examples=$(cd "$(dirname "$0")" && pwd)
out=$(dirname "$examples")/build/demo
mkdir -p "$out"
cd "$out"
trap 'status=$?; [ $status = 0 ] || echo "demo: failed with exit status $status"' EXIT

step() { printf '\n== %s\n' "$*"; }
show() { echo "\$ fxc $*" && "$fxc" "$@" 2>&1; }

cp "$examples/linear_gelu.fx" "$examples/data/criteo.npy" .
arch=$("$fxc" doctor | sed -n 's/^gpu: .*, \(sm_[0-9a-z]*\), .*/\1/p')
: "${arch:=sm_90a}"
extents='-D M=2 -D K=13 -D N=16'

echo 'fx compiles tensor algebra over named axes to fused CUDA: one readable file, checked and run from the same spec.'

step 'a spec'
cat linear_gelu.fx

step 'its CUDA for two rows, of which this is the generated part'
show --arch="$arch" $extents linear_gelu.fx
sed -n '/^\/\/ ==== generated from/,$p' linear_gelu.cu | tee generated.cu
grep -q __global__ generated.cu

step 'that file, to machine code'
show --emit=cubin --arch="$arch" $extents linear_gelu.fx
echo "linear_gelu.cu has $(wc -l <linear_gelu.cu) lines, linear_gelu.cubin $(wc -c <linear_gelu.cubin) bytes for $arch"

step 'that code, run on two rows of a click log and drawn weights'
cat >draw.fx <<'FX'
kernel w(r: f32[K=13,N=16]) -> y: f32[K,N] { y = r }
kernel b(r: f32[N=16]) -> y: f32[N] { y = r }
FX
for name in w b; do "$fxc" run --device=cpu draw.fx -k $name -i 'r=normal(0,0.3)' -o y=$name.npy; done
show run --arch="$arch" linear_gelu.fx $extents -i x=criteo.npy -i w=w.npy -i b=b.npy -o y=y.npy

step 'the same worked out by awk, from the same files'
numbers() { # FILE TYPE: the elements behind the header, whose length stands at byte 8
    od -An -v -t "$2" -j $((10 + $(od -An -t u2 -j 8 -N 2 "$1"))) "$1"
}
{
    for name in x w b; do
        file=$name.npy
        [ $name != x ] || file=criteo.npy
        echo "tensor $name"
        numbers "$file" f4
    done
    echo 'tensor y'
    numbers y.npy u2
} | awk -f "$examples/linear_gelu_reference.awk"

step 'the receipt, at a size worth a GPU'
show explain --arch="$arch" linear_gelu.fx -D M=4096 -D K=4096 -D N=4096

printf '\ndemo: everything passed; files are in build/demo\n'
