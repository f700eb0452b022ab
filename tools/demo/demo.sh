#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo`: real input end to end, on a GPU where there is one, else on the CPU engine. SIZE=4096 is the edge of
# the matrices (a multiple of 256).
set -eu
b=$1
size=${SIZE:-4096}
d=build/demo
rm -rf "$d"
mkdir -p "$d"
export SETT_CACHE_DIR="$PWD/$d/cache"
sett=$b/sett
tv='make_layout_tv((4,32):(32,1),(4,8):(8,1))'

echo "== two $size x $size matrices of random halves"
"$b/demo" make "$d/a.npy" "$size" "$size" 1
"$b/demo" make "$d/b.npy" "$size" "$size" 2

echo "== the layout (thread, value) -> element of a 16 x 256 tile"
"$sett" layout "$tv" | head -n 1
"$sett" layout --emit svg "$tv" -o "$d/tv.svg"
echo "drawn in $d/tv.svg"

echo "== C = A + B by the sett command"
"$sett" run add_tv A="$d/a.npy" B="$d/b.npy" C=:"$d/c.npy"
"$b/demo" check add "$d/a.npy" "$d/b.npy" "$d/c.npy"
echo "== C = relu(A B), an operator given as a C function"
"$sett" run apply --op mul_relu A="$d/a.npy" B="$d/b.npy" C=:"$d/m.npy"
"$b/demo" check mul_relu "$d/a.npy" "$d/b.npy" "$d/m.npy"

echo "== through the C API, first process: nothing cached"
export SETT_CACHE_DIR="$PWD/$d/cache2"
"$b/demo" api "$d/a.npy" "$d/b.npy"
echo "== through the C API, second process"
"$b/demo" api "$d/a.npy" "$d/b.npy"
