/* SPDX-License-Identifier: Apache-2.0 */
/* Predicated copies of random matrices by random thread and value layouts: every element that the predicate lets through
 * arrives, no other byte changes. Plain C says which those are. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 2500, ROOM = 36 << 10, UNTOUCHED = 0xAA };
/* How the body goes through the matrix. ONE_LINE: A is one row or column for all. */
enum { PLAIN, MOVED_ORIGIN, COPY, ONE_LINE, WAYS };
enum { WHOLE, BY_MODE, SOME_THREADS, OUTSIDE_BOX, INSIDE_BOX, PREDICATES }; /* what it asks for */

typedef struct problem {
    sett_dtype dtype;
    int64_t m, n, ld, m_div, n_div, ld_div, align;
    bool m_known, n_known, ld_known, column_major, wide, thread_columns, value_columns, by_fragment;
    int64_t thread_m, thread_n, value_m, value_n;
    int way, predicate;
    int64_t skip_m, skip_n, threads, box_m, box_n;
} problem;

static uint64_t rng;

static int64_t below(int64_t n)
{
    rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
    return (int64_t)((rng >> 11) % (uint64_t)n);
}

static bool coin(void)
{
    return below(2);
}

static int64_t some_divisor(int64_t of, int64_t likely, int64_t else_)
{
    return of % likely == 0 && coin() ? likely : of % else_ == 0 && coin() ? else_ : 1;
}

static problem random_problem(void)
{
    static const sett_dtype types[] = {SETT_I8, SETT_U16, SETT_I32, SETT_I64};
    problem p = {.dtype = types[below(4)], .m_known = coin(), .n_known = coin(), .ld_known = coin(),
        .column_major = coin(), .wide = below(4) == 0, .thread_columns = coin(), .value_columns = coin(),
        .by_fragment = below(3) == 0, .way = (int)below(WAYS), .predicate = (int)below(PREDICATES)};
    int64_t bytes = sett_dtype_bits(p.dtype) / 8;
    p.m = 1 + below(coin() ? 40 : 9);
    p.n = 1 + below(coin() ? 70 : 9);
    int64_t *fast = p.column_major ? &p.m : &p.n;
    *fast = coin() ? (*fast + 7) / 8 * 8 : *fast;
    p.ld = *fast + (coin() ? 0 : below(9));
    p.ld = coin() ? (p.ld + 7) / 8 * 8 : p.ld;
    p.m_div = some_divisor(p.m, 8, 2);
    p.n_div = some_divisor(p.n, 8, 4);
    p.ld_div = some_divisor(p.ld, 8, 2);
    p.align = coin() ? bytes : INT64_C(1) << below(6);
    p.align = p.align < bytes ? bytes : p.align;
    p.thread_m = INT64_C(1) << below(4);
    p.thread_n = INT64_C(1) << below(4);
    p.value_m = 1 + below(4);
    p.value_n = 1 + below(9);
    p.threads = 1 + below(p.thread_m * p.thread_n);
    p.box_m = 1 + below(p.m + 2);
    p.box_n = 1 + below(p.n + 2);
    p.by_fragment = p.by_fragment && p.way != ONE_LINE; /* a fragment like A has one element for all that share one */
    if (p.way == MOVED_ORIGIN)
        p.skip_m = below(p.m), p.skip_n = below(p.n);
    return p;
}

/* ---- the kernel ---------------------------------------------------------------------------- */
static sett_arg number(sett_build *b, const problem *p, bool known, const char *name, int64_t n, int64_t div)
{
    return known ? SETT_A(n) : SETT_A(sett_sym(b, name, .div = div, .wide = p->wide));
}

static sett_layout *ordered(sett_build *b, int64_t m, int64_t n, bool columns)
{
    return columns ? sett_make_layout(b, T(m, n)) : sett_row_major(b, m, n);
}

