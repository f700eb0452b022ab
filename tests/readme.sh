#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every ```c block of README.md and docs/*.md that holds a main() is built and run; the others must compile.
set -u
b=${1:-build/release}
mkdir -p "$b/readme"
rm -f "$b"/readme/*
for md in README.md docs/*.md; do
    [ -f "$md" ] || continue
    awk -v out="$b/readme/$(basename "$md" .md)" '/^```c$/ {n++; on = 1; next} /^```/ {on = 0} on {print > (out "-" n ".c")}' "$md"
done
for c in "$b"/readme/*.c; do
    [ -f "$c" ] || { echo "README.md has no C block"; exit 1; }
    gcc -std=c11 -Wall -Wextra -Werror -Wno-unused-function -Iinclude -c "$c" -o "${c%.c}.o" || { echo "$c does not compile"; exit 1; }
    grep -q '^int main' "$c" || continue
    gcc -o "${c%.c}" "${c%.c}.o" -L"$b" -lsett -lm -Wl,-rpath,"$PWD/$b" && "${c%.c}" || { echo "$c does not run"; exit 1; }
done
