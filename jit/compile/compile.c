/* SPDX-License-Identifier: Apache-2.0 */
/* From a body or a tape to a kernel: memo, recording, memory, disk, compiler. */
#include "inside.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WAIT_MS = 10000 };

typedef struct sett__request request;
typedef struct sett__recorded recorded;

/* ---- making a kernel ---------------------------------------------------------------------------- */
/* SETT_E_NOT_CACHED: the compiler's turn. */
static sett_status from_disk(const request *r, const recorded *rec, bool again, sett_kernel **out, sett_error *err)
{
    const sett__blob material = {rec->material, rec->material_len};
    sett_error why = {0};
    const sett__reading how = {.material = &material, .record_ms = rec->ms};
    sett_status s = again ? sett__read_again(r->e, &rec->key, &how, out, &why)
                          : sett__read(r->e, &rec->key, SETT_FROM_DISK, &how, out, &why);
    if (s && s != SETT_E_NOT_CACHED) /* LLVM would ask for far more memory, and a sealed engine would call it a miss */
        return sett__error(err, s, "%s", why.text);
    if (s)
        sett__log(r->e, SETT_LOG_DEBUG, "cache", "%s: %s", r->name, why.text);
    return s ? sett__error(err, s, "%s", why.text) : s;
}

/* The same from the remote, for a kernel that this machine has not. */
static sett_status from_remote(
    const request *r, const recorded *rec, sett__ticket *ticket, sett_kernel **out, sett_error *err)
{
    const sett__blob material = {rec->material, rec->material_len};
    sett_error why = {0};
    const sett__reading how = {&material, ticket, rec->ms};
    sett_status s = r->opt.ptx_only ? SETT_E_NOT_CACHED : sett__read(r->e, &rec->key, SETT_FROM_REMOTE, &how, out, &why);
    return s ? sett__error(err, s, "%s", why.text) : s;
}

static void remember_longest(sett_engine *e, double ms)
{
    uint_fast64_t us = (uint_fast64_t)(ms * 1e3), longest = atomic_load(&e->runtime->count.longest_us);
    while (us > longest && !atomic_compare_exchange_weak(&e->runtime->count.longest_us, &longest, us))
        ;
}

static sett__compile_job job_of(const request *r, const recorded *rec, const char *name)
{
    return (sett__compile_job){.tape = rec->bytes,
        .tape_len = rec->len,
        .target = r->target,
        .name = name,
        .opt_level = r->opt_level,
        .line_info = r->opt.line_info,
        .ptx_only = r->opt.ptx_only,
        .key = &rec->key,
        .key_material = {rec->material, rec->material_len},
        .sig = &rec->tape.sig,
        .report = rec->report ? rec->report : "",
        .guess = rec->spill ? strlen(rec->spill) : 0,
        .recorded = &rec->tape};
}

