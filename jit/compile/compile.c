/* SPDX-License-Identifier: Apache-2.0 */
/* From a body or a tape to a kernel: memo, recording, memory, disk, compiler. */
#include "identity.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 128, MAX_OPT = 4, DEFAULT_WAIT_MS = 10000 };
#define DEFAULT_NAME "kernel"

typedef struct sett__request request;
typedef struct sett__recorded recorded;

/* ---- what is asked for ---------------------------------------------------------------- */
static sett_status check_name(const char *func, const char *name, sett_error *err)
{
    static const uint64_t in_names[4] = {UINT64_C(0x3FF) << '0', UINT64_C(0x3FFFFFF) << 1 | UINT64_C(0x3FFFFFF) << 33 | UINT64_C(1) << 31};
    const unsigned char *c = (const unsigned char *)name;
    size_t n = 0;
    while (n <= NAME_MAX_LEN && in_names[c[n] >> 6] >> (c[n] & 63) & 1)
        n++;
    return n > 0 && n <= NAME_MAX_LEN && !c[n] && (*c < '0' || *c > '9')
               ? SETT_OK
               : sett__error(err, SETT_E_ARGUMENT,
                     "%s: \"%.140s\" is no kernel name: letters, digits and _, at most %d, no digit first", func, name,
                     NAME_MAX_LEN);
}

static sett_status no_target(const char *func, const char *target, sett_error *err)
{
    char why[SETT__TARGET_FAULT];
    return sett__error(err, SETT_E_ARGUMENT, "%s: %s", func, sett__target_fault(target, strlen(target), true, why, sizeof why));
}

static sett_status set_target(request *r, const char *func, sett_error *err)
{
    int sm;
    char suffix;
    if (!r->opt.target) {
        if (sett_device_target(r->e, SETT_DEFAULT_DEVICE, r->target, sizeof r->target) < 0)
            return sett__error(err, SETT_E_DRIVER, "%s: the target of the default device cannot be told", func);
    } else {
        size_t n = strnlen(r->opt.target, sizeof r->target);
        if (n == sizeof r->target)
            return no_target(func, r->opt.target, err);
        memcpy(r->target, r->opt.target, n + 1);
    }
    r->cpu = !strcmp(r->target, "cpu");
    if (!r->cpu && !sett__target_parse(r->target, &sm, &suffix))
        return no_target(func, r->target, err);
    if (r->cpu && r->opt.ptx_only)
        return sett__error(err, SETT_E_ARGUMENT, "%s: ptx_only needs a GPU's target, such as \"sm_90a\"", func);
    return SETT_OK;
}

/* Of this version's size. */
static sett_status check_options(const char *func, const sett_compile_options *opt, sett_error *err)
{
    if (opt->opt_level < 0 || opt->opt_level > MAX_OPT)
        return sett__error(err, SETT_E_ARGUMENT, "%s: opt_level %d is not 0 to %d", func, opt->opt_level, MAX_OPT);
    if ((unsigned)opt->asserts > SETT_ASSERTS_ON)
        return sett__error(err, SETT_E_ARGUMENT, "%s: asserts %d is none", func, (int)opt->asserts);
    if (opt->user_size && !opt->user)
        return sett__error(err, SETT_E_ARGUMENT, "%s: user_size is %zu and user is NULL", func, opt->user_size);
    return opt->name ? check_name(func, opt->name, err) : SETT_OK;
}

static sett_status read_options(
    const char *func, const sett_compile_options *options, sett_compile_options *opt, const char **name, sett_error *err)
{
    sett_status s = sett__options(opt, sizeof *opt, options, "sett_compile_options", err);
    if (s)
        return s;
    *name = opt->name ? opt->name : DEFAULT_NAME;
    return check_options(func, opt, err);
}

sett_asserts sett__environment_asserts(sett__logger *log)
{
    int on = sett__environment_flag(log, "SETT_ASSERTS");
    return on < 0 ? SETT_ASSERTS_DEFAULT : on ? SETT_ASSERTS_ON : SETT_ASSERTS_OFF;
}

static void settle_asserts(sett_compile_options *opt, sett_asserts otherwise, bool cpu)
{
    if (opt->asserts == SETT_ASSERTS_DEFAULT)
        opt->asserts = otherwise != SETT_ASSERTS_DEFAULT ? otherwise : cpu ? SETT_ASSERTS_ON : SETT_ASSERTS_OFF;
}

