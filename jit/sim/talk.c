/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU engine says: faults with the kernel's C line, deadlocks, and what kernels print. */
#include "sim.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *sett__where(const sett__program *p, uint32_t op, char *buf, size_t size)
{
    const sett__tape *t = p->given;
    uint32_t site = op < t->n_op ? t->op[op].site : SETT__NONE;
    if (site < t->n_site && t->site[site].file < t->n_string)
        snprintf(buf, size, "%s:%u", t->string[t->site[site].file], t->site[site].line);
    else
        snprintf(buf, size, "op %u", op);
    return buf;
}

/* "(1,2,3)" of a thread's number in its block. */
static const char *thread_text(const sett__core *c, uint32_t t, char buf[48])
{
    uint32_t x = c->launch->block[0], y = c->launch->block[1];
    snprintf(buf, 48, "(%u,%u,%u)", t % x, t / x % y, t / x / y);
    return buf;
}

/* What stands before a kernel's name; one that was given none is called "kernel". */
const char *sett__kernel_words(const char *name)
{
    return strcmp(name, "kernel") ? ", kernel " : ", ";
}

/* op: SETT__NONE: at no line. */
static void fault_text(sett__core *c, sett_status status, uint32_t op, const char *what, const char *thread)
{
    char where[160] = "";
    const char *name = c->launch->name ? c->launch->name : "?";
    if (op != SETT__NONE)
        sett__where(c->program, op, where, sizeof where);
    sett__error(&c->fault, status, "%s%s%s, block (%u,%u,%u)%s%s%s%s", where, *where ? ": " : "", what, c->block[0], c->block[1],
        c->block[2], *thread ? " thread " : "", thread, sett__kernel_words(name), name);
}

bool sett__fault_as(sett__core *c, sett_status status, const sett__warp *w, int lane, uint32_t op, const char *what)
{
    char thread[48] = "";
    if (!c->fault.status)
        fault_text(c, status, op, what, w ? thread_text(c, w->index * WARP + (uint32_t)lane, thread) : thread);
    return false;
}

