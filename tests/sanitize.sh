#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitize.sh PROGRAM...: each under compute-sanitizer's memcheck (which also reports every call of the driver that fails),
# racecheck, initcheck and synccheck, the tools at the same time. Ends with 1 if one found something. Without the tool it
# says so and ends with 0.
#   SANITIZER        the tool; else the one in PATH, else the toolkit's
#   SANITIZER_TOOLS  those to be run; "": none
#   SANITIZER_LIMIT  seconds for one run; a run that takes longer is told and is no failure
set -u
tools=${SANITIZER_TOOLS-memcheck racecheck initcheck synccheck}
limit=${SANITIZER_LIMIT:-120}
found=77
tool=${SANITIZER:-$(command -v compute-sanitizer)}
[ -n "$tool" ] || tool=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
if ! "$tool" --version >/dev/null 2>&1; then
    echo "sanitize: skipped: no compute-sanitizer here (SANITIZER, PATH, CUDA_HOME)"
    exit 0
fi
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

options() {
    echo "--tool $1 --error-exitcode $found --target-processes application-only"
    [ "$1" != memcheck ] || echo "--report-api-errors all"
}

# judge NAME TOOL STATUS: a line for what is not clean, with the report.
judge() {
    case $3 in
    0) clean=$((clean + 1)) ;;
    124) late=$((late + 1)) && echo "$1: $2: no end within $limit s" ;;
    *)
        bad=$((bad + 1))
        echo "$1: $2: $([ "$3" = $found ] && echo "errors" || echo "ended with $3")"
        grep '^=' "$log/$2" | head -40
        ;;
    esac
}

clean=0 late=0 bad=0
for program; do
    set --
    for t in $tools; do
        # shellcheck disable=SC2046
        timeout -k 5 "$limit" "$tool" $(options "$t") "$program" >"$log/$t" 2>&1 &
        set -- "$@" $!
    done
    for t in $tools; do
        wait "$1"
        judge "${program##*/}" "$t" $?
        shift
    done
done
echo "sanitize: $clean runs clean, $bad with errors, $late without an end"
[ "$bad" = 0 ]