static sett_status open_request(
    request *r, sett_engine *e, const char *func, const sett_compile_options *options, sett_error *err)
{
    *r = (request){.e = e};
    sett_status s = sett__engine_check(e, err);
    if (!s)
        s = read_options(func, options, &r->opt, &r->name, err);
    if (s)
        return s;
    r->opt_level = r->opt.opt_level == 0 ? 3 : r->opt.opt_level % MAX_OPT; /* 4 is -O0 */
    s = set_target(r, func, err);
    settle_asserts(&r->opt, e->asserts, r->cpu);
    return s;
}

/* ---- recording ------------------------------------------------------------------------------ */
static sett_status keep_report(sett_build *b, recorded *out, sett_error *err)
{
    const char *report = sett__report_text(b);
    out->report = b->error.status ? NULL : strdup(report); /* a part of it would be cached as all of it */
    if (out->report)
        return SETT_OK;
    sett__tape_free(&out->tape);
    return sett__error(err, SETT_E_MEMORY, "no memory for a report");
}

/* The next kernel is recorded in the memory of the last one: to fault in fresh pages would take as long as to record. */
static sett_build *take_build(sett_engine *e)
{
    sett_build *b = e ? atomic_exchange(&e->idle_build, NULL) : NULL;
    if (!b)
        return sett_build_begin();
    sett__build_open(b);
    return b;
}

static void leave_build(sett_engine *e, sett_build *b)
{
    if (e && (b = sett__build_again(b)))
        b = atomic_exchange(&e->idle_build, b);
    if (b)
        sett_build_end(b, NULL);
}

/* e NULL: no memory is kept. */
static sett_status record_body(
    sett_engine *e, sett_body body, const sett_compile_options *opt, bool report, recorded *out, sett_error *err)
{
    double start = sett__now_ms();
    sett_build *b = take_build(e);
    if (!b)
        return sett__error(err, SETT_E_MEMORY, "no memory for a build");
    b->in_kernel = true;
    b->no_fold = opt->no_fold;
    b->asserts = opt->asserts == SETT_ASSERTS_ON;
    b->user = opt->user;
    b->lent = true;
    body(b, opt->user);
    b->lent = false;
    sett_status s = sett__build_finish(b, &out->tape, err);
    if (!s && report)
        s = keep_report(b, out, err);
    leave_build(e, b);
    out->ms = sett__now_ms() - start;
    return s;
}

/* Bytes start with the magic and a version below any letter; all else is text. */
static sett_status read_tape(const void *data, size_t len, sett__tape *tape, sett_error *err)
{
    const unsigned char *p = data;
    if (!data || !len)
        return sett__error(err, SETT_E_ARGUMENT, "the tape is empty");
    if (len > 4 && !memcmp(p, "sett", 4) && p[4] < ' ' && p[4] != '\n' && p[4] != '\r' && p[4] != '\t')
        return sett__tape_read(tape, data, len, err);
    char *text = strndup(data, len);
    if (!text)
        return sett__error(err, SETT_E_MEMORY, "no memory for a tape of %zu bytes", len);
    sett_status s = strlen(text) + 1 < len ? sett__error(err, SETT_E_PARSE, "the tape's text holds a NUL")
                                           : sett__tape_parse(tape, text, err);
    free(text);
    return s;
}

static void recorded_free(recorded *rec)
{
    sett__tape_free(&rec->tape);
    free(rec->report);
    free(rec->bytes);
    free(rec->material);
}

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
    uint_fast64_t us = (uint_fast64_t)(ms * 1e3), longest = atomic_load(&e->count.longest_us);
    while (us > longest && !atomic_compare_exchange_weak(&e->count.longest_us, &longest, us))
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
    sett__compile_job job = job_of(r, rec, sett__common_of(found)->name);
    job.compare = true;
    sett__count(&e->count.compiles, 1);
    if (sett__workers_compile(e->workers, &job, &made, &why)) {
        sett__log(e, SETT_LOG_WARNING, "cache", "%s for %s is not verified: %s", r->name, r->target, why.text);
        return;
    }
    const sett__rest *f = found->rest;
    bool code = same_bytes(&(sett__blob){sett__kernel_cubin(found), f->cubin_len}, &made.entry.cubin);
    bool meta = f->made && same_bytes(&f->made->meta, &made.entry.meta);
    sett__count(&e->count.verified, 1);
    sett__count(&e->count.differences, !code || !meta);
    if (!code || !meta)
        sett__log(e, SETT_LOG_WARNING, "cache", "%s for %s: the %s in %s, by %s and %s, is not what is compiled here", r->name,
            r->target, code ? "META" : "cubin", f->common->by->layer, f->common->by->compiler, f->common->by->assembler);
    sett__entry_free(&made.entry);
}

