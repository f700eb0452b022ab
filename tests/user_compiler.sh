#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What sett's headers cost the user's compiler, stated beside an empty file: 30 nested calls take under 200 MiB (seconds of
# CPU are stated, and cut off at 5); a host program in C++17 that launches a kernel.
set -u
b=${1:-build/release}
mkdir -p "$b/user"
awk 'BEGIN {
    print "#include <sett/sett.h>\nsett_val *nested(sett_val *x);\nsett_val *nested(sett_val *x)\n{\n    return";
    for (i = 0; i < 30; i++) printf("sett_%s(", i % 2 ? "add" : "mul"); printf("x");
    for (i = 0; i < 30; i++) printf(", %s)", i % 3 ? "x" : "2.0"); print ";\n}" }' >"$b/user/nested.c"
echo '#include <sett/sett.h>' >"$b/user/header.c"
echo 'typedef int nothing;' >"$b/user/empty.c"
${CC:-cc} -O1 bench/cost.c -o "$b/user/cost" || exit 1
# Two branches on one line, one in the other, in a macro: the user's warnings stay the user's.
cat >"$b/user/shadow.c" <<'END'
#include <sett/sett.h>
#define BOTH(b, c, d) sett_if (b, c) { sett_if (b, d) sett_sync_warp(b); sett_else (b) { sett_if (b, c) sett_sync_warp(b); } }
void shadow(sett_build *b, sett_val *c, sett_val *d);
void shadow(sett_build *b, sett_val *c, sett_val *d)
{
    sett_if (b, c) sett_if (b, d) sett_sync_warp(b);
    BOTH(b, c, d)
}
END
# The short names, wanted after an include that was without them; a third include adds nothing.
cat >"$b/user/short.c" <<'END'
#include <sett/sett.h>
#ifdef T
#error "T without SETT_SHORT"
#endif
#define SETT_SHORT
#include <sett/sett.h>
#include <sett/sett.h>
sett_layout *row(sett_build *b, sett_layout *l);
sett_layout *row(sett_build *b, sett_layout *l) { return sett_composition(sett_slice(l, 1, ALL), T(ALL, sett_make_layout(b, T1(4)))); }
END
sed 's/sett\.h/arg.h/; 7s/arg/sett/' "$b/user/short.c" >"$b/user/short_arg.c"
# An array that a kernel is to fill is not initialised before.
cat >"$b/user/output.c" <<'END'
#include <sett/sett.h>
float output(sett_kernel *k);
float output(sett_kernel *k)
{
    float one[8], two[8], many[8];
    const int64_t shape[] = {8};
    sett_buf a = sett_buf_1d(one, SETT_F32, 8), b = sett_buf_2d(two, SETT_F32, 2, 4), c = sett_buf_nd(many, SETT_F32, 1, shape);
    return sett_launch(k, sett_stream_of(SETT_CPU, NULL), NULL, &a, &b, &c) ? 0 : one[0] + two[0] + many[0];
}
END
# A wrong argument of a launch says what is right.
cat >"$b/user/wrong.c" <<'END'
#include <sett/sett.h>
sett_status wrong(sett_kernel *k, sett_buf x);
sett_status wrong(sett_kernel *k, sett_buf x) { return sett_launch(k, sett_stream_of(0, NULL), NULL, x); }
END
# A call without its coordinate says so before the compiler's own words.
for call in 'sett_atomic_add(t, 1)' 'sett_atomic_cas(t, 0, 1)' 'sett_atomic_if(p, t, SETT_ATOMIC_MAX, 1)' 'sett_set(t, 1)' 'sett_at(t)'; do
    echo "$call"
done | awk '{print "#include <sett/sett.h>\nvoid f(sett_tensor *t, sett_val *p);\nvoid f(sett_tensor *t, sett_val *p)\n{\n    (void)p;\n    " $0 ";\n}" > "'"$b"'/user/where" NR ".c"}'
# What reads well and is not C: the first error says what to write. A line of them: the call | the message.
said=0
while IFS='|' read -r call message; do
    said=$((said + 1))
    printf '#define SETT_SHORT\n#include <sett/sett.h>\n#include <sett/bench.h>\nvoid f(sett_build *b, sett_tensor *t, sett_val *v, sett_kernel *k);\nvoid f(sett_build *b, sett_tensor *t, sett_val *v, sett_kernel *k)\n{\n    (void)b, (void)t, (void)v, (void)k;\n    %s\n}\n' "$call" >"$b/user/says$said.c"
    echo "$message" >"$b/user/says$said.txt"
