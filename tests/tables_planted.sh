#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks of lib/tape's tables find what they are there to find: a copy of the sources gets one change, and the check must
# see it.
#   tests/tables_planted.sh
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
clean() {
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree/lib" "$tmp/tree/tests"
    cp -r lib/tape "$tmp/tree/lib/"
    cp -r ptx "$tmp/tree/"
    cp -r tests/abi "$tmp/tree/tests/"
}
complain() { echo "tables_planted: $*" && bad=1; }
# Rows of a table begin a line. The copy's table gets row 1, 2 ... or the last (0) twice, the first time without its comment.
double() { # table, row
    awk -v at="$2" '{line[NR] = $0} /^[A-Z][A-Z0-9_]*\(/ {row[++n] = NR}
        END {
            for (i = 1; i <= NR; i++) {
                planted = line[i]
                sub(/ *\/\*.*/, "", planted)
                if (i == row[at ? at : n]) print planted
                print line[i]
            }
        }' "lib/tape/$1" >"$tmp/tree/lib/tape/$1"
}

# ---- the digest of the code generator: every table and every source that it is said to have ------------------------
clean
digest=$(tests/codegen.sh)
[ "$(tests/codegen.sh "$tmp/tree")" = "$digest" ] || complain "a copy of the sources has another digest"
for f in lib/tape/*.def; do
    clean
    double "$(basename "$f")" 0
    [ "$(tests/codegen.sh "$tmp/tree")" != "$digest" ] || complain "a row planted in $f leaves the digest as it is"
done
for f in lib/tape/form.c lib/tape/inline_text.c lib/tape/target.c ptx/lower.c; do
    clean
    echo 'enum { PLANTED };' >>"$tmp/tree/$f"
    [ "$(tests/codegen.sh "$tmp/tree")" != "$digest" ] || complain "what is planted in $f leaves the digest as it is"
    clean
    echo '/* planted */' >>"$tmp/tree/$f"
    [ "$(tests/codegen.sh "$tmp/tree")" = "$digest" ] || complain "a comment planted in $f changes the digest"
done
exit $bad
