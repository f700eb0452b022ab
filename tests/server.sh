#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples/server as its user builds it: by CMake against an installed tree. Then it serves: on the CPU engine every answer is compared with plain C
# while packs are reloaded; over the driver of fake_cuda.c its kernels come from the pack. No compiler is mapped, and memory stays.
#   tests/server.sh [BUILD]    SECONDS_OF_LOAD=600: the long run
set -u
b=${1:-build/release}
d=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill $pid 2>/dev/null; rm -rf "$d"' EXIT
make=${MAKE:-make}
seconds=${SECONDS_OF_LOAD:-2}
unset SETT_CACHE_LAYERS SETT_CACHE_REMOTE
export SETT_NVJITLINK=/nowhere SETT_PTXAS=/nowhere # the driver assembles
die() { echo "$*"; [ ! -s "$d/err" ] || cat "$d/err"; exit 1; }
command -v cmake >/dev/null || tools/setup cmake 2>/dev/null || { echo "skipped: cmake is not installed"; exit 0; }

$make --no-print-directory -s install DESTDIR="$d" PREFIX=/opt/sett >"$d/log" 2>&1 && $make --no-print-directory -s "$b/fake/libcuda.so.1" >>"$d/log" 2>&1 ||
    { cat "$d/log"; die "make install fails"; }
# The tree may be moved: nothing in it names the folder that it was built for.
mv "$d/opt/sett" "$d/moved"
cmake -S examples/server -B "$d/build" -DCMAKE_PREFIX_PATH="$d/moved" -DCMAKE_C_FLAGS=-Werror -DCMAKE_CXX_FLAGS=-Werror >"$d/log" 2>&1 &&
    cmake --build "$d/build" -j "$(nproc)" >>"$d/log" 2>&1 || { cat "$d/log"; die "the server does not build"; }
ldd "$d/build/server" | grep -qF "$d/moved/lib/libsett.so.0" || die "the server was linked with another libsett"
# A wrong version and a broken tree are told.
cat >"$d/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(x LANGUAGES C)
find_package(sett ${WANT} CONFIG)
message(STATUS "found ${sett_FOUND}: ${sett_NOT_FOUND_MESSAGE}")
if(sett_FOUND)
    file(WRITE x.c "#include <sett/kernels.h>\n#include <sett/sett.h>\nint main(void) { return sett_kernels_choose == 0; }\n")
    foreach(how IN ITEMS sett kernels static)
        add_executable(${how} x.c)
        target_link_libraries(${how} PRIVATE sett::${how})
    endforeach()
    target_link_libraries(sett PRIVATE sett::kernels)
    target_link_libraries(static PRIVATE sett::kernels)
endif()
END
found() { cmake -S "$d" -B "$d/x$1" -DWANT="$1" -DCMAKE_PREFIX_PATH="$d/moved" 2>&1 | sed -n 's/^-- found //p'; }
case $(found 0.1) in TRUE:*|1:*) ;; *) die "find_package(sett 0.1) does not find it: $(found 0.1)" ;; esac
cmake --build "$d/x0.1" >"$d/log" 2>&1 || { cat "$d/log"; die "sett::sett, sett::kernels and sett::static do not link"; }
case $(found 0.9) in 0:*|FALSE:*) ;; *) die "find_package(sett 0.9) takes 0.1" ;; esac

fake=$PWD/$b/fake
for v in 1 2; do # a build job: no GPU, and the compiler from where it is installed
    (cd "$d" && LD_LIBRARY_PATH=$fake FAKE_CUDA_GPUS=1 build/server --build m$v $v sm_90a >>log 2>err) || die "no model is built"
done
${CC:-cc} -shared -fPIC -Iinclude tests/fixture/no_memory.c -o "$d/no_memory.so" -ldl || die "no_memory.c"
rm "$d/moved/lib/libsett-ptx.so" # a machine that serves has none

