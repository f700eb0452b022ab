/* SPDX-License-Identifier: Apache-2.0 */
/* Laws on numbers of any size, and on operations in any order: a result is right or refused, never wrapped. Also:
 * what is printed is read back. */
#include "tests/law/law.h"
#include <string.h>

/* ---- numbers up to 2^62 ------------------------------------------------------------------------------- */

/* Small ones, powers of two and their neighbours, products of small primes, anything. */
int64_t law_huge(trial *t)
{
    int kind = law_pick(t, 5), bits = law_pick(t, 63);
    int64_t x = 1;
    if (kind == 0)
        return 1 + law_pick(t, 16);
    if (kind == 1)
        return (int64_t)1 << bits;
    if (kind == 2)
        return ((int64_t)1 << bits) + law_pick(t, 3) - (bits > 1);
    for (int i = 0; kind == 3 && i < 40 && x < INT64_MAX / 16; i++)
        x *= 1 + law_pick(t, 7);
    if (kind == 4)
        x = ((int64_t)law_pick(t, 1 << 30) << 32 | law_pick(t, 1 << 30)) >> law_pick(t, 60);
    return x < 1 ? 1 : x;
}

static flat huge_flat(trial *t, int most)
{
    flat f = {.n = 1 + law_pick(t, most)};
    for (int i = 0; i < f.n; i++) {
        f.s[i] = law_huge(t);
        f.d[i] = law_pick(t, 6) ? law_huge(t) : 0;
        if (!law_pick(t, 8))
            f.d[i] = -f.d[i];
    }
    if (law_pick(t, 2)) /* compact, as far as 64 bits go */
        for (int64_t i = 0, d = 1; i < f.n; i++) {
            f.d[i] = d;
            if (__builtin_mul_overflow(d, f.s[i], &d))
                d = INT64_MAX;
        }
    return f;
}

static bool fits(law_wide x)
{
    return x >= INT64_MIN && x <= INT64_MAX;
}

/* A coordinate, small, at the end or anywhere in 64 bits. */
static law_wide somewhere(trial *t, law_wide size)
{
    law_wide c = law_pick(t, 2) ? size - 1 - law_pick(t, 3) : law_huge(t);
    c = size > 0 && c >= size ? c % size : c;
    return c < 0 ? 0 : c > INT64_MAX ? INT64_MAX : c;
}

/* Extents are what they can be, and what it evaluates to is true or refused. */
static void is_honest(trial *t, const sett_layout *l)
{
    flat f = flat_of(t, l);
    for (int i = 0; i < f.n; i++)
        LAW(t, f.s[i] >= 1, "extent %" PRId64, f.s[i]);
    for (int k = 0; k < 3 && !t->failed; k++) {
        law_wide c = somewhere(t, flat_size(&f)), v = flat_at(&f, c);
        sett_arg got = sett_crd2idx((int64_t)c, l);
        if (sett_build_status(t->b, NULL))
            return;
        LAW(t, got.kind == SETT_INT && got.u.i == v, "at %" PRId64 " it gives %" PRId64 "%s", (int64_t)c, got.u.i,
            fits(v) ? "" : ", which has no 64 bits");
    }
    sett_arg n = sett_size(l);
    LAW(t, n.kind != SETT_INT || n.u.i == flat_size(&f), "its size is %" PRId64, n.u.i);
    sett_arg top = n.kind == SETT_INT ? sett_cosize(l) : n;
    law_wide most = 1;
    for (int i = 0; i < f.n; i++)
        most += ((law_wide)f.s[i] - 1) * (f.d[i] < 0 ? -(law_wide)f.d[i] : f.d[i]);
    LAW(t, top.kind != SETT_INT || top.u.i == most, "its cosize is %" PRId64, top.u.i);
}

static void composed(trial *t, const flat *a, const flat *b, const sett_layout *r)
{
    flat f = flat_of(t, r);
    LAW(t, flat_size(&f) == flat_size(b), "its size is not B's");
    for (int k = 0; k < 4 && !t->failed; k++) {
        law_wide c = somewhere(t, flat_size(b)), want = flat_at(a, flat_at(b, c));
        LAW(t, flat_at(&f, c) == want, "at %" PRId64, (int64_t)c);
    }
}

static void coalesced(trial *t, const flat *a, const sett_layout *r)
{
    flat f = flat_of(t, r);
    for (int k = 0; k < 4 && !t->failed; k++) {
        law_wide c = somewhere(t, flat_size(a));
        LAW(t, flat_at(&f, c) == flat_at(a, c), "at %" PRId64, (int64_t)c);
    }
}

