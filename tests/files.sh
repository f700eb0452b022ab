#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the sett command reads and writes: output that is lost, inputs without end, FIFOs, devices and links. Every call has a
# limit of time and of memory, so that what would wait or grow for ever fails instead.
# Calls are lists of words.
# shellcheck disable=SC2086,SC2068,SC2015,SC2016
set -u
b=${1:-build/release}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
bad=0
n=0
sett=$d/sett
real=$(realpath "$b/sett")
# What reads without an end ends by its CPU time; what waits for ever, after ten minutes, which no load of the machine is.
printf '#!/bin/sh\nulimit -v 2000000\nulimit -t 60\nexec timeout 600 %s "$@"\n' "$real" >"$sett"
chmod 700 "$sett"
export SETT_CACHE_DIR="$d/usual"

# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
wrong() {
    echo "$*"
    bad=$((bad + 1))
}
fake_assembler "$d"
c=$d/cache
"$sett" compile saxpy --target sm_80 --emit report --cache-dir "$c" >/dev/null
"$sett" compile saxpy --emit tape -o "$d/t.tape"
printf 'tape t.tape\n .targets = sm_80\n' >"$d/k.warm"
"$sett" cache pack -o "$d/one.settpack" --cache-dir "$c" >/dev/null
"$sett" cache keygen -o "$d/secret" >"$d/public"
key=$("$sett" cache ls --cache-dir "$c" | sed -n '1s/ .*//p')
{ # four zeros as a .npy file
    printf '\223NUMPY\001\000v\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
    head -c 16 /dev/zero
} >"$d/zero.npy"

# ---- lost output ---------------------------------------------------------------------------------------------
# A call that prints, of every command of --help and every verb of cache's: one that has none here fails.
usual() {
    case $1 in
    layout) echo 'layout composition((4,8):(8,1),(2,4))' ;;
    compile) echo "compile saxpy --target sm_80 --cache-dir $c" ;;
    run) echo "run saxpy X=$d/zero.npy Y=$d/zero.npy a=1 --device cpu" ;;
    bench) echo 'bench saxpy X=10 Y=10 a=1 --device cpu --workspaces 1 --iterations 1' ;;
    product) echo 'product 16 64 128' ;;
    warm) echo "warm $d/k.warm --cache-dir $c" ;;
    doctor) echo doctor ;;
    export) echo "export saxpy --targets sm_80 -o $d/lost --cache-dir $c" ;;
    completion) echo "completion bash" ;;
    cache) echo "cache --cache-dir $c" ;;
    cache-explain) echo "cache explain $key $key --cache-dir $c" ;;
    cache-trim) echo "cache trim 1G --cache-dir $c" ;;
    cache-pack) echo "cache pack -o $d/lost.settpack --cache-dir $c" ;;
    cache-merge) echo "cache merge $d/one.settpack -o $d/lost.settpack" ;;
    cache-sign) echo "cache sign $d/one.settpack -o $d/lost.settpack --secret-key $d/secret" ;;
    cache-unpack) echo "cache unpack $d/one.settpack --cache-dir $d/unpacked" ;;
    cache-keygen) echo "cache keygen -o $d/lost.key" ;;
    cache-layers | cache-ls | cache-verify) echo "cache ${1#cache-} --cache-dir $c" ;;
    esac
}
told() { # file: does it say that standard output was lost?
    grep -q '^sett: standard output: ' "$1"
}
loses() { # words: where they print, they fail when it is lost
    rm -f "$d/lost.key"
    "$sett" $@ >"$d/out" 2>"$d/err"
    code=$?
    case $code in 0 | 3 | 5) ;; *) return 1 ;; esac
    [ -s "$d/out" ] || return 1
    rm -f "$d/lost.key"
    n=$((n + 1))
    "$sett" $@ >/dev/full 2>"$d/err"
    code=$?
    [ "$code" = 1 ] && told "$d/err" || wrong "sett $*, lost: exit $code, $(cat "$d/err")"
    return 0
}
# Of a command's own --help: options that take no value, and the kinds of --emit.
flags() { sed -n '/^options/,/^$/p' | sed -nE 's/^  ((--[a-z]+( |$))+) .*/\1/p' | tr ' ' '\n' | grep -- '^--'; }
kinds() { sed -nE 's/^  --emit KIND +[a-z]+: (.*)/\1/p' | sed -E 's/ \([a-z]*\)//g; s/ or /, /g; s/, /\n/g'; }
commands=$("$sett" --help | sed -n '/^usage:/,/^options/s/^  \([a-z]\{1,\}\) .*/\1/p')
verbs=$("$sett" help cache | sed -n 's/^usage: sett cache \[options\] \[\(.*\)\]$/\1/p' | sed 's/\[[^]]*\]//g; s/ *| */\n/g' | sed 's/ .*//; s/^/cache-/')
[ "$(echo "$commands" | wc -l)" -ge 7 ] && [ "$(echo "$verbs" | wc -l)" -ge 10 ] || wrong "--help lists too little: $commands $verbs"
for word in $commands $verbs; do
    if [ "$word" = check ]; then # it writes to standard error: the program that it runs has standard output
        loses help check || wrong "help check prints nothing"
        continue
    fi
    call=$(usual "$word")
    loses "$call" || wrong "tests/files.sh has no call of ${word} that prints: ${call:-none}; $(cat "$d/err")"
    "$sett" help "${word%%-*}" >"$d/help"
    loses help "${word%%-*}" || wrong "help $word prints nothing"
    for flag in $(flags <"$d/help"); do
        loses "$call" "$flag" || :
    done
    for kind in $(kinds <"$d/help"); do
        loses "$call" --emit "$kind" || wrong "$call --emit $kind prints nothing: $(cat "$d/err")"
    done