bool sett__fault(sett__core *c, const sett__warp *w, int lane, uint32_t op, const char *format, ...)
{
    char what[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return sett__fault_as(c, SETT_E_FAULT, w, lane, op, what);
}

/* No warp of the block can go on: who waits where, and who has ended. Warps in the same state are told together. */
void sett__deadlock(sett__core *c, uint32_t first_waiting)
{
    const sett__insn *code = c->program->code;
    char what[288], where[96];
    int at = snprintf(what, sizeof what, "barrier that not all threads reach:");
    for (uint32_t i = 0, j; i < c->n_warps && at < (int)sizeof what; i = j) {
        const sett__warp *w = &c->warp[i];
        for (j = i + 1;
             j < c->n_warps && c->warp[j].state == w->state && (w->state == SETT__DONE || c->warp[j].pc == w->pc); j++)
            ;
        int n = at;
        if (j == i + 1)
            n += snprintf(what + at, sizeof what - (size_t)at, "%s warp %u ", i ? ";" : "", i);
        else
            n += snprintf(what + at, sizeof what - (size_t)at, "%s warps %u-%u ", i ? ";" : "", i, j - 1);
        at = n;
        if (at < (int)sizeof what && w->state == SETT__DONE)
            at += snprintf(what + at, sizeof what - (size_t)at, "ended");
        else if (at < (int)sizeof what)
            at += snprintf(what + at, sizeof what - (size_t)at, "wait%s at %s", j == i + 1 ? "s" : "",
                sett__where(c->program, code[w->pc - 1].op, where, sizeof where));
    }
    if (!c->fault.status)
        fault_text(c, SETT_E_FAULT, code[c->warp[first_waiting].pc - 1].op, what, "");
}

/* ---- printf ------------------------------------------------------------------------------------------ */
typedef struct conversion {
    char spec[24]; /* "%-8" and so on, without length and letter */
    char letter;
    const char *end; /* behind it */
} conversion;

/* The conversion that starts at a '%'; false: not one that can be printed. */
static bool parse(const char *s, conversion *c)
{
    const char *p = s + 1;
    p += strspn(p, "-+ #0");
    p += strspn(p, "0123456789");
    if (*p == '.')
        p += 1 + strspn(p + 1, "0123456789");
    size_t n = (size_t)(p - s);
    if (n >= sizeof c->spec - 4)
        return false;
    memcpy(c->spec, s, n);
    c->spec[n] = 0;
    p += strspn(p, "hljztL");
    c->letter = *p;
    c->end = p + 1;
    return *p && strchr("%diuxXocfFeEgGaA", *p);
}

sett_status sett__print_check(const sett__tape *t, const sett__op *o, sett_error *e)
{
    if (o->imm < 0 || o->imm >= t->n_string)
        return sett__error(e, SETT_E_VERIFY, "printf: no such format");
    const char *format = t->string[o->imm];
    conversion c;
    int n = o->code == SETT__ASSERT; /* its condition */
    for (const char *s = strchr(format, '%'); s; s = strchr(c.end, '%')) {
        if (!parse(s, &c))
            return sett__error(e, SETT_E_VERIFY, "printf: not a conversion that kernels have: \"%.40s\"", s);
        n += c.letter != '%';
    }
    return n == o->n_args ? SETT_OK
                          : sett__error(e, SETT_E_VERIFY, "printf: %d conversions for %d operands: \"%.60s\"", n,
                                o->n_args, format);
}

typedef struct text {
    char *p;
    size_t len, cap;
    bool failed;
} text;

static void put(text *t, const char *s, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        size_t cap = (t->len + n + 1) * 2;
        char *p = t->failed ? NULL : realloc(t->p, cap);
        if (!p) {
            t->failed = true;
            return;
        }
        t->p = p;
        t->cap = cap;
    }
    memcpy(t->p + t->len, s, n);
    t->len += n;
    t->p[t->len] = 0;
}

static void put_operand(text *t, conversion *c, uint8_t dtype, uint64_t bits)
{
    char buf[512];
    size_t n = strlen(c->spec);
    bool number = strchr("fFeEgGaA", c->letter), is_float = sett__dtype_is_float(dtype);
    int64_t i = is_float ? (int64_t)sett__integer_of_float(dtype, SETT_I64, bits) : sett__int_of_bits(dtype, bits);
    int len;
    if (number) {
        double f = is_float                         ? sett__float_of_bits(dtype, bits)
                   : sett__dtype_kind(dtype) == 'u' ? (double)(uint64_t)i
                                                    : (double)i;
        snprintf(c->spec + n, 4, "%c", c->letter);
        len = snprintf(buf, sizeof buf, c->spec, f);
    } else if (c->letter == 'c') {
        snprintf(c->spec + n, 4, "c");
        len = snprintf(buf, sizeof buf, c->spec, (int)(unsigned char)i);
    } else {
        if (!strchr("di", c->letter) && sett__dtype_bytes(dtype) <= 4)
            i &= UINT32_MAX; /* as C prints an int */
        snprintf(c->spec + n, 4, "j%c", c->letter);
        len = snprintf(buf, sizeof buf, c->spec, (intmax_t)i);
    }
    if (len > 0)
        put(t, buf, (size_t)len < sizeof buf ? (size_t)len : sizeof buf - 1);
}

/* Text and operands of the types given; what has no operand is left out. */
static void put_format(text *t, const char *s, const char *types, const uint64_t *operand)
{
    for (const char *at = strchr(s, '%'); at; at = strchr(s, '%')) {
        conversion conv;
        put(t, s, (size_t)(at - s));
        if (!parse(at, &conv))
            return;
        s = conv.end;
        if (conv.letter == '%')
            put(t, "%", 1);
        else if (*types)
            put_operand(t, &conv, (uint8_t)*types++, *operand++);
    }
    put(t, s, strlen(s));
}