/* One operation on numbers that are large; a refusal is as good as a result. */
void law_stays_in_range(trial *t)
{
    flat fa = huge_flat(t, 3), fb = huge_flat(t, 3);
    int op = law_pick(t, 12);
    sett_layout *a = law_layout(t, t->b, &fa), *b = law_layout(t, t->b, &fb), *r = a;
    law_note_layout(t, "A", a);
    law_note_layout(t, "B", b);
    int64_t n = law_huge(t);
    law_note(t, "n", sett_arg_i(n));
    switch (op) {
    case 0: break;
    case 1: r = sett_composition(a, b); break;
    case 2: r = sett_coalesce(a); break;
    case 3: r = sett_composition(a, sett_arg_i(n)); break;
    case 4: r = sett_logical_divide(a, sett_arg_i(n)); break;
    case 5: r = sett_zipped_divide(a, sett_rank(a) > 1 ? SETT_T(n, fb.s[0]) : SETT_T1(n)); break;
    case 6: r = sett_logical_product(a, sett_arg_i(n)); break;
    case 7: r = sett_make_layout(t->b, sett_shape(a)); break;
    case 8: r = sett_row_major(t->b, sett_shape(a)); break;
    case 9: r = sett_recast_layout(8, 64, a); break;
    case 10: r = sett_recast_layout(64, 8, a); break;
    default: r = sett_tile_to_shape(a, sett_shape(b), SETT_ALL); break;
    }
    if (sett_build_status(t->b, NULL) == SETT_E_RANK || sett_build_status(t->b, NULL) == SETT_E_SHAPE) {
        t->b->error.status = SETT_E_RANGE; /* as good as refused: the operands do not fit each other */
        return;
    }
    if (sett_build_status(t->b, NULL))
        return;
    law_note_layout(t, "R", r);
    if (op == 1)
        composed(t, &fa, &fb, r);
    if (op == 2)
        coalesced(t, &fa, r);
    is_honest(t, r);
}

/* ---- host expressions ------------------------------------------------------------------------------------------ */

/* One step in 128 bits. False: it has no value, or none of 64 bits. */
static bool exactly(sett__xcode code, law_wide x, law_wide y, law_wide *r)
{
    switch (code) {
    case SETT__X_ADD: *r = x + y; break;
    case SETT__X_SUB: *r = x - y; break;
    case SETT__X_MUL: *r = x * y; break;
    case SETT__X_DIV: *r = y ? x / y : (law_wide)INT64_MAX + 1; break;
    case SETT__X_REM: *r = y ? x % y : (law_wide)INT64_MAX + 1; break;
    case SETT__X_MIN: *r = x < y ? x : y; break;
    case SETT__X_MAX: *r = x > y ? x : y; break;
    default: *r = x < y; break;
    }
    return fits(*r);
}

/* Grids, extents, strides and checks of a launch: the true value, or none. */
void law_counts(trial *t)
{
    enum { STEPS_IN_IT = 6 };
    static const sett__xcode codes[] = {SETT__X_ADD, SETT__X_SUB, SETT__X_MUL, SETT__X_DIV, SETT__X_REM, SETT__X_MIN, SETT__X_MAX, SETT__X_LT};
    sett__xop code[2 * STEPS_IN_IT + 1];
    int64_t sym[STEPS_IN_IT + 1], got;
    law_wide want = sym[0] = law_pick(t, 4) ? law_huge(t) : -law_huge(t);
    sett__sig sig = {.code = code};
    bool ok = true;
    char text[512];
    code[0] = (sett__xop){SETT__X_SYM, 0};
    for (int i = 1; i <= STEPS_IN_IT && ok; i++) {
        sett__xcode c = codes[law_pick(t, (int)SETT__COUNT(codes))];
        sym[i] = law_pick(t, 4) ? law_huge(t) : law_pick(t, 3) - 1;
        bool fixed = law_pick(t, 2);
        code[2 * i - 1] = (sett__xop){fixed ? SETT__X_CONST : SETT__X_SYM, fixed ? sym[i] : i};
        code[2 * i] = (sett__xop){(uint8_t)c, 0};
        sig.n_code = (uint32_t)(2 * i + 1);
        ok = exactly(c, want, sym[i], &want);
        snprintf(text, sizeof text, "%s of that and %" PRId64, sett__xops[c].text, sym[i]);
        law_note(t, text, sett_arg_i(ok ? (int64_t)want : 0));
    }
    bool valued = sett__expr_eval(&sig, (sett__expr){0, sig.n_code}, sym, NULL, &got);
    LAW(t, valued == ok, ok ? "it is said to have no value" : "it has no 64 bits, and is said to be %" PRId64, valued ? got : 0);
    LAW(t, !ok || got == want, "it is said to be %" PRId64, got);
}

