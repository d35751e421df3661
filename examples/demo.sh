#!/bin/sh
# The whole path on two examples: spec to CUDA, to a cubin, to numbers, checked and explained.
#
# Input: demo.sh FXC. Output: every step with a line before it saying what it is, files in build/demo, and a closing line; exit 1 when a
# step fails. Uses a GPU where there is one and the oracle where not.
#
# data/criteo.npy holds two rows of the Criteo click log after log(1+x), f32 [2,13]:
#   5 110 0 16 0 1 0 14 7 1 0 306 0
#   32 3 5 0 1 0 0 61 5 0 1 3157 5
# written by numpy.save("criteo.npy", numpy.log1p(numpy.array(rows, "f4"))).
set -eu
case $1 in /*) fxc=$1 ;; *) fxc=$PWD/$1 ;; esac
examples=$(cd "$(dirname "$0")" && pwd)
out=$examples/../build/demo
mkdir -p "$out"
cd "$out"
trap 'status=$?; [ $status = 0 ] || echo "demo: failed with exit status $status"' EXIT

step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*" && "$@"; }

step 'a spec: linear, bias and gelu, axes by name'
cat "$examples/linear_gelu.fx"

step 'compile it, and a four-layer MLP, to CUDA'
show "$fxc" "$examples/linear_gelu.fx" "$examples/mlp.fx"
ls -l linear_gelu.cu mlp.cu

step 'what was emitted: the launch contract, then the part that is this spec alone'
sed '/^$/q' linear_gelu.cu
printf '...\n\n'
sed -n '/^\/\/ ==== generated from/,$p' linear_gelu.cu | tee generated.cu
grep -q __global__ generated.cu

arch=$("$fxc" doctor | sed -n 's/^gpu: .*, \(sm_[0-9a-z]*\), .*/\1/p')
step "compile that to machine code for ${arch:-sm_90a, as there is no GPU here}"
show "$fxc" --emit=cubin --arch="${arch:-sm_90a}" -o linear_gelu.cubin "$examples/linear_gelu.fx"
ls -l linear_gelu.cubin

step 'draw the weights of the MLP, scaled to each layer, into .npy files'
cat >draw.fx <<'FX'
kernel matrix(w: f32[R,C]) -> y: f32[R,C] { y = w }
kernel vector(w: f32[R]) -> y: f32[R] { y = w }
FX
draw() { "$fxc" run --device=cpu draw.fx "$@"; }
weights=
layer() { # NUMBER OUT IN DEVIATION
    draw -k matrix --seed="$1" -D R="$2" -D C="$3" -i "w=normal(0,$4)" -o "y=w$1.npy"
    draw -k vector --seed="$1" -D R="$2" -i 'w=normal(0,0.1)' -o "y=b$1.npy"
    weights="$weights -i w$1=w$1.npy -i b$1=b$1.npy"
}
layer 1 512 13 0.39
layer 2 256 512 0.0625
layer 3 64 256 0.088
layer 4 16 64 0.177
ls w?.npy b?.npy

step 'run the MLP on two rows of a click log, on the GPU if there is one, by the oracle if not'
cp "$examples/data/criteo.npy" criteo.npy
inputs="-i x=criteo.npy $weights"
show "$fxc" run "$examples/mlp.fx" $inputs
"$fxc" run "$examples/mlp.fx" $inputs -o y=y.npy 2>run.log

step 'work the network out once more without fx, and compare'
numbers() { # FILE: the elements behind the header, whose length stands at byte 8
    od -An -v -t f4 -j $((10 + $(od -An -t u2 -j 8 -N 2 "$1"))) "$1"
}
for name in x w1 b1 w2 b2 w3 b3 w4 b4 y; do
    file=$name.npy
    [ $name != x ] || file=criteo.npy
    echo "tensor $name"
    numbers "$file"
done | awk -f "$examples/mlp_reference.awk"

step 'compare the GPU with the oracle, element by element'
status=0
"$fxc" check "$examples/mlp.fx" $inputs >check.log || status=$?
cat check.log
# Without a GPU there is nothing to compare, and the run above was the oracle's: that one line is then the expected answer.
[ $status = 0 ] || { [ $status = 6 ] && [ -z "$arch" ] && grep -q '^not checked: no GPU' check.log; }

step 'the receipts: where each line of a spec went, and why'
show "$fxc" explain "$examples/linear_gelu.fx" -D M=4096 -D K=4096 -D N=4096
show "$fxc" explain "$examples/mlp.fx" -D B=2

printf '\ndemo: everything passed; files are in build/demo\n'
