#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Read by what tests the command: runs $sett, counts in $n, and in $bad what went another way.
# shellcheck disable=SC2154
expect() { # exit code, pattern in stdout+stderr, arguments...
    want=$1 pattern=$2
    shift 2
    out=$("$sett" "$@" 2>&1)
    got=$?
    n=$((n + 1))
    if [ "$got" != "$want" ] || ! printf '%s\n' "$out" | grep -qE -- "$pattern"; then
        echo "sett $*: exit $got (want $want), output: $out"
        echo "    should match: $pattern"
        bad=$((bad + 1))
    fi
}
fake_assembler() { # folder: a ptxas there that gives an ELF header as its cubin, and no nvJitLink, from here on
    printf '#!/bin/sh\n[ "$1" = --version ] && echo "release 13.0, V13.0.99" && exit\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && cp %s "$2"; shift; done\n' "$1/elf" >"$1/ptxas"
    chmod 700 "$1/ptxas"
    printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\276\000\001\000\000\000' >"$1/elf"
    head -c 28 /dev/zero >>"$1/elf"
    printf '\100\000' >>"$1/elf"
    head -c 10 /dev/zero >>"$1/elf"
    export SETT_PTXAS="$1/ptxas" SETT_NVJITLINK=/nowhere/libnvJitLink.so
}
