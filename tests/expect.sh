#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Read by what tests the command: runs $sett, counts in $n, and in $bad what went another way.
# shellcheck disable=SC2154
expect() { # exit code, pattern in stdout+stderr, arguments...
    want=$1 pattern=$2
    shift 2
    out=$("$sett" "$@" 2>&1)
    got=$?
    n=$((n + 1))
    if [ "$got" != "$want" ] || ! printf '%s\n' "$out" | grep -qE -- "$pattern"; then
        echo "sett $*: exit $got (want $want), output: $out"
        echo "    should match: $pattern"
        bad=$((bad + 1))
    fi
}
