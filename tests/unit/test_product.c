/* SPDX-License-Identifier: Apache-2.0 */
/* sett_product against plain C, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: every number of rows, however operands lie; what it
 * chooses; the bits of a row; what it refuses. */
#include "kernels/product.h"
#undef T
#include "tests/rig/plan_rig.h"

/* Scales of all batches, one behind the other. */
static float *scales(size_t n, size_t l, size_t from)
{
    float *host = malloc(n * l * sizeof *host), *data = sett_alloc(r.e, r.stream.device, n * l * sizeof *host);
    ck_assert(host && data);
    for (size_t i = 0; i < n * l; i++)
        host[i] = (float)scale_of(i % n + from, i / n);
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, n * l * sizeof *host) && !sett_sync(r.e, r.stream));
    free(host);
    return data;
}

/* The problem of the rig as a product's, and its operands; the plan may be for more rows. */
static void check_product(const problem *p, const planned *have)
{
    const sett_gemm_mma_options *o = &p->o;
    const size_t rows_b = p->n << o->swiglu, align = (size_t)o->align, align_c = (size_t)o->align_c;
    placed x[] = {place(o->dtype, (size_t[]){p->m, p->k, p->l}, o->batched, o->a_major, align, p->more), place(o->b, (size_t[]){rows_b, p->k, p->l}, o->batched, o->b_major, align, p->more),
        place(o->c, (size_t[]){p->m, p->n, p->l}, o->batched, 0, align_c, p->more), place(o->c, (size_t[]){p->m, p->n, p->l}, o->batched, 0, align_c, p->more)};
    float *sa = scales(p->m, p->l, 0), *sb = scales(p->n, p->l, 1);
    fill_factors(&x[A], 0), fill_factors(&x[B], 3), fill_factors(&x[R], 1);
    send(&x[C]);
    const sett_product_problem asked = {.size = sizeof asked, .dtype = o->dtype, .b = o->b, .d = o->c, .n = (int)p->n, .k = (int)p->k, .a_major = o->a_major, .b_major = o->b_major,
        .scaled = o->scaled, .swiglu = o->swiglu, .residual = o->residual, .tf32 = o->tf32, .batch = o->batched ? (int)p->l : 0, .align = (int)(align < align_c ? align : align_c),
        .lda = (int64_t)x[A].stride[!!o->a_major], .ldb = (int64_t)x[B].stride[!!o->b_major], .ldr = (int64_t)x[R].stride[0], .ldd = (int64_t)x[C].stride[0],
        .batch_a = (int64_t)x[A].stride[2], .batch_b = (int64_t)x[B].stride[2], .batch_r = (int64_t)x[R].stride[2], .batch_d = (int64_t)x[C].stride[2]};
    planned own = have ? *have : prepare(&asked, (int)p->m);
    const sett_product_operands operands = {.size = sizeof operands, .a = p->k ? x[A].buf.data : NULL, .b = p->k ? x[B].buf.data : NULL, .r = o->residual ? x[R].buf.data : NULL, .d = x[C].buf.data, .sa = o->scaled ? sa : NULL, .sb = o->scaled ? sb : NULL};
    run_plan(&own, (int)p->m, &operands);
    check_result(p, &x[C]);
    if (!have)
        drop_plan(&own);
    drop_placed(SA, x);
    sett_free(r.e, r.stream.device, sa), sett_free(r.e, r.stream.device, sb);
}

/* ---- right ------------------------------------------------------------------------------------------------ */
START_TEST(every_number_of_rows)
{
    enum { N = 200, K = 520, MOST = 300 };
    static const int rows[] = {1, 2, 7, 8, 9, 16, 17, 31, 33, 48, 64, 65, 96, 97, 128, 129, 144, 145, 160, 161, 257, 300};
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = N, .k = K};
    planned x = prepare(&p, MOST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const problem one = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_BF16, .align = 16, .align_c = 16}, .m = (size_t)rows[i], .n = N, .k = K, .l = 1};
        check_product(&one, &x);
    }
    drop_plan(&x);
}
END_TEST

/* Batches that TMA takes, with what lies between them. */
START_TEST(batches)
{
    for (int i = 0; i < 4; i++) {
        const problem p = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_BF16, .batched = 1, .scaled = i == 1, .swiglu = i == 2, .residual = i == 3, .align = 16, .align_c = 16}, .m = 20 + 37 * (size_t)i, .n = 144, .k = 136, .l = 3, .more = i % 2};
        check_product(&p, NULL);
    }
}
END_TEST

/* Products of fp8 by each kernel that has sums of two levels, on integers whose sums need no more than 13 bits. */
START_TEST(promoted)
{
    enum { N = 208, K = 272, MOST = 150 };
    static const int rows[] = {1, 8, 9, 33, 57, 64, 65, 80, 97, 128, 129, 150};
    for (int way = 0; way < 4; way++) {
        const sett_dtype a = way % 2 ? SETT_F8E5M2 : SETT_F8E4M3FN;
        const problem one = {.o = {.dtype = a, .b = SETT_F8E4M3FN, .c = SETT_BF16, .scaled = way == 1, .swiglu = way >= 2, .residual = way == 3, .align = 16, .align_c = 16}, .n = N, .k = K, .l = 1};
        const sett_product_problem p = {.size = sizeof p, .dtype = a, .b = SETT_F8E4M3FN, .d = SETT_BF16, .n = N, .k = K, .scaled = one.o.scaled, .swiglu = one.o.swiglu, .residual = one.o.residual,
            .promote = 1, .batch_invariant = way == 2};
        planned x = prepare(&p, MOST);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            problem this = one;
            this.m = (size_t)rows[i];
            check_product(&this, &x);
        }
        drop_plan(&x);
    }
}
END_TEST

