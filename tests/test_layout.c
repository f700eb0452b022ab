/* SPDX-License-Identifier: Apache-2.0 */
/* Layout algebra: laws on random layouts against brute force, fixed vectors, texts, messages. What other
 * systems give is compared by the golden runner. */
#include "../lib/lib.h"
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 6000, MOST = 4096 };

/* ---- random layouts -------------------------------------------------------------------- */

static uint64_t random_state = 20260821;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int pick(int n)
{
    return (int)(next_random() >> 33) % n;
}

static void seed(uint64_t s)
{
    random_state = s;
    printf("layout: seed %" PRIu64 "\n", s);
}

/* A plain list of leaves: what the laws are checked on, with no tuple in sight. */
typedef struct flat {
    int n;
    int64_t s[8], d[8];
} flat;

static int64_t size_of(const flat *f)
{
    int64_t n = 1;
    for (int i = 0; i < f->n; i++)
        n *= f->s[i];
    return n;
}

static int64_t value_of(const flat *f, int64_t c)
{
    int64_t v = 0;
    for (int i = 0; i < f->n; i++) {
        v += c % f->s[i] * f->d[i];
        c /= f->s[i];
    }
    return v;
}

static const int64_t extents[] = {1, 2, 2, 3, 4, 4, 5, 6, 8};

static flat random_leaves(int most)
{
    flat f = {.n = 1 + pick(most)};
    for (int i = 0; i < f.n; i++) {
        f.s[i] = extents[pick((int)SETT__COUNT(extents))];
        f.d[i] = pick(5) ? (int64_t)1 << pick(5) : pick(13);
    }
    return f;
}

/* Modes in a random order, compact but for gaps: injective. */
static flat random_injective(int most, int gap)
{
    flat f = random_leaves(most);
    bool done[8] = {0};
    int64_t d = 1;
    for (int k = 0; k < f.n; k++) {
        int i = pick(f.n);
        while (done[i])
            i = (i + 1) % f.n;
        done[i] = true;
        d *= gap ? 1 + pick(gap) : 1;
        f.d[i] = d;
        d *= f.s[i];
    }
    return f;
}

static sett__ctx ctx_of(sett_build *b)
{
    return (sett__ctx){b, {"test", "test", 1}, "test"};
}

/* The leaves under a random profile. */
static sett_layout *to_layout(sett_build *b, const flat *f)
{
    sett__ctx c = ctx_of(b);
    sett_arg s[8], d[8];
    int n = 0;
    for (int i = 0; i < f->n; n++) {
        int take = 1 + pick(f->n - i);
        sett_arg *ks = sett__kids(&c, take), *kd = sett__kids(&c, take);
        for (int k = 0; k < take; k++, i++) {
            ks[k] = sett_arg_i(f->s[i]);
            kd[k] = sett_arg_i(f->d[i]);
        }
        s[n] = take == 1 ? ks[0] : sett_arg_n(take, ks);
        d[n] = take == 1 ? kd[0] : sett_arg_n(take, kd);
    }
    bool bare = n == 1 && pick(2);
    return sett__layout(b, bare ? s[0] : sett_arg_n(n, s), bare ? d[0] : sett_arg_n(n, d));
}

static int64_t at(const sett_layout *l, int64_t c)
{
    sett_arg v = sett_crd2idx(sett_arg_i(c), l);
    ck_assert_int_eq(v.kind, SETT_INT);
    return v.u.i;
}

static int64_t size(const sett_layout *l)
{
    sett_arg n = sett_size(l);
    ck_assert_int_eq(n.kind, SETT_INT);
    return n.u.i;
}

static const char *text_of(const sett_layout *l)
{
    static char text[4][512];
    static int at_text;
    at_text = (at_text + 1) % 4;
    sett_layout_str(l, text[at_text], sizeof text[0]);
    return text[at_text];
}

static sett_build *begin(void)
{
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    return b;
}

/* Ends a build; a refusal is the only error that a law allows. */
static bool end(sett_build *b, bool may_refuse)
{
    const char *text;
    sett_status s = sett_build_status(b, &text);
    ck_assert_msg(!s || (may_refuse && s == SETT_E_DIVIDE), "%s", text);
    sett_build_end(b, NULL);
    return !s;
}

/* ---- laws -------------------------------------------------------------------------------- */

