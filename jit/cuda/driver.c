/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libcuda.so.1, finds its functions (the list is SETT__CU_FUNCTIONS in inside.h) and devices; memory. */
#include "inside.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef sett__cu (*lookup)(const char *name, void **to, int version, uint64_t flags, int *status);

static const struct {
    const char *name, *export;
    size_t offset;
    int version, required;
} functions[] = {
#define X(field, name, export, version, required, args) \
    {name, export, offsetof(struct sett__cuda, field), version, required},
    SETT__CU_FUNCTIONS(X)
#undef X
};

/* A driver is not asked for what is newer than itself: that would be a failing call. */
static void *find(void *lib, lookup by_version, int version, size_t i)
{
    void *p = NULL;
    int status = 0;
    if (by_version && functions[i].version <= version && !by_version(functions[i].name, &p, functions[i].version, 0, &status) && p)
        return p;
    return dlsym(lib, functions[i].export);
}

static sett_status bind_functions(sett__cuda *c, sett_error *e)
{
    lookup by_version;
    sett__cu (*version)(int *);
    void *p = dlsym(c->lib, "cuGetProcAddress_v2");
    memcpy(&by_version, &p, sizeof p);
    p = dlsym(c->lib, "cuDriverGetVersion");
    memcpy(&version, &p, sizeof p);
    if (!p || version(&c->version))
        c->version = 0;
    for (size_t i = 0; i < SETT__COUNT(functions); i++) {
        p = find(c->lib, by_version, c->version, i);
        if (!p && functions[i].required)
            return sett__error(e, SETT_E_NO_DEVICE, "the CUDA driver is too old: it has no %s", functions[i].name);
        memcpy((char *)c + functions[i].offset, &p, sizeof p);
    }
    /* The library interface is used as a whole or not at all. */
    if (!c->library_kernel || !c->kernel_function || !c->kernel_attr || !c->library_unload)
        c->library_load = NULL;
    if (!c->link_add || !c->link_complete || !c->link_destroy)
        c->link_create = NULL;
    return SETT_OK;
}