/* 16384 + 4095 ones: the tensor core loses all of these, or those of its first 128 of K. */
START_TEST(sums_of_two_levels)
{
    enum { M = 9, N = 16, K = 4096 };
    static uint8_t ones[N * K];
    static float d[M * N];
    memset(ones, 0x38, sizeof ones);
    ones[0] = 0x70; /* 128 */
    void *x = sett_alloc(r.e, r.stream.device, sizeof ones), *to = sett_alloc(r.e, r.stream.device, sizeof d);
    ck_assert(x && to && !sett_memcpy(r.e, r.stream, x, ones, sizeof ones));
    const sett_product_operands o = {.size = sizeof o, .a = x, .b = x, .d = to};
    for (int promote = 0; promote < 2; promote++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F8E4M3FN, .d = SETT_F32, .n = N, .k = K, .promote = promote, .batch_invariant = 1};
        planned own = prepare(&p, M);
        run_plan(&own, M, &o);
        ck_assert(!sett_memcpy(r.e, r.stream, d, to, sizeof d) && !sett_sync(r.e, r.stream));
        ck_assert_msg(d[0] == (promote ? 16384 + 31 * 128 : 16384) || !has_wgmma(), ".promote %d: %g", promote, (double)d[0]);
        ck_assert_msg(d[N + 1] == K, ".promote %d: %g", promote, (double)d[N + 1]);
        drop_plan(&own);
    }
    sett_free(r.e, r.stream.device, x), sett_free(r.e, r.stream.device, to);
}
END_TEST

static void *floats_at(const float *x, size_t n)
{
    void *data = sett_alloc(r.e, r.stream.device, n * sizeof *x);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, x, n * sizeof *x) && !sett_sync(r.e, r.stream));
    return data;
}

/* Scales of blocks against sums in double: powers of two, so that all of it is exact in any order. What lies between columns of SA, and
 * rows of SB, is NaN. */
static float block_scale(int x, int t)
{
    return (float)(1 << (x * 5 + t * 3) % 4) / 2;
}

static double small_number(int row, int k)
{
    return (row * 7 + k * 5) % 5 - 2;
}

static void *fp8_matrix(int rows, int cols)
{
    static const uint8_t code[] = {0xc0, 0xb8, 0, 0x38, 0x40}; /* -2, -1, 0, 1, 2 of f8E4M3FN */
    uint8_t *host = malloc((size_t)(rows * cols));
    void *data = sett_alloc(r.e, r.stream.device, (size_t)(rows * cols));
    ck_assert(host && data);
    for (int i = 0; i < rows * cols; i++)
        host[i] = code[(int)small_number(i / cols, i % cols) + 2];
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, (size_t)(rows * cols)) && !sett_sync(r.e, r.stream));
    free(host);
    return data;
}

/* (rows,blocks): strides row and block apart. */
static void *blocks_of_scales(int rows, int blocks, int row, int block, int from)
{
    float host[4096];
    ck_assert_int_le((rows - 1) * row + (blocks - 1) * block + 1, 4096);
    for (int i = 0; i < 4096; i++)
        host[i] = NAN;
    for (int i = 0; i < rows * blocks; i++)
        host[i / blocks * row + i % blocks * block] = block_scale(i / blocks + from, i % blocks);
    return floats_at(host, 4096);
}

static double with_scales(int row, int b_row, int k, int scale_row)
{
    double sum = 0;
    for (int i = 0; i < k; i++)
        sum += small_number(row, i) * small_number(b_row, i) * (double)block_scale(row, i / 128) * (double)block_scale(scale_row + 1, i / 128);
    return sum;
}

START_TEST(scales_of_blocks)
{
    enum { N = 272, K = 400, MOST = 150, BLOCKS = 4, ROWS = 3, APART = 6 };
    static const struct { int m, ldsa; } of[] = {{1, 0}, {5, 0}, {8, 12}, {64, 64}, {65, 0}, {129, 160}, {150, 0}};
    static float d[MOST * N];
    for (int swiglu = 0; has_wgmma() && swiglu < 2; swiglu++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F8E4M3FN, .d = SETT_F32, .n = N, .k = K, .swiglu = swiglu, .block_scales = 1, .ldsb = APART};
        planned x = prepare(&p, MOST);
        void *at[] = {fp8_matrix(MOST, K), fp8_matrix(N << swiglu, K), floats_at(d, MOST * N), blocks_of_scales(ROWS << swiglu, BLOCKS, APART, 1, 1)};
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            const int m = of[i].m, apart = of[i].ldsa ? of[i].ldsa : (m + 3) / 4 * 4;
            void *sa = blocks_of_scales(m, BLOCKS, 1, apart, 0);
            const sett_product_operands o = {.size = sizeof o, .a = at[0], .b = at[1], .d = at[2], .sa = sa, .sb = at[3], .ldsa = of[i].ldsa};
            run_plan(&x, m, &o);
            ck_assert(!sett_memcpy(r.e, r.stream, d, at[2], sizeof *d * (size_t)(m * N)) && !sett_sync(r.e, r.stream));
            for (int row = 0; row < m; row++)
                for (int col = 0; col < N; col++) {
                    const double gate = with_scales(row, col, K, col / 128), up = swiglu ? with_scales(row, N + col, K, ROWS + col / 128) : 0;
                    const double want = swiglu ? gate / (1 + exp(-gate)) * up : gate, got = (double)d[row * N + col];
                    ck_assert_msg(fabs(got - want) <= (swiglu ? fabs(want) * 0x1p-19 + 0x1p-30 : 0), "swiglu %d, M %d, (%d,%d): %g, not %g", swiglu, m, row, col, got, want);
                }
            sett_free(r.e, r.stream.device, sa);
        }
        for (int i = 0; i < 4; i++)
            sett_free(r.e, r.stream.device, at[i]);
        drop_plan(&x);
    }
}
END_TEST

static const sett_dtype inputs[] = {SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2, SETT_I8, SETT_F32};
static unsigned draw(unsigned n)
{
    r.seed = r.seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r.seed >> 40) % n;
}

/* 16 bytes as often as less, so that both kinds of kernels have their share. */
static problem random_problem(void)
{
    static const sett_dtype outputs[] = {SETT_F32, SETT_F16, SETT_BF16, SETT_F8E4M3FN, SETT_F8E5M2};
    problem p = {.m = 1 + draw(200), .n = 1 + draw(150), .k = 1 + draw(200), .l = 1, .more = draw(3)};
    p.o.dtype = inputs[draw(6)], p.o.b = p.o.dtype;
    if (p.o.dtype == SETT_F8E4M3FN && draw(2))
        p.o.b = SETT_F8E5M2;
    p.o.c = outputs[draw(5)];
    p.o.residual = (int)draw(2), p.o.scaled = draw(3) == 0, p.o.swiglu = !p.o.scaled && p.o.dtype != SETT_I8 && draw(4) == 0;
    if (p.o.dtype == SETT_I8 && !p.o.scaled && draw(2))
        p.o.c = SETT_I32;
    p.o.a_major = draw(4) == 0, p.o.b_major = draw(4) == 0, p.o.batched = draw(5) == 0, p.l = p.o.batched ? 2 + draw(2) : 1;
    const int least_in = (int)bytes_of(p.o.dtype), least_out = (int)bytes_of(p.o.c);
    const int align = draw(3) ? 16 : 1 << draw(5);
    p.o.align = align > least_in ? align : least_in, p.o.align_c = align > least_out ? align : least_out;
    if (draw(2))
        p.n = (p.n + 15) / 16 * 16;
    p.o.tf32 = p.o.dtype == SETT_F32 && draw(2);
    return p;
}

