#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make check`: every test that needs no GPU, one line a part. A part's output is shown when it fails; all
# parts run, and the last line says how many failed. CHECK_ONLY="unit lint" runs some of them.
set -u
make=${MAKE:-make}
jobs=${JOBS:-$(nproc)}
rel=build/release
log=build/check.log
mkdir -p build
passed=0 failed=0 skipped=0
started=$(date +%s)
SETT_CACHE_DIR=$(mktemp -d)
export SETT_CACHE_DIR
trap 'rm -rf "$SETT_CACHE_DIR"' EXIT

part() { # name, command...
    name=$1
    shift
    case " ${CHECK_ONLY:-$name} " in *" $name "*) ;; *) return ;; esac
    if "$@" >"$log" 2>&1; then
        if why=$(grep -m 1 '^skipped:' "$log"); then
            skipped=$((skipped + 1))
            echo "$name: $why"
        else
            passed=$((passed + 1))
            echo "$name: ok$(sed -n 's/^\(.*Checks: .*\|.* passed, .* failed.*\)$/ (\1)/p' "$log" | tail -n 1)"
        fi
    else
        failed=$((failed + 1))
        cat "$log"
        echo "$name: FAILED"
    fi
}

build() { $make --no-print-directory -j"$jobs" "$@"; }

examples() { # variant folder: each example says what it checked; a failure is its exit code
    for e in "$1"/examples/*; do
        [ -x "$e" ] || continue
        echo "== $e"
        "$e" || return 1
    done
}
export -p >/dev/null

sanitized() { # sanitizers, suites...
    san=$1
    shift
    variant=build/san-$(echo "$san" | tr , -)
    build SAN="$san" "$variant/runner" "$variant/libsett-ptx.so" || return 1
    # LLVM's own allocations at exit are not ours; leaks of sett are still seen by suites that free all.
    CK_FORK=no ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0 \
        UBSAN_OPTIONS=print_stacktrace=1 "$variant/runner" "$@"
}
sanitized_examples() {
    build SAN=address,undefined all && examples build/san-address-undefined
}

part build build all $rel/runner $rel/golden
part lint tests/lint.sh $rel
part unit $rel/runner
part golden $rel/golden tests/golden
part examples examples $rel
part cli tests/cli.sh $rel
part user-compiler tests/user_compiler.sh $rel
part readme tests/readme.sh $rel
part address-undefined sanitized address,undefined
part address-undefined-examples sanitized_examples
# shellcheck disable=SC2046
part thread sanitized thread engine cache sim launch
echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - started)) s"
[ "$failed" = 0 ]