done <<'END'
sett_for (b, i, 0, v) sett_sync_warp(b);|which step? sett_for (b, i, lo, hi, step): 1, say
sett_make_layout(b, {4, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_make_layout(b, {4, 8}, {8, 1});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_row_major(b, {4, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_make_layout(b, 4, 8, 2);|a layout has a shape and a stride, each a number or SETT_T(4, 8)
sett_make_smem_tensor(b, SETT_F32, {4, 8}, 16);|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_make_smem_tensor(b, SETT_F32, 32);|which alignment? sett_make_smem_tensor takes it behind the layout: 16, 1024 of a swizzle of 128 bytes
sett_make_smem_tensor(b, SETT_F32, T(4, 8), .name = "s");|which alignment? sett_make_smem_tensor takes it behind the layout: 16, 1024 of a swizzle of 128 bytes
sett_make_gmem_tensor(b, SETT_F32, v, T(4, 8), .name = "g");|which alignment? sett_make_gmem_tensor takes it behind the layout: 16, or 0 for that of an element
sett_grid(b, {v, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_at(t, {0, v});|a coordinate is i, j, and no list in braces
sett_set(t, v, {0, v});|a coordinate is i, j, and no list in braces
sett_launch(k, (sett_stream){0, NULL}, NULL, 1);|a stream is sett_stream_of(device, handle) here: a comma between braces ends an argument
sett_benchmark(k, (sett_stream){0, NULL}, NULL, NULL, NULL, 1);|a stream is sett_stream_of(device, handle) here: a comma between braces ends an argument
sett_store(t, {1, 2});|a value is a sett_val *, or one number, and no list in braces
sett_store(t, {v}, .pred = v);|a value is a sett_val *, or one number, and no list in braces
sett_fill(t, {1, 2});|a value is a sett_val *, or one number, and no list in braces
sett_set(t, {v}, 0);|a value is a sett_val *, or one number, and no list in braces
sett_set(t, t, 0);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_store(t, t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_fill(t, t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_fma(t, v, v);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_where(t, v, v);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_where(v, v, t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_exp(sett_exp(t));|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_to(t, SETT_F16);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_reduce(t, SETT_ADD, 0);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_any(t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_atomic_add(t, t, 0);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_local_tile(t, {4, 8}, SETT_T(0, 0));|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_local_tile(t, {4, 8}, {0, 0});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_local_tile(t, SETT_T(4, 8), {0, 0});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_zipped_divide(t, {4, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_broadcast_to(v, {4, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_full(b, SETT_F32, {4, 8}, 1);|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_elem_less(t, {4, 8});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_make_ordered_layout(b, {4, 8}, {0, 1});|a tuple is SETT_T(4, 8), in short T(4, 8), and no list in braces
sett_zipped_divide(t, 4, 8);|this call has another number of operands
sett_for (b, i, 0, 8, .unroll = 4) sett_sync_warp(b);|which step? sett_for (b, i, lo, hi, step): 1, say
sett_if (b, 3 < 4) sett_sync_warp(b);|this condition is C
sett_while (b, 3 < 4) sett_sync_warp(b);|this condition is C
sett_copy_if(3 < 4, t, t);|this condition is C
sett_where(3 < 4, v, v);|this condition is C
sett_add(t, 1);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_lt(v, t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
sett_mul(sett_add(v, 1), (const sett_tensor *)t);|a tensor is no value: sett_load(t) is that of all of it, sett_at(t, i) of one element
END
# A C condition for .pred is no C: every compiler says so by itself (as an error since gcc 14 and clang 15).
said_pred=0
for call in 'sett_load(t, .pred = &v != NULL)' 'sett_store(t, v, .pred = 3 < 4)' 'sett_gather(t, v, .pred = 1)'; do
    said_pred=$((said_pred + 1))
    printf '#include <sett/sett.h>\nvoid f(sett_tensor *t, sett_val *v);\nvoid f(sett_tensor *t, sett_val *v)\n{\n    %s;\n}\n' "$call" >"$b/user/pred$said_pred.c"
done
# What a program has asked of its compiler stays so below the headers.
printf '#include <sett/sett.h>\n#include <sett/bench.h>\nint *own(void);\nint *own(void) { return 1; }\n' >"$b/user/own.c"
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "$cc is not here: not tried"; continue; }
    $cc -std=c11 -pedantic -Wall -Wextra -Wshadow -Werror -Iinclude -c "$b/user/shadow.c" -o "$b/user/shadow.o" || exit 1
    for f in short short_arg; do
        $cc -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -c "$b/user/$f.c" -o "$b/user/$f.o" || exit 1
    done
    $cc -O2 -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude -c "$b/user/output.c" -o "$b/user/output.o" || exit 1
    $cc -std=c11 -Iinclude -c "$b/user/wrong.c" -o "$b/user/wrong.o" 2>"$b/user/wrong.log" && { echo "$cc: a buffer by value was taken"; exit 1; }
    grep -q 'an argument of a launch is a number, the address of a sett_buf, or SETT_STRUCT(x)' "$b/user/wrong.log" || { cat "$b/user/wrong.log"; exit 1; }
    for f in "$b"/user/where*.c; do
        $cc -std=c11 -Iinclude -c "$f" -o "$b/user/where.o" 2>"$b/user/where.log" && { echo "$cc: $f was taken"; exit 1; }
        grep -m 1 error: "$b/user/where.log" | grep -q 'which element? its coordinate comes last' || { cat "$b/user/where.log"; exit 1; }
    done
    for n in $(seq $said); do
        $cc -std=c11 -Iinclude -c "$b/user/says$n.c" -o "$b/user/says.o" 2>"$b/user/says.log" && { echo "$cc: $b/user/says$n.c was taken"; exit 1; }
        grep -m 1 error: "$b/user/says.log" | grep -qF "$(cat "$b/user/says$n.txt")" || { cat "$b/user/says$n.c" "$b/user/says.log"; exit 1; }
    done
    for n in $(seq $said_pred); do
        $cc -std=c11 -Iinclude -c "$b/user/pred$n.c" -o "$b/user/pred.o" 2>"$b/user/pred.log"
        grep -q 'to pointer conversion\|makes pointer from integer' "$b/user/pred.log" || { echo "$cc: $b/user/pred$n.c was taken"; exit 1; }
    done
    $cc -std=c11 -Wno-int-conversion -Werror -Iinclude -c "$b/user/own.c" -o "$b/user/own.o" || exit 1
    for f in empty header nested; do
        cost=$(ulimit -v 1000000 && ulimit -t 5 && "$b/user/cost" $cc -std=c11 -pedantic -Wall -Wextra -Werror -Iinclude \
            -c "$b/user/$f.c" -o "$b/user/$f.o") || { echo "$cc: $f.c does not compile in 5 s and 1 GB"; exit 1; }
        echo "$cc $f.c: ${cost% *} s, $((${cost#* } / 1024)) MiB"
        [ "${cost#* }" -lt 204800 ] || { echo "$cc: $f.c takes more than 200 MiB"; exit 1; }
    done
done
# A standard that is too old is named before what follows from it, by every header.
too_old() { # compiler, its language, standard, what must be said
    command -v "$1" >/dev/null || return 0
    for h in include/sett/*.h include/sett/kernels/*.h; do
        printf '#include <%s>\n' "${h#include/}" >"$b/user/old.$2"
        "$1" -std="$3" -Iinclude -fsyntax-only "$b/user/old.$2" 2>"$b/user/old.log" && { echo "$1: $h was taken as $3"; exit 1; }
        grep -m 1 error: "$b/user/old.log" | grep -qF "sett's headers need $4: compile with -std=" || { echo "$1 $3 $h"; cat "$b/user/old.log"; exit 1; }
    done
}
for cc in gcc clang; do
    too_old $cc c c99 C11
    too_old $cc c gnu90 C11
done
for cxx in g++ clang++; do
    too_old $cxx cc c++14 C++17
done
# In C++ too an argument is what C takes: what only converts to an integer, as a class of halves does, would lose its fraction.
while read -r call; do
    printf '#include <sett/sett.h>\nstruct half { operator float() const { return 0.5f; } };\nvoid f(sett_kernel *k, sett_graph *p, sett_buf x, float *y);\nvoid f(sett_kernel *k, sett_graph *p, sett_buf x, float *y)\n{\n    (void)k, (void)p, (void)x, (void)y;\n    %s;\n}\n' "$call" >"$b/user/wrong.cc"
    for cxx in g++ clang++; do
        command -v $cxx >/dev/null || continue
        $cxx -std=c++17 -Iinclude -c "$b/user/wrong.cc" -o "$b/user/wrong.o" 2>"$b/user/wrong.log" && { echo "$cxx: $call was taken"; exit 1; }
        grep -m 1 error: "$b/user/wrong.log" | grep -qF 'an argument is a number, the address of a sett_buf, SETT_STRUCT(x), or of a graph a name; convert a half to float' ||
            { echo "$call"; cat "$b/user/wrong.log"; exit 1; }
    done
done <<'END'
sett_launch(k, sett_stream_of(0, nullptr), nullptr, half())
sett_launch(k, sett_stream_of(0, nullptr), nullptr, 0.5L)
sett_launch(k, sett_stream_of(0, nullptr), nullptr, x)
sett_launch(k, sett_stream_of(0, nullptr), nullptr, y)
sett_launch(k, sett_stream_of(0, nullptr), nullptr, __int128(1))
sett_graph_add(p, k, "norm", nullptr, "x", half())
sett_graph_set(p, "x", half())
sett_graph_set(p, 0, 0.5L)
END
${CXX:-g++} -std=c++17 -pedantic -Wall -Wextra -Werror -Iinclude -iquote. tests/fixture/host.cc -o "$b/user/host" "$b/obj/tests/fixture/host_kernel.o" \
    -L"$b" -lsett -Wl,-rpath,"$PWD/$b" && "$b/user/host"
