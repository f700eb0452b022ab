#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The sett command as a user meets it: output, exit codes, messages.
set -u
b=${1:-build/release}
sett=$b/sett
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
bad=0
n=0

# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
expect 0 '^sett [0-9]+\.[0-9]+\.[0-9]+$' --version
expect 0 'exit codes' --help
expect 0 'exit codes' help
expect 0 '^ *sett COMMAND --help ' --help
expect 0 '^to begin: .sett doctor. ' --help
expect 2 'no command' 
expect 2 'frob is no command' frob
expect 2 'is no option' layout --frob
expect 2 '-4 is no option' layout '-4:1'
expect 2 '--json=1 is no option' layout --json=1 4:1
expect 2 'needs a value' compile --target
# What is misspelt is guessed where few letters are wrong, and nothing is made up where many are.
expect 2 'cahce is no command; did you mean cache\?$' cahce
expect 2 'frobnicate is no command$' frobnicate
expect 2 '^sett: --tarket=3 is no option; did you mean --target\?$' compile saxpy --tarket=3
expect 2 '^sett: --workerr is no option$' warm --workerr
expect 2 'merg: cache takes .*; did you mean merge\?$' cache merg
expect 2 'vrify: cache takes .*; did you mean verify\?$' cache vrify
expect 1 'sofmax is neither a kernel nor a file; did you mean softmax\?$' run sofmax
expect 2 '^sett: --emit pxt: one of ptx, .*; did you mean ptx\?$' compile saxpy --emit pxt
expect 2 '^sett: --emit svgg: one of text, svg, html is needed; did you mean svg\?$' layout --emit svgg '(4,8)'
expect 2 '^sett: the kernel saxpy is for f32, not f16$' compile saxpy --dtype f16 --target sm_80 --emit ptx
expect 2 '^sett: --dtype fl6: no such element type; did you mean f16\?$' compile apply --dtype fl6
expect 2 '^sett: --dtype fl6: no such element type; did you mean f16\?$' layout --dtype fl6 '(4,8)'
expect 2 '^sett: zipped_divde: no such call; did you mean zipped_divide\?$' layout 'zipped_divde((4,8),2)'
long=$(head -c 5000 /dev/zero | tr '\0' l)
expect 2 'is no command$' "$long"
expect 2 'no such call; sett layout --help lists them$' layout "$long(4)"
expect 0 '^\(\(2,2\),3\):\(\(24,2\),8\)$' layout 'composition((6,2):(8,2),(4,3):(3,1))'
expect 0 '^\(\(32,4\),\(8,4\)\):\(\(128,4\),\(16,1\)\)$' layout 'make_layout_tv((4,32):(32,1),(4,8):(8,1))'
expect 0 '"size": "32"' layout --json '(4,8):(8,1)'
expect 0 'size 32, cosize 32' layout --facts '(4,8):(8,1)'
expect 1 'sett_composition: .*divide.*\(4,8\):\(8,1\)|sett_composition: .*3:5.*divide' layout 'composition((4,8):(8,1),3:5)'
expect 1 '\^' layout '(4,8):(8'
expect 2 'no such call' layout 'frob((4,8):(8,1))'
expect 2 'group_modes takes \(L,BEGIN,END\)' layout 'group_modes((4,8))'
expect 2 '^sett: _: not a number' layout 'group_modes((4,8,2),_,2)'
expect 2 '^sett: 4294967297: not a number of 32 bits' layout 'group_modes((4,8,2),4294967297,2)'
expect 2 '^sett: zipped_divide\( has no closing bracket' layout 'zipped_divide((8,8):(8,1),(2,4)'
expect 2 '^sett: nothing more is expected behind size\(\(4,8\)\)' layout 'size((4,8)) + size((2,3))'
for c in 'logical_product((2,2):(2,1),3)=((2,2),3):((2,1),4)' 'blocked_product((2,5):(5,1),(3,4):(1,3))=((2,3),(5,4)):((5,10),(1,30))' \
    'raked_product((2,5):(5,1),(3,4):(1,3))=((3,2),(4,5)):((10,5),(30,1))' 'right_inverse((4,8):(8,1))=(8,4):(4,1)' \
    'left_inverse((4,8):(8,1))=(8,4):(4,1)' 'complement(4:2,24)=(2,3):(1,8)' 'group_modes((4,8,2),0,2)=((4,8),2):((1,4),32)' \
    'flatten(((2,2),3))=(2,2,3):(1,2,4)' 'get((4,8):(8,1),1)=8:1' 'size((4,8):(8,1))=32' 'cosize((4,8):(9,1))=35' 'rank((4,8,2))=3' \
    'crd2idx((4,8):(8,1),(1,3))=11' 'idx2crd(16,(3,(2,3)))=(1,(1,2))' 'ceil_div((10,7),(4,2))=(3,4)' 'compatible(32,(4,8))=1' \
    'make_swizzled(1,0,2,(4,4):(1,4))=S<1,0,2> o 0 o (4,4):(1,4)' 'recast_layout(32,8,(32,4):(1,32))=(8,4):(1,8)'; do
    n=$((n + 1))
    [ "$("$sett" layout "${c%=*}" 2>&1 | head -n 1)" = "${c##*=}" ] || { echo "sett layout ${c%=*}: not ${c##*=}"; bad=$((bad + 1)); }
done
expect 0 '^injective, surjective, bijective' layout --facts '(4,8):(8,1)'
expect 0 '^injective, not surjective, not bijective' layout --facts '(4,8):(9,1)'
expect 0 '^not injective, surjective, not bijective' layout --facts '(4,8):(0,1)'
expect 0 '"bijective": true' layout --json '(4,8):(8,1)'
# Every layout operation of the header is a call, and the man page has the calls of --help.
sed -n 's/^#define sett_\([a-z0-9_]*\)(.*/\1/p' include/sett/layout.h | grep -vE '_by$|_and_offset$|_parse$|^static$' | sort >"$d/calls.header"
sed -n '/^calls of/,/^$/s/^  \([a-z0-9_]*\)(.*/\1/p' <<EOF | sort >"$d/calls.help"
$("$sett" --help)
EOF
n=$((n + 1))
[ -z "$(comm -23 "$d/calls.header" "$d/calls.help")" ] || { echo "no call for: $(comm -23 "$d/calls.header" "$d/calls.help")"; bad=$((bad + 1)); }
for c in $(cat "$d/calls.help"); do
    grep -qx ".Ql $c\( ,\)\{0,1\}" docs/sett.1 || { echo "docs/sett.1 lacks the call $c"; bad=$((bad + 1)); }
done
expect 0 '^\(\(2,2\),3\):\(\(\?\{div=3\},2\),\?\)$' layout 'composition((6,2):(?,2),(4,3):(3,1))'
expect 0 '^170$' layout 'make_layout_image_mask((2,4):(1,2),(1,2),1)'
expect 0 '^\(4,8,1,1\):\(1,4,0,0\)$' layout 'append_ones((4,8),4)'
expect 0 '^\(1,1,3\)$' layout 'shape_div((4,5,6),40)'
expect 2 'takes one expression' layout
# Operands that are a tuple in C are one here: sett_row_major(b, 4, 8), sett_slice(l, ALL, 2).
for c in 'row_major(4,8)=(4,8):(8,1)' 'row_major((4,8))=(4,8):(8,1)' 'row_major(4)=4:1' 'row_major(4,(2,3))=(4,(2,3)):(6,(3,1))' \
    'row_major(1,2,3,4,5,6)=(1,2,3,4,5,6):(0,360,120,30,6,1)' 'make_identity_layout(4,8)=(4,8):(1@0,1@1)' \
    'slice((4,8):(8,1),_,2)=(4):(8)' 'dice((4,8):(8,1),_,2)=(8):(1)' 'get((4,(2,3)),1,0)=2:4' 'select((2,3,4),0,2)=(2,4):(1,6)'; do
    n=$((n + 1))
    [ "$("$sett" layout "${c%=*}" 2>/dev/null | head -n 1)" = "${c##*=}" ] || { echo "sett layout ${c%=*}: not ${c##*=}"; bad=$((bad + 1)); }
done
expect 2 'slice takes \(L,COORD\.\.\.\)' layout 'slice((4,8))'
expect 2 'size takes \(L\)' layout 'size(4,8)'
# A table that is not printed is not passed over in silence, on standard error.
expect 0 '^[(]tables have at most 64 rows and columns; --emit text prints a larger one' layout '(65,65):(65,1)'
expect 0 '^ *64 +4160 ' layout --emit text '(65,65):(65,1)'
n=$((n + 1))
[ "$("$sett" layout '(65,65):(65,1)' 2>/dev/null)" = '(65,65):(65,1)' ] || { echo 'layout of 65 x 65 prints more than its text'; bad=$((bad + 1)); }
# A shape is a compact layout where only a layout serves; other values say that they are none.
expect 0 '<svg' layout '(4,8)' --emit svg
expect 0 'size 32, cosize 32' layout '(4,8)' --facts
expect 0 '"layout": "\(4,8\):\(1,4\)"' layout '(4,8)' --json
expect 0 '^\(4,8\)$' layout '(4,8)'
expect 0 '"value": "32"' layout 'size((4,8))' --json
expect 2 'a picture shows a layout; this is size\(\(4,8\)\)' layout 'size((4,8))' --emit svg
for emit in text svg html; do
    n=$((n + 1))
    "$sett" layout '(4,8)' --emit $emit -o "$d/layout.$emit" && [ -s "$d/layout.$emit" ] || { echo "layout --emit $emit -o wrote nothing"; bad=$((bad + 1)); }