static bool same_bytes(const sett__blob *a, const sett__blob *b)
{
    return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* .cache_verify: what was found on disk, made again under its name. */
static void verify(const request *r, const recorded *rec, const sett_kernel *found)
{
    sett_engine *e = r->e;
    sett__compiled made;
    sett_error why = {0};
    sett__compile_job job = job_of(r, rec, sett__meta_of(found)->name);
    job.compare = true;
    sett__count(&e->runtime->count.compiles, 1);
    if (sett__workers_compile(e->workers, &job, &made, &why)) {
        sett__log(e, SETT_LOG_WARNING, "cache", "%s for %s is not verified: %s", r->name, r->target, why.text);
        return;
    }
    const sett__rest *f = found->rest;
    bool code = same_bytes(&(sett__blob){sett__kernel_cubin(found), f->cubin_len}, &made.entry.cubin);
    bool meta = f->made && same_bytes(&f->made->meta, &made.entry.meta);
    sett__count(&e->runtime->count.verified, 1);
    sett__count(&e->runtime->count.differences, !code || !meta);
    if (!code || !meta)
        sett__log(e, SETT_LOG_WARNING, "cache", "%s for %s: the %s in %s, by %s and %s, is not what is compiled here", r->name,
            r->target, code ? "META" : "cubin", f->layer, f->meta.compiler, f->meta.assembler);
    sett__entry_free(&made.entry);
}

static void log_lines(const request *r, sett_log_level level, const char *at)
{
    const char *name = r->name, *words = sett__kernel_words(&name);
    for (; at && *at; at += strcspn(at, "\n") + 1)
        sett__log(r->e, level, "compile", "%.*s%s%s", (int)strcspn(at, "\n"), at, words, name);
}

/* What the log says of a recording before it is assembled, which takes long where values spill. Whether they do is a guess, and a warning only where
 * no assembler will know. */
static void warn(const request *r, const recorded *rec)
{
    log_lines(r, SETT_LOG_WARNING, rec->warnings);
    log_lines(r, (r->cpu || r->opt.ptx_only) && !r->opt.ready_made ? SETT_LOG_WARNING : SETT_LOG_INFO, rec->spill);
}

static sett_status from_compiler(
    const request *r, recorded *rec, sett__ticket *ticket, sett_kernel **out, sett_error *err)
{
    sett_engine *e = r->e;
    sett__compiled made;
    sett__compile_job job = job_of(r, rec, r->name);
    job.ticket = ticket;
    sett__count(&e->runtime->count.compiles, 1);
    sett_status s = sett__workers_compile(e->workers, &job, &made, err);
    if (!s)
        s = sett__kernel_of_entry(e->runtime, &rec->key, &made.entry, SETT_FROM_COMPILER, "", out, err);
    sett__count(&e->runtime->count.failures, s != SETT_OK);
    if (s)
        return s;
    (*out)->rest->record_ms = (float)rec->ms;
    (*out)->rest->codegen_ms = (float)made.codegen_ms;
    (*out)->rest->assemble_ms = (float)made.assemble_ms;
    remember_longest(e, made.codegen_ms + made.assemble_ms);
    if (sett__meta_of(*out)->spill_stores && !r->opt.ptx_only && !r->opt.ready_made)
        log_lines(r, SETT_LOG_WARNING, rec->spill);
    return SETT_OK;
}

static double wait_ms(const sett_engine *e)
{
    double thrice = 3e-3 * (double)atomic_load(&e->runtime->count.longest_us);
    return e->opt.compile_wait_ms ? e->opt.compile_wait_ms : thrice > DEFAULT_WAIT_MS ? thrice : DEFAULT_WAIT_MS;
}

static sett__turn turn_of(const request *r, sett__disk *folder, const sett__digest *key, bool look, sett__ticket *ticket)
{
    sett__turn turn = sett__disk_lock(folder, key, 0, false, ticket);
    if (turn != SETT__TURN_TIMEOUT)
        return turn;
    sett__range_begin("wait", r->name);
    turn = sett__disk_lock(folder, key, wait_ms(r->e), look, ticket);
    sett__range_end();
    return turn;
}

/* why: of each layer. */
static sett_status sealed_miss(const request *r, const sett__digest *key, const sett_error *why, sett_error *err)
{
    char hex[65];
    const char *colon = why->text[0] ? ": " : "";
    sett__hex_write(key->b, hex);
    sett__count(&r->e->runtime->count.sealed_misses, 1);
    sett__log(r->e, SETT_LOG_WARNING, "cache", "%s for %s, key %s, is missed, and the engine is sealed%s%s", r->name, r->target, hex,
        colon, why->text);
    return sett__error(err, SETT_E_NOT_CACHED, "%s for %s, key %s, is not in the cache, and the engine is sealed%s%s",
        r->name, r->target, hex, colon, why->text);
}

/* One process asks the remote for, and compiles, what many miss. Whoever has waited looks again, without the turn where an
 * entry came meanwhile, and so does who got the turn at once: another may have had it between our look and our turn. A sealed
 * engine takes no turn. missed: why the disk has it not. */
static sett_status from_compiler_in_turn(
    const request *r, recorded *rec, sett_error *missed, sett_kernel **out, sett_error *err)
{
    sett_error why = {0};
    sett_engine *e = r->e;
    sett__disk *folder = r->opt.ptx_only ? NULL : sett__cache_folder(e->cache);
    sett__ticket ticket = {0};
    if (atomic_load_explicit(&e->sealed, memory_order_relaxed)) {
        sett_status s = from_remote(r, rec, NULL, out, &why);
        sett__miss_too(missed, &why);
        return s == SETT_E_NOT_CACHED ? sealed_miss(r, &rec->key, missed, err) : s ? sett__error(err, s, "%s", why.text) : s;
    }
    sett__turn turn = folder ? turn_of(r, folder, &rec->key, true, &ticket) : SETT__TURN_NONE;
    sett_status s = turn == SETT__TURN_NONE ? SETT_E_NOT_CACHED : from_disk(r, rec, true, out, &why);
    if (s == SETT_E_NOT_CACHED && turn == SETT__TURN_THERE) { /* of no use to us */
        turn = turn_of(r, folder, &rec->key, false, &ticket);
        s = turn == SETT__TURN_NONE ? s : from_disk(r, rec, true, out, &why);
    }
    if (ticket.waited_ms > 0)
        sett__count_ms(&e->runtime->count.waits, &e->runtime->count.wait_ns, ticket.waited_ms);
    if (s == SETT_E_NOT_CACHED)
        s = from_remote(r, rec, &ticket, out, &why);
    if (s && s != SETT_E_NOT_CACHED)
        sett__error(err, s, "%s", why.text);
    if (s == SETT_E_NOT_CACHED) {
        if (ticket.late) {
            sett__count(&e->runtime->count.late, 1);
            sett__log(e, SETT_LOG_WARNING, "cache", "%s for %s is compiled although another process has been at it for %.0f ms",
                r->name, r->target, ticket.late * wait_ms(e));
        }
        s = from_compiler(r, rec, &ticket, out, err);
    }
    sett__disk_unlock(&ticket);
    return s;
}

/* Of a CPU kernel the report goes nowhere but into the kernel. */
static void give_report(recorded *rec, sett_kernel *k)
{
    k->rest->report = rec->report;
    rec->report = NULL;
}

/* An entry that was made from a tape, or came in a pack, has only the assembler's lines: those of the accesses, which this body has
 * just given, go before them. */
static sett_status complete_report(recorded *rec, sett_kernel **k, sett_error *err)
{
    sett__rest *rest = (*k)->rest;
    char *both;
    if (!rec->report || !sett__report_of_tape(sett__kernel_report(*k)))
        return SETT_OK;
    if (!sett__report_finish(rec, NULL) && asprintf(&both, "%s%s", rec->report, sett__kernel_report(*k)) >= 0) {
        free(rest->report);
        rest->report = both;
        return SETT_OK;
    }
    sett_kernel_release(*k);
    *k = NULL;
    return sett__error(err, SETT_E_MEMORY, "no memory for a report");
}

static sett_status make(const request *r, recorded *rec, sett_kernel **out, sett_error *err)
{
    sett__meta limits = {.sig = rec->tape.sig, .name = r->name};
    sett_error missed = {0};
    sett_status s = sett__meta_check(&limits, err);
    if (s)
        return s;
    s = r->cpu || r->opt.ptx_only ? SETT_E_NOT_CACHED : from_disk(r, rec, false, out, &missed);
    if (!s && r->e->opt.cache_verify && !atomic_load_explicit(&r->e->sealed, memory_order_relaxed))
        verify(r, rec, *out);
    if (s != SETT_E_NOT_CACHED)
        return s ? sett__error(err, s, "%s", missed.text) : complete_report(rec, out, err);
    sett__count(&r->e->runtime->count.misses, 1);
    if ((s = sett__report_finish(rec, err)))
        return s;
    warn(r, rec);
    s = r->cpu ? sett__kernel_of_tape(r->e->runtime, &rec->key, &rec->slot, r->name, r->opt.checks, &rec->tape, out, err)
               : from_compiler_in_turn(r, rec, &missed, out, err);
    if (s || !r->cpu)
        return s ? s : complete_report(rec, out, err);
    (*out)->rest->record_ms = (float)rec->ms;
    give_report(rec, *out);
    return SETT_OK;
}

/* The one maker of a slot, for all who wait. By itself, as what a hit in memory does not need is large. */
static __attribute__((noinline)) sett_status make_and_land(
    const request *r, recorded *rec, sett__flight *flight, sett_kernel **out, sett_error *err)
{
    sett_error why = {0};
    sett_status s = make(r, rec, out, &why);
    if (s && err)
        *err = why;
    sett__kernels_land(r->e->kernels, flight, out, s, &why);
    return s;
}

/* One maker a slot; the others wait for what it gets, its error included. */
static sett_status find_or_make(const request *r, recorded *rec, sett_kernel **out, sett_error *err)
{
    sett_engine *e = r->e;
    sett__found found;
    sett_status s = sett__kernels_find(e->kernels, &rec->slot, r->opt.ptx_only, &found, err);
    if (s)
        return s;
    if (found.kernel) {
        sett__count(&sett__stripe_of(e)->memory_hits, 1);
        *out = found.kernel;
    } else if (found.lead) {
        s = make_and_land(r, rec, found.flight, out, err);
    } else {
        s = sett__join_flight(e, r->name, found.flight, out, err);
    }
    return s;
}

static sett_status compile_recorded(const request *r, recorded *rec, sett_kernel **out, sett_error *err)
{
    sett_engine *e = r->e;
    sett_status s = sett__keys_make(r, rec, err);
    if (!s)
        sett__dump_tape(e, r->name, &rec->key, &rec->tape);
    if (!s && r->memo && e->recordings)
        s = sett__recording_check(r, rec, err);
    if (!s)
        s = find_or_make(r, rec, out, err);
    if (!s)
        sett__dump_write(e, SETT__DUMP_CUBIN, r->name, &rec->key, sett__kernel_cubin(*out), (*out)->rest->cubin_len);
    return s;
}

/* ---- public ------------------------------------------------------------------------------------------ */
/* By itself, as what a hit by the memo does not need is large. */
static __attribute__((noinline)) sett_status record_and_compile(sett_engine *e, sett_body body, const sett_compile_options *options,
    const sett__memo_key *memo, sett_kernel **out, sett_error *err)
{
    request r;
    recorded rec = {0};
    sett__alias alias;
    sett_error own = {.status = SETT_OK};
    err = err ? err : &own;
    sett_status s = sett__request_open(&r, e, "sett_compile", options, err);
    if (s)
        return s;
    const bool has_alias = memo && r.opt.checks <= SETT_CHECKS_OFF && sett__alias_of(&r, body, &alias.alias);
    if (has_alias && sett__by_alias(&r, &alias.alias, out))
        return SETT_OK;
    sett__range_begin("record", r.name);
    r.memo = memo;
    s = sett__record_body(e, body, &r.opt, true, &rec, err);
    sett__range_end();
    sett__count_ms(&e->runtime->count.records, &e->runtime->count.record_ns, rec.ms);
    if (s)
        sett__refusal_told(e, r.name, r.cpu, s, err);
    if (s)
        return s;
    s = compile_recorded(&r, &rec, out, err);
    alias.key = rec.key;
    if (!s && has_alias)
        sett__cache_alias(e->cache, &alias);
    sett__recorded_free(&rec);
    return s;
}

/* A target as a memo's head has it. False: no kernel was ever made for such a one. */
static bool memo_target(const char *text, uint64_t *word)
{
    const size_t n = text ? strlen(text) : 0;
    *word = 0;
    if (text && n <= sizeof *word)
        memcpy(word, text, n);
    return n <= sizeof *word;
}

static bool memo_key(const sett_compile_options *o, sett_body body, sett__memo_key *k)
{
    *k = (sett__memo_key){.head = {.body = (uint64_t)(uintptr_t)body,
                              .options = (uint64_t)o->opt_level | (uint64_t)o->asserts << 8 | (uint64_t)o->line_info << 16 |
                                         (uint64_t)o->no_fold << 17 | (uint64_t)o->ptx_only << 18 | (uint64_t)!o->target << 19 | (uint64_t)o->checks << 20},
        .user = o->user,
        .user_size = o->user_size};
    return memo_target(o->target, &k->head.target);
}

/* Asked before the body records: an unload meanwhile makes what is remembered of it worthless. */
static uint64_t body_holds(sett_engine *e, sett_body body)
{
    union {
        sett_body body;
        const void *address;
    } code = {body};
    pthread_mutex_lock(&e->identity_lock);
    const uint64_t holds = sett__code_holds(&e->identity, code.address);
    pthread_mutex_unlock(&e->identity_lock);
    return holds;
}

/* The caller's options as they are, if they are of this version: they are copied only for who records. */
static sett_status options_of(const sett_compile_options **o, sett_compile_options *copy, sett_error *err)
{
    sett_status s = SETT_OK;
    if (!*o || (*o)->size != sizeof *copy) {
        s = sett__options(copy, sizeof *copy, *o, "sett_compile_options", err);
        *o = copy;
    }
    return s ? s : sett__check_options("sett_compile", *o, err);
}

sett_status sett_compile(
    sett_engine *e, sett_body body, const sett_compile_options *options, sett_kernel **out, sett_error *err)
{
    int saved = errno;
    sett_compile_options copy;
    const sett_compile_options *o = options;
    sett__memo_key memo;
    if (!e || !body || !out)
        return sett__error(
            err, SETT_E_ARGUMENT, "sett_compile: the engine, the body or the place for the kernel is NULL");
    *out = NULL;
    sett_status s = sett__engine_check(e, __func__, err);
    if (!s)
        s = options_of(&o, &copy, err);
    bool remembers = !s && o->user_size && memo_key(o, body, &memo);
    if (remembers && !e->recordings && (*out = sett__memo_get(e->kernels, &memo))) {
        sett__count(&sett__stripe_of(e)->memo_hits, 1);
        return SETT_OK;
    }
    if (remembers)
        memo.holds = body_holds(e, body);
    if (!s)
        s = record_and_compile(e, body, options, remembers ? &memo : NULL, out, err);
    if (!s && remembers)
        sett__memo_put(e->kernels, &memo, *out);
    errno = saved;
    return s;
}

sett_status sett_compile_tape(sett_engine *e, const void *tape, size_t len, const sett_compile_options *options,
    sett_kernel **out, sett_error *err)
{
    int saved = errno;
    request r;
    recorded rec = {0};
    if (!e || !out)
        return sett__error(err, SETT_E_ARGUMENT, "sett_compile_tape: the engine or the place for the kernel is NULL");
    *out = NULL;
    sett_status s = sett__request_open(&r, e, "sett_compile_tape", options, err);
    double start = sett__now_ms();
    if (!s)
        s = sett__read_any_tape(tape, len, &rec.tape, err);
    if (s == SETT_E_VERIFY && err)
        sett__refusal_told(e, r.name, r.cpu, s, err);
    if (!s) {
        rec.ms = sett__now_ms() - start;
        s = compile_recorded(&r, &rec, out, err);
        sett__recorded_free(&rec);
    }
    errno = saved;
    return s;
}
