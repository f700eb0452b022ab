/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of sett_product: against plain C, by each of its kernels, and bit by bit against a product for each group; what it chooses, and what
 * it refuses. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "kernels/product.h"
#undef T
#include "tests/rig/placed_rig.h"

enum { GROUPS = 9, OUTSIDE = 3 /* rows before the first group, and behind the last */, N = 144, K = 144, WAYS = SETT_GROUPED_MASKED };

static void *on_device(const void *host, size_t bytes)
{
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static void from_device(void *host, const void *data, size_t bytes)
{
    ck_assert(!sett_memcpy(r.e, r.stream, host, data, bytes) && !sett_sync(r.e, r.stream));
}

static sett_product *prepare(const sett_product_problem *p, int max_m)
{
    sett_product *plan;
    size_t bytes;
    ck_assert_msg(!sett_product_prepare(r.e, r.stream.device, p, max_m, &plan, &bytes, &err), "%s", err.text);
    ck_assert(!bytes);
    return plan;
}

static void run_plan(const sett_product *plan, int m, const sett_product_operands *o)
{
    ck_assert_msg(!sett_product_run(plan, m, o, NULL, 0, r.stream, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}

/* ---- groups --------------------------------------------------------------------------------------------------- */
/* Rows of each: none, one, fewer than a tile of any kernel has, as many, more; none begins at a multiple of a tile. */
static const int32_t counts_of[GROUPS] = {5, 0, 161, 1, 64, 0, 130, 33, 0};
typedef struct groups {
    sett_grouped way;
    int m; /* rows of a run: all, or the most of a group */
    int32_t table[GROUPS + 1];
    void *data;
} groups;

static groups deal(sett_grouped way)
{
    groups g = {.way = way, .m = OUTSIDE};
    const bool flat = way == SETT_GROUPED_CONTIGUOUS;
    for (int i = 0; i < GROUPS; i++) {
        g.table[i] = flat ? g.m : counts_of[i];
        g.m = flat ? g.m + counts_of[i] : counts_of[i] + OUTSIDE > g.m ? counts_of[i] + OUTSIDE : g.m;
    }
    g.table[GROUPS] = g.m;
    g.m += flat ? OUTSIDE : 0;
    g.data = on_device(g.table, (size_t)(GROUPS + flat) * 4);
    return g;
}

/* The first row of a group, where all matrices' rows lie behind each other; and the group of a row there, -1 of none. */
static int first_of(const groups *g, int group)
{
    return g->way == SETT_GROUPED_CONTIGUOUS ? g->table[group] : g->m * group;
}

static int group_of(const groups *g, int row)
{
    for (int i = 0; i < GROUPS; i++)
        if (row >= first_of(g, i) && row < first_of(g, i) + counts_of[i])
            return i;
    return -1;
}

static int matrices_of(const groups *g)
{
    return g->way == SETT_GROUPED_CONTIGUOUS ? 1 : GROUPS;
}

static void give_table(const groups *g, sett_product_operands *o)
{
    *(g->way == SETT_GROUPED_CONTIGUOUS ? &o->offsets : &o->counts) = g->data;
}

/* ---- against plain C ------------------------------------------------------------------------------------------ */
typedef struct shape { sett_dtype a, b, d; int scaled, swiglu, residual, promote, more; } shape;
static const shape shapes[] = {{.a = SETT_BF16, .d = SETT_BF16, .more = 1}, {.a = SETT_F16, .d = SETT_F32, .residual = 1}, {.a = SETT_BF16, .d = SETT_BF16, .swiglu = 1, .residual = 1, .more = 2},
    {.a = SETT_F8E4M3FN, .b = SETT_F8E5M2, .d = SETT_F8E4M3FN, .scaled = 1, .more = 1}, {.a = SETT_F8E5M2, .d = SETT_BF16, .swiglu = 1, .promote = 1}, {.a = SETT_I8, .d = SETT_BF16, .scaled = 1}};
/* So many rows are said to be usual, which takes each of the kernels. */
static const int expected[] = {0, 1, 33, 64, 70, 90, 100, 128, 144, 160, 1 << 20};

static double product_of(int row, int col, int of_a, int group)
{
    double sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += factor((size_t)row, k, (size_t)of_a, 0) * factor((size_t)col, k, (size_t)group, 3);
    return sum;
}

/* of_a: the number of A's matrix, 0 where there is one. */
static double want_of(const shape *s, int row, int col, int of_a, int group)
{
    double x = product_of(row, col, of_a, group);
    if (s->swiglu)
        x = x / (1 + exp(-x)) * product_of(row, col + N, of_a, group);
    if (s->scaled)
        x *= scale_of((size_t)row, (size_t)of_a) * scale_of((size_t)col + 1, (size_t)group);
    return x + (s->residual ? factor((size_t)row, (size_t)col, (size_t)of_a, 1) : 0);
}

static float *scales(size_t n, size_t l, size_t from)
{
    float *host = malloc(n * l * sizeof *host);
    ck_assert_ptr_nonnull(host);
    for (size_t i = 0; i < n * l; i++)
        host[i] = (float)scale_of(i % n + from, i / n);
    float *data = on_device(host, n * l * sizeof *host);
    free(host);
    return data;
}

/* Each element of a group's rows; all else of D is as it was. */
static void check_rows(const shape *s, const groups *g, placed *d)
{
    const problem p = {.o = {.dtype = s->a, .swiglu = s->swiglu}, .m = (size_t)g->m, .n = N, .k = K};
    unsigned char *seen = calloc(1, d->bytes);
    ck_assert_ptr_nonnull(seen);
    for (int i = 0; i < g->m * matrices_of(g); i++) {
        const int of_a = i / g->m, row = i % g->m, group = group_of(g, i);
        for (int col = 0; col < N && group >= 0; col++) {
            unsigned char *at_it = at_of(d, (size_t)row, (size_t)col, (size_t)of_a);
            check_element(&p, s->d, element(s->d, at_it), want_of(s, row, col, of_a, group), (size_t)i, (size_t)col);
            memset(seen + (at_it - d->host), 1, bytes_of(s->d));
        }
    }
    for (size_t i = 0; i < d->bytes; i++)
        ck_assert_msg(seen[i] || d->host[i] == NOBODYS, "byte %zu of D, of no group's rows, was written", i);
    free(seen);
}

START_TEST(against_plain_c)
{
    const shape *s = &shapes[_i / WAYS];
    groups g = deal(1 + _i % WAYS);
    const bool masked = g.way == SETT_GROUPED_MASKED;
    const size_t m = (size_t)g.m, rows_b = (size_t)N << s->swiglu, more = (size_t)s->more;
    const sett_dtype type_b = s->b ? s->b : s->a;
    placed a = place(s->a, (size_t[]){m, K, GROUPS}, masked, 0, 16, more), b = place(type_b, (size_t[]){rows_b, K, GROUPS}, true, 0, 16, more);
    placed d = place(s->d, (size_t[]){m, N, GROUPS}, masked, 0, 16, more), res = place(s->d, (size_t[]){m, N, GROUPS}, masked, 0, 16, more);
    float *sa = scales(m, (size_t)matrices_of(&g), 0), *sb = scales(N, GROUPS, 1);
    fill_factors(&a, 0), fill_factors(&b, 3), fill_factors(&res, 1);
    const sett_product_problem p = {.size = sizeof p, .dtype = s->a, .b = s->b, .d = s->d, .n = N, .k = K, .scaled = s->scaled, .swiglu = s->swiglu, .residual = s->residual, .promote = s->promote,
        .grouped = g.way, .groups = GROUPS, .lda = (int64_t)a.stride[0], .ldb = (int64_t)b.stride[0], .ldr = (int64_t)res.stride[0], .ldd = (int64_t)d.stride[0],
        .batch_a = masked ? (int64_t)a.stride[2] : 0, .batch_b = (int64_t)b.stride[2], .batch_r = masked ? (int64_t)res.stride[2] : 0, .batch_d = masked ? (int64_t)d.stride[2] : 0};
    sett_product_operands o = {.size = sizeof o, .a = a.buf.data, .b = b.buf.data, .r = s->residual ? res.buf.data : NULL, .d = d.buf.data, .sa = s->scaled ? sa : NULL, .sb = s->scaled ? sb : NULL};
    give_table(&g, &o);
    sett_product *plan = has_wgmma() ? prepare(&p, masked ? g.m : g.m + 7) : NULL;
    unsigned char *first = malloc(d.bytes);
    for (size_t i = 0; plan && i < sizeof expected / sizeof *expected; i++) {
        memset(d.host, NOBODYS, d.bytes), send(&d);
        o.expected_m = expected[i];
        run_plan(plan, g.m, &o);
        from_device(d.host, d.data, d.bytes);
        if (!i)
            check_rows(s, &g, &d), memcpy(first, d.host, d.bytes);
        ck_assert_msg(!memcmp(first, d.host, d.bytes), "the bits with .expected_m %d are not those with 0", expected[i]);
    }
    sett_product_free(plan), free(first);
    placed of[] = {a, b, d, res};
    drop_placed(4, of);
    sett_free(r.e, r.stream.device, sa), sett_free(r.e, r.stream.device, sb), sett_free(r.e, r.stream.device, g.data);
}
END_TEST

/* ---- bit by bit ----------------------------------------------------------------------------------------------- */
/* Random numbers, so that the order of sums shows: all terms of a group's rows are those that a product of the group alone writes. */
static char *random_bytes(size_t rows, size_t cols, sett_dtype t)
{
    matrix m = matrix_random(&r, t, (int64_t)rows, (int64_t)cols);
    free(m.host);
    return m.buf.data;
}

static char *zeros(size_t bytes)
{
    void *host = calloc(1, bytes);
    ck_assert_ptr_nonnull(host);
    void *data = on_device(host, bytes);
    free(host);
    return data;
}

enum { D_OF, AUX_OF, AMAX_OF, ROW_MAX_OF, COLUMN_MAX_OF, WRITTEN };
START_TEST(bits_of_a_product_of_each)
{
    groups g = deal((sett_grouped)_i);
    if (!has_wgmma())
        return;
    const size_t rows = (size_t)g.m * (size_t)matrices_of(&g), bytes[WRITTEN] = {rows * N * 2, rows * N * 2, rows * 4, rows * 4, N * GROUPS * 4};
    char *a = random_bytes(rows, K, SETT_BF16), *b = random_bytes(N * GROUPS, K, SETT_BF16), *bias = random_bytes(GROUPS, N, SETT_BF16), *s = random_bytes(1, 1, SETT_F32);
    char *sa = random_bytes(rows, 1, SETT_F32), *sb = random_bytes(GROUPS, N, SETT_F32), *to[2][WRITTEN];
    for (int i = 0; i < 2 * WRITTEN; i++)
        to[i / WRITTEN][i % WRITTEN] = zeros(bytes[i % WRITTEN]);
    sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = N, .k = K, .scaled = 1, .batch_invariant = 1, .grouped = g.way, .groups = GROUPS,
        .terms = {.scale = 1, .bias = 1, .aux = 1, .activation = SETT_ACTIVATION_GELU, .amax = 2, .alpha = 1, .row_max = 1, .column_max = 1}};
    sett_product *plan = prepare(&p, g.m);
    p.grouped = SETT_GROUPED_NONE, p.groups = 0;
    sett_product *one = prepare(&p, g.m);
    sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .bias = bias, .s = (float *)s, .sa = (float *)sa, .sb = (float *)sb, .d = to[0][D_OF], .aux = to[0][AUX_OF], .amax = (float *)to[0][AMAX_OF],
        .row_max = (float *)to[0][ROW_MAX_OF], .column_max = (float *)to[0][COLUMN_MAX_OF], .alpha = 0.75f};
    give_table(&g, &o);
    run_plan(plan, g.m, &o);
    for (int i = 0; i < GROUPS; i++) {
        const size_t first = (size_t)first_of(&g, i), group = (size_t)i;
        const sett_product_operands own = {.size = sizeof own, .a = a + first * K * 2, .b = b + group * N * K * 2, .bias = bias + group * N * 2, .s = (float *)s, .sa = (float *)sa + first,
            .sb = (float *)sb + group * N, .d = to[1][D_OF] + first * N * 2, .aux = to[1][AUX_OF] + first * N * 2, .amax = (float *)to[1][AMAX_OF] + first,
            .row_max = (float *)to[1][ROW_MAX_OF] + first, .column_max = (float *)to[1][COLUMN_MAX_OF] + group * N, .alpha = 0.75f};
        run_plan(one, counts_of[i], &own);
    }
    static const char *const names[] = {"D", "AUX", "AMAX", "ROWMAX", "COLMAX"};
    for (int i = 0; i < WRITTEN; i++) {
        unsigned char *got = malloc(2 * bytes[i]);
        ck_assert_ptr_nonnull(got);
        from_device(got, to[0][i], bytes[i]), from_device(got + bytes[i], to[1][i], bytes[i]);
        for (size_t x = 0; x < bytes[i]; x++)
            ck_assert_msg(got[x] == got[x + bytes[i]], "%s, byte %zu of %zu", names[i], x, bytes[i]);
        free(got);
    }
    sett_product_free(plan), sett_product_free(one);
    void *mem[] = {a, b, bias, s, sa, sb, g.data};
    for (int i = 0; i < 2 * WRITTEN; i++)
        sett_free(r.e, r.stream.device, to[i / WRITTEN][i % WRITTEN]);
    for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
        sett_free(r.e, r.stream.device, mem[i]);
}
END_TEST

/* ---- scales of blocks ----------------------------------------------------------------------------------------- */
/* Powers of two, so that sums are exact. What lies between columns of SA, and rows of SB, is NaN. */
enum { BLOCK_K = 304, K_BLOCKS = 3, N_BLOCKS = 2, LDSB = 5 };
static float block_scale(int x, int t)
{
    return (float)(1 << (x * 5 + t * 3) % 4) / 2;
}

static double with_scales(int row, int of_a, int col, int group)
{
    double sum = 0;
    for (int k = 0; k < BLOCK_K; k++)
        sum += factor((size_t)row, (size_t)k, (size_t)of_a, 0) * factor((size_t)col, (size_t)k, (size_t)group, 3) * (double)block_scale(row + of_a, k / 128) * (double)block_scale(col / 128 + group + 1, k / 128);
    return sum;
}

static float *nans(size_t n)
{
    float *x = malloc(n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

/* Sums and maxima of rows, and of a group's columns, from 0 and -infinity on. */
typedef struct along { float *row_sum, *column_sum, *row_max, *column_max; } along;
static along make_along(size_t rows, float greatest)
{
    along x = {calloc(rows, 4), calloc(N * GROUPS, 4), malloc(rows * 4), malloc(N * GROUPS * 4)};
    ck_assert(x.row_sum && x.column_sum && x.row_max && x.column_max);
    for (size_t i = 0; i < rows || i < N * GROUPS; i++)
        *(i < rows ? &x.row_max[i] : x.row_max) = *(i < N * GROUPS ? &x.column_max[i] : x.column_max) = greatest;
    return x;
}

static void drop_along(along *x)
{
    free(x->row_sum), free(x->column_sum), free(x->row_max), free(x->column_max);
}

/* Each element of D that is a group's, and what they give together: all of it exactly. */
static void check_blocks(const groups *g, placed *d, const sett_product_operands *o)
{
    const int kinds = matrices_of(g);
    const size_t rows = (size_t)(g->m * kinds);
    along want = make_along(rows, -INFINITY), got = make_along(rows, 0);
    from_device(d->host, d->data, d->bytes);
    from_device(got.row_sum, o->row_sum, rows * 4), from_device(got.row_max, o->row_max, rows * 4);
    from_device(got.column_sum, o->column_sum, N * GROUPS * 4), from_device(got.column_max, o->column_max, N * GROUPS * 4);
    for (int i = 0; i < g->m * kinds; i++)
        for (int col = 0; col < N && group_of(g, i) >= 0; col++) {
            const int of_a = i / g->m, row = i % g->m, group = group_of(g, i), at = group * N + col;
            const double is = element(SETT_F32, at_of(d, (size_t)row, (size_t)col, (size_t)of_a));
            const float x = (float)with_scales(row, of_a, col, group);
            ck_assert_msg(is == (double)x, ".expected_m %d, row %d of group %d, column %d: %g, not %g", o->expected_m, i, group, col, is, (double)x);
            want.row_sum[i] += x, want.column_sum[at] += x, want.row_max[i] = fmaxf(want.row_max[i], x), want.column_max[at] = fmaxf(want.column_max[at], x);
        }
    ck_assert_msg(!memcmp(want.row_sum, got.row_sum, rows * 4) && !memcmp(want.row_max, got.row_max, rows * 4), ".expected_m %d: of rows", o->expected_m);
    ck_assert_msg(!memcmp(want.column_sum, got.column_sum, N * GROUPS * 4) && !memcmp(want.column_max, got.column_max, N * GROUPS * 4), ".expected_m %d: of columns", o->expected_m);
    drop_along(&want), drop_along(&got);
}

START_TEST(scales_of_blocks)
{
    groups g = deal((sett_grouped)_i);
    if (!has_wgmma())
        return;
    const size_t m = (size_t)g.m, kinds = (size_t)matrices_of(&g), ldsa = (m + 3) / 4 * 4, of_sa = ldsa * K_BLOCKS * kinds, of_sb = LDSB * N_BLOCKS * GROUPS;
    placed a = place(SETT_F8E4M3FN, (size_t[]){m, BLOCK_K, GROUPS}, kinds > 1, 0, 16, 0), b = place(SETT_F8E4M3FN, (size_t[]){N, BLOCK_K, GROUPS}, true, 0, 16, 0);
    placed d = place(SETT_F32, (size_t[]){m, N, GROUPS}, kinds > 1, 0, 16, 0);
    float *sa = nans(of_sa), *sb = nans(of_sb);
    for (size_t i = 0; i < m * kinds * K_BLOCKS; i++)
        sa[i % m + (i / m) * ldsa] = block_scale((int)(i % m + i / m / K_BLOCKS), (int)(i / m % K_BLOCKS));
    for (size_t i = 0; i < N_BLOCKS * K_BLOCKS * GROUPS; i++)
        sb[i / K_BLOCKS * LDSB + i % K_BLOCKS] = block_scale((int)(i / K_BLOCKS % N_BLOCKS + i / K_BLOCKS / N_BLOCKS + 1), (int)(i % K_BLOCKS));
    fill_factors(&a, 0), fill_factors(&b, 3);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F8E4M3FN, .d = SETT_F32, .n = N, .k = BLOCK_K, .block_scales = 1, .ldsb = LDSB, .grouped = g.way, .groups = GROUPS,
        .terms = {.row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}};
    sett_product_operands o = {.size = sizeof o, .a = a.buf.data, .b = b.buf.data, .d = d.buf.data, .sa = on_device(sa, of_sa * 4), .sb = on_device(sb, of_sb * 4)};
    give_table(&g, &o);
    sett_product *plan = prepare(&p, g.m);
    static const int usual[] = {0, 20, 60, 80, 112, 128};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        along from = make_along(m * kinds, -INFINITY);
        o.row_sum = on_device(from.row_sum, m * kinds * 4), o.row_max = on_device(from.row_max, m * kinds * 4);
        o.column_sum = on_device(from.column_sum, N * GROUPS * 4), o.column_max = on_device(from.column_max, N * GROUPS * 4);
        o.expected_m = usual[i];
        send(&d);
        run_plan(plan, g.m, &o);
        check_blocks(&g, &d, &o);
        float *mem[] = {o.row_sum, o.row_max, o.column_sum, o.column_max};
        for (int j = 0; j < 4; j++)
            sett_free(r.e, r.stream.device, mem[j]);
        drop_along(&from);
    }
    sett_product_free(plan);
    placed of[] = {a, b, d};
    drop_placed(3, of);
    sett_free(r.e, r.stream.device, (void *)(uintptr_t)o.sa), sett_free(r.e, r.stream.device, (void *)(uintptr_t)o.sb), sett_free(r.e, r.stream.device, g.data);
    free(sa), free(sb);
}
END_TEST

/* ---- what is chosen, and refused ------------------------------------------------------------------------------ */
START_TEST(kernels_of_groups)
{
    for (int way = 1; way <= WAYS; way++) {
        sett_product_kernel k[SETT_PRODUCT_KERNELS];
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 4096, .k = 7168, .grouped = (sett_grouped)way, .groups = 1};
        const int n = sett_product_kernels(&p, "sm_90a", k, &err);
        ck_assert_msg(n > 0 && n <= SETT_PRODUCT_KERNELS, "%s", err.text);
        for (int i = 0; i < n; i++)
            ck_assert(k[i].family->body == sett_gemm_wgmma && (int)k[i].options.wgmma.grouped == way && !k[i].options.wgmma.stream_k && !k[i].options.wgmma.batched);
    }
}
END_TEST