done
# Pictures: what they show, and which bytes; colour where it is asked for, and never in a file.
expect 0 '^ *0 +T0 V0 +T0 V1' layout 'make_layout_tv((2,4):(4,1),(1,2))'
expect 0 '^ 0 +\. +\. +T1 V0 +T1 V1 +\.' layout 'make_layout_tv((2,4):(4,1),(1,2))' --isolate 1
expect 0 '^ 0 +T0 V0 +\. +T1 V0' layout 'make_layout_tv((2,4):(4,1),(1,2))' --isolate '(_,0)'
expect 0 '^ +1 +T4 V0 +T4 V1 +T5 V0' layout '((4,8),(2,2)):((32,1),(16,8))' --tile '(16,8)'
expect 0 'colour: value modulo 8' layout 'make_layout_tv((2,4):(4,1),(1,2))' --by value
expect 0 'colour: four banks of 4 bytes, elements of 16 bits' layout 'make_layout_tv((2,4):(4,1),(1,2))' --by bank --dtype f16 --tensor '(2,8):(8,1)'
expect 0 '^result: \(\(2,4\),\(4,2\)\)' layout --panels 'zipped_divide((8,8):(8,1),(2,4))'
expect 0 '^after: S<2,0,2> o 0 o \(4,4\):\(4,1\)' layout --panels 'S<2,0,2> o 0 o (4,4):(4,1)'
expect 0 '^30 of 32 cells differ' layout --diff 'row_major((4,8))' '(4,8)'
expect 2 '^sett: --panels: \(4,8\):\(8,1\) has no operands to draw' layout --panels '(4,8):(8,1)'
expect 2 '^sett: --emit frob: one of text, svg, html is needed' layout --emit frob '(4,8)'
expect 2 '^sett: --by frob: one of offset, thread, value, bank' layout --by frob '(4,8)'
expect 2 '^sett: --color frob: one of auto, always, never' layout --color frob '(4,8)'
expect 2 '^sett: --dtype frob: no such element type' layout --dtype frob '(4,8)'
expect 2 '^sett: --diff: frob: no such call' layout --diff 'frob(3)' '(4,8)'
expect 1 '^sett: sett_layout_text: .*threads, values and a tensor are those of a TV layout' layout --by thread '(4,8)'
expect 1 '^sett: sett_layout_text: .*threads, values and a tensor are those of a TV layout' layout --tensor '(4,8)' '(4,8)'
expect 0 '^rank 2, depth 1, size 32' layout --facts 'make_identity_layout((4,8))'
expect 1 '^sett: column 5: ' layout --tensor '(4,8' --tile '(4,8)' '(4,8)'
for color in always auto never; do
    n=$((n + 1))
    "$sett" layout --color $color '(4,8):(8,1)' >"$d/colored"
    [ "$(grep -c "$(printf '\033')" "$d/colored")" = "$([ $color = always ] && echo 4 || echo 0)" ] || { echo "--color $color:"; cat -v "$d/colored"; bad=$((bad + 1)); }
done
expect 0 'shared: 32-way bank conflict' layout --facts --dtype f32 '32:32'
expect 0 'shared: 1-way, no bank conflict' layout --facts --dtype f32 'S<5,0,5> o 0 o 32:32'
expect 0 'up to 4 sectors of 32 bytes' layout --facts --dtype f32 '32:1'
expect 0 '4 accesses of 8 elements \(16 bytes\) a thread' layout --facts --dtype f16 --tensor '(16,256):(256,1)' 'make_layout_tv((4,32):(32,1),(4,8):(8,1))'
expect 0 'not 4 at once: offset 0 is aligned to 8 bytes only' layout --facts --dtype f32 --align 8 '(32,4):(4,1)'
expect 2 '^sett: --align x: a number from 1' layout --facts --dtype f32 --align x '(32,4):(4,1)'
expect 1 'align 12 is no power of two' layout --facts --dtype f32 --align 12 '(32,4):(4,1)'
# Run-time strides: what their divisibility proves, and nothing else; no picture.
expect 0 '^alignment: every access starts at a multiple of 8 elements$' layout --facts --dtype f16 '((32,4),(8,4)):((8,?{div=8}),(1,?{div=8}))'
expect 0 '"values": 32, "width": 4, .*is not known to be a multiple of 8"\}$' layout --json --dtype f16 '((32,4),(8,4)):((8,?{div=4}),(1,?{div=8}))'
expect 0 '^\(4,8\):\(\?,1\)$' layout '(4,8):(?,1)'
expect 1 'is dynamic: there is no picture of it' layout --emit svg '(4,8):(?,1)'
expect 0 '"width": 8, .*"bank_ways": 1' layout --json --dtype f16 '(32,8):(8,1)'
expect 1 'is element 12 of \(3,4\)' layout --facts --tensor '(3,4)' '(4,2):(4,1)'
expect 1 'nowhere/f: No such file' layout '(4,8)' -o "$d/nowhere/f"
# What is wrong is shown in the expression, not in the command's own source.
expect 1 '^sett: column 9: ' layout '(4,8):(8'
expect 1 '^sett: sett_composition: ' layout 'composition((4,8):(8,1),3:5)'
expect 2 'composition\( has no closing bracket' layout 'composition((4,8):(8,1),2'
for command in layout compile run bench cache warm doctor completion product; do
    expect 0 "^usage: sett $command " $command --help
    expect 0 "^usage: sett $command " help $command
    expect 0 "^usage: sett $command " --help $command
done
# Completions come from the tables of commands and options: bash is asked, the others' scripts are read by their shells where they are here.
expect 2 'completion: of which shell' completion
expect 2 'fihs is none of bash, zsh and fish; did you mean fish\?' completion fihs
expect 0 "^complete -c sett -n '__fish_seen_subcommand_from warm' -l targets -x -d 'warm, export, cache explain" completion fish
expect 0 "^complete -c sett -n '__fish_seen_subcommand_from export' -a '.*saxpy" completion fish
expect 0 "-a export -d 'kernels as C: .* for programs without sett. KERNEL may be OBJECT.so:FAMILY" completion fish
expect 0 "^            '--emit=\[layout  text, svg, html\]:KIND:'" completion zsh
wrong() { echo "$*"; bad=$((bad + 1)); }
for shell in bash zsh fish; do
    "$sett" completion $shell >"$d/completion.$shell"
    for option in $("$sett" --help | sed -n '/^options$/,/^kernels$/p' | sed 's/  *[^ -].*  .*//; s/   .*//' | grep -oE -e '--[a-z-]+' | sort -u); do
        grep -qE -e "(--|-l )${option#--}([^a-z-]|\$)" "$d/completion.$shell" || wrong "completion $shell lacks $option"
    done
    ! command -v $shell >/dev/null || $shell -n "$d/completion.$shell" || wrong "$shell does not read its completion"
done
completed() { # WORDS... the last of which is being written: what bash offers
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sett; IFS="|"; echo "${COMPREPLY[*]}"' "$d/completion.bash" "$@"
}
[ "$(completed sett ca)" = cache ] || wrong "sett ca is completed to $(completed sett ca)"
[ "$(completed sett bench sof)" = softmax ] || wrong "sett bench sof is completed to $(completed sett bench sof)"
[ "$(completed sett cache un)" = unpack ] || wrong "sett cache un is completed to $(completed sett cache un)"
[ "$(completed sett warm --sh)" = --shard ] || wrong "sett warm --sh is completed to $(completed sett warm --sh)"
[ "$(cd "$d" && completed sett warm --pack completion.f)" = completion.fish ] || wrong "a file is not completed"
touch "$d/two words"
for words in "warm --pack" "warm" "export"; do
    # shellcheck disable=SC2086
    [ "$(cd "$d" && completed sett $words "two w")" = "two words" ] || wrong "a file with a space in its name is not completed after $words"
