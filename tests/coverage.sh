#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh FOLDER FILE.c...: runs the suites, the fuzzers' corpus, the campaign's sample and every lack of memory on
# what was compiled for gcov, then one line a file: lines and branches that were reached, and the lines of those that were
# not. Exit 1 unless all were. A branch is what gcov calls one: each side of each && and || too.
set -eu
cover=$1
shift
find "$cover" -name '*.gcda' -delete
CK_FORK=no "$cover/runner" cache disk layers pack >"$cover/log" 2>&1 || { cat "$cover/log"; exit 1; }
"$cover/fuzz-replay" -n 0 cache_entry cubin pack >"$cover/log"
"$cover/fault" F P R Z >"$cover/log" 2>&1 || { cat "$cover/log"; exit 1; }
"$cover/oom/oom" >"$cover/log" 2>&1 || { cat "$cover/log"; exit 1; }
echo '| file | lines | branches | missed |'
echo '| --- | --- | --- | --- |'
for file; do
    gcov -b -c -t -o "$cover/obj/${file%.c}.gcda" "$file" | awk -F: -v file="$file" '
        / -: +0:Source:/ { on = index($0, file) }
        !on { next }
        /^ *([0-9]+\*?|#####|=====): *[0-9]+:/ { line = $2 + 0; lines++; if ($1 ~ /#|=/) miss(); else reached++ }
        /^branch / { branches++; if (/never executed| taken 0/) miss(); else taken++ }
        function miss() { bad++; if (line != last) list = list (list ? ", " : "") line; last = line }
        END {
            printf "| %s | %d of %d | %d of %d | %s |\n", file, reached, lines, taken, branches, list ? "lines " list : "none"
            exit bad || !lines
        }' || failed=1
done
[ -z "${failed:-}" ]
