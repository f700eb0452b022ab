/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: trees of leaves, kept in the build. */
#include "build.h"

sett_arg sett__bad(const sett__ctx *c, sett_status status, const char *format, ...)
{
    char text[384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->b)
        sett__fail(c->b, c->site, c->func, status, "%s", text);
    return (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c->b}};
}

bool sett__is_static(sett_arg a)
{
    if (a.kind != SETT_NODE)
        return a.kind == SETT_INT;
    for (int i = 0; i < a.rank; i++)
        if (!sett__is_static(a.u.kid[i]))
            return false;
    return true;
}

sett_arg *sett__kids(const sett__ctx *c, int n)
{
    return sett__new(c->b, sizeof(sett_arg) * (size_t)(n > 0 ? n : 1));
}

sett_arg sett__node(const sett__ctx *c, int n, const sett_arg *kid)
{
    if (n > UINT8_MAX)
        return sett__bad(c, SETT_E_LIMIT, "a tuple of %d children; at most %d are possible", n, UINT8_MAX);
    for (int i = 0; i < n; i++)
        if (kid[i].kind == SETT_POISON)
            return kid[i];
    return sett_arg_n(n, kid);
}

bool sett__is_poison(sett_arg a)
{
    if (a.kind != SETT_NODE)
        return a.kind == SETT_POISON;
    for (int i = 0; i < a.rank; i++)
        if (sett__is_poison(a.u.kid[i]))
            return true;
    return false;
}

static bool well_formed(sett_arg a, int level)
{
    if (a.kind == SETT_VALUE || a.kind == SETT_LAYOUT)
        return a.u.v || a.u.l;
    if (a.kind != SETT_NODE || !a.rank)
        return true;
    if (!a.u.kid || level > SETT__MAX_NEST)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (!well_formed(a.u.kid[i], level + 1))
            return false;
    return true;
}

bool sett__well_formed(sett_arg a)
{
    return well_formed(a, 1);
}

static sett_arg keep_tree(const sett__ctx *c, sett_arg a)
{
    if (a.kind != SETT_NODE)
        return a;
    sett_arg *kid = sett__kids(c, a.rank);
    for (int i = 0; i < a.rank; i++)
        kid[i] = keep_tree(c, a.u.kid[i]);
    return sett_arg_n(a.rank, kid);
}

sett_arg sett_arg_keep(sett_build *b, sett_arg a)
{
    b = sett__given(b, (sett_site){0}, "sett_tuple");
    sett__ctx c = {b, {0}, "sett_tuple"};
    if (!b || !sett__use_arg(b, c.site, c.func, a))
        return sett__poison_arg(b);
    return keep_tree(&c, a);
}
