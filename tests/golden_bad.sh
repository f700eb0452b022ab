#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lines that the golden runner must leave aside, or fail, and say why: expressions that are not well formed, and work without
# a bound; the power is right. None runs for long. usage: golden_bad.sh RUNNER
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0 n=0

# file | what the runner says | the line, its fields between blanks; ~ is a blank
while IFS='|' read -r file says line; do
    mkdir -p "$dir/${file%/*}"
    printf '%s\n' "$line" | tr ' ~' '\t ' >"$dir/$file.tsv"
    out=$(ulimit -t 20 && "$1" "$dir/$file.tsv" 2>&1) || [ $? -lt 128 ] || out="it runs for more than 20 s of CPU time"
    n=$((n + 1))
    case $out in *"$says"*) ;; *) bad=$((bad + 1)) && printf '%s: %s\n    gave %s\n' "$file" "$line" "$out" ;; esac
done <<'E'
print/print|not well formed|static make_identity_tensor((2,(2,2)3)) - - - x
print/print|not well formed|static make_identity_tensor((2,(2,2),3) - - - x
print/print|not well formed|static make_identity_tensor((2,3))) - - - x
print/print|not well formed|static make_identity_tensor((2,3))~4 - - - x
print/print|not well formed|static make_layout((2~3)) - - - x
print/print|not well formed|static make_layout((2,3)(4,5)) - - - x
print/print|not well formed|static make_layout((2,3)stride=(3,1)) - - - x
print/print|not well formed|static make_layout((2,3) - - - x
print/print|not well formed|static ten('Float32,(2,3)) - - - x
print/print|not well formed|static i32(04) - - - x
print/print|not well formed|both ssa('Float32',(2,3))[1 - - - x
print/print|not well formed|both ssa('Float32',(2,3))[1,2 - - - x
print/print|has no counterpart in C|static make_identity_tensor((2,,3)) - - - x
print/print|has no counterpart in C|static make_identity_tensor((,)) - - - x
print/print|has no counterpart in C|static make_layout(,(2,3)) - - - x
print/print|has no counterpart in C|static make_layout((2,3),,stride=(3,1)) - - - x
print/print|than the runner prints|print_tensor make_identity_tensor((2,(2,2),2147483648)) - - - x
print/print|than the runner prints|print_tensor_verbose make_identity_tensor((4096,4096)) - - - x
print/print|than the runner prints|print_tensor ten('Float32',(4096,4096)) - - - x
print/print|FAIL|static reg('Float32',(4096,4096)) - - - x
layout/basic|FAIL|size = (2,3 6 x
layout/basic|FAIL|size = (2,,3):(1,,2) 6 x
layout/basic|FAIL|size = (2,3):(1,2)x 6 x
layout/basic|FAIL|size = (2~3):(1,2) 6 x
layout/basic|FAIL|size = (2,3):(1,2)) 6 x
layout/basic|FAIL|size = (2,(2,2)3):(1,(2,2)3) 24 x
numeric/divergent|1 passed|binary pow Int64 3 Int64 9223372036854775807 Int64 1 x x
dlpack/dlpack|FAIL|(8~4) (4,1) f32 0 from_dlpack() (8,4):(4,1) (8,4):(4,1) tensor<ptr<f32,generic>~o~(8,4):(4,1)> x
dlpack/dlpack|FAIL|(8,4 (4,1) f32 0 from_dlpack() (8,4):(4,1) (8,4):(4,1) tensor<ptr<f32,generic>~o~(8,4):(4,1)> x
dlpack/dlpack|FAIL|(8,4)x (4,1) f32 0 from_dlpack() (8,4):(4,1) (8,4):(4,1) tensor<ptr<f32,generic>~o~(8,4):(4,1)> x
tensorssa/tensorssa|skipped|+ (2,2:Float32=1,2,3,4 (2,2):Float32=1,2,3,4 (2,2):Float32 2,4,6,8 x
tensorssa/tensorssa|failed|reshape (2,2):Float32=1,2,3,4 (4)(1) (4):Float32 1,2,3,4 x
E
echo "$n lines"
exit $((bad > 0))
