#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Limits of tests: what waits or computes for ever ends and is named; what a busy machine starves does not.
#   tests/limits.sh [BUILD]
set -u
limits=${1:-build/release}/limits
d=$(mktemp -d)
hogs=
# shellcheck disable=SC2086
trap '[ -z "$hogs" ] || kill $hogs 2>/dev/null; rm -rf "$d"' EXIT
bad=0 n=0

expect() { # exit code, pattern, case, variables of the environment...
    want=$1 pattern=$2
    shift 2
    CK_RUN_CASE=$1 env SETT_TEST_QUIET_S=3 CK_TIMEOUT_MULTIPLIER=1 "$limits" >"$d/out" 2>&1
    got=$?
    n=$((n + 1))
    if [ $got != "$want" ] || ! grep -qE -- "$pattern" "$d/out"; then
        echo "$1: exit $got (want $want), should match $pattern:"
        cat "$d/out"
        bad=$((bad + 1))
    fi
}
for case in waits polls a_child_waits; do
    expect 1 "$case:.*Received signal 9" $case
    expect 1 '^no thread has run for 3 s: what is waited for does not come$' $case
done
expect 1 'computes:.*Received signal 24' computes
# On one core with four that compute, at nice 19 of theirs: one in 270 of its time.
one='' core=$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*\([0-9]*\).*/\1/p' /proc/self/status)
command -v taskset >/dev/null && one="taskset -c $core"
for _ in 1 2 3 4; do
    $one timeout 30 sh -c 'while :; do :; done' &
    hogs="$hogs $!"
done
began=$(date +%s)
limits_was=$limits
printf '#!/bin/sh\nexec %s nice -n 19 %s\n' "$one" "$(realpath "$limits")" >"$d/limits" && chmod 700 "$d/limits"
limits=$d/limits
expect 0 '^100%' starves
limits=$limits_was
echo "starved for $(($(date +%s) - began)) s"
echo "$n passed, $bad failed"
[ "$bad" = 0 ]
