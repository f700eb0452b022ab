/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel: META and code for one target. Immutable once made, shared by reference count; it keeps the
 * engine's struct alive, so that its launches can be refused after the engine was closed. */
#include "jit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void kernel_free(sett_kernel *k)
{
    sett_engine *e = k->engine;
    /* A forked child must not call the driver; its copy goes with its exit. */
    if (k->gpu && sett__same_process(e))
        sett__gpu_kernel_free(k->gpu);
    if (k->program)
        sett__program_free(k->program);
    if (k->tape) {
        sett__tape_free(k->tape);
        free(k->tape);
    }
    sett__entry_free(&k->entry);
    sett__arena_free(&k->arena);
    free(k);
    sett__engine_release(e);
}

static sett_kernel *kernel_new(sett_engine *e, const sett__digest *key, const sett__digest *slot, sett_error *err)
{
    sett_kernel *k = aligned_alloc(alignof(sett_kernel), sizeof *k);
    if (!k) {
        sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
        return NULL;
    }
    memset(k, 0, sizeof *k);
    atomic_init(&k->refs, 1);
    k->engine = sett__engine_retain(e);
    k->gate = e->gate;
    k->key = *key;
    k->slot = *slot;
    k->layer = "";
    return k;
}

static void static_block(sett_kernel *k)
{
    const sett__sig *sig = &k->meta.sig;
    for (int i = 0; i < 3; i++) {
        const sett__xop *x = sig->block[i].count ? &sig->code[sig->block[i].first] : NULL;
        k->block[i] = !x ? 1 : sig->block[i].count == 1 && x->code == SETT__X_CONST ? (int)x->imm : 0;
    }
}

static sett_status check_target(const sett_kernel *k, sett_error *err)
{
    int sm;
    char suffix;
    if (!sett__target_parse(k->meta.target, &sm, &suffix))
        return sett__error(err, SETT_E_PARSE, "META names the target %s", k->meta.target);
    if (k->meta.sig.smem > sett__target_smem(sm))
        return sett__error(err, SETT_E_LIMIT, "%s takes %u bytes of shared memory; %s has %u", k->meta.name,
            (unsigned)k->meta.sig.smem, k->meta.target, (unsigned)sett__target_smem(sm));
    return SETT_OK;
}

/* Has its code the wait? What the driver compiled for an older target has none. */
static bool begins_early(const char *target)
{
    int sm;
    char suffix;
    return sett__target_parse(target, &sm, &suffix) && sm >= 90;
}

sett_status sett__kernel_of_entry(
    sett_engine *e, const sett__digest *key, sett__entry *entry, sett_origin origin, sett_kernel **out, sett_error *err)
{
    *out = NULL;
    sett_kernel *k = kernel_new(e, key, key, err);
    if (!k) {
        sett__entry_free(entry);
        return SETT_E_MEMORY;
    }
    k->entry = *entry;
    *entry = (sett__entry){0};
    k->origin = origin;
    k->ptx_only = !k->entry.cubin.len;
    sett_status s = sett__meta_read(&k->meta, &k->arena, k->entry.meta.data, k->entry.meta.len, err);
    if (!s)
        s = check_target(k, err);
    static_block(k);
    if (!s && !k->ptx_only && e->cuda)
        s = sett__gpu_kernel_make(e->cuda, k->entry.cubin.data, k->entry.cubin.len, k->meta.name, k->meta.sig.smem,
            e->opt.module_api, &k->gpu, err);
    if (!s && k->gpu && k->meta.sig.smem_more.count)
        sett__gpu_more_smem(k->gpu);
    if (!s && k->gpu && k->meta.sig.early && begins_early(k->meta.target))
        sett__gpu_early(k->gpu);
    if (!s && k->gpu && k->meta.sig.n_claim)
        s = sett__gpu_claims(k->gpu, &k->meta.sig, err);
    if (!s && k->gpu)
        k->plan = sett__plan_make(&k->arena, &k->meta.sig);
    if (s)
        kernel_free(k);
    else
        *out = k;
    return s;
}