static sett_status from_compiler(
    const request *r, recorded *rec, sett__ticket *ticket, sett_kernel **out, sett_error *err)
{
    sett_engine *e = r->e;
    sett__compiled made;
    sett__compile_job job = job_of(r, rec, r->name);
    job.ticket = ticket;
    sett__count(&e->count.compiles, 1);
    sett_status s = sett__workers_compile(e->workers, &job, &made, err);
    if (!s)
        s = sett__kernel_of_entry(e, &rec->key, &made.entry, SETT_FROM_COMPILER, "", out, err);
    sett__count(&e->count.failures, s != SETT_OK);
    if (s)
        return s;
    (*out)->rest->record_ms = (float)rec->ms;
    (*out)->rest->codegen_ms = (float)made.codegen_ms;
    (*out)->rest->assemble_ms = (float)made.assemble_ms;
    remember_longest(e, made.codegen_ms + made.assemble_ms);
    return SETT_OK;
}

static double wait_ms(const sett_engine *e)
{
    double thrice = 3e-3 * (double)atomic_load(&e->count.longest_us);
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
    sett__count(&r->e->count.sealed_misses, 1);
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
        sett__count_ms(&e->count.waits, &e->count.wait_ns, ticket.waited_ms);
    if (s == SETT_E_NOT_CACHED)
        s = from_remote(r, rec, &ticket, out, &why);
    if (s && s != SETT_E_NOT_CACHED)
        sett__error(err, s, "%s", why.text);
    if (s == SETT_E_NOT_CACHED) {
        if (ticket.late) {
            sett__count(&e->count.late, 1);
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
    if (!rec->report)
        return;
    k->rest->report = k->rest->cpu->report = rec->report;
    rec->report = NULL;
}

/* An entry that was made from a tape, or came in a pack, has only the assembler's lines: those of the accesses, which this body has
 * just given, go before them. */
static sett_status complete_report(const request *r, const recorded *rec, sett_kernel **k, sett_error *err)
{
    sett__rest *rest = (*k)->rest;
    if (!rec->report || !*rec->report || !sett__report_of_tape(rest->report))
        return SETT_OK;
    char *both;
    const int n = asprintf(&both, "%s%s", rec->report, rest->report);
    const char *kept = n < 0 ? NULL : sett__commons_text(&r->e->commons, (sett__blob){both, (size_t)n});
    if (n >= 0)
        free(both);
    if (kept) {
        rest->report = kept;
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
        return s ? sett__error(err, s, "%s", missed.text) : complete_report(r, rec, out, err);
    sett__count(&r->e->count.misses, 1);
    s = r->cpu ? sett__kernel_of_tape(r->e, &rec->key, &rec->slot, r->name, &rec->tape, out, err)
               : from_compiler_in_turn(r, rec, &missed, out, err);
    if (s || !r->cpu)
        return s ? s : complete_report(r, rec, out, err);
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

/* One maker a slot; the others wait for what it gets, its error included. What its caller's memo will find is remembered by no
 * other, unless it was there and that did not. */
static sett_status find_or_make(
    const request *r, recorded *rec, const sett__memo_key *known, sett_kernel **out, sett_error *err)
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
    if (!s && known && (found.kernel || !r->opt.user_size))
        sett__memo_put(e->kernels, known, *out);
    return s;
}

/* Dumps say of every compile what it was, so with them each is keyed. */
static sett_status compile_recorded(const request *r, recorded *rec, sett_kernel **out, sett_error *err)
{
    sett_engine *e = r->e;
    sett__identity id;
    bool known = !e->dump && sett__identify(r, &rec->tape, &id);
    if (known && (*out = sett__memo_get(e->kernels, &id.memo))) {
        sett__count(&sett__stripe_of(e)->memory_hits, 1);
        return SETT_OK;
    }
    sett_status s = sett__keys_make(r, rec, err);
    if (!s)
        sett__dump_tape(e, r->name, &rec->key, &rec->tape);
    if (!s)
        s = find_or_make(r, rec, known ? &id.memo : NULL, out, err);
    if (!s)
        sett__dump_write(e, SETT__DUMP_CUBIN, r->name, &rec->key, sett__kernel_cubin(*out), (*out)->rest->cubin_len);
    return s;
}

/* ---- public ------------------------------------------------------------------------------------------ */
/* By itself, as what a hit by the memo does not need is large. */
static __attribute__((noinline)) sett_status record_and_compile(
    sett_engine *e, sett_body body, const sett_compile_options *options, sett_kernel **out, sett_error *err)
{
    request r;
    recorded rec = {0};
    sett_status s = open_request(&r, e, "sett_compile", options, err);
    if (s)
        return s;
    sett__range_begin("record", r.name);
    s = record_body(e, body, &r.opt, true, &rec, err);
    sett__range_end();
    sett__count_ms(&e->count.records, &e->count.record_ns, rec.ms);
    if (s)
        return s;
    s = compile_recorded(&r, &rec, out, err);
    recorded_free(&rec);
    return s;
}

/* False: no kernel was ever made for such a target. */
static bool memo_key(const sett_compile_options *o, sett_body body, sett__memo_key *k)
{
    *k = (sett__memo_key){.head = {.body = (uint64_t)(uintptr_t)body,
                              .options = (uint64_t)o->opt_level | (uint64_t)o->asserts << 8 | (uint64_t)o->line_info << 16 |
                                         (uint64_t)o->no_fold << 17 | (uint64_t)o->ptx_only << 18 | (uint64_t)!o->target << 19},
        .user = o->user,
        .user_size = o->user_size};
    return sett__memo_target(o->target, &k->head.target);
}

/* The caller's options as they are, if they are of this version: they are copied only for who records. */
static sett_status options_of(const sett_compile_options **o, sett_compile_options *copy, sett_error *err)
{
    sett_status s = SETT_OK;
    if (!*o || (*o)->size != sizeof *copy) {
        s = sett__options(copy, sizeof *copy, *o, "sett_compile_options", err);
        *o = copy;
    }
    return s ? s : check_options("sett_compile", *o, err);
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
    sett_status s = sett__engine_check(e, err);
    if (!s)
        s = options_of(&o, &copy, err);
    bool remembers = !s && o->user_size && memo_key(o, body, &memo);
    if (remembers && (*out = sett__memo_get(e->kernels, &memo))) {
        sett__count(&sett__stripe_of(e)->memo_hits, 1);
        return SETT_OK;
    }
    if (!s)
        s = record_and_compile(e, body, options, out, err);
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
    sett_status s = open_request(&r, e, "sett_compile_tape", options, err);
    double start = sett__now_ms();
    if (!s)
        s = read_tape(tape, len, &rec.tape, err);
    if (!s) {
        rec.ms = sett__now_ms() - start;
        s = compile_recorded(&r, &rec, out, err);
        recorded_free(&rec);
    }
    errno = saved;
    return s;
}

sett_status sett_key(
    sett_engine *e, sett_body body, const sett_compile_options *options, uint8_t key[32], sett_error *err)
{
    int saved = errno;
    request r;
    recorded rec = {0};
    if (!e || !body || !key)
        return sett__error(err, SETT_E_ARGUMENT, "sett_key: the engine, the body or the place for the key is NULL");
    sett_status s = open_request(&r, e, "sett_key", options, err);
    if (!s)
        s = record_body(e, body, &r.opt, false, &rec, err);
    if (!s) {
        s = sett__keys_make(&r, &rec, err);
        if (!s)
            memcpy(key, rec.key.b, sizeof rec.key.b);
        recorded_free(&rec);
    }
    errno = saved;
    return s;
}

sett_status sett__key_of_tape(sett_engine *e, const void *tape, size_t len, const sett_compile_options *options,
    sett__digest *key, sett_error *err)
{
    request r;
    recorded rec = {0};
    *key = rec.key;
    sett_status s = open_request(&r, e, "sett_compile_options", options, err);
    if (!s)
        s = read_tape(tape, len, &rec.tape, err);
    if (!s) {
        s = sett__keys_make(&r, &rec, err);
        *key = rec.key;
        recorded_free(&rec);
    }
    return s;
}

sett_status sett_record(
    sett_body body, const sett_compile_options *options, bool text, void **tape, size_t *len, sett_error *err)
{
    int saved = errno;
    sett_compile_options opt;
    const char *name;
    char *printed = NULL;
    recorded rec = {0};
    if (!body || !tape || !len)
        return sett__error(err, SETT_E_ARGUMENT, "sett_record: the %s is NULL",
            !body ? "body" : !tape ? "place for the tape" : "place for its length");
    *tape = NULL;
    *len = 0;
    sett_status s = read_options("sett_record", options, &opt, &name, err);
    settle_asserts(&opt, sett__environment_asserts(NULL), !s && opt.target && !strcmp(opt.target, "cpu"));
    if (!s)
        s = record_body(NULL, body, &opt, false, &rec, err);
    if (s)
        return s;
    if (!text) {
        s = sett__tape_write(&rec.tape, opt.line_info, NULL, tape, len, err);
    } else if (!(s = sett__tape_print(&rec.tape, opt.line_info, NULL, &printed, err))) {
        *tape = printed;
        *len = strlen(printed);
    }
    recorded_free(&rec);
    errno = saved;
    return s;
}

void sett_text_free(void *p)
{
    free(p);
}
