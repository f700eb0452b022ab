#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of the output of a part that failed: the lines that say why, with those behind them, then the last lines, then where all of it lies.
#   tests/failure.sh LOG
log=$1 most=60
# What a compiler or a linker says of a command that works is left out; so are suites that passed.
awk -v most=$most '
function says_why(l) {
    return l ~ /:[FE]:[^:]*:[^:]*:[0-9]+: / || l ~ /error: |undefined reference|Error [0-9]+$|^make.*\*\*\*/ ||
        l ~ /ERROR: |SUMMARY: |runtime error: |WARNING: ThreadSanitizer/ || l ~ /^== .*: exit [0-9]/ || l ~ /^no thread has run/ ||
        l ~ /^[0-9]+%: Checks: .*(Failures: [1-9]|Errors: [1-9])/ || l ~ /(FAILED|[^0]0*[1-9][0-9]* failures|Traceback)/ ||
        l ~ /exit [0-9]+ \(want / || l ~ /^(FAIL|ERROR): / || l ~ /^[A-Za-z_.]*(Error|Exception): /
}
/^  (CC|LD|AR|GEN|OBJCOPY) / { behind = 0; next }
says_why($0) { if ($0 !~ / 0 failures/) behind = 12 }
behind > 0 && shown < most { print; shown++; behind-- }
END { exit !shown }' "$log" || grep -vE '^  (CC|LD|AR|GEN|OBJCOPY) ' "$log" | tail -n 20
echo "    all of it, $(wc -l <"$log") lines: $log"