/* The tape's own signature serves: its memory is the kernel's. */
static sett_status fill_cpu_meta(sett_kernel *k, const char *name, sett_error *err)
{
    char *copy = sett__arena_str(&k->arena, name);
    if (!copy)
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    k->meta = (sett__meta){.sig = k->tape->sig,
        .name = copy,
        .target = "cpu",
        .assembler = "cpu",
        .compiler = "",
        .registers = -1,
        .spill_stores = -1,
        .spill_loads = -1,
        .stack = -1,
        .params_len = sett__params_len(&k->tape->sig)};
    return sett__meta_check(&k->meta, err);
}

sett_status sett__kernel_of_tape(sett_engine *e, const sett__digest *key, const sett__digest *slot, const char *name,
    sett__tape *tape, sett_kernel **out, sett_error *err)
{
    *out = NULL;
    sett_kernel *k = kernel_new(e, key, slot, err);
    sett__tape *kept = k ? malloc(sizeof *kept) : NULL;
    if (!kept) {
        sett__tape_free(tape);
        if (k)
            kernel_free(k);
        return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
    }
    *kept = *tape;
    *tape = (sett__tape){0};
    k->tape = kept;
    k->cpu = true;
    sett_status s = fill_cpu_meta(k, name, err);
    if (!s)
        s = sett__program_make(k->tape, &k->program, err);
    static_block(k);
    if (s)
        kernel_free(k);
    else
        *out = k;
    return s;
}

