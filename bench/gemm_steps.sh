#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The figures of docs/gemm.md: each of its kernels as it stands in the page or in its example, at 8192 x 8192 x 8192.
#
#     bench/gemm_steps.sh build/release tapes DIR    record them into DIR, where there is a C compiler
#     bench/gemm_steps.sh build/release run DIR      TFLOP/s of each on GPU 0
set -eu
[ $# = 3 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0"; exit 2; }
b=$1 dir=$3
size=${SIZE:-8192}
of_page() { # the program of the page that begins with this name
    c=$(grep -lx "#line 1 \"$1.c\"" "$b"/readme/docs-gemm-*.c)
    dump "$1" "${c%.c}"
}
dump() { # name, program
    rm -rf "${dir:?}/$1"
    SETT_DUMP=tape:$dir/$1 "$2" >/dev/null
    set -- "$1" "$dir/$1"/*.tape # the first: gemm_mma-..., not gemm_mma_fp8-...
    mv "$2" "$dir/$1.tape"
    rm -r "${dir:?}/$1"
}
case $2 in
tapes)
    mkdir -p "$dir"
    tests/readme.sh "$b" >/dev/null
    of_page naive
    of_page hopper
    dump gemm_simt "$b/examples/gemm_simt"
    dump gemm_mma "$b/examples/gemm_mma"
    ;;
run)
    for k in naive gemm_simt gemm_mma hopper; do
        echo "$k: $("$b/sett" bench "$dir/$k.tape" A="${size}x$size" B="${size}x$size" C="${size}x$size" --flops $((2 * size * size * size)) --iterations 5 --warmup 2 --workspaces 1)"
    done
    ;;
esac