done
expect 2 'frob is no command' help frob
expect 0 '^64 x 4096 x 14336 of bf16 for sm_90a$' product 64 4096 14336 --target sm_90a
expect 0 '^gemm_wgmma bm=[0-9]+ bn=[0-9]+: [0-9]+ workers, [0-9]+ of [0-9]+ tiles streamed, [0-9.]+ us by the model$' product 64 4096 14336 --target sm_90a
expect 0 ': [0-9]+ workers, 0 of [0-9]+ tiles streamed' product 64 4096 14336 --target sm_90a --batch-invariant
expect 0 '^gemm_mma bm=[0-9]+ bn=[0-9]+$' product 64 4096 14336 --target sm_80 --dtype f16
expect 0 '^8 x 64 x 64 of f32 for cpu$' product 8 64 64 dtype=f32 --device cpu
expect 0 '^\{"schema_version": 1, "m": 8, "n": 64, "k": 64, "dtype": "f8E4M3FN", "target": "sm_90a", "takes": "gemm_few_rows: [0-9.]* us by the model"}$' product 8 64 64 d=f32 --dtype f8E4M3FN --target sm_90a --json
expect 2 'product takes M N K, as in product 64 4096 14336' product 8 64
expect 2 'product many: a number from 0 to ' product many 64 64
expect 2 'swiglo is no parameter of a product; did you mean swiglu' product 8 64 64 swiglo=1
expect 2 'unknown is no parameter of a product: dtype, no_pdl, b, d, .*, swiglu, .*, column_max$' product 8 64 64 unknown=1
expect 2 '^sett: --dtype fp8: no such element type: i1, .*f8E4M3FN, ' product 8 64 64 --dtype fp8
expect 0 '^  dtype no_pdl b d n k ' product --help
expect 0 '^names of a product: .*docs/products.md' bench --help
expect 0 '^the time is that of an H200' product 64 4096 14336 --target sm_90a
expect 2 'k=64 and k=8: it is given twice' product 8 64 64 k=8
expect 2 '--dtype f16 and dtype=f32: it is given twice' product 8 64 64 dtype=f32 --dtype f16
expect 2 'frob' product 8 64 64 --dtype frob
expect 1 '.lda is 8: at least 64, or 0 for that' product 8 64 64 lda=8 --target sm_90a
expect 1 '.dtype is f64: f16, bf16, ' product 8 64 64 --dtype f64 --target sm_90a
expect 0 '^16 x 64 x 128 of bf16 on CPU engine: median [0-9.]+ us \(p10 [0-9.]+, p90 [0-9.]+, spread [0-9.]+ %\)$' bench product 16 64 128 --device cpu --iterations 3
expect 0 '^3 iterations of 1 launch, by the wall clock: 1 set of operands of 0.02253 MB$' bench product 16 64 128 --device cpu --iterations 3 --hot
expect 0 '^gemm_wgmma bm=.* us by the model$' bench product 16 64 128 --device cpu --iterations 3
expect 0 '^\{"product": \{"m": 3, "n": 23, "k": 32, "dtype": "i8", "takes": "gemm_mma .*"benchmark": \{"schema_version": 1, ' bench product 3 23 32 batch=2 scaled=1 residual=1 --dtype i8 --device cpu --iterations 2 --json
expect 0 '^gemm_wgmma bm=.* us by the model$' bench product 16 64 128 bias=1 activation=gelu aux=1 alpha=1 clamp=1 amax=2 scale=1 row_sum=1 column_sum=1 row_max=1 column_max=1 --device cpu --iterations 2
expect 0 '^gemm_wgmma bm=32 bn=64: 132 workers, 0 of 16384 tiles streamed, [0-9.]+ us by the model$' product 4096 4096 7168 grouped=contiguous groups=256 --target sm_90a
expect 1 '.grouped is masked: products with groups need sm_90a, the target is sm_80' product 64 4096 7168 grouped=masked groups=8 --target sm_80
expect 0 '^gemm_wgmma bm=.* us by the model$' bench product 33 272 128 d=f8E4M3FN quantise=2 swiglu=1 --device cpu --iterations 2
expect 0 '^gemm_wgmma bm=.* us by the model$' bench product 50 64 128 grouped=contiguous groups=3 bias=1 aux=1 --device cpu --iterations 2
expect 0 '^gemm_wgmma bm=.* us by the model$' bench product 50 64 128 b=i4 zeros=1 grouped=masked groups=3 --device cpu --iterations 2
expect 0 '^3 iterations of 1 launch, by the wall clock: 1 set of operands of 0.07158 MB$' bench product 50 64 128 grouped=masked groups=2 amax=2 --device cpu --iterations 3 --hot
expect 2 'activation=tanh: no integer, and none of none, relu, gelu' product 16 64 128 activation=tanh
expect 2 'bench product: --cols is of kernels' bench product 16 64 128 --cols 8
expect 2 'bench product takes M N K' bench product 16 64
expect 2 'bench product: batch=2147483653 does not fit into 4 bytes' bench product 16 64 128 batch=2147483653
expect 2 'there is nothing to measure of 0 x 64' bench product 0 64 128
expect 2 '--batch-invariant is of bench product M N K' bench softmax X=8x8 --batch-invariant
expect 2 '--panels is no option of product' product 8 64 64 --panels
expect 1 'softmax' run frob
expect 1 'frob is neither a kernel nor a file$' compile frob --target sm_90a
expect 2 'which kernel' run
expect 2 'bench: which kernel' bench
expect 0 '^saxpy on CPU engine: median [0-9.]+ us \(p10 [0-9.]+, p90 [0-9.]+, spread [0-9.]+ %\)$' bench saxpy X=1000 Y=1000 a=2 --device cpu
expect 0 '^3 iterations of 2 launches, by the wall clock, warm caches: 1 workspace of 0.008 MB$' \
    bench saxpy X=1000 Y=1000 a=2 --device cpu --hot --iterations 3 --launches 2 --warmup 1
SETT_DEVICE=cpu expect 0 '^saxpy on CPU engine: ' bench saxpy X=1000 Y=1000 a=2
SETT_DEVICE=cuda expect 1 '^sett: SETT_DEVICE is "cuda" in the environment: it is cpu, gpu or the number of a GPU, and they count from 0$' bench saxpy X=8 Y=8 a=2
expect 0 '^[0-9.e+-]+ GB/s, [0-9.e+-]+ TFLOP/s$' bench apply A=16x64 B=16x64 --device cpu --workspaces 2 --iterations 2 --flops 1e3
expect 0 '^\{"arguments": \[\{"name": "X", "dtype": "f32", "shape": \[10\]\}, .*"benchmark": \{"schema_version": 1, "kernel": "saxpy", .*"iterations": 5,' \
    bench saxpy X=10 Y=10 a=1 --device cpu --workspaces 2 --iterations 5 --json
{ # four zeros as a .npy file
    printf '\223NUMPY\001\000v\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
    head -c 16 /dev/zero
} >"$d/zero.npy"
{ # a shape of 80 GB, and a file that goes on: in a process of few addresses
    printf '\223NUMPY\001\000v\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (20000000000,), }"
} >"$d/vast.npy"
n=$((n + 1))
cat "$d/vast.npy" /dev/zero | (ulimit -v 1000000; "$sett" run saxpy X=/dev/stdin Y=1 a=1 --device cpu) 2>&1 |
    grep -qxF 'sett: /dev/stdin: out of memory for the 80000000000 bytes of its shape' || { echo 'what a shape asks for is not told'; bad=$((bad + 1)); }
expect 1 '^sett: sett_benchmark: saxpy: X is all zeros' bench saxpy X="$d/zero.npy" Y=4 a=1 --device cpu
expect 0 'median' bench saxpy X="$d/zero.npy" Y=4 a=1 --device cpu --zeros --workspaces 1 --iterations 1
expect 1 '^sett: softmax: X mode 1 is 1024, the kernel was made for 4096; --cols N makes it for N$' bench softmax X=8x1024 Y=8x1024 --device cpu
expect 2 '^sett: X=10x10: 1 extent is needed, as in 4096$' bench saxpy X=10x10 Y=10 a=1 --device cpu
expect 2 '^sett: A=10x: 2 extents are needed, as in 4096x4096$' bench apply A=10x B=10x10 --device cpu
expect 2 '^sett: the argument Y is missing' bench saxpy X=10 a=1 --device cpu
expect 2 '^sett: --bytes -1: a positive number is needed' bench saxpy --bytes -1
expect 2 '^sett: --iterations 0: a number from 1 to 100000' bench saxpy --iterations 0
expect 1 '^sett: saxpy: Y mode 0 is 11, X mode 0 gives N = 10' bench saxpy X=10 Y=11 a=1 --device cpu
expect 5 '^sett: sett_benchmark: .graph needs a GPU' bench saxpy X=10 Y=10 a=1 --device cpu --graph
expect 2 'cache takes layers, ls, verify' cache frob
expect 2 'trim needs a size' cache trim 5X
expect 2 'trim needs a size' cache trim 99999999999999999999
expect 2 'trim needs a size' cache trim 16777216T
expect 2 '^sett: cache trim takes a size alone, and not my.settpack: it trims the folder of --cache-dir; a pack cannot be trimmed$' cache trim 1G my.settpack
expect 2 'cache explain needs a key, or two' cache explain
expect 1 '^sett: abcd: no such key in the cache; a key is a hash, and which entry is nearest .* sett cache explain abcd --manifest FILE can tell' \
    cache explain abcd --cache-dir ''
