#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make gpu-check`: the suites that run kernels, and the examples, on a GPU. Uses what is built already when there
# is nothing to build it with. Without a device: says why and stops.
set -u
b=${B:-build/release}
if command -v llvm-config-22 >/dev/null; then
    ${MAKE:-make} --no-print-directory -j"$(nproc)" all "$b/runner" "$b/bench/accuracy" "$b/golden" || exit 1
fi
if ! "$b/sett" doctor; then
    echo "skipped: no GPU here (sett doctor says why)"
    exit 0
fi
bad=0
cores=$(nproc)
began=$(date +%s)
part() {
    echo "gpu-check: $(($(date +%s) - began)) s: $1"
}
# A suite of many programs: each core assembles and runs its part of them.
in_parts() {
    suite=$1 part=0 pids=
    while [ "$part" -lt "$cores" ]; do
        SETT_TEST_PART=$part/$cores CK_FORK=no SETT_TEST_GPU=1 "$b/runner" "$suite" &
        pids="$pids $!" part=$((part + 1))
    done
    for p in $pids; do
        wait "$p" || bad=1
    done
}
# Suites side by side, as most of their time is an assembler's; what they say follows in order.
side_by_side() {
    said=$(mktemp -d) pids=
    for suite; do
        CK_FORK=no SETT_TEST_GPU=1 "$b/runner" "$suite" >"$said/$suite" 2>&1 &
        pids="$pids $!"
    done
    for p in $pids; do
        wait "$p" || bad=1
    done
    for suite; do
        cat "$said/$suite"
    done
    rm -rf "$said"
}
SETT_CACHE_DIR=$(mktemp -d)
export SETT_CACHE_DIR
trap 'rm -rf "$SETT_CACHE_DIR"' EXIT
part suites
for suite in gpu devices; do # each by itself: the last test of gpu spoils its process
    CK_FORK=no SETT_TEST_GPU=1 "$b/runner" $suite || bad=1
done
side_by_side conform programs properties kernels attention attention_decode gemm_mma gemm_few_rows gemm grouped product product_given product_groups product_pointers \
    product_blocks epilogues epilogue_blocks activations hopper promote weights rows rope sampling moe gather pipeline tma_copies
part "suites, as graphs"
for suite in programs conform; do # as graphs whose nodes are updated
    SETT_TEST_GRAPH=1 CK_FORK=no SETT_TEST_GPU=1 "$b/runner" $suite || bad=1
done
part "suites in parts"
for suite in layouts boxes; do
    in_parts $suite
done
part goldens
SETT_TEST_GPU=1 "$b/golden" tests/golden/numeric tests/golden/tensorssa tests/golden/print || bad=1
# Each example checks itself. What the CPU engine gives has the same bits, but where the hardware's approximations are in it; autotune has
# other sizes there, and graphs nothing.
part examples
others=" attention layer_norm library moe rms_norm silu_mul softmax autotune capture "
for e in "$b"/examples/*; do
    [ -x "$e" ] || continue
    EXAMPLE_BITS=1 "$e" >"$SETT_CACHE_DIR/gpu" || { echo "$e: FAILED" && bad=1; }
    EXAMPLE_BITS=1 SETT_DEVICE=cpu "$e" >"$SETT_CACHE_DIR/cpu" || { echo "$e on the CPU: FAILED" && bad=1; }
    grep -v '^bits ' "$SETT_CACHE_DIR/gpu"
    for d in gpu cpu; do grep '^bits ' "$SETT_CACHE_DIR/$d" >"$SETT_CACHE_DIR/$d.bits"; done
    case $others in *" ${e##*/} "*) continue ;; esac
    if cmp -s "$SETT_CACHE_DIR/gpu.bits" "$SETT_CACHE_DIR/cpu.bits"; then
        echo "${e##*/}: $(wc -l <"$SETT_CACHE_DIR/gpu.bits") results, bits as on the CPU"
    else
        echo "$e: FAILED, other bits on the CPU" && bad=1
    fi
done
part "examples under compute-sanitizer"
printf '%s\0' "$b"/examples/* | xargs -0 -n 10 -P 4 tests/sanitize.sh || bad=1
part accuracy
for type in f32 f64 f16 bf16; do # the same bits as the CPU engine, a million inputs a function
    "$b/bench/accuracy" -bq -t $type -s 4099 -n 1000000 || bad=1
done
part Python
if [ -d "$b/python/tree" ] && python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then # after make wheel
    root=$PWD
    (cd python/tests && PYTHONPATH="$root/$b/python/tree" PYTHONDONTWRITEBYTECODE=1 python3 -W ignore -m unittest) || bad=1
fi
[ "$bad" = 0 ] && echo "gpu-check: ok"
exit $bad
