#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of rooms (rooms.txt), enforced twice: by what files include, and by the symbols that the objects take from each
# other, public headers and their types too. Also: no member of a build that lib/build does not use, no face, inside.h or header that they include over 250 lines, no face that includes an inside.h, at most 8 files in one circle of a room.
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
# A path is taken as the compiler takes it: from the folder of the file that includes, then from the root, without "..".
(cd "$root" && find lib jit ptx remote plug -name '*.[ch]' -o -name '*.inc' -o -name '*.def' | sort | xargs grep -nE '^[[:space:]]*(#|%:)[[:space:]]*include') |
    sed -E 's/^([^:]*):([0-9]+):[[:space:]]*(#|%:)[[:space:]]*include[[:space:]]*("[^"]*"|<[^>]*>|[^[:space:]]*).*/\1 \2 \4/' |
    awk -v may="$tmp/may" -v root="$root" -v uses="$tmp/uses" -v faces="$(sed -n 's/^face \([^:]*\):.*/\1/p' "$table")" '
        BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1; room[x[1]] = 1}; n_face = split(faces, x, "\n"); for (i = 1; i <= n_face; i++) face[x[i]] = 1}
        function folder(f) {return sub("/[^/]*$", "", f) ? f : ""}
        function room_of(f,   d) {d = folder(f); while (d != "" && !(d in room) && d ~ "/") d = folder(d); return d}
        function plain(f,   n, part, i, out, k, to) {
            n = split(f, part, "/")
            for (i = 1; i <= n; i++)
                if (part[i] == ".." && k) k--; else if (part[i] != "" && part[i] != ".") out[++k] = part[i]
            for (i = 1; i <= k; i++) to = to (i > 1 ? "/" : "") out[i]
            return to
        }
        function is_there(f,   line, is) {is = (getline line <(root "/" f)) >= 0; close(root "/" f); return is}
        $3 !~ /^["<]/ {print $1 ":" $2 ": includes what the macro " $3 " says; name the file"; next}
        $3 ~ /^</ {if ($3 ~ /^<(lib|jit|ptx|remote|plug)\// || $3 ~ /\.\./) print $1 ":" $2 ": includes " $3 " as a file of the system"; next}
        {$3 = substr($3, 2, length($3) - 2)}
        {
            from = room_of($1); to = plain(folder($1) "/" $3); if ($3 ~ "/" && !is_there(to)) to = plain($3); r = room_of(to); file = to; sub(".*/", "", file)
            if (!(r in room)) next
            base = r; sub(".*/", "", base)
            if (from != r) print from, r >>uses
            if (!((from, r) in ok)) print $1 ":" $2 ": " from " includes " $3 " of " r ", which it may not use"
            else if (from != r && r != "plug" && file != base ".h" && !((r "/" file) in face)) print $1 ":" $2 ": " from " includes " $3 ", which is not the face of " r
            if (from == r && $1 == from "/" base ".h" && file == "inside.h") print $1 ":" $2 ": a face includes an inside.h"
        }' >>"$tmp/bad"
# What a reader of a face reads: the face, inside.h, and every header of the room that they include, at most 250 lines each.
own_headers() { # room: those headers, in the order in which they are met
    printf '%s\n' "$1/${1##*/}.h" "$1/inside.h" | awk -v r="$1" '
        function follow(f,   line, name, at, i) {
            if (f in seen) return
            seen[f] = 1
            if ((getline line <f) < 0) return
            do if (line ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
                name = line; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
                more[f, ++n[f]] = index(name, "/") ? name : r "/" name
            } while ((getline line <f) > 0)
            close(f)
            print f
            for (i = 1; i <= n[f]; i++) if (index(more[f, i], r "/") == 1 && substr(more[f, i], length(r) + 2) !~ /\//) follow(more[f, i])
        }
        {follow($0)}'
}
(cd "$root" && for r in $(awk '{print $1}' "$tmp/may" | sort -u); do
    [ -d "$r" ] && for h in $(own_headers "$r"); do
        [ "$(wc -l <"$h")" -le 250 ] || echo "$h has $(wc -l <"$h") lines, of at most 250"
    done
done) >>"$tmp/bad"

# ---- symbols -------------------------------------------------------------------------------------------------
# "file D symbol", "file U symbol function-or-section"; who names a symbol is found by the relocations.
# Objects of files that were moved or removed are left out.
(cd "$b/obj" && find lib jit ptx remote -name '*.o' | sort | while read -r o; do [ ! -f "$here/${o%.o}.c" ] || echo "$o"; done) >"$tmp/objects"
(cd "$b/obj" && xargs -r nm -A <"$tmp/objects" | awk '{f = $1; sub(/\.o:.*/, ".c", f)}
        $(NF - 1) ~ /^[A-TV-Z]$/ {print f, "D", $NF} $(NF - 1) ~ /^[a-tx-z]$/ {print f, "L", $NF}'
    xargs -r objdump -r <"$tmp/objects" | awk '
        / file format / {f = $1; sub(/\.o:$/, ".c", f); split("", seen); next}
        /^RELOCATION RECORDS FOR/ {s = $4; gsub(/\[|\]|:/, "", s); sub(/^\.(rela\.)?(text|rodata|data\.rel\.ro|data\.rel|data)(\.local)?\.?/, "", s); skip = s ~ /^\.(debug|eh_frame)/; next}
        !skip && $3 ~ /^[A-Za-z_]/ {t = $3; sub(/[-+]0x.*/, "", t); if (!seen[t]++) print f, "U", t, s == "" ? "?" : s}') >"$tmp/symbols"
awk -v may="$tmp/may" -v out="$tmp/calls" -v uses="$tmp/uses" '
    BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1; room[x[1]] = 1}}
    function room_of(f,   d) {d = f; do sub("/[^/]*$", "", d); while (d != "" && !(d in room) && d ~ "/"); return d}
    $2 == "D" {at[$3] = $1; next}
    $2 == "L" {own[$1, $3] = 1; next}
    {n++; file[n] = $1; sym[n] = $3; by[n] = $4}
    END {
        for (i = 1; i <= n; i++) {
            if (!(sym[i] in at) || at[sym[i]] == file[i] || (file[i], sym[i]) in own) continue
            from = room_of(file[i]); to = room_of(at[sym[i]])
            if (from == to) {print from, file[i], at[sym[i]] >out; continue}
            print from, to >>uses
            if (!((from, to) in ok)) print file[i] ": " by[i] "() of " from " uses " sym[i] " of " to " (" at[sym[i]] "), which is above it or beside it"
        }
    }' "$tmp/symbols" >>"$tmp/bad"
# Of the whole tree: each arrow of the table allows a use that the room's other arrows do not.
touch "$tmp/uses"
[ "$root" != . ] || awk '/^[a-z\/]+:/ {r = $1; sub(":", "", r); for (i = 2; i <= NF; i++) print r, $i}' "$table" |
    awk -v may="$tmp/may" -v uses="$tmp/uses" '
        BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1}
               while ((getline line <uses) > 0) {split(line, x, " "); to[x[1]] = to[x[1]] " " x[2]}}
        {from[NR] = $1; at[NR] = $2}
        END {
            for (k = 1; k <= NR; k++) {
                m = split(to[from[k]], t, " "); needed = 0
                for (i = 1; i <= m && !needed; i++) {
                    needed = (at[k], t[i]) in ok
                    for (j = 1; j <= NR; j++) if (j != k && from[j] == from[k] && (at[j], t[i]) in ok) needed = 0
                }
                if (!needed) print "the table lets " from[k] " use " at[k] ", and nothing there does but by its other rooms"
            }
        }' >>"$tmp/bad"
# Files that reach each other inside a room: by the closure of who calls whom.
touch "$tmp/calls"
awk '{room[$2] = $1; room[$3] = $1; to[$2, $3] = 1; f[$2] = 1; f[$3] = 1}
     END {for (k in f) for (i in f) if (room[i] == room[k] && (i, k) in to) for (j in f) if ((k, j) in to) to[i, j] = 1
          for (i in f) {n = 0; who = ""; for (j in f) if (i != j && (i, j) in to && (j, i) in to) {n++; who = who " " j}
              if (n + 1 > 8) print room[i] ": " i " is in a circle of " n + 1 " files:" who}}' "$tmp/calls" | sort >"$tmp/circles"
awk '/^(lib|jit)/ {sub(":", "", $1); print $1 ": " $8, "files call each other in a circle; at most 8 may"; exit}' "$tmp/circles" >>"$tmp/bad"

# ---- pointers to functions -----------------------------------------------------------------------------------
# A face, with the headers of its room that it includes, that takes a function of its caller's must say so in the table. Their
# declarations are taken one by one: a whole struct is one. The driver's own functions (sett__cu_) are none of a caller's.
(cd "$root" && for r in $(awk '$1 ~ "/" {print $1}' "$tmp/may" | sort -u); do
    h=$r/${r##*/}.h
    [ -f "$h" ] || continue
    for f in "$h" $(sed -nE 's/^ *# *include *"([^"]*)".*/\1/p' "$h" | sed "s|^[^/]*\$|$r/&|" | grep "^$r/[^/]*\$"); do
        [ ! -f "$f" ] || awk -v r="$r" '
            function name_in(t, before) {sub(before ".*", "", t); sub(/[ *]*$/, "", t); sub(/.*[^A-Za-z0-9_]/, "", t); return t}
            function declared(t,   whole, n, d, i, c, tag) {
                gsub(/[ \t\n]+/, " ", t); sub(/^ /, "", t)
                while (match(t, /__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/)) t = substr(t, 1, RSTART - 1) substr(t, RSTART + RLENGTH)
                if (t ~ /^(_Static_assert|static_assert)/) return
                gsub(/sizeof *\(/, "(", t); whole = t
                if (t ~ /^(typedef )?(struct|union)[^(]*\{/) {
                    tag = t; sub(/ *\{.*/, "", tag); sub(/.* /, "", tag)
                    if (tag ~ /^(struct|union)$/) {tag = t; sub(/ *;? *$/, "", tag); sub(/.*[^A-Za-z0-9_]/, "", tag)}
                    n = split(t, part, /[;{}]/)
                    for (i = 1; i <= n; i++) if (part[i] ~ pointer && part[i] !~ /sett__cu_/) {print r, tag; return}
                    return
                }
                if (t ~ /^typedef [^({]*\(/ && t !~ /^typedef [^(]*\( *\*/) {print r, name_in(t, "\\("); return}
                if (t ~ /^[^(]*\( *\*[^()]*\) *\(/ || t ~ /^[^(]*\( *\*[^()]*\(/) {
                    sub(/^[^(]*\( */, "", t); sub(/^[* ]*(const )?[* ]*/, "", t); sub(/[^A-Za-z0-9_].*/, "", t); print r, t; return
                }
                if (t ~ pointer) {print r, name_in(t, "\\("); return}
                for (i = 1; i <= length(t); i++) {
                    c = substr(t, i, 1)
                    if (c == "(" && d && substr(t, i + 1) !~ /^ *\*/ && substr(t, 1, i - 1) ~ /[A-Za-z0-9_] *$/ && t !~ /^static inline .*\{/) {print r, name_in(whole, "\\("); return}
                    d += (c == "(") - (c == ")")
                }
            }
            BEGIN {pointer = "\\( *\\*[^()]*\\) *\\("}
            {gsub(/"([^"\\]|\\.)*"/, "\"\""); all = all $0 "\n"}
            END {
                while ((i = index(all, "/*")) && (j = index(substr(all, i), "*/"))) all = substr(all, 1, i - 1) " " substr(all, i + j + 1)
                all = "\n" all; gsub(/\\\n/, " ", all); gsub(/\/\/[^\n]*/, "", all); gsub(/\n[ \t]*#[^\n]*/, "", all)
                for (i = 1; i <= length(all); i++) {
                    c = substr(all, i, 1)
                    if (c == "{" && !depth++) body = text !~ /(struct|union|enum)[^()]*$/ && text !~ /=[ \n]*$/
                    if (!(depth && body)) text = text c
                    if (c == "}" && !--depth && body) {body = 0; declared(text); text = ""}
                    if (c == ";" && !depth) {declared(text); text = ""}
                }
            }' "$f"
    done
done) | sort -u >"$tmp/pointers"
while read -r r name; do
    grep -q "^pointer $name $r:" "$table" || echo "$r/$(basename "$r").h: $name holds a function of its user's and is not in $table"
done <"$tmp/pointers" >>"$tmp/bad"

# ---- public headers and their types -----------------------------------------------------------------------------
# A public header belongs to a room, the lowest that may include it; a face, with the headers of its room that it includes, names no type
# of a header that belongs to a room above.
awk '$1 == "header" {print $2, $3}' "$table" >"$tmp/headers"
(cd "$root" && find lib jit ptx remote plug -name '*.[ch]' -o -name '*.inc' -o -name '*.def' | sort | xargs grep -noE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<sett/[^>]*>') |
    sed -E 's/^([^:]*):([0-9]+):.*<([^>]*)>/\1 \2 \3/' |
    awk -v may="$tmp/may" -v headers="$tmp/headers" '
        BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1; room[x[1]] = 1}
               while ((getline line <headers) > 0) {split(line, x, " "); of[x[1]] = x[2]}}
        function room_of(f,   d) {d = f; do sub("/[^/]*$", "", d); while (d != "" && !(d in room) && d ~ "/"); return d}
        {r = room_of($1)}
        r == "plug" {next} # interfaces on the public headers
        $3 == "sett/sett.h" {print $1 ":" $2 ": includes the umbrella sett/sett.h; name the headers that it uses"; next}
        !($3 in of) {print $1 ":" $2 ": includes " $3 ", which has no room in the table"; next}
        !((r, of[$3]) in ok) {print $1 ":" $2 ": " r " includes " $3 " of " of[$3] ", which it may not use"}' >>"$tmp/bad"
(cd "$root" && while read -r h r; do
    [ ! -f "include/$h" ] || sed -nE 's/^typedef (struct|enum|union) .*[ *](sett_[a-z0-9_]+);.*/\2/p; s/^\} (sett_[a-z0-9_]+);.*/\1/p; s/^typedef [^(]*\( *\*(sett_[a-z0-9_]+)\).*/\1/p' "include/$h" | sed "s|\$| $r|"
done <"$tmp/headers") | sort -u >"$tmp/types"
(cd "$root" && for r in $(awk '$1 ~ "/" {print $1}' "$tmp/may" | sort -u); do
    [ -d "$r" ] && for h in $(own_headers "$r"); do
        sed -E 's|//.*||; s|/\*[^*]*\*/||g; s/^ \*.*//; s/^\/\*.*//; s/struct sett_[a-z0-9_]+//g' "$h" | grep -noE '\bsett_[a-z0-9_]+' | sed "s|^|$r $h:|; s|:\(sett_\)| \1|"
    done
done) | sort -u | awk -v may="$tmp/may" -v types="$tmp/types" '
    BEGIN {while ((getline line <may) > 0) {split(line, x, " "); ok[x[1], x[2]] = 1}
           while ((getline line <types) > 0) {split(line, x, " "); of[x[1]] = of[x[1]] " " x[2]}}
    $3 in of {n = split(of[$3], o, " "); fine = 0; for (i = 1; i <= n; i++) fine += ($1, o[i]) in ok; if (!fine) print $2 ": " $1 " names " $3 " of" of[$3] ", which it may not use"}' >>"$tmp/bad"

# ---- members of the build -----------------------------------------------------------------------------------------
# What lib/build keeps and does not use itself belongs to a room above, which has a slot for it (lib/build/slot.c).
(cd "$root" && for h in lib/build/*.h; do
    [ ! -f "$h" ] || awk '/^struct sett_build \{/ {in_it = 1; next} in_it && /^\};/ {exit} in_it' "$h"
done) | sed -E 's|/\*.*||; s|^ *\*.*||' | tr '\n' ' ' | tr ';' '\n' | sed -E 's/\[[^]]*\]//g; s/^ *//' |
    awk 'NF {sub(/^(const |struct |unsigned )*[A-Za-z_0-9]+ +/, ""); n = split($0, m, ","); for (i = 1; i <= n; i++) {gsub(/[ *]/, "", m[i]); if (m[i] != "") print m[i]}}' |
    while read -r m; do
        (cd "$root" && cat lib/build/*.c lib/build/inside.h 2>/dev/null) | grep -qE "(->|\.)$m\b" || grep -q "^member $m:" "$table" ||
            echo "lib/build: struct sett_build has $m, which no file of lib/build uses: it belongs in a slot of the room that does"
    done >>"$tmp/bad"

[ -s "$tmp/bad" ] || exit 0
cat "$tmp/bad"
exit 1