START_TEST(random_products)
{
    r.seed = (uint64_t)_i + 1;
    for (int i = 0; i < (r.stream.device == SETT_CPU ? 10 : 1); i++) { /* each assembles eight kernels for a GPU */
        const problem p = random_problem();
        check_product(&p, NULL);
    }
}
END_TEST

/* relu(2 sums S + bias) and the greatest of them, at numbers of rows and columns that take each of the kernels. */
START_TEST(terms_of_a_product)
{
    enum { K = 64, MOST = 70 };
    static const struct { int m, n; } of[] = {{1, 48}, {8, 48}, {70, 48}, {70, 47}, {3, 47}}; /* small integers, whose sums are exact in any order */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const int m = of[i].m, n = of[i].n;
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .d = SETT_F32, .n = n, .k = K,
            .terms = {.alpha = 1, .scale = 1, .bias = 1, .activation = SETT_ACTIVATION_RELU, .amax = 1, .row_sum = 1, .column_sum = 1}};
        placed x[] = {place(SETT_BF16, (size_t[]){(size_t)m, K, 1}, false, 0, 16, 0), place(SETT_BF16, (size_t[]){(size_t)n, K, 1}, false, 0, 16, 0)};
        fill_factors(&x[0], 0), fill_factors(&x[1], 3);
        float bias[MOST], d[MOST * MOST] = {0}, scale = 0.5f, most = 0, greatest = 0;
        for (int j = 0; j < n; j++)
            bias[j] = (float)(j % 7) - 3;
        planned own = prepare(&p, m);
        float sums[2][MOST] = {{0}};
        void *at[] = {floats_at(bias, (size_t)n), floats_at(&scale, 1), floats_at(&most, 1), floats_at(d, (size_t)(m * n)), floats_at(sums[0], MOST), floats_at(sums[1], MOST)};
        const sett_product_operands o = {.size = sizeof o, .a = x[0].buf.data, .b = x[1].buf.data, .d = at[3], .bias = at[0], .s = at[1], .amax = at[2], .alpha = 2, .row_sum = at[4], .column_sum = at[5]};
        run_plan(&own, m, &o);
        ck_assert(!sett_memcpy(r.e, r.stream, d, at[3], sizeof(float) * (size_t)(m * n)) && !sett_memcpy(r.e, r.stream, &most, at[2], sizeof most) &&
            !sett_memcpy(r.e, r.stream, sums[0], at[4], sizeof sums[0]) && !sett_memcpy(r.e, r.stream, sums[1], at[5], sizeof sums[1]) && !sett_sync(r.e, r.stream));
        for (int row = 0; row < m; row++)
            for (int col = 0; col < n; col++) {
                float sum = bias[col];
                for (int k = 0; k < K; k++)
                    sum += (float)(factor((size_t)row, (size_t)k, 0, 0) * factor((size_t)col, (size_t)k, 0, 3));
                sum = sum > 0 ? sum : 0, greatest = sum > greatest ? sum : greatest;
                ck_assert_msg(d[row * n + col] == sum, "%d x %d, (%d,%d): %g, not %g", m, n, row, col, (double)d[row * n + col], (double)sum);
                sums[0][row] -= sum, sums[1][col] -= sum;
            }
        for (int j = 0; j < MOST; j++)
            ck_assert_msg(sums[0][j] == 0 && sums[1][j] == 0, "%d x %d, row and column %d: sums that are off by %g and %g", m, n, j, (double)sums[0][j], (double)sums[1][j]);
        ck_assert(most == greatest && greatest > 0);
        drop_plan(&own), drop_placed(2, x);
        for (int j = 0; j < 6; j++)
            sett_free(r.e, r.stream.device, at[j]);
    }
}
END_TEST

/* ---- what is chosen ------------------------------------------------------------------------------------------ */
/* Of every M, at any shape: the workers fit the workspace and the device, streamed tiles are whole columns of tiles, and the model's time is
 * no worse than that of whole tiles of any kernel. */
START_TEST(choices)
{
    static const int shapes[][2] = {{1280, 8192}, {8192, 1024}, {2112, 7168}, {24576, 1536}, {7168, 16384}, {37888, 3584}, {64, 64}, {8, 100000}, {100000, 8}};
    const sett_gemm_wgmma_options o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_BF16, .terms.amax = 2 /* without .ping_pong */};
    product_facts f = {.device = sett__device_of(90), .multiprocessors = 132, .batches = 1, .streams = true};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        f.n = shapes[i][0], f.k_tiles = (shapes[i][1] + 63) / 64;
        f.lda = f.ldb = f.bytes_a = shapes[i][1] * 2, f.bytes_b = (int64_t)shapes[i][0] * shapes[i][1] * 2, f.bytes_d = shapes[i][0] * 2;
        sett__product_tiles(&f, &o);
        ck_assert_int_eq(f.n_tiles, 8);
        for (int64_t m = 1; m <= 8192; m += m < 300 ? 1 : 97) {
            const product_way w = sett__product_choose(&f, m);
            const struct product_tile *t = &f.tile[w.kernel];
            const int64_t high = (m + t->bm - 1) / t->bm, together = high < 8 ? high : 8;
            ck_assert(w.workers >= 1 && w.workers * t->cluster <= 132 && w.streamed >= 0 && w.streamed <= w.tiles);
            ck_assert_int_eq(w.tiles, high * ((f.n + t->columns * t->cluster - 1) / (t->columns * t->cluster)));
            ck_assert_int_eq(w.streamed % together, 0);
            ck_assert(!w.streamed || w.workers >= together);
            for (int k = 0; k < f.n_tiles; k++) {
                const struct product_tile *other = &f.tile[k];
                const int64_t wide = other->columns * other->cluster, tiles = (m + other->bm - 1) / other->bm * ((f.n + wide - 1) / wide), most = 132 / other->cluster;
                const product_way whole = {.kernel = k, .tiles = tiles, .workers = (int)(tiles < most ? tiles : most)};
                ck_assert(w.us <= sett__product_us(&f, &whole, m));
            }
        }
    }
}
END_TEST

