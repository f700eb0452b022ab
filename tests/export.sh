#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sett export: its files compile without a warning as what they say they are, several of them link into one program in C and one in C++,
# with and without sett, their launches are those of sett, and what they refuse is refused with sett's texts. The driver is that of
# tests/fake, and the assembler writes the target into its cubins.
set -u
b=${1:-build/release}
sett=$b/sett
cc=${CC:-cc} cxx=${CXX:-c++}
d=$(mktemp -d)
here=$PWD
n=0 bad=0
trap 'rm -rf "$d"' EXIT
. tests/expect.sh
fake_assembler "$d"
# shellcheck disable=SC2016
sed -i '2s/^/for a in "$@"; do case $a in *sm_*) t=${a##*sm_};; esac; done\n/; s|cp [^ ]*/elf "$2"|{ head -c 9 '"$d"'/elf; printf "%-4.4s" "$t" \| tr " " "\\000"; tail -c +14 '"$d"'/elf; } >"$2"|' "$d/ptxas"
export SETT_CACHE_DIR="$d/cache" SETT_ASSERTS=1
say() { echo "export: $*"; bad=$((bad + 1)); }
quiet() { "$@" >/dev/null; }
ok() { # what, command...: it succeeds and says nothing
    what=$1
    shift
    n=$((n + 1))
    out=$("$@" 2>&1) && [ -z "$out" ] || say "$what: $out"
}

# ---- the files ---------------------------------------------------------------------------------------------------------
$cc -shared -fPIC -O1 -std=c11 -Iinclude tests/fixture/export_odd.c -o "$d/libodd.so" || exit 1
make_all() { # folder
    mkdir -p "$1"
    ok "saxpy" quiet "$sett" export saxpy --targets sm_80,sm_90,sm_90a -o "$1/ax"
    ok "saxpy again" quiet "$sett" export saxpy --targets sm_90,sm_80 -o "$1/ay"
    ok "saxpy of others" quiet "$sett" export saxpy --targets sm_80,sm_100a -o "$1/old"
    ok "rms_norm" quiet "$sett" export rms_norm,cols=1024,dtype=bf16 --targets sm_80,sm_90a -o "$1/rn"
    ok "a tape" quiet "$sett" export tt=tests/tape/transpose_tma.tape --targets sm_90a -o "$1/tt"
    ok "functions of tvm-ffi" quiet "$sett" export saxpy --tvm-ffi --targets sm_80,sm_90a -o "$1/tv"
    ok "a family of odd names" quiet "$sett" export "$d/libodd.so:names_family" --tvm-ffi --targets sm_90a -o "$1/names"
    ok "a family" quiet "$sett" export "odd=$d/libodd.so:odd_family,threads=32" --targets sm_80,sm_90a -o "$1/odd"
}
make_all "$d/one"
"$sett" compile saxpy --target sm_90a --emit cubin -o /dev/null # a cache that has one of them under another name
make_all "$d/two"
ok "which driver it needs" grep -qF '/* For sm_80, sm_90, sm_90a; a driver for CUDA 13.0 or later.' "$d/one/ax.h"
ok "the same bytes again" diff -r "$d/one" "$d/two"

