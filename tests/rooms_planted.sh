#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rooms.sh finds what it is there to find: a small tree of sources keeps the table of rooms.txt, then gets one crossing of
# each kind, and the check must name it.
#   tests/rooms_planted.sh
set -u
cc=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
here=$(pwd)

# A tree of four files that crosses nothing: lib/build stands on lib/tape, jit/cache and jit/kernel on lib/tape.
clean() {
    rm -rf "$tmp/tree" "$tmp/table"
    mkdir -p "$tmp/tree"
    (cd "$tmp/tree" && mkdir -p lib/tape lib/build jit/cache jit/kernel ptx remote plug include/sett
    echo 'typedef struct sett_graph sett_graph;' >include/sett/graph.h
    echo 'int sett__low(void);' >lib/tape/tape.h
    echo 'int sett__high(void);' >lib/build/build.h
    echo 'int sett__cache(int); typedef void sett__cache_use(int); typedef void *sett__elsewhere;' >jit/cache/cache.h
    echo 'int sett__kernel(void);' >jit/kernel/kernel.h
    printf '#include "lib/tape/tape.h"\nint sett__low(void) { return 1; }\n' >lib/tape/low.c
    printf '#include "lib/build/build.h"\n#include "lib/tape/tape.h"\nint sett__high(void) { return sett__low(); }\n' >lib/build/high.c
    printf '#include "jit/cache/cache.h"\nint sett__cache(int x) { return x; }\n' >jit/cache/cache.c
    printf '#include "jit/kernel/kernel.h"\n#include "jit/cache/cache.h"\nint sett__kernel(void) { return sett__cache(1); }\n' >jit/kernel/kernel.c)
    cp tests/rooms.txt "$tmp/table"
}
check() { # compiles the tree and holds it against its table
    rm -rf "$tmp/obj"
    (cd "$tmp/tree" && find . -name '*.c' | while read -r f; do
        mkdir -p "$tmp/obj/ptx" "$tmp/obj/remote" "$tmp/obj/$(dirname "$f")" && $cc -iquote . -idirafter . -Iinclude -ffunction-sections -c "$f" -o "$tmp/obj/${f%.c}.o" || echo "$f does not compile"
    done)
    "$here/tests/rooms.sh" "$tmp" "$tmp/table" "$tmp/tree"
}
finds() { # what was planted, the text that must be said of it
    said=$(check) && { echo "rooms_planted: $1: not found" && bad=1 && return; }
    case $said in *"$2"*) [ "$(printf '%s\n' "$said" | wc -l)" = 1 ] || { printf 'rooms_planted: %s: also says:\n%s\n' "$1" "$said" && bad=1; } ;;
    *) printf 'rooms_planted: %s: it says\n%s\nand not\n%s\n' "$1" "$said" "$2" && bad=1 ;;
    esac
}

clean
said=$(check) || { printf 'rooms_planted: the clean tree:\n%s\n' "$said" && bad=1; }

clean
printf '#include "lib/build/build.h"\n' >>"$tmp/tree/lib/tape/low.c"
finds "an include of a room above" 'lib/tape/low.c:3: lib/tape includes lib/build/build.h of lib/build, which it may not use'

clean
printf '#include "jit/kernel/kernel.h"\n' >>"$tmp/tree/jit/cache/cache.c"
finds "an include of a room beside" 'jit/cache/cache.c:3: jit/cache includes jit/kernel/kernel.h of jit/kernel, which it may not use'

clean
echo 'int sett__own;' >"$tmp/tree/lib/tape/inside.h"
printf '#include "lib/tape/inside.h"\n' >>"$tmp/tree/lib/build/high.c"
finds "an include past the face" 'lib/build/high.c:4: lib/build includes lib/tape/inside.h, which is not the face of lib/tape'

clean
echo 'int sett__own;' >"$tmp/tree/lib/tape/other.h"
printf '#include "lib/tape/other.h"\n' >>"$tmp/tree/lib/build/high.c"
finds "an include past both faces" 'lib/build/high.c:4: lib/build includes lib/tape/other.h, which is not the face of lib/tape'
echo 'face lib/tape/other.h: shown too' >>"$tmp/table"
said=$(check) || { printf 'rooms_planted: a second face that the table names:\n%s\n' "$said" && bad=1; }

