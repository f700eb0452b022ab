#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rules that a compiler does not check: which room may include what, headers that stand alone, exported
# symbols, libraries that must not be linked, the id of what is cached.
set -u
b=${1:-build/release}
bad=0
complain() { echo "lint: $*" && bad=1; }

# ---- rooms (rooms.txt has the table, rooms.sh enforces it); LLVM only in ptx; the toolkit's headers nowhere -----------------
forbid() { # where, pattern, why, a file that may be included all the same
    # shellcheck disable=SC2086
    hits=$(grep -rnE "^ *# *include *$2" $1 --include=*.c --include=*.h --include=*.def 2>/dev/null | grep -vF "\"${4:-none}\"")
    [ -z "$hits" ] || complain "$3:
$hits"
}
forbid "include lib jit remote kernels tests bench tools examples" '[<"]llvm' "LLVM belongs to ptx/"
forbid "include plug lib jit ptx kernels tests bench tools examples python" '<(curl|hiredis|openssl)' "what speaks to servers belongs to remote/"
forbid "include plug lib jit ptx remote kernels tests bench tools examples python" '<(cuda|nv)' "the CUDA toolkit is not needed to build"
forbid "include" '"' "public headers include only <sett/...> and libc"
crossed=$(tests/rooms.sh "$b") || complain "rooms:
$crossed"
missed=$(tests/rooms_planted.sh) || complain "$missed"
forbid "tools examples bench kernels python" '"[^"]*(lib/|jit/|ptx/|remote/|plug/)' "programs and kernels use the public headers only" lib/base/words.h
forbid "tools bench tests" '"[^"]*examples/[^"]*\.c"' "what programs share of kernels is in kernels/"

for f in $(git ls-files '*.c' '*.h' '*.def' '*.sh' '*.py' '*.pyi' '*.mk' Makefile 2>/dev/null | grep -v '^third_party/'); do
    [ -f "$f" ] || continue
    one='' two='' three=''
    { read -r one; read -r two; read -r three; } <"$f"
    case $one$two$three in *'SPDX-License-Identifier: Apache-2.0'*) ;; *) complain "$f has no SPDX line" ;; esac
done

# ---- whoever filters by component knows them all ---------------------------------------------------------
for c in $(grep -rhoE 'SETT_LOG_[A-Z]+, "[a-z]+"' jit | cut -d'"' -f2 | sort -u); do
    grep -B 14 '^typedef enum sett_log_level' include/sett/engine.h | grep -qF "\"$c\"" && grep -qF "| \`$c\` |" docs/runtime.md ||
        complain "the component $c of the log is not listed in engine.h and docs/runtime.md"
done

wide=$(grep -rnE '^.{111,}' include/sett | cut -c1-100)
[ -z "$wide" ] || complain "public headers have at most 110 columns:
$wide"

# ---- every public header compiles alone, as C11 and as C++17 -----------------------------------------
for h in include/sett/*.h include/sett/kernels/*.h; do
    name=${h#include/}
    printf '#include <%s>\n' "$name" >"$b/alone.c"
    ${CC:-gcc} -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$b/alone.c" || complain "$h does not compile alone as C11"
    printf '#include <%s>\n' "$name" >"$b/alone.cc"
    ${CXX:-g++} -std=c++17 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only "$b/alone.cc" || complain "$h does not compile alone as C++17"
done

# ---- exported symbols ----------------------------------------------------------------------------------
symbols() { nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | sed 's/@@.*//' | sort; }
symbols "$b/libsett.so" >"$b/libsett.symbols"
case $b in
*/release)
    strip -o "$b/stripped" "$b/libsett.so" && [ "$(stat -c %s "$b/stripped")" -le 3145728 ] || complain "libsett.so is over 3 MiB stripped"
    rm -f "$b/stripped"
    for guard in __stack_chk_fail __memcpy_chk; do # the flags of GUARDED are not lost
        nm -D --undefined-only "$b/libsett.so" | grep -qw "$guard" || complain "libsett.so is not guarded: it calls no $guard"
    done ;;
