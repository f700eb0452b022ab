#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make check`: every test that needs no GPU, one line a part. Of a part that fails, tests/failure.sh shows the lines that say why,
# and where its whole output lies; all parts run, and the last line says how many failed. CHECK_ONLY="unit lint" runs some of them. Parts
# that keep all cores busy run one after another; the others, most of them one process at a time, in lanes beside each other. No
# limit is one of the wall's clock that a busy machine could reach: tests/rig/limits.h.
set -u
make=${MAKE:-make}
jobs=${JOBS:-$(nproc)}
rel=build/release
logs=build/check
rm -rf $logs
mkdir -p $logs
passed=0 failed=0 skipped=0
started=$(date +%s)
SETT_CACHE_DIR=$(mktemp -d)
export SETT_CACHE_DIR
trap 'rm -rf "$SETT_CACHE_DIR"' EXIT

part() { # name, command...
    name=$1
    shift
    case " ${CHECK_ONLY:-$name} " in *" $name "*) ;; *) return ;; esac
    began=$(date +%s) log=$logs/$name.log
    if "$@" >"$log" 2>&1; then
        if why=$(grep -m 1 '^skipped:' "$log"); then
            skipped=$((skipped + 1))
            echo "$name: $why"
        else
            passed=$((passed + 1))
            echo "$name: ok$(sed -n 's/^\(.*Checks: .*\|.* passed, .* failed.*\)$/ (\1)/p' "$log" | tail -n 1), $(($(date +%s) - began)) s"
        fi
    else
        failed=$((failed + 1))
        echo "$name: FAILED"
        tests/failure.sh "$log"
    fi
}

limits() { build $rel/limits && tests/limits.sh $rel && tests/failure_test.sh; }
golden() { $rel/golden tests/golden && tests/golden_bad.sh $rel/golden; }
build() { $make --no-print-directory -j"$jobs" "$@"; }

