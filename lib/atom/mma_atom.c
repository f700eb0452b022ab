/* SPDX-License-Identifier: Apache-2.0 */
/* What atoms of matrix products are made of: layouts from text, rows of mma.def. */
#include "inside.h"
#include <string.h>

/* ---- parts ------------------------------------------------------------------------------------- */
bool sett__use_atom(sett__ctx *c, const sett__head *head, sett__kind kind)
{
    c->b = c->b ? c->b : sett__home(head);
    return sett__use_object(c->b, c->site, c->func, head, kind);
}

sett_arg sett__tuple_of(const sett__ctx *c, int n, const sett_arg *kid)
{
    sett_arg *own = sett__kids(c, n);
    memcpy(own, kid, (size_t)n * sizeof *own);
    return sett__node(c, n, own);
}

sett_layout *sett__layout_of(const sett__ctx *c, const char *text)
{
    sett_arg a = sett__parse(c, text, NULL, NULL);
    return a.kind == SETT_LAYOUT ? a.u.l : sett__poison_layout(c->b);
}

sett_mma_atom *sett__keep_mma_atom(const sett__ctx *c, const sett_mma_atom *x)
{
    sett_mma_atom *r = sett__new_object(c->b, SETT__K_MMA_ATOM, sizeof *r);
    sett__head head = r->head;
    *r = *x;
    r->head = head;
    r->name = sett__arena_str(&c->b->arena, x->name);
    return c->b->error.status || !r->name ? NULL : r;
}

/* ---- rows of mma.def --------------------------------------------------------------------------------- */
static bool of_types(const sett__mma *x, const sett_mma_args *a, int kind)
{
    return x->kind == kind && x->a == a->a && x->b == a->b && x->c == a->acc;
}

static bool of_shape(const sett__mma *x, const sett_mma_args *a)
{
    bool warp = x->kind == SETT__MMA_WARP;
    return (!a->m || a->m == x->m) && (!a->k || a->k == x->k) && (warp ? !a->n || a->n == x->n : sett__wgmma_has(x, (uint32_t)a->n));
}

/* The rows of these types, for a message. */
static const char *rows_of(const sett__ctx *c, const sett_mma_args *a, int kind)
{
    char text[400];
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < SETT__N_MMAS && n < sizeof text; i++)
        if (of_types(&sett__mmas[i], a, kind))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", n ? ", " : "", (int)strcspn(sett__mma_word[i], "."), sett__mma_word[i]);
    const char *kept = sett__arena_str(&c->b->arena, text);
    return kept ? kept : "";
}

const char *sett__given_type(sett_dtype d)
{
    return d ? sett_dtype_name(d) : "(not given)";
}

/* Which types there are of a kind: those with one of the factors, "f16 f16 f32"; of none, the first factors. */
static const char *types_of(const sett__ctx *c, const sett_mma_args *a, int kind)
{
    char text[400] = "";
    bool near = false;
    size_t n = 0;
    for (int i = 0; i < SETT__N_MMAS; i++)
        near = near || (sett__mmas[i].kind == kind && (sett__mmas[i].a == a->a || sett__mmas[i].b == a->b));
    for (int i = 0; i < SETT__N_MMAS && n < sizeof text; i++) {
        const sett__mma *x = &sett__mmas[i];
        bool told = x->kind != kind || (near && x->a != a->a && x->b != a->b);
        for (int k = 0; k < i && !told; k++) {
            const sett__mma *y = &sett__mmas[k];
            told = y->kind == kind && y->a == x->a && (!near || (y->b == x->b && y->c == x->c));
        }
        const char *of = sett_dtype_name((sett_dtype)x->a);
        if (!told && near)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %s %s", n ? ", " : "", of, sett_dtype_name((sett_dtype)x->b), sett_dtype_name((sett_dtype)x->c));
        else if (!told)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "those of ", of);
    }
    const char *kept = sett__arena_str(&c->b->arena, text);
    return kept ? kept : "";
}

int sett__find_mma_row(const sett__ctx *c, const sett_mma_args *a, int kind, const char **rows)
{
    int row = -1;
    for (int i = 0; i < SETT__N_MMAS; i++)
        if (of_types(&sett__mmas[i], a, kind) && of_shape(&sett__mmas[i], a) &&
            (row < 0 || sett__mmas[i].m * sett__mmas[i].k > sett__mmas[row].m * sett__mmas[row].k))
            row = i;
    if (row >= 0)
        return row;
    const char *of_these = rows_of(c, a, kind);
    *rows = *of_these ? of_these : NULL;
    SETT__FAIL_IF(c->b, c->site, c->func, !*rows, -1, SETT_E_DTYPE, "there is no product of %s and %s that adds up in %s; there are %s", sett__given_type(a->a),
        sett__given_type(a->b), sett__given_type(a->acc), types_of(c, a, kind));
    return -1;
}

sett_layout *sett__mma_row_layout(const sett__ctx *c, const char *text, int n)
{
    char full[96], *to = full;
    for (; *text && to < full + sizeof full - 8; text++)
        if (*text == 'N')
            to += snprintf(to, 8, "%d", n / 8);
        else
            *to++ = *text;
    *to = 0;
    return sett__layout_of(c, full);
}

bool sett__check_plain_args(const sett__ctx *c, const sett_mma_args *a)
{
    SETT__FAIL_IF(c->b, c->site, c->func, a->a_from || a->a_major || a->b_major || a->negate_a || a->negate_b, false, SETT_E_ARGUMENT,
        "where a matrix comes from, its major mode and its sign are for sett_wgmma");
    return true;
}