esac
diff -u tests/abi/libsett.symbols "$b/libsett.symbols" || complain "exported symbols changed; if it is meant: cp $b/libsett.symbols tests/abi/"
# What the headers declare is there, and nothing else: no name that only links, no promise that does not.
printf '#include <%s>\n' dlpack/dlpack.h sett/sett.h sett/picture.h sett/cost.h sett/dlpack.h sett/tvm_ffi.h >"$b/declared.c"
${CC:-gcc} -std=c11 -E -P -Iinclude -Ithird_party "$b/declared.c" | tr '\n' ' ' | grep -oE 'visibility\("default"\)[^;{]*[;{]' |
    grep -oE '[^a-z0-9_](sett_[a-z0-9_]+)\(' | tr -cd 'a-z0-9_\n' | sort -u >"$b/declared.symbols"
diff "$b/declared.symbols" "$b/libsett.symbols" || complain "what the headers declare is not what libsett.so exports"
# Guide and index name every call, and the index nothing else. A call is a macro, or a function that no macro stands for: its name is
# not that of a macro and _at, _layout ..., nor in a macro's body.
cat include/sett/*.h include/sett/kernels/*.h | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' | grep '^# *define' >"$b/macros"
sed -n 's/^# *define \(sett_[A-Za-z0-9_]*\).*/\1/p' "$b/macros" | sort -u >"$b/macros.names"
sed 's/^# *define *[A-Za-z0-9_]*//' "$b/macros" | grep -oE 'sett_[A-Za-z0-9_]+' | sort -u >"$b/macros.use"
{
    cat "$b/macros.names"
    comm -23 "$b/libsett.symbols" "$b/macros.use" | grep -v '_at$' | while read -r f; do
        grep -qx "${f%_*}" "$b/macros.names" || echo "$f"
    done
} | sort -u >"$b/calls"
grep -ohE 'sett_[A-Za-z0-9_]+' docs/guide.md docs/calls.md | sort -u | comm -23 "$b/calls" - >"$b/calls.missing"
[ ! -s "$b/calls.missing" ] || complain "docs/guide.md and docs/calls.md lack $(tr '\n' ' ' <"$b/calls.missing")"
grep -hE '^SETT_API ' include/sett/kernels.h include/sett/kernels/*.h include/sett/dlpack.h | cat - include/sett/arg.h include/sett/launch.h include/sett/graph.h | grep -oE 'sett_[A-Za-z0-9_]+' |
    sort -u - "$b/calls" "$b/libsett.symbols" >"$b/calls.known"
grep -oE 'sett_[A-Za-z0-9_]+ ?\(' docs/calls.md | tr -d ' (' | sort -u | comm -23 - "$b/calls.known" >"$b/calls.unknown"
[ ! -s "$b/calls.unknown" ] || complain "docs/calls.md has what no header has: $(tr '\n' ' ' <"$b/calls.unknown")"
symbols "$b/libsett-kernels.so" >"$b/libsett-kernels.symbols"
diff -u tests/abi/libsett-kernels.symbols "$b/libsett-kernels.symbols" || complain "exported symbols changed; if it is meant: cp $b/libsett-kernels.symbols tests/abi/"
grep -hoE '^SETT_API .*' include/sett/kernels.h include/sett/kernels/*.h | grep -oE '\bsett_[a-z0-9_]+(_family;|\()' | tr -d ';(' | sort -u | diff - "$b/libsett-kernels.symbols" ||
    complain "what sett/kernels.h and sett/kernels/ declare is not what libsett-kernels.so exports"
[ "$(symbols "$b/libsett-ptx.so")" = sett_ptx_plugin ] || complain "libsett-ptx.so exports more than sett_ptx_plugin"
if [ -e "$b/libsett-remote.so" ]; then
    [ "$(symbols "$b/libsett-remote.so")" = sett_remote_plugin ] || complain "libsett-remote.so exports more than sett_remote_plugin"
    odd=$(objdump -p "$b/libsett-remote.so" | awk '/NEEDED/ {print $2}' | grep -vE '^(libcurl|libhiredis|libssl|libcrypto|libc|ld-linux-x86-64)\.so')
    [ -z "$odd" ] || complain "libsett-remote.so needs $odd"
fi
for so in libsett.so libsett-ptx.so libsett-kernels.so; do
    odd=$(objdump -p "$b/$so" | awk '/NEEDED/ {print $2}' | grep -vE '^(libc|libm|libdl|libpthread|ld-linux-x86-64|libsett)\.so')
    [ -z "$odd" ] || complain "$so needs $odd"
done

# ---- who changes what is made of a tape raises the id that is in every key --------------------------------------
id=$(sed -n 's/^#define SETT__CODEGEN_ID "\(.*\)"/\1/p' plug/compiler.h)
sum=$(tests/codegen.sh)
echo "$id $sum" >"$b/codegen.sha256"
if ! cmp -s "$b/codegen.sha256" tests/abi/codegen.sha256; then
    read -r was _ <tests/abi/codegen.sha256
    [ "$was" = "$id" ] && complain "the lowering changed: raise SETT__CODEGEN_ID ($id) unless every kernel's code stays the same"
    complain "then: cp $b/codegen.sha256 tests/abi/"
fi

# ---- rows whose numbers are in tapes on disk stay where they are --------------------------------------------------
moved=$(tests/rows.sh) || complain "$moved"
missed=$(tests/tables_planted.sh) || complain "$missed"

# ---- make -n says what would run, and runs nothing ---------------------------------------------------------
for target in check gpu-check demo; do
    ran=$(CHECK_ONLY=nothing ${MAKE:-make} -n "$target" 2>&1 | grep -E ' skipped in |^sett: |elements equal|no GPU here')
    [ -z "$ran" ] || complain "make -n $target runs: $ran"
done

# ---- a machine without a compiler yet: make demo and make check install it, and complain of nothing before ------------
mkdir -p "$b/bare"
for tool in sh sed grep id nproc cat uname nm make expr tr cut sort; do
    ln -sf "$(command -v $tool)" "$b/bare/$tool"
done
for target in demo check; do
    said=$(PATH=$PWD/$b/bare "$b/bare/make" -n "$target" 2>&1 | grep 'not found')
    [ -z "$said" ] || complain "make -n $target without a compiler: $said"
done

# ---- links of the documents lead somewhere -------------------------------------------------------------------
for md in README.md CONTRIBUTING.md */README.md docs/*.md docs/*/*.md; do
    for to in $(grep -oE '\]\([^)#:]+' "$md" | cut -c3- | sort -u); do
        [ -e "$(dirname "$md")/$to" ] || complain "$md: $to is not there"
    done
