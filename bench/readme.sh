#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rows of README's "Measured" that need a GPU, most important first, as Markdown on standard output, each as soon as it is there. What
# they are made of goes to standard error. It takes about eight minutes; parts that take longer than their share are cut off.
#
#     bench/readme.sh BUILD [products] [attention] [peers] [mlp] [launches]     with torch and, in BUILD, what `make wheel portable` made
#
# $BENCH_COMMIT, or BUILD/commit, says of which commit that is. SCALE=2 doubles the shares.
set -u
b=$(cd "${1:?a build folder}" && pwd) || exit 2
shift
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- products attention peers mlp launches
BENCH_COMMIT=${BENCH_COMMIT:-$(cat "$b/commit" 2>/dev/null)}
SETT_CACHE_DIR=$(mktemp -d)
export BENCH_COMMIT SETT_CACHE_DIR PYTHONPATH="$b/python/tree" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
trap 'rm -rf "$SETT_CACHE_DIR"' EXIT
began=$(date +%s)

within() { # seconds, command...
    seconds=$(($1 * ${SCALE:-1}))
    shift
    echo >&2
    echo "$(($(date +%s) - began)) s: $*" >&2
    timeout -k 5 "$seconds" "$@" || echo "$* ended with $? (124: cut off after $seconds s)" >&2
}

echo "$(date -u +%Y-%m-%d), $BENCH_COMMIT, $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
"$b/sett" doctor >&2
for part; do
    echo
    case $part in
    products) within 130 python3 bench/products.py readme main few fp8 ;;
    attention) within 60 python3 bench/attention.py ;;
    peers) within 190 python3 bench/peers.py add layer_norm softmax rms_norm silu_mul sum transpose softmax_odd rms_norm_odd ;;
    mlp) within 90 python3 bench/mlp.py 4096 512 1 ;;
    launches)
        within 15 "$b/bench/issue"
        within 15 "$b/bench/issue" maps
        within 15 "$b/bench/graph"
        within 25 python3 bench/python_calls.py
        within 30 "$b/bench/start"
        within 30 "$b/bench/compile_time"
        ;;
    *) echo "readme.sh: no part $part" >&2 && exit 2 ;;
    esac
done
echo "$(($(date +%s) - began)) s in all" >&2
