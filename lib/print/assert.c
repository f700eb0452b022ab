/* SPDX-License-Identifier: Apache-2.0 */
/* sett_assert: what is known while the kernel is recorded is judged there, the rest becomes an ASSERT, if the build
 * was told to keep them. What an assertion is given is checked in either case, so that switching them on finds no new
 * mistakes; ops that only a dropped one needs are dead and go with it. */
#include "print.h"
#include <string.h>

static uint32_t all_of(const sett__ctx *c, const sett_val *v)
{
    if (v->n == 1)
        return v->id;
    const sett_val *init = sett__const_bits(c->b, c->site, SETT_BOOL, 1);
    return sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__REDUCE, .dtype = SETT_BOOL, .sub = SETT__AND, .n = 1, .n_args = 2,
            .args = (uint32_t[]){v->id, init->id}});
}

/* A text without operands is plain, also where it holds `{}` or `%`. */
static const char *text_of(const sett__ctx *c, const char *said, const char *format, int n, const sett_arg *arg,
    uint32_t id[SETT__MAX_PRINT], int *n_id)
{
    if (!format)
        return sett__format(c, said, -1, NULL, id, n_id);
    SETT__FAIL_IF(c->b, c->site, c->func, n < 0 || n > SETT__MAX_PRINT || (n && !arg), NULL, SETT_E_ARGUMENT,
        "up to %d operands are needed, not %d", SETT__MAX_PRINT, n);
    return sett__format(c, format, n, arg, id, n_id);
}

static void record_assert(const sett__ctx *c, sett_val *cond, const char *text, const uint32_t *id, int n)
{
    uint64_t bits;
    uint32_t args[SETT__MAX_PRINT + 1];
    const sett_val *v = sett__materialise(c->site, cond);
    SETT__FAIL_IF(c->b, c->site, c->func, !v->head.poison && v->dtype != SETT_BOOL, , SETT_E_DTYPE,
        "the condition is %s, not Boolean: compare it, as in sett_ne(x, 0)", sett_dtype_name((sett_dtype)v->dtype));
    if (c->b->error.status || !c->b->asserts || (v->n == 1 && sett__val_const(v, &bits) && bits))
        return;
    args[0] = all_of(c, v);
    memcpy(args + 1, id, (size_t)n * sizeof *id);
    sett__record(c->b, c->site,
        &(sett__emit){.code = SETT__ASSERT, .imm = sett__intern(c->b, text), .n_args = n + 1, .args = args});
}

/* A C format as printf would print it; of a number that only the kernel knows, which may be a tuple's, what a layout's text
 * has for it. */
static const char *without_values(const sett__ctx *c, const char *format)
{
    char *to = sett__new(c->b, strlen(format) + 1), *at = to;
    for (const char *s = format; *s; s++) {
        bool dynamic = *s == '%' && *++s != '%';
        s += dynamic ? strcspn(s, "diuxXocfFeEgGaAp") : 0;
        *at++ = dynamic ? '?' : *s;
    }
    return to;
}

void sett_assert_n(sett_site site, sett_build *b, sett_arg cond, const char *said, const char *format, int n,
    const sett_arg *arg)
{
    b = sett__given(b, site, "sett_assert");
    const sett__ctx c = {b, site, "sett_assert"};
    uint32_t id[SETT__MAX_PRINT];
    int n_id;
    if (!b || b->error.status || !sett__use_arg(b, site, c.func, cond))
        return;
    const char *text = text_of(&c, said ? said : "", format, n, arg, id, &n_id);
    if (!text)
        return;
    if (cond.kind == SETT_VALUE)
        record_assert(&c, cond.u.v, text, id, n_id);
    else if (cond.kind != SETT_INT)
        sett__fail(b, site, c.func, SETT_E_ARGUMENT, "the condition is %s, not a Boolean", sett__arg_text(b, cond));
    else if (!cond.u.i)
        sett__fail(b, site, c.func, SETT_E_ARGUMENT, "assertion failed while recording: %s", without_values(&c, text));
}
