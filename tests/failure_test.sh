#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make check` shows of a part that failed begins with the failure, whatever was compiled before it, and ends with where all of it lies.
set -u
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
bad=0 n=0

noise() { # 330 lines as a build has them
    for i in $(seq 110); do
        echo "  CC build/release/obj/lib/tape/part$i.o"
        echo "tests/unit/test_part$i.c:166:39: warning: '%d' directive output may be truncated [-Wformat-truncation=]"
        echo "  166 |     snprintf(text, sizeof text, \"%d\", i);"
    done
}
shows() { # first line, what must not be shown; the log is $d/log
    out=$(tests/failure.sh "$d/log")
    n=$((n + 1))
    first=$(printf '%s\n' "$out" | head -n 1)
    last=$(printf '%s\n' "$out" | tail -n 1)
    if [ "$first" != "$1" ] || printf '%s\n' "$out" | grep -qE -- "$2" || [ "$last" != "    all of it, $(wc -l <"$d/log") lines: $d/log" ]; then
        printf 'not as it should be (first: %s):\n%s\n' "$1" "$out"
        bad=$((bad + 1))
    fi
}
planted='tests/unit/test_resident.c:238:F:blocks that wait:waits_with_registers:0: 1 workers: 3140 ms of CPU time'
{ noise; echo '== resident: exit 1'; echo 'Running suite(s): resident'; echo '92%: Checks: 14, Failures: 1, Errors: 0'; echo "$planted"; } >"$d/log"
shows '== resident: exit 1' '^  CC|truncated'
tests/failure.sh "$d/log" | grep -qxF "$planted" || { echo "the failing test is not shown"; bad=$((bad + 1)); }
{ noise; echo 'jit/sim/run.c:12:5: error: expected expression'; noise; } >"$d/log"
shows 'jit/sim/run.c:12:5: error: expected expression' '^  CC'
{ noise; echo "sett doctor: exit 0 (want 1), output: works"; echo '    should match: ^sett: '; echo '398 passed, 1 failed'; } >"$d/log"
shows 'sett doctor: exit 0 (want 1), output: works' '^  CC|truncated'
{ noise; echo '==123==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'; echo '    #0 0x1 in f'; } >"$d/log"
shows '==123==ERROR: AddressSanitizer: heap-use-after-free on address 0x1' '^  CC|truncated'
{ noise; echo 'Traceback (most recent call last):'; echo 'AssertionError: 1 != 2'; } >"$d/log"
shows 'Traceback (most recent call last):' '^  CC|truncated'
# A part of check.sh that fails: its name, why, and nothing of what was built.
cat >"$d/make" <<'END'
#!/bin/sh
i=0
while [ $((i += 1)) -lt 100 ]; do echo "  CC build/release/obj/$i.o"; done
echo "planted.c:1:1: error: planted"
echo "make: *** [Makefile:1: planted.o] Error 1"
exit 2
END
chmod 700 "$d/make"
root=$PWD
mkdir -p "$d/tree" && ln -s "$root/tests" "$d/tree/tests"
(cd "$d/tree" && MAKE=$d/make CHECK_ONLY=build tests/check.sh) >"$d/out" 2>&1
code=$?
n=$((n + 1))
if [ $code = 0 ] || [ "$(sed -n 1,2p "$d/out")" != "$(printf 'build: FAILED\nplanted.c:1:1: error: planted')" ] || grep -q '^  CC' "$d/out"; then
    echo "check.sh, exit $code:"
    cat "$d/out"
    bad=$((bad + 1))
fi
echo "$n passed, $bad failed"
[ "$bad" = 0 ]
