#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# valgrind.sh RUNNER SUITE...: the suites under valgrind, one process for a suite; a child for each test where one parks a thread, wants a
# process without the compiler, or ignores signals. Some 30 minutes, most of them conform, layout and sim.
set -eu
runner=$1
shift
if ! command -v valgrind >/dev/null; then
    echo "skipped: valgrind is not installed"
    exit 0
fi
for suite; do
    # The reference of conform's other cases (ops, lanes) counts in long doubles of 80 bits, which valgrind computes in 64.
    case $suite in conform) cases="control memory random" ;; *) cases=all ;; esac
    case $suite in asm | compile | disk | engine | ptx) fork=yes ;; *) fork=no ;; esac
    for case in $cases; do
        echo "== $suite${case#all}"
        if [ "$case" = all ]; then unset CK_RUN_CASE; else export CK_RUN_CASE="$case"; fi
        CK_FORK=$fork CK_TIMEOUT_MULTIPLIER=50 valgrind -q --suppressions=tests/valgrind.supp --leak-check=full --show-leak-kinds=definite \
            --errors-for-leak-kinds=definite --error-exitcode=9 "$runner" "$suite"
    done
done
