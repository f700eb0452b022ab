/* SPDX-License-Identifier: Apache-2.0 */
/* Products of fp8 with two levels of sums, and with scales of blocks (sett_gemm_wgmma, .promote, .block_scales): bit for bit what plain products
 * of 128 of K give when their sums are added in Float32 one after the other, and near the sums in double. On the CPU engine or, with
 * SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/product_rig.h"

enum { BLOCK = 128 };
typedef enum way { PROMOTE, SCALED, BLOCKS } way;
static const struct tile { int bm, bn, cluster, workers, streamed; way way; int swiglu; sett_dtype a, b; } tiles[] = {
    /* two parts in turn, of one warp group and of two; one part */
    {64, 64, 1, 0, 0, PROMOTE, 0, SETT_F8E4M3FN, 0}, {64, 128, 1, 0, 0, PROMOTE, 0, SETT_F8E5M2, 0}, {128, 128, 1, 0, 0, PROMOTE, 0, SETT_F8E4M3FN, SETT_F8E5M2}, {48, 128, 1, 0, 0, SCALED, 0, SETT_F8E4M3FN, 0},
    {64, 64, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {64, 128, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {128, 128, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {56, 256, 1, 0, 0, BLOCKS, 0, SETT_F8E5M2, SETT_F8E4M3FN},
    {24, 128, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {8, 64, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {128, 64, 2, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {112, 128, 2, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {0, 0, 0, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0},
    /* a gate and up: of two groups and of one */
    {0, 0, 0, 0, 0, BLOCKS, 1, SETT_F8E4M3FN, 0}, {32, 128, 1, 0, 0, BLOCKS, 1, SETT_F8E4M3FN, 0}, {16, 256, 1, 0, 0, PROMOTE, 1, SETT_F8E4M3FN, 0},
    {104, 128, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {40, 256, 1, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0}, {128, 128, 1, 0, 0, BLOCKS, 1, SETT_F8E5M2, SETT_F8E4M3FN}, {128, 128, 2, 0, 0, BLOCKS, 0, SETT_F8E4M3FN, 0},
    /* shares of K */
    {56, 256, 1, 5, 1, BLOCKS, 0, SETT_F8E4M3FN, 0},
    {64, 64, 1, 7, 2, PROMOTE, 0, SETT_F8E4M3FN, 0}, {64, 64, 1, 7, 2, BLOCKS, 0, SETT_F8E4M3FN, 0}, {128, 128, 1, 5, 1, BLOCKS, 1, SETT_F8E4M3FN, 0}, {128, 128, 1, 5, 1, BLOCKS, 0, SETT_F8E4M3FN, 0}, {112, 64, 2, 5, 1, BLOCKS, 0, SETT_F8E4M3FN, 0}};

/* A problem: host copies as doubles, or floats, and what is on the device. */
typedef struct problem {
    const struct tile *tile;
    int m, n, k, rows_b, blocks_k, la, lsa;
    double *a, *b;          /* (m,k), (rows_b,k) */
    float *sa, *sb, *sums;  /* (m,blocks_k) or (m), (rows of blocks,blocks_k) or (n); (m,rows_b), the reference */
    void *A, *B, *SA, *SB, *C;
} problem;

static int number(int least, int most)
{
    return least + (int)((uniform(&r.seed) + 1) / 2 * (most - least + 1));
}

static void *on_device(const void *host, size_t bytes)
{
    void *p = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(p && !sett_memcpy(r.e, r.stream, p, host, bytes) && !sett_sync(r.e, r.stream));
    return p;
}

/* The nearest; f8E5M2 is the upper half of f16, here cut. Gives what it has become. */
static double put_byte(sett_dtype t, unsigned char *to, double v)
{
    uint16_t half;
    if (t == SETT_F8E4M3FN) {
        put(t, to, 0, v);
        return get(t, to, 0);
    }
    put(SETT_F16, &half, 0, v);
    half &= 0xff00;
    *to = (unsigned char)(half >> 8);
    return get(SETT_F16, &half, 0);
}

/* Random numbers, rows `apart`; behind each of them what nobody reads, NaN. */
static void *bytes(sett_dtype t, int rows, int k, int apart, double *was)
{
    unsigned char *host = malloc((size_t)rows * (size_t)apart);
    ck_assert_ptr_nonnull(host);
    memset(host, 0xff, (size_t)rows * (size_t)apart);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < k; j++) {
            const size_t at = (size_t)i * (size_t)apart + (size_t)j;
            was[(size_t)i * (size_t)k + (size_t)j] = put_byte(t, host + at, (uniform(&r.seed) + uniform(&r.seed) + uniform(&r.seed)) * (i % 3 ? 1 : 16));
        }
    void *p = on_device(host, (size_t)rows * (size_t)apart);
    free(host);
    return p;
}

static float *some_scales(size_t n)
{
    float *x = malloc(n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(uniform(&r.seed) + 1.5);
    return x;
}

/* Columns of SA lie `lsa` apart, and between them is NaN. */
static void *by_columns(const problem *p)
{
    const size_t n = (size_t)p->lsa * (size_t)p->blocks_k;
    float *host = malloc(n * sizeof *host);
    ck_assert_ptr_nonnull(host);
    memset(host, 0xff, n * sizeof *host);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->blocks_k; j++)
            host[j * p->lsa + i] = p->sa[i * p->blocks_k + j];
    void *at = on_device(host, n * sizeof *host);
    free(host);
    return at;
}

static int blocks_of_n(const problem *p)
{
    return (p->n + BLOCK - 1) / BLOCK << p->tile->swiglu;
}

static problem make_problem(const struct tile *t, int m, int n, int k)
{
    problem p = {.tile = t, .m = m, .n = n, .k = k, .rows_b = n << t->swiglu, .blocks_k = (k + BLOCK - 1) / BLOCK, .la = (k + 15) / 16 * 16 + 16, .lsa = (m + 3) / 4 * 4 + 4};
    p.a = malloc((size_t)(m * k) * sizeof *p.a), p.b = malloc((size_t)(p.rows_b * k) * sizeof *p.b), p.sums = calloc((size_t)(m * p.rows_b), sizeof *p.sums);
    ck_assert(p.a && p.b && p.sums);
    p.A = bytes(t->a, m, k, p.la, p.a), p.B = bytes(t->b ? t->b : t->a, p.rows_b, k, p.la, p.b);
    const bool blocks = t->way == BLOCKS;
    const size_t rows_sb = (size_t)(blocks ? blocks_of_n(&p) * p.blocks_k : n);
    p.sa = some_scales((size_t)(blocks ? m * p.blocks_k : m)), p.sb = some_scales(rows_sb);
    p.SA = blocks ? by_columns(&p) : on_device(p.sa, (size_t)m * sizeof *p.sa), p.SB = on_device(p.sb, rows_sb * sizeof *p.sb);
    p.C = sett_alloc(r.e, r.stream.device, (size_t)(m * p.rows_b) * sizeof(float));
    ck_assert_ptr_nonnull(p.C);
    return p;
}

static void drop_problem(problem *p)
{
    void *host[] = {p->a, p->b, p->sa, p->sb, p->sums}, *device[] = {p->A, p->B, p->SA, p->SB, p->C};
    for (int i = 0; i < 5; i++)
        free(host[i]), sett_free(r.e, r.stream.device, device[i]);
}

static float scale_of(const problem *p, int row, int col, int block)
{
    const int up = col >= p->n, of_n = (col - up * p->n) / BLOCK + up * (blocks_of_n(p) / 2);
    return p->sa[row * p->blocks_k + block] * p->sb[of_n * p->blocks_k + block];
}

/* p->sums: products of 128 of K by the plain kernel, added one after the other. */
static void add_plain_products(problem *p)
{
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = p->tile->a, .b = p->tile->b, .c = SETT_F32, .tuning = {.bm = 64, .bn = 64}};
    const size_t n = (size_t)(p->m * p->rows_b);
    float *part = malloc(n * sizeof *part);
    ck_assert_ptr_nonnull(part);
    for (int j = 0; j < p->blocks_k; j++) {
        const size_t k = (size_t)(p->k - j * BLOCK < BLOCK ? p->k - j * BLOCK : BLOCK), m = (size_t)p->m, nb = (size_t)p->rows_b;
        sett_buf A = rows_of((char *)p->A + j * BLOCK, p->tile->a, m, k, (size_t)p->la), C = sett_buf_2d(p->C, SETT_F32, p->m, p->rows_b);
        sett_buf B = rows_of((char *)p->B + j * BLOCK, p->tile->b ? p->tile->b : p->tile->a, nb, k, (size_t)p->la);
        RUN(sett_gemm_wgmma, &o, &A, &B, &C);
        ck_assert(!sett_memcpy(r.e, r.stream, part, p->C, n * sizeof *part) && !sett_sync(r.e, r.stream));
        for (size_t i = 0; i < n; i++) {
            const int row = (int)i / p->rows_b, col = (int)i % p->rows_b;
            p->sums[i] = p->tile->way == BLOCKS ? fmaf(scale_of(p, row, col, j), part[i], p->sums[i]) : p->sums[i] + part[i];
        }
    }
    free(part);
}

static void run_promoted(problem *p, float *got)
{
    enum { LEFT = 1 << 8, PARTIAL = 1 << 19 };
    static const uint32_t zero[LEFT];
    const struct tile *t = p->tile;
    const bool streams = t->workers > 0;
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = t->a, .b = t->b, .c = SETT_F32, .promote = t->way != BLOCKS, .block_scales = t->way == BLOCKS, .scaled = t->way == SCALED, .swiglu = t->swiglu,
        .stream_k = streams, .tuning = {.bm = t->bm, .bn = t->bn, .cluster = t->cluster, .clusters = streams ? 0 : 2}};
    void *partial = sett_alloc(r.e, r.stream.device, PARTIAL * 4), *left = on_device(zero, sizeof zero);
    sett_buf A = rows_of(p->A, t->a, (size_t)p->m, (size_t)p->k, (size_t)p->la), B = rows_of(p->B, t->b ? t->b : t->a, (size_t)p->rows_b, (size_t)p->k, (size_t)p->la);
    sett_buf C = sett_buf_2d(p->C, SETT_F32, p->m, p->n), SA = sett_buf_1d(p->SA, SETT_F32, p->m), SB = sett_buf_1d(p->SB, SETT_F32, p->n);
    sett_buf P = sett_buf_1d(partial, SETT_F32, PARTIAL), L = sett_buf_1d(left, SETT_U32, LEFT);
    if (t->way == BLOCKS) {
        SA = sett_buf_2d(p->SA, SETT_F32, p->m, p->blocks_k), SB = sett_buf_2d(p->SB, SETT_F32, blocks_of_n(p), p->blocks_k);
        SA.stride[0] = 1, SA.stride[1] = p->lsa;
    }
    ck_assert_ptr_nonnull(partial);
    if (streams && t->way == BLOCKS)
        RUN(sett_gemm_wgmma, &o, &A, &B, &C, &SA, &SB, &P, &L, t->workers, t->streamed);
    else if (streams)
        RUN(sett_gemm_wgmma, &o, &A, &B, &C, &P, &L, t->workers, t->streamed);
    else if (t->way == PROMOTE)
        RUN(sett_gemm_wgmma, &o, &A, &B, &C);
    else
        RUN(sett_gemm_wgmma, &o, &A, &B, &C, &SA, &SB);
    ck_assert(!sett_memcpy(r.e, r.stream, got, p->C, (size_t)(p->m * p->n) * sizeof *got) && !sett_sync(r.e, r.stream));
    sett_free(r.e, r.stream.device, partial), sett_free(r.e, r.stream.device, left);
}

/* In double: the sum, and in *most that of magnitudes. */
static double exactly(const problem *p, int row, int col, double *most)
{
    double sum = 0;
    *most = 0;
    for (int x = 0; x < p->k; x++) {
        const double by = p->tile->way == BLOCKS ? (double)p->sa[row * p->blocks_k + x / BLOCK] : 1, one = p->a[row * p->k + x] * p->b[col * p->k + x];
        const double all = p->tile->way == BLOCKS ? by * (double)(scale_of(p, row, col, x / BLOCK) / p->sa[row * p->blocks_k + x / BLOCK]) : by;
        sum += all * one, *most += fabs(all * one);
    }
    return sum;
}

static void check_element(const problem *p, int row, int col, float got)
{
    const float ref = p->sums[row * p->rows_b + col], up = p->sums[row * p->rows_b + col + p->rows_b - p->n];
    double most, sum = exactly(p, row, col, &most);
    const double bound = most * (5 * 0x1p-13 + p->blocks_k * 0x1p-23);
    ck_assert_msg(fabs((double)ref - sum) <= bound, "(%d,%d): the sum of plain products is %g, exactly %g, magnitudes %g", row, col, (double)ref, sum, most);
    if (p->tile->swiglu) {
        const double want = (double)ref / (1 + exp(-(double)ref)) * (double)up, other = p->tile->workers ? most * p->blocks_k * 0x1p-22 : 0; /* in another order */
        ck_assert_msg(fabs((double)got - want) <= fabs(want) * 0x1p-19 + 0x1p-30 + other * (1.1 * fabs((double)up) + fabs((double)ref)), "(%d,%d): %g, not %g", row, col, (double)got, want);
    } else if (p->tile->workers) { /* in another order */
        ck_assert_msg(fabs((double)got - (double)ref) <= most * p->blocks_k * 0x1p-23, "(%d,%d): %g, not %g", row, col, (double)got, (double)ref);
    } else {
        const float want = p->tile->way == SCALED ? ref * (p->sa[row]) * p->sb[col] : ref;
        ck_assert_msg(got == want, "(%d,%d): %.9g, not %.9g", row, col, (double)got, (double)want);
    }
}

START_TEST(two_levels)
{
    const struct tile *t = &tiles[_i];
    r.seed = (uint64_t)_i * 7919 + 1;
    const int shapes[][3] = {{number(1, 140), 4 * number(1, 70), number(1, 700)}, {number(100, 140), 4 * number(33, 70), number(385, 640)}, {number(1, 20), 4 * number(1, 33), number(1, 128)}};
    for (int s = 0; has_wgmma() && s < (t->workers ? 2 : 3); s++) {
        problem p = make_problem(t, shapes[s][0], shapes[s][1], shapes[s][2]);
        float *got = malloc((size_t)(p.m * p.n) * sizeof *got);
        ck_assert_ptr_nonnull(got);
        add_plain_products(&p);
        run_promoted(&p, got);
        for (int i = 0; i < p.m * p.n; i++)
            check_element(&p, i / p.n, i % p.n, got[i]);
        free(got);
        drop_problem(&p);
    }
}
END_TEST

/* Tiles whose sums a thread holds twice. */
START_TEST(tile_of_two_levels)
{
    static const struct { int m, n, swiglu, bn, bm, want_bn; } of[] = {{0, 0, 0, 0, 128, 128}, {0, 0, 1, 0, 128, 128}, {0, 0, 0, 256, 48, 256}, {8192, 8192, 0, 0, 128, 128}, {8192, 8192, 1, 0, 128, 128},
        {16, 4096, 0, 0, 32, 64}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_F8E4M3FN, .block_scales = 1, .swiglu = of[i].swiglu, .tuning = {.m = of[i].m, .n = of[i].n, .bn = of[i].bn}};
        ck_assert_msg(!sett_kernels_choose(sett_gemm_wgmma, &o, "sm_90a", &err), "%s", err.text);
        ck_assert_msg(o.tuning.bm == of[i].bm && o.tuning.bn == of[i].want_bn && o.promote == 1, "M %d N %d: bm %d bn %d", of[i].m, of[i].n, o.tuning.bm, o.tuning.bn);
    }
}
END_TEST

/* What a launch says of scales that lie otherwise. */
START_TEST(scales_refused)
{
    enum { M = 64, N = 256, K = 256 };
    static const struct { int64_t shape[2], stride[2]; int of_b; const char *text; } odd[] = {
        {{M, 2}, {2, 1}, 0, "gemm_wgmma: SA's mode 0 must be contiguous: its stride is 2; SA is (M,K+127>>7)"},
        {{M, 2}, {1, M + 2}, 0, "gemm_wgmma: LSA = 66 (SA stride 1) is not a multiple of 4"},
        {{M, 3}, {1, M}, 0, "gemm_wgmma: SA mode 1 is 3, K+127>>7 is 2"},
        {{1, 2}, {2, 1}, 1, "gemm_wgmma: SB mode 0 is 1, N+127>>7 is 2"},
        {{2, 2}, {1, 2}, 1, "gemm_wgmma: SB's mode 1 must be contiguous: its stride is 2; SB is (N+127>>7,K+127>>7)"},
    };
    const sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_F8E4M3FN, .block_scales = 1};
    void *any = (void *)(uintptr_t)4096; /* nothing is read */
    if (!has_wgmma())
        return;
    sett_kernel *k = compiled(sett_gemm_wgmma, &o);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        sett_buf A = sett_buf_2d(any, SETT_F8E4M3FN, M, K), B = sett_buf_2d(any, SETT_F8E4M3FN, N, K), C = sett_buf_2d(any, SETT_BF16, M, N);
        sett_buf SA = sett_buf_2d(any, SETT_F32, M, 2), SB = sett_buf_2d(any, SETT_F32, 2, 2), *x = odd[i].of_b ? &SB : &SA;
        SA.stride[0] = 1, SA.stride[1] = M;
        for (int j = 0; j < 2; j++)
            x->shape[j] = odd[i].shape[j], x->stride[j] = odd[i].stride[j];
        const sett_status s = sett_launch(k, r.stream, &err, &A, &B, &C, &SA, &SB);
        ck_assert_msg(s && !strcmp(err.text, odd[i].text), "%s\nis not\n%s", err.text, odd[i].text);
    }
    sett_kernel_release(k);
}
END_TEST

Suite *promote_suite(void)
{
    Suite *s = suite_create("promote");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, tile_of_two_levels);
    tcase_add_test(t, scales_refused);
    tcase_add_loop_test(t, two_levels, 0, sizeof tiles / sizeof *tiles);
    suite_add_tcase(s, t);
    return s;
}
