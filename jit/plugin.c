/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and opening libsett-ptx.so. It is opened on the first miss and never closed: LLVM
 * leaves thread-local and exit-time state behind that an unload would pull the code away from. */
#include "jit.h"
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "libsett-ptx.so"

bool sett__beside(const char *name, char *path, size_t size)
{
    union {
        sett_status (*fn)(sett__plugin *, const char *, sett_error *);
        void *address;
    } here = {sett__plugin_open};
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

static void choose(const char *asked, char *path, size_t size)
{
    const char *env = secure_getenv("SETT_PTX_PLUGIN");
    if (asked)
        snprintf(path, size, "%s", asked);
    else if (!sett__beside(FILE_NAME, path, size))
        snprintf(path, size, "%s", env && *env ? env : FILE_NAME);
}

static sett_status check(const sett__ptx_plugin *api, const char *path, sett_error *err)
{
    if (!api)
        return sett__error(err, SETT_E_NO_COMPILER, "%s: it offers no compiler in this process", path);
    if (api->abi != SETT__PLUGIN_ABI || api->size < sizeof *api)
        return sett__error(err, SETT_E_NO_COMPILER, "%s: its interface is %d, this libsett.so needs %d", path, api->abi,
            SETT__PLUGIN_ABI);
    if (strcmp(api->codegen_id, SETT__CODEGEN_ID))
        return sett__error(err, SETT_E_NO_COMPILER, "%s: it generates code as %s, this libsett.so as %s", path,
            api->codegen_id, SETT__CODEGEN_ID);
    return SETT_OK;
}

sett_status sett__plugin_open(sett__plugin *p, const char *asked, sett_error *err)
{
    union {
        void *address;
        sett__ptx_plugin_fn fn;
    } entry;
    asked = asked && *asked ? asked : NULL;
    choose(asked, p->path, sizeof p->path);
    void *lib = dlopen(p->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib) {
        const char *why = dlerror();
        return sett__error(err, SETT_E_NO_COMPILER, "the compiler plug-in cannot be opened: %s%s", why ? why : p->path,
            asked ? "" : " (looked for beside libsett.so, in $SETT_PTX_PLUGIN, and by the loader)");
    }
    entry.address = dlsym(lib, SETT__PLUGIN_SYMBOL);
    if (!entry.address)
        return sett__error(
            err, SETT_E_NO_COMPILER, "%s is no compiler plug-in: it lacks " SETT__PLUGIN_SYMBOL, p->path);
    const sett__ptx_plugin *api = entry.fn();
    sett_status s = check(api, p->path, err);
    p->api = s ? NULL : api;
    return s;
}