static sett_tensor *mine(sett_build *b, const problem *p, sett_tensor *t, sett_tv tv)
{
    if (p->way == MOVED_ORIGIN)
        t = sett_domain_offset(t, p->skip_m, p->skip_n);
    sett_tensor *tile = sett_slice(sett_zipped_divide(t, tv.tiler), ALL, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static sett_val *predicate(sett_build *b, const problem *p, sett_tensor *at, sett_arg M, sett_arg N)
{
    sett_val *in = sett_elem_less(at, T(M, N));
    switch (p->predicate) {
    case BY_MODE: return sett_and(sett_elem_less(at, T(M, ALL)), sett_elem_less(at, T(ALL, N)));
    case SOME_THREADS: return sett_and(in, sett_lt(sett_thread_idx(b, 0), p->threads));
    case OUTSIDE_BOX: return sett_and(sett_not(sett_elem_less(at, T(p->box_m, p->box_n))), in);
    case INSIDE_BOX: return sett_and(sett_elem_less(at, T(p->box_m, p->box_n)), in);
    default: return in;
    }
}

static void body(sett_build *b, const void *user)
{
    const problem *p = user;
    sett_arg M = number(b, p, p->m_known, "M", p->m, p->m_div), N = number(b, p, p->n_known, "N", p->n, p->n_div);
    sett_arg ld = number(b, p, p->ld_known, "LD", p->ld, p->ld_div);
    sett_layout *l = sett_make_layout(b, T(M, N), p->column_major ? T(1, ld) : T(ld, 1));
    sett_layout *line = sett_make_layout(b, T(M, N), p->column_major ? T(1, 0) : T(0, 1));
    sett_tensor *A = sett_param(b, "A", p->dtype, p->way == ONE_LINE ? line : l, .align = (uint32_t)p->align);
    sett_tensor *C = sett_param(b, "C", p->dtype, l, .align = (uint32_t)p->align);
    sett_tv tv = sett_make_layout_tv(ordered(b, p->thread_m, p->thread_n, p->thread_columns),
        ordered(b, p->value_m, p->value_n, p->value_columns));
    sett_grid(b, sett_ceil_div(sett_sub(N, p->skip_n), p->thread_n * p->value_n),
        sett_ceil_div(sett_sub(M, p->skip_m), p->thread_m * p->value_m));
    sett_block(b, p->thread_m * p->thread_n);
    sett_val *in = predicate(b, p, mine(b, p, sett_identity_tensor(b, M, N), tv), M, N);
    sett_tensor *from = mine(b, p, A, tv), *to = mine(b, p, C, tv);
    if (p->way == COPY) {
        sett_copy_if(in, from, to);
        return;
    }
    sett_val *x = sett_load(from, .pred = in, .fill = 1);
    if (p->by_fragment) {
        sett_tensor *f = sett_make_fragment_like(from, 0);
        sett_store(f, x);
        x = sett_load(f);
    }
    sett_store(to, sett_add(x, x), .pred = in);
}

/* ---- what it must do -------------------------------------------------------------------------- */
static bool wanted(const problem *p, int64_t i, int64_t j)
{
    bool box = i < p->box_m && j < p->box_n;
    int64_t ti = (i - p->skip_m) % (p->thread_m * p->value_m) / p->value_m;
    int64_t tj = (j - p->skip_n) % (p->thread_n * p->value_n) / p->value_n;
    switch (p->predicate) {
    case SOME_THREADS: return (p->thread_columns ? ti + tj * p->thread_m : ti * p->thread_n + tj) < p->threads;
    case OUTSIDE_BOX: return !box;
    case INSIDE_BOX: return box;
    default: return true;
    }
}

static void plainly(const problem *p, const unsigned char *a, unsigned char *c)
{
    int64_t step_m = p->column_major ? 1 : p->ld, step_n = p->column_major ? p->ld : 1;
    size_t bytes = (size_t)sett_dtype_bits(p->dtype) / 8;
    for (int64_t i = p->skip_m; i < p->m; i++)
        for (int64_t j = p->skip_n; j < p->n; j++) {
            size_t at = (size_t)(i * step_m + j * step_n) * bytes;
            size_t from = p->way == ONE_LINE ? (size_t)(p->column_major ? i : j) * bytes : at;
            uint64_t x = 0;
            memcpy(&x, a + from, bytes);
            x = p->way == COPY ? x : x + x;
            if (wanted(p, i, j))
                memcpy(c + at, &x, bytes);
        }
}

typedef struct bytes {
    _Alignas(128) unsigned char at[ROOM];
} bytes;

static void differ(uint64_t seed, const problem *p, const bytes *got, const bytes *want)
{
    size_t i = 0;
    while (got->at[i] == want->at[i])
        i++;
    ck_abort_msg("seed %llu: byte %zu is 0x%02x, not 0x%02x (%s (%d,%d), ld %d, %s-major, way %d, predicate %d)",
        (unsigned long long)seed, i, got->at[i], want->at[i], sett_dtype_name(p->dtype), (int)p->m, (int)p->n,
        (int)p->ld, p->column_major ? "column" : "row", p->way, p->predicate);
}

static void check_one(sett_engine *e, uint64_t seed, bool fold)
{
    static bytes a, c, want;
    sett_kernel *k;
    sett_error err = {0};
    rng = seed;
    problem p = random_problem();
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .no_fold = !fold, .user = &p};
    sett_status s = sett_compile(e, body, &o, &k, &err);
    ck_assert_msg(!s, "seed %llu: %s", (unsigned long long)seed, err.text);
    for (size_t i = 0; i < sizeof a; i++)
        a.at[i] = (unsigned char)(coin() + i * 7);
    memset(&c, UNTOUCHED, sizeof c);
    memset(&want, UNTOUCHED, sizeof want);
    /* Aligned as was promised, and mostly no better. */
    size_t from = (size_t)(p.align * (1 + below(3))), to = (size_t)(p.align * (1 + below(3)));
    sett_buf A = {a.at + from, p.dtype, 2, {p.m, p.n}, {p.column_major ? 1 : p.ld, p.column_major ? p.ld : 1}}, C = A;
    C.data = c.at + to;
    if (p.way == ONE_LINE)
        A.stride[p.column_major] = 0;
    s = sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, &A, &C);
    ck_assert_msg(!s, "seed %llu: %s", (unsigned long long)seed, err.text);
    plainly(&p, a.at + from, want.at + to);
    if (memcmp(&want, &c, sizeof c))
        differ(seed, &p, &c, &want);
    sett_kernel_release(k);
}

START_TEST(nothing_is_lost_nor_overwritten)
{
    sett_engine *e;
    sett_error err = {0};
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    for (int i = 0; i < CASES; i++)
        check_one(e, ((uint64_t)i * 4 + (uint64_t)_i + 1) * UINT64_C(0x9e3779b97f4a7c15), i % 2);
    sett_engine_close(e);
}
END_TEST

Suite *ragged_suite(void)
{
    Suite *s = suite_create("ragged");
    TCase *c = tcase_create("predicated copies");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, nothing_is_lost_nor_overwritten, 0, 4);
    suite_add_tcase(s, c);
    return s;
}