clean
echo '' >"$tmp/tree/lib/tape/inside.h"
printf '#include "inside.h"\n' >>"$tmp/tree/lib/tape/tape.h"
finds "a face with an inside.h" 'lib/tape/tape.h:2: a face includes an inside.h'

clean
printf 'int sett__high(void);\nint sett__up(void) { return sett__high(); }\n' >>"$tmp/tree/lib/tape/low.c"
finds "a call upwards, its function declared by hand" 'lib/tape/low.c: sett__up() of lib/tape uses sett__high of lib/build (lib/build/high.c), which is above it or beside it'

clean
printf 'int sett__high(void);\nint (*const sett__table[])(void) = {sett__high};\n' >>"$tmp/tree/lib/tape/low.c"
finds "the address of a function above, in a table" 'uses sett__high of lib/build (lib/build/high.c), which is above it or beside it'

clean
echo 'typedef int sett__visit(int); int sett__walk(sett__visit *);' >>"$tmp/tree/jit/cache/cache.h"
finds "a function pointer in a face, which would call upwards" 'jit/cache/cache.h: sett__visit holds a function of its user'

clean
printf 'typedef struct sett__hooks {\n    int (*done)(int);\n} sett__hooks;\n' >>"$tmp/tree/jit/cache/cache.h"
finds "a function pointer in a struct of a face" 'jit/cache/cache.h: sett__hooks holds a function of its user'

clean
echo 'int sett__walk2(int (*visit)(int));' >>"$tmp/tree/jit/cache/cache.h"
finds "a function pointer that a function of a face takes" 'jit/cache/cache.h: sett__walk2 holds a function of its user'

clean
echo 'int sett__own;' >"$tmp/tree/lib/tape/inside.h"
printf '#include "../tape/inside.h"\n' >>"$tmp/tree/lib/build/high.c"
finds "an include past the face by a relative path" 'lib/build/high.c:4: lib/build includes ../tape/inside.h, which is not the face of lib/tape'

clean
printf '#include "../../lib/./build/build.h"\n' >>"$tmp/tree/lib/tape/low.c"
finds "an include of a room above by a relative path" 'lib/tape/low.c:3: lib/tape includes ../../lib/./build/build.h of lib/build, which it may not use'

clean
printf '#define H "lib/build/build.h"\n#include H\n' >>"$tmp/tree/lib/tape/low.c"
finds "an include by a macro" 'lib/tape/low.c:4: includes what the macro H says'

for at in lib/build/build.h lib/../lib/build/build.h; do
    clean
    printf '#include <%s>\n' $at >>"$tmp/tree/lib/tape/low.c"
    finds "an include of $at as of the system" "lib/tape/low.c:3: includes <$at> as a file of the system"
done

clean
printf 'int high_own(void) { return 2; }\n' >>"$tmp/tree/lib/build/high.c"
printf 'int high_own(void);\nint sett__up(void) { return high_own(); }\n' >>"$tmp/tree/lib/tape/low.c"
finds "a call upwards of a name without sett_" 'lib/tape/low.c: sett__up() of lib/tape uses high_own of lib/build (lib/build/high.c), which is above it or beside it'

# What a face says, and whose name must be in the table.
while IFS='|' read -r name text; do
    clean
    printf "$text\n" >>"$tmp/tree/jit/cache/cache.h"
    finds "a function pointer: $text" "jit/cache/cache.h: $name holds a function of its user"
done <<'END'
sett__cb|typedef void (*sett__cb)(int); void sett__walk(sett__cb);
sett__cb2|typedef int sett__cb2(int); void sett__walk(sett__cb2 *);
sett__hooks|struct sett__hooks {\n    int (*done)(int);\n};
sett__hooks|typedef struct sett__hooks {\n    int n; int (*done)(int);\n} sett__hooks;
sett__hooks|typedef struct sett__hooks {\n    int (*done2)(int);\n} sett__hooks;
sett__hooks|typedef struct {\n    int n;\n    struct {\n        int (*x)(int);\n    } y;\n} sett__hooks;
sett__walk2|int sett__walk2(void *cookie,\n    int (*visit)(int));
sett__walk3|int sett__walk3(int visit(int));
sett__walk4|int sett__walk4(void (***to)(void));
sett__hook5|extern int (*const sett__hook5)(void);
sett__hook6|extern int (*sett__hook6[4])(void);
sett__finder7|int (*sett__finder7(int))(int);
sett__walk8|int sett__walk8(__typeof(int (int)) *visit);
END