static sett__cu ask_gpu(sett__cuda *c, int ordinal)
{
    sett__gpu *g = &c->gpu[ordinal];
    int major = 0, minor = 0;
    sett__cu r = c->device_get(&g->id, ordinal);
    if (!r)
        r = c->device_name(g->name, (int)sizeof g->name, g->id);
    if (!r)
        r = c->device_attr(&major, SETT__CU_CC_MAJOR, g->id);
    if (!r)
        r = c->device_attr(&minor, SETT__CU_CC_MINOR, g->id);
    if (!r)
        r = c->device_attr(&g->smem_optin, SETT__CU_SMEM_OPTIN, g->id);
    if (!r)
        r = c->device_attr(&g->sms, SETT__CU_SMS, g->id);
    /* The suffix gives the device's own instructions (wgmma, setmaxnreg), which plain targets lack. */
    snprintf(g->target, sizeof g->target, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
    return r;
}

static sett_status start(sett__cuda *c, sett_error *e)
{
    sett__cu (*init)(unsigned);
    void *p = dlsym(c->lib, "cuInit");
    memcpy(&init, &p, sizeof p);
    if (!p)
        return sett__error(e, SETT_E_NO_DEVICE, "libcuda.so.1 has no cuInit: it is not a CUDA driver");
    sett_status s = bind_functions(c, e);
    if (s)
        return s;
    sett__cu r = init(0);
    if (!r)
        r = c->device_count(&c->count);
    if (!r && c->count == 0)
        r = SETT__CU_NO_DEVICE;
    if (c->count > SETT__GPUS_MAX)
        c->count = SETT__GPUS_MAX;
    for (int i = 0; !r && i < c->count; i++)
        r = ask_gpu(c, i);
    if (!r)
        return SETT_OK;
    sett__cuda_error(c, r, "libcuda.so.1 finds no GPU: cuInit", e);
    if (e)
        e->status = SETT_E_NO_DEVICE;
    return SETT_E_NO_DEVICE;
}

sett_status sett__cuda_open(sett__cuda **to, const atomic_uint *gate, sett__logger *log, sett_error *e)
{
    int saved = errno;
    *to = NULL;
    sett__cuda *c = calloc(1, sizeof *c);
    if (!c || pthread_mutex_init(&c->lock, NULL)) {
        free(c);
        return sett__error(e, SETT_E_MEMORY, "out of memory");
    }
    for (size_t n = 0; n < SETT__COUNT(c->loading); n++)
        pthread_mutex_init(&c->loading[n], NULL);
    c->pid = getpid();
    c->log = log;
    c->gate = gate;
    /* By its full name: libcuda.so is the toolkit's stub. Local: other copies of its symbols exist. */
    c->lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    sett_status s;
    if (c->lib) {
        s = start(c, e);
    } else {
        const char *why = dlerror();
        s = sett__error(e, SETT_E_NO_DEVICE, "no CUDA driver here: %s", why ? why : "libcuda.so.1 cannot be opened");
    }
    if (s)
        sett__cuda_close(c);
    else
        *to = c;
    errno = saved;
    return s;
}

/* The driver stays mapped: its threads run until the process ends. */
void sett__cuda_close(sett__cuda *c)
{
    if (!c)
        return;
    if (c->pid == getpid())
        sett__cuda_pages_free(c);
    for (size_t i = 0; i < SETT__COUNT(c->loading); i++)
        pthread_mutex_destroy(&c->loading[i]);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int sett__cuda_count(const sett__cuda *c)
{
    return c->count;
}

bool sett__cuda_faulted(const sett__cuda *c)
{
    return atomic_load_explicit(&c->fault, memory_order_relaxed) != 0;
}

sett_status sett__cuda_counts(const sett__cuda *c, int device, sett_device_counts *to)
{
    if (device < 0 || device >= c->count)
        return SETT_E_NO_DEVICE;
    const sett__gpu *g = &c->gpu[device];
#define C(field, ...) to->field += g->field;
#define T(times, ns, ...) to->times += g->times, to->ns += g->ns;
    SETT__DEVICE_COUNTERS(C, T)
#undef C
#undef T
    return SETT_OK;
}

int sett__cuda_driver_version(const sett__cuda *c)
{
    return c->version;
}

sett_status sett__cuda_target(sett__cuda *c, int device, char target[16], sett_error *e)
{
    if (device < 0 || device >= c->count)
        return sett__error(e, SETT_E_NO_DEVICE, "there is no GPU %d; the driver has %d", device, c->count);
    memcpy(target, c->gpu[device].target, 16);
    return SETT_OK;
}

sett_status sett__cuda_takes(sett__cuda *c, int device, const sett__made *m, sett_error *e)
{
    char target[16];
    if (m->min_driver > c->version) /* an older one of the same major version loads it: see driver_of in compile/codegen.c */
        return sett__error(e, SETT_E_DRIVER,
            "%s was assembled by %s and needs a driver for CUDA %d.%d; this one is for %d.%d", m->name, m->assembler,
            m->min_driver / 1000, m->min_driver % 1000 / 10, c->version / 1000, c->version % 1000 / 10);
    sett_status s = sett__cuda_target(c, device, target, e);
    if (!s && !sett__target_runs(m->target, target))
        s = sett__error(e, SETT_E_TARGET, "%s was made for %s, device %d is %s", m->name, m->target, device, target);
    return s;
}

void sett__cuda_describe(sett__cuda *c, sett__sink *out)
{
    sett_error fault = {0};
    sett__putf(out, "driver: CUDA %d.%d, %s\n", c->version / 1000, c->version % 1000 / 10,
        c->library_load ? "cuLibraryLoadData" : "cuModuleLoadData");
    for (const sett__gpu *g = c->gpu; g < c->gpu + c->count; g++)
        sett__putf(out, "gpu %d: %s, %s, %d SMs, %d bytes of shared memory a block\n", (int)(g - c->gpu), g->name, g->target,
            g->sms, g->smem_optin);
    if (sett__cuda_error(c, atomic_load(&c->fault), "an earlier fault", &fault))
        sett__putf(out, "fault: %s\n", fault.text);
}

/* ---- memory --------------------------------------------------------------------- */
void *sett__cuda_alloc(sett__cuda *c, int device, size_t bytes)
{
    sett__entered in;
    sett__cu_pointer p = 0;
    if (!sett__cuda_enter(c, device, &in, NULL)) {
        sett__relaxed mode = sett__cuda_relax(c);
        if (sett__cuda_error(c, c->alloc(&p, bytes ? bytes : 1), "cuMemAlloc", NULL))
            p = 0;
        sett__cuda_restore(c, &mode);
    }
    sett__cuda_leave(c, &in);
    return (void *)(uintptr_t)p;
}

void sett__cuda_free(sett__cuda *c, int device, void *p)
{
    sett__entered in;
    if (!p)
        return;
    if (!sett__cuda_enter(c, device, &in, NULL)) {
        sett__relaxed mode = sett__cuda_relax(c);
        sett__cuda_error(c, c->free((sett__cu_pointer)(uintptr_t)p), "cuMemFree", NULL);
        sett__cuda_restore(c, &mode);
    }
    sett__cuda_leave(c, &in);
}

sett_status sett__cuda_memcpy(
    sett__cuda *c, sett_stream stream, void *dst, const void *src, size_t bytes, sett_error *e)
{
    sett__entered in;
    if (!bytes)
        return SETT_OK;
    sett_status s = sett__cuda_enter(c, stream.device, &in, e);
    if (!s)
        s = sett__cuda_error(c, c->copy((uintptr_t)dst, (uintptr_t)src, bytes, stream.handle), "cuMemcpyAsync", e);
    sett__cuda_leave(c, &in);
    return s;
}

sett_status sett__cuda_sync(sett__cuda *c, sett_stream stream, sett_error *e)
{
    sett__entered in;
    sett_status s = sett__cuda_enter(c, stream.device, &in, e);
    if (!s)
        s = sett__cuda_uncaptured(c, stream.handle, "the stream is being captured: waiting for it would end the capture", e);
    if (!s)
        s = sett__cuda_error(c, c->stream_sync(stream.handle), "cuStreamSynchronize", e);
    sett__cuda_leave(c, &in);
    return s ? s : sett__cuda_failed(c, stream.device, e);
}
