/* SPDX-License-Identifier: Apache-2.0 */
/* What a compile asks for, and what its body records: a tape, its report and its keys. */
#include "inside.h"
#include "lib/tensor/tensor.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LEN = 128, MAX_OPT = 4, MOST_REGISTERS = 255, MOST_THREADS = 1024 };
#define DEFAULT_NAME "kernel"

typedef struct sett__request request;
typedef struct sett__recorded recorded;

/* ---- what is asked for ---------------------------------------------------------------- */
static sett_status check_name(const char *func, const char *name, sett_error *err)
{
    return sett__is_name(name, NAME_MAX_LEN)
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
        if (!sett__device_target(r->e->runtime, SETT_DEFAULT_DEVICE, r->target))
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
sett_status sett__check_options(const char *func, const sett_compile_options *opt, sett_error *err)
{
    if (opt->opt_level < 0 || opt->opt_level > MAX_OPT)
        return sett__error(err, SETT_E_ARGUMENT, "%s: opt_level %d is not 0 to %d", func, opt->opt_level, MAX_OPT);
    if ((unsigned)opt->asserts > SETT_ASSERTS_ON)
        return sett__error(err, SETT_E_ARGUMENT, "%s: asserts %d is none", func, (int)opt->asserts);
    if ((unsigned)opt->checks > SETT_CHECKS_STRICT)
        return sett__error(err, SETT_E_ARGUMENT, "%s: checks %d is none", func, (int)opt->checks);
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
    return sett__check_options(func, opt, err);
}

sett_status sett__environment_asserts(sett_asserts *to, sett_error *err)
{
    int on;
    sett_status s = sett__environment_flag("SETT_ASSERTS", &on, err);
    *to = on < 0 ? SETT_ASSERTS_DEFAULT : on ? SETT_ASSERTS_ON : SETT_ASSERTS_OFF;
    return s;
}

static void settle_asserts(sett_compile_options *opt, sett_asserts otherwise, bool cpu)
{
    if (opt->asserts == SETT_ASSERTS_DEFAULT)
        opt->asserts = otherwise != SETT_ASSERTS_DEFAULT ? otherwise : cpu ? SETT_ASSERTS_ON : SETT_ASSERTS_OFF;
}

/* A GPU checks nothing. */
static void settle_checks(sett_compile_options *opt, sett_checks otherwise, bool cpu)
{
    if (opt->checks == SETT_CHECKS_DEFAULT)
        opt->checks = otherwise;
    if (!cpu)
        opt->checks = SETT_CHECKS_OFF;
}

sett_status sett__request_open(
    request *r, sett_engine *e, const char *func, const sett_compile_options *options, sett_error *err)
{
    *r = (request){.e = e};
    sett_status s = sett__engine_check(e, func, err);
    if (!s)
        s = read_options(func, options, &r->opt, &r->name, err);
    if (s)
        return s;
    r->opt_level = r->opt.opt_level == 0 ? 3 : r->opt.opt_level % MAX_OPT; /* 4 is -O0 */
    s = set_target(r, func, err);
    settle_asserts(&r->opt, e->asserts, r->cpu);
    settle_checks(&r->opt, e->opt.checks, r->cpu);
    return s;
}

/* ---- recording ------------------------------------------------------------------------------ */
/* What the hardware gives at a kernel's entry, or what a warp group takes of the others'. */
static uint32_t most_registers(const sett__tape *t)
{
    const sett__sig *s = &t->sig;
    int64_t threads = 1, n;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < t->n_op; i++)
        if (t->op[i].code == SETT__MAXNREG && (uint32_t)sett__attr(t->arg, &t->op[i], SETT__AT_MAXNREG_COUNT) > taken)
            taken = (uint32_t)sett__attr(t->arg, &t->op[i], SETT__AT_MAXNREG_COUNT);
    for (int i = 0; i < 3; i++)
        threads *= sett__expr_const(s, s->block[i], &n) && n > 0 && n <= 1024 ? n : 1;
    uint32_t most = taken ? taken : sett__sig_registers(s, threads < MOST_THREADS ? (uint32_t)threads : MOST_THREADS);
    return most < MOST_REGISTERS ? most : MOST_REGISTERS;
}

/* "add.c:12: registers: ...", or "": there are enough. */
static void spill_line(const sett__tape *t, char *to, size_t size)
{
    uint32_t at = 0, most = most_registers(t), live = sett__tape_live(t, most, &at);
    const sett__site_ref *site = live && t->op[at].site != SETT__NONE ? &t->site[t->op[at].site] : NULL;
    size_t n = 0;
    *to = 0;
    if (site)
        n = (size_t)snprintf(to, size, "%.200s:%u: ", t->string[site->file], site->line);
    if (live)
        snprintf(to + n, size - n, "registers: a thread's values take about %u here, of %u that it has on a GPU, and are likely to "
                 "spill to local memory: give a thread fewer elements (%s threads a block, or parts one after another in a sett_for; "
                 "in a C loop, if they are in registers)\n",
            live, most, most < MOST_REGISTERS ? "fewer" : "more");
}

