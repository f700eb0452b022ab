/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and pages that indices choose, byte by byte, and cumulative sums, against plain C. */
#include "tests/rig/model_rig.h"

static double random_number(void) /* [0, 1) */
{
    return (uniform(&r.seed) + 1) / 2;
}

static void fill_bytes(cells *c)
{
    for (size_t i = 0; i < c->bytes; i++)
        ((uint8_t *)c->host)[i] = (uint8_t)(1 + 250 * random_number());
    cells_send(c);
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */
START_TEST(embedding)
{
    static const struct {
        sett_dtype dtype;
        int cols;
    } of[] = {{SETT_BF16, 4096}, {SETT_BF16, 1}, {SETT_F16, 7}, {SETT_BF16, 1023}, {SETT_F32, 4099}, {SETT_F32, 5}, {SETT_F8E4M3FN, 48}, {SETT_I32, 130}, {SETT_U8, 16384}, {SETT_BF16, 100}};
    enum { N = 23, V = 11 };
    for (int shape = 0; shape < 2; shape++) {
        const sett_embedding_options o = {.size = sizeof o, .dtype = of[_i].dtype, .cols = of[_i].cols, .no_pdl = shape, .tuning.threads = shape ? 64 : 0};
        const size_t row = (size_t)of[_i].cols * (size_t)sett_dtype_bits(of[_i].dtype) / 8;
        cells a[3] = {CELLS(SETT_I32, N), CELLS(of[_i].dtype, V, of[_i].cols), CELLS(of[_i].dtype, N, of[_i].cols)};
        for (int i = 0; i < N; i++)
            ints(&a[0])[i] = i == 3 ? -1 : i == 7 ? V : i == 9 ? INT_MIN : (int)(random_number() * V);
        cells_send(&a[0]), fill_bytes(&a[1]), fill_bytes(&a[2]);
        LAUNCH_CELLS(sett_embedding, &o, &a[0], &a[1], &a[2]);
        cells_fetch(&a[2]);
        for (int i = 0; i < N; i++) {
            const int id = ints(&a[0])[i];
            for (size_t j = 0; j < row; j++) {
                const int want = id < 0 || id >= V ? 0 : ((uint8_t *)a[1].host)[(size_t)id * row + j], got = ((uint8_t *)a[2].host)[(size_t)i * row + j];
                ck_assert_msg(got == want, "row %d of %d, byte %zu: %d, should be %d", i, id, j, got, want);
            }
        }
        cells_drop(3, a);
    }
}
END_TEST

/* ---- pages ---------------------------------------------------------------------------------------------------------- */
START_TEST(copy_pages)
{
    static const int cols[] = {16, 1024, 16384 + 16};
    enum { PAGES = 12, N = 5 };
    static const int32_t pairs[2 * N] = {0, 7, 3, 8, 0, 9, -1, 10, 4, PAGES};
    const sett_dtype t = _i % 2 ? SETT_F8E4M3FN : SETT_BF16;
    const sett_copy_pages_options o = {.size = sizeof o, .dtype = t, .cols = cols[_i / 2], .tuning.vectors_per_thread = _i == 5 ? 2 : 0};
    const size_t page = (size_t)o.cols * (size_t)sett_dtype_bits(t) / 8;
    cells a[2] = {CELLS(SETT_I32, N, 2), CELLS(t, PAGES, o.cols)};
    memcpy(a[0].host, pairs, sizeof pairs);
    cells_send(&a[0]), fill_bytes(&a[1]);
    uint8_t *want = malloc(a[1].bytes);
    memcpy(want, a[1].host, a[1].bytes);
    for (int i = 0; i < 3; i++)
        memcpy(want + (size_t)pairs[2 * i + 1] * page, want + (size_t)pairs[2 * i] * page, page);
    LAUNCH_CELLS(sett_copy_pages, &o, &a[0], &a[1]);
    cells_fetch(&a[1]);
    ck_assert(!memcmp(want, a[1].host, a[1].bytes));
    free(want);
    cells_drop(2, a);
}
END_TEST

START_TEST(gather_pages)
{
    static const struct {
        sett_dtype dtype;
        int d, page, heads;
    } of[] = {{SETT_BF16, 128, 16, 2}, {SETT_F8E4M3FN, 64, 64, 1}, {SETT_F32, 4, 1, 3}, {SETT_F16, 256, 32, 5}};
    enum { B = 4, PAGES = 40, MOST = 8 };
    const int page = of[_i].page, heads = of[_i].heads, lengths[B] = {page + 3 < page * MOST ? page + 3 : page, 0, 1, page * 3};
    const sett_gather_pages_options o = {.size = sizeof o, .dtype = of[_i].dtype, .d = of[_i].d, .page = page, .tuning.threads = _i == 3 ? 32 : 0};
    int all = 2; /* the first requests' rows do not begin at 0 */
    cells a[4] = {CELLS(o.dtype, PAGES, heads, page, o.d), CELLS(SETT_I32, B, MOST), CELLS(SETT_I32, B + 1)};
    for (int i = 0; i < B * MOST; i++)
        ints(&a[1])[i] = i == MOST * 3 + 1 ? -1 : (int)(random_number() * PAGES);
    for (int i = 0; i <= B; i++)
        ints(&a[2])[i] = all, all += i < B ? lengths[i] : 0;
    a[3] = CELLS(o.dtype, all + 5, heads, o.d);
    cells_send(&a[1]), cells_send(&a[2]), fill_bytes(&a[0]), fill_bytes(&a[3]);
    const size_t row = (size_t)o.d * (size_t)sett_dtype_bits(o.dtype) / 8;
    uint8_t *want = malloc(a[3].bytes);
    memcpy(want, a[3].host, a[3].bytes);
    for (int b = 0; b < B; b++)
        for (int i = 0; i < lengths[b]; i++)
            for (int h = 0; h < heads; h++) {
                const int p = ints(&a[1])[b * MOST + i / page];
                uint8_t *to = want + ((size_t)(ints(&a[2])[b] + i) * (size_t)heads + (size_t)h) * row;
                if (p < 0)
                    memset(to, 0, row);
                else
                    memcpy(to, (uint8_t *)a[0].host + (((size_t)p * (size_t)heads + (size_t)h) * (size_t)page + (size_t)(i % page)) * row, row);
            }
    LAUNCH_CELLS(sett_gather_pages, &o, &a[0], &a[1], &a[2], &a[3]);
    cells_fetch(&a[3]);
    ck_assert(!memcmp(want, a[3].host, a[3].bytes));
    free(want);
    cells_drop(4, a);
}
END_TEST

/* ---- sums ------------------------------------------------------------------------------------------------------------ */
/* Of whole numbers, which Float32 adds exactly, and of others; twice, as the words of .split are 0 again. */
START_TEST(cumsum)
{
    static const int lengths[] = {1, 31, 1000, 4099, 20001};
    static const sett_dtype types[] = {SETT_F32, SETT_I32, SETT_F16, SETT_BF16};
    const sett_dtype t = types[_i % 4];
    const int n = lengths[_i / 4];
    enum { ROWS = 3 };
    for (int way = 0; way < 4; way++) {
        const int blocks = way < 2 ? 1 : way == 2 ? 64 : 5;
        const sett_cumsum_options o = {.size = sizeof o, .dtype = t, .exclusive = way & 1, .split = way > 1, .tuning.blocks = way == 3 ? 5 : 0, .tuning.threads = way == 1 ? 64 : way == 3 ? 32 : 0};
        cells a[4] = {CELLS(t, ROWS, n), CELLS(t, ROWS, n), CELLS(SETT_U64, ROWS * blocks), CELLS(SETT_U32, ROWS)};
        for (size_t i = 0; i < a[0].n; i++)
            if (t == SETT_I32)
                ints(&a[0])[i] = (int)(random_number() * 4e9 - 2e9);
            else
                put(t, a[0].host, i, t == SETT_F32 && way == 2 ? uniform(&r.seed) : floor(3 * random_number()));
        for (int i = 0; i < 4; i++)
            cells_send(&a[i]);
        for (int again = 0; again < 2; again++)
            if (o.split)
                LAUNCH_CELLS(sett_cumsum, &o, &a[0], &a[1], &a[2], &a[3]);
            else
                LAUNCH_CELLS(sett_cumsum, &o, &a[0], &a[1]);
        for (int i = 1; i < 4; i++)
            cells_fetch(&a[i]);
        for (size_t i = 0; i < a[2].bytes; i++)
            ck_assert(!((uint8_t *)a[2].host)[i]);
        double sum = 0, size = 0;
        uint32_t whole = 0;
        for (size_t i = 0; i < a[0].n; i++) {
            if (i % (size_t)n == 0)
                sum = size = 0, whole = 0;
            const double x = t == SETT_I32 ? 0 : cell(&a[0], i), before = sum;
            const uint32_t whole_before = whole;
            sum += x, size += fabs(x), whole += (uint32_t)ints(&a[0])[t == SETT_I32 ? i : 0];
            if (t == SETT_I32) {
                ck_assert_msg((uint32_t)ints(&a[1])[i] == (o.exclusive ? whole_before : whole), "element %zu of %d", i, n);
                continue;
            }
            const double want = o.exclusive ? before : sum, by = t == SETT_F32 ? (way == 2 ? 1e-6 * size : 0) : want * (t == SETT_F16 ? 1.0 / 2048 : 1.0 / 256);
            ck_assert_msg(fabs(cell(&a[1], i) - want) <= by, "%s, way %d, element %zu of %d: %.9g, should be %.9g", sett_dtype_name(t), way, i, n, cell(&a[1], i), want);
        }
        cells_drop(4, a);
    }
}
END_TEST

/* ---- what cannot be ----------------------------------------------------------------------------------------------------- */
#define NOT(body, text, ...) \
    do { \
        sett_##body##_options o_ = {.size = sizeof o_, __VA_ARGS__}; \
        check_not_chosen(sett_##body, #body, &o_, NULL, text); \
    } while (0)
START_TEST(refused)
{
    NOT(embedding, ".dtype is f64: one of 8, 16 or 32 bits", .dtype = SETT_F64, .cols = 8);
    NOT(embedding, ".dtype is not given: one of 8, 16 or 32 bits", .cols = 8);
    NOT(embedding, ".cols is 131073: from 1 to 131072", .dtype = SETT_BF16, .cols = 131073);
    NOT(embedding, ".cols is 24: of 8 bits a multiple of 16", .dtype = SETT_I8, .cols = 24);
    NOT(embedding, ".threads is 31: from 32 to 1024", .dtype = SETT_BF16, .cols = 24, .tuning.threads = 31);
    NOT(copy_pages, ".dtype is i4: one of 8, 16 or 32 bits", .dtype = SETT_I4, .cols = 8);
    NOT(copy_pages, ".cols is 9: a multiple of 8, 16 bytes", .dtype = SETT_BF16, .cols = 9);
    NOT(copy_pages, ".reserved is 2: it must be 0", .dtype = SETT_BF16, .cols = 8, .reserved = 2);
    NOT(copy_pages, ".threads is 2000: from 1 to 1024", .dtype = SETT_BF16, .cols = 8, .tuning.threads = 2000);
    NOT(copy_pages, ".vectors_per_thread is 17: from 1 to 16", .dtype = SETT_BF16, .cols = 8, .tuning.vectors_per_thread = 17);
    NOT(gather_pages, ".d is 12: a multiple of 8, 16 bytes", .dtype = SETT_BF16, .d = 12, .page = 16);
    NOT(gather_pages, ".page is 0: from 1 to 1024", .dtype = SETT_BF16, .d = 8);
    NOT(gather_pages, ".reserved is 1: it must be 0", .dtype = SETT_BF16, .d = 8, .page = 1, .reserved = 1);
    NOT(gather_pages, ".threads is -1: from 1 to 1024", .dtype = SETT_BF16, .d = 8, .page = 1, .tuning.threads = -1);
    NOT(cumsum, ".dtype is i8: f16, bf16, f32 or i32", .dtype = SETT_I8);
    NOT(cumsum, ".exclusive is 2: from 0 to 1", .dtype = SETT_F32, .exclusive = 2);
    NOT(cumsum, ".split is 2: from 0 to 1", .dtype = SETT_F32, .split = 2);
    NOT(cumsum, ".blocks is 2: without .split 1", .dtype = SETT_F32, .tuning.blocks = 2);
    NOT(cumsum, ".blocks is 64: at most the 32 threads", .dtype = SETT_F32, .split = 1, .tuning.threads = 32);
}
END_TEST

/* The shapes of models assemble, have no local memory and spill nothing. */
START_TEST(targets)
{
    static const char *const target[] = {"sm_80", "sm_90a", "sm_120a"};
    const sett_embedding_options table = {.size = sizeof table, .dtype = SETT_BF16, .cols = 4096}, odd = {.size = sizeof odd, .dtype = SETT_BF16, .cols = 8191};
    const sett_copy_pages_options copy = {.size = sizeof copy, .dtype = SETT_BF16, .cols = 16384};
    const sett_gather_pages_options gather = {.size = sizeof gather, .dtype = SETT_BF16, .d = 128, .page = 16};
    const sett_cumsum_options rows = {.size = sizeof rows, .dtype = SETT_BF16}, vector = {.size = sizeof vector, .dtype = SETT_F32, .split = 1};
    ck_assert_int_le(check_target(r.e, sett_embedding, &table, target[_i], "ld.global.v"), 0);
    ck_assert_int_le(check_target(r.e, sett_embedding, &odd, target[_i], "ld.global.v"), 0);
    ck_assert_int_le(check_target(r.e, sett_copy_pages, &copy, target[_i], "ld.global.v"), 0);
    ck_assert_int_le(check_target(r.e, sett_gather_pages, &gather, target[_i], "ld.global.v"), 0);
    ck_assert_int_le(check_target(r.e, sett_cumsum, &rows, target[_i], "shfl.sync.up"), 0);
    ck_assert_int_le(check_target(r.e, sett_cumsum, &vector, target[_i], "atom"), 0);
}
END_TEST

Suite *gather_suite(void)
{
    Suite *s = suite_create("gather");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, embedding, 0, 10);
    tcase_add_loop_test(t, copy_pages, 0, 6);
    tcase_add_loop_test(t, gather_pages, 0, 4);
    tcase_add_loop_test(t, cumsum, 0, 20);
    tcase_add_test(t, refused);
    tcase_add_loop_test(t, targets, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