done
for call in --version --help help; do loses $call || wrong "$call prints nothing"; done
n=$((n + 1))
"$sett" cache keygen -o "$d/lost.key" >/dev/full 2>&1
[ ! -e "$d/lost.key" ] || wrong 'a secret key stays whose public one was lost'
# More than a buffer, and a standard output that was closed: no file that is opened later takes its place.
for call in "layout --emit text (64,64)" "cache ls --cache-dir $c" "run saxpy X=$d/zero.npy Y=$d/zero.npy a=1 --device cpu"; do
    n=$((n + 2))
    "$sett" $call >/dev/full 2>"$d/err" && wrong "$call >/dev/full: exit 0"
    told "$d/err" || wrong "$call >/dev/full: $(cat "$d/err")"
    "$sett" $call >&- 2>"$d/err" && wrong "$call >&-: exit 0"
    told "$d/err" || wrong "$call >&-: $(cat "$d/err")"
done
n=$((n + 1))
"$sett" layout '(4,8)' -o "$d/closed" >&- || wrong 'layout -o FILE needs a standard output that it does not write to'

# ---- where output goes ----------------------------------------------------------------------------------------
what() { stat -c '%F %i %t,%T %a' "$1" 2>&1; } # kind, identity, device, mode
there() { # makes one of each kind at $d/at/KIND, anew
    rm -rf "$d/at"
    mkdir -p "$d/at/folder"
    mkfifo "$d/at/fifo"
    echo old >"$d/at/end"
    ln -s end "$d/at/link"
    ln -s nowhere "$d/at/dangling"
    mknod "$d/at/null" c 1 3 2>/dev/null && : 2>/dev/null >"$d/at/null" || { rm -f "$d/at/null"; device=; }
    mknod "$d/at/full" c 1 7 2>/dev/null && [ -n "$device" ] || { rm -f "$d/at/full"; device=; }
}
device=null
there
[ -n "$device" ] || echo 'no device could be made here: those rows are left out'
# A pack is a file of its own: nothing else is replaced, and nothing temporary stays.
refuses() { # pattern, kind, words before and after the path
    there
    was=$(what "$d/at/$2") names=$(ls "$d/at")
    expect 1 "$1" $3 "$d/at/$2" $4
    [ "$was" = "$(what "$d/at/$2")" ] || wrong "$3 $2: it was $was, is $(what "$d/at/$2")"
    [ "$names" = "$(ls "$d/at")" ] || wrong "$3 $2: in its folder now: $(ls -m "$d/at")"
    [ "$(cat "$d/at/end")" = old ] || wrong "$3 $2: what it leads to was written"
}
for verb in "cache pack --cache-dir $c -o" "cache merge $d/one.settpack -o" "cache sign $d/one.settpack --secret-key $d/secret -o" \
    "warm $d/k.warm --cache-dir $c --pack"; do
    refuses 'at/fifo is a FIFO, and stays: a pack replaces a regular file' fifo "$verb" ''
    refuses 'at/folder is a folder, and stays: a pack replaces a regular file' folder "$verb" ''
    refuses 'at/link is a symbolic link to end, and stays: .*name the file itself' link "$verb" ''
    refuses 'at/dangling is a symbolic link to nowhere, and stays: ' dangling "$verb" ''
    [ -z "$device" ] || refuses 'at/null is a character device, and stays: ' null "$verb" ''
    expect 0 . $verb "$d/at/end" # a regular file is replaced
    expect 0 '^1 entries' cache verify "$d/at/end"
    expect 2 '-: this is written as a file' $verb -
