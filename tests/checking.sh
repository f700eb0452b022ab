#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wrong kernels of docs/checking.md are run with the checker, and what it says is compared with the page; so are the right ones, of
# which it must say nothing. A kernel is a ```c block behind a comment <!-- run: STATEMENTS -->, which launch it by tests/bugs/bug.h; the
# ```report block that follows is what is told, but for costs where the section is not of one. A line /* mend: CODE */ stands for the one that is missing; behind other code it says what
# that line should be. A comment <!-- bug: KIND/NAME --> takes the kernel from tests/bugs instead: each line of the block is one of it.
# tests/checking.sh build/release [write]: write prints the page with the reports as they are.
set -u
b=$1
d=$b/checking
page=docs/checking.md
rm -rf "$d" && mkdir -p "$d" || exit 1
export SETT_CACHE_DIR="${SETT_CACHE_DIR:-$PWD/$b/readme/cache}"

# All kernels in one program: each twice, as wrong and as right functions, and a line of a table.
awk -v out="$d" '
    function flush_case(  i, which, text) {
        for (which = 0; which < 2; which++) {
            for (i = 1; i <= nf; i++)
                if (which) print "#define " f[i] " " f[i] "_right" > c
            print "#line 1 \"" file "\"" > c
            for (i = 1; i <= nl; i++) {
                text = l[i]
                if (which && match(text, /\/\* mend: .* \*\/$/))
                    text = substr(text, RSTART + 9, RLENGTH - 12)
                print text > c
            }
            print "static void run_" name (which ? "_right" : "") "(void)\n{\n    " run "\n}" > c
            for (i = 1; i <= nf; i++)
                if (which) print "#undef " f[i] > c
        }
        table = table "    {\"" name "\", {run_" name ", run_" name "_right}},\n"
        print name, kind > (out "/cases")
    }
    BEGIN { c = out "/checking.c"; print "#include \"bug.h\"" > c }
    /^## / {kind = $2}
    /^<!-- run: .* -->$/ {run = substr($0, 11, length($0) - 14); next}
    /^<!-- bug: .* -->$/ {bug = $3; name = bug; sub(/.*\//, "", name); print bug, kind > (out "/bugs"); next}
    /^```c$/ && (run != "" || bug != "") {on = 1; nl = nf = 0; next}
    /^```report$/ {on = 2; printf "" > (out "/" name ".page"); next}
    /^```$/ && on == 1 {
        if (run != "") flush_case()
        run = bug = ""; on = 0; next
    }
    /^```$/ {on = 0; next}
    on == 1 && bug != "" {print > (out "/" name ".lines"); next}
    on == 1 {
        l[++nl] = $0
        if (nl == 1) {file = $2; name = file; sub(/\.c$/, "", name)}
        if (match($0, /^static void [a-z_0-9]*\(/)) f[++nf] = substr($0, 13, RLENGTH - 13)
    }
    on == 2 {print > (out "/" name ".page")}
    END {
        print "#line 1 \"main.c\"\nstatic const struct { const char *name; void (*run[2])(void); } all[] = {\n" table "};" > c
        print "int main(int argc, char **argv)\n{\n    bug_open(argc - 1, argv + 1);" > c
        print "    for (size_t i = 0; i < sizeof all / sizeof *all; i++)\n        if (!strcmp(all[i].name, bug_now.name))\n            all[i].run[bug_twin]();\n    return bug_close();\n}" > c
    }' "$page"
for f in cases bugs; do
    [ -s "$d/$f" ] || { echo "$page has no wrong kernels"; exit 1; }
done
compile() { gcc -std=c11 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-function -Iinclude -iquote tests/bugs -o "$1" "$2" -L"$b" -Wl,--as-needed -lsett -lm -Wl,-rpath,"$PWD/$b"; }
compile "$d/checking" "$d/checking.c" || { echo "the kernels of $page do not compile"; exit 1; }

status=0
# Findings that are no costs.
no_costs() {
    awk '/^[^ ]*: cost: / {cost = 1; next} !/^  / {cost = 0} !cost {print}' "$1" >"$1.left" && mv "$1.left" "$1"
}
# told NAME KIND COMMAND: what the checker says of the bug is kept, and of its twin it says nothing.
told() {
    name=$1 kind=$2
    shift 2
    SETT_CHECK=1 "$@" >"$d/$name.ran" 2>"$d/$name.told"
    SETT_CHECK=1 "$@" --twin >"$d/$name.right" 2>&1 || { echo "$page: $name, mended, does not run:"; cat "$d/$name.right"; status=1; }
    sed -i '/^sett: [0-9]/d' "$d/$name.told" "$d/$name.right"
    case $kind in
        narrow | sectors | bank-conflict) ;;
        *) no_costs "$d/$name.told" && no_costs "$d/$name.right" ;;
    esac
    [ "$(wc -l <"$d/$name.right")" = 1 ] || { echo "$page: $name, mended, is not clean:"; cat "$d/$name.right"; status=1; }
    sed -i "s|tests/bugs/[a-z-]*/||g" "$d/$name.told"
}
while read -r name kind; do
    told "$name" "$kind" "$d/checking" "$name"
done <"$d/cases"
while read -r bug kind; do
    name=${bug##*/}
    compile "$d/$name" "tests/bugs/$bug.c" || exit 1
    grep -vxFf "tests/bugs/$bug.c" "$d/$name.lines" && { echo "$page: tests/bugs/$bug.c has no such lines"; status=1; }
    told "$name" "$kind" "$d/$name"
done <"$d/bugs"
if [ "${2:-}" = write ]; then
    awk -v d="$d" '
        /^<!-- bug: / {name = $3; sub(/.*\//, "", name)}
        /^\/\* [a-z_]*\.c \*\/$/ {name = $2; sub(/\.c$/, "", name)}
        /^```report$/ {print; while ((getline line < (d "/" name ".told")) > 0) print line; skip = 1; next}
        /^```$/ {skip = 0}
        !skip {print}' "$page"
    exit $status
fi
for page_says in "$d"/*.page; do
    name=${page_says##*/} name=${name%.page}
    diff "$page_says" "$d/$name.told" || { echo "$page: the checker says something else of $name"; status=1; }
done
exit $status