/* By the rows that a group has in the mean: of many groups of few rows a low tile, whatever all of them have together. */
START_TEST(choice_by_rows_of_a_group)
{
    static const struct { sett_grouped way; int groups, m; const char *text; } of[] = {{SETT_GROUPED_CONTIGUOUS, 256, 4096, "gemm_wgmma bm=32 bn=64: "},
        {SETT_GROUPED_MASKED, 8, 32, "gemm_wgmma bm=32 bn=64: "}, {SETT_GROUPED_CONTIGUOUS, 128, 128 * 30, "gemm_wgmma bm=64 bn=64: "} /* some have more than 32 */};
    char text[200];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 4096, .k = 7168, .grouped = of[i].way, .groups = of[i].groups};
        ck_assert_msg(sett_product_explain_for(&p, "sm_90a", of[i].m, text, sizeof text, &err) > 0, "%s", err.text);
        ck_assert_msg(!strncmp(text, of[i].text, strlen(of[i].text)) && strstr(text, ", 0 of "), "%s", text);
    }
    const sett_product_problem large = {.size = sizeof large, .dtype = SETT_BF16, .n = 4096, .k = 7168, .grouped = SETT_GROUPED_CONTIGUOUS, .groups = 4};
    ck_assert_msg(sett_product_explain_for(&large, "sm_90a", 4 * 8192, text, sizeof text, &err) > 0 && strstr(text, " bn=128"), "%s", text);
}
END_TEST

