/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel: META and code for one target. Immutable once made, shared by reference count; it keeps the
 * runtime, so that its launches can be refused after the engine was closed. */
#include "kernel.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_cpu(sett__cpu_kernel *c)
{
    if (c->program)
        sett__program_free(c->program);
    if (c->tape)
        sett__tape_free(c->tape);
    free(c->tape);
    sett__arena_free(&c->arena);
}

/* A forked child must not call the driver, and locks may be held there for ever: its copy goes with its exit. */
static void kernel_free(sett_kernel *k)
{
    sett__rest *r = k->rest;
    sett__runtime *on = r->runtime;
    if (!sett__same_process(on))
        return;
    if (k->on_gpu)
        sett__gpu_kernel_end(sett__kernel_gpu(k));
    if (r->cpu)
        free_cpu(r->cpu);
    if (r->made)
        sett__entry_free(r->made);
    free(r->made);
    free(r->owned);
    free(r->report);
    free(k);
    sett__runtime_release(on);
}

/* more: bytes behind the rest, which are not zeros. */
static sett_kernel *kernel_new(sett__runtime *on, const sett__digest *slot, size_t more, sett_error *err)
{
    sett__rest *r;
    const size_t bytes = sizeof(sett_kernel) + sizeof *r + more, line = alignof(sett_kernel);
    sett_kernel *k = aligned_alloc(line, (bytes + line - 1) / line * line);
    if (!k) {
        sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
        return NULL;
    }
    r = memset(k + 1, 0, sizeof *r);
    memset(k, 0, sizeof *k);
    k->gate = on->gate;
    r->runtime = sett__runtime_retain(on);
    atomic_init(&k->refs, 1);
    k->rest = r;
    k->slot = *slot;
    return k;
}

static sett_status check_target(const sett__meta *m, sett_error *err)
{
    int sm;
    char suffix;
    if (!sett__target_parse(m->target, &sm, &suffix))
        return sett__error(err, SETT_E_PARSE, "META names the target %s", m->target);
    if (m->sig.smem > sett__target_smem(sm))
        return sett__error(err, SETT_E_LIMIT, "%s takes %u bytes of shared memory; %s has %u", m->name,
            (unsigned)m->sig.smem, m->target, (unsigned)sett__target_smem(sm));
    return SETT_OK;
}

static sett_status no_memory(sett_error *err)
{
    return sett__error(err, SETT_E_MEMORY, "no memory for a kernel");
}

/* Into a block of this room; *room: what it took. */
static sett_status read_meta(sett_kernel *k, sett__blob meta, const char *layer, char *block, size_t *room, sett_error *err)
{
    sett__rest *r = k->rest;
    sett__arena a = {.at = block, .end = block + *room};
    if (!block)
        return no_memory(err);
    sett_status s = sett__meta_read(&r->meta, &a, meta.data, meta.len, err);
    r->layer = s ? NULL : sett__arena_str(&a, layer);
    k->plan = r->layer ? sett__plan_make(&a, &r->meta.sig, r->meta.name, true) : NULL;
    if (!s && !k->plan)
        s = no_memory(err);
    if (a.head)
        s = sett__error(err, SETT_E_LIMIT, "META of %zu bytes says too much", meta.len);
    *room = (size_t)(a.at - block);
    sett__arena_free(&a);
    return s;
}

/* Read once to know how large it is, then into what it takes and no more. */
static sett_status keep_meta(sett_kernel *k, sett__blob meta, const char *layer, sett_error *err)
{
    size_t room = 4096 + 96 * meta.len; /* a byte of META is never more, with its share of a plan */
    char *scratch = malloc(room);
    sett_status s = read_meta(k, meta, layer, scratch, &room, err);
    free(scratch);
    return s ? s : read_meta(k, meta, layer, k->rest->owned = malloc(room), &room, err);
}

/* Of who compiled it, or compiles it again to compare: in memory alone. */
static sett_status keep_made(sett__rest *r, const sett__entry *entry, sett_error *err)
{
    const sett__entry parts = {.key_material = entry->key_material, .meta = entry->meta, .ptx = entry->ptx};
    r->made = calloc(1, sizeof *r->made);
    return r->made ? sett__entry_copy(&parts, r->made, err) : no_memory(err);
}

static sett_status keep_code(sett_kernel *k, const sett__entry *entry, sett_error *err)
{
    sett__rest *r = k->rest;
    const sett__meta *m = &r->meta;
    char *at = (char *)(r + 1) + (r->runtime->cuda ? SETT__GPU_KERNEL_BYTES : 0);
    memcpy(at, entry->cubin.data, entry->cubin.len);
    r->cubin_len = (uint32_t)entry->cubin.len;
    if (!r->runtime->cuda)
        return SETT_OK;
    const sett__made made = {m->name, m->target, m->assembler, m->min_driver};
    sett_status s = sett__gpu_kernel_of(r->runtime->cuda, at, r->cubin_len, &made, &m->sig, r->runtime->module_api, (void *)(r + 1), err);
    k->on_gpu = !s;
    return s;
}