/* Few rows have their kernel, but where N is so small that its blocks are too few for the speed of memory, and K is long. */
START_TEST(choice_of_few_rows)
{
    static const struct { int n, k, m; bool few; } of[] = {{4096, 4096, 1, true}, {4096, 4096, 8, true}, {1280, 8192, 8, true}, {14336, 4096, 4, true}, {736, 4376, 7, true}, {992, 28648, 6, false}, {264, 20000, 2, false}};
    char text[200];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = of[i].n, .k = of[i].k};
        ck_assert_msg(sett_product_explain_for(&p, "sm_90a", of[i].m, text, sizeof text, &err) > 0, "%s", err.text);
        ck_assert_msg(!strncmp(text, "gemm_few_rows", 13) == of[i].few, "%d x %d x %d: %s", of[i].m, of[i].n, of[i].k, text);
    }
}
END_TEST

START_TEST(kernels_of_a_problem)
{
    static const struct { sett_product_problem p; const char *target; int n; sett_body body; } of[] = {
        {{.dtype = SETT_BF16, .n = 4096, .k = 4096}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_BF16, .n = 4096, .k = 4096}, NULL, 8, sett_gemm_wgmma},
        {{.dtype = SETT_BF16, .n = 4096, .k = 4096, .swiglu = 1}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_BF16, .n = 4096, .k = 4096}, "sm_80", 0, sett_gemm_mma},
        {{.dtype = SETT_BF16, .n = 4095, .k = 4096}, "sm_90a", 0, sett_gemm_mma}, {{.dtype = SETT_BF16, .n = 4096, .k = 4095}, "sm_90a", 0, sett_gemm_mma},
        {{.dtype = SETT_BF16, .n = 4096, .k = 4095, .lda = 4096, .ldb = 4096}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_F32, .n = 4096, .k = 4096}, "sm_90a", 0, sett_gemm_mma},
        {{.dtype = SETT_F32, .n = 4096, .k = 4096, .tf32 = 1}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_F32, .n = 4096, .k = 4096, .tf32 = 1, .d = SETT_BF16, .batch = 2}, "sm_90a", 8, sett_gemm_wgmma},
        {{.dtype = SETT_F32, .n = 4096, .k = 4096, .tf32 = 1, .b_major = 1}, "sm_90a", 0, sett_gemm_mma}, {{.dtype = SETT_F32, .n = 4096, .k = 4095, .tf32 = 1}, "sm_90a", 0, sett_gemm_mma},
        {{.dtype = SETT_F32, .n = 4096, .k = 4096, .tf32 = 1}, "sm_80", 0, sett_gemm_mma},
        {{.dtype = SETT_F8E4M3FN, .n = 4096, .k = 4096, .promote = 1}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_F8E5M2, .n = 4096, .k = 4096, .promote = 1, .swiglu = 1}, "sm_90a", 4, sett_gemm_wgmma},
        {{.dtype = SETT_F8E4M3FN, .n = 4096, .k = 4096, .block_scales = 1}, "sm_90a", 4, sett_gemm_wgmma}, {{.dtype = SETT_F8E4M3FN, .n = 4096, .k = 0, .block_scales = 1}, "sm_90a", 0, sett_gemm_mma},
        {{.dtype = SETT_F8E4M3FN, .n = 4096, .k = 4096, .promote = 1}, "sm_89", 0, sett_gemm_mma},
        {{.dtype = SETT_BF16, .n = 4096, .k = 128, .batch = 3}, "sm_90a", 8, sett_gemm_wgmma}, {{.dtype = SETT_BF16, .n = 4096, .k = 128, .batch = 3, .batch_a = 4, .align = 8}, "sm_90a", 0, sett_gemm_mma}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        sett_product_kernel k[SETT_PRODUCT_KERNELS];
        sett_product_problem p = of[i].p;
        p.size = sizeof p;
        const int n = sett_product_kernels(&p, of[i].target, k, &err);
        ck_assert_msg(n > 0, "%s", err.text);
        ck_assert(n <= SETT_PRODUCT_KERNELS && (!of[i].n || n == of[i].n));
        for (int j = 0; j < n; j++)
            ck_assert(k[j].family->body != sett_gemm_wgmma || (k[j].options.wgmma.batched == (p.batch > 1) && k[j].options.wgmma.stream_k == (p.batch <= 1 && !k[j].options.wgmma.tuning.ping_pong) && k[j].options.wgmma.tf32 == p.tf32 && k[j].options.wgmma.promote == (p.promote || p.block_scales) && k[j].options.wgmma.block_scales == p.block_scales));
        for (int j = 0; j < n; j++)
            ck_assert((k[j].family->body == of[i].body || (j == n - 1 && k[j].family->body == sett_gemm_few_rows)) && k[j].options.size);
    }
}
END_TEST

/* What a plan says of itself, and what is said without one. */
START_TEST(explained)
{
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 256, .k = 512}, odd = {.size = sizeof odd, .dtype = SETT_BF16, .n = 255, .k = 512};
    sett_product_problem settled = {.size = sizeof settled}, first = {.size = offsetof(sett_product_problem, b), .b = SETT_I8};
    char of_plan[200], alone[200], target[32];
    planned x = prepare(&p, 300);
    sett_product_query(x.plan, &settled);
    ck_assert(settled.size == sizeof settled && settled.b == SETT_BF16 && settled.d == SETT_BF16 && settled.lda == 512 && settled.ldb == 512 && settled.ldd == 256 && settled.align == 16);
    ck_assert(settled.batch_a == 300 * 512 && settled.batch_d == 300 * 256);
    sett_product_query(x.plan, &first);
    ck_assert(first.dtype == SETT_BF16 && first.b == SETT_I8 && first.size == offsetof(sett_product_problem, b));
    ck_assert_int_gt(sett_device_target(r.e, r.stream.device, target, sizeof target), 0);
    for (int m = 0; m <= 300; m += 50) {
        ck_assert_int_eq(sett_product_explain(x.plan, m, of_plan, sizeof of_plan), (int)strlen(of_plan));
        ck_assert_int_eq(sett_product_explain_for(&p, target, m, alone, sizeof alone, &err), (int)strlen(alone));
        ck_assert_str_eq(of_plan, alone);
    }
    ck_assert_int_gt(sett_product_explain_for(&p, NULL, 4096, alone, 15, &err), 20);
    ck_assert_str_eq(alone, "gemm_wgmma bm=");
    ck_assert_int_gt(sett_product_explain_for(&odd, "sm_90a", 64, alone, sizeof alone, &err), 0);
    ck_assert_msg(!strncmp(alone, "gemm_mma bm=", 12), "%s", alone);
    ck_assert_int_eq(sett_product_explain_for(&p, "sm_90a", -1, alone, sizeof alone, &err), -1);
    ck_assert_str_eq(err.text, "sett_product_explain_for: m is -1: from 0 to 2147482623");
    drop_plan(&x);
}
END_TEST