done

for to in $(grep -ohE '`[a-z]+/[^`, *]+`' CONTRIBUTING.md | tr -d '`' | sort -u); do
    case $to in *NAME*) ;; *) [ -e "$to" ] || complain "CONTRIBUTING.md: $to is not there" ;; esac
done

# ---- the maps of folders and examples have what is there --------------------------------------------------------
for e in examples/*.c; do
    grep -qF "(../$e)" docs/guide.md || complain "docs/guide.md does not name $e"
done
for d in $(git ls-files 2>/dev/null | grep / | cut -d/ -f1 | grep -v "^\." | sort -u); do
    grep -q "^| \`$d/" README.md || complain "README.md's table of folders lacks $d/"
done

# ---- what we give where other systems disagree is explained -----------------------------------------------------
for op in $(cut -f1 tests/golden/*/divergent.answers | sort -u); do
    grep -qF "\`$op\`" docs/differences.md || complain "docs/differences.md does not say what $op gives where systems disagree"
done

# ---- man pages: well-formed, and of the formats that docs/cache.md has --------------------------------------------
if command -v man >/dev/null && command -v groff >/dev/null; then
    for page in docs/*.[1-9]; do
        why=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
        [ -z "$why" ] || complain "$page: $why"
    done
fi
if command -v mandoc >/dev/null; then
    why=$(mandoc -Tlint -W warning docs/*.[1-9]) || complain "$why"
fi
sed -nE 's/^\| ((end - )?[0-9]+) \|.*/\1/p' docs/cache.md >"$b/offsets"
sed -nE 's/^\.It ((end - )?[0-9]+)$/\1/p' docs/sett-cache.5 | diff "$b/offsets" - || complain "docs/sett-cache.5 and docs/cache.md have other offsets"

# ---- every file stays readable -----------------------------------------------------------------------------
long=$(git ls-files '*.c' '*.h' | grep -v '^third_party/' | xargs wc -l 2>/dev/null | awk '$2 != "total" && $1 > 800 {print $2 " (" $1 ")"}')
[ -z "$long" ] || complain "over 800 lines: $long"
[ "$bad" = 0 ] && echo "lint: ok"
exit $bad