expect 2 'xyz is no key' cache explain xyz
expect 2 'xyz is no key' cache explain xyz abcd
expect 1 'nofile.tape is neither' run nofile.tape
expect 2 '--op frob' run apply --op frob --dtype f16
expect 2 '--dtype f99' compile apply --dtype f99
expect 2 '--emit frob' compile apply --emit frob
expect 0 '\.target sm_90a' compile apply --target sm_90a
expect 0 'param' compile saxpy --emit tape
expect 1 'sm_1234|target' compile apply --target sm_1234
expect 0 'sett_load: A .* x 16 bytes' compile add_tv --target cpu --emit report
for json in '' --json; do # what only a cubin has
    n=$((n + 1))
    "$sett" compile add_tv --target cpu --emit report $json -o "$d/report" && grep -q sett_load "$d/report" &&
        ! grep -E 'registers|spill|cubin|-1|assembl' "$d/report" || { echo "a CPU kernel's report $json"; bad=$((bad + 1)); }
done
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then # a terminal, where there can be one, is not for bytes
    for emit in cubin tape-bytes; do
        n=$((n + 1))
        script -qec "$sett compile saxpy --target sm_90a --emit $emit" /dev/null </dev/null >"$d/typed" 2>&1
        grep -q -- "^sett: --emit $emit gives bytes" "$d/typed" || { echo "--emit $emit to a terminal:"; cat -v "$d/typed"; bad=$((bad + 1)); }
    done
fi
# Numbers are whole, decimal and positive, and the option at fault is named.
for what in cols threads; do
    for text in abc 0x -1 0 '' 12x 99999999999; do
        expect 2 "^sett: --$what $text: a number from 1 to [0-9]+ is needed" compile softmax --target sm_90a --$what "$text"
    done
done
expect 2 '^sett: --threads 33: not a multiple of 32' compile softmax --target sm_90a --threads 33
expect 0 '^kernel  *softmax$' compile softmax --target cpu --cols 100 --emit report
expect 0 "^softmax on CPU engine: median" bench softmax --cols 1023 X=8x1023 Y=8x1023 --device cpu
expect 2 '^sett: --device 1x: a number from 0 to' run saxpy --device 1x
"$sett" doctor >/dev/null 2>&1
if [ $? = 5 ]; then
    expect 2 'give --target \(for example sm_90a\): there is no GPU here to take it from' compile apply
    expect 2 'give --target' compile apply --emit cubin
    expect 5 '^sett: device 0: no CUDA driver here|^sett: device 0: .*GPU' run saxpy --device 0
fi

# The man page has the options and kernels of --help, and no others.
"$sett" --help >"$d/help"
grep -oE -- '--[a-z][a-z-]*' "$d/help" | sort -u >"$d/help.options"
grep Fl docs/sett.1 | grep -oE ' -[a-z][a-z-]+' | sed 's/ -/--/' | sort -u >"$d/man.options"
sed -n '/^kernels/,/^$/s/^  \([a-z_]*\) .*/\1/p' "$d/help" | sort >"$d/help.kernels"
sed -n '/known by name:$/,/^\.El/s/^\.It Ql //p' docs/sett.1 | sort >"$d/man.kernels"
for what in options kernels; do
    n=$((n + 1))
    if [ ! -s "$d/help.$what" ] || ! diff "$d/help.$what" "$d/man.$what"; then
        echo "docs/sett.1 and --help differ in $what"
        bad=$((bad + 1))
    fi
done

"$sett" compile saxpy --emit tape -o "$d/saxpy.tape" && "$sett" compile saxpy --emit tape-bytes -o "$d/saxpy.bytes"
# What is 0 in a kernel's options is chosen for the target, also of a tape.
for k in attention attention_decode; do
    expect 0 'cp\.async' compile $k --target sm_80
    "$sett" compile $k --target sm_80 --emit tape -o "$d/t" && expect 0 'cp\.async' compile "$d/t" --target sm_80
done
expect 1 '^sett: sett_kernels_choose: attention_mla: it needs sm_90a, the target is sm_80$' compile attention_mla --target sm_80
expect 1 'attention_mla: it needs sm_90a, the target is sm_80$' export attention_mla,dtype=bf16 --targets sm_80 -o "$d/mla"
expect 0 '\.entry' compile "$d/saxpy.tape" --target sm_80
expect 0 '\.entry' compile "$d/saxpy.bytes" --target sm_80
# A tape's text parses back to the same bytes, and a key is the same in every process.
for k in apply add_tv softmax saxpy; do
    "$sett" compile $k --emit tape -o "$d/t" && "$sett" compile $k --emit tape-bytes -o "$d/b" &&
        "$sett" compile "$d/t" --emit tape-bytes -o "$d/b2" && "$sett" compile "$d/b" --emit tape -o "$d/t2"
    n=$((n + 1))
    cmp "$d/b" "$d/b2" && cmp "$d/t" "$d/t2" || { echo "$k: the tape's text and bytes differ"; bad=$((bad + 1)); }
    key() { "$sett" compile "$@" --emit report | sed -n 's/^key *//p'; }
    one=$(key $k --target sm_90a)
    n=$((n + 1))
    [ -n "$one" ] && [ "$one" = "$(key $k --target sm_90a)" ] && [ "$one" = "$(key "$d/t" --target sm_90a)" ] &&
        [ "$one" != "$(key $k --target sm_80)" ] || { echo "$k: its key is not what it should be"; bad=$((bad + 1)); }
done
# What a body's entry in the cache says of accesses is shown, and nothing that contradicts it.
if "$sett" compile saxpy --target sm_90a --emit cubin -o "$d/warm.cubin" --cache-dir "$d/narrow" 2>/dev/null; then
    n=$((n + 1))
    "$sett" compile "$d/saxpy.tape" --target sm_90a --emit report --cache-dir "$d/narrow" >"$d/out" 2>&1
    grep -q '^accesses   are what the tape says' "$d/out" && { echo "a report with accesses is said to have none:"; cat "$d/out"; bad=$((bad + 1)); }
fi
printf 'garbage' >"$d/bad.tape"
expect 1 'bad.tape' compile "$d/bad.tape" --target sm_80
printf '#include <sett/sett.h>\n' >"$d/body.c"
expect 1 '^A tape is what a body records: sett_record' compile "$d/body.c" --target sm_80
"$sett" compile "$d/bad.tape" --target sm_80 2>&1 | grep 'sett_record' && { echo "a hint where none is due"; bad=$((bad + 1)); }
expect 2 '^sett: compile: --emit ptx is of a GPU.s target' compile saxpy --target cpu
expect 2 '^sett: compile: --emit cubin is of a GPU.s target' compile saxpy --device cpu --emit cubin
expect 0 '^accesses   are what the tape says' compile "$d/saxpy.tape" --target cpu --emit report
# A fault of a tape without C lines is told by the tape's file and its line.
printf 'sett tape 2\nparam D i32 (4):(1) align 4 write\ngrid 1\nblock 8\n%%0 = tid.x i32\n%%1 = param i32 D\nstore %%1[%%0] i32 %%0 align 4\n' >"$d/past.tape"
expect 1 'past.tape: line 7 of the tape: store to D: element 4 of 4 .byte 16. is outside, block .0,0,0. thread .4,0,0.$' run "$d/past.tape" D=:"$d/past.npy" --device cpu

if [ -x "$b/demo" ]; then
    "$b/demo" make "$d/a.npy" 64 512 1 && "$b/demo" make "$d/b.npy" 64 512 2
    type=$(head -c 128 "$d/a.npy" | grep -aq "'<f4'" && echo f32 || echo f16)
    expect 0 'on the' run apply --op mul A="$d/a.npy" B="$d/b.npy" C=:"$d/c.npy"
    "$b/demo" check mul "$d/a.npy" "$d/b.npy" "$d/c.npy" || bad=$((bad + 1))
    expect 0 '"origin"' run add_tv --json A="$d/a.npy" B="$d/b.npy" C=:"$d/c.npy"
    "$b/demo" check add "$d/a.npy" "$d/b.npy" "$d/c.npy" || bad=$((bad + 1))
    expect 0 '^sett: Y was written by the kernel and not saved: Y=.*/zero.npy:OUT.npy saves it$' run saxpy X="$d/zero.npy" Y="$d/zero.npy" a=2 --device cpu
    expect 2 'argument B is missing' run apply A="$d/a.npy" C=:"$d/c.npy"
    expect 2 'no argument of that name' run apply A="$d/a.npy" Q="$d/b.npy" C=:"$d/c.npy"
    # An output takes the extents that its kernel has, and the rest from the first input of its rank.
    printf 'sett tape 2\nsym M\nsym K\nparam A %s (M,K):(K,1) align 2 read\nparam D i32 (M,3):(3,1) align 4 write\nparam E i32 (8,16):(16,1) align 4 write\ngrid 1\nblock 128\n' "$type" >"$d/fixed.tape"
    printf '%%0 = tid.x i32\n%%1 = param i32 E\n%%2 = param i32 D\nstore %%1[%%0] i32 %%0 align 4\nstore %%2[%%0] i32 %%0 align 4\n' >>"$d/fixed.tape"
    expect 0 'on the' run "$d/fixed.tape" A="$d/a.npy" D=:"$d/m.npy" E=:"$d/e.npy" --device cpu
    n=$((n + 1))
    head -c 128 "$d/m.npy" | grep -aq '(64, 3,' && head -c 128 "$d/e.npy" | grep -aq '(8, 16,' || { echo "outputs have not the extents of their kernel"; bad=$((bad + 1)); }
    "$b/demo" make "$d/small.npy" 32 512 3
    expect 1 'M' run apply A="$d/a.npy" B="$d/small.npy" C=:"$d/c.npy"
    "$b/demo" make "$d/odd.npy" 20 512 4
    expect 1 'M.*8' run add_tv A="$d/odd.npy" B="$d/odd.npy" C=:"$d/c.npy"
    head -c 100 "$d/a.npy" >"$d/cut.npy"
    expect 1 'cut' run apply A="$d/cut.npy" B="$d/b.npy" C=:"$d/c.npy"