done
expect 1 'at/null is a character device|at/fifo is a FIFO' cache pack "$key" --cache-dir "$c" -o "$d/at/${device:-fifo}"
for kind in fifo folder link dangling $device; do
    there
    was=$(what "$d/at/$kind")
    expect 1 "at/$kind: File exists" cache keygen -o "$d/at/$kind"
    [ "$was" = "$(what "$d/at/$kind")" ] || wrong "keygen -o $kind: it was $was, is $(what "$d/at/$kind")"
done
expect 2 '-: this is written as a file' cache keygen -o -
# All else is written through: to the reader of a FIFO, the end of a link, a device; each stays what it was.
for call in 'layout (4,8) --emit svg -o' 'compile saxpy --emit tape -o' 'compile saxpy --target sm_80 --emit report -o' \
    "run saxpy a=1 X=$d/zero.npy --device cpu Y=$d/zero.npy:"; do
    case $call in *:) to=$call ;; *) to="$call " ;; esac
    for kind in fifo link dangling end $device; do
        there
        was=$(what "$d/at/$kind")
        : >"$d/came"
        [ $kind != fifo ] || timeout 600 cat "$d/at/fifo" >"$d/came" &
        reader=$!
        expect 0 '' ${to}"$d/at/$kind"
        wait $reader
        [ "$was" = "$(what "$d/at/$kind")" ] || wrong "$to$kind: it was $was, is $(what "$d/at/$kind")"
        case $kind in
        fifo) [ -s "$d/came" ] ;;
        dangling) [ -s "$d/at/nowhere" ] ;;
        link | end) [ -s "$d/at/end" ] && ! grep -q '^old' "$d/at/end" ;;
        esac || wrong "$to$kind: nothing came through"
    done
    there
    expect 1 'at/folder: Is a directory' ${to}"$d/at/folder"
    expect 1 'at/gone/x: No such file' ${to}"$d/at/gone/x"
    [ -z "$device" ] || expect 1 'at/full: No space left' ${to}"$d/at/full"
    # What cannot be written whole is removed, if it was not there before.
    n=$((n + 1))
    (trap '' XFSZ && ulimit -f 0 && "$real" ${to}"$d/at/part" >"$d/at/said" 2>&1) && wrong "${to}FILE of no room: exit 0"
    [ ! -e "$d/at/part" ] || wrong "${to}FILE of no room leaves a part"
