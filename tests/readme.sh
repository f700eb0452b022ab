#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every ```c and ```cpp block of README.md and docs/*.md that holds a main() is built and run; the others must compile. An
# ```output block after one is what it prints, addresses aside. A ```python block is run where there is a Python 3; the ```py blocks of
# docs/python.md are python/tests/test_docs.py's. A first line "/* name.c */" names the file in messages.
set -u
b=${1:-build/release}
mkdir -p "$b/readme"
rm -f "$b"/readme/*.c "$b"/readme/*.cc "$b"/readme/*.py "$b"/readme/*.expected
export SETT_CACHE_DIR="${SETT_CACHE_DIR:-$PWD/$b/readme/cache}"
for md in README.md docs/*.md; do
    [ -f "$md" ] || continue
    awk -v out="$b/readme/$(echo "${md%.md}" | tr / -)" '
        /^<!-- (run|bug): / {shown = 1; next} # tests/checking.sh runs the block behind it
        /^```c$/ && shown {shown = 0; to = ""; next}
        /^```c$/ {to = out "-" ++n ".c"; first = 1; next}
        /^```cpp$/ {to = out "-" ++n ".cc"; first = 0; next}
        /^```python$/ {to = out "-" ++n ".py"; first = 0; next}
        /^```py$/ {other = 1; next} # its output is not ours
        /^```output$/ && other {other = 0; next}
        /^```output$/ {to = out "-" n ".expected"; first = 0; printf "" > to; next}
        /^```/ {to = ""}
        to && first && /^\/\* [a-z_]*\.c \*\/$/ {print "#line 1 \"" $2 "\"" > to}
        to {print > to; first = 0}' "$md"
done
for c in "$b"/readme/*.c "$b"/readme/*.cc; do
    [ -f "$c" ] || { echo "README.md has no C block, or docs/ no C++"; exit 1; }
    p=${c%.*}
    case $c in *.c) cc='gcc -std=c11 -Wno-unused-function' ;; *) cc='g++ -std=c++17' ;; esac
    $cc -Wall -Wextra -Werror -Iinclude -c "$c" -o "$p.o" || { echo "$c does not compile"; exit 1; }
    if ! grep -q '^int main' "$c"; then
        [ ! -f "$p.expected" ] || { echo "$c has an output and no main()"; exit 1; }
        continue
    fi
    ${cc%% *} -o "$p" "$p.o" -L"$b" -Wl,--as-needed -lsett-kernels -lsett -lm -Wl,-rpath,"$PWD/$b" || exit 1
    "$p" >"$p.printed" || { cat "$p.printed"; echo "$c does not run"; exit 1; }
    [ -f "$p.expected" ] || { cat "$p.printed"; continue; }
    sed 's/0x[0-9a-f]\{6,\}/0x.../g' "$p.printed" | diff "$p.expected" - || { echo "$c prints something else than its document says"; exit 1; }
done
tests/checking.sh "$b" || exit 1
if python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 7))' 2>/dev/null; then
    for py in "$b"/readme/*.py; do
        p=${py%.py}
        LIBSETT="$PWD/$b/libsett.so" python3 "$py" >"$p.printed" || { cat "$p.printed"; echo "$py does not run"; exit 1; }
        diff "$p.expected" "$p.printed" || { echo "$py prints something else than its document says"; exit 1; }
    done
else
    echo "no Python 3 with ctypes: the programs in Python are not run"
fi