clean
printf '#include "more.h"\n' >>"$tmp/tree/jit/cache/cache.h"
printf 'int sett__walk9(int (*visit)(int));\n' >"$tmp/tree/jit/cache/more.h"
finds "a function pointer in a header that a face includes" 'sett__walk9 holds a function of its user'

clean
cat >>"$tmp/tree/jit/cache/cache.h" <<'END'
/* as int (*said)(int) */
#define SETT__CALL(f) ((int (*)(int))(f))(1)
static inline int sett__twice(int x) { return sett__cache(sett__cache(x)); }
int sett__rows(int (*m)[2], int (**keys)[32], const char *format, ...) __attribute__((format(printf, 3, 4)));
struct sett__row { int (*m)[2]; };
END
said=$(check) || { printf 'rooms_planted: a face without function pointers:\n%s\n' "$said" && bad=1; }

clean
sed -i 's|^lib/tape: lib/base$|lib/tape: lib/base lib/build|' "$tmp/table"
finds "a circle in the table" 'use each other in the table'

clean
yes '' | head -n 250 >>"$tmp/tree/lib/tape/tape.h"
finds "a long face" 'lib/tape/tape.h has 251 lines, of at most 250'

clean
printf '#include "more.h"\n' >>"$tmp/tree/lib/tape/tape.h"
yes '' | head -n 2000 >"$tmp/tree/lib/tape/more.h"
finds "a long header behind a face" 'lib/tape/more.h has 2000 lines, of at most 250'

clean
printf '#include "rows.inc"\n' >>"$tmp/tree/lib/tape/low.c"
printf '#include "lib/build/build.h"\n' >"$tmp/tree/lib/tape/rows.inc"
finds "an .inc that includes a room above" 'lib/tape/rows.inc:1: lib/tape includes lib/build/build.h of lib/build, which it may not use'

clean
printf '#include "lib/build/build.h"\n' >"$tmp/tree/lib/tape/rows.def"
finds "a .def that includes a room above" 'lib/tape/rows.def:1: lib/tape includes lib/build/build.h of lib/build, which it may not use'

clean
printf '#include <sett/graph.h>\n' >>"$tmp/tree/lib/tape/low.c"
finds "a public header of a room above" 'lib/tape/low.c:3: lib/tape includes sett/graph.h of jit/graph, which it may not use'

clean
echo 'typedef struct sett_graph sett_graph; int sett__takes(sett_graph *);' >>"$tmp/tree/lib/tape/tape.h"
finds "a public type of a room above in a face" 'lib/tape/tape.h:2: lib/tape names sett_graph of jit/graph, which it may not use'

clean
printf 'int sett__own;\n#include <sett/own.h>\n' >>"$tmp/tree/lib/tape/low.c"
touch "$tmp/tree/include/sett/own.h"
finds "a public header without a room" 'lib/tape/low.c:4: includes sett/own.h, which has no room in the table'

clean
printf 'struct sett_build {\n    int depth;\n    struct sett__flight *flights;\n};\n' >>"$tmp/tree/lib/build/build.h"
printf 'int sett__depth(struct sett_build *b) { return b->depth; }\n' >>"$tmp/tree/lib/build/high.c"
finds "a member of the build of a room above" 'lib/build: struct sett_build has flights, which no file of lib/build uses'

clean
for i in 1 2 3 4 5 6 7 8 9; do
    echo "int sett__ring$i(void); int sett__ring$((i % 9 + 1))(void); int sett__ring$i(void) { return sett__ring$((i % 9 + 1))(); }" >"$tmp/tree/lib/tape/ring$i.c"
done
finds "nine files in a circle" 'lib/tape: 9 files call each other in a circle; at most 8 may'
exit $bad