done
n=$((n + 1))
(trap '' XFSZ && ulimit -f 0 && "$real" cache pack --cache-dir "$c" -o "$d/at/part" >/dev/null 2>&1) && wrong 'a pack of no room: exit 0'
for f in "$d"/at/part*; do [ ! -e "$f" ] || wrong "a pack of no room leaves $f"; done
(trap '' XFSZ && ulimit -f 0 && "$real" cache keygen -o "$d/at/part" >/dev/null 2>&1) && wrong 'a key of no room: exit 0'
[ ! -e "$d/at/part" ] || wrong 'a key of no room leaves a part'
# A dump's name can be told ahead: no link is followed, no FIFO waited on, and the kernel is compiled all the same.
SETT_DUMP=tape:$d/dump "$sett" compile saxpy --emit tape >/dev/null
dump=$(echo "$d"/dump/*.tape)
there
for kind in link fifo folder; do
    rm -rf "$dump"
    mv "$d/at/$kind" "$dump"
    [ $kind != link ] || ln -sfn "$d/at/end" "$dump"
    was=$(what "$dump")
    SETT_DUMP=tape:$d/dump expect 0 'dump: .*\.tape: ' compile saxpy --emit tape
    [ "$was" = "$(what "$dump")" ] && [ "$(cat "$d/at/end")" = old ] || wrong "a dump onto a $kind: it was $was, is $(what "$dump")"
done

# ---- inputs -------------------------------------------------------------------------------------------------------
there
expect 1 '^sett: /dev/zero is larger than the 268435456 bytes that are read of it$' compile /dev/zero --target sm_80
expect 1 '^sett: /dev/zero: not a .npy file$' run saxpy X=/dev/zero Y="$d/zero.npy" a=1 --device cpu
expect 1 '^sett: /dev/zero: not a .npy file$' bench saxpy X=/dev/zero Y=4 a=1 --device cpu
expect 1 '^sett: /dev/zero is no regular file$' cache verify "$d/one.settpack" --signed-by /dev/zero
feed() { # to the reader of a new FIFO: the writer of the one before may still wait for room in it, and would write to whoever reads next
    rm -f "$d/at/fifo"
    mkfifo "$d/at/fifo"
    (exec timeout 600 sh -c 'exec "$@" >"$0" 2>/dev/null' "$d/at/fifo" "$@") &
}
headed() { # extent: a .npy file of it that does not end
    printf '\223NUMPY\001\000v\000' >"$d/at/headed"
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1,), }" >>"$d/at/headed"
    feed cat "$d/at/headed" /dev/zero
}
feed yes
expect 1 '^sett: standard input is larger than the 268435456 bytes' compile - --target sm_80 <"$d/at/fifo"
headed 99999999999
expect 1 'at/fifo: out of memory for the [0-9]+ bytes of its shape$' run saxpy X="$d/at/fifo" Y="$d/zero.npy" a=1 --device cpu
headed 4
expect 1 'at/fifo: there is more in it than its shape says$' run saxpy X="$d/at/fifo" Y="$d/zero.npy" a=1 --device cpu
head -c 130 "$d/zero.npy" >"$d/at/cut.npy"
expect 1 'at/cut.npy: there is less in it than its shape says$' run saxpy X="$d/at/cut.npy" Y="$d/zero.npy" a=1 --device cpu
# A pipe that ends is a file like others.
feed "$sett" compile saxpy --emit tape
expect 0 '^sett tape' compile "$d/at/fifo" --emit tape
feed cat "$d/zero.npy"
expect 0 'saxpy on the CPU engine' run saxpy X="$d/at/fifo" Y="$d/zero.npy" a=1 --device cpu
# What a manifest names, it itself, and what is asked of a cache is no pipe: nobody waits for one.
for named in 'tape at/fifo' "family $d/at/fifo f" 'tape at/folder' "family $d/at/folder f" 'tape /dev/zero' 'family /dev/zero f'; do
    echo "$named" >"$d/odd.warm"
    for way in '--list' "--cache-dir $c" "--pack $d/lost.settpack"; do
        expect 1 'odd.warm:1: .* is a (FIFO|folder|character device), no (regular file|shared object)$' warm "$d/odd.warm" --targets sm_80 $way
    done
done
for path in fifo folder; do
    expect 1 "at/$path is a (FIFO|folder), no regular file$" warm "$d/at/$path" --targets sm_80
    expect 1 "at/$path is a (FIFO|folder), no regular file$" cache explain "$key" "$key" --manifest "$d/at/$path" --targets sm_80
    expect 1 "at/$path: " cache pack --cache-dir "$c" --secret-key "$d/at/$path" -o "$d/lost.settpack"
done
expect 1 '/dev/zero is a character device, no regular file$' warm /dev/zero --targets sm_80
expect 1 'at/fifo: .*it is no plain file' cache ls "$d/at/fifo"
expect 0 'at/fifo: not used' cache layers --cache-dir "$d/at/fifo"
SETT_NVJITLINK=$d/at/fifo SETT_PTXAS=$d/at/fifo expect 5 'at/fifo is a FIFO, no shared object' doctor --cache-dir ''
SETT_NVJITLINK=$d/at/fifo SETT_PTXAS=$d/at/fifo expect 1 'at/fifo is a FIFO, no shared object' compile saxpy --target sm_80 --emit cubin --cache-dir ''
echo "$n passed, $bad failed"
[ "$bad" = 0 ]
