#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every "$ sett ..." line of a ```console block of README.md and the documents is run, and prints what stands below it.
# What such lines write to pictures/ is equal to docs/pictures/; with "update" it is put there instead.
set -u
b=${1:-build/release}
root=$PWD
work=$root/$b/console
rm -rf "$work"
mkdir -p "$work/pictures"
bad=0
n=0
sett() { "$root/$b/sett" "$@"; }

for md in README.md docs/*.md docs/*/*.md; do
    awk -v out="$work/$(echo "${md%.md}" | tr / -)" '
        /^```console$/ {inside = 1; next}
        /^```/ {inside = 0}
        inside && /^\$ / {to = sprintf("%s-%03d", out, ++n); print substr($0, 3) > (to ".sh"); printf "" > (to ".expected"); next}
        inside && to {print > (to ".expected")}' "$md"
done
for c in "$work"/*.sh; do
    n=$((n + 1))
    line=$(cat "$c")
    case $line in 'sett '*) ;; *) echo "$c: only sett is run: $line" && bad=$((bad + 1)) && continue ;; esac
    cd "$work" && eval "$line" >"${c%.sh}.printed" 2>&1
    code=$?
    cd "$root" || exit 1
    # A line that fails says so by its message, which stands below it.
    if ! diff "${c%.sh}.expected" "${c%.sh}.printed" || { [ $code != 0 ] && ! grep -q '^sett: ' "${c%.sh}.printed"; }; then
        echo "$line: prints something else than its document says (exit code $code)"
        bad=$((bad + 1))
    fi
done
if [ "${2:-}" = update ]; then
    rm -f docs/pictures/*.svg docs/pictures/*.html
    cp "$work"/pictures/* docs/pictures/
else
    for f in "$work"/pictures/* docs/pictures/*.svg docs/pictures/*.html; do
        cmp -s "$work/pictures/$(basename "$f")" "docs/pictures/$(basename "$f")" && continue
        echo "docs/pictures/$(basename "$f") is not what its line writes: make pictures, and look at it"
        bad=$((bad + 1))
    done
fi
[ $n -gt 0 ] || bad=1
echo "$((n - bad)) passed, $bad failed"
[ "$bad" = 0 ]
