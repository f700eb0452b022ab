/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms of matrix products: the rows of mma.def, and of one thread a multiply-add and dp4a. */
#include "atom.h"
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

/* ---- instructions --------------------------------------------------------------------------------- */
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

static const char *given_name(sett_dtype d)
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

/* The largest row that fits; -1: the build has failed. */
static int find_row(const sett__ctx *c, const sett_mma_args *a, int kind)
{
    int row = -1;
    for (int i = 0; i < SETT__N_MMAS; i++)
        if (of_types(&sett__mmas[i], a, kind) && of_shape(&sett__mmas[i], a) &&
            (row < 0 || sett__mmas[i].m * sett__mmas[i].k > sett__mmas[row].m * sett__mmas[row].k))
            row = i;
    if (row >= 0)
        return row;
    const char *rows = rows_of(c, a, kind);
    SETT__FAIL_IF(c->b, c->site, c->func, !*rows, -1, SETT_E_DTYPE, "there is no product of %s and %s that adds up in %s; there are %s", given_name(a->a),
        given_name(a->b), given_name(a->acc), types_of(c, a, kind));
    const char *steps = sett__dtype_is_int(a->acc) ? "8 up to 32, then 16" : "8";
    SETT__FAIL_IF(c->b, c->site, c->func, kind == SETT__MMA_GROUP && !a->n, -1, SETT_E_SHAPE, ".n is not given: of %s there is %s, of which N is 8 to 256, in steps of %s",
        sett_dtype_name(a->a), rows, steps);
    SETT__FAIL_IF(c->b, c->site, c->func, kind == SETT__MMA_GROUP, -1, SETT_E_SHAPE,
        "m %d, n %d, k %d: of %s there is %s, of which N is 8 to 256, in steps of %s", a->m, a->n, a->k, sett_dtype_name(a->a), rows, steps);
    sett__fail(c->b, c->site, c->func, SETT_E_SHAPE, "m %d, n %d, k %d: of %s there are %s", a->m, a->n, a->k, sett_dtype_name(a->a), rows);
    return -1;
}

/* A layout of mma.def, where N stands for n / 8. */
static sett_layout *row_layout(const sett__ctx *c, const char *text, int n)
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

/* Every thread has the whole matrix of rows x k. */
static sett_layout *whole_layout(const sett__ctx *c, int rows, int k)
{
    char text[96];
    snprintf(text, sizeof text, "(%d,(%d,%d)):(0,(1,%d))", SETT__WARP_GROUP, rows, k, rows);
    return sett__layout_of(c, text);
}

static bool check_group(const sett__ctx *c, const sett_mma_args *a)
{
    bool group = !strcmp(c->func, "sett_wgmma");
    SETT__FAIL_IF(c->b, c->site, c->func, !group && (a->a_from || a->a_major || a->b_major || a->negate_a || a->negate_b), false, SETT_E_ARGUMENT,
        "where a matrix comes from, its major mode and its sign are for sett_wgmma");
    SETT__FAIL_IF(c->b, c->site, c->func, a->a_from && a->a_from != SETT_SMEM && a->a_from != SETT_RMEM, false, SETT_E_SPACE,
        ".a_from is %s: A comes from smem, or from rmem", (unsigned)a->a_from <= SETT_COORD ? sett__space_name(a->a_from) : "no space");
    bool rmem = a->a_from == SETT_RMEM, turned = a->a_major || a->b_major;
    SETT__FAIL_IF(c->b, c->site, c->func, rmem && a->a_major, false, SETT_E_ARGUMENT, "A from registers has no major mode: leave .a_major out");
    SETT__FAIL_IF(c->b, c->site, c->func, turned && sett_dtype_bits(a->a) != 16, false, SETT_E_DTYPE,
        "matrices of %s are K-major: only those of 16-bit types may be MN-major", sett_dtype_name(a->a));
    SETT__FAIL_IF(c->b, c->site, c->func, (a->negate_a || a->negate_b) && sett__dtype_is_int(a->a), false, SETT_E_DTYPE, "only floats are negated, not %s",
        sett_dtype_name(a->a));
    return true;
}

static sett_mma_atom *instruction(const sett__ctx *c, const sett_mma_args *a, int kind)
{
    int row = check_group(c, a) ? find_row(c, a, kind) : -1;
    if (row < 0)
        return NULL;
    const sett__mma *x = &sett__mmas[row];
    char name[96];
    int n = x->n ? x->n : a->n;
    bool group = kind == SETT__MMA_GROUP;
    snprintf(name, sizeof name, group ? "wgmma %s n=%d" : "mma %s", sett__mma_word[row], n);
    sett_mma_atom r = {.name = name, .row = row, .dtype = {x->a, x->b, x->c}, .major = {(uint8_t)a->a_major, (uint8_t)a->b_major},
        .negate = {a->negate_a, a->negate_b}, .shared = {group && a->a_from != SETT_RMEM, group}, .mnk = {x->m, n, x->k}};
    r.thr_id = sett__layout_of(c, group ? "128:1" : "32:1");
    for (int i = 0; i < 3; i++)
        r.tv[i] = i < 2 && r.shared[i] ? whole_layout(c, r.mnk[i], x->k) : row_layout(c, x->layout[i], n);
    return sett__keep_mma_atom(c, &r);
}

