/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and opening the shared objects that lie beside libsett.so: libsett-ptx.so, the compiler, and libsett-remote.so.
 * They are opened on the first miss that needs them and never closed: LLVM and TLS libraries leave thread-local and
 * exit-time state behind that an unload would pull the code away from. */
#include "support.h"
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

bool sett__beside(const char *name, char *path, size_t size)
{
    union {
        bool (*fn)(const char *, char *, size_t);
        void *address;
    } here = {sett__beside};
    Dl_info info;
    struct stat st;
    if (!dladdr(here.address, &info) || !info.dli_fname)
        return false;
    char real[PATH_MAX]; /* no allocation, so that a lack of memory is not taken for a lack of the file */
    if (!realpath(info.dli_fname, real))
        return false;
    int n = snprintf(path, size, "%s/%s", dirname(real), name);
    return n > 0 && (size_t)n < size && !stat(path, &st);
}

static void choose(const sett__shared *w, const char *asked, char *path, size_t size)
{
    const char *env = secure_getenv(w->env);
    if (asked)
        snprintf(path, size, "%s", asked);
    else if (!sett__beside(w->file, path, size))
        snprintf(path, size, "%s", env && *env ? env : w->file);
}

void *sett__shared_symbol(
    const sett__shared *w, const char *asked, char path[SETT__SHARED_PATH], sett_status status, sett_error *err)
{
    asked = asked && *asked ? asked : NULL;
    choose(w, asked, path, SETT__SHARED_PATH);
    char why[400];
    void *lib = sett__library_open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE, why, sizeof why),
         *symbol = lib ? dlsym(lib, w->symbol) : NULL;
    if (!lib) {
        sett__error(err, status, asked ? "the %s cannot be opened: %s" : "the %s cannot be opened: %s (looked for beside "
            "libsett.so, in $%s, and by the loader)", w->what, why, w->env);
    } else if (!symbol) {
        sett__error(err, status, "%s is no %s: it lacks %s", path, w->what, w->symbol);
    }
    return symbol;
}
