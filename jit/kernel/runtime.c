/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels stand on: may they run, where, and the end. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
enum { GATE_PAGE = 4096 };

/* ---- making and freeing ----------------------------------------------------------------- */
atomic_uint *sett__gate_page(void)
{
    atomic_uint *gate = mmap(NULL, GATE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (gate == MAP_FAILED)
        return NULL;
    if (madvise(gate, GATE_PAGE, MADV_WIPEONFORK)) {
        munmap(gate, GATE_PAGE);
        return NULL;
    }
    atomic_init(gate, SETT__GATE_OPEN);
    return gate;
}

static void mark_process(sett__runtime *r)
{
    atomic_uint *gate = sett__gate_page();
    r->pid = getpid();
    atomic_init(&r->own_gate, SETT__GATE_ASK);
    r->gate = gate ? gate : &r->own_gate;
}

sett__runtime *sett__runtime_make(void)
{
    sett__runtime *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    pthread_mutex_init(&r->closing, NULL);
    pthread_mutex_init(&r->blocks.lock, NULL);
    pthread_mutex_init(&r->befores.lock, NULL);
    pthread_mutex_init(&r->stand_ins.lock, NULL);
    pthread_mutex_init(&r->runnings.lock, NULL);
    pthread_cond_init(&r->runnings.none, NULL);
    mark_process(r);
    return r;
}

sett__runtime *sett__runtime_retain(sett__runtime *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void sett__runtime_release(sett__runtime *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (sett__same_process(r))
        sett__allocations_clear(&r->blocks), sett__befores_end(&r->befores), sett__stand_ins_clear(&r->stand_ins);
    sett__cuda_close(r->cuda);
    if (r->gate != &r->own_gate)
        munmap(r->gate, GATE_PAGE);
    free(r);
}

/* ---- may it run -------------------------------------------------------------------------- */
bool sett__same_process(const sett__runtime *r)
{
    return getpid() == r->pid;
}

sett_status sett__runtime_check(const sett__runtime *r, const char *who, sett_error *err)
{
    const char *colon = who ? ": " : "";
    who = who ? who : "";
    if (atomic_load_explicit(r->gate, memory_order_relaxed) == SETT__GATE_CLOSED)
        return sett__error(err, SETT_E_CLOSED, "%s%sthe engine was closed", who, colon);
    if (!sett__runtime_live(r))
        return sett__error(err, SETT_E_FORKED,
            "%s%sthe engine was opened before a fork; CUDA does not survive one: spawn or exec, and open another", who, colon);
    return SETT_OK;
}

/* ---- where ------------------------------------------------------------------------------- */
int sett__gpu_count(const sett__runtime *r)
{
    return r->cuda ? sett__cuda_count(r->cuda) : 0;
}

bool sett__device(const sett__runtime *r, int *device, sett_error *err)
{
    const int gpus = sett__gpu_count(r);
    if (*device == SETT_DEFAULT_DEVICE)
        *device = r->default_device;
    if (*device == SETT_CPU || (*device >= 0 && *device < gpus))
        return true;
    if (*device < 0)
        sett__error(err, SETT_E_NO_DEVICE, "device %d is none: GPUs count from 0, the CPU is SETT_CPU (%d)", *device, SETT_CPU);
    else if (r->cuda && gpus == 1)
        sett__error(err, SETT_E_NO_DEVICE, "device %d: there is one GPU, 0", *device);
    else if (r->cuda)
        sett__error(err, SETT_E_NO_DEVICE, "device %d: there are %d GPUs, 0 to %d", *device, gpus, gpus - 1);
    else
        sett__error(err, SETT_E_NO_DEVICE, "device %d: %s", *device, r->no_cuda);
    return false;
}

bool sett__device_target(const sett__runtime *r, int device, char target[16])
{
    strcpy(target, "cpu");
    return sett__device(r, &device, NULL) && (device == SETT_CPU || !sett__cuda_target(r->cuda, device, target, NULL));
}