/* ---- operations in any order ---------------------------------------------------------------------------------- */

enum { POOL = 8 };

static sett_layout *leaf(trial *t)
{
    flat f = law_pick(t, 4) ? law_pick(t, 2) ? flat_any(t, 4) : flat_compact(t, 4) : huge_flat(t, 4);
    return law_layout(t, t->b, &f);
}

static sett_arg tuple(trial *t, sett_layout **pool, int level)
{
    sett__ctx c = law_ctx(t->b);
    int kind = law_pick(t, level < 3 ? 8 : 5);
    if (kind == 0)
        return SETT_ALL;
    if (kind == 1)
        return sett_arg_l(pool[law_pick(t, POOL)]);
    if (kind < 5)
        return sett_arg_i(kind == 2 ? law_huge(t) : law_pick(t, 17) - (kind == 3));
    int n = law_pick(t, 4);
    sett_arg *kid = sett__kids(&c, n);
    for (int i = 0; i < n; i++)
        kid[i] = tuple(t, pool, level + 1);
    return sett_arg_n(n, kid);
}

typedef struct operands {
    sett_layout *a, *b;
    sett_arg x, y; /* x: often b */
    int i, j, k;
    sett_build *build;
} operands;
#define STEPS(X) \
    X(composition, sett_composition(o->a, o->x)) \
    X(coalesce, sett_coalesce(o->a)) \
    X(coalesce_by, sett_coalesce_by(o->a, o->x)) \
    X(logical_divide, sett_logical_divide(o->a, o->x)) \
    X(zipped_divide, sett_zipped_divide(o->a, o->x)) \
    X(tiled_divide, sett_tiled_divide(o->a, o->x)) \
    X(flat_divide, sett_flat_divide(o->a, o->x)) \
    X(slice, sett_slice(o->a, o->x)) \
    X(dice, sett_dice(o->a, o->x)) \
    X(select, sett_select(o->a, o->i, o->j)) \
    X(complement, sett_complement(o->a, o->x)) \
    X(logical_product, sett_logical_product(o->a, o->x)) \
    X(zipped_product, sett_zipped_product(o->a, o->x)) \
    X(tiled_product, sett_tiled_product(o->a, o->x)) \
    X(flat_product, sett_flat_product(o->a, o->x)) \
    X(blocked_product, sett_blocked_product(o->a, o->b)) \
    X(raked_product, sett_raked_product(o->a, o->b)) \
    X(tile_to_shape, sett_tile_to_shape(o->a, o->x, o->y)) \
    X(filter_zeros, sett_filter_zeros(o->a)) \
    X(filter, sett_filter(o->a)) \
    X(filter_by, sett_filter_by(o->a, o->x)) \
    X(right_inverse, sett_right_inverse(o->a)) \
    X(left_inverse, sett_left_inverse(o->a)) \
    X(make_layout_like, sett_make_layout_like(o->a)) \
    X(nullspace, sett_nullspace(o->a)) \
    X(max_common_layout, sett_max_common_layout(o->a, o->b)) \
    X(group_modes, sett_group_modes(o->a, o->i, o->j)) \
    X(flatten, sett_flatten(o->a)) \
    X(append, sett_append(o->a, o->b)) \
    X(prepend, sett_prepend(o->a, o->b)) \
    X(make_composed_layout, sett_make_composed_layout(o->a, o->k, o->b)) \
    X(recast_layout, sett_recast_layout(1 << (o->i & 7), 1 << (o->j & 7), o->a)) \
    X(make_swizzled, sett_make_swizzled(o->i, o->j, o->k, o->a)) \
    X(make_ordered_layout, sett_make_ordered_layout(o->build, sett_shape(o->a), o->x)) \
    X(get, sett_get(o->a, o->i)) \
    X(make_layout_tv, sett_make_layout_tv(o->a, o->b).tv)
#define STEP(name, call) \
    static sett_layout *do_##name(const operands *o) \
    { \
        return call; \
    }
