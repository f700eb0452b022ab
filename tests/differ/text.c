/* SPDX-License-Identifier: Apache-2.0 */
/* A case as a tape: see differ.h. */
#include "tests/differ/differ.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct text {
    char *to;
    size_t len, size;
} text;

static void put(text *t, const char *format, ...) SETT_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (t->len < t->size)
        t->len += (size_t)vsnprintf(t->to + t->len, t->size - t->len, format, args);
    va_end(args);
}

static void put_type(text *t, int dtype, int n)
{
    put(t, n > 1 ? " %sx%d" : " %s", sett_dtype_name((sett_dtype)dtype), n);
}

static void put_place(text *t, int root, int base, int64_t imm)
{
    put(t, " %%%d[", root);
    if (base == NO_ARG)
        put(t, "%" PRId64 "]", imm);
    else if (imm)
        put(t, "%%%d %c %" PRId64 "]", base, imm < 0 ? '-' : '+', imm < 0 ? -imm : imm);
    else
        put(t, "%%%d]", base);
}

static void put_option(text *t, const char *word, int arg)
{
    if (arg != NO_ARG)
        put(t, " %s %%%d", word, arg);
}

static const char *const votes[] = {"all", "any", "uni", "ballot"}, *const shuffles[] = {"idx", "up", "down", "bfly"};

static void put_name(text *t, const stmt *s)
{
    put(t, "%s", sett__ops[s->code].text);
    if (s->code == SETT__REDUCE || s->code == SETT__ATOM || s->code == SETT__REDUX)
        put(t, ".%s", sett__ops[s->sub].text);
    else if (s->code == SETT__VOTE || s->code == SETT__MATCH)
        put(t, ".%s", votes[s->sub]);
    else if (s->code == SETT__SHFL)
        put(t, ".%s", shuffles[s->sub]);
    else if (sett__ops[s->code].cls == SETT__C_SREG && s->code != SETT__LANE)
        put(t, ".%c", "xyz"[s->sub]);
}

static void put_pick(text *t, const stmt *s)
{
    put(t, " %%%d[", s->arg[0]);
    for (int i = 0; i < s->n; i++)
        put(t, i ? ", %d" : "%d", s->index[i]);
    put(t, "]");
}

static void put_operands(text *t, const stmt *s)
{
    for (int k = 0; k < s->n_arg; k++)
        put(t, k ? ", %%%d" : " %%%d", s->arg[k]);
}

/* Behind the name and the type. */
static void put_rest(text *t, const tape_case *c, const stmt *s)
{
    switch (s->code) {
    case SETT__CONST: put(t, " 0x%" PRIx64, (uint64_t)s->imm); return;
    case SETT__SYM: put(t, " N"); return;
    case SETT__PARAM: put(t, " P%" PRId64, s->imm); return;
    case SETT__SMEM: put(t, " at %" PRId64, s->imm); return;
    case SETT__PICK: put_pick(t, s); return;
    case SETT__LOAD:
        put_place(t, s->arg[0], s->arg[1], s->imm);
        put(t, " align %d", s->align);
        put_option(t, "pred", s->arg[2]);
        put_option(t, "fill", s->arg[3]);
        return;
    case SETT__STORE:
        put_place(t, s->arg[0], s->arg[1], s->imm);
        put_type(t, c->s[s->arg[3]].dtype, c->s[s->arg[3]].n);
        put(t, " %%%d align %d", s->arg[3], s->align);
        put_option(t, "pred", s->arg[2]);
        return;
    case SETT__ATOM:
        put_place(t, s->arg[0], s->arg[1], s->imm);
        put(t, " %%%d", s->arg[3]);
        put_option(t, "pred", s->arg[2]);
        return;
    case SETT__CPASYNC:
        put_place(t, s->arg[0], s->arg[1], s->to);
        put_place(t, s->arg[3], s->arg[4], s->imm);
        put_option(t, "pred", s->arg[2]);
        put_option(t, "keep", s->arg[5]);
        put(t, " bytes=%d of=%d", s->bytes, s->of);
        return;
    default: put_operands(t, s);
    }
    if (s->code == SETT__SHFL && s->of != SETT__WARP)
        put(t, " width=%d", s->of);
    put(t, s->nonneg ? " nonneg" : "");
}

static void put_stmt(text *t, const tape_case *c, int i, int *depth)
{
    const stmt *s = &c->s[i];
    *depth -= s->code == SETT__END || s->code == SETT__ELSE;
    put(t, "%*s", *depth * 4, "");
    *depth += s->code == SETT__IF || s->code == SETT__ELSE || s->code == SETT__FOR || s->code == SETT__LOOP;
    switch (s->code) {
    case SETT__END: put(t, "}\n"); return;
    case SETT__ELSE: put(t, "} else {\n"); return;
    case SETT__IF: put(t, "if %%%d {\n", s->arg[0]); return;
    case SETT__LOOP: put(t, "loop {\n"); return;
    case SETT__FOR: put(t, "for %%%d = %%%d to %%%d step %%%d {\n", i, s->arg[0], s->arg[1], s->arg[2]); return;
    default: break;
    }
    if (s->dtype)
        put(t, "%%%d = ", i);
    put_name(t, s);
    if (s->dtype)
        put_type(t, s->dtype, s->n);
    put_rest(t, c, s);
    put(t, "\n");
}

size_t case_text(const tape_case *c, char *to, size_t size)
{
    static const char *const access[] = {"read", "read write", "read write"};
    text t = {to, 0, size};
    int depth = 0;
    put(&t, "sett tape 2\nsym N\n");
    for (int i = 0; i < c->n_buffer; i++)
        put(&t, "param P%d %s (%d):(1) align 16 %s\n", i, sett_dtype_name(c->b[i].dtype), c->b[i].elements, access[c->b[i].kind]);
    put(&t, "grid %d\nblock %d", c->blocks, c->block[0]);
    put(&t, c->block[1] > 1 ? ",%d\n" : "\n", c->block[1]);
    if (c->smem)
        put(&t, "smem %d align 128\n", c->smem);
    for (int i = 0; i < c->n_stmt; i++) /* what stands outside of all regions */
        if (!c->s[i].gone && sett__ops[c->s[i].code].flags & SETT__E)
            put_stmt(&t, c, i, &depth);
    for (int i = 0; i < c->n_stmt; i++)
        if (!c->s[i].gone && !(sett__ops[c->s[i].code].flags & SETT__E))
            put_stmt(&t, c, i, &depth);
    return t.len;
}
