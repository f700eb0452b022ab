/* SPDX-License-Identifier: Apache-2.0 */
/* A case in each way of the CPU engine, and by the model: see differ.h. */
#include "jit/sim/sim.h"
#include "tests/differ/differ.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct way {
    const char *name;
    enum { DEFAULT, PLAIN, CHECKED, PROGRAMS } program;
    sett__async async;
    int threads;
} ways[] = {
    {"default", DEFAULT, {SETT__ASYNC_LAZY, 0}, 1},
    {"plain", PLAIN, {SETT__ASYNC_LAZY, 0}, 1},
    {"eager", DEFAULT, {SETT__ASYNC_EAGER, 0}, 1},
    {"random", DEFAULT, {SETT__ASYNC_RANDOM, 7}, 1},
    {"checked", CHECKED, {SETT__ASYNC_LAZY, 0}, 1},
    {"checked, random", CHECKED, {SETT__ASYNC_RANDOM, 7}, 1},
};
enum { WAYS = SETT__COUNT(ways), MODEL = WAYS, FOUND = 400 };

size_t case_bytes(const tape_case *c, int i)
{
    return (size_t)c->b[i].elements * (size_t)sett__dtype_bytes((sett_dtype)c->b[i].dtype);
}

/* Small numbers, and any bits; bytes that are only the threads' own, eight at a time. */
void case_fill(const tape_case *c, int i, void *to)
{
    draw d = {.state = c->seed * 31 + (uint64_t)i};
    const size_t all = case_bytes(c, i);
    for (size_t at = 0; c->b[i].kind == BUFFER_OWN && !c->b[i].loose && at < all; at += sizeof(uint64_t)) {
        const uint64_t x = draw_bits(&d);
        memcpy((uint8_t *)to + at, &x, all - at < sizeof x ? all - at : sizeof x);
    }
    if (c->b[i].kind == BUFFER_OWN && !c->b[i].loose)
        return;
    const sett_dtype type = (sett_dtype)c->b[i].dtype;
    const size_t size = (size_t)sett__dtype_bytes(type);
    for (int e = 0; e < c->b[i].elements; e++) {
        const uint64_t x = draw_bits(&d);
        uint64_t bits = x & 4 ? x >> 8 : x >> 8 & 31;
        if (sett__dtype_is_float(type) && x & 3)
            bits = sett__bits_of_float(type, (double)(int)(x >> 8 & 63) * 0.5 - 8);
        memcpy((uint8_t *)to + (size_t)e * size, &bits, size);
    }
}

/* like: NULL, or what it is a copy of. */
static void *filled(const tape_case *c, int i, const void *like)
{
    void *p = malloc(case_bytes(c, i)); /* its own size, so that a sanitizer sees one byte too many */
    if (!p)
        abort();
    if (like)
        memcpy(p, like, case_bytes(c, i));
    else
        case_fill(c, i, p);
    return p;
}

/* A case is right in every order, so nothing is found. */
static void note_finding(void *to, const sett_finding *f)
{
    snprintf(to, FOUND, "%s", f->text);
}

static sett_status launch(const tape_case *c, const struct way *w, const sett__program *p, void *const *memory, sett_error *err)
{
    unsigned char params[BUFFERS * 8 + 4];
    sett__extent extent[BUFFERS];
    char found[FOUND];
    const int32_t n = c->blocks * c->block[0] * c->block[1];
    const size_t len = (size_t)c->n_buffer * 8;
    for (int i = 0; i < c->n_buffer; i++) {
        memcpy(params + 8 * i, &memory[i], 8);
        extent[i] = (sett__extent){memory[i], case_bytes(c, i)};
    }
    memcpy(params + len, &n, sizeof n);
    sett__checked check = {.to = {.checks = SETT_CHECKS_ERRORS, .fn = note_finding, .user = found}};
    const sett__sim_launch l = {.grid = {(uint32_t)c->blocks, 1, 1}, .block = {(uint32_t)c->block[0], (uint32_t)c->block[1], 1}, .async = w->async,
                                .params = params, .params_len = len + sizeof n, .extent = extent, .threads = w->threads, .name = "case", .check = w->program == CHECKED ? &check : NULL};
    *found = 0;
    const sett_status s = sett__sim_run(p, &l, err);
    sett__before_free(check.after);
    if (!s && *found)
        return sett__error(err, SETT_E_FAULT, "found: %s", found);
    return s;
}

static bool is_nan(sett_dtype d, const uint8_t *at)
{
    static const struct { uint64_t all, infinity; } of[] = {[SETT_F16] = {0x7fff, 0x7c00}, [SETT_BF16] = {0x7fff, 0x7f80},
        [SETT_F32] = {0x7fffffff, 0x7f800000}, [SETT_F64] = {INT64_MAX, UINT64_C(0x7ff0000000000000)}};
    uint64_t x = 0;
    memcpy(&x, at, (size_t)sett__dtype_bytes(d));
    return (x & of[d].all) > of[d].infinity;
}

/* The first byte that differs; -1: none. Where the model computed a NaN, any NaN will do. */
static int64_t differs(const tape_case *c, int i, const uint8_t *x, const uint8_t *y, bool exact)
{
    const size_t size = (size_t)sett__dtype_bytes((sett_dtype)c->b[i].dtype), all = case_bytes(c, i);
    if (!memcmp(x, y, all))
        return -1;
    for (size_t at = 0; at < all; at += size)
        for (size_t k = 0; k < size; k++)
            if (x[at + k] != y[at + k] && (exact || !c->b[i].loose || !is_nan((sett_dtype)c->b[i].dtype, x + at) || !is_nan((sett_dtype)c->b[i].dtype, y + at)))
                return (int64_t)(at + k);
    return -1;
}