START_TEST(targets_of_a_problem)
{
    const sett_product_problem blocks = {.size = sizeof blocks, .dtype = SETT_F8E4M3FN, .n = 64, .k = 64, .block_scales = 1};
    ck_assert(sett_product_kernels(&blocks, "sm_89", NULL, &err) == -1 && err.status == SETT_E_TARGET);
    ck_assert_str_eq(err.text, "sett_product_kernels: .block_scales is 1: products with them need sm_90a, the target is sm_89");
    static const struct { sett_dtype t; const char *target, *text; } of[] = {{SETT_F8E4M3FN, "sm_80", "sett_product_kernels: products of f8E4M3FN need sm_89, the target is sm_80"},
        {SETT_BF16, "sm_75", "sett_product_kernels: products of bf16 need sm_80, the target is sm_75"}};
    ck_assert_int_eq(sett_product_kernels(&(sett_product_problem){.size = sizeof blocks, .dtype = SETT_BF16, .n = 64, .k = 64}, "h100", NULL, &err), -1);
    ck_assert_msg(!strncmp(err.text, "sett_product_kernels: ", 22) && strstr(err.text, "h100"), "%s", err.text);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const sett_product_problem p = {.size = sizeof p, .dtype = of[i].t, .n = 64, .k = 64};
        ck_assert_int_eq(sett_product_kernels(&p, of[i].target, NULL, &err), -1);
        ck_assert_int_eq(err.status, SETT_E_TARGET);
        ck_assert_str_eq(err.text, of[i].text);
    }
}
END_TEST

/* ---- the bits of a row ---------------------------------------------------------------------------------------- */
static void *random_bf16(size_t n, unsigned seed)
{
    uint16_t *host = malloc(n * 2);
    void *data = sett_alloc(r.e, r.stream.device, n * 2);
    ck_assert(host && data);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        const union { float f; uint32_t bits; } x = {.f = (float)(int32_t)seed * 0x1p-31f};
        host[i] = (uint16_t)(x.bits >> 16);
    }
    ck_assert(!sett_memcpy(r.e, r.stream, data, host, n * 2) && !sett_sync(r.e, r.stream));
    free(host);
    return data;
}

/* Of A's rows from `first` on, m of them, the bits are those that one run of all has, whatever m and first are. */
START_TEST(batch_invariant)
{
    enum { N = 136, K = 328, MOST = 300 };
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .d = SETT_F32, .n = N, .k = K, .batch_invariant = 1};
    planned x = prepare(&p, MOST);
    ck_assert_uint_eq(x.bytes, 0);
    char *a = random_bf16(MOST * K, 1), *b = random_bf16(N * K, 2);
    static float all[MOST * N], some[MOST * N];
    void *d = sett_alloc(r.e, r.stream.device, sizeof all);
    ck_assert_ptr_nonnull(d);
    sett_product_operands o = {.size = sizeof o, .a = a, .b = b, .d = d};
    run_plan(&x, MOST, &o);
    ck_assert(!sett_memcpy(r.e, r.stream, all, d, sizeof all) && !sett_sync(r.e, r.stream));
    for (int m = 1; m <= MOST; m += r.stream.device == SETT_CPU && m > 20 ? 23 : 1) {
        const int first = (int)draw((unsigned)(MOST - m + 1));
        o.a = a + (size_t)first * K * 2;
        run_plan(&x, m, &o);
        ck_assert(!sett_memcpy(r.e, r.stream, some, d, sizeof some) && !sett_sync(r.e, r.stream));
        ck_assert_msg(!memcmp(some, all + first * N, (size_t)m * N * sizeof *all), "%d rows from %d on have other bits than among %d", m, first, MOST);
    }
    void *of[] = {a, b, d};
    for (int i = 0; i < 3; i++)
        sett_free(r.e, r.stream.device, of[i]);
    drop_plan(&x);
}
END_TEST

/* ---- nothing to do, and what is refused ------------------------------------------------------------------------- */
START_TEST(extents_of_0)
{
    const problem none = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_F32, .residual = 1, .align = 16, .align_c = 16}, .m = 5, .n = 16, .k = 0, .l = 1};
    check_product(&none, NULL); /* R */
    const problem up = {.o = {.dtype = SETT_BF16, .b = SETT_BF16, .c = SETT_F32, .swiglu = 1, .b_major = 1, .align = 16, .align_c = 4}, .m = 5, .n = 6, .k = 8, .l = 1};
    check_product(&up, NULL); /* the rows of up begin at 12 bytes */
    const sett_product_problem no_columns = {.size = sizeof no_columns, .dtype = SETT_BF16, .n = 0, .k = 16, .ldd = 16};
    ck_assert_int_gt(sett_product_kernels(&no_columns, "sm_90a", NULL, &err), 0);
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 16, .k = 16}, empty = {.size = sizeof p, .dtype = SETT_BF16, .n = 0, .k = 16};
    planned x = prepare(&p, 8), y = prepare(&empty, 8);
    const sett_product_operands o = {.size = sizeof o};
    run_plan(&x, 0, &o);
    run_plan(&y, 8, &o);
    drop_plan(&x), drop_plan(&y);
}
END_TEST

