#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package. `python.sh BUILD` tests what the wheel holds, as it lies, with the Python and the NumPy of the machine and
# without a network. `python.sh BUILD registry` installs the wheel into a virtual environment, with NumPy, apache-tvm-ffi and what
# $WITH names (torch, say) from the registry, and tests that.
set -u
b=${1:-build/release}
how=${2:-here}
fail() { echo "$*"; exit 1; }

why=$(tools/setup python 2>&1)
fits='import os, sys, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h"); sys.exit(sys.version_info < (3, 10))'
[ "$how" = registry ] && fits="$fits or not __import__('venv')" || fits="import numpy; $fits"
python=
for p in ${PYTHON:-python3} /usr/bin/python3; do
    [ -z "$python" ] && $p -c "$fits" >/dev/null 2>&1 && python=$p
done
[ -n "$python" ] || { echo "skipped: no Python 3.10 or newer with its headers and NumPy: $(printf '%s' "$why" | tail -n 1)"; exit 0; }
${MAKE:-make} --no-print-directory PYTHON="$python" wheel-file "$b/fake/libcuda.so.1" || exit 1
export SETT_FAKE_DRIVER="$PWD/$b/fake"
wheel=$(echo "$PWD/$b"/python/*.whl)
if [ "$how" = registry ]; then
    rm -rf "$b/python/venv"
    "$python" -m venv "$b/python/venv" && "$b/python/venv/bin/pip" install -q "$wheel" numpy apache-tvm-ffi ${WITH:-} || exit 1
    python=$PWD/$b/python/venv/bin/python
    unset PYTHONPATH
else # the same bytes again, and nothing of what lies there is missing in it
    cp "$wheel" "$b/python/first" && "$python" python/wheel.py "$b" "$(sed -n 's/^#define SETT_VERSION "\(.*\)"/\1/p' include/sett/base.h)" &&
        cmp "$b/python/first" "$wheel" || fail "two wheels of one build differ"
    rm "$b/python/first"
    grep -q '^==== llvm-toolchain-22 ====$' "$b"/python/tree/*.dist-info/LICENSES.static || fail "the wheel does not bring the licence of LLVM"
    export PYTHONPATH="$PWD/$b/python/tree"
fi
export PYTHONDONTWRITEBYTECODE=1
log=$PWD/$b/python/log
(cd python/tests && "$python" -W ignore -m unittest 2>"$log") || { cat "$log"; exit 1; }
grep -q '^Ran [1-9]' "$log" || { cat "$log"; exit 1; }
tail -n 1 "$log"
echo "$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$log") passed, 0 failed"