serve() { # arguments...
    rm -f "$d/current" "$d/port"
    ln -s m1 "$d/current"
    "$d/build/server" --model "$d/current" --threads 10 "$@" >"$d/port" 2>"$d/err" &
    pid=$!
    tries=0
    until [ -s "$d/port" ]; do
        tries=$((tries + 1))
        [ $tries -lt 6000 ] && kill -0 $pid 2>/dev/null || die "the server does not start"
        sleep 0.05
    done
    port=$(sed 's/port //' "$d/port")
}
load() { # MS between reloads, seconds, and an option of load
    "$d/build/load" --port "$port" --pid $pid --reload "$1" "$d/current" "$d/m1" "$d/m2" --seconds "$2" ${3:+"$3"} >"$d/answers" 2>&1 ||
        { cat "$d/answers"; die "answers are wrong"; }
    tail -n 1 "$d/answers"
}
ask() { # METHOD PATH BODY: status and body
    printf '%s %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s' "$1" "$2" ${#3} "$3" >"$d/request"
    python3 - "$port" "$d/request" <<'END' 2>/dev/null || die "$2 gives no answer"
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(open(sys.argv[2], "rb").read())
got = b""
while b"\r\n\r\n" not in got or len(got) < got.index(b"\r\n\r\n") + 4 + int(got.split(b"Content-Length: ")[1].split(b"\r\n")[0]):
    got += s.recv(65536)
print(got.decode(errors="replace"))
END
}
metric() { ask GET /metrics "" | tr -d '\r' | sed -n "s/^$1\({[^}]*}\)\{0,1\} //p" | head -n 1; }
expect() { # METRIC VALUE
    [ "$(metric "$1")" = "$2" ] || die "$1 is $(metric "$1"), not $2"
}

answers_by() { # VERSION: before long
    row=$(printf %0256d 0)
    for _ in $(seq 3000); do
        ask POST /run "$row" | tr -d '\r' | grep -aqx "X-Model: $1" && return
        sleep 0.1
    done
    die "version $1 does not answer"
}

LD_PRELOAD=$d/no_memory.so NO_MEMORY=$d/no_memory serve --cpu
load 200 "$seconds"
until grep -q 'version 1: [1-9]' "$d/answers" && grep -q 'version 2: [1-9]' "$d/answers"; do
    seconds=$((4 * seconds)) # a busy machine has loaded none of them again in so long
    [ $seconds -lt 1000 ] || die "one of the models never answered"
    load 200 "$seconds"
done
grown=$(sed -n 's/.*grown \(-\{0,1\}[0-9]*\) KiB/\1/p' "$d/answers")
[ "$grown" -lt 8192 ] || die "the server grew by $grown KiB"
grep -q sett-ptx /proc/$pid/maps && die "a compiler is mapped"
if command -v python3 >/dev/null; then
    expect server_failures_total 0
    expect sett_compiler_loaded 0
    ask POST /run abc | grep -q '400 Bad Request' || die "a wrong request is not refused"
    # What cannot be loaded is refused, and the old model serves on.
    rm "$d/current"
    ask POST /reload "" | grep -q "500 Internal Server Error" || die "a reload of nothing is not refused"
    mkdir "$d/m3" && cp "$d/m1/weights" "$d/m3/" && head -c 1000 "$d/m1/kernels.pack" >"$d/m3/kernels.pack" && ln -s m3 "$d/current"
    ask POST /reload "" | grep -q "m3/kernels.pack" || die "a damaged pack is not refused by its name"
    expect server_failures_total 2
    ask GET /health "" | grep -q '^ok' || die "the server does not serve on"
    # Threads without memory for a new model serve on with the old one, until they have some.
    rm "$d/current" && ln -s m1 "$d/current" && ask POST /reload "" | grep -q '^version 1' || die "the first model is not loaded again"
    answers_by 1
    touch "$d/no_memory"
    rm "$d/current" && ln -s m2 "$d/current" && ask POST /reload "" | grep -q '^version 2' || die "the second model is not loaded"
    sleep 0.5
    answers_by 1
    tries=0
    until [ "$(metric server_failures_total)" -gt 2 ]; do # each thread tries when it has its turn
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || die "threads without memory are not counted"
        sleep 0.1
    done
    rm "$d/no_memory"
    answers_by 2
fi
kill $pid && wait $pid || die "the server does not stop"

# Over a driver that runs nothing: kernels of the pack, loaded and unloaded with each model.
LD_LIBRARY_PATH=$b/fake FAKE_CUDA_GPUS=1 serve
load 50 1 --shape-only
grep -q sett-ptx /proc/$pid/maps && die "a compiler is mapped"
if command -v python3 >/dev/null; then
    expect sett_disk_hits_total 3
    expect sett_misses_total 0
    expect sett_compiles_total 0
    expect server_failures_total 0
fi
kill $pid && wait $pid || die "the server does not stop"
pid=
echo "server: ok"
