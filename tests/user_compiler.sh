#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What sett's headers cost the user's compiler: 30 nested calls in 200 MiB of address space beyond the compiler's own
# and one second of CPU; a host program in C++17 that launches a kernel.
set -u
b=${1:-build/release}
mkdir -p "$b/user"
awk 'BEGIN {
    print "#include <sett/sett.h>\nsett_val *nested(sett_val *x);\nsett_val *nested(sett_val *x)\n{\n    return";
    for (i = 0; i < 30; i++) printf("sett_%s(", i % 2 ? "add" : "mul"); printf("x");
    for (i = 0; i < 30; i++) printf(", %s)", i % 3 ? "x" : "2.0"); print ";\n}" }' >"$b/user/nested.c"
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "$cc is not here: not tried"; continue; }
    # The compiler itself maps about 150 MB (gcc) or 400 MB (clang) before it reads a line.
    limit=$([ $cc = gcc ] && echo 400000 || echo 700000)
    (ulimit -v $limit && ulimit -t 5 && $cc -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -c "$b/user/nested.c" -o "$b/user/nested.o") ||
        { echo "$cc: 30 nested calls took more than $limit kB or 5 s"; exit 1; }
done
${CXX:-g++} -std=c++17 -pedantic -Wall -Wextra -Werror -Iinclude tests/host.cc -o "$b/user/host" "$b/obj/tests/host_kernel.o" \
    -L"$b" -lsett -Wl,-rpath,"$PWD/$b" && "$b/user/host"