fi
# The cache: what was compiled is listed, damage is found, keys are compared, trimming removes. Without an assembler there
# is nothing to list.
c=$d/cache
fake_assembler "$d"
for t in sm_80 sm_90a; do expect 0 . compile saxpy --target $t --emit report --cache-dir "$c"; done
expect 0 "^0  $c: written, up to [0-9]+ MiB" cache --cache-dir "$c"
expect 0 '"why_not": ""' cache --json --cache-dir "$c"
expect 0 '^[0-9a-f]{16}  0 +[0-9]+  20[0-9-]+T[0-9:]+Z  sm_80 saxpy  LLVM [0-9.]+, ptxas 13.0.99' cache ls --cache-dir "$c"
expect 0 '"target": "sm_90a", "compiler": "LLVM' cache ls --json --cache-dir "$c"
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then # headings are for who looks
    n=$((n + 1))
    script -qec "$sett cache ls --cache-dir $c" /dev/null </dev/null >"$d/typed" 2>&1
    head -n 1 "$d/typed" | grep -q '^KEY  *L  *BYTES  LAST USED' && tail -n 1 "$d/typed" | grep -q '^2 entries, [0-9]* bytes, 0 damaged' || { echo 'cache ls on a terminal:'; cat -v "$d/typed"; bad=$((bad + 1)); }
fi
n=$((n + 1))
[ "$("$sett" cache ls --cache-dir "$c" | grep -cE '^[0-9a-f]{16}  0 ')" = "$("$sett" cache ls --cache-dir "$c" | wc -l)" ] ||
    { echo 'cache ls has more than rows in a pipe'; bad=$((bad + 1)); }
expect 0 '^2 entries, [0-9]+ bytes, 0 damaged' cache verify --cache-dir "$c"
expect 1 'is not used' cache verify --cache-dir "$d/elf"
SETT_CACHE_DIR=relative expect 1 'relative is not used: SETT_CACHE_DIR is not an absolute path without ".."' cache verify
# Their bytes as sett-cache(5) says, read by other programs.
word() { od -A n -t u"$3" -j "$2" -N "$3" "$1" | tr -d ' '; } # file, offset, bytes
digest() { head -c "$2" "$1" | tail -c +$(($3 + 1)) | sha256sum | cut -d' ' -f1; } # of bytes $3 to $2
hex_at() { od -A n -t x1 -j "$2" -N "$3" "$1" | tr -d ' \n'; }
same() { # what, one, other
    n=$((n + 1))
    [ "$2" = "$3" ] || { echo "sett-cache(5): $1: $2, not $3"; bad=$((bad + 1)); }
}
"$sett" cache pack --cache-dir "$c" -o "$d/two.settpack" >/dev/null
p=$d/two.settpack row=256
same "a pack's magic" "$(hex_at "$p" 0 8)" 8953504b0d0a1a0a
same "a pack's length" "$(word "$p" 16 8)" "$(stat -c %s "$p")"
same "a pack's entries" "$(word "$p" 24 8)" 2
same "its index" "$(hex_at "$p" 32 32)" "$(digest "$p" $((256 + 2 * 80)) 256)"
same "its header" "$(hex_at "$p" 224 32)" "$(digest "$p" 224 0)"
for f in "$c"/v1/*/*.sett; do # ascending, as the rows are
    len=$(stat -c %s "$f") rest=${f#"$c"/v1/}
    key=$(echo "${rest%.sett}" | tr -d /)
    same magic "$(hex_at "$f" 0 8)" 894b4a430d0a1a0a
    same length "$(word "$f" 16 8)" "$len"
    same key "$(hex_at "$f" 32 32)" "$key"
    from=$(word "$f" 72 8)
    same "the key's section" "$(word "$f" 64 4)" 1
    same "the key's digest" "$(digest "$f" $((from + $(word "$f" 80 8))) "$from")" "$key"
    same "the key's start" "$(hex_at "$f" "$from" 11)" "$(printf 'sett-key\0v1' | od -A n -t x1 | tr -d ' \n')"
    same digest "$(hex_at "$f" $((len - 32)) 32)" "$(digest "$f" $((len - 32)) 0)"
    at=$(word "$p" $((row + 32)) 8) packed=$(word "$p" $((row + 40)) 8)
    same "a row's key" "$(hex_at "$p" $row 32)" "$key"
    same "a row's digest" "$(hex_at "$p" $((row + 48)) 32)" "$(hex_at "$p" $((at + packed - 32)) 32)"
    same "a row's entry" "$(hex_at "$p" $((at + 32)) 32)" "$key"
    row=$((row + 80))
done
keys=$("$sett" cache ls --cache-dir "$c" | sed -n 's/^\([0-9a-f]\{16\}\) .*/\1/p')
# shellcheck disable=SC2086
expect 0 '^target: sm_[0-9a]+ \| sm_[0-9a]+$' cache explain $keys --cache-dir "$c"
expect 0 'the same key' cache explain "${keys%%[!0-9a-f]*}" "${keys%%[!0-9a-f]*}" --cache-dir "$c"
expect 1 'no such key' cache explain 0123456789 0123456789 --cache-dir "$c"
# One key: its entry, the one that is nearest, and what differs of them.
says() { # what, all that sett prints, arguments
    what=$1 want=$2
    shift 2
    n=$((n + 1))
    told=$("$sett" "$@" 2>&1)
    [ "$told" = "$want" ] || { echo "$what: sett $*: $told"; bad=$((bad + 1)); }
}
row() { "$sett" cache ls --cache-dir "$c" | grep "$1"; }
of() { row "$1" | sed 's/ .*//'; }
says 'the same name' "$(row ' sm_80 saxpy ')
nearest in the cache:
$(row ' sm_90a saxpy ')
target: sm_80 | sm_90a
PTX version: 70 | 80" cache explain "$(of ' sm_80 saxpy ')" --cache-dir "$c"
expect 0 . compile "$d/saxpy.tape" --target sm_80 --emit report --cache-dir "$d/other" # of another name
expect 0 . compile softmax --target sm_80 --emit report --cache-dir "$d/other"
says 'the same tape' "$(row ' sm_90a saxpy ' | sed 's/  0 /  1 /')
nearest in the cache:
$("$sett" cache ls "$d/other" | grep ' kernel ')
kernel: saxpy | kernel
target: sm_90a | sm_80
PTX version: 80 | 70" cache explain "$(of ' sm_90a saxpy ')" "$d/other" "$c"
says 'neither' "$("$sett" cache ls "$d/other" | grep ' softmax ')
no other entry has its name or its tape" cache explain "$("$sett" cache ls "$d/other" | sed -n 's/ .* softmax .*//p')" "$d/other"
expect 0 '^\{"schema_version": 1, "key": "[0-9a-f]{64}", "cached": true, "nearest": "[0-9a-f]{64}", "differs": \[\{"what": "target", "a": "sm_80", "b": "sm_90a"\}, \{"what": "PTX version", .*\}\]\}$' \
    cache explain "$(of ' sm_80 saxpy ')" --cache-dir "$c" --json
