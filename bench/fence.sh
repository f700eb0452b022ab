#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the proxy fence of a release costs: the row sums of docs/pipelines.md, whose tape has one, beside the same tape without that line.
# Rounds of both, each in random order; medians of the rounds' times and of their ratios.
#
#     bench/fence.sh build/release tapes DIR    record them into DIR, where there is a C compiler
#     bench/fence.sh build/release run DIR      Markdown, of GPU 0; ROUNDS=15
set -eu
[ $# = 3 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 2; }
b=$1 dir=$3
rounds=${ROUNDS:-15} line='fence.proxy kind=async.shared'
random=$(od -An -N4 -tu4 /dev/urandom)
micros() { # tape, rows, columns, options: the median
    t=$1 m=$2 n=$3
    shift 3
    "$b/sett" bench "$t" X="${m}x$n" S="$m" --iterations 100 "$@" --json | sed -n 's/.*"median_us": \([0-9.]*\).*/\1/p'
}
measure() { # rows, columns, options
    i=0
    while [ $((i += 1)) -le "$rounds" ]; do
        random=$(((random * 1103515245 + 12345) % 2147483648))
        if [ $((random / 65536 % 2)) = 0 ]; then
            with=$(micros "$dir/sums.tape" "$@") without=$(micros "$dir/sums_unfenced.tape" "$@")
        else
            without=$(micros "$dir/sums_unfenced.tape" "$@") with=$(micros "$dir/sums.tape" "$@")
        fi
        echo "$with $without"
    done | awk -v what="$1 x $2 ${3:-}" '
        function at(a, n, q) {return a[1 + int(q * (n - 1) + .5)]}
        function sorted(a, n,   i, j, x) {for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) {x = a[j]; a[j] = a[j - 1]; a[j - 1] = x}}
        {w[NR] = $1 + 0; o[NR] = $2 + 0; r[NR] = $1 / $2}
        END {
            sorted(w, NR); sorted(o, NR); sorted(r, NR)
            printf "| %s | %.2f | %.2f | %.4f | %.4f to %.4f |\n", what, at(w, NR, .5), at(o, NR, .5), at(r, NR, .5), at(r, NR, .1), at(r, NR, .9)
        }'
}
case $2 in
tapes)
    mkdir -p "$dir/one"
    tests/readme.sh "$b" >/dev/null
    program=$(grep -lx '#line 1 "sums.c"' "$b"/readme/docs-pipelines-*.c)
    SETT_DUMP=tape:$dir/one "${program%.c}" >/dev/null
    mv "$dir"/one/*.tape "$dir/sums.tape"
    rmdir "$dir/one"
    [ "$(grep -c "$line" "$dir/sums.tape")" = 1 ] || { echo "sums.tape has not one line of $line" >&2; exit 1; }
    grep -v "$line" "$dir/sums.tape" >"$dir/sums_unfenced.tape"
    ;;
run)
    echo "| float32 | with the fence, us | without, us | ratio | p10 to p90 |"
    echo "| --- | --: | --: | --: | --- |"
    measure 16384 16384 --workspaces 2
    measure 4224 2048 --hot # all of it in L2
    ;;
esac