/* ---- one multiply-add ------------------------------------------------------------------------------- */
static bool is_arithmetic(sett_dtype d)
{
    return sett__dtype_valid(d) && (sett__dtype_is_int(d) || sett__dtype_is_float(d)) && d != SETT_BOOL;
}

static sett_mma_atom *universal(const sett__ctx *c, sett_mma_args *a)
{
    char name[96];
    a->a = a->a ? a->a : a->acc;
    a->b = a->b ? a->b : a->acc;
    SETT__FAIL_IF(c->b, c->site, c->func, !is_arithmetic(a->acc), NULL, SETT_E_DTYPE, ".acc is %s: it adds in types of arithmetic",
        sett__dtype_valid(a->acc) ? sett_dtype_name(a->acc) : "not given");
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__dtype_valid(a->a) || !sett__dtype_valid(a->b) || a->a == SETT_BOOL || a->b == SETT_BOOL, NULL, SETT_E_DTYPE,
        "%s times %s: it multiplies numbers", sett_dtype_name(a->a), sett_dtype_name(a->b));
    SETT__FAIL_IF(c->b, c->site, c->func, a->m > 1 || a->n > 1 || a->k > 1, NULL, SETT_E_SHAPE, "m %d, n %d, k %d: it is 1 x 1 x 1", a->m, a->n, a->k);
    snprintf(name, sizeof name, "fma %s", sett_dtype_name(a->acc));
    sett_mma_atom r = {.name = name, .row = SETT__ROW_FMA, .dtype = {(uint8_t)a->a, (uint8_t)a->b, (uint8_t)a->acc}, .mnk = {1, 1, 1}};
    r.thr_id = sett__layout_of(c, "1:0");
    r.tv[0] = r.tv[1] = r.tv[2] = sett__layout_of(c, "(1,1):(0,0)");
    return check_group(c, a) ? sett__keep_mma_atom(c, &r) : NULL;
}

/* ---- four products of bytes ------------------------------------------------------------------------- */
static bool is_byte(sett_dtype d)
{
    return d == SETT_I8 || d == SETT_U8;
}

static sett_mma_atom *dp4a(const sett__ctx *c, sett_mma_args *a)
{
    enum { DEPTH = 4 };
    char name[32];
    a->acc = a->acc ? a->acc : SETT_I32;
    SETT__FAIL_IF(c->b, c->site, c->func, !is_byte(a->a) || !is_byte(a->b) || a->acc != SETT_I32, NULL, SETT_E_DTYPE,
        "there is no product of %s and %s that adds up in %s; there are those of i8 and u8 in i32", given_name(a->a), given_name(a->b), sett_dtype_name(a->acc));
    SETT__FAIL_IF(c->b, c->site, c->func, (a->m && a->m != 1) || (a->n && a->n != 1) || (a->k && a->k != DEPTH), NULL, SETT_E_SHAPE, "m %d, n %d, k %d: it is 1 x 1 x %d", a->m,
        a->n, a->k, DEPTH);
    snprintf(name, sizeof name, "dp4a %s %s", sett_dtype_name(a->a), sett_dtype_name(a->b));
    sett_mma_atom r = {.name = name, .row = SETT__ROW_DP4A, .dtype = {(uint8_t)a->a, (uint8_t)a->b, (uint8_t)a->acc}, .mnk = {1, 1, DEPTH}};
    r.thr_id = sett__layout_of(c, "1:0");
    r.tv[0] = r.tv[1] = sett__layout_of(c, "(1,4):(0,1)");
    r.tv[2] = sett__layout_of(c, "(1,1):(0,0)");
    return check_group(c, a) ? sett__keep_mma_atom(c, &r) : NULL;
}

sett_mma_atom *sett_mma_atom_at(sett_site site, sett_build *b, sett_mma_kind kind, const sett_mma_args *given)
{
    static const char *const name[] = {"sett_mma_sync", "sett_wgmma", "sett_mma_universal", "sett_dp4a"};
    const char *func = (unsigned)kind <= SETT_MMA_DP4A ? name[kind] : "sett_mma_atom";
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    sett_mma_args a;
    if (!b)
        return NULL;
    if (b->error.status || !sett__take_args(&c, &a, sizeof a, given))
        return sett__poison_atom(b);
    SETT__FAIL_IF(b, site, func, (unsigned)kind > SETT_MMA_DP4A, sett__poison_atom(b), SETT_E_ARGUMENT, "%d is no kind of product", (int)kind);
    sett_mma_atom *r = kind == SETT_MMA_UNIVERSAL ? universal(&c, &a) : kind == SETT_MMA_DP4A ? dp4a(&c, &a) : instruction(&c, &a, kind == SETT_MMA_SYNC ? SETT__MMA_WARP : SETT__MMA_GROUP);
    return r ? r : sett__poison_atom(b);
}

sett_mma_traits sett_mma_atom_traits_at(sett_site site, const sett_mma_atom *a)
{
    sett__ctx c = {NULL, site, "sett_mma_atom_traits"};
    if (!sett__use_atom(&c, (const sett__head *)a, SETT__K_MMA_ATOM)) {
        sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
        return (sett_mma_traits){sett__poison_arg(c.b), bad, bad, bad, bad};
    }
    sett_arg shape = sett__tuple_of(&c, 3, (sett_arg[]){sett_arg_i(a->mnk[0]), sett_arg_i(a->mnk[1]), sett_arg_i(a->mnk[2])});
    return (sett_mma_traits){shape, a->thr_id, a->tv[0], a->tv[1], a->tv[2]};
}