static sett_status fill_gpu(sett_kernel *k, const sett__entry *entry, sett_origin origin, const char *layer, sett_error *err)
{
    sett__rest *r = k->rest;
    sett_status s = keep_meta(k, entry->meta, layer, err);
    if (s)
        return s;
    r->origin = origin;
    k->ptx_only = !entry->cubin.len;
    s = check_target(&r->meta, err);
    if (!s && (origin == SETT_FROM_COMPILER || r->runtime->keep_made))
        s = keep_made(r, entry, err);
    if (!s && entry->notes.len && !(r->report = strndup(entry->notes.data, entry->notes.len)))
        s = no_memory(err);
    return s || k->ptx_only ? s : keep_code(k, entry, err);
}

sett_status sett__kernel_of_entry(sett__runtime *on, const sett__digest *key, sett__entry *entry, sett_origin origin,
    const char *layer, sett_kernel **out, sett_error *err)
{
    *out = NULL;
    sett_kernel *k = kernel_new(on, key, (on->cuda ? SETT__GPU_KERNEL_BYTES : 0) + entry->cubin.len, err);
    sett_status s = k ? fill_gpu(k, entry, origin, layer, err) : SETT_E_MEMORY;
    sett__entry_free(entry);
    if (s && k)
        kernel_free(k);
    else
        *out = k;
    return s;
}

/* The tape's own signature serves: its memory is the kernel's. */
static sett_status make_meta(sett_kernel *k, const char *name, sett_error *err)
{
    sett__rest *r = k->rest;
    sett__cpu_kernel *c = r->cpu;
    r->meta = (sett__meta){c->tape->sig, sett__arena_str(&c->arena, name), "cpu", "cpu", "", .registers = -1, .spill_stores = -1,
        .spill_loads = -1, .stack = -1};
    r->layer = "";
    sett_status s = r->meta.name ? sett__meta_check(&r->meta, err) : no_memory(err);
    if (s)
        return s;
    k->plan = sett__plan_make(&c->arena, &r->meta.sig, r->meta.name, false);
    return k->plan ? SETT_OK : no_memory(err);
}