sett_kernel *sett_kernel_retain(sett_kernel *k)
{
    if (k)
        atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void sett_kernel_release(sett_kernel *k)
{
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
        return;
    int saved = errno;
    kernel_free(k);
    errno = saved;
}

sett_status sett_kernel_query(const sett_kernel *k, sett_kernel_info *out)
{
    if (!k || !out || !sett__known_size(out->size))
        return SETT_E_ARGUMENT;
    const sett__meta *m = &k->meta;
    sett_kernel_info info = {
        .size = out->size,
        .name = m->name,
        .target = m->target,
        .origin = k->origin,
        .registers = m->registers,
        .spill_stores = m->spill_stores,
        .spill_loads = m->spill_loads,
        .stack = m->stack,
        .smem = (int)m->sig.smem,
        .block = {k->block[0], k->block[1], k->block[2]},
        .cubin = k->entry.cubin.len ? k->entry.cubin.data : NULL,
        .cubin_size = k->entry.cubin.len,
        .ptx = k->entry.ptx.len ? k->entry.ptx.data : NULL,
        .report = k->entry.notes.len ? k->entry.notes.data : "",
        .assembler = m->assembler,
        .record_ms = k->record_ms,
        .codegen_ms = k->codegen_ms,
        .assemble_ms = k->assemble_ms,
        .load_ms = (double)atomic_load(&k->load_ns) * 1e-6,
        .layer = k->layer,
        .compiler = m->compiler,
    };
    memcpy(info.key, k->key.b, sizeof info.key);
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return SETT_OK;
}

/* A cubin runs on its own major version from its minor on; one with the suffix a on exactly its own. */
static bool runs_on(const char *made_for, const char *device)
{
    int sm, dev;
    char suffix, dev_suffix;
    if (!strcmp(made_for, device))
        return true;
    if (!sett__target_parse(made_for, &sm, &suffix) || !sett__target_parse(device, &dev, &dev_suffix))
        return false;
    if (suffix == 'a')
        return sm == dev;
    return sm / 10 == dev / 10 && sm <= dev;
}

sett_status sett__kernel_device(const sett_kernel *k, int device, sett_error *err)
{
    char target[16];
    if (!sett__device(k->engine, &device, err))
        return SETT_E_NO_DEVICE;
    if (k->cpu != (device == SETT_CPU))
        return sett__error(err, SETT_E_TARGET, "%s was made for %s and cannot run on %s", k->meta.name, k->meta.target,
            device == SETT_CPU ? "the CPU" : "a GPU");
    if (k->cpu)
        return SETT_OK;
    if (!k->gpu)
        return sett__error(err, SETT_E_ARGUMENT, "%s was compiled to PTX only", k->meta.name);
    int driver = sett__cuda_driver_version(k->engine->cuda);
    if (k->meta.min_driver > driver) /* an older one of the same major version loads it: see driver_of in worker.c */
        return sett__error(err, SETT_E_DRIVER,
            "%s was assembled by %s and needs a driver for CUDA %d.%d; this one is for %d.%d", k->meta.name,
            k->meta.assembler, k->meta.min_driver / 1000, k->meta.min_driver % 1000 / 10, driver / 1000,
            driver % 1000 / 10);
    sett_status s = sett__cuda_target(k->engine->cuda, device, target, err);
    if (!s && !runs_on(k->meta.target, target))
        s = sett__error(
            err, SETT_E_TARGET, "%s was made for %s, device %d is %s", k->meta.name, k->meta.target, device, target);
    return s;
}

sett_status sett__kernel_not_loaded(sett_kernel *k, sett_status s, sett_error *err)
{
    sett_error why = err ? *err : (sett_error){0};
    if (k->origin == SETT_FROM_COMPILER || !sett__gpu_refused(k->gpu) || !sett__kernels_refuse(k->engine->kernels, k))
        return s;
    sett__cache_refuse(k->engine->cache, k->layer, &k->key, err ? why.text : "the driver does not load its code");
    return sett__error(err, s, "%s; its entry of the cache is not used any more: compile %s again", why.text, k->meta.name);
}

sett_status sett_prepare(sett_kernel *k, int device, sett_error *err)
{
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_prepare: the kernel is NULL");
    sett_status s = sett__engine_check(k->engine, err);
    if (!s)
        s = sett__kernel_device(k, device, err);
    if (!s && !k->cpu) {
        double start = sett__now_ms();
        uint_fast64_t none = 0;
        sett__device(k->engine, &device, NULL);
        s = sett__gpu_prepare(k->gpu, device, err);
        s = s ? sett__kernel_not_loaded(k, s, err) : SETT_OK;
        atomic_compare_exchange_strong(&k->load_ns, &none, (uint_fast64_t)((sett__now_ms() - start) * 1e6));
    }
    errno = saved;
    return s;
}

sett_status sett_unload(sett_kernel *k, sett_error *err)
{
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_unload: the kernel is NULL");
    sett_status s = sett__engine_check(k->engine, err);
    unsigned calls = atomic_load(&k->calls);
    if (!s && calls)
        s = sett__error(err, SETT_E_ARGUMENT, "%s: %u prepared call%s its code: free %s first", k->meta.name, calls,
            calls == 1 ? " holds" : "s hold", calls == 1 ? "it" : "them");
    if (!s && k->gpu)
        s = sett__gpu_unload(k->gpu, err);
    errno = saved;
    return s;
}

int sett_kernel_params(const sett_kernel *k)
{
    return k ? (int)k->meta.sig.n_param : 0;
}

sett_status sett_kernel_param(const sett_kernel *k, int index, sett_param_info *out)
{
    if (!k || !out || !sett__known_size(out->size) || index < 0 || (uint32_t)index >= k->meta.sig.n_param)
        return SETT_E_ARGUMENT;
    const sett__param *p = &k->meta.sig.param[index];
    sett_param_info info = {
        .size = sizeof info, .name = p->name, .dtype = (sett_dtype)p->dtype, .rank = p->rank, .scalar = p->scalar != 0,
        .bytes = p->bytes};
    info.read = (p->access & SETT__ACCESS_READ) != 0;
    info.written = (p->access & SETT__ACCESS_WRITE) != 0;
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return SETT_OK;
}

sett_status sett_kernel_tape(const sett_kernel *k, bool text, void **tape, size_t *len, sett_error *err)
{
    char *printed = NULL;
    if (!k || !tape || !len)
        return sett__error(err, SETT_E_ARGUMENT, "sett_kernel_tape: the %s is NULL",
            !k ? "kernel" : !tape ? "place for the tape" : "place for its length");
    *tape = NULL;
    *len = 0;
    if (!k->tape)
        return sett__error(err, SETT_E_ARGUMENT, "%s: a kernel for %s keeps no tape", k->meta.name, k->meta.target);
    if (!text)
        return sett__tape_write(k->tape, true, NULL, tape, len, err);
    sett_status s = sett__tape_print(k->tape, true, NULL, &printed, err);
    if (!s) {
        *tape = printed;
        *len = strlen(printed);
    }
    return s;
}
