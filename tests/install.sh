#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a packager and a user of the package do: installs into a temporary DESTDIR, builds README.md's first program
# through pkg-config against the shared and the static library, runs both and the installed command, uninstalls.
set -u
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
make=${MAKE:-make}
export SETT_CACHE_DIR="$d/cache"
die() { echo "$*"; exit 1; }
command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed"; exit 0; }

# A terminal gets one short line a command, with the path that it is about.
short() { # path
    ! grep -nE '^(sed|install|for|ln|rm|\[) ' "$d/log" || die "make shows its commands"
    grep -qE "^  [A-Z]+ .*$1" "$d/log" || { cat "$d/log"; die "make does not name $1"; }
}

# Built anywhere, used anywhere: nothing may point back here.
check() { # PREFIX, LIBDIR
    root=$d/root
    $make --no-print-directory install DESTDIR="$root" PREFIX="$1" LIBDIR="$2" >"$d/log" 2>&1 || { cat "$d/log"; die "make install fails"; }
    short "$root$2/libsett.a"
    export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_PATH="$root$2/pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    [ "$(pkg-config --modversion sett)" = "$(sed -n 's/^#define SETT_VERSION "\(.*\)"/\1/p' include/sett/base.h)" ] || die "sett.pc has another version"
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -o "$d/shared" "$d/readme.c" $(pkg-config --cflags --libs sett) || die "it does not build"
    ldd "$d/shared" | grep -q 'libsett\.so' || die "the shared library is not what it was linked with"
    LD_LIBRARY_PATH="$root$2" "$d/shared" || die "it does not run"
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -o "$d/static" "$d/readme.c" $(pkg-config --static --cflags --libs sett | sed -E 's/-l(sett|ffi|nettle)/-l:lib\1.a/g') || die "it does not build with libsett.a"
    ldd "$d/static" | grep -qE 'lib(sett|ffi|nettle)' && die "libsett.a and what it needs were not taken: $(ldd "$d/static")"
    "$d/static" || die "it does not run with libsett.a"
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -o "$d/ready" "$d/ready.c" $(pkg-config --cflags --libs sett-kernels) || die "sett/kernels.h does not build"
    LD_LIBRARY_PATH="$root$2" "$d/ready" || die "a kernel of libsett-kernels.so does not run"
    if [ "$2" = "$1/lib" ]; then
        env -u LD_LIBRARY_PATH "$root$1/bin/sett" --version || die "the installed command does not start"
        env -u LD_LIBRARY_PATH "$root$1/bin/sett" compile saxpy --target sm_90a >"$d/ptx" || die "the installed command does not find the compiler"
        env -u LD_LIBRARY_PATH "$root$1/bin/sett" doctor | grep -qF "compiler: $root$2/libsett-ptx.so" || die "the installed command takes the compiler from elsewhere"
        # Its processes are the installed command, which the library finds from where it lies. There is no assembler.
        "$root$1/bin/sett" compile saxpy --emit tape -o "$d/saxpy.tape" && echo "tape saxpy.tape" >"$d/k.warm"
        SETT_PTXAS=/nowhere SETT_NVJITLINK=/nowhere "$root$1/bin/sett" warm "$d/k.warm" --targets sm_90a --cache-dir "$d/warm" >"$d/log" 2>&1
        [ $? = 3 ] && grep -q '"state": "failed"' "$d/log" || { cat "$d/log"; die "the installed command starts no processes"; }
    fi
    echo 'model llama-3.1-8b' >"$d/m.warm"
    LD_LIBRARY_PATH="$root$2" "$root$1/bin/sett" warm --list "$d/m.warm" --targets sm_90a >"$d/log" 2>&1 || { cat "$d/log"; die "the installed models are not found"; }
    for page in man1/sett.1 man5/sett-cache.5 man5/sett-manifest.5; do
        [ -s "$root$1/share/man/$page" ] || die "$page is not installed"
        # What it refers to is installed too.
        sed -n 's/^\.Xr \(sett[a-z-]*\) \([1-9]\).*/\1 \2/p' "$root$1/share/man/$page" | sort -u | while read -r name section; do
            [ -s "$root$1/share/man/man$section/$name.$section" ] || die "$page refers to $name($section)"
        done || exit 1
    done
    grep -rlF -e "=$PWD" -e "$PWD/build" "$root$2/pkgconfig" && die "sett.pc names the folder that it was built in"
    $make --no-print-directory uninstall DESTDIR="$root" PREFIX="$1" LIBDIR="$2" >"$d/log" 2>&1 || { cat "$d/log"; die "make uninstall fails"; }
    short "$root$2"
    left=$(find "$root" ! -type d)
    [ -z "$left" ] || die "uninstall leaves $left"
    [ ! -e "$root$1/include/sett" ] || die "uninstall leaves $1/include/sett"
}