/* The operands of a lane from the `first` on. */
static void take_operands(const sett__core *c, const sett__warp *w, const sett__insn *i, int lane, int first,
    char types[SETT__MAX_PRINT + 1], uint64_t operand[SETT__MAX_PRINT])
{
    const sett__tape *tape = c->program->given;
    const sett__op *o = &tape->op[i->op];
    int n = 0;
    for (int k = first; k < o->n_args; k++, n++) {
        uint8_t dtype = tape->op[tape->arg[o->args + (uint32_t)k]].dtype;
        size_t size = (size_t)sett__dtype_bytes(dtype);
        types[n] = (char)dtype;
        operand[n] = 0;
        memcpy(&operand[n], (const char *)sett__at(c, w, c->program->place[i->imm + k]) + (size_t)lane * size, size);
    }
    types[n] = 0;
}

static void format_lane(const sett__core *c, const sett__warp *w, const sett__insn *i, int lane, text *t)
{
    char types[SETT__MAX_PRINT + 1];
    uint64_t operand[SETT__MAX_PRINT];
    take_operands(c, w, i, lane, 0, types, operand);
    put_format(t, c->program->given->string[c->program->given->op[i->op].imm], types, operand);
}

/* One write for all lanes of the instruction, in their order: lines of other workers do not cut in. */
bool sett__print(sett__core *c, sett__warp *w, const sett__insn *i)
{
    text t = {0};
    for (int l = 0; l < WARP; l++)
        if (w->active >> l & 1)
            format_lane(c, w, i, l, &t);
    if (t.failed)
        sett__fault(c, w, __builtin_ctz(w->active), i->op, "out of memory for printed text");
    else if (t.len)
        sett__emit_text(c, t.p, t.len);
    bool ok = !t.failed;
    free(t.p);
    return ok && (!sett__ended_now(c) || sett__halt(c, w, i));
}

sett_status sett__claim_error(sett_error *e, const sett__claim *k, const uint64_t *operand, const uint32_t block[3],
    const uint32_t thread[3], const char *kernel)
{
    text t = {0};
    char where[160], who[200];
    put_format(&t, k->text, k->types, operand);
    if (k->file)
        snprintf(where, sizeof where, "%s:%u", k->file, k->line);
    else
        snprintf(where, sizeof where, "op %u", k->op);
    int rest = snprintf(who, sizeof who, ", block (%u,%u,%u) thread (%u,%u,%u)%s%.100s", block[0], block[1], block[2],
        thread[0], thread[1], thread[2], sett__kernel_words(kernel), kernel);
    const char *said = t.failed || !t.p ? k->text : t.p, before[] = ": assertion failed: ";
    int room = (int)(sizeof e->text - sizeof before - strlen(where)) - rest;
    bool cut = strlen(said) > (size_t)room;
    sett_status s = sett__error(e, SETT_E_FAULT, "%s%s%.*s%s%s", where, before, cut ? room - 3 : room, said, cut ? "..." : "", who);
    free(t.p);
    return s;
}

bool sett__check_assert(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__sig *sig = &c->program->given->sig;
    uint32_t held = sett__mask_of(sett__at(c, w, c->program->place[i->imm])), broken = w->active & ~held;
    if (!broken || c->fault.status)
        return !broken;
    char types[SETT__MAX_PRINT + 1];
    uint64_t operand[SETT__MAX_PRINT];
    const sett__claim *k = sig->claim;
    while (k->op != i->op)
        k++;
    int lane = __builtin_ctz(broken);
    uint32_t at = w->index * WARP + (uint32_t)lane, x = c->launch->block[0], y = c->launch->block[1];
    take_operands(c, w, i, lane, 1, types, operand);
    sett__claim_error(&c->fault, k, operand, c->block, (uint32_t[]){at % x, at / x % y, at / x / y},
        c->launch->name ? c->launch->name : "?");
    return false;
}
