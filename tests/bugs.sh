#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every bug of tests/bugs and its twin with the checker on: tests/bugs.sh build/release [orders], which are lazy, eager, random:1
# and so on, as of $SETT_CPU_ASYNC; lazy alone without any. A bug is found when a finding of a kind that it lists has a site at a line that
# is marked 1 or 2; both lines are found when one finding has both. A refusal when compiled counts by the lines that its text names. A
# twin ends well in each order, and nothing is told of it but costs of other kinds. It prints a table by kind and what was missed; the
# exit code is 1 if anything was. $BUGS: names or kinds of some of them.
# $BUGS_AGAIN=1: in the last order each runs three times more, by one worker and by eight, and says the same.
# $BUGS_OF_THE_ENGINE=1 shows what the engine says without its checker, by the lines in the texts of faults; twins alone can fail.
set -u
b=$1
shift
cd "$(dirname "$0")/.." || exit 1
tests/bugs/index.sh >"$b/bugs/index.json" || exit 1
if ! diff -q "$b/bugs/index.json" tests/bugs/index.json >/dev/null; then
    echo "tests/bugs/index.json is not that of the programs: tests/bugs/index.sh >tests/bugs/index.json"
    exit 1
fi
python3 tests/bugs/judge.py "$b/bugs/all" tests/bugs/index.json "$@"
