#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of rooms (rooms.txt), enforced twice: by what files include, and by the symbols that the objects take from each
# other. Also: no face or inside.h over 250 lines, no face that includes an inside.h, at most 8 files in one circle of a room.
# rooms_planted.sh tests this script.
#   tests/rooms.sh [build folder] [table] [root of the sources]
set -u
b=${1:-build/release}
table=${2:-tests/rooms.txt}
root=${3:-.}
here=$(cd "$root" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "room used" for all that a room may use, itself too.
awk '/^[a-z/]+:/ {r = $1; sub(":", "", r); known[r] = 1; print r, r; for (i = 2; i <= NF; i++) print r, $i}' "$table" |
    awk '{may[$1, $2] = 1; name[$1] = 1; name[$2] = 1}
         END {for (k in name) for (i in name) if ((i, k) in may) for (j in name) if ((k, j) in may) may[i, j] = 1
              for (p in may) {split(p, x, SUBSEP); print x[1], x[2]}}' | sort >"$tmp/may"
# A table with a circle allows what it is there to forbid.
awk '$1 != $2 {may[$1, $2] = 1} END {for (p in may) {split(p, x, SUBSEP); if ((x[2], x[1]) in may && x[1] < x[2]) print x[1], "and", x[2], "use each other in the table"}}' \
    "$tmp/may" >"$tmp/bad"

# ---- includes -----------------------------------------------------------------------------------------------
(cd "$root" && find lib jit ptx remote plug -name '*.[ch]' | sort | xargs grep -nE '^ *# *include *"') |
    sed -E 's/^([^:]*):([0-9]+): *# *include *"([^"]*)".*/\1 \2 \3/' |
    awk -v may="$tmp/may" '
        BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1; room[x[1]] = 1}}
        function folder(f) {sub("/[^/]*$", "", f); return f}
        function room_of(f,   d) {d = folder(f); while (d != "" && !(d in room) && d ~ "/") d = folder(d); return d}
        {
            from = room_of($1); to = $3 ~ "/" ? $3 : folder($1) "/" $3; r = room_of(to); file = to; sub(".*/", "", file)
            if (!(r in room)) next
            base = r; sub(".*/", "", base)
            if (!((from, r) in ok)) print $1 ":" $2 ": " from " includes " $3 " of " r ", which it may not use"
            else if (from != r && r != "plug" && file != base ".h") print $1 ":" $2 ": " from " includes " $3 ", which is not the face of " r
            if (from == r && $1 == from "/" base ".h" && file == "inside.h") print $1 ":" $2 ": a face includes an inside.h"
        }' >>"$tmp/bad"
(cd "$root" && for r in $(awk '{print $1}' "$tmp/may" | sort -u); do
    for h in "$r/$(basename "$r").h" "$r/inside.h"; do
        [ ! -f "$h" ] || [ "$(wc -l <"$h")" -le 250 ] || echo "$h has $(wc -l <"$h") lines, of at most 250"
    done
done) >>"$tmp/bad"

# ---- symbols -------------------------------------------------------------------------------------------------
# "file D symbol", "file U symbol function-or-section"; who names a symbol is found by the relocations.
(cd "$b/obj" && find lib jit ptx remote -name '*.o' | sort | while read -r o; do
    [ -f "$here/${o%.o}.c" ] || continue # of a file that was moved or removed
    nm "$o" | awk -v f="${o%.o}.c" '$NF ~ /^sett_/ && $(NF - 1) ~ /^[TDRBVW]$/ {print f, "D", $NF}'
    objdump -r "$o" | awk -v f="${o%.o}.c" '
        /^RELOCATION RECORDS FOR/ {s = $4; gsub(/\[|\]|:/, "", s); sub(/^\.(rela\.)?(text|rodata|data\.rel\.ro|data\.rel|data)(\.local)?\.?/, "", s); skip = s ~ /^\.(debug|eh_frame)/; next}
        !skip && $3 ~ /^sett_/ {t = $3; sub(/[-+]0x.*/, "", t); if (!seen[t]++) print f, "U", t, s == "" ? "?" : s}'
done) >"$tmp/symbols"
awk -v may="$tmp/may" -v out="$tmp/calls" '
    BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1; room[x[1]] = 1}}
    function room_of(f,   d) {d = f; do sub("/[^/]*$", "", d); while (d != "" && !(d in room) && d ~ "/"); return d}
    $2 == "D" {at[$3] = $1; next}
    {n++; file[n] = $1; sym[n] = $3; by[n] = $4}
    END {
        for (i = 1; i <= n; i++) {
            if (!(sym[i] in at) || at[sym[i]] == file[i]) continue
            from = room_of(file[i]); to = room_of(at[sym[i]])
            if (from == to) {print from, file[i], at[sym[i]] >out; continue}
            if (!((from, to) in ok)) print file[i] ": " by[i] "() of " from " uses " sym[i] " of " to " (" at[sym[i]] "), which is above it or beside it"
        }
    }' "$tmp/symbols" >>"$tmp/bad"
# Files that reach each other inside a room: by the closure of who calls whom.
touch "$tmp/calls"
awk '{room[$2] = $1; room[$3] = $1; to[$2, $3] = 1; f[$2] = 1; f[$3] = 1}
     END {for (k in f) for (i in f) if (room[i] == room[k] && (i, k) in to) for (j in f) if ((k, j) in to) to[i, j] = 1
          for (i in f) {n = 0; who = ""; for (j in f) if (i != j && (i, j) in to && (j, i) in to) {n++; who = who " " j}
              if (n + 1 > 8) print room[i] ": " i " is in a circle of " n + 1 " files:" who}}' "$tmp/calls" | sort >"$tmp/circles"
awk '/^(lib|jit)/ {sub(":", "", $1); print $1 ": " $8, "files call each other in a circle; at most 8 may"; exit}' "$tmp/circles" >>"$tmp/bad"

# ---- pointers to functions -----------------------------------------------------------------------------------
# A face that takes a function of its caller's must say so in the table.
(cd "$root" && for r in $(awk '$1 ~ "/" {print $1}' "$tmp/may" | sort -u); do
    h=$r/$(basename "$r").h
    [ -f "$h" ] && awk -v r="$r" '/^typedef [a-z_ *]*sett__[a-z_]+\(/ {n = $0; sub(/\(.*/, "", n); sub(/.*[ *]/, "", n); print r, n}
        /^[a-z].*\(\*[a-z_]*\)\(/ && !/^typedef/ {n = $0; sub(/\(.*/, "", n); sub(/.*[ *]/, "", n); print r, n}
        /^typedef struct sett__/ {s = $3} /^    [a-z_ ]+\*?\(\*[a-z_]+\)\(/ && !/sett__cu_/ {print r, s}' "$h"
done) | sort -u >"$tmp/pointers"
while read -r r name; do
    grep -q "^pointer $name $r:" "$table" || echo "$r/$(basename "$r").h: $name holds a function of its user's and is not in $table"
done <"$tmp/pointers" >>"$tmp/bad"

[ -s "$tmp/bad" ] || exit 0
cat "$tmp/bad"
exit 1
