/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel asks of its engine, which lives as struct until the last kernel is gone: may it run, where, and the end. */
#include "kernel.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

bool sett__same_process(const sett_engine *e)
{
    return getpid() == e->pid;
}

sett_status sett__engine_check(const sett_engine *e, sett_error *err)
{
    if (!e)
        return sett__error(err, SETT_E_ARGUMENT, "the engine is NULL");
    if (atomic_load_explicit(&e->closed, memory_order_relaxed))
        return sett__error(err, SETT_E_CLOSED, "the engine was closed");
    if (!sett__engine_live(e))
        return sett__error(err, SETT_E_FORKED,
            "the engine was opened before a fork; CUDA does not survive one: spawn or exec, and open another");
    return SETT_OK;
}

bool sett__device(const sett_engine *e, int *device, sett_error *err)
{
    if (*device == SETT_DEFAULT_DEVICE)
        *device = sett_default_device(e);
    if (*device == SETT_CPU || (*device >= 0 && *device < sett_gpu_count(e)))
        return true;
    if (*device < 0)
        sett__error(err, SETT_E_NO_DEVICE, "device %d is none: GPUs count from 0, the CPU is SETT_CPU (%d)", *device, SETT_CPU);
    else if (e->cuda)
        sett__error(err, SETT_E_NO_DEVICE, "device %d: there are %d GPUs", *device, sett_gpu_count(e));
    else
        sett__error(err, SETT_E_NO_DEVICE, "device %d: %s", *device, e->no_cuda);
    return false;
}

void sett__free_strings(sett_engine_options *o)
{
    const char *strings[] = {o->cache_dir, o->plugin, o->ptxas, o->nvjitlink, o->cache_layers, o->cache_secret,
        o->cache_signers, o->cache_remote};
    for (size_t i = 0; i < SETT__COUNT(strings); i++)
        free((void *)(uintptr_t)strings[i]);
}

/* ---- closing ---------------------------------------------------------------------------- */
sett_engine *sett__engine_retain(sett_engine *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void sett__engine_release(sett_engine *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (sett__same_process(e))
        sett__blocks_clear(&e->blocks), sett__stand_ins_clear(&e->stand_ins);
    if (e->idle_build)
        sett_build_end(e->idle_build, NULL);
    sett__cuda_close(e->cuda);
    if (e->gate != &e->own_gate)
        munmap(e->gate, SETT__GATE_PAGE);
    sett__free_strings(&e->opt);
    free(e);
}

int sett_default_device(const sett_engine *e)
{
    return sett_gpu_count(e) > 0 ? 0 : SETT_CPU;
}

int sett_gpu_count(const sett_engine *e)
{
    return e && e->cuda ? sett__cuda_count(e->cuda) : 0;
}

int sett_device_target(const sett_engine *e, int device, char *buf, size_t size)
{
    char target[16] = "cpu";
    if (!e || !sett__device(e, &device, NULL))
        return -1;
    if (device != SETT_CPU && sett__cuda_target(e->cuda, device, target, NULL))
        return -1;
    return snprintf(buf, buf ? size : 0, "%s", target);
}