expect 0 '"nearest": null, "differs": \[\]\}$' cache explain "$("$sett" cache ls "$d/other" | sed -n 's/ .* softmax .*//p')" "$d/other" --json
# Packs: the same bytes each time, signed, merged, unpacked; a source instead of the machine's own cache.
expect 0 ': 2 entries$' cache pack -o "$d/a.settpack" --cache-dir "$c"
# shellcheck disable=SC2086
expect 0 ': 2 entries$' cache pack $keys -o "$d/b.settpack" --cache-dir "$c"
expect 0 ': 1 entries$' cache pack "${keys%%[!0-9a-f]*}" -o "$d/one.settpack" --cache-dir "$c"
expect 0 ': 2 entries$' cache merge "$d/one.settpack" "$c" -o "$d/m.settpack"
n=$((n + 1))
cmp "$d/a.settpack" "$d/b.settpack" && cmp "$d/a.settpack" "$d/m.settpack" || { echo 'equal caches give different packs'; bad=$((bad + 1)); }
expect 0 '^[0-9a-f]{64}$' cache keygen -o "$d/secret"
expect 1 'secret: File exists' cache keygen -o "$d/secret"
"$sett" cache keygen -o "$d/secret2" >"$d/other.pub"
expect 0 ': 2 entries$' cache sign "$d/a.settpack" -o "$d/s.settpack" --secret-key "$d/secret"
pub=$(SETT_CACHE_LAYERS=$d/s.settpack "$sett" cache layers --cache-dir '' | sed -n 's/.* signed by //p')
expect 0 '^2 entries, [0-9]+ bytes, 0 damaged' cache verify "$d/s.settpack" --signed-by "$pub"
expect 1 'is none of .cache_signers' cache verify "$d/s.settpack" --signed-by "$d/other.pub"
expect 1 'it is not signed' cache verify "$d/a.settpack" --signed-by "$pub"
n=$((n + 1))
[ "$("$sett" cache verify "$d/a.settpack" --signed-by "$pub" 2>&1 | wc -l)" = 1 ] || { echo 'a pack that is not signed is told more than once'; bad=$((bad + 1)); }
for what in "compile axpy" "layout (4,2):(1,4)" "cache pack $d/a.settpack" "cache keygen"; do
    # shellcheck disable=SC2086
    expect 1 'o: the path is empty' $what -o ''
done
expect 1 'pack: the path is empty' warm "$d/none" --pack ''
mkfifo "$d/key.fifo"
for what in verify ls unpack; do # a FIFO is not waited for
    expect 1 'key.fifo is no regular file' cache "$what" "$d/s.settpack" --signed-by "$d/key.fifo"
