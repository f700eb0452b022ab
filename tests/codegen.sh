#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/codegen.sh [TREE]: the digest of what decides the code that a tape becomes: the lowering, and of lib/tape the tables, the
# targets, inline PTX and the operands of FORM. Comments and blanks do not count.
# lint.sh holds it against tests/abi/codegen.sha256; tables_planted.sh tests it.
set -eu
export LC_ALL=C
cd "${1:-.}"
for f in lib/tape/*.def lib/tape/form.c lib/tape/inline_text.[ch] lib/tape/target.c ptx/*.[ch]; do
    gcc -fpreprocessed -dD -E -P -x c "$f" | tr -d ' \t\n'
done | sha256sum | cut -d' ' -f1