static uint64_t element_at(const uint8_t *p, size_t size, int64_t at)
{
    uint64_t x = 0;
    memcpy(&x, p + at / (int64_t)size * (int64_t)size, size);
    return x;
}

/* Of each way; memory[MODEL] is the model's. */
static int compared(const tape_case *c, void *memory[WAYS + 1][BUFFERS], char *why, size_t size)
{
    for (int w = 0; w < WAYS; w++)
        for (int i = 0; i < c->n_buffer; i++) {
            const size_t bytes = (size_t)sett__dtype_bytes((sett_dtype)c->b[i].dtype);
            const int64_t at = differs(c, i, memory[w][i], memory[MODEL][i], false), other = w ? differs(c, i, memory[w][i], memory[0][i], true) : -1;
            if (at >= 0 || other >= 0) {
                const int64_t here = at >= 0 ? at : other;
                snprintf(why, size, "%s: P%d[%" PRId64 "] is 0x%" PRIx64 ", by the model 0x%" PRIx64 ", by default 0x%" PRIx64, ways[w].name, i,
                    here / (int64_t)bytes, element_at(memory[w][i], bytes, here), element_at(memory[MODEL][i], bytes, here), element_at(memory[0][i], bytes, here));
                return VERDICT_DIFFERS;
            }
        }
    return VERDICT_SAME;
}

static int run_ways(const tape_case *c, const sett__tape *t, void *memory[WAYS + 1][BUFFERS], char *why, size_t size)
{
    sett_error err = {0};
    sett__program *program[PROGRAMS] = {NULL};
    int verdict = VERDICT_SAME;
    for (int i = 0; i < PROGRAMS; i++)
        if (i == CHECKED ? sett__program_check(t, SETT_CHECKS_ERRORS, &program[i], &err) : sett__program_make(t, i == PLAIN, &program[i], &err))
            abort();
    for (int w = 0; w < WAYS && verdict == VERDICT_SAME; w++)
        if (launch(c, &ways[w], program[ways[w].program], memory[w], &err)) {
            snprintf(why, size, "%s: %.400s", ways[w].name, err.text);
            verdict = VERDICT_DIFFERS;
        }
    for (int i = 0; i < PROGRAMS; i++)
        sett__program_free(program[i]);
    return verdict == VERDICT_SAME ? compared(c, memory, why, size) : verdict;
}

int case_check(const tape_case *c, char *why, size_t size)
{
    static char text[CASE_TEXT];
    void *memory[WAYS + 1][BUFFERS];
    sett_error err = {0};
    sett__tape t;
    case_text(c, text, sizeof text);
    if (sett__tape_parse(&t, text, &err)) {
        snprintf(why, size, "it does not parse: %.400s", err.text);
        return VERDICT_NO_CASE;
    }
    for (int w = 0; w <= WAYS; w++)
        for (int i = 0; i < c->n_buffer; i++)
            memory[w][i] = filled(c, i, w ? memory[0][i] : NULL);
    const char *no_case = model_run(c, memory[MODEL]);
    if (no_case)
        snprintf(why, size, "%s", no_case);
    const int verdict = no_case ? VERDICT_NO_CASE : run_ways(c, &t, memory, why, size);
    for (int w = 0; w <= WAYS; w++)
        for (int i = 0; i < c->n_buffer; i++)
            free(memory[w][i]);
    sett__tape_free(&t);
    return verdict;
}

/* ---- shrinking ------------------------------------------------------------------------------------------------ */
static bool still(const tape_case *c)
{
    char why[1024];
    return case_check(c, why, sizeof why) == VERDICT_DIFFERS;
}

/* Without statements [from, to) and what uses their values. */
static bool drop(tape_case *c, int from, int to)
{
    static tape_case next;
    bool any = false;
    next = *c;
    for (int i = from; i < next.n_stmt; i++) {
        stmt *s = &next.s[i];
        bool out = i < to;
        for (int k = 0; k < s->n_arg && !out; k++)
            out = s->arg[k] != NO_ARG && next.s[s->arg[k]].gone;
        if (s->code == SETT__IF || s->code == SETT__ELSE || s->code == SETT__END || s->code == SETT__FOR || s->code == SETT__LOOP || s->code == SETT__WHILE)
            out = i < to;
        any |= out && !s->gone;
        s->gone |= out;
    }
    if (!any || !still(&next))
        return false;
    *c = next;
    return true;
}

static int closing(const tape_case *c, int i)
{
    int depth = 0;
    for (; i < c->n_stmt; i++) {
        const stmt *s = &c->s[i];
        if (s->gone)
            continue;
        depth += (s->code == SETT__IF || s->code == SETT__FOR || s->code == SETT__LOOP) - (s->code == SETT__END);
        if (!depth)
            return i;
    }
    return c->n_stmt;
}

static bool shrink_once(tape_case *c)
{
    bool better = false;
    for (int i = 0; i < c->n_stmt; i++) {
        const stmt *s = &c->s[i];
        if (!s->gone && (s->code == SETT__IF || s->code == SETT__FOR || s->code == SETT__LOOP))
            better |= drop(c, i, closing(c, i) + 1);
    }
    for (int n = 32; n; n /= 2)
        for (int i = c->n_stmt - n; i >= 0; i--)
            better |= drop(c, i, i + n);
    return better;
}

static void lower(tape_case *c, int *field, int to)
{
    static tape_case before;
    before = *c;
    if (*field <= to)
        return;
    *field = to;
    if (!still(c))
        *c = before;
}

void case_shrink(tape_case *c)
{
    for (int round = 0; round < 6 && shrink_once(c); round++)
        ;
    for (int n = 1; n < 4; n++)
        lower(c, &c->blocks, n);
}
