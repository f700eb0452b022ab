/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of any device. It is the runtime's, as benchmarks of a kernel use it too. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CPU_ALIGN = 256 };

static void *cpu_alloc(sett__runtime *r, size_t bytes)
{
    size_t whole = bytes ? (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN : CPU_ALIGN;
    void *p = aligned_alloc(CPU_ALIGN, whole);
    if (!p && sett__allocations_drain(&r->blocks))
        p = aligned_alloc(CPU_ALIGN, whole);
    if (p)
        sett__allocation_mark(&r->blocks, p, bytes);
    if (!p || sett__allocation_add(&r->blocks, p, bytes))
        return p;
    free(p);
    return NULL;
}

/* In a forked child another thread may have held the lock for ever: its copy goes with its exit. */
static void cpu_free(sett__runtime *r, void *p)
{
    if (!sett__same_process(r))
        return;
    if (!sett__allocation_free(&r->blocks, p))
        sett__say(&r->log, SETT_LOG_ERROR, "memory", "sett_free: %p was not given by sett_alloc, or was freed before", p);
}

void *sett__alloc(sett__runtime *r, int device, size_t bytes)
{
    int saved = errno;
    void *p = NULL;
    if (sett__runtime_check(r, NULL, NULL) || !sett__device(r, &device, NULL) || bytes > PTRDIFF_MAX - CPU_ALIGN)
        return NULL;
    if (device != SETT_CPU)
        p = sett__cuda_alloc(r->cuda, device, bytes ? bytes : 1);
    else
        p = cpu_alloc(r, bytes);
    errno = saved;
    return p;
}

void sett__free(sett__runtime *r, int device, void *p)
{
    int saved = errno;
    if (!p || !sett__device(r, &device, NULL))
        return;
    if (device == SETT_CPU)
        cpu_free(r, p);
    else if (!sett__runtime_check(r, NULL, NULL))
        sett__cuda_free(r->cuda, device, p);
    errno = saved;
}

static sett_status check_stream(const sett__runtime *r, const char *who, sett_stream *stream, sett_error *err)
{
    sett_status s = sett__runtime_check(r, who, err);
    if (!s && !sett__device(r, &stream->device, err))
        s = SETT_E_NO_DEVICE;
    return s;
}

sett_status sett__memcpy(sett__runtime *r, sett_stream stream, void *dst, const void *src, size_t bytes)
{
    sett_status s = check_stream(r, NULL, &stream, NULL);
    if (s || !bytes)
        return s;
    if (!dst || !src)
        return SETT_E_ARGUMENT;
    if (stream.device != SETT_CPU)
        return sett__cuda_memcpy(r->cuda, stream, dst, src, bytes, NULL);
    if (!sett__allocations_hold(&r->blocks, dst, bytes) || !sett__allocations_hold(&r->blocks, src, bytes))
        return SETT_E_RANGE;
    memmove(dst, src, bytes);
    return SETT_OK;
}

sett_status sett__sync(sett__runtime *r, sett_stream stream, sett_error *err)
{
    sett_status s = check_stream(r, "sett_sync", &stream, err);
    return s || stream.device == SETT_CPU ? s : sett__cuda_sync(r->cuda, stream, err);
}

/* ---- of an engine ------------------------------------------------------------------------------ */
void *sett_alloc(sett_engine *e, int device, size_t bytes)
{
    return e ? sett__alloc(e->runtime, device, bytes) : NULL;
}

void sett_free(sett_engine *e, int device, void *p)
{
    if (e)
        sett__free(e->runtime, device, p);
}

sett_status sett_memcpy(sett_engine *e, sett_stream stream, void *dst, const void *src, size_t bytes)
{
    return e ? sett__memcpy(e->runtime, stream, dst, src, bytes) : SETT_E_ARGUMENT;
}

sett_status sett_sync_error(sett_engine *e, sett_stream stream, sett_error *err)
{
    return e ? sett__sync(e->runtime, stream, err) : sett__engine_check(e, __func__, err);
}

sett_status sett_sync(sett_engine *e, sett_stream stream)
{
    return sett_sync_error(e, stream, NULL);
}

sett_status sett_poll(sett_engine *e, int device, sett_error *err)
{
    sett_stream stream = {device, NULL};
    sett_status s = e ? check_stream(e->runtime, __func__, &stream, err) : sett__engine_check(e, __func__, err);
    return s || stream.device == SETT_CPU ? s : sett__cuda_failed(e->runtime->cuda, stream.device, err);
}