static const struct { sett_product_problem p; int max_m; const char *text; } bad[] = {
    {{.dtype = SETT_F64, .n = 8, .k = 8}, 1, ".dtype is f64: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32"},
    {{.dtype = (sett_dtype)999, .n = 8, .k = 8}, 1, ".dtype is 999, which is no element type"},
    {{.dtype = SETT_BF16, .b = (sett_dtype)-3, .n = 8, .k = 8}, 1, ".b is -3, which is no element type"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .a_major = 1, .lda = 9}, 10, ".lda is 9: with .a_major at least max_m, 10, or 0 for that"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .a_major = 1}, 0, ".a_major is 1 and .lda 0, and no max_m above 0 says it: .lda is given then"},
    {{.dtype = SETT_BF16, .n = 36, .k = 64, .grouped = SETT_GROUPED_MASKED, .groups = 2}, 1, ".grouped is masked: .n is 36, 72 bytes: a multiple of 16 then"},
    {{.n = 8, .k = 8}, 1, ".dtype is not given: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32"},
    {{.dtype = SETT_BF16, .b = SETT_F16, .n = 8, .k = 8}, 1, ".b is f16: with .dtype bf16 it is the same, or both are f8E4M3FN or f8E5M2"},
    {{.dtype = SETT_BF16, .d = SETT_I8, .n = 8, .k = 8}, 1, ".d is i8: f32, f16, bf16, f8E4M3FN or f8E5M2"},
    {{.dtype = SETT_I8, .d = SETT_I32, .scaled = 1, .n = 8, .k = 8}, 1, ".d is i32: with .scaled it is a float, or i8"},
    {{.dtype = SETT_BF16, .n = -1, .k = 8}, 1, ".n is -1: from 0 to 2147482623"},
    {{.dtype = SETT_BF16, .n = 8, .k = -3}, 1, ".k is -3: from 0 to 2147482623"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .batch = -1}, 1, ".batch is -1: from 0 to 65535"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .align = 3}, 1, ".align is 3: 16, 8, 4, 2 or 1"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .lda = 7}, 1, ".lda is 7: at least 8, or 0 for that"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .ldd = -1}, 1, ".ldd is -1: at least 8, or 0 for that"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .b_major = 1, .swiglu = 1, .ldb = 15}, 1, ".ldb is 15: at least 16, or 0 for that"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .swiglu = 1, .scaled = 1}, 1, ".swiglu is 1: then .scaled is 0"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .tf32 = 1}, 1, ".tf32 is 1: .dtype is f32 then, and not bf16"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .promote = 1}, 1, ".promote is 1: .dtype is f8E4M3FN or f8E5M2 then, and not bf16"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .block_scales = 1}, 1, ".block_scales is 1: .dtype is f8E4M3FN or f8E5M2 then, and not bf16"},
    {{.dtype = SETT_F8E5M2, .n = 8, .k = 8, .block_scales = 1, .scaled = 1}, 1, ".block_scales is 1: then .scaled is 0"},
    {{.dtype = SETT_F8E5M2, .n = 8, .k = 8, .block_scales = 1, .batch = 2}, 1, ".block_scales is 1: then .batch is 0"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 272, .block_scales = 1, .ldsb = 2}, 1, ".ldsb is 2: at least 3, or 0 for that"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 24, .block_scales = 1}, 1,
        ".block_scales is 1: .lda is 24, 24 bytes: a multiple of 16 then"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 32, .block_scales = 1, .ldb = 100}, 1, ".block_scales is 1: .ldb is 100, 100 bytes: a multiple of 16 then"},
    {{.dtype = SETT_F8E5M2, .n = 20, .k = 32, .block_scales = 1, .ldd = 24}, 1, ".block_scales is 1: .n is 20, 40 bytes: a multiple of 16 then"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 32, .block_scales = 1, .residual = 1, .ldr = 20}, 1, ".block_scales is 1: .ldr is 20, 40 bytes: a multiple of 16 then"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 32, .block_scales = 1, .terms.aux = 1, .ldaux = 17}, 1, ".block_scales is 1: .ldaux is 17, 34 bytes: a multiple of 16 then"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 32, .block_scales = 1, .a_major = 1}, 1, ".block_scales is 1: then .a_major is 0"},
    {{.dtype = SETT_F8E5M2, .n = 16, .k = 32, .block_scales = 1, .ldb = INT64_C(1) << 31}, 1, ".block_scales is 1: .ldb is 2147483648: at most 2147483647 then"},
    {{.dtype = SETT_F16, .d = SETT_F16, .n = 16, .k = 32, .terms.quantise = 1}, 1, ".quantise is 1: .d is f8E4M3FN, f8E5M2 or i8 then, and not f16"},
    {{.dtype = SETT_I8, .d = SETT_I32, .n = 16, .k = 32, .terms.bias = 1}, 1, ".d is i32: with .bias it is a float, or i8"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8, .residual = 2}, 1, ".residual is 2: from 0 to 1"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .ldd = INT64_C(1) << 61}, 1, ".ldd is 2305843009213693952: at most 2147483648"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_d = 4}, 3, ".batch_d is 4: products of D overlap, whose rows lie 16 apart: at least 48, or 0 for 48; or less, with an .ldd that leaves room between rows"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 3, .ldd = 47, .batch_d = 16}, 3,
        ".batch_d is 16: products of D overlap, whose rows lie 47 apart: at least 110, or 0 for 141; or less, with an .ldd that leaves room between rows"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .grouped = SETT_GROUPED_MASKED, .groups = 2, .ldd = 32, .batch_d = 40}, 3,
        ".batch_d is 40: groups of D overlap, whose rows lie 32 apart: at least 80, or 0 for 96; or less, with an .ldd that leaves room between rows"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .batch = 2, .batch_a = -64}, 3, ".batch_a is -64: at least 0, or 0 for 48"},
    {{.dtype = SETT_BF16, .n = 16, .k = 16, .residual = 1, .ldr = 1 << 30}, 12, ".ldr is 1073741824: with max_m 12 it spans 2^31 elements or more"},
    {{.dtype = SETT_BF16, .n = 1 << 30, .k = 1 << 30}, 1, ".n is 1073741824 and .k 1073741824: B has more than 2^56 elements"},
    {{.dtype = SETT_BF16, .n = 1 << 30, .k = 8, .grouped = SETT_GROUPED_MASKED, .groups = 65535}, 1 << 30, ".n is 1073741824 and .k 8: with max_m 1073741824 A or D has more than 2^56 elements"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .n = 16, .k = 64, .lda = 1 << 30}, 4, ".lda is 1073741824: with max_m 4 it spans 2^31 elements or more"},
    {{.dtype = SETT_BF16, .n = 1 << 15, .k = 64, .grouped = SETT_GROUPED_MASKED, .groups = 65535}, 1 << 20, ".n is 32768 and .groups 65535: with max_m 1048576 they are more than 2147418112 tiles"},
    {{.dtype = SETT_BF16, .n = 1 << 15, .k = 64, .batch = 65535}, 1 << 20, ".n is 32768 and .batch 65535: with max_m 1048576 they are more than 2147418112 tiles"},
    {{.dtype = SETT_BF16, .n = 1 << 28, .k = 8, .lda = 8}, 1 << 24, ".n is 268435456: with max_m 16777216 it is more than 2147418112 tiles"},
    {{.dtype = SETT_BF16, .n = 8, .k = 8}, -1, "max_m is -1: from 0 to 2147482623"}};

