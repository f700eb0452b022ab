#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/rows.sh [TREE [write]]: tables whose rows have their numbers in tapes on disk are append only. tests/abi/tape.rows has the
# rows that there were: each table must begin with them. write: adds new rows there. Another SETT__TAPE_VERSION begins the list
# anew, as older tapes are refused then. lint.sh runs it; tables_planted.sh tests it.
#
# A line is a table and a row, of map.def and sig.def an option and its first bit. Each list of attrs.def is a table; its rows say what a tape means that leaves them out.
set -u
cd "${1:-.}" || exit 1
kept=tests/abi/tape.rows
now=$(mktemp)
trap 'rm -f "$now"' EXIT
rows() { # a table, its macro: that expands to "@ table row"
    gcc -E -P -x c -D"$2" "lib/tape/$1" | tr '@' '\n' | sed -n 's/"//g; s/^ \([^ ]*\) */\1@/; s/ //g; s/@/ /p'
}
{
    sed -n 's/^#define SETT__TAPE_VERSION /version /p' lib/tape/tape.h
    rows ops.def 'OP(name, ...)=@ ops.def name'
    rows mma.def 'MMA(text, ...)=@ mma.def text'
    rows map.def 'MAP_OPTION(name, word, bit, most, first)=@ map.def name:bit'
    rows sig.def 'PARAM_OPTION(name, bit, first, second)=@ sig.def name:bit'
    rows attrs.def 'ATTR(list, name, text, kind, least, most, usual, words)=@ attrs.def:list name=usual'
} >"$now"

bad=0
if [ "$(head -n 1 "$kept")" = "$(head -n 1 "$now")" ]; then
    awk '
        FNR == NR {was[$1, ++n_was[$1]] = $2; next}
        ++n[$1] <= n_was[$1] && $2 != was[$1, n[$1]] && !said[$1]++ {
            print "lib/tape/" $1 " is append only, since tapes on disk have the numbers of its rows: row " n[$1] - 1 " was " was[$1, n[$1]] " and is " $2
        }
        END {
            for (t in n_was)
                if (n[t] < n_was[t] && !said[t]++)
                    print "lib/tape/" t " is append only, since tapes on disk have the numbers of its rows: row " n_was[t] - 1 ", " was[t, n_was[t]] ", is gone"
            for (t in said) exit 1
        }' "$kept" "$now" || bad=1
fi
if [ "$bad" = 0 ] && ! cmp -s "$kept" "$now"; then
    if [ "${2:-}" = write ]; then
        cp "$now" "$kept"
    else
        echo "lib/tape has new rows: tests/rows.sh . write" && bad=1
    fi
fi
exit $bad