#define GROUPED(way_, groups_, n_, k_, ...) {.size = sizeof(sett_product_problem), .n = n_, .k = k_, .grouped = (sett_grouped)(way_), .groups = groups_, __VA_ARGS__}
enum { NONE = SETT_GROUPED_NONE, CONTIGUOUS = SETT_GROUPED_CONTIGUOUS, MASKED = SETT_GROUPED_MASKED };
static const struct { sett_product_problem p; const char *text; } bad[] = {{GROUPED(NONE, 2, 16, 16, .dtype = SETT_BF16), ".groups is 2: then .grouped is contiguous or masked"},
    {GROUPED(CONTIGUOUS, 0, 16, 16, .dtype = SETT_BF16), ".groups is 0: from 1 to 65535"}, {GROUPED(MASKED, 65536, 16, 16, .dtype = SETT_BF16), ".groups is 65536: from 1 to 65535"},
    {GROUPED(3, 0, 16, 16, .dtype = SETT_BF16), ".grouped is 3: from 0 to 2"}, {GROUPED(CONTIGUOUS, 2, 16, 16, .dtype = SETT_BF16, .batch = 2), ".grouped is contiguous: then .batch is 0"},
    {GROUPED(MASKED, 2, 16, 0, .dtype = SETT_BF16), ".grouped is masked: then .k is 1 or more"},
    {GROUPED(MASKED, 2, 16, 16, .dtype = SETT_F32), ".grouped is masked: .dtype is f16, bf16, f8E4M3FN, f8E5M2 or i8 then, and not f32"},
    {GROUPED(CONTIGUOUS, 2, 16, 16, .dtype = SETT_I8), ".grouped is contiguous: .d is a float then, or i8 with .quantise, and not i32"},
    {GROUPED(MASKED, 2, 16, 16, .dtype = SETT_BF16, .b_major = 1), ".grouped is masked: then .b_major is 0"}, {GROUPED(MASKED, 2, 12, 16, .dtype = SETT_BF16), ".grouped is masked: .n is 12, 24 bytes: a multiple of 16 then"},
    {GROUPED(MASKED, 2, 16, 16, .dtype = SETT_BF16, .batch_a = 100), ".grouped is masked: .batch_a is 100, 200 bytes: a multiple of 16 then"},
    {GROUPED(MASKED, 2, 16, 16, .dtype = SETT_BF16, .align = 8), ".grouped is masked: .align is 8: 16 then, or 0"}, {GROUPED(MASKED, 2, 16, 16, .dtype = SETT_BF16, .batch_d = 8), ".batch_d is 8: groups of D overlap, whose rows lie 16 apart: at least 64, or 0 for 64; or less, with an .ldd that leaves room between rows"},
    {GROUPED(CONTIGUOUS, 2, 16, 16, .dtype = SETT_BF16, .b = SETT_I4, .batch_b = 256), ".b is i4 of .dtype bf16, packed weights: then .batch_b is 0"},
    {GROUPED(CONTIGUOUS, 2, 16, 16, .dtype = SETT_BF16, .batch_b = -16), ".batch_b is -16: at least 0, or 0 for 256"}};