STEPS(STEP)
static const struct {
    const char *name;
    sett_layout *(*run)(const operands *);
} steps[] = {
#define STEP_ENTRY(name, call) {#name, do_##name},
    STEPS(STEP_ENTRY)
};

static sett_layout *step(trial *t, sett_layout **pool)
{
    int op = law_pick(t, (int)SETT__COUNT(steps));
    operands o = {.build = t->b, .a = pool[law_pick(t, POOL)]};
    o.b = pool[law_pick(t, POOL)];
    o.x = law_pick(t, 2) ? tuple(t, pool, 0) : sett_arg_l(o.b);
    o.y = law_pick(t, 2) ? tuple(t, pool, 0) : SETT_ALL;
    o.i = law_pick(t, 6) - 1;
    o.j = law_pick(t, 6) - 1;
    o.k = law_pick(t, 9) - 4;
    sett_layout *r = steps[op].run(&o);
    law_note_layout(t, steps[op].name, o.a);
    law_note(t, "with", o.x);
    return r;
}

void law_reads_back(trial *t, sett_arg a)
{
    char text[4096], again[4096];
    if (sett__arg_str(a, text, sizeof text) >= (int)sizeof text)
        return;
    sett_arg b = sett_arg_parse(t->b, text);
    if (sett_build_status(t->b, NULL) == SETT_E_LIMIT) /* each `?` is one more symbol, and there are 1024 */
        return;
    sett__arg_str(b, again, sizeof again);
    LAW(t, !strcmp(text, again), "`%s` is read as `%s`", text, again);
    /* A number that is not known is equal to itself alone, not to another of the same text. */
    bool same = a.kind != SETT_LAYOUT || strchr(text, '?') || sett_layout_equal(a.u.l, b.u.l);
    LAW(t, same, "`%s` is read as another layout", text);
}

/* Whatever is done in whatever order: a refusal, or a layout whose extents are positive, that evaluates as its
 * leaves say, and whose text is read back. */
void law_survives(trial *t)
{
    sett_layout *pool[POOL];
    for (int i = 0; i < POOL; i++)
        pool[i] = leaf(t);
    for (int k = 0; k < 12; k++) {
        sett_layout *r = step(t, pool);
        if (sett_build_status(t->b, NULL)) {
            t->b->error = (sett_error){.status = SETT_OK}; /* go on as if it had not been asked */
            continue;
        }
        if (sett__leaves(r->shape) > 32)
            continue;
        law_note_layout(t, "step", r);
        law_reads_back(t, sett_arg_l(r));
        if (!r->has_inner && sett__is_static(r->shape) && sett__is_static(r->stride) && sett__leaves(r->shape))
            is_honest(t, r);
        if (sett_build_status(t->b, NULL) || t->failed)
            return;
        pool[law_pick(t, POOL)] = r;
    }
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

static sett_arg basis(trial *t, int level)
{
    sett__ctx c = law_ctx(t->b);
    int n = law_pick(t, 4);
    if (level == 3 || !n) {
        sett_arg a = sett_arg_i(law_huge(t) * (law_pick(t, 2) ? -1 : 1));
        for (int i = law_pick(t, 4); i > 0; i--)
            a.path = a.path << 4 | (uint32_t)(1 + law_pick(t, 15));
        return a;
    }
    sett_arg *kid = sett__kids(&c, n);
    for (int i = 0; i < n; i++)
        kid[i] = basis(t, level + 1);
    return sett_arg_n(n, kid);
}

/* print, then parse, then print: layouts, swizzled, composed, tilers, tuples, scaled bases. */
void law_prints(trial *t)
{
    sett_layout *pool[POOL];
    for (int i = 0; i < POOL; i++)
        pool[i] = leaf(t);
    pool[1] = sett_make_swizzled(law_pick(t, 4), law_pick(t, 5), 4, pool[0]);
    pool[3] = sett_make_composed_layout(pool[1], law_pick(t, 100), pool[2]);
    pool[4] = sett_make_composed_layout(pool[3], 0, pool[2]);
    pool[5] = sett_make_identity_layout(t->b, SETT_T(4, SETT_T(2, 3)));
    sett_arg a = law_pick(t, 3) ? law_pick(t, 2) ? sett_arg_l(pool[law_pick(t, POOL)]) : tuple(t, pool, 0) : basis(t, 0);
    law_note(t, "text", a);
    law_reads_back(t, a);
}