START_TEST(evaluates)
{
    seed(1001);
    for (int i = 0; i < CASES / 4; i++) {
        sett_build *b = begin();
        flat f = random_leaves(5);
        sett_layout *l = to_layout(b, &f), *c = sett_coalesce(l), *g = sett_flatten(l);
        ck_assert_int_eq(size(l), size_of(&f));
        ck_assert_int_eq(size(c), size_of(&f));
        int64_t most = 0;
        for (int64_t k = 0; k < size_of(&f) && k < MOST; k++) {
            ck_assert_msg(at(l, k) == value_of(&f, k), "%s at %d", text_of(l), (int)k);
            ck_assert_msg(at(c, k) == value_of(&f, k), "coalesce %s at %d", text_of(l), (int)k);
            ck_assert_int_eq(at(g, k), value_of(&f, k));
            most = value_of(&f, k) > most ? value_of(&f, k) : most;
        }
        if (size_of(&f) <= MOST)
            ck_assert_int_eq(sett_cosize(l).u.i, most + 1);
        end(b, false);
    }
}
END_TEST

START_TEST(composes)
{
    seed(1002);
    int done = 0, exact = 0;
    for (int i = 0; i < CASES; i++) {
        sett_build *b = begin();
        flat fa = random_leaves(4), fb = random_leaves(3);
        sett_layout *a = to_layout(b, &fa), *t = to_layout(b, &fb), *r = sett_composition(a, t);
        char names[1100];
        snprintf(names, sizeof names, "%s o %s", text_of(a), text_of(t));
        if (!b->error.status && sett_cosize(t).u.i <= size_of(&fa)) {
            done++;
            ck_assert_int_eq(size(r), size_of(&fb));
            ck_assert(sett__weakly_congruent(t->shape, r->shape));
            for (int64_t k = 0; k < size_of(&fb); k++)
                ck_assert_msg(at(r, k) == value_of(&fa, value_of(&fb, k)), "%s = %s at %d", names, text_of(r), (int)k);
        }
        exact += !b->error.status;
        end(b, true);
    }
    ck_assert_msg(done > CASES / 50 && exact > CASES / 10, "only %d of %d composed", done, exact);
}
END_TEST

START_TEST(complements)
{
    seed(1003);
    for (int i = 0; i < CASES / 4; i++) {
        static bool seen[1 << 20];
        sett_build *b = begin();
        flat f = random_injective(3, 3);
        int64_t target = 1 + pick(600);
        sett_layout *l = to_layout(b, &f), *r = sett_complement(l, target);
        int64_t n = size(r), reach = at(l, size_of(&f) - 1) + at(r, n - 1);
        ck_assert_msg(n * size_of(&f) >= target || at(r, n - 1) == 0 || reach + 1 >= target, "%s", text_of(l));
        ck_assert_int_lt(reach, (int64_t)SETT__COUNT(seen));
        memset(seen, 0, (size_t)reach + 1);
        for (int64_t j = 0; j < n; j++) {
            ck_assert_msg(!j || at(r, j) > at(r, j - 1), "complement of %s: %s is not ordered", text_of(l), text_of(r));
            for (int64_t k = 0; k < size_of(&f); k++) {
                int64_t v = at(r, j) + value_of(&f, k);
                ck_assert_msg(!seen[v], "complement of %s: %s is not disjoint", text_of(l), text_of(r));
                seen[v] = true;
            }
        }
        end(b, false);
    }
}
END_TEST

START_TEST(inverts)
{
    seed(1004);
    for (int i = 0; i < CASES / 4; i++) {
        sett_build *b = begin();
        flat f = random_injective(4, pick(2) ? 3 : 0);
        sett_layout *l = to_layout(b, &f), *right = sett_right_inverse(l), *left = sett_left_inverse(l);
        for (int64_t k = 0; k < size(right); k++)
            ck_assert_msg(value_of(&f, at(right, k)) == k, "right inverse of %s: %s", text_of(l), text_of(right));
        for (int64_t k = 0; k < size_of(&f) && k < MOST; k++)
            ck_assert_msg(at(left, value_of(&f, k)) == k, "left inverse of %s: %s at %d", text_of(l), text_of(left), (int)k);
        end(b, false);
    }
}
END_TEST

/* Tile and rest together have every element once, and the tile is A o T. */
START_TEST(divides)
{
    seed(1005);
    int done = 0;
    for (int i = 0; i < CASES; i++) {
        sett_build *b = begin();
        flat fa = random_injective(3, 2), ft = random_injective(2, 2);
        sett_layout *a = to_layout(b, &fa), *t = to_layout(b, &ft), *r = sett_logical_divide(a, t);
        int64_t n = size_of(&fa), seen = 0;
        if (!b->error.status && size(r) == n) {
            static bool hit[1 << 20];
            int64_t top = sett_cosize(a).u.i;
            ck_assert_int_le(top, (int64_t)SETT__COUNT(hit));
            memset(hit, 0, (size_t)top);
            for (int64_t k = 0; k < n; k++) {
                int64_t v = at(r, k);
                ck_assert_msg(v >= 0 && v < top && !hit[v], "%s / %s = %s", text_of(a), text_of(t), text_of(r));
                hit[v] = true;
                seen++;
            }
            for (int64_t k = 0; k < size_of(&ft); k++)
                ck_assert_int_eq(at(r, k), value_of(&fa, value_of(&ft, k)));
            for (int64_t k = 0; k < n; k++)
                ck_assert(hit[value_of(&fa, k)]);
            done++;
        }
        end(b, true);
    }
    ck_assert_msg(done > CASES / 20, "only %d", done);
}
END_TEST

