/* SPDX-License-Identifier: Apache-2.0 */
/* PTX to cubin in this process, by nvJitLink. Its header's functions are inline wrappers around symbols
 * that carry the version of the toolkit (__nvJitLinkCreate_13_0); libraries also export older sets and, since 12.x,
 * plain names. All are tried, so that no header is needed and any 12.x or 13.x library will do. */

#include "inside.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_PTX = 2 }; /* NVJITLINK_INPUT_PTX */

static const char *const usual[] = {
    "libnvJitLink.so.13",
    "libnvJitLink.so.12",
    "/usr/local/cuda/lib64/libnvJitLink.so.13",
    "/usr/local/cuda/lib64/libnvJitLink.so.12",
    "/opt/cuda/lib64/libnvJitLink.so.13",
};

/* The plain name, else the newest versioned one. */
static void *symbol(void *lib, const char *name)
{
    char text[64];
    void *p = dlsym(lib, name);
    for (int version = 139; !p && version >= 120; version--) {
        snprintf(text, sizeof text, "__%s_%d_%d", name, version / 10, version % 10);
        p = dlsym(lib, text);
    }
    return p;
}

static bool bind_symbols(sett__nvjitlink *n, void *lib)
{
    struct {
        const char *name;
        void *to; /* of the function pointer */
    } table[] = {
        {"nvJitLinkCreate", &n->create},
        {"nvJitLinkDestroy", &n->destroy},
        {"nvJitLinkAddData", &n->add_data},
        {"nvJitLinkComplete", &n->complete},
        {"nvJitLinkGetLinkedCubinSize", &n->cubin_size},
        {"nvJitLinkGetLinkedCubin", &n->cubin},
        {"nvJitLinkGetErrorLogSize", &n->error_log_size},
        {"nvJitLinkGetErrorLog", &n->error_log},
        {"nvJitLinkGetInfoLogSize", &n->info_log_size},
        {"nvJitLinkGetInfoLog", &n->info_log},
    };
    for (size_t i = 0; i < SETT__COUNT(table); i++) {
        void *p = symbol(lib, table[i].name);
        if (!p) {
            snprintf(n->why, sizeof n->why, "%.150s has no %s", n->name, table[i].name);
            return false;
        }
        memcpy(table[i].to, &p, sizeof p); /* ISO C has no cast from an object's to a function's pointer */
    }
    return true;
}

static void ask_version(sett__nvjitlink *n, void *lib)
{
    int (*version)(unsigned *, unsigned *);
    void *p = dlsym(lib, "nvJitLinkVersion");
    memcpy(&version, &p, sizeof p);
    if (p && version(&n->major, &n->minor))
        n->major = n->minor = 0;
}

static bool try_open(sett__nvjitlink *n, const char *name)
{
    void *lib = sett__library_open(name, RTLD_NOW | RTLD_LOCAL, n->why, sizeof n->why);
    if (!lib)
        return false;
    snprintf(n->name, sizeof n->name, "%s", name);
    if (!bind_symbols(n, lib)) {
        dlclose(lib);
        return false;
    }
    ask_version(n, lib);
    n->lib = lib;
    return true;
}

void sett__nvjitlink_find(sett__nvjitlink *n, const char *wanted)
{
    int saved = errno;
    if (!wanted || !*wanted)
        wanted = secure_getenv("SETT_NVJITLINK");
    bool found = false;
    if (wanted && *wanted) {
        found = try_open(n, wanted);
    } else {
        for (size_t i = 0; i < SETT__COUNT(usual) && !found; i++)
            found = try_open(n, usual[i]);
        if (!found)
            snprintf(n->why, sizeof n->why, "no libnvJitLink.so.13 or .so.12 (loader path, /usr/local/cuda/lib64)");
    }
    errno = saved;
}

/* One log; malloc'ed, NUL-ended. NULL: out of memory. */
static char *read_log(void *handle, int (*size_of)(void *, size_t *), int (*get)(void *, char *))
{
    size_t size = 0;
    if (size_of(handle, &size))
        size = 0;
    char *log = calloc(1, size + 1);
    if (log && size && get(handle, log))
        log[0] = 0;
    return log;
}

static sett_status take_cubin(const sett__nvjitlink *n, void *handle, sett__asm_out *out, sett_error *e)
{
    size_t size = 0;
    if (n->cubin_size(handle, &size) || !size)
        return sett__error(e, SETT_E_ASSEMBLE, "nvJitLink: no cubin came out");
    out->cubin = malloc(size);
    out->log = read_log(handle, n->info_log_size, n->info_log);
    if (!out->cubin || !out->log)
        return sett__error(e, SETT_E_MEMORY, "nvJitLink: out of memory for a cubin of %zu bytes", size);
    if (n->cubin(handle, out->cubin))
        return sett__error(e, SETT_E_ASSEMBLE, "nvJitLink: the cubin could not be read");
    out->cubin_len = size;
    return SETT_OK;
}

static sett_status refused(const sett__nvjitlink *n, void *handle, const sett__asm_job *job, int code, sett_error *e)
{
    char fallback[32];
    char *log = handle ? read_log(handle, n->error_log_size, n->error_log) : NULL;
    snprintf(fallback, sizeof fallback, "result %d", code);
    sett_status s = sett__asm_refused(e, "nvJitLink", job, log && *log ? log : fallback);
    free(log);
    return s;
}

/* text: the PTX with its NUL. */
static sett_status link_text(
    const sett__nvjitlink *n, const sett__asm_job *job, const char *text, sett__asm_out *out, sett_error *e)
{
    char arch[32], level[16];
    /* Only -O0 and -O3 are options of the linker itself. */
    snprintf(level, sizeof level, job->opt_level == 0 || job->opt_level == 3 ? "-O%d" : "-Xptxas=-O%d", job->opt_level);
    snprintf(arch, sizeof arch, "-arch=%s", job->target);
    /* Its own cache (seen beside a driver) answers without a log, and we have one. */
    const char *options[] = {arch, level, "-verbose", "-no-cache", "-lineinfo"};
    void *handle = NULL;
    int code = n->create(&handle, job->line_info ? 5 : 4, options);
    if (!code)
        code = n->add_data(handle, INPUT_PTX, text, job->ptx_len + 1, "sett");
    if (!code)
        code = n->complete(handle);
    sett_status s = code ? refused(n, handle, job, code, e) : take_cubin(n, handle, out, e);
    if (handle)
        n->destroy(&handle);
    return s;
}

sett_status sett__nvjitlink_run(const sett__nvjitlink *n, const sett__asm_job *job, sett__asm_out *out, sett_error *e)
{
    char *text = malloc(job->ptx_len + 1);
    if (!text)
        return sett__error(e, SETT_E_MEMORY, "nvJitLink: out of memory");
    memcpy(text, job->ptx, job->ptx_len);
    text[job->ptx_len] = 0;
    sett_status s = link_text(n, job, text, out, e);
    free(text);
    return s;
}
