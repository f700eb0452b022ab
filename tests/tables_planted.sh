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

# ---- append only: rows whose numbers are in tapes on disk ------------------------------------------------------------
finds() { # what was planted, the text that must be said of it
    said=$(tests/rows.sh "$tmp/tree" write) && { complain "$1: not found" && return; }
    case $said in *"$2"*) ;; *) printf 'tables_planted: %s: it says\n%s\nand not\n%s\n' "$1" "$said" "$2" && bad=1 ;; esac
}
clean
said=$(tests/rows.sh "$tmp/tree") || complain "the clean tree: $said"
for planted in mma.def:3 ops.def:40 attrs.def:18; do
    clean
    double "${planted%:*}" "${planted#*:}"
    finds "a row in the middle of ${planted%:*}" "lib/tape/${planted%:*}"
    finds "a row in the middle of ${planted%:*}" "is append only"
done
clean
sed '/^MMA("m8n8k4.f64/d' lib/tape/mma.def >"$tmp/tree/lib/tape/mma.def"
finds "a row that is gone from mma.def" 'lib/tape/mma.def is append only'
clean
sed '/^OP(EX2F/d' lib/tape/ops.def >"$tmp/tree/lib/tape/ops.def"
finds "the last row, gone from ops.def" 'EX2F, is gone'
clean
sed 's/^\(ATTR(SHFL, WIDTH, .*\), 32, NULL/\1, 16, NULL/' lib/tape/attrs.def >"$tmp/tree/lib/tape/attrs.def"
finds "another meaning of what is left out" 'row 0 was WIDTH=32 and is WIDTH=16'
clean
sed 's/^MAP_OPTION(nan, "nan", 4,/MAP_OPTION(nan, "nan", 5,/' lib/tape/map.def >"$tmp/tree/lib/tape/map.def"
finds "other bits of a tensor map" 'row 2 was nan:4 and is nan:5'
clean
sed 's/^PARAM_OPTION(wide, 1, /PARAM_OPTION(wide, 5, /' lib/tape/sig.def >"$tmp/tree/lib/tape/sig.def"
finds "other bits of a parameter" 'row 1 was wide:1 and is wide:5'
# A row at the end is no complaint once it is written down, and stays where it is from then on.
clean
double mma.def 0
said=$(tests/rows.sh "$tmp/tree") && complain "a row at the end of mma.def: not found"
[ "$said" = "lib/tape has new rows: tests/rows.sh . write" ] || complain "a row at the end of mma.def: $said"
said=$(tests/rows.sh "$tmp/tree" write && tests/rows.sh "$tmp/tree") || complain "a row at the end of mma.def, written down: $said"
cp lib/tape/mma.def "$tmp/tree/lib/tape/"
finds "that row, gone again" 'm64nNk32.s32.u8.u8, is gone'
exit $bad
