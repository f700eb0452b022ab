/* SPDX-License-Identifier: Apache-2.0 */
/* All programs of this folder in one: `all NAME [--twin]`, or a link of the bug's name to this program. `all` lists them. */
#include <stdio.h>
#include <string.h>

#define BUG(name) int bug_main_##name(int, char **);
#include "bugs_table.h"
#undef BUG
#define BUG(name) {#name, bug_main_##name},
static const struct { const char *name; int (*run)(int, char **); } bugs[] = {
#include "bugs_table.h"
};
enum { BUGS = sizeof bugs / sizeof bugs[0] };

static const char *base(const char *path)
{
    const char *at = strrchr(path, '/');
    return at ? at + 1 : path;
}

int main(int argc, char **argv)
{
    const int named = argc > 1 && !strcmp(base(argv[0]), "all");
    for (int i = 0; i < BUGS; i++)
        if (!strcmp(bugs[i].name, base(argv[named])))
            return bugs[i].run(argc - named, argv + named);
    for (int i = 0; i < BUGS; i++)
        puts(bugs[i].name);
    return argc > 1 ? 4 : 0;
}
