#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make deb`, and the packages as a user has them: what each holds and needs; README.md's first program built against them by pkg-config and by CMake;
# the command from sett-tools finds the compiler of sett-ptx. lintian looks over them where it is installed. Nothing is installed here.
set -u
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
make=${MAKE:-make}
die() { echo "$*"; exit 1; }
command -v dpkg-deb >/dev/null || { echo "skipped: this is no Debian"; exit 0; }
command -v dpkg-shlibdeps >/dev/null || tools/setup deb 2>/dev/null || { echo "skipped: dpkg-dev is not installed"; exit 0; }
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
version=$(sed -n 's/^#define SETT_VERSION "\(.*\)"/\1/p' include/sett/base.h)
DEB_COMPRESS="-Zgzip -z1" $make --no-print-directory -s deb TO="$d/deb" >"$d/log" 2>&1 || { cat "$d/log"; die "make deb fails"; }

# All of them in one tree, as dpkg would unpack them; none has a file of another.
mkdir "$d/root"
for deb in "$d"/deb/*.deb; do
    dpkg-deb -c "$deb" | awk '$1 !~ /^d/ {print $6}' | sort >"$d/files"
    [ "$(dpkg-deb -f "$deb" Version)" = "$version-1" ] || die "$deb has version $(dpkg-deb -f "$deb" Version)"
    sort "$d/all" "$d/files" 2>/dev/null | uniq -d | grep . && die "two packages have these files"
    cat "$d/files" >>"$d/all"
    dpkg-deb -x "$deb" "$d/root"
    (cd "$d/root" && dpkg-deb -I "$deb" md5sums | md5sum -c --quiet) || die "$deb: md5sums"
done
for f in "lib/$triplet/libsett.so.0" "lib/$triplet/libsett-kernels.so.0" "lib/$triplet/libsett-ptx.so" "lib/$triplet/cmake/sett/sett-config.cmake" include/sett/graph.h include/sett/kernels/gemm.h \
    bin/sett share/man/man1/sett.1.gz share/bash-completion/completions/sett share/zsh/vendor-completions/_sett share/fish/vendor_completions.d/sett.fish; do
    [ -s "$d/root/usr/$f" ] || die "no package has /usr/$f"
done
field() { dpkg-deb -f "$d/deb/$1_${version}-1_$(dpkg --print-architecture).deb" "$2"; }
field libsett0 Depends | grep -q '^libc6 (>= ' || die "libsett0 does not need libc6: $(field libsett0 Depends)"
field libsett0 Depends | grep -qE 'LLVM|cuda|ffi|nettle' && die "libsett0 needs more than libc6: $(field libsett0 Depends)"
field libsett0 Built-Using | grep -q 'libffi (= .*nettle (= ' || die "libsett0 does not say what is linked into it"
field sett-ptx Built-Using | grep -q 'llvm-toolchain-22 (= ' || die "sett-ptx does not say what is linked into it"
[ "$(field libsett-dev Depends)" = "libsett0 (= $version-1)" ] || die "libsett-dev needs $(field libsett-dev Depends)"
for held in libsett0:libffi libsett0:nettle sett-ptx:llvm-toolchain-22; do
    zcat "$d/root/usr/share/doc/${held%:*}/licences.gz" | grep -q "^==== ${held#*:} ====$" || die "${held%:*} does not bring the licence of ${held#*:}"
done
field sett-tools Depends | grep -q 'libsett0 (>= ' || die "sett-tools does not need libsett0"
for f in $(cd "$d/root" && find usr -type f \( -name '*.so*' -o -path '*/bin/*' \)); do
    objdump -p "$d/root/$f" | grep -qE 'RPATH|RUNPATH' && die "$f has a search path"
    grep -qaF "$PWD/build" "$d/root/$f" && die "$f names the folder that it was built in"
done
python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
names = {p["SPDXID"]: p["name"] for p in d["packages"]}
links = {(names[r["spdxElementId"]], names[r["relatedSpdxElement"]]) for r in d["relationships"] if r["relationshipType"] == "STATIC_LINK"}
assert {("libsett.so.0", "nettle"), ("libsett.so.0", "libffi"), ("libsett-ptx.so", "llvm-toolchain-22")} <= links, links
assert all(p["versionInfo"] and p["licenseDeclared"] != "NOASSERTION" for p in d["packages"]), d["packages"]
' build/release/sett.spdx.json || ! command -v python3 >/dev/null || die "sett.spdx.json does not say what is linked statically"

# The one that is packaged is of the files as they are packaged.
gunzip -c "$d/root/usr/share/doc/libsett-dev/sett.spdx.json.gz" >"$d/spdx"
for f in libsett.so.0 libsett-ptx.so; do
    grep -F "\"packageFileName\": \"$f\"" "$d/spdx" | grep -qF "$(sha256sum <"$d/root/usr/lib/$triplet/$f" | cut -d' ' -f1)" || die "the packaged SBOM has another checksum of $f"
done

# A program of the package's user.
awk '/^```c$/ {on = !done; text = ""; next} /^```/ {if (on && text ~ /int main/) {printf "%s", text; done = 1} on = 0} on {text = text $0 "\n"}' README.md >"$d/readme.c"
export PKG_CONFIG_SYSROOT_DIR="$d/root" PKG_CONFIG_PATH="$d/root/usr/lib/$triplet/pkgconfig" PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
export LD_LIBRARY_PATH="$d/root/usr/lib/$triplet" SETT_CACHE_DIR="$d/cache"
if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046
    gcc -std=c11 -Wall -Wextra -Werror -o "$d/by_pkg_config" "$d/readme.c" $(pkg-config --cflags --libs sett) && "$d/by_pkg_config" || die "README's program does not run by pkg-config"
fi
if command -v cmake >/dev/null; then
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(x LANGUAGES C)\nfind_package(sett 0.1 REQUIRED)\nadd_executable(by_cmake readme.c)\ntarget_link_libraries(by_cmake PRIVATE sett::sett)\n' >"$d/CMakeLists.txt"
    cmake -S "$d" -B "$d/cmake" -DCMAKE_PREFIX_PATH="$d/root/usr" >"$d/log" 2>&1 && cmake --build "$d/cmake" >>"$d/log" 2>&1 && "$d/cmake/by_cmake" ||
        { cat "$d/log"; die "README's program does not run by CMake"; }
fi
"$d/root/usr/bin/sett" doctor | grep -qF "compiler: $d/root/usr/lib/$triplet/libsett-ptx.so" || die "the packaged command does not find the packaged compiler"
if command -v lintian >/dev/null; then
    lintian --fail-on error --allow-root "$d"/deb/*.deb >"$d/log" 2>&1 || { cat "$d/log"; die "lintian finds errors"; }
    echo "lintian: no errors"
else
    echo "lintian is not installed: not run"
fi
echo "deb: ok"