sett_status sett__report_finish(recorded *rec, sett_error *err)
{
    char spill[400], *whole;
    if (!rec->report || rec->finished)
        return SETT_OK;
    spill_line(&rec->tape, spill, sizeof spill);
    if (asprintf(&whole, "%s%s", rec->report, spill) < 0)
        return sett__error(err, SETT_E_MEMORY, "no memory for a report");
    rec->spill = *spill ? whole + strlen(rec->report) : NULL;
    rec->finished = true;
    free(rec->report);
    rec->report = whole;
    return SETT_OK;
}

static sett_status keep_report(sett_build *b, recorded *out, sett_error *err)
{
    const char *report = sett__report_text(b), *warnings = sett__report_warnings(b);
    if (!b->error.status && (out->report = strdup(report)) && (!*warnings || (out->warnings = strdup(warnings)))) /* a part of it would be cached as all of it */
        return SETT_OK;
    free(out->report);
    out->report = NULL;
    sett__tape_free(&out->tape);
    return sett__error(err, SETT_E_MEMORY, "no memory for a report");
}

/* ---- accesses that a promise would widen ---------------------------------------------------- */
static void add_site(sett_finding *f, const sett_build *b, const sett__site_ref *at, sett_check_role role)
{
    if (at)
        f->site[f->n_site++] = (sett_check_site){b->string[at->file], b->string[at->func], (int)at->line, role};
}

