/* SPDX-License-Identifier: Apache-2.0 */
/* Atoms of copies, as layouts (thread, bit) -> bit. */
#include "atom.h"

sett_copy_atom *sett__keep_copy_atom(const sett__ctx *c, const sett_copy_atom *x)
{
    sett_copy_atom *r = sett__new_object(c->b, SETT__K_COPY_ATOM, sizeof *r);
    sett__head head = r->head;
    int bits = x->dtype == SETT_BOOL ? 8 : sett_dtype_bits((sett_dtype)x->dtype);
    *r = *x;
    r->head = head;
    r->name = sett__arena_str(&c->b->arena, x->name);
    for (int i = 0; i < 3 && !c->b->error.status; i++)
        r->val[i] = sett_recast_layout_at(c->site, bits, 1, r->bit[i]);
    return c->b->error.status || !r->name ? NULL : r;
}

/* Of 1, 2 and 4 matrices: what lanes have of shared memory, and of registers, as they are and transposed. */
static const char *const matrix_layout[3][3] = {
    {"((8,4),128):((128,0),1)", "(32,32):(32,1)", "((4,8),(16,2)):((256,16),(1,128))"},
    {"((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))", "((4,8),(16,2,2)):((256,16),(1,128,1024))"},
    {"(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))", "((4,8),(16,2,4)):((256,16),(1,128,1024))"}};

static sett_copy_atom *matrices(const sett__ctx *c, sett_copy_atom *r)
{
    int bits = sett_dtype_bits((sett_dtype)r->dtype), row = r->n == 4 ? 2 : r->n - 1;
    bool store = r->kind == SETT_COPY_STMATRIX;
    char name[64];
    SETT__FAIL_IF(c->b, c->site, c->func, r->n != 1 && r->n != 2 && r->n != 4, NULL, SETT_E_SHAPE, "%d matrices: 1, 2 or 4", r->n);
    SETT__FAIL_IF(c->b, c->site, c->func, bits != 8 && bits != 16 && bits != 32, NULL, SETT_E_DTYPE, "a matrix has elements of 8, 16 or 32 bits, not %s",
        sett_dtype_name((sett_dtype)r->dtype));
    SETT__FAIL_IF(c->b, c->site, c->func, r->transpose && bits > 16, NULL, SETT_E_DTYPE, "matrices are transposed in units of 16 bits, and %s has more",
        sett_dtype_name((sett_dtype)r->dtype));
    snprintf(name, sizeof name, "%s x%d%s", store ? "stmatrix" : "ldmatrix", r->n, r->transpose ? " transposed" : "");
    sett_layout *smem = sett__layout_of(c, matrix_layout[row][0]), *held = sett__layout_of(c, matrix_layout[row][r->transpose ? 2 : 1]);
    r->name = name;
    r->thr_id = sett__layout_of(c, "32:1");
    r->bit[SETT__SRC] = store ? held : smem;
    r->bit[SETT__DST] = store ? smem : held;
    r->bit[SETT__REF] = held;
    return sett__keep_copy_atom(c, r);
}

/* A register of each lane, whose units change places: of that the layouts say nothing, as CuTe's do not. */
static sett_copy_atom *transposed(const sett__ctx *c, sett_copy_atom *r)
{
    int bits = sett_dtype_bits((sett_dtype)r->dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, bits != 8 && bits != 16 && bits != 32, NULL, SETT_E_DTYPE, "a matrix has elements of 8, 16 or 32 bits, not %s",
        sett_dtype_name((sett_dtype)r->dtype));
    r->name = "movmatrix";
    r->thr_id = sett__layout_of(c, "32:1");
    for (int i = 0; i < 3; i++)
        r->bit[i] = sett__layout_of(c, "(32,32):(32,1)");
    return sett__keep_copy_atom(c, r);
}

static sett_copy_atom *one_thread(const sett__ctx *c, sett_copy_atom *r)
{
    enum { MOST = 128 };
    int bits = r->dtype == SETT_BOOL ? 8 : sett_dtype_bits((sett_dtype)r->dtype);
    bool async = r->kind == SETT_COPY_ASYNC;
    char name[64];
    r->n = r->n ? r->n : async ? MOST : bits;
    SETT__FAIL_IF(c->b, c->site, c->func, r->n < 1 || r->n > MOST || r->n % bits, NULL, SETT_E_ARGUMENT,
        "%d bits at once: a multiple of the %d of %s, up to %d", r->n, bits, sett_dtype_name((sett_dtype)r->dtype), MOST);
    SETT__FAIL_IF(c->b, c->site, c->func, async && r->n != 32 && r->n != 64 && r->n != MOST, NULL, SETT_E_ARGUMENT, "%d bits: cp.async copies 32, 64 or 128", r->n);
    snprintf(name, sizeof name, "%s copy of %d bits", async ? "cp.async" : "universal", r->n);
    r->name = name;
    r->thr_id = sett__layout_of(c, "1:0");
    for (int i = 0; i < 3; i++)
        r->bit[i] = sett__own(c, sett__pair(c, sett_arg_i(1), sett_arg_i(r->n)), sett__pair(c, sett_arg_i(0), sett_arg_i(r->n > 1)));
    return sett__keep_copy_atom(c, r);
}

sett_copy_atom *sett_copy_atom_at(sett_site site, sett_build *b, sett_copy_kind kind, sett_dtype dtype, int n, bool transpose)
{
    static const char *const name[] = {"sett_copy_universal", "sett_copy_async", "sett_ldmatrix", "sett_stmatrix", "sett_movmatrix"};
    const char *func = (unsigned)kind <= SETT_COPY_MOVMATRIX ? name[kind] : "sett_copy_atom";
    b = sett__given(b, site, func);
    const sett__ctx c = {b, site, func};
    if (!b)
        return NULL;
    if (b->error.status || !sett__check_element(&c, dtype))
        return sett__poison_atom(b);
    SETT__FAIL_IF(b, site, func, (unsigned)kind > SETT_COPY_MOVMATRIX, sett__poison_atom(b), SETT_E_ARGUMENT, "%d is no kind of copy", (int)kind);
    sett_copy_atom x = {.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .n = n, .transpose = transpose};
    sett_copy_atom *r = kind == SETT_COPY_MOVMATRIX ? transposed(&c, &x) : kind >= SETT_COPY_LDMATRIX ? matrices(&c, &x) : one_thread(&c, &x);
    return r ? r : sett__poison_atom(b);
}

sett_copy_traits sett_copy_atom_traits_at(sett_site site, const sett_copy_atom *a, bool bits)
{
    sett__ctx c = {NULL, site, "sett_copy_atom_traits"};
    if (!sett__use_atom(&c, (const sett__head *)a, SETT__K_COPY_ATOM)) {
        sett_layout *bad = c.b ? sett__poison_layout(c.b) : NULL;
        return (sett_copy_traits){bad, bad, bad, bad};
    }
    sett_layout *const *l = bits ? a->bit : a->val;
    return (sett_copy_traits){a->thr_id, l[SETT__SRC], l[SETT__DST], l[SETT__REF]};
}