START_TEST(refused)
{
    sett_product *plan;
    size_t bytes;
    char want[300];
    snprintf(want, sizeof want, "sett_product_prepare: %s", bad[_i].text);
    ck_assert_int_eq(sett_product_prepare(r.e, r.stream.device, &bad[_i].p, 4, &plan, &bytes, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(other_targets)
{
    const sett_product_problem p = GROUPED(CONTIGUOUS, 2, 16, 16, .dtype = SETT_BF16), q = GROUPED(MASKED, 2, 16, 16, .dtype = SETT_BF16);
    ck_assert(sett_product_kernels(&p, "sm_80", NULL, &err) == -1 && err.status == SETT_E_TARGET);
    ck_assert_str_eq(err.text, "sett_product_kernels: .grouped is contiguous: products with groups need sm_90a, the target is sm_80");
    ck_assert(sett_product_kernels(&q, "sm_120a", NULL, &err) == -1 && err.status == SETT_E_TARGET);
    ck_assert_str_eq(err.text, "sett_product_kernels: .grouped is masked: products with groups need sm_90a, the target is sm_120a");
}
END_TEST

START_TEST(refused_at_a_run)
{
    char some[16];
    const int32_t *where = (const int32_t *)some;
    for (int way = 1; has_wgmma() && way <= WAYS; way++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 16, .k = 16, .grouped = (sett_grouped)way, .groups = 2};
        sett_product *plan = prepare(&p, 8);
        sett_product_operands o = {.size = sizeof o, .a = some, .b = some, .d = some, .offsets = way == SETT_GROUPED_MASKED ? where : NULL, .counts = way == SETT_GROUPED_MASKED ? NULL : where};
        ck_assert_int_eq(sett_product_run(plan, 8, &o, NULL, 0, r.stream, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, way == SETT_GROUPED_MASKED ? "sett_product_run: .offsets is given, and .grouped is masked" : "sett_product_run: .offsets is NULL");
        o.offsets = NULL;
        ck_assert_int_eq(sett_product_run(plan, 8, &o, NULL, 0, r.stream, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, way == SETT_GROUPED_MASKED ? "sett_product_run: .counts is NULL" : "sett_product_run: .offsets is NULL");
        o.offsets = way == SETT_GROUPED_MASKED ? NULL : where, o.counts = way == SETT_GROUPED_MASKED ? where : NULL, o.expected_m = -1;
        ck_assert_int_eq(sett_product_run(plan, 8, &o, NULL, 0, r.stream, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, "sett_product_run: .expected_m is -1: 0 or more");
        ck_assert_int_eq(sett_product_run(plan, 0, &o, NULL, 0, r.stream, &err), SETT_OK); /* nothing is launched */
        sett_product_free(plan);
    }
}
END_TEST

/* On the CPU engine, where the host has it, a table of rows that are none of A's is refused. */
START_TEST(tables_that_are_wrong)
{
    static const struct { sett_grouped way; int32_t table[4]; const char *text; } of[] = {{SETT_GROUPED_CONTIGUOUS, {0, 2, 5, 9}, ".offsets[3] is 9: from .offsets[2], 5, to m, 8"},
        {SETT_GROUPED_CONTIGUOUS, {0, 4, 3, 8}, ".offsets[2] is 3: from .offsets[1], 4, to m, 8"}, {SETT_GROUPED_CONTIGUOUS, {-1, 4, 5, 8}, ".offsets[0] is -1: from 0 to m, 8"},
        {SETT_GROUPED_CONTIGUOUS, {9, 9, 9, 9}, ".offsets[0] is 9: from 0 to m, 8"}, {SETT_GROUPED_MASKED, {8, 9, 0}, ".counts[1] is 9: from 0 to m, 8"},
        {SETT_GROUPED_MASKED, {8, 0, -2}, ".counts[2] is -2: from 0 to m, 8"}, {SETT_GROUPED_CONTIGUOUS, {3, 3, 4, 7}, NULL}, {SETT_GROUPED_MASKED, {8, 0, 3}, NULL}};
    static uint16_t a[3 * 10 * 16], b[3 * 16 * 16], d[3 * 10 * 16]; /* masked ones lie 10 rows apart */
    for (size_t i = 0; r.stream.device == SETT_CPU && i < sizeof of / sizeof *of; i++) {
        const bool masked = of[i].way == SETT_GROUPED_MASKED;
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 16, .k = 16, .grouped = of[i].way, .groups = 3};
        sett_product *plan = prepare(&p, 10);
        const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d, .offsets = masked ? NULL : of[i].table, .counts = masked ? of[i].table : NULL};
        char want[120];
        snprintf(want, sizeof want, "sett_product_run: %s", of[i].text ? of[i].text : "");
        ck_assert_int_eq(sett_product_run(plan, 8, &o, NULL, 0, r.stream, &err), of[i].text ? SETT_E_ARGUMENT : SETT_OK);
        ck_assert(!of[i].text || !strcmp(err.text, want));
        sett_product_free(plan);
    }
}
END_TEST

/* Where no stride is given AUX of a masked group begins where its D does: max_m rows, not m, from one to the next. */
START_TEST(aux_lies_as_d_does)
{
    enum { M = 5, MAX_M = 9, GROUPS_OF = 3, EVERY = GROUPS_OF * MAX_M * N };
    static const int32_t counts[] = {5, 1, 4};
    const size_t bytes = EVERY * 2;
    if (!has_wgmma())
        return;
    char *a = random_bytes(GROUPS_OF * MAX_M, K, SETT_BF16), *b = random_bytes(GROUPS_OF * N, K, SETT_BF16), *d = zeros(bytes), *aux = zeros(bytes);
    int32_t *table = on_device(counts, sizeof counts);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = N, .k = K, .grouped = SETT_GROUPED_MASKED, .groups = GROUPS_OF, .terms = {.aux = 1}};
    sett_product *plan = prepare(&p, MAX_M);
    const sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d, .aux = aux, .counts = table};
    run_plan(plan, M, &o);
    uint16_t got[2][EVERY];
    from_device(got[0], d, bytes), from_device(got[1], aux, bytes);
    ck_assert(!memcmp(got[0], got[1], bytes));
    for (int i = 0; i < EVERY; i += N)
        ck_assert_msg(!got[0][i] == (i / N % MAX_M >= counts[i / N / MAX_M]), "row %d", i / N);
    void *mem[] = {a, b, d, aux, table};
    for (int i = 0; i < 5; i++)
        sett_free(r.e, r.stream.device, mem[i]);
    sett_product_free(plan);
}
END_TEST

Suite *product_groups_suite(void)
{
    Suite *s = suite_create("product_groups");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, against_plain_c, 0, WAYS * (int)(sizeof shapes / sizeof *shapes));
    tcase_add_loop_test(t, bits_of_a_product_of_each, 1, WAYS + 1);
    tcase_add_loop_test(t, scales_of_blocks, 1, WAYS + 1);
    tcase_add_test(t, kernels_of_groups);
    tcase_add_test(t, choice_by_rows_of_a_group);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, other_targets);
    tcase_add_test(t, refused_at_a_run);
    tcase_add_test(t, tables_that_are_wrong);
    tcase_add_test(t, aux_lies_as_d_does);
    suite_add_tcase(s, t);
    return s;
}
