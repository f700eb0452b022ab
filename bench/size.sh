#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sizes of the shared objects, stripped, and peak memory of processes that use them: bench/size.sh BUILD
set -u
b=${1:-build/release}
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
echo "| shared object, stripped | MiB |"
echo "| --- | --- |"
for f in libsett.so libsett-ptx.so; do
    strip -o "$tmp" "$b/$f" 2>/dev/null || cp "$b/$f" "$tmp" # a portable copy is stripped already
    stat -c %s "$tmp" | awk -v f=$f '{printf "| %s | %.2f |\n", f, $1 / 1048576}'
done
echo
"$b/bench/footprint"