# ---- as programs have them ---------------------------------------------------------------------------------------------------
strict="-Wall -Wextra -Wshadow -pedantic -Werror"
for f in "$d"/one/*.c; do
    name=$(basename "$f" .c)
    # shellcheck disable=SC2086
    for c in $cc $(command -v clang); do
        ok "$name.c by $c" "$c" -std=c11 $strict -O2 -c "$f" -o "$d/$name.o"
    done
    # shellcheck disable=SC2086
    ok "$name.c" $cc -std=c11 $strict -O2 -g -c "$f" -o "$d/$name.o"
    printf '#include "%s.h"\n#include "%s.h"\n' "$name" "$name" >"$d/one/use_$name.inc"
    # shellcheck disable=SC2086
    for std in c99 c11; do ok "$name.h as $std" $cc -std=$std $strict -fsyntax-only -x c "$d/one/use_$name.inc"; done
    # shellcheck disable=SC2086
    for std in c++11 c++20; do ok "$name.h as $std" $cxx -std=$std $strict -fsyntax-only -x c++ "$d/one/use_$name.inc"; done
    other=$(nm --defined-only "$d/$name.o" | awk -v p="^(__tvm_ffi_)?${name}_" '$2 ~ /[A-Z]/ && $3 !~ p {print $3}')
    [ -z "$other" ] || say "$name.o defines $other"
    ! objdump -h "$d/$name.o" | grep -E 'init_array|ctors' || say "$name.o has constructors"
done

objects="$d/ax.o $d/ay.o $d/old.o $d/rn.o $d/tt.o $d/odd.o"
# shellcheck disable=SC2086
{
    ok "a program in C" $cc -std=gnu11 -Wall -Wextra -pedantic -Werror -I. -I"$d/one" tests/fixture/export_use.c $objects -ldl -lpthread -o "$d/use_c"
    ok "a program in C++" $cxx -std=c++11 -Wall -Wextra -pedantic -Werror -I. -I"$d/one" -x c++ tests/fixture/export_use.c -x none $objects -ldl -lpthread -o "$d/use_cxx"
    ok "a program with a sanitizer" $cc -std=gnu11 -fsanitize=address,undefined -fno-sanitize-recover=all -g -I. -I"$d/one" tests/fixture/export_use.c "$d"/one/*.c -ldl -lpthread -o "$d/use_san"
    ok "a program with another one" $cc -std=gnu11 -fsanitize=thread -g -I. -I"$d/one" tests/fixture/export_use.c "$d"/one/*.c -ldl -lpthread -o "$d/use_tsan"
    ok "a program with sett" $cc -std=gnu11 -Wall -Wextra -Werror -Iinclude -I. -I"$d/one" tests/fixture/export_both.c tests/fixture/export_odd.c $objects -L"$b" \
        -lsett-kernels -lsett -Wl,-rpath,"$PWD/$b" -ldl -lpthread -o "$d/both"
}
ok "a shared object for tvm-ffi" $cc -shared -fPIC -std=c11 -fvisibility=hidden "$d/one/tv.c" -o "$d/tv.so"
ok "a program as tvm-ffi" $cc -std=gnu11 -Wall -Wextra -Werror -rdynamic -I. tests/fixture/export_tvm.c -ldl -o "$d/use_tvm"
[ "$(nm -D --defined-only "$d/tv.so" | awk '{print $3}')" = __tvm_ffi_tv_saxpy ] || say "a shared object for tvm-ffi has other symbols"
! objdump -p "$d/use_c" | grep NEEDED | grep -vE 'lib(c|dl|m|pthread)\.so' || say "a program with exports needs more than libc"
with="env LD_LIBRARY_PATH=$PWD/$b/fake"
for p in use_c use_cxx use_san use_tsan; do
    # shellcheck disable=SC2086
    ok "$p" $with "$d/$p"
done
ok "a program that forks" $cc -std=gnu11 -Wall -Wextra -Werror -I"$d/one" tests/fixture/export_fork.c "$d/ax.o" -ldl -lpthread -o "$d/use_fork"
# shellcheck disable=SC2086
ok "a fork in a first call" $with "$d/use_fork"
# shellcheck disable=SC2086
ok "tvm-ffi" $with "$d/use_tvm" "$d/tv.so"
ok "without a driver" "$d/use_c" none
# shellcheck disable=SC2086
! command -v valgrind >/dev/null || ok "valgrind" $with valgrind -q --error-exitcode=9 "$d/use_c"
n=$((n + 1))
# shellcheck disable=SC2086
both=$($with "$d/both" tests/tape/transpose_tma.tape 2>&1) || say "with sett: $both"

# ---- the program of the documentation ----------------------------------------------------------------------------------------------
awk -v d="$d" '/^```c export$/ {getline line; split(line, w, " "); to = d "/" w[2]; print line >to; next} /^```/ {to = ""} to {print >to}' docs/embedding.md
printf '#include <stdint.h>\nint server_scale(void *, float *, int64_t, float);\nint main(void) { static float x[8]; return server_scale(0, x, 8, 2) || !server_scale(0, 0, 8, 2); }\n' >"$d/main.c"
n=$((n + 1))
(
    cd "$d" && $cc -shared -fPIC -std=c11 -Wall -Wextra -Werror mine.c -o libmine.so -I"$here/include" &&
        "$here/$sett" export ./libmine.so:scale_family saxpy --targets sm_80,sm_90a -o kernels &&
        grep -q 'kernels_status kernels_scale(kernels_stream, const kernels_buf \*X, float a);' kernels.h &&
        $cc -std=c11 -Wall -Wextra -Werror server.c main.c kernels.c -ldl -lpthread -o server &&
        [ "$(LD_LIBRARY_PATH=$here/$b/fake ./server 2>&1)" = "scale: X is a null pointer" ] &&
        $cc -std=c11 -Wall -Wextra -Werror test.c kernels.c -ldl -lpthread -o test && says=$(./test) && grep -qxF "    $says" "$here/docs/embedding.md"
) || say "the program of docs/embedding.md"

# ---- an object -----------------------------------------------------------------------------------------------------------------
mkdir "$d/ob j"
ok "saxpy as an object" quiet env CC="$cc -DUNUSED" "$sett" export saxpy --targets sm_80,sm_90,sm_90a -o "$d/ob j/ax.o"
# shellcheck disable=SC2086
ok "a program with that object" $cc -std=gnu11 -I"$d/ob j" tests/fixture/export_fork.c "$d/ob j/ax.o" -ldl -lpthread -o "$d/use_object"
# shellcheck disable=SC2086
ok "it runs" $with "$d/use_object"
ok "and there is no source" test ! -e "$d/ob j/ax.c"
printf '#!/bin/sh\nexec %s "$@"\n' "$cc" >"$d/mycc"
chmod +x "$d/mycc"
mkdir -p "$d/here/sub" "$d/elsewhere/sub"
ok "an object, whatever CDPATH and a relative compiler" sh -c 'cd "$1/here" && ln -sf ../mycc mycc && CDPATH="$1/elsewhere" CC=./mycc "$2" export saxpy --targets sm_90a -o sub/k.o >/dev/null && test -s sub/k.o && test -s sub/k.h' - "$d" "$here/$sett"
echo old >"$d/kept.h"
CC=false expect 1 'made no .*/kept.o' export saxpy --targets sm_90a -o "$d/kept.o"
ok "a header that was there stays" grep -qx old "$d/kept.h"
rm "$d/kept.h"
CC=/nowhere/cc expect 1 'there is no C compiler /nowhere/cc: set CC, or give -o .*/none and compile .*/none.c' export saxpy --targets sm_90a -o "$d/none.o"
CC=false expect 1 'the C compiler false made no .*/none.o' export saxpy --targets sm_90a -o "$d/none.o"
[ ! -e "$d/none.h" ] && [ ! -e "$d/none.o" ] || say "an object that was not made leaves files"

