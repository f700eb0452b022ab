/* SPDX-License-Identifier: Apache-2.0 */
/* What the body relies on and the build cannot prove, such as an extent of N that 8 must divide: checks of the
 * signature, which every launch evaluates. */
#include "build.h"
#include <string.h>

/* Expressions that are 0 where the demand is met; a symbol stands for an operand. Divisors are at least 1, so that
 * arguments without elements pass. */
#define X0 {SETT__X_SYM, 0}
#define X1 {SETT__X_SYM, 1}
#define X2 {SETT__X_SYM, 2}
#define X3 {SETT__X_SYM, 3}
#define NUM(n) {SETT__X_CONST, n}
#define DO(code) {SETT__X_##code, 0}
#define REM_BY(x) x, NUM(1), DO(MAX), DO(REM)
static const sett__xop divides[] = {X0, REM_BY(X1)};
static const sett__xop either_way[] = {X0, REM_BY(X1), X1, REM_BY(X0), DO(MIN)};
static const sett__xop steps[] = {X0, X1, DO(LT), X1, REM_BY(X0), X2, X3, DO(SUB), NUM(0), DO(MAX), DO(MIN), X0, REM_BY(X1),
    DO(SELECT)};
static const sett__xop fills[] = {X0, REM_BY(X1), X0, X1, DO(SUB), NUM(0), DO(MAX), DO(MIN)};
static const sett__xop below[] = {X0, X1, DO(LT), NUM(0), NUM(1), DO(SELECT)};
static const struct {
    const sett__xop *code;
    uint32_t n, operands;
} rule_of[] = {
    [SETT__DIVIDES] = {divides, SETT__COUNT(divides), 2},
    [SETT__EITHER_WAY] = {either_way, SETT__COUNT(either_way), 2},
    [SETT__STEPS] = {steps, SETT__COUNT(steps), 4},
    [SETT__FILLS] = {fills, SETT__COUNT(fills), 2},
    [SETT__BELOW] = {below, SETT__COUNT(below), 2},
};

static bool append_code(sett_build *b, const sett__xop *x, uint32_t n)
{
    sett__sig *s = &b->sig;
    if (!sett__grow(b->mem, (void **)&s->code, &b->cap_code, s->n_code + n, sizeof *x)) {
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
        return false;
    }
    memcpy(s->code + s->n_code, x, n * sizeof *x);
    s->n_code += n;
    return true;
}

/* The operands are made behind the code that is there, and dropped again. */
bool sett__put_in(sett_build *b, const sett__xop *rule, uint32_t n_rule, const sett_arg *x, uint32_t n_x, sett__expr *out)
{
    sett__sig *s = &b->sig;
    sett__expr operand[4];
    sett__xop part[SETT__MAX_EXPR];
    uint32_t first = s->n_code, n = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n_x; i++)
        ok = sett__to_expr(b, x[i], &operand[i]);
    for (uint32_t i = 0; ok && i < n_rule; i++) {
        const sett__xop *code = &rule[i];
        bool leaf = code->code == SETT__X_SYM;
        uint32_t count = leaf ? operand[code->imm].count : 1;
        ok = n + count <= SETT__MAX_EXPR;
        if (ok)
            memcpy(part + n, leaf ? s->code + operand[code->imm].first : code, count * sizeof *part);
        n += count;
    }
    s->n_code = first;
    *out = (sett__expr){first, n};
    return ok && append_code(b, part, n) && sett__expr_valid(s, *out);
}

static bool inside_if(const sett_build *b)
{
    for (int i = 0; i < b->depth; i++)
        if (b->op[b->region[i].op].code != SETT__FOR)
            return true;
    return false;
}

static bool same_check(const sett__sig *s, const sett__check *a, const sett__check *b)
{
    return a->line == b->line && !strcmp(a->text, b->text) && sett__expr_same(s, a->expr, b->expr);
}

/* Unless it is there already, or says nothing of the arguments. False: it is not needed, or the build has failed. */
static bool add_check(const sett__ctx *c, const sett__check *k)
{
    sett_build *b = c->b;
    sett__sig *s = &b->sig;
    int64_t fixed;
    if (sett__expr_const(s, k->expr, &fixed) && !fixed)
        return false;
    for (uint32_t i = 0; i < s->n_check; i++)
        if (same_check(s, &s->check[i], k))
            return false;
    SETT__FAIL_IF(b, c->site, c->func, s->n_check == SETT__MAX_CHECKS, false, SETT_E_LIMIT,
        "more than %d launch checks: declare .div of the symbols", SETT__MAX_CHECKS);
    SETT__FAIL_IF(b, (sett_site){0}, NULL,
        !sett__grow(b->mem, (void **)&s->check, &b->cap_check, s->n_check + 1, sizeof *k), false, SETT_E_MEMORY,
        "out of memory");
    s->check[s->n_check++] = *k;
    return true;
}

static const char *keep_text(sett_build *b, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = sett__new(b, n);
    return copy ? memcpy(copy, text, n) : "";
}

void sett__rely(const sett__ctx *c, sett__demand demand, const sett_arg *x, const char *format, ...)
{
    sett_build *b = c->b;
    sett__check k = {.line = 0};
    char text[384];
    uint32_t n_code = b->sig.n_code;
    if (!b->in_kernel || b->error.status || inside_if(b))
        return;
    va_list args;
    int at = snprintf(text, sizeof text, "%s: ", c->func);
    va_start(args, format);
    vsnprintf(text + at, sizeof text - (size_t)at, format, args);
    va_end(args);
    bool known = sett__put_in(
        b, rule_of[demand].code, rule_of[demand].n, x, rule_of[demand].operands, &k.expr); /* else made of what only the kernel knows: the caller's promise */
    k.text = known ? keep_text(b, text) : NULL;
    k.file = known && c->site.file && *c->site.file ? keep_text(b, c->site.file) : NULL;
    k.line = k.file ? (uint32_t)c->site.line : 0;
    if (!known || b->error.status || !add_check(c, &k))
        b->sig.n_code = n_code;
}