done
expect 1 'key.none: No such file' cache verify "$d/s.settpack" --signed-by "$d/key.none"
expect 1 'a public key is 64' cache verify "$d/a.settpack" --signed-by "$d/elf"
expect 0 '^2 entries' cache unpack "$d/s.settpack" --signed-by "$pub" --cache-dir "$d/unpacked"
expect 1 'it is not signed' cache unpack "$d/a.settpack" --signed-by "$pub" --cache-dir "$d/unpacked"
expect 0 '^2 entries' cache verify "$d/unpacked"
# shellcheck disable=SC2086
expect 0 '^target: sm_[0-9a]+ \| sm_[0-9a]+$' cache explain $keys "$d/a.settpack"
expect 2 'needs -o' cache pack
expect 2 'needs packs or folders' cache merge -o "$d/x"
expect 2 'sign needs a pack' cache sign "$d/a.settpack" -o "$d/x"
expect 2 'writes to --cache-dir' cache unpack
expect 2 'keygen needs -o' cache keygen
expect 1 'nothing.settpack: No such file' cache verify "$d/nothing.settpack"
printf x | dd of="$d/a.settpack" bs=1 seek=700 conv=notrunc 2>/dev/null
expect 1 'damaged: its digest does not match its bytes' cache verify "$d/a.settpack"
expect 1 'is damaged' cache merge "$d/a.settpack" -o "$d/x"
printf x | dd of="$d/a.settpack" bs=1 seek=300 conv=notrunc 2>/dev/null
expect 1 "a.settpack: the pack cannot be used: its index's digest" cache verify "$d/a.settpack"
for f in "$c"/v1/*/*.sett; do printf x >>"$f" && break; done
expect 1 'damaged: an entry|damaged: its digest' cache verify --cache-dir "$c"
expect 1 ': its entry is damaged: (an entry|its digest)' cache explain "$("$sett" cache ls --cache-dir "$c" | sed -n 's/ .* damaged: .*//p')" --cache-dir "$c"
n=$((n + 1))
: >"$d/all.settpack"
told=$(cd "$d" && SETT_CACHE_LAYERS=all.settpack "$OLDPWD/$sett" cache layers --cache-dir '' 2>&1)
[ "$told" = "sett: cache: all.settpack is not used: not an absolute path of at most 4095 bytes
0  all.settpack: not used: not an absolute path of at most 4095 bytes" ] || { echo "a relative pack: $told"; bad=$((bad + 1)); }
SETT_CACHE_LAYERS=$c:/nowhere expect 0 '^1  /nowhere: not used' cache layers --cache-dir ''
blocks=$(find "$c"/v1/?? -name '*.sett' -printf '%b\n' | awk '{n += 512 * $1} END {print n + 0}')
expect 0 "^$blocks bytes are left, in whole blocks of the disk$" cache trim 1G --cache-dir "$c"
expect 0 '^0 bytes are left' cache trim 0 --cache-dir "$c"
expect 0 '^0 entries' cache verify --cache-dir "$c"
expect 0 '^$' cache ls --cache-dir "$c"
# Warming: what a manifest names, by processes; the rest when it is asked again; a part of it; what cannot be made.
m=$d/k.warm w=$d/warmed
printf 'family %s softmax_family\n dtype = f16\n cols = 1024..4096*2\n threads = 128, 256\nfamily %s saxpy_family\n' "$PWD/$b/libfamilies.so" "$PWD/$b/libfamilies.so" >"$m"
expect 0 '^[0-9a-f]{64}  sm_80 softmax  dtype=f16 cols=1024 threads=128$' warm "$m" --targets sm_80 --list
expect 0 '"params": "dtype=f16 cols=4096 threads=256", "key": "[0-9a-f]{64}"\}$' warm "$m" --targets sm_80 --list --json
expect 0 '"total": 6, "cached": 0, "fetched": 0, "compiled": 6, "failed": 0, "pack": ' warm "$m" --targets sm_80 -j 2 --cache-dir "$w" --pack "$d/w.settpack"
expect 0 '"done": 6, "total": 6, "state": "cached"' warm "$m" --targets sm_80 --cache-dir "$w"
expect 0 '^6 entries, [0-9]+ bytes, 0 damaged' cache verify "$d/w.settpack"
# Two kernels of a manifest: which of their parameters differ, in the cache (then their keys' fields too) or not.
key_of() { "$sett" warm "$m" --targets sm_80,sm_90 --list | sed -n "s/^\([0-9a-f]*\)  $1\$/\1/p"; }
k1=$(key_of 'sm_80 softmax  dtype=f16 cols=1024 threads=128') k2=$(key_of 'sm_80 softmax  dtype=f16 cols=4096 threads=128')
k3=$(key_of 'sm_90 softmax  dtype=f16 cols=2048 threads=256') k4=$(key_of 'sm_80 saxpy  .*')
explains() { # what, of two keys, all of it, options
    n=$((n + 1))
    told=$("$sett" cache explain "$2" "$3" --manifest "$m" --targets sm_80,sm_90 --cache-dir "${5-}") && [ "$told" = "$4" ] ||
        { echo "cache explain $1: $told"; bad=$((bad + 1)); }
}
explains 'one parameter' "$k1" "${k2%????????}" 'cols: 1024 | 4096'
explains 'three, not cached' "$k1" "$k3" "target: sm_80 | sm_90
cols: 1024 | 2048
threads: 128 | 256"
explains 'a key' "$k1" "$k1" 'they are the same key'
expect 0 '^cols: 4096 \| 1024$' cache explain "$k2" "$k1" --manifest "$m" --targets sm_80 --cache-dir "$w"
expect 0 '^tape: .* \| ' cache explain "$k2" "$k1" --manifest "$m" --targets sm_80 --cache-dir "$w"
expect 0 '^kernel: saxpy \| softmax$' cache explain "$k4" "$k1" --manifest "$m" --targets sm_80 --cache-dir "$w"
expect 0 '^cols: - \| 1024$' cache explain "$k4" "$k1" --manifest "$m" --targets sm_80 --cache-dir "$w"
# The same as JSON, with and without a manifest; what the cache lacks has no material.
expect 0 "^\{\"schema_version\": 1, \"a\": \"$k1\", \"b\": \"$k2\", \"same\": false, \"differs\": \[\{\"what\": \"cols\", \"a\": \"1024\", \"b\": \"4096\"\}\]\}\$" \
    cache explain "$k1" "$k2" --manifest "$m" --targets sm_80 --cache-dir '' --json
expect 0 '"differs": \[\{"what": "kernel", "a": "saxpy", "b": "softmax"\}, .*\{"what": "cols", "a": null, "b": "1024"\}' \
    cache explain "$k4" "$k1" --manifest "$m" --targets sm_80 --cache-dir '' --json
expect 0 '"same": true, "differs": \[\]\}$' cache explain "$k1" "$k1" --manifest "$m" --targets sm_80 --cache-dir '' --json
expect 0 '"same": false, "differs": \[\{"what": "tape", "a": "[^"]*", "b": "[^"]*"\}\]\}$' cache explain "$k1" "$k2" --cache-dir "$w" --json
# One key of a manifest, which the cache lacks: the nearest of its name that it has.
says 'a key that is not cached' "$(echo "$k3" | cut -c 1-16)  not in the cache  sm_90 softmax  dtype=f16 cols=2048 threads=256
nearest in the cache:
$("$sett" warm "$m" --targets sm_80 --list | sed -n 's/^\([0-9a-f]\{16\}\)[0-9a-f]*  \(sm_80 softmax  dtype=f16 cols=2048 threads=256\)$/\1  in the cache  \2/p')
target: sm_90 | sm_80" cache explain "$k3" --manifest "$m" --targets sm_80,sm_90 --cache-dir "$w"
says 'a key, and nothing cached' "$(echo "$k3" | cut -c 1-16)  not in the cache  sm_90 softmax  dtype=f16 cols=2048 threads=256
no other kernel of its name in the manifest is in the cache" cache explain "$k3" --manifest "$m" --targets sm_90 --cache-dir ''
expect 0 '"cached": false, "nearest": "[0-9a-f]{64}", "differs": \[\{"what": "target", "a": "sm_90", "b": "sm_80"\}\]\}$' \
    cache explain "$k3" --manifest "$m" --targets sm_80,sm_90 --cache-dir "$w" --json
expect 1 '^sett: 0123: no such key in .*k.warm for sm_80$' cache explain 0123 --manifest "$m" --targets sm_80 --cache-dir "$w"
expect 1 'no such key in .*k.warm for sm_80$' cache explain "$k3" "$k1" --manifest "$m" --targets sm_80 --cache-dir "$w"
expect 1 'k.warm:1: ' cache explain "$k2" "$k1" --manifest "$m" --cache-dir "$w"
expect 2 'xyz is no key' cache explain "$k2" xyz --manifest "$m" --targets sm_80 --cache-dir "$w"
JOB_COMPLETION_INDEX=0 expect 0 '"total": 3, "cached": 0, "fetched": 0, "compiled": 3' warm "$m" --targets sm_80 --shard 2 --cache-dir "$w.0" --pack "$d/w0.settpack"
SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=4 \
    expect 0 '"total": 3, "cached": 0, "fetched": 0, "compiled": 3' warm "$m" --targets sm_80 --shard 2 --cache-dir "$w.1" --pack "$d/w1.settpack"
expect 0 ': 6 entries$' cache merge "$d/w0.settpack" "$d/w1.settpack" -o "$d/w01.settpack"
n=$((n + 1))
cmp "$d/w.settpack" "$d/w01.settpack" || { echo 'two shards are not the whole'; bad=$((bad + 1)); }
printf '.opt_level = 9\n' >>"$m"
for at in . ././. "$d"; do # a path is told as it was written, once
    printf 'tape %s/gone.tape\n' "$at" >"$d/gone.warm"
    (cd "$d" && "$OLDPWD/$sett" warm gone.warm --targets sm_80 2>&1) | grep -qxE "sett: sett_warm: gone.warm:1: (\./|$d/)gone\.tape: No such file or directory" ||
        { echo "a tape at $at is not told well"; bad=$((bad + 1)); }
    n=$((n + 1))
done
printf 'no tape\n' >"$d/bad.tape" # the rest of a list is there, and the exit code says so
printf 'tape bad.tape\n .targets = sm_80\nfamily %s saxpy_family\n .targets = sm_80\n' "$PWD/$b/libfamilies.so" >"$d/bad.warm"
expect 3 '^-  *sm_80 .*bad.tape: ' warm "$d/bad.warm" --list
expect 3 '^[0-9a-f]{64}  sm_80 saxpy' warm "$d/bad.warm" --list
expect 3 '"key": null, "error": "' warm "$d/bad.warm" --list --json
expect 1 'k.warm:6: .opt_level = 9: the options are' warm "$m" --targets sm_80
expect 2 'takes one manifest' warm
# A target that is none: those that there are, whoever is asked.
targets='sm_70, sm_72, .*sm_90\[a\], sm_100\[a\|f\], '
expect 1 "\"sm_91\" is no target: they are cpu, $targets" compile saxpy --target sm_91
for call in run bench; do expect 1 "\"sm_91\" is no target: they are cpu, $targets" $call saxpy --target sm_91 X="$d/zero.npy" Y="$d/zero.npy" a=1; done
printf 'family %s saxpy_family\n' "$PWD/$b/libfamilies.so" >"$d/one.warm"
expect 1 "\"sm_91\" is no target that is cached: they are $targets" cache explain abcd abce --manifest "$d/one.warm" --targets sm_91
expect 1 '"sm_80 sm_90": a comma is missing between sm_80 and sm_90' warm "$d/one.warm" --targets 'sm_80 sm_90'
expect 1 "\"sm_91\" is no target that is cached: they are $targets" warm "$d/one.warm" --targets sm_91
expect 2 '^sett: --target is no option of warm; did you mean --targets\?$' warm "$m" --target sm_90a
expect 2 '^sett: --emit is no option of warm$' warm "$m" --targets sm_80 --emit ptx
expect 2 '^sett: --output is no option of warm$' warm "$m" --targets sm_80 -o x
expect 2 '^sett: --jobs is no option of compile$' compile saxpy -j 2
expect 2 '^sett: --manifest is no option of warm$' warm "$m" --manifest "$m"
expect 2 '^sett: --secret-key signs what --pack writes, which is not given$' warm "$m" --targets sm_80 --secret-key "$m"
expect 2 'worker is of the processes' warm --worker </dev/null
expect 2 '^sett: --shard 3: a number from 0 to 1 is needed' warm "$m" --shard 3/2
expect 2 'needs a number in .SLURM_ARRAY_TASK_ID' warm "$m" --shard 2
JOB_COMPLETION_INDEX=2 expect 2 'part 2 of 2: they are numbered from 0' warm "$m" --shard 2
expect 2 '--jobs 0: a number from 1' warm "$m" -j 0
expect 1 'nothing.warm: No such file' warm "$d/nothing.warm" --targets sm_80
# An assembler that fails: what it refused is told, the rest was made, and the exit code says so.
printf 'family %s saxpy_family\n .targets = sm_80, sm_90a\n' "$PWD/$b/libfamilies.so" >"$m"
sed -i '2s/.*/case "$*" in *sm_90a*) echo refused; exit 1 ;; esac; &/' "$d/ptxas"
sed -i '2s/^/[ "$1" = --version ] \&\& echo "release 13.0, V13.0.99" \&\& exit; /' "$d/ptxas"
expect 3 '"total": 2, "cached": 0, "fetched": 0, "compiled": 1, "failed": 1' warm "$m" --cache-dir "$w.2"
expect 3 'sett: sett_warm: 1 of 2 kernels were not made' warm "$m" --cache-dir "$w.2"
expect 3 '"state": "failed", .*"key": "[0-9a-f]{64}", "error": ' warm "$m" --cache-dir "$w.2"
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    n=$((n + 1))
    script -qec "$sett warm $m --cache-dir $w.2" /dev/null </dev/null >"$d/typed" 2>&1
    grep -q '\[##* *\] 2/2, 1 failed  sm_90a saxpy' "$d/typed" && grep -q '2 kernels: 1 were there, 0 compiled, 1 failed' "$d/typed" ||
        { echo 'warm on a terminal:'; cat -v "$d/typed"; bad=$((bad + 1)); }
fi
# What would fail after all kernels is told before: nothing is compiled.
expect 1 "^sett: sett_warm: $d/gone/x.settpack: it cannot be written: $d/gone/: No such file or directory$" \
    warm "$m" --cache-dir "$w.4" --pack "$d/gone/x.settpack"
expect 0 '^0 entries' cache verify --cache-dir "$w.4"
# A body that kills its process costs its kernel: it is named, and the rest is listed, made and explained.
printf 'family %s defaults_family\n .targets = sm_80, sm_90\n columns = 8\n deadly = true, false\n' "$PWD/$b/test-family.so" >"$m"
died='the process that recorded it died: signal 9 \(Killed\)'
expect 3 "^-  *sm_90 scaled  columns=8 deadly=true: $died\$" warm "$m" --list
expect 3 '^[0-9a-f]{64}  sm_90 scaled  columns=8 deadly=false$' warm "$m" --list
expect 3 "\"state\": \"failed\", .*\"params\": \"columns=8 deadly=true\", \"key\": null, \"error\": \"$died\"" warm "$m" --cache-dir "$w.3"
expect 3 '"total": 4, "cached": 2, "fetched": 0, "compiled": 0, "failed": 2' warm "$m" --cache-dir "$w.3"
k5=$("$sett" warm "$m" --list | sed -n 's/^\([0-9a-f]\{64\}\)  .*/\1/p' | tr '\n' ' ')
# shellcheck disable=SC2086
expect 0 '^target: sm_80 \| sm_90$' cache explain $k5 --manifest "$m" --cache-dir ''
unset SETT_PTXAS SETT_NVJITLINK
# doctor: 5 without a device, 0 with one; the text names the compiler either way
"$sett" doctor >"$d/doctor" 2>&1
code=$?
[ $code = 0 ] || [ $code = 5 ] || { echo "doctor: exit $code"; bad=$((bad + 1)); }
n=$((n + 1))
SETT_CACHE_REQUIRED=1 SETT_CACHE_LAYERS=$d/typo.settpack expect 1 "^sett: cache_required: $d/typo.settpack is not used: there is no such file or folder$" doctor
SETT_CACHE_REQUIRED=1 SETT_CACHE_LAYERS=$d/typo.settpack expect 1 "^cache layer: $d/typo.settpack is not used: there is no such file or folder$" doctor
SETT_CACHE_REQUIRED=1 SETT_CACHE_LAYERS=$d/typo.settpack expect 1 "^sett: cache_required: " cache layers
SETT_DEVICE=cpu SETT_CACHE_DIR='' expect 5 '^cache: memory only: SETT_CACHE_DIR is "", and no layer is named$' doctor
SETT_DEVICE=cpu expect 5 '^cache: memory only: cache_dir is "", and no layer is named$' doctor --cache-dir ''
# How to get an assembler is told once.
n=$((n + 1))
[ "$(SETT_PTXAS=/nowhere SETT_NVJITLINK=/nowhere "$sett" doctor 2>&1 | tee "$d/bare" | grep -c 'pip install')" -le 1 ] &&
    { ! grep -q '^driver-jit: none' "$d/bare" || grep -q '^to get an assembler: pip install .*python3-pip' "$d/bare"; } ||
    { echo 'doctor without an assembler:'; cat "$d/bare"; bad=$((bad + 1)); }
SETT_DEVICE=cpu expect 5 '^default device: cpu, as SETT_DEVICE says$' doctor
SETT_DEVICE=cuda expect 1 '^sett: SETT_DEVICE is "cuda" in the environment' doctor
SETT_DEVICE=cuda expect 1 '^default device: [^,]*$' doctor
# each setting that is misspelt is told, and those that are not stay
SETT_CPU_ASYNC=nope SETT_ASSERTS=perhaps SETT_DEVICE=cpu "$sett" doctor >"$d/settings" 2>&1
code=$?
n=$((n + 1))
if [ $code != 1 ] || ! grep -qxF 'default device: cpu, as SETT_DEVICE says' "$d/settings" ||
    [ "$(grep -c '^sett: SETT_' "$d/settings")" != 2 ] ||
    ! grep -qxF 'sett: SETT_CPU_ASYNC is "nope" in the environment: it is eager, lazy, systematic or random:SEED' "$d/settings" ||
    ! grep -qxF 'sett: SETT_ASSERTS is "perhaps" in the environment: it is 1, 0, true, false, yes, no, on or off' "$d/settings"; then
    echo "doctor of misspelt settings: exit $code"
    cat "$d/settings"
    bad=$((bad + 1))
fi
SETT_LOG=loud expect 1 '^sett: SETT_LOG is "loud" in the environment: it is error, warning, info or debug$' doctor
SETT_CPU_ASYNC=nope expect 1 '^sett: SETT_CPU_ASYNC is "nope" in the environment' cache ls
"$sett" doctor --cache-dir "$d/fresh" >/dev/null 2>&1
[ -z "$(find "$d/fresh" -name '*.sett' 2>/dev/null)" ] || { echo 'doctor leaves a kernel in the cache'; bad=$((bad + 1)); }
grep -q '^compiler: ' "$d/doctor" || { echo "doctor names no compiler"; cat "$d/doctor"; bad=$((bad + 1)); }
expect 2 "metrics is Prometheus' format" doctor --metrics --json
"$sett" doctor --metrics --cache-dir "$d/metrics" >"$d/prom" 2>"$d/prom.err"
grep -qE '^sett_misses_total 1$' "$d/prom" && grep -qE "^sett_layer_misses_total\\{layer=\"0\",path=\"$d/metrics\"\\} 0$" "$d/prom" && # nothing is asked of the cache
    [ -z "$(find "$d/metrics" -name '*.sett')" ] ||
    { echo "doctor --metrics:"; cat "$d/prom" "$d/prom.err"; bad=$((bad + 1)); }
# docs/runtime.md lists every metric, and no others.
sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$d/prom" | sort >"$d/metrics.there"
sed -n '/^## Watching it/,/^## /s/^| `\(sett_[a-z_]*\)`.*/\1/p' docs/runtime.md | sort >"$d/metrics.told"
if [ ! -s "$d/metrics.there" ] || ! diff "$d/metrics.there" "$d/metrics.told"; then
    echo "docs/runtime.md and sett doctor --metrics differ"
    bad=$((bad + 1))
fi
# sett check: a tape that stores past its tensor, a right kernel, a program, and what it writes.
printf 'sett tape 2\nparam Y i32 (64):(1) align 4 write\ngrid 1\nblock 64\n\n%%0 = tid.x i32\n%%1 = param i32 Y\n%%2 = const i32 1\n%%3 = add i32 %%0, %%2\nstore %%1[%%3] i32 %%0 align 4\n' >"$d/wrong.tape"
expect 1 '^line 10 of the tape: error: bounds: store to Y: element 64 of 64' check "$d/wrong.tape" Y=64
expect 1 '^sett check: 1 error, 0 warnings, 0 costs$' check "$d/wrong.tape" Y=64 -o "$d/found.json" --sarif "$d/found.sarif" --errors
python3 - "$d" <<'END' || bad=$((bad + 1))
import json, sys
found = json.load(open(sys.argv[1] + "/found.json"))["findings"]
assert [(f["kind"], f["level"], f["sites"]) for f in found] == [("bounds", "error", [{"file": "", "line": 10, "role": "write"}])], found
runs = json.load(open(sys.argv[1] + "/found.sarif"))["runs"]
assert [r["ruleId"] for run in runs for r in run["results"]] == ["bounds"], runs
END
expect 0 '^sett check: 0 errors, 0 warnings, 0 costs$' check softmax --cols 64 X=16x64 Y=16x64 --orders 3
expect 0 '^sett check: softmax: proved for all orders and for all data of these extents$' check softmax --cols 64 X=16x64 Y=16x64
expect 0 '^sett check: softmax: there is 1 order, and it ran$' check softmax --cols 64 X=16x64 Y=16x64 --orders all
expect 0 '^sett check: 0 errors' check -- "$b/examples/saxpy"
expect 1 '^sett check: 1 error,' check --errors -- "$sett" run "$d/wrong.tape" "Y=:$d/y.npy"
# What each of three processes finds is one finding, and so is what is suppressed, which counts no more.
expect 1 '^sett check: 1 error, 0 warnings, 0 costs$' check --orders 3 -o "$d/found.json" -- "$sett" run "$d/wrong.tape" "Y=:$d/y.npy"
one='{"kind":"race","level":"error","kernel":"k","count":2,"text":"a, ]}] and\\n","sites":[{"file":"a.c","line":1,"role":"read"},{"file":"a.c","line":2,"role":"write"}]}'
two='{"kind":"race","level":"error","kernel":"k","count":1,"text":"the same","sites":[{"file":"a.c","line":2,"role":"write"},{"file":"a.c","line":1,"role":"read"}]}'
other=$(echo "$two" | sed 's/"line":1/"line":7/')
known='{"reason":"meant","kind":"order","level":"error","kernel":"k","count":5,"text":"t","sites":[]}'
printf '{"findings":[\n%s,\n%s],"suppressed":[\n%s]}\n' "$one" "$other" "$known" >"$d/a.json"
printf '{"findings":[\n%s],"suppressed":[\n%s]}\n' "$two" "$known" >"$d/b.json"
expect 1 '^sett check: 2 errors, 0 warnings, 0 costs$' check -o "$d/both.json" -- sh -c "f=\${SETT_CHECK_JSON%/*}; cp $d/a.json $d/b.json \$f"
python3 - "$d" <<'END' || bad=$((bad + 1))
import json, sys
found, both = (json.load(open(sys.argv[1] + name)) for name in ("/found.json", "/both.json"))
assert [f["count"] % 3 for f in found["findings"]] == [0] and "suppressed" not in found, found
assert [f["count"] for f in both["findings"]] == [3, 1] and [f["count"] for f in both["suppressed"]] == [10], both
END
expect 7 '^sett check: 0 errors' check -- sh -c 'exit 7'
expect 127 'No such file' check -- "$d/nothing"
expect 2 'which kernel or program' check
expect 1 'neither a kernel nor a file' check nosuch
SETT_CHECK=perhaps expect 1 'SETT_CHECK is "perhaps" in the environment: it is 0, 1, errors or strict' check softmax X=1x1 Y=1x1
echo "$n passed, $bad failed"
[ "$bad" = 0 ]