# ---- functions that would have a name of the source -----------------------------------------------------------------------------
for word in $(grep -o '\btv_[a-z0-9]\w*' "$d/one/tv.c" | sed 's/^tv_//' | sort -u) OK F32 API; do
    name=tv
    [ "$word" = "$(echo "$word" | tr A-Z a-z)" ] || name=TV
    if "$sett" export "$word=saxpy" --targets sm_90a -o "$d/$name" >"$d/said" 2>&1; then
        ok "a function $word" $cc -std=c11 -fsyntax-only "$d/$name.c"
    else
        ok "a refused function $word" grep -qE 'declares: give the kernel another name|one of both parts needs a small letter' "$d/said"
    fi
done

# ---- what the command refuses ---------------------------------------------------------------------------------------------------
expect 0 '^[^ ]*/y.h, [^ ]*/y.c: 2 functions for sm_80,sm_90a$' export saxpy transpose --targets sm_80,sm_90a -o "$d/y"
expect 2 'export takes one kernel or more' export
expect 2 'give --targets, as sm_80,sm_90a' export saxpy -o "$d/x"
expect 2 'give -o NAME' export saxpy --targets sm_90a
expect 2 '--targets sm_80,: it ends in a comma' export saxpy --targets sm_80, -o "$d/x"
expect 2 '--targets sm_80,,sm_90: targets with commas between' export saxpy --targets sm_80,,sm_90 -o "$d/x"
expect 2 '--targets "": targets with commas between' export saxpy --targets "" -o "$d/x"
expect 1 'sm_81 is not a target|sm_81' export saxpy --targets sm_81 -o "$d/x"
expect 1 'saxpy is there twice for sm_90a: give one of them another name; for the command FUNCTION=KERNEL' export saxpy saxpy --targets sm_90a -o "$d/x"
expect 1 'saxpy is there twice for sm_90a' export saxpy --targets sm_90a,sm_90a -o "$d/x"
expect 1 'x_prepare is what every export declares' export prepare=saxpy --targets sm_90a -o "$d/x"
expect 1 '"_y" is no name for a function' export _y=saxpy --targets sm_90a -o "$d/x"
expect 1 '"sett" cannot begin the names of an export' export saxpy --targets sm_90a -o "$d/sett"
expect 1 '"9x" cannot begin' export saxpy --targets sm_90a -o "$d/9x"
expect 1 '"while" cannot begin' export saxpy --targets sm_90a -o "$d/while"
expect 1 'has no cubin: compile it for a GPU' export saxpy --targets cpu -o "$d/x"
expect 2 'parameter plain of rms_norm is named no_pdl now' export rms_norm,plain=1 --targets sm_90a -o "$d/x"
expect 2 'colz is no parameter of rms_norm; did you mean cols' export rms_norm,colz=3 --targets sm_90a -o "$d/x"
expect 2 'cols=many: no integer, true, false or element type: i1, i8, .*f8E4M3FN' export rms_norm,cols=many --targets sm_90a -o "$d/x"
expect 2 'activation=tanh: no integer, and none of none, relu, gelu, gelu_tanh, silu' export gemm_mma,dtype=f16,activation=tanh --targets sm_90a -o "$d/x"
expect 0 ': 1 function for sm_90a$' export gemm_mma,dtype=f16,bias=1,activation=gelu,bm=16,bn=64 --targets sm_90a -o "$d/y"
expect 2 'scale=many: no number' export "$d/libodd.so:bare_family,threads=32,scale=many" --targets sm_90a -o "$d/x"
expect 2 'cols=8 and cols=9: it is given twice' export rms_norm,cols=8,dtype=f16,cols=9 --targets sm_90a -o "$d/x"
expect 2 'scale has no value, and bare has no defaults: write .*/libodd.so:bare_family,threads=32,scale=VALUE' export "$d/libodd.so:bare_family,threads=32" --targets sm_90a -o "$d/x"
expect 2 'threads has no value, and bare has no defaults: write .*/libodd.so:bare_family,threads=VALUE' export "$d/libodd.so:bare_family" --targets sm_90a -o "$d/x"
expect 0 ': 1 function for sm_90a$' export "$d/libodd.so:bare_family,scale=1,threads=32" --targets sm_90a -o "$d/y"
for option in '--dtype f32' '--cols 8' '--threads 64'; do
    name=${option% *} name=${name#--}
    # shellcheck disable=SC2086
    expect 2 "${option% *} is of named kernels without parameters: write .*libodd.so:odd_family,${name}=${option#* }" export saxpy "$d/libodd.so:odd_family" ${option% *} ${option#* } --targets sm_90a -o "$d/x"
done
expect 2 '--dtype is of named kernels without parameters: write rms_norm,cols=8,dtype=f32' export rms_norm,cols=8 --dtype f32 --targets sm_90a -o "$d/x"
for t in bf16 bfloat16; do expect 0 ': 1 function for sm_90a$' export rms_norm,cols=8,dtype=$t --targets sm_90a -o "$d/$t"; done
sed 's/bfloat16/bf16/g; s/BFLOAT16/BF16/g' "$d/bfloat16.c" | cmp - "$d/bf16.c" || say "dtype=bfloat16 is another kernel than dtype=bf16"
expect 2 'libodd.so is a shared object: name a family in it, as .*libodd.so:FAMILY' export "$d/libodd.so" --targets sm_90a -o "$d/x"
expect 2 'export: product stands for several kernels, among which each launch chooses by a library' export product,dtype=bf16,n=64,k=64 --targets sm_90a -o "$d/x"
expect 2 'export: product stands for several kernels' export "$b/libsett-kernels.so:sett_product_family,dtype=bf16" --targets sm_90a -o "$d/x"
expect 0 'FUNCTION= names its function' help export
ok "a C++ compiler is told" sh -c "! $cxx -c $d/one/ax.c -o $d/x.o 2>$d/cxx && head -3 $d/cxx | grep -q 'compile this file as C11' && rm $d/cxx || cat $d/cxx"
# A path may have what else cuts an operand.
mkdir "$d/a,b=c:d"
cp tests/tape/transpose_tma.tape "$d/a,b=c:d/x=1,y=2.tape"
cp "$d/libodd.so" "$d/a,b=c:d/lib=o,d:d.so"
cp tests/tape/transpose_tma.tape "$d/plain.tape"
(
    cd "$d/a,b=c:d" && cp x=1,y=2.tape z=q.tape && sett=$here/$sett n=0 bad=0
    expect 0 'o.h, .*o.c: 4 functions for sm_90a$' export x=1,y=2.tape "f=$d/a,b=c:d/x=1,y=2.tape" "$d/a,b=c:d/lib=o,d:d.so:odd_family" "g=lib=o,d:d.so:odd_family,threads=64" --targets sm_90a -o "$d/o"
    expect 0 '1 function' export z=q.tape --targets sm_90a -o "$d/p"
    [ "$(grep -cE 'o_(x_1_y_2|f|odd_family|g)\(o_stream' "$d/o.h")" = 4 ] && grep -q 'p_z_q(p_stream' "$d/p.h" && [ "$bad" = 0 ]
) || say "paths with commas and equal signs"
expect 2 'cols=bf16: bf16 is an element type, and cols is a number' export rms_norm,cols=bf16,dtype=f16 --targets sm_90a -o "$d/x"
expect 2 'a tape has no parameters' export tests/tape/transpose_tma.tape,cols=3 --targets sm_90a -o "$d/x"
expect 1 'has no family nothing' export "$d/libodd.so:nothing" --targets sm_90a -o "$d/x"
expect 1 'has no family odd; did you mean odd_family\?$' export "$d/libodd.so:odd" --targets sm_90a -o "$d/x"
expect 1 'has no family rms_norm; did you mean sett_rms_norm_family\?$' export "$b/libsett-kernels.so:rms_norm" --targets sm_90a -o "$d/x"
expect 1 'softmaxx is neither a kernel nor a file; did you mean softmax\?' export softmaxx,cols=64 --targets sm_90a -o "$d/x"
expect 0 '1 function for sm_90a' export gemm_wgmma,dtype=bf16,m=3,n=1536 --targets sm_90a -o "$d/gw"
expect 1 'is neither a kernel nor a file; did you mean saxpy' export saxpi --targets sm_90a -o "$d/x"
expect 1 'no_such/x.h' export saxpy --targets sm_90a -o "$d/no_such/x"
[ ! -e "$d/x.h" ] && [ ! -e "$d/x.c" ] || say "a refused export left files"
echo "$both"
echo "export: $((n - bad)) passed, $bad failed"
[ "$bad" = 0 ]