awk '/^```c$/ {on = !done; text = ""; next} /^```/ {if (on && text ~ /int main/) {printf "%s", text; done = 1} on = 0} on {text = text $0 "\n"}' README.md >"$d/readme.c"
[ -s "$d/readme.c" ] || die "README.md has no program"
cat >"$d/ready.c" <<'END'
#include <sett/kernels.h>
#include <sett/sett.h>
int main(void)
{
    sett_engine *e;
    sett_kernel *k;
    float x[4] = {1, 1, 1, 1}, y[4];
    const sett_engine_options cpu = {.size = sizeof cpu, .no_gpu = true};
    const sett_softmax_options o = {.size = sizeof o, .dtype = SETT_F32, .cols = 4};
    sett_buf X = sett_buf_2d(x, SETT_F32, 1, 4), Y = sett_buf_2d(y, SETT_F32, 1, 4);
    return sett_engine_open(&e, &cpu, NULL) || sett_kernels_compile(e, sett_softmax, &o, NULL, &k, NULL) ||
        sett_launch(k, sett_stream_of(SETT_CPU, NULL), NULL, &X, &Y) || y[3] != 0.25f;
}
END
check /usr /usr/lib
# A prefix that no clone lies in: sett.pc must name the one and must not name the other.
check /opt/prefix/sett /opt/prefix/sett/lib/x86_64-linux-gnu

unset PKG_CONFIG_SYSROOT_DIR
# A space is a letter like any other: nothing is written or removed elsewhere.
mkdir -p "$d/two" && echo mine >"$d/two/mine"
$make --no-print-directory -s install DESTDIR=/ PREFIX="$d/two words" >"$d/log" 2>&1 || { cat "$d/log"; die "make install fails where the folder's name has a space"; }
export PKG_CONFIG_PATH="$d/two words/lib/pkgconfig"
eval "gcc -std=c11 -o '$d/spaced' '$d/ready.c' $(pkg-config --cflags --libs sett-kernels)" || die "it does not build where the folder's name has a space"
LD_LIBRARY_PATH="$d/two words/lib" "$d/spaced" || die "it does not run where the folder's name has a space"
$make --no-print-directory -s uninstall DESTDIR=/ PREFIX="$d/two words" >"$d/log" 2>&1 || { cat "$d/log"; die "make uninstall fails"; }
[ -f "$d/two/mine" ] && [ -z "$(find "$d/two words" ! -type d)" ] || die "uninstall removes another folder, or leaves files"

unset PKG_CONFIG_PATH
# Into the running system: ldconfig runs as root, and what it did not mend is said. One that only notes its calls stands in for it.
mkdir "$d/bin"
printf '#!/bin/sh\necho "ldconfig $*" >>"%s/calls"\n' "$d" >"$d/bin/ldconfig"
chmod +x "$d/bin/ldconfig"
PATH="$d/bin:$PATH" $make --no-print-directory -s install DESTDIR= PREFIX="$d/here" >"$d/log" 2>&1 || { cat "$d/log"; die "make install fails"; }
grep -qF "LD_LIBRARY_PATH=$d/here/lib" "$d/log" || die "make install does not say that the loader will not find the library"
grep -qF "is installed: $d/here/bin/sett doctor says" "$d/log" || die "make install does not say what to do next"
grep -qF "set PKG_CONFIG_PATH=$d/here/lib/pkgconfig" "$d/log" || die "make install does not say that pkg-config will not find sett"
want=$([ "$(id -u)" = 0 ] && echo "ldconfig ldconfig -p" || echo "ldconfig -p")
[ "$(sed 's/ *$//' "$d/calls" | paste -sd' ')" = "$want" ] || die "make install called $(cat "$d/calls")"

# What is missing of the system: how much comes is said before apt-get is silent, where it can tell, and a refusal is no failure.
printf '#!/bin/sh\necho 0\n' >"$d/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$d/bin/dpkg-query"
printf '#!/bin/sh\necho "  Candidate: 1:22.1"\n' >"$d/bin/apt-cache"
cat >"$d/bin/apt-get" <<'END'
#!/bin/sh
case "$*" in
*--print-uris*) [ -z "$NO_URIS" ] || exit 100
    echo "'http://deb.debian.org/a_1.deb' a_1.deb 1200000 SHA256:0"
    echo "'http://deb.debian.org/b_2%3a1.deb' b_2.deb 210900001 SHA256:1" ;;
esac
END
chmod +x "$d/bin/id" "$d/bin/dpkg-query" "$d/bin/apt-cache" "$d/bin/apt-get"
setup() { PATH="$d/bin:$PATH" NO_URIS=${1-} tools/setup python 2>&1 | tail -n 1; }
[ "$(setup)" = "setup: installing python3 python3-dev python3-numpy python3-venv (213 MB to download)" ] || die "tools/setup says $(setup)"
[ "$(setup 1)" = "setup: installing python3 python3-dev python3-numpy python3-venv" ] || die "tools/setup without sizes says $(setup 1)"
echo "install: ok"
