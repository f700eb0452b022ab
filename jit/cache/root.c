/* SPDX-License-Identifier: Apache-2.0 */
/* Where the disk cache lives, by option or environment. */
#include "cache.h"
#include <stdlib.h>
#include <string.h>

/* Relative paths, and those that climb, could mean another folder tomorrow. */
static bool usable(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *p = path; (p = strstr(p, "/..")); p += 3)
        if (p[3] == '/' || !p[3])
            return false;
    return true;
}

static bool join(const char *base, const char *rest, char *path, size_t size)
{
    if (!base || !usable(base))
        return false;
    int n = snprintf(path, size, "%s%s", base, rest);
    return n > 0 && (size_t)n < size;
}

const char *sett__cache_layer_paths(const char *cache_layers)
{
    return cache_layers ? cache_layers : secure_getenv("SETT_CACHE_LAYERS");
}

const char *sett__cache_remote_text(const char *cache_remote)
{
    return cache_remote ? cache_remote : secure_getenv("SETT_CACHE_REMOTE");
}

bool sett__cache_root(const char *cache_dir, char *path, size_t size)
{
    if (cache_dir)
        return join(cache_dir, "", path, size);
    const char *dir = secure_getenv("SETT_CACHE_DIR"); /* NULL in a set-uid program */
    if (dir)
        return join(dir, "", path, size); /* "" asks for memory only, as the option does */
    return join(secure_getenv("XDG_CACHE_HOME"), "/sett", path, size) ||
           join(secure_getenv("HOME"), "/.cache/sett", path, size);
}