sett_status sett__kernel_of_tape(sett__runtime *on, const sett__digest *key, const sett__digest *slot, const char *name,
    sett_checks checks, sett__tape *tape, sett_kernel **out, sett_error *err)
{
    *out = NULL;
    sett__cpu_kernel *c;
    sett_kernel *k = kernel_new(on, slot, sizeof *c, err);
    sett__tape *kept = k ? malloc(sizeof *kept) : NULL;
    if (k) {
        c = k->rest->cpu = memset(k->rest + 1, 0, sizeof *c);
        k->cpu = true;
    }
    if (!kept) {
        sett__tape_free(tape);
        if (k)
            kernel_free(k);
        return no_memory(err);
    }
    c->key = *key;
    c->checks = checks;
    c->tape = kept;
    *kept = *tape;
    *tape = (sett__tape){0};
    sett_status s = sett__target_cpu_gives(kept, err);
    if (!s)
        s = make_meta(k, name, err);
    if (!s)
        s = checks > SETT_CHECKS_OFF ? sett__program_check(kept, checks, &c->program, err) : sett__program_make(kept, on->cpu_plain, &c->program, err);
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

/* Of the block; 0: what a launch says. */
static int known(const sett__meta *m, int i)
{
    int64_t v = 1;
    return !m->sig.block[i].count || sett__expr_const(&m->sig, m->sig.block[i], &v) ? (int)v : 0;
}

sett_status sett_kernel_query(const sett_kernel *k, sett_kernel_info *out)
{
    if (!k || !out || !sett__known_size(out->size))
        return SETT_E_ARGUMENT;
    const sett__rest *r = k->rest;
    const sett__meta *m = &r->meta;
    sett_kernel_info info = {
        .size = out->size,
        .name = m->name,
        .target = m->target,
        .origin = r->origin,
        .registers = m->registers,
        .spill_stores = m->spill_stores,
        .spill_loads = m->spill_loads,
        .stack = m->stack,
        .smem = (int)m->sig.smem,
        .block = {known(m, 0), known(m, 1), known(m, 2)},
        .cubin = sett__kernel_cubin(k),
        .cubin_size = r->cubin_len,
        .ptx = r->made && r->made->ptx.len ? r->made->ptx.data : NULL,
        .report = sett__kernel_report(k),
        .assembler = m->assembler,
        .record_ms = r->record_ms,
        .codegen_ms = r->codegen_ms,
        .assemble_ms = r->assemble_ms,
        .load_ms = (double)atomic_load(&r->load_ns) * 1e-6,
        .layer = r->layer,
        .compiler = m->compiler,
    };
    memcpy(info.key, sett__kernel_key(k)->b, sizeof info.key);
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return SETT_OK;
}

sett_status sett__kernel_device(const sett_kernel *k, int device, sett_error *err)
{
    if (!sett__device(k->rest->runtime, &device, err))
        return SETT_E_NO_DEVICE;
    if (k->cpu != (device == SETT_CPU))
        return sett__error(err, SETT_E_TARGET, "%s was made for %s and cannot run on %s", sett__meta_of(k)->name, sett__meta_of(k)->target,
            device == SETT_CPU ? "the CPU" : "a GPU");
    if (k->cpu)
        return SETT_OK;
    if (!k->on_gpu)
        return sett__error(err, SETT_E_ARGUMENT, "%s was compiled to PTX only", sett__meta_of(k)->name);
    const sett__meta *m = sett__meta_of(k);
    return sett__cuda_takes(k->rest->runtime->cuda, device, &(sett__made){m->name, m->target, m->assembler, m->min_driver}, err);
}

sett_status sett__kernel_not_loaded(sett_kernel *k, sett_status s, sett_error *err)
{
    sett_error why = err ? *err : (sett_error){0};
    if (k->rest->origin == SETT_FROM_COMPILER || !sett__gpu_refused(sett__kernel_gpu(k)) || !sett__kernels_refuse(k))
        return s;
    sett__runtime *r = k->rest->runtime;
    pthread_mutex_lock(&r->closing);
    if (r->cache)
        sett__cache_refuse(r->cache, k->rest->layer, &k->slot, err ? why.text : "the driver does not load its code");
    pthread_mutex_unlock(&r->closing);
    return sett__error(err, s, "%s; its entry of the cache is not used any more: compile %s again", why.text, sett__meta_of(k)->name);
}

sett_status sett_prepare(sett_kernel *k, int device, sett_error *err)
{
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_prepare: the kernel is NULL");
    sett_status s = sett__runtime_check(k->rest->runtime, sett__meta_of(k)->name, err);
    if (!s)
        s = sett__kernel_device(k, device, err);
    if (!s && !k->cpu) {
        double start = sett__now_ms();
        uint_fast64_t none = 0;
        sett__device(k->rest->runtime, &device, NULL);
        s = sett__gpu_prepare(sett__kernel_gpu(k), device, err);
        s = s ? sett__kernel_not_loaded(k, s, err) : SETT_OK;
        atomic_compare_exchange_strong(&k->rest->load_ns, &none, (uint_fast64_t)((sett__now_ms() - start) * 1e6));
    }
    errno = saved;
    return s;
}

sett_status sett_unload(sett_kernel *k, sett_error *err)
{
    int saved = errno;
    if (!k)
        return sett__error(err, SETT_E_ARGUMENT, "sett_unload: the kernel is NULL");
    sett_status s = sett__runtime_check(k->rest->runtime, sett__meta_of(k)->name, err);
    unsigned calls = atomic_load(&k->rest->calls);
    if (!s && calls)
        s = sett__error(err, SETT_E_ARGUMENT, "%s: %u prepared call%s its code: free %s first", sett__meta_of(k)->name, calls,
            calls == 1 ? " holds" : "s hold", calls == 1 ? "it" : "them");
    if (!s && k->on_gpu)
        s = sett__gpu_unload(sett__kernel_gpu(k), err);
    errno = saved;
    return s;
}

int sett_kernel_params(const sett_kernel *k)
{
    return k ? (int)sett__meta_of(k)->sig.n_param : 0;
}

/* Of each mode the product of its leaves, if all are constants. */
static void static_extents(const sett__sig *s, const sett__param *p, int64_t extent[8])
{
    int64_t x = 0;
    for (int m = 0; m < p->rank && m < 8; m++)
        extent[m] = 1;
    for (uint32_t i = 0; i < p->n_leaf; i++) {
        const sett__leaf *l = &s->leaf[p->leaf + i];
        const bool known = l->mode < 8 && extent[l->mode] >= 0 && sett__expr_const(s, l->extent, &x);
        if (l->mode < 8)
            extent[l->mode] = known && !__builtin_mul_overflow(extent[l->mode], x, &x) ? x : -1;
    }
}

sett_status sett_kernel_param(const sett_kernel *k, int index, sett_param_info *out)
{
    if (!k || !out || !sett__known_size(out->size) || index < 0 || index >= (int)sett__meta_of(k)->sig.n_param)
        return SETT_E_ARGUMENT;
    const sett__param *p = &sett__meta_of(k)->sig.param[index];
    sett_param_info info = {
        .size = sizeof info, .name = p->name, .dtype = (sett_dtype)p->dtype, .rank = p->rank, .scalar = p->scalar != 0,
        .bytes = p->bytes};
    info.read = (p->access & SETT__ACCESS_READ) != 0;
    info.written = (p->access & SETT__ACCESS_WRITE) != 0;
    static_extents(&sett__meta_of(k)->sig, p, info.extent);
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
    if (!k->cpu)
        return sett__error(err, SETT_E_ARGUMENT, "%s: a kernel for %s keeps no tape", sett__meta_of(k)->name, sett__meta_of(k)->target);
    if (!text)
        return sett__tape_write(k->rest->cpu->tape, true, NULL, tape, len, err);
    sett_status s = sett__tape_print(k->rest->cpu->tape, true, NULL, &printed, err);
    if (!s) {
        *tape = printed;
        *len = strlen(printed);
    }
    return s;
}