START_TEST(refused)
{
    sett_product_problem p = bad[_i].p;
    sett_product *plan = (sett_product *)&p;
    size_t bytes = 1;
    char want[300];
    p.size = sizeof p;
    ck_assert_int_eq(sett_product_prepare(r.e, r.stream.device, &p, bad[_i].max_m, &plan, &bytes, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "sett_product_prepare: %s", bad[_i].text);
    ck_assert_str_eq(err.text, want);
    ck_assert(!plan && !bytes);
}
END_TEST

/* Where the best tile would be more often in D than a launch can count, another one is taken. */
START_TEST(countable_tiles)
{
    enum { ROWS = 10 /* of a group */ };
    sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 8192, .k = 512, .grouped = SETT_GROUPED_CONTIGUOUS};
    for (int many = 0; many < 2; many++) {
        char text[200];
        int bm = 1, bn = 1;
        p.groups = many ? 8192 : 1024;
        ck_assert_msg(sett_product_explain_for(&p, "sm_90a", p.groups * ROWS, text, sizeof text, &err) > 0, "%s", err.text);
        ck_assert_msg(sscanf(text, "gemm_wgmma bm=%d bn=%d", &bm, &bn) == 2, "%s", text);
        const int64_t tiles = (int64_t)((p.groups * ROWS + bm - 1) / bm) * ((p.n + bn - 1) / bn) * p.groups;
        ck_assert_msg((bm <= 32) == !many && tiles <= INT32_MAX - 65535, "%s", text);
    }
}
END_TEST

/* Advice about registers is for who can change the body. Of a product's own kernels it is no warning. */
typedef struct advice { int warnings, informed; } advice;
static void hear_advice(void *user, sett_log_level level, const char *component, const char *message)
{
    advice *h = user;
    if (!strcmp(component, "compile") && strstr(message, "registers: a thread's values take about "))
        *(level == SETT_LOG_WARNING ? &h->warnings : &h->informed) += 1;
}

START_TEST(advice_about_ready_kernels)
{
    advice h = {0};
    sett_engine *e;
    sett_product *plan;
    size_t bytes;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear_advice, .user = &h, .log_level = SETT_LOG_INFO};
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 64, .k = 64, .terms = {.aux = 1, .clamp = 1}, .batch = 2};
    ck_assert(!sett_engine_open(&e, &eo, &err));
    ck_assert_msg(!sett_product_prepare(e, SETT_CPU, &p, 64, &plan, &bytes, &err), "%s", err.text);
    ck_assert_int_eq(h.warnings, 0);
    ck_assert_int_gt(h.informed, 0);
    sett_product_free(plan);
    sett_engine_close(e);
}
END_TEST

START_TEST(sizes_that_are_none)
{
    static const size_t bad_sizes[] = {7, 16, sizeof(sett_product_problem) - 1};
    char want[120];
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++) {
        const sett_product_problem p = {.size = bad_sizes[i], .dtype = SETT_BF16, .n = 64, .k = 64};
        ck_assert_int_eq(sett_product_kernels(&p, NULL, NULL, &err), -1);
        snprintf(want, sizeof want, "sett_product_kernels: .size is %zu: sizeof(sett_product_problem), %zu", bad_sizes[i], sizeof p);
        ck_assert_str_eq(err.text, want);
    }
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 64, .k = 64};
    planned x = prepare(&p, 4);
    const sett_product_operands o = {.size = 7};
    ck_assert_int_eq(sett_product_run(x.plan, 1, &o, x.workspace, x.bytes, r.stream, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "sett_product_run: .size is 7: sizeof(sett_product_operands), %zu", sizeof o);
    ck_assert_str_eq(err.text, want);
    drop_plan(&x);
}
END_TEST

