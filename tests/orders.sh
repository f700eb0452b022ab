#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checker in several orders of the CPU engine: tests/orders.sh build/release [seeds]. Of each example nothing may be told but costs, and
# it ends well, eager, lazy and by each seed; then tests/bugs.sh finds the bugs of tests/bugs, and nothing in their twins, in the same orders.
# Of the suites nothing is told but what tests/checked.txt lists.
set -u
b=$1
orders="lazy eager $(seq -s ' ' -f 'random:%g' "${2:-10}")"
cd "$(dirname "$0")/.." || exit 1
found=$(mktemp)
trap 'rm -f "$found"' EXIT
bad=0
for order in $orders; do
    for e in "$b"/examples/*; do
        { [ -f "$e" ] && [ -x "$e" ]; } || continue
        rm -f "$found"
        if ! said=$(SETT_DEVICE=cpu SETT_CHECK=errors SETT_CHECK_JSON=$found SETT_CPU_ASYNC=$order "$e" 2>&1); then
            echo "$e, $order: fails: $(echo "$said" | tail -n 3)"
            bad=1
        elif ! grep -q '"findings":\[\]' "$found"; then # of level error or warning, as asked
            echo "$e, $order: $said"
            bad=1
        fi
    done
done
[ $bad = 0 ] && echo "no finding in examples: $orders"
# shellcheck disable=SC2086
BUGS_AGAIN=1 tests/bugs.sh "$b" $orders || bad=1
python3 tests/checked.py "$b" || bad=1
exit $bad