/* Every copy of the block has its shape, and no two share an element. */
START_TEST(multiplies)
{
    seed(1006);
    int done = 0;
    for (int i = 0; i < CASES / 3; i++) {
        sett_build *b = begin();
        flat fa = random_injective(2, 2), ft = random_injective(2, 0);
        sett_layout *a = to_layout(b, &fa), *t = to_layout(b, &ft), *r = sett_logical_product(a, t);
        int64_t n = size_of(&fa), m = size_of(&ft);
        if (!b->error.status) {
            static bool hit[1 << 20];
            int64_t top = sett_cosize(r).u.i;
            ck_assert_int_eq(size(r), n * m);
            ck_assert_int_le(top, (int64_t)SETT__COUNT(hit));
            memset(hit, 0, (size_t)top);
            for (int64_t k = 0; k < n * m; k++) {
                int64_t v = at(r, k);
                ck_assert_int_eq(v, value_of(&fa, k % n) + at(r, k / n * n));
                ck_assert_msg(!hit[v], "%s x %s = %s", text_of(a), text_of(t), text_of(r));
                hit[v] = true;
            }
            done++;
        }
        end(b, true);
    }
    ck_assert_int_gt(done, CASES / 10);
}
END_TEST

/* A thread layout and a value layout cover the tile once. */
START_TEST(partitions)
{
    static const struct { const char *thr, *val, *tiler, *tv; } cases[] = {
        {"(2,3):(3,1)", "(2,2):(2,1)", "(4,6)", "((3,2),(2,2)):((8,2),(4,1))"},
        {"(4,32):(32,1)", "(4,8):(8,1)", "(16,256)", "((32,4),(8,4)):((128,4),(16,1))"},
        {"32:1", "4:1", "(128)", "(32,4):(4,1)"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = begin();
        char tiler[64];
        sett_tv tv = sett_make_layout_tv(sett_layout_parse(b, cases[i].thr), sett_layout_parse(b, cases[i].val));
        sett_arg_str(tv.tiler, tiler, sizeof tiler);
        ck_assert_str_eq(tiler, cases[i].tiler);
        ck_assert_str_eq(text_of(tv.tv), cases[i].tv);
        end(b, false);
    }
}
END_TEST

/* The slice at (_, j) is the layout at (k, j). */
START_TEST(slices)
{
    seed(1007);
    for (int i = 0; i < CASES / 4; i++) {
        sett_build *b = begin();
        flat f = random_leaves(2), g = random_leaves(2);
        sett_layout *pair[2] = {to_layout(b, &f), to_layout(b, &g)};
        sett__ctx c = ctx_of(b);
        sett_layout *l = sett__join(&c, 2, pair);
        if (pick(2))
            l = sett_make_swizzled(1 + pick(2), pick(3), 2 + pick(2), l);
        int64_t j = pick((int)size_of(&g)), n = size_of(&f);
        sett_layout *s = sett_slice(l, SETT_ALL, j);
        int64_t moved = l->has_inner ? 0 : value_of(&g, j);
        for (int64_t k = 0; k < n && k < MOST; k++) {
            sett_arg whole = sett_crd2idx(SETT_T(k, j), l);
            ck_assert_msg(whole.u.i == at(s, k) + moved, "%s at (_,%d): %s", text_of(l), (int)j, text_of(s));
        }
        end(b, false);
    }
}
END_TEST

/* ---- dynamic ------------------------------------------------------------------------------- */

/* The leaves again, some extents and strides as symbols whose values are known here. */
typedef struct known {
    sett_build *b;
    int64_t value[32];
    int n;
} known;

static sett_arg hide(known *k, int64_t v)
{
    char name[16];
    sett_sym_args a = {.size = sizeof a, .name = name, .div = v % 4 == 0 && v ? 4 : 1};
    if (pick(2) || k->n == 32)
        return sett_arg_i(v);
    snprintf(name, sizeof name, "s%d", k->n);
    k->value[k->n++] = v;
    return sett_arg_v(sett_sym_at(SETT_HERE, k->b, &a));
}

static sett_arg reveal(const known *k, sett_arg a)
{
    sett__ctx c = ctx_of(k->b);
    sett__expr e;
    int64_t v;
    if (a.kind == SETT_NODE) {
        sett_arg *kid = sett__kids(&c, a.rank);
        for (int i = 0; i < a.rank; i++)
            kid[i] = reveal(k, a.u.kid[i]);
        return sett_arg_n(a.rank, kid);
    }
    if (a.kind != SETT_VALUE)
        return a;
    ck_assert(sett__to_expr(k->b, a, &e));
    ck_assert(sett__expr_eval(&k->b->sig, e, k->value, NULL, &v));
    int64_t div = sett__leaf_div(a);
    ck_assert_msg(div ? v % div == 0 : v == 0, "%" PRId64 " is not divided by %" PRId64, v, div);
    ck_assert(v >= a.u.v->lo && v <= a.u.v->hi);
    return sett_arg_i(v);
}

static flat reveal_layout(const known *k, const sett_layout *l)
{
    sett_arg s[64], d[64];
    flat f = {0};
    int n = sett__leaves(l->shape);
    ck_assert_int_le(n, 64);
    sett__flat(reveal(k, l->shape), s);
    sett__flat(reveal(k, l->stride), d);
    for (int i = 0; i < n; i++) {
        if (s[i].u.i == 1)
            continue;
        ck_assert_int_lt(f.n, 8);
        f.s[f.n] = s[i].u.i;
        f.d[f.n++] = d[i].u.i;
    }
    return f;
}

/* Where leaves are run-time numbers, the recorded ones give at run time what static ones give. */
START_TEST(dynamic_as_static)
{
    seed(1008);
    int done = 0;
    for (int i = 0; i < CASES / 3; i++) {
        sett_build *b = begin(), *fixed = begin();
        known k = {.b = b};
        flat f = random_leaves(2);
        int64_t tile[2] = {1 << pick(3), 1 << pick(3)};
        f.n = 2;
        sett_arg s[2], d[2];
        for (int j = 0; j < 2; j++) {
            f.s[j] = tile[j] * (1 + pick(4));
            f.d[j] = 1 + pick(40);
            s[j] = hide(&k, f.s[j]);
            d[j] = hide(&k, f.d[j]);
        }
        sett_layout *l = sett_make_layout(b, sett_arg_n(2, s), sett_arg_n(2, d));
        sett_layout *m = to_layout(fixed, &f);
        if (sett_rank(m) == 2 && m->shape.u.kid[0].kind == SETT_INT) {
            flat x = reveal_layout(&k, sett_zipped_divide(l, SETT_T(tile[0], tile[1])));
            sett_layout *y = sett_zipped_divide(m, SETT_T(tile[0], tile[1]));
            ck_assert_int_eq(size_of(&x), size(y));
            for (int64_t c = 0; c < size(y); c++)
                ck_assert_int_eq(value_of(&x, c), at(y, c));
            int64_t crd = pick((int)size_of(&f));
            known one = k;
            sett_arg where = hide(&one, crd);
            ck_assert_int_eq(reveal(&one, sett_crd2idx(where, l)).u.i, value_of(&f, crd));
            flat z = reveal_layout(&k, sett_coalesce(l));
            for (int64_t c = 0; c < size_of(&f); c++)
                ck_assert_int_eq(value_of(&z, c), value_of(&f, c));
            done++;
        }
        end(b, false);
        end(fixed, false);
    }
    ck_assert_int_gt(done, CASES / 20);
}
END_TEST

static void same(sett_build *b, sett_layout *l, const char *expected)
{
    const char *text;
    ck_assert_msg(!sett_build_status(b, &text), "%s: %s", expected, text);
    ck_assert_str_eq(text_of(l), expected);
}

START_TEST(divisibility_is_printed)
{
    sett_build *b = begin();
    sett_val *n = sett_sym(b, "n"), *m = sett_sym(b, "m", .div = 8), *w = sett_sym(b, "w", .div = 8, .wide = true);
    uint32_t ops = b->n_op;
    sett_layout *a = sett_make_layout(b, SETT_T(6, 2), SETT_T(n, 2));
    sett_layout *c = sett_composition(a, sett_layout_parse(b, "(4,3):(3,1)"));
    same(b, c, "((2,2),3):((?{div=3},2),?)");
    ck_assert_uint_eq(b->n_op, ops + 2); /* 3, and n times it */
    same(b, sett_make_layout(b, SETT_T(m, 4, 2)), "(?{div=8},4,2):(1,?{div=8},?{div=32})");
    same(b, sett_make_layout(b, SETT_T(w, 4)), "(?{i64 div=8},4):(1,?{i64 div=8})");
    same(b, sett_coalesce(sett_make_layout(b, SETT_T(4, 5, n), SETT_T(1, 4, n))), "(20,?):(1,?)");
    same(b, sett_coalesce(sett_make_layout(b, SETT_T(4, n))), "(4,?):(1,4)");
    ops = b->n_op;
    sett_layout *z = sett_zipped_divide(sett_make_layout(b, SETT_T(m, 16), SETT_T(16, 1)), SETT_T(4, 8));
    same(b, z, "((4,8),(?{div=2},2)):((16,1),(64,8))");
    ck_assert_uint_eq(b->n_op, ops + 2); /* 4, and m over it */
    ops = b->n_op;
    sett_zipped_divide(sett_row_major(b, 64, 64), SETT_T(4, 8));
    ck_assert_uint_eq(b->n_op, ops); /* static leaves record nothing */
    end(b, false);
}
END_TEST

/* ---- vectors and texts ----------------------------------------------------------------------- */

START_TEST(vectors)
{
    sett_build *b = begin();
#define L(text) sett_layout_parse(b, text)
#define SAME(l, text) same(b, l, text)
    SAME(sett_make_layout(b, SETT_T(4, 8)), "(4,8):(1,4)");
    SAME(sett_make_ordered_layout(b, SETT_T(32, 16, 8), SETT_T(2, 0, 1)), "(32,16,8):(128,1,16)");
    SAME(sett_row_major(b, 4, 8), "(4,8):(8,1)");
    SAME(sett_make_identity_layout(b, 2, SETT_T(3, 4)), "(2,(3,4)):(1@0,(1@0@1,1@1@1))");
    SAME(sett_composition(L("(6,2):(8,2)"), SETT_A(L("(4,3):(3,1)"))), "((2,2),3):((24,2),8)");
    SAME(sett_composition(L("20:2"), SETT_A(L("(5,4):(4,1)"))), "(5,4):(8,2)");
    SAME(sett_composition(L("(10,2):(16,4)"), SETT_A(L("(5,4):(1,5)"))), "(5,(2,2)):(16,(80,4))");
    SAME(sett_complement(L("4:2"), 24), "(2,3):(1,8)");
    SAME(sett_logical_divide(L("(4,2,3):(2,1,8)"), SETT_A(L("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
    SAME(sett_zipped_divide(L("(9,(4,8)):(59,(13,1))"), sett_arg_parse(b, "[3:3;(2,4):(1,8)]")),
        "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))");
    SAME(sett_logical_product(L("(2,2):(4,1)"), SETT_A(L("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
    SAME(sett_blocked_product(L("(3,4):(4,1)"), L("(2,5):(1,2)")), "((3,2),(4,5)):((4,12),(1,24))");
    SAME(sett_raked_product(L("(3,4):(4,1)"), L("(2,5):(1,2)")), "((2,3),(5,4)):((12,4),(24,1))");
    SAME(sett_recast_layout(32, 8, L("(32,4):(1,32)")), "(8,4):(1,8)");
    SAME(sett_recast_layout(4, 6, L("(8,4):(1,8)")), "(12,4):(1,12)");
    SAME(sett_coalesce_by(L("(2,(1,6)):(1,(6,2))"), SETT_T(1, 1)), "(2,6):(1,2)");
    SAME(sett_right_inverse(L("(4,8):(8,1)")), "(8,4):(4,1)");
    SAME(sett_select(L("(2,3,5):(1,2,6)"), 2, 0), "(5,2):(6,1)");
    SAME(sett_dice(L("(2,3,5):(1,2,6)"), SETT_ALL, 1, SETT_ALL), "(3):(2)");
    SAME(sett_get(L("(2,(3,5)):(1,(2,6))"), 1), "(3,5):(2,6)");
    SAME(sett_tile_to_shape(sett_make_swizzled(3, 3, 3, L("(8,16):(16,1)")), SETT_T(64, 32), SETT_ALL),
        "S<3,3,3> o 0 o ((8,8),(16,2)):((16,128),(1,1024))");
#undef SAME
#undef L
    end(b, false);
}
END_TEST

START_TEST(parse_prints)
{
    static const char *const texts[] = {"(4,8):(1,4)", "4:1", "(4):(1)", "((1@0@1,2),_,3)", "()", "-5", "1@0@1", "(8,(2,2)):(-1,(8,0))",
        "S<3,4,3> o 0 o (8,64):(64,1)", "S<1,0,-2> o 7 o (4,4):(4,1)", "(4,5):(1,4) o 2 o (2,2):(1,5)",
        "(2,3):(1,3) o (0,1) o (2,3):(1@0,1@1)", "[(2,3):(1,2);4;_]", "9223372036854775807", "-9223372036854775808",
        "[[2:1;3];S<1,0,1> o 0 o 4:1]"};
    seed(1009);
    for (size_t i = 0; i < SETT__COUNT(texts); i++) {
        sett_build *b = begin();
        char out[256];
        ck_assert_int_eq(sett_arg_str(sett_arg_parse(b, texts[i]), out, sizeof out), (int)strlen(texts[i]));
        ck_assert_str_eq(out, texts[i]);
        ck_assert_int_eq(sett_arg_str(sett_arg_parse(b, texts[i]), out, 3), (int)strlen(texts[i]));
        ck_assert_int_le((int)strlen(out), 2);
        end(b, false);
        for (int k = 0; k < 400; k++) { /* broken texts give an error or a value, never a crash */
            char broken[128];
            snprintf(broken, sizeof broken, "%s", texts[i]);
            for (int times = 1 + pick(3); times; times--)
                broken[pick((int)strlen(texts[i]))] = "():,<>[]@_;oS-0123456789? "[pick(26)];
            b = begin();
            sett_arg a = sett_arg_parse(b, broken);
            if (!b->error.status)
                sett_arg_str(a, out, sizeof out);
            sett_build_end(b, NULL);
        }
    }
}
END_TEST

START_TEST(random_layouts_parse_back)
{
    seed(1010);
    for (int i = 0; i < CASES / 6; i++) {
        sett_build *b = begin();
        flat f = random_leaves(6);
        sett_layout *l = to_layout(b, &f);
        if (pick(3) == 0)
            l = sett_make_swizzled(pick(3), pick(4), 3, l);
        ck_assert_msg(sett_layout_equal(l, sett_layout_parse(b, text_of(l))), "%s", text_of(l));
        end(b, false);
    }
}
END_TEST

/* ---- messages --------------------------------------------------------------------------------- */

#define L(text) sett_layout_parse(b, text)
static void e_profile(sett_build *b) { sett_make_layout(b, SETT_T(4, 8), SETT_T(1, SETT_T(2, 3))); }
static void e_extent(sett_build *b) { sett_make_layout(b, SETT_T(4, 0)); }
static void e_slice_extent(sett_build *b) { sett_make_layout(b, SETT_T(4, SETT_ALL)); }
static void e_float(sett_build *b) { sett_make_layout(b, SETT_T(4, 2.5)); }
static void e_stride(sett_build *b) { sett_composition(L("(4,8):(2,1)"), SETT_A(L("33:5"))); }
static void e_shape(sett_build *b) { sett_composition(L("(4,6):(6,1)"), SETT_A(L("6:1"))); }
static void e_carry(sett_build *b) { sett_composition(L("(8,32):(32,1)"), SETT_A(L("(4,32):(1,2)"))); }
static void e_tiler_rank(sett_build *b) { sett_zipped_divide(L("(4,8):(8,1)"), SETT_T(1, 2, 3)); }
static void e_tiler(sett_build *b) { sett_zipped_divide(L("(4,8):(8,1)"), SETT_T(4, -2)); }
static void e_overlap(sett_build *b) { sett_complement(L("(4,4):(1,2)"), 24); }
static void e_right(sett_build *b) { sett_composition(L("64:1"), SETT_A(sett_make_swizzled(1, 0, 1, L("8:1")))); }
static void e_swizzle(sett_build *b) { sett_make_swizzled(3, 3, 2, L("64:1")); }
static void e_coord(sett_build *b) { sett_crd2idx(SETT_T(1, 2, 3), L("(4,8):(8,1)")); }
static void e_crd_slice(sett_build *b) { sett_slice(L("(4,8):(8,1)"), 1, 2, SETT_ALL); }
static void e_select(sett_build *b) { sett_select(L("(4,8):(8,1)"), 2); }
static void e_get(sett_build *b) { sett_get(L("(4,8):(8,1)"), -1); }
static void e_group(sett_build *b) { sett_group_modes(L("(4,8):(8,1)"), 1, 1); }
static void e_order(sett_build *b) { sett_make_ordered_layout(b, SETT_T(4, 8), SETT_T(0, 1, 2)); }
static void e_recast(sett_build *b) { sett_recast_layout(32, 8, L("(6,4):(1,6)")); }
static void e_bits(sett_build *b) { sett_recast_layout(0, 8, L("(6,4):(1,6)")); }
static void e_coalesce(sett_build *b) { sett_coalesce_by(L("(4,8):(8,1)"), SETT_T(1, 1, 1)); }
static void e_static(sett_build *b) { sett_static(b, SETT_A(sett_sym(b, "n"))); }
static void e_invert(sett_build *b) { sett_right_inverse(sett_make_layout(b, SETT_T(sett_sym(b, "n"), 4))); }
static void e_left(sett_build *b) { sett_left_inverse(L("(5,3):(3,2)")); }
static void e_size(sett_build *b) { sett_size(sett_make_layout(b, SETT_T(1ll << 40, 1ll << 40), SETT_T(1, 1))); }
static void e_compact(sett_build *b) { sett_make_layout(b, SETT_T(1ll << 40, 1ll << 40, 2)); }
static void e_offset(sett_build *b) { sett_crd2idx(SETT_T(1ll << 40), L("(4):(8388608)")); }
static void e_null(sett_build *b) { sett_zipped_product(L("4:1"), SETT_A((sett_layout *)NULL)); }
static void e_parse(sett_build *b) { L("(4,8:(1,4)"); }
static void e_parse_tuple(sett_build *b) { L("(4,8)"); }
static void e_parse_dynamic(sett_build *b) { L("(?,8):(1,4)"); }
static void e_parse_range(sett_build *b) { L("99999999999999999999:1"); }
static void e_parse_tail(sett_build *b) { L("(4,8):(1,4) x"); }
#undef L

static const struct {
    void (*f)(sett_build *);
    sett_status status;
    const char *text;
} errors[] = {
    {e_profile, SETT_E_RANK, "sett_make_layout: shape (4,8) and stride (1,(2,3)) differ in profile"},
    {e_extent, SETT_E_SHAPE, "sett_make_layout: invalid: extent 0 is not positive"},
    {e_slice_extent, SETT_E_ARGUMENT, "_ is not an extent"},
    {e_float, SETT_E_ARGUMENT, "2.5 is not an extent"},
    {e_stride, SETT_E_DIVIDE, "sett_composition: stride-divisibility: 33:5 over mode 0 of coalesced (4,8):(2,1): extent 4"},
    {e_shape, SETT_E_DIVIDE, "sett_composition: shape-divisibility: 6:1 over mode 0"},
    {e_carry, SETT_E_DIVIDE, "together reach 9 in mode 0"},
    {e_tiler_rank, SETT_E_RANK, "sett_zipped_divide: invalid: tiler (1,2,3) has more modes than (4,8):(8,1)"},
    {e_tiler, SETT_E_ARGUMENT, "-2 is no tiler"},
    {e_overlap, SETT_E_DIVIDE, "sett_complement: non-injective"},
    {e_right, SETT_E_ARGUMENT, "the right operand S<1,0,1> o 0 o 8:1 is composed"},
    {e_swizzle, SETT_E_RANGE, "S<3,3,2> is no swizzle"},
    {e_coord, SETT_E_RANK, "sett_crd2idx: invalid: coordinate (1,2,3) does not fit shape (4,8)"},
    {e_crd_slice, SETT_E_RANK, "sett_slice: invalid: coordinate (1,2,_) does not fit (4,8)"},
    {e_select, SETT_E_RANK, "sett_select: invalid: no mode 2 in (4,8)"},
    {e_get, SETT_E_RANK, "sett_get: invalid: no mode -1 in (4,8)"},
    {e_group, SETT_E_RANK, "sett_group_modes: invalid: modes [1,1) of (4,8), which has 2"},
    {e_order, SETT_E_RANK, "order (0,1,2) does not fit shape (4,8)"},
    {e_recast, SETT_E_DIVIDE, "sett_recast_layout: divisibility: neither of 6 and 4 divides the other"},
    {e_bits, SETT_E_ARGUMENT, "widths 0 and 8 must be positive"},
    {e_coalesce, SETT_E_RANK, "profile (1,1,1) has more modes than (4,8):(8,1)"},
    {e_static, SETT_E_STATIC, "sett_static: ? is not a static integer"},
    {e_invert, SETT_E_STATIC, "sett_right_inverse: invalid: extents must be static"},
    {e_left, SETT_E_DIVIDE, "left-inverse-divisibility"},
    {e_size, SETT_E_RANGE, "1099511627776 * 1099511627776 overflows 64 bits"},
    {e_compact, SETT_E_RANGE, "overflows 64 bits"},
    {e_offset, SETT_E_RANGE, "overflows 64 bits"},
    {e_null, SETT_E_ARGUMENT, "NULL"},
    {e_parse, SETT_E_PARSE, "column 5: `,` or the closing bracket is needed here\n    (4,8:(1,4)\n        ^"},
    {e_parse_tuple, SETT_E_PARSE, "(4,8) is no layout"},
    {e_parse_dynamic, SETT_E_PARSE, "column 2: a run-time number has no text"},
    {e_parse_range, SETT_E_PARSE, "column 1: the number does not fit 64 bits"},
    {e_parse_tail, SETT_E_PARSE, "column 13: nothing more is expected here"},
};

START_TEST(messages)
{
    const char *text;
    sett_build *b = begin();
    errors[_i].f(b);
    sett_status status = sett_build_status(b, &text);
    ck_assert_msg(status == errors[_i].status, "%s: %s", sett_status_name(status), text);
    ck_assert_msg(strstr(text, errors[_i].text) != NULL, "%s", text);
    ck_assert_msg(strstr(text, "test_layout.c:") != NULL || strstr(text, "sett_size") || strstr(text, "sett_cosize"), "%s", text);
    /* what comes after an error is poison, and asks to be told apart from nothing */
    sett_layout *l = sett_make_layout(b, SETT_T(2, 2));
    int64_t n = sett_static(b, sett_size(l));
    ck_assert_int_eq(sett_rank(l), 1);
    ck_assert_int_eq(n, 1);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- getters: of every kind ------------------------------------------------------------- */
START_TEST(getters)
{
    sett_build *b = begin();
    sett_val *v = sett_full(b, SETT_F32, SETT_T(4, SETT_T(2, 3)), 1.0), *one = sett_const(b, SETT_F32, 1.0);
    sett_layout *l = sett_make_layout(b, SETT_T(4, SETT_T(2, 3)), SETT_T(10, SETT_T(1, 2)));
    sett_tensor *t = sett_make_rmem_tensor(b, SETT_F32, l);
    sett_arg a = sett_tuple(b, 4, SETT_T(2, 3));
    sett_arg shapes[] = {sett_shape(v), sett_shape(l), sett_shape(t), sett_shape(a)};
    int64_t sizes[] = {sett_static(b, sett_size(v)), sett_static(b, sett_size(l)), sett_static(b, sett_size(t)),
        sett_static(b, sett_size(a))};
    int64_t cosizes[] = {sett_static(b, sett_cosize(v)), sett_static(b, sett_cosize(l)), sett_static(b, sett_cosize(t)),
        sett_static(b, sett_cosize(a))};
    int ranks[] = {sett_rank(v), sett_rank(l), sett_rank(t), sett_rank(a)};
    int depths[] = {sett_depth(v), sett_depth(l), sett_depth(t), sett_depth(a)};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(sett_congruent(shapes[i], a), 1);
        ck_assert_int_eq(sizes[i], 24);
        ck_assert_int_eq(cosizes[i], i == 1 || i == 2 ? 36 : 24);
        ck_assert_int_eq(ranks[i], 2);
        ck_assert_int_eq(depths[i], 2);
    }
    ck_assert_int_eq(sett_congruent(sett_stride(l), a) + sett_congruent(sett_stride(t), a), 2);
    ck_assert_int_eq(sett_rank(one), 0);
    ck_assert_int_eq(sett_depth(one), 1);
    ck_assert_int_eq(sett_static(b, sett_size(one)), 1);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    ck_assert_int_eq(sett_stride(v).kind, SETT_POISON);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_ARGUMENT);
    sett_val *bad = sett_add(v, 1); /* poison: numbers of at least 1 */
    ck_assert_int_eq(sett_rank(bad) + sett_depth(bad), 2);
    ck_assert_int_eq(sett_shape(bad).kind + sett_size(bad).kind + sett_cosize(bad).kind, 3 * SETT_POISON);
    sett_build_end(b, NULL);
    sett_val *none = NULL;
    ck_assert_int_eq(sett_rank(none) + sett_depth(none), 2);
    ck_assert_int_eq(sett_shape(none).kind + sett_stride(none).kind + sett_size(none).kind, 3 * SETT_POISON);
}
END_TEST

Suite *layout_suite(void);
Suite *layout_suite(void)
{
    Suite *s = suite_create("layout");
    TCase *laws = tcase_create("laws"), *exact = tcase_create("exact");
    tcase_set_timeout(laws, 120);
    tcase_add_test(laws, evaluates);
    tcase_add_test(laws, composes);
    tcase_add_test(laws, complements);
    tcase_add_test(laws, inverts);
    tcase_add_test(laws, divides);
    tcase_add_test(laws, multiplies);
    tcase_add_test(laws, slices);
    tcase_add_test(laws, dynamic_as_static);
    tcase_add_test(laws, random_layouts_parse_back);
    tcase_add_test(exact, getters);
    tcase_add_test(exact, partitions);
    tcase_add_test(exact, divisibility_is_printed);
    tcase_add_test(exact, vectors);
    tcase_add_test(exact, parse_prints);
    tcase_add_loop_test(exact, messages, 0, (int)SETT__COUNT(errors));
    suite_add_tcase(s, laws);
    suite_add_tcase(s, exact);
    return s;
}