/* What the layouts know while a body is recorded, no launch finds out. */
static void tell_narrow(sett_engine *e, sett_build *b, const sett_compile_options *opt)
{
    sett__listener to = e->runtime->finding;
    char text[1200];
    to.checks = opt->checks;
    to.later = true;
    for (sett__narrow x = {.note = NULL}; opt->checks >= SETT_CHECKS_ALL && sett__narrow_next(b, &x);) {
        sett_finding f = {.kind = SETT_CHECK_NARROW, .level = SETT_CHECK_COST, .text = text, .kernel = opt->name ? opt->name : DEFAULT_NAME, .count = 1};
        add_site(&f, b, x.site, SETT_CHECK_ROLE_USE);
        add_site(&f, b, x.root, SETT_CHECK_ROLE_ALLOC);
        if (x.site)
            snprintf(text, sizeof text, "%s:%u: narrow: %s", b->string[x.site->file], x.site->line, x.text);
        else
            snprintf(text, sizeof text, "narrow: %s", x.text);
        sett__finding_tell(&to, &f);
    }
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
sett_status sett__record_body(
    sett_engine *e, sett_body body, const sett_compile_options *opt, bool report, recorded *out, sett_error *err)
{
    double start = sett__now_ms();
    sett_build *b = take_build(e);
    if (!b)
        return sett__error(err, SETT_E_MEMORY, "no memory for a build");
    b->in_kernel = true;
    b->no_fold = opt->no_fold;
    b->asserts = opt->asserts == SETT_ASSERTS_ON;
    b->tests = opt->checks > SETT_CHECKS_OFF;
    b->user = opt->user;
    b->lent = true;
    body(b, opt->user);
    b->lent = false;
    if (report)
        sett__check_asked(b);
    sett_status s = sett__build_finish(b, &out->tape, err);
    if (!s && report)
        s = keep_report(b, out, err);
    if (!s && report && e)
        tell_narrow(e, b, opt);
    if (!s && report && e && opt->checks >= SETT_CHECKS_ALL)
        sett__suspect(&out->tape, &e->runtime->finding, opt->checks, opt->name ? opt->name : DEFAULT_NAME);
    leave_build(e, b);
    out->ms = sett__now_ms() - start;
    return s;
}

/* Bytes start with the magic and a version below any letter; all else is text. */
sett_status sett__read_any_tape(const void *data, size_t len, sett__tape *tape, sett_error *err)
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

void sett__recorded_free(recorded *rec)
{
    sett__tape_free(&rec->tape);
    free(rec->report);
    free(rec->warnings);
    free(rec->bytes);
    free(rec->material);
}

/* ---- keys ---------------------------------------------------------------------------------------- */
static sett_status encode_key(const request *r, const recorded *rec, const void *bytes, size_t len, bool line_info,
    void **material, size_t *material_len, sett__digest *key, sett_error *err)
{
    const sett__key_parts parts = {.tape = {bytes, len},
        .target = r->target,
        .line_info = line_info,
        .opt_level = !r->cpu ? r->opt_level : r->opt.checks > SETT_CHECKS_OFF ? (int)r->opt.checks : 0, /* of the CPU: what is checked */
        .ptx_isa = r->cpu ? 0 : sett__tape_isa(&rec->tape, r->target)};
    return sett__key_encode(&parts, material, material_len, key, err);
}

/* Behind the bytes of a tape from text: its lines. */
static sett_status add_lines(const sett__tape *t, void **bytes, size_t *len, sett_error *err)
{
    const size_t more = t->line ? t->n_op * sizeof *t->line : 0;
    char *longer = more ? realloc(*bytes, *len + more) : *bytes;
    if (!longer)
        return sett__error(err, SETT_E_MEMORY, "out of memory for the key of a kernel");
    if (more)
        memcpy(longer + *len, t->line, more);
    *bytes = longer;
    *len += more;
    return SETT_OK;
}

/* Reports of the CPU engine name the kernel's lines, so in memory two bodies of one tape are two kernels there. */
static sett_status cpu_slot(const request *r, recorded *rec, sett_error *err)
{
    void *bytes = NULL, *material = NULL;
    size_t len = 0, material_len;
    sett_status s = sett__tape_write(&rec->tape, true, NULL, &bytes, &len, err);
    if (!s)
        s = add_lines(&rec->tape, &bytes, &len, err);
    if (!s)
        s = encode_key(r, rec, bytes, len, true, &material, &material_len, &rec->slot, err);
    free(bytes);
    free(material);
    return s;
}

sett_status sett__keys_make(const request *r, recorded *rec, sett_error *err)
{
    /* Whoever made the tape has verified it for no target. */
    sett_error why;
    sett_status s = r->cpu ? SETT_OK : sett__tape_fits(&rec->tape, r->target, &why);
    if (s)
        sett__error(err, s, "%s%s%s", s == SETT_E_LIMIT ? r->name : "", s == SETT_E_LIMIT ? ": " : "", why.text);
    if (!s)
        s = sett__tape_write(&rec->tape, r->opt.line_info, NULL, &rec->bytes, &rec->len, err);
    if (!s)
        s = encode_key(
            r, rec, rec->bytes, rec->len, r->opt.line_info, &rec->material, &rec->material_len, &rec->key, err);
    rec->slot = rec->key;
    return s || !r->cpu ? s : cpu_slot(r, rec, err);
}

/* ---- public ------------------------------------------------------------------------------------------ */
sett_status sett_key(
    sett_engine *e, sett_body body, const sett_compile_options *options, uint8_t key[32], sett_error *err)
{
    int saved = errno;
    request r;
    recorded rec = {0};
    if (!e || !body || !key)
        return sett__error(err, SETT_E_ARGUMENT, "sett_key: the engine, the body or the place for the key is NULL");
    sett_status s = sett__request_open(&r, e, "sett_key", options, err);
    if (!s)
        s = sett__record_body(e, body, &r.opt, false, &rec, err);
    if (!s) {
        s = sett__keys_make(&r, &rec, err);
        if (!s)
            memcpy(key, rec.key.b, sizeof rec.key.b);
        sett__recorded_free(&rec);
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
    sett_status s = sett__request_open(&r, e, "sett_compile_options", options, err);
    if (!s)
        s = sett__read_any_tape(tape, len, &rec.tape, err);
    if (!s) {
        s = sett__keys_make(&r, &rec, err);
        *key = rec.key;
        sett__recorded_free(&rec);
    }
    return s;
}

sett_status sett_record(
    sett_body body, const sett_compile_options *options, bool text, void **tape, size_t *len, sett_error *err)
{
    int saved = errno;
    sett_compile_options opt;
    sett_asserts asserts = SETT_ASSERTS_DEFAULT;
    const char *name;
    char *printed = NULL;
    recorded rec = {0};
    if (!body || !tape || !len)
        return sett__error(err, SETT_E_ARGUMENT, "sett_record: the %s is NULL",
            !body ? "body" : !tape ? "place for the tape" : "place for its length");
    *tape = NULL;
    *len = 0;
    sett_status s = read_options("sett_record", options, &opt, &name, err);
    if (!s)
        s = sett__environment_asserts(&asserts, err);
    settle_asserts(&opt, asserts, !s && opt.target && !strcmp(opt.target, "cpu"));
    if (!s)
        s = sett__record_body(NULL, body, &opt, false, &rec, err);
    if (s)
        return s;
    if (!text) {
        s = sett__tape_write(&rec.tape, opt.line_info, NULL, tape, len, err);
    } else if (!(s = sett__tape_print(&rec.tape, opt.line_info, NULL, &printed, err))) {
        *tape = printed;
        *len = strlen(printed);
    }
    sett__recorded_free(&rec);
    errno = saved;
    return s;
}

void sett_text_free(void *p)
{
    free(p);
}