examples() { # variant folder: each example says what it checked; a failure is its exit code, and so is a line that it will spill
    for e in "$1"/examples/*; do
        [ -x "$e" ] || continue
        echo "== $e"
        SETT_LOG=warning "$e" 2>"$1/example.err" || { cat "$1/example.err"; return 1; }
        ! grep "registers: " "$1/example.err" || return 1
    done
}
ops_table() { # every function inside its bound, and docs/ops.md what is measured
    build $rel/bench/accuracy && tests/ops_table.sh $rel
}
# Suites as processes of their own, as many at once as there are cores, the long ones first. Each test is a forked child:
# a sanitizer's report or a leak is its exit code, and what it leaves behind disturbs no other. Those in $one_process fork none.
suites() { # runner, suites...
    runner=$1
    shift
    # shellcheck disable=SC2016
    printf '%s\n' "$@" | one_process=" ${one_process:-} " xargs -P "$jobs" -I{} sh -c 'case $one_process in *" {} "*) export CK_FORK=no ;; esac
        "$0" {} >"$0-{}.log" 2>&1 || { echo "== {}: exit $?"; cat "$0-{}.log"; exit 1; }' "$runner" || return 1
    for s in "$@"; do cat "$runner-$s.log"; done | awk '/Checks:/ {n += $3} END {print n " passed, 0 failed"}'
}
# The longest begin first, so that no core is idle at the end.
long="programs remote resident sim_arrays together product_groups gemm_mma attention sim layout conform mistakes product product_blocks weights attention_decode hopper layouts boxes pipeline epilogues promote grouped gemm kernels"
all_suites() {
    # shellcheck disable=SC2086
    printf '%s\n' $long
    # shellcheck disable=SC2086
    ls tests/unit/test_*.c | sed 's|tests/unit/test_||; s|\.c$||' | grep -vxF "$(printf '%s\n' $long)"
}

export CK_TIMEOUT_MULTIPLIER=10 # of CPU time, for sanitizers
# Check's parent frees a message an assertion: without a bound on what is kept of that, each of its children carries 600 MB.
# One definition: the ready kernels are in the runner and in a shared object that it opens, both of one source.
export ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=32:detect_odr_violation=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
export LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0
# Suites of many small tests, none of which spoils its process: a fork and a search for leaks a test is most of their time.
in_one_process="programs pipeline boxes attention attention_decode attention_targets product product_given product_groups product_blocks product_pointers weights epilogue_blocks activations hopper gemm_mma mistakes conform layouts gemm pipeline_wrong kernels mma ptx stale wgmma arch sync tensor_core tape tma atom layout inline expr misuse sim_arrays together epilogues grouped gemm_few_rows promote sim sim_bounds eval launch maps tma_copies smem control build access cuda scheduler report properties"
memory() { # address and undefined behaviour: every suite, and what other systems computed
    b=build/san-address-undefined
    # shellcheck disable=SC2046
    build SAN=address,undefined $b/runner $b/golden $b/libsett-ptx.so && one_process=$in_one_process suites $b/runner $(all_suites) &&
        $b/golden tests/golden && $b/golden -m 2 tests/golden
}
memory_examples() { build SAN=address,undefined all && examples build/san-address-undefined; }
bugs() { build $rel/bugs/all && tests/bugs.sh $rel; } # under one order; make bugs-check has others
exports() { build $rel/fake/libcuda.so.1 && tests/export.sh $rel; }
oom() { # an allocation that fails, each in turn
    b=build/$1
    shift
    build "$@" "$b/oom/oom" && "$b/oom/oom"
}
faults() { # a sample of the campaign on the disk cache; make fault is all of it
    b=build/$1
    shift
    rows=$1
    shift
    # shellcheck disable=SC2086
    build "$@" "$b/fault" && "$b/fault" $rows
}
fuzz() { # the corpus and mutations of it, and random tapes; make fuzz is libFuzzer, make fuzz-tapes more tapes
    b=build/$1
    tapes=$2
    shift 2
    build "$@" "$b/fuzz-replay" "$b/fuzz-tapes" && "$b/fuzz-replay" && "$b/fuzz-tapes" -n "$tapes" -j "$jobs"
}
threaded="together check_global remote sim cancel bad_code sim_memory sim_bounds stress async stale store held slots engine compile cache disk layers pack warm warm_start launch graph metrics nvtx verify_user alias"
races() { # a runner of these suites alone: the others would be a third of what is compiled
    b=build/san-thread
    # shellcheck disable=SC2086
    build SAN=thread SUITE=threads SUITES="$threaded" $b/runner-threads $b/libsett-ptx.so $b/fault && suites $b/runner-threads $threaded && $b/fault T
}

# Each in a process of its own; its count is what it leaves behind. What is built is another folder for each, or is built by now.
lane() { # name, function
    ("$2" && echo "$passed $failed $skipped" >"$logs/$1.count") &
}
of_the_release() {
    passed=0 failed=0 skipped=0
    part lint tests/lint.sh $rel
    part golden golden
    part examples examples $rel
    part ops-table ops_table
    part cli tests/cli.sh $rel
    part files tests/files.sh $rel
    part user-compiler tests/user_compiler.sh $rel
    part readme tests/readme.sh $rel
    part console tests/console.sh $rel
    part install tests/install.sh
    part export exports
    part bugs bugs
    part server tests/server.sh $rel
    part deb tests/deb.sh
    part python tests/python.sh $rel
    :
}
of_memory() {
    passed=0 failed=0 skipped=0
    part oom oom release
    part fuzz fuzz release 5000
    part address-undefined-fuzz fuzz san-address-undefined 500 SAN=address,undefined
    part address-undefined-examples memory_examples
    part address-undefined-oom oom san-address-undefined SAN=address,undefined
    part address-undefined-fault faults san-address-undefined "F1 F4 P R Z" SAN=address,undefined
    :
}
of_waits() { # what waits for a clock or for other processes more than it computes
    passed=0 failed=0 skipped=0
    part fault faults release ""
    part limits limits
    part remote tests/remote.sh $rel
    :
}

part build build all $rel/runner $rel/golden $rel/oom/oom $rel/fault $rel/fuzz-replay $rel/fuzz-tapes
# shellcheck disable=SC2046
part unit suites $rel/runner $(all_suites)
part address-undefined memory
part thread races
lane release of_the_release
lane memory of_memory
lane waits of_waits
wait
for count in release memory waits; do
    read -r p f s <"$logs/$count.count" || f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped in $(($(date +%s) - started)) s"
[ "$failed" = 0 ]