START_TEST(scales_that_do_not_fit)
{
    if (!has_wgmma())
        return;
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F8E4M3FN, .n = 64, .k = 64, .block_scales = 1};
    static const int64_t bad_ldsa[] = {-4, 4, 9, 10};
    planned x = prepare(&p, 16);
    char some[16], want[100];
    sett_product_operands o = {.size = sizeof o, .a = some, .b = some, .d = some, .sa = (float *)some};
    ck_assert_int_eq(sett_product_run(x.plan, 9, &o, x.workspace, x.bytes, r.stream, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_product_run: .sb is NULL");
    o.sb = (float *)some;
    for (size_t i = 0; i < sizeof bad_ldsa / sizeof *bad_ldsa; i++) {
        o.ldsa = bad_ldsa[i];
        ck_assert_int_eq(sett_product_run(x.plan, 9, &o, x.workspace, x.bytes, r.stream, &err), SETT_E_ARGUMENT);
        snprintf(want, sizeof want, "sett_product_run: .ldsa is %d: a multiple of 4, at least m, 9, or 0 for that", (int)bad_ldsa[i]);
        ck_assert_str_eq(err.text, want);
    }
    drop_plan(&x);
}
END_TEST

START_TEST(refused_at_a_run)
{
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .n = 64, .k = 64, .scaled = 1};
    planned x = prepare(&p, 8);
    char some[16];
    const sett_product_operands o = {.size = sizeof o, .a = some, .b = some, .d = some, .sa = (float *)some, .sb = (float *)some}, no_b = {.size = sizeof o, .a = some, .d = some},
                                no_sb = {.size = sizeof o, .a = some, .b = some, .d = some, .sa = (float *)some}, no_size = {.a = some};
    char small[80], null[80];
    snprintf(null, sizeof null, "the workspace is NULL: the plan needs %zu bytes", x.bytes);
    snprintf(small, sizeof small, "the workspace has 16 bytes: the plan needs %zu", x.bytes);
    const struct { int m; const sett_product_operands *o; void *workspace; size_t bytes; const char *text; } of[] = {{9, &o, x.workspace, x.bytes, "m is 9: from 0 to 8, the max_m that the plan was prepared for"},
        {-1, &o, x.workspace, x.bytes, "m is -1: from 0 to 8, the max_m that the plan was prepared for"}, {1, &no_b, x.workspace, x.bytes, ".b is NULL"}, {1, &no_sb, x.workspace, x.bytes, ".sb is NULL"},
        {1, NULL, x.workspace, x.bytes, "there are no operands"}, {1, &no_size, x.workspace, x.bytes, "the operands have no .size: it is sizeof(sett_product_operands)"},
        {1, &o, x.workspace, 16, small}, {1, &o, NULL, x.bytes, null}, {1, &o, (char *)x.workspace + 16, x.bytes, "the workspace does not begin at a multiple of 256 bytes"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char want[200];
        ck_assert_int_eq(sett_product_run(x.plan, of[i].m, of[i].o, of[i].workspace, of[i].bytes, r.stream, &err), SETT_E_ARGUMENT);
        snprintf(want, sizeof want, "sett_product_run: %s", of[i].text);
        ck_assert_str_eq(err.text, want);
    }
    drop_plan(&x);
}
END_TEST

/* What the problem has not is refused, and not ignored; nor is a clamp taken that nothing is within. */
START_TEST(operands_that_the_problem_has_not)
{
    char some[16];
    float *f = (float *)some;
    const int32_t *table = (const int32_t *)some;
    const sett_product_problem plain = {.size = sizeof plain, .dtype = SETT_BF16, .n = 64, .k = 64}, clamped = {.size = sizeof clamped, .dtype = SETT_BF16, .n = 64, .k = 64, .terms.clamp = 1};
    planned x = prepare(&plain, 8), y = prepare(&clamped, 8);
#define WITH(...) {.size = sizeof(sett_product_operands), .a = some, .b = some, .d = some, __VA_ARGS__}
    const struct { const planned *of; sett_product_operands o; const char *text; } of[] = {{&x, WITH(.r = some), ".r is given, and .residual is 0"},
        {&x, WITH(.sb = f), ".sb is given, and .scaled and .block_scales are 0"}, {&x, WITH(.sw = some), ".sw is given, and .b is not of packed weights"},
        {&x, WITH(.offsets = table), ".offsets is given, and .grouped is 0"}, {&x, WITH(.counts = table), ".counts is given, and .grouped is 0"}, {&x, WITH(.bias = some), ".bias is given, and .terms.bias is 0"},
        {&x, WITH(.amax = f), ".amax is given, and .terms.amax is 0"}, {&x, WITH(.alpha = 0.5f), ".alpha is 0.5, and .terms.alpha is 0"}, {&x, WITH(.cap = 30), ".cap is 30, and .terms.softcap is 0"},
        {&x, WITH(.expected_m = 2), ".expected_m is 2, and .grouped is 0"}, {&x, WITH(.high = 1), ".high is 1, and .terms.clamp is 0"}, {&y, WITH(.low = 2, .high = 1), ".low is 2, and .high is 1: .low is not above .high"},
        {&y, WITH(.low = NAN, .high = 1), ".low is nan, and .high is 1: .low is not above .high"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char want[120];
        snprintf(want, sizeof want, "sett_product_run: %s", of[i].text);
        ck_assert_int_eq(sett_product_run(of[i].of->plan, 1, &of[i].o, of[i].of->workspace, of[i].of->bytes, r.stream, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, want);
    }
    drop_plan(&x), drop_plan(&y);
}
END_TEST

/* Where no stride is given AUX of a batch begins where its D does: max_m rows, not m, from one to the next. */
START_TEST(aux_lies_as_d_does)
{
    enum { M = 3, MAX_M = 5, BATCH = 2, N = 8, K = 8, EVERY = BATCH * MAX_M * N };
    float ones[BATCH * N * K], d[EVERY] = {0}, aux[EVERY] = {0};
    for (int i = 0; i < BATCH * N * K; i++)
        ones[i] = 1;
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_F32, .n = N, .k = K, .batch = BATCH, .terms.aux = 1};
    planned x = prepare(&p, MAX_M);
    const sett_product_operands o = {.size = sizeof o, .a = floats_at(ones, BATCH * MAX_M * K), .b = floats_at(ones, BATCH * N * K), .d = floats_at(d, EVERY), .aux = floats_at(aux, EVERY)};
    run_plan(&x, M, &o);
    ck_assert(!sett_memcpy(r.e, r.stream, d, o.d, sizeof d) && !sett_memcpy(r.e, r.stream, aux, o.aux, sizeof aux) && !sett_sync(r.e, r.stream));
    for (int i = 0; i < EVERY; i++)
        ck_assert_msg(d[i] == (i / N % MAX_M < M ? K : 0) && aux[i] == d[i], "element %d: D has %g, and AUX %g", i, (double)d[i], (double)aux[i]);
    const void *mem[] = {o.a, o.b, o.d, o.aux};
    for (int i = 0; i < 4; i++)
        sett_free(r.e, r.stream.device, (void *)(uintptr_t)mem[i]);
    drop_plan(&x);
}
END_TEST

Suite *product_suite(void)
{
    Suite *s = suite_create("product");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, every_number_of_rows);
    tcase_add_loop_test(t, random_products, 0, 8);
    tcase_add_test(t, terms_of_a_product);
    tcase_add_test(t, promoted);
    tcase_add_test(t, sums_of_two_levels);
    tcase_add_test(t, scales_of_blocks);
    tcase_add_test(t, scales_that_do_not_fit);
    tcase_add_test(t, choices);
    tcase_add_test(t, choice_of_few_rows);
    tcase_add_test(t, kernels_of_a_problem);
    tcase_add_test(t, targets_of_a_problem);
    tcase_add_test(t, explained);
    tcase_add_test(t, batch_invariant);
    tcase_add_test(t, batches);
    tcase_add_test(t, extents_of_0);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, countable_tiles);
    tcase_add_test(t, sizes_that_are_none);
    tcase_add_test(t, advice_about_ready_kernels);
    tcase_add_test(t, refused_at_a_run);
    tcase_add_test(t, operands_that_the_problem_has_not);
    tcase_add_test(t, aux_lies_as_d_does);
    suite_add_tcase(s, t);
    return s;
}
