/* SPDX-License-Identifier: Apache-2.0 */
/* sett_gemm_few_rows against plain C, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/product_rig.h"

typedef struct few {
    product p;
    int rows;
    sett_gemm_few_rows_tuning tuning;
} few;

static sett_gemm_few_rows_options options_of(const few *f)
{
    return (sett_gemm_few_rows_options){.size = sizeof(sett_gemm_few_rows_options), .dtype = f->p.ab, .c = f->p.c, .rows = f->rows, .scaled = f->p.scaled, .swiglu = f->p.swiglu,
        .residual = f->p.residual, .tuning = f->tuning};
}

/* Each type by each kind of product, and each term. */
static const few products[] = {
    {{.ab = SETT_F32}, .rows = 1},
    {{.ab = SETT_F32, .residual = 1}, .rows = 8, .tuning = {.rows_per_warp = 4, .split = 2}},
    {{.ab = SETT_F32, .swiglu = 1}, .rows = 3, .tuning = {.rows_per_warp = 2, .vectors = 4}},
    {{.ab = SETT_F16}, .rows = 1, .tuning = {.threads = 256, .rows_per_warp = 1, .split = 8}},
    {{.ab = SETT_F16, .c = SETT_F32, .swiglu = 1, .residual = 1}, .rows = 5},
    {{.ab = SETT_F16, .c = SETT_BF16}, .rows = 4, .tuning = {.threads = 96, .rows_per_warp = 2, .split = 3}},
    {{.ab = SETT_BF16, .c = SETT_F32}, .rows = 8, .tuning = {.threads = 128, .rows_per_warp = 16, .vectors = 1, .split = 4}},
    {{.ab = SETT_BF16, .residual = 1}, .rows = 2, .tuning = {.threads = 64, .rows_per_warp = 32, .split = 2}},
    {{.ab = SETT_BF16, .c = SETT_F8E4M3FN, .scaled = 1}, .rows = 6, .tuning = {.threads = 32}},
    {{.ab = SETT_BF16, .swiglu = 1}, .rows = 1, .tuning = {.threads = 64, .rows_per_warp = 4, .vectors = 1}},
    {{.ab = SETT_BF16, .c = SETT_F32, .swiglu = 1}, .rows = 8, .tuning = {.threads = 128, .rows_per_warp = 32, .split = 2}},
    {{.ab = SETT_BF16, .c = SETT_F32}, .rows = 8, .tuning = {.rows_per_warp = 8, .split = 4}},
    {{.ab = SETT_F16, .c = SETT_F32, .swiglu = 1, .residual = 1}, .rows = 3, .tuning = {.rows_per_warp = 8, .vectors = 2, .split = 2}},
    {{.ab = SETT_I8, .c = SETT_F32, .scaled = 1}, .rows = 7, .tuning = {.rows_per_warp = 8, .vectors = 1}},
    {{.ab = SETT_F8E4M3FN, .scaled = 1}, .rows = 5, .tuning = {.threads = 64, .rows_per_warp = 8, .split = 2}},
    {{.ab = SETT_F8E4M3FN, .c = SETT_F32, .scaled = 1}, .rows = 1, .tuning = {.split = 2}},
    {{.ab = SETT_F8E4M3FN, .c = SETT_F16, .scaled = 1, .residual = 1}, .rows = 8, .tuning = {.split = 4}},
    {{.ab = SETT_F8E5M2, .c = SETT_F32}, .rows = 7, .tuning = {.rows_per_warp = 16, .vectors = 2}},
    {{.ab = SETT_F8E5M2}, .rows = 2, .tuning = {.rows_per_warp = 4, .vectors = 1}},
    {{.ab = SETT_I8, .c = SETT_F32, .scaled = 1}, .rows = 8, .tuning = {.rows_per_warp = 4, .split = 2}},
    {{.ab = SETT_I8, .c = SETT_F32}, .rows = 4, .tuning = {.rows_per_warp = 16}},
    {{.ab = SETT_I8, .scaled = 1, .residual = 1}, .rows = 1, .tuning = {.rows_per_warp = 1, .vectors = 2}},
};
enum { PRODUCTS = sizeof products / sizeof *products };

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { EACH = 3 };
#else
enum { EACH = 1 };
#endif
static void check_few(const few *f, size_t m, size_t n, size_t k, size_t more)
{
    const sett_gemm_few_rows_options o = options_of(f);
    check_product(&f->p, sett_gemm_few_rows, &o, m, n, k, more);
}

START_TEST(against_plain_c)
{
    const few *f = &products[_i];
    const size_t rows = (size_t)f->rows;
    if (_i % EACH)
        return;
    check_few(f, rows, 64, 512, 0);
    check_few(f, rows, 33, 1100, 1); /* ends within steps, vectors and tiles */
    check_few(f, rows + 3, 7, 129, 2); /* more rows than one block takes */
    check_few(f, 1, 1, 1, 1);
}
END_TEST

START_TEST(each_number_of_rows)
{
    for (size_t rows = 1; rows <= 8; rows++)
        for (size_t m = rows; m; m -= rows > 4 ? rows / 2 : 1) {
            check_few(&(few){{.ab = SETT_BF16, .c = SETT_F32}, .rows = (int)rows}, m, 20, 200, 1);
            check_few(&(few){{.ab = SETT_F32}, .rows = (int)rows, .tuning = {.threads = 64, .split = 2}}, m, 20, 200, 0);
            if (m <= rows / 2)
                break;
        }
}
END_TEST

/* A row has the same bits whatever the others are, and however many. */
START_TEST(rows_by_themselves)
{
    enum { ROWS = 8, N = 24, K = 700 + 4 };
    static const struct { sett_dtype t; int rows_per_warp; } kinds[] = {{SETT_F32, 4}, {SETT_BF16, 2}, {SETT_BF16, 16}, {SETT_F16, 32}, {SETT_BF16, 8}};
    const sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = kinds[_i].t, .c = SETT_F32, .tuning = {.threads = 64, .rows_per_warp = kinds[_i].rows_per_warp, .split = 2}};
    array a[3] = {MAKE(kinds[_i].t, ROWS, K), MAKE(kinds[_i].t, N, K), MAKE(SETT_F32, ROWS, N)};
    static float all[ROWS * N];
    sett_kernel *k = compiled(sett_gemm_few_rows, &o);
    for (int m = ROWS; m; m--)
        for (int from = 0; from + m <= ROWS; from += ROWS - m ? ROWS - m : 1) {
            sett_buf A = a[0].m.buf, C = a[2].m.buf;
            A.shape[0] = C.shape[0] = m;
            A.data = (char *)A.data + from * K * sett_dtype_bits(kinds[_i].t) / 8;
            ck_assert_msg(!sett_launch(k, r.stream, &err, &A, &a[1].m.buf, &C), "%s", err.text);
            matrix_fetch(&r, &a[2].m);
            if (m == ROWS)
                memcpy(all, a[2].m.host, sizeof all);
            ck_assert_msg(!memcmp(a[2].m.host, all + from * N, (size_t)m * N * sizeof(float)), "%d rows from %d on", m, from);
        }
    for (size_t i = 0; i < ROWS * N; i++) {
        double want = 0;
        for (size_t x = 0; x < K; x++)
            want += a[0].was[i / N * K + x] * a[1].was[i % N * K + x];
        ck_assert_msg(fabs((double)all[i] - want) < 1e-3, "%zu: %g, not %g", i, (double)all[i], want);
    }
    sett_kernel_release(k);
    drop(3, a);
}
END_TEST

/* An epilogue is given each element of C once; here it adds a bias by columns and ten times the row. */
typedef struct biased {
    sett_build *b;
    sett_tensor *bias, *count;
    sett_val *m, *n;
} biased;
static sett_val *add_bias(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    const biased *x = user;
    sett_tensor *crd = sett_epilogue_partition(at, sett_identity_tensor(x->b, x->m, x->n));
    sett_val *in = sett_elem_less(crd, sett_tuple(x->b, x->m, x->n));
    sett_atomic_add(x->count, sett_reduce(sett_to(in, SETT_F32), SETT_ADD, 0.0), 0);
    sett_val *bias = sett_load(sett_epilogue_partition(at, sett_composition(x->bias, sett_make_layout(x->b, SETT_T(x->m, x->n), SETT_T(0, 1)))), .pred = in);
    return sett_add(sett_add(sums, bias), sett_mul(sett_to(sett_coord_value(crd, 0), SETT_F32), 10.0));
}
static void with_bias(sett_build *b, const void *o)
{
    biased x = {.b = b, .m = sett_sym(b, "M"), .n = sett_sym(b, "N")};
    x.bias = sett_param(b, "bias", SETT_F32, sett_make_layout(b, x.n)), x.count = sett_param(b, "count", SETT_F32, sett_make_layout(b, 1));
    sett_gemm_few_rows_with(b, o, add_bias, &x);
}

START_TEST(an_epilogue)
{
    enum { M = 5, N = 21, K = 72 };
    const sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = SETT_BF16, .c = SETT_F32, .rows = _i ? 8 : 3, .tuning.rows_per_warp = _i ? 16 : 4};
    const sett_compile_options co = {.size = sizeof co, .user = &o, .user_size = sizeof o};
    sett_kernel *k = NULL;
    array a[5] = {MAKE(SETT_F32, N), MAKE(SETT_F32, 1), MAKE(SETT_BF16, M, K), MAKE(SETT_BF16, N, K), MAKE(SETT_F32, M, N)};
    *(float *)a[1].m.host = 0;
    ck_assert(!sett_memcpy(r.e, r.stream, a[1].m.buf.data, a[1].m.host, a[1].m.bytes));
    ck_assert_msg(!sett_compile(r.e, with_bias, &co, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf, &a[3].m.buf, &a[4].m.buf), "%s", err.text);
    matrix_fetch(&r, &a[1].m), matrix_fetch(&r, &a[4].m);
    ck_assert_msg(at(&a[1], 0) == M * N, "%g elements", at(&a[1], 0));
    for (size_t i = 0; i < M * N; i++) {
        double want = a[0].was[i % N] + 10.0 * (double)(i / N);
        for (size_t x = 0; x < K; x++)
            want += a[2].was[i / N * K + x] * a[3].was[i % N * K + x];
        near("bias", &a[4], i, want, 1e-3);
    }
    sett_kernel_release(k);
    drop(5, a);
}
END_TEST

static int with_line;
static sett_val *nothing(const sett_epilogue_tile *at, sett_val *sums, void *user)
{
    (void)at, (void)sums, (void)user;
    return NULL;
}
static void with_nothing(sett_build *b, const void *user)
{
    const sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = SETT_BF16};
    (void)user;
    with_line = __LINE__ + 1;
    sett_gemm_few_rows_with(b, &o, nothing, NULL);
}
START_TEST(an_epilogue_gives_numbers)
{
    char want[300];
    void *tape = NULL;
    size_t len;
    ck_assert_int_eq(sett_record(with_nothing, &(sett_compile_options){.size = sizeof(sett_compile_options)}, true, &tape, &len, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "%s:%d: sett_gemm_few_rows_with: the epilogue gives NULL, and its sums have the shape (1,1): it returns one number for each of them", __FILE__, with_line);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* Strides of A and B are multiples of 16 bytes; those of C are any. */
START_TEST(refused_at_the_launch)
{
    const sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = SETT_BF16};
    array a[3] = {MAKE(SETT_BF16, 2, 12), MAKE(SETT_BF16, 3, 12), MAKE(SETT_BF16, 2, 3)};
    sett_kernel *k = compiled(sett_gemm_few_rows, &o);
    ck_assert_int_eq(sett_launch(k, r.stream, &err, &a[0].m.buf, &a[1].m.buf, &a[2].m.buf), SETT_E_DIVIDE);
    ck_assert_msg(strstr(err.text, "LA") != NULL && strstr(err.text, "8") != NULL, "%s", err.text);
    sett_kernel_release(k);
    drop(3, a);
}
END_TEST

/* What is chosen: tensor cores from two rows on where the target has them, and no more warps for a row of B than have a step each. Those of
 * bf16: of the configurations that were timed on an H200, the fastest over seven shapes for 1, 2, 4 and 8 rows. */
START_TEST(chosen)
{
    static const struct { const char *target; sett_dtype t; int rows, k, threads, rows_per_warp, split, vectors; } want[] = {
        {"sm_90a", SETT_BF16, 1, 4096, 128, 2, 4, 4}, {"sm_90a", SETT_BF16, 1, 0, 128, 2, 4, 4}, {"sm_90a", SETT_BF16, 1, 2048, 128, 2, 2, 4}, {"sm_90a", SETT_BF16, 4, 4096, 256, 8, 8, 4},
        {"sm_90a", SETT_BF16, 8, 0, 256, 8, 8, 4}, {"sm_90a", SETT_BF16, 8, 500, 256, 8, 2, 4}, {"sm_75", SETT_F16, 8, 4096, 128, 4, 4, 2}, {"sm_90a", SETT_F32, 2, 4096, 128, 2, 4, 4},
        {"cpu", SETT_BF16, 8, 4096, 256, 8, 8, 4}, {"sm_75", SETT_F8E4M3FN, 8, 4096, 128, 4, 4, 1}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = want[i].t, .rows = want[i].rows, .tuning.k = want[i].k};
        ck_assert_int_eq(sett_kernels_choose(sett_gemm_few_rows, &o, want[i].target, NULL), SETT_OK);
        const sett_gemm_few_rows_tuning tune = {want[i].threads, want[i].rows_per_warp, want[i].split, want[i].vectors, 0};
        ck_assert_msg(!memcmp(&o.tuning, &tune, sizeof tune), "%zu: threads %d rows_per_warp %d split %d vectors %d", i, o.tuning.threads, o.tuning.rows_per_warp, o.tuning.split,
            o.tuning.vectors);
    }
}
END_TEST

#define BAD(text_, ...) {text_, {.size = sizeof(sett_gemm_few_rows_options), __VA_ARGS__}}
static const struct { const char *text; sett_gemm_few_rows_options o; } bad[] = {
    BAD(".dtype is not given: f32, f16, bf16, f8E4M3FN, f8E5M2 or i8", .rows = 1),
    BAD(".dtype is f64: f32, f16, bf16, f8E4M3FN, f8E5M2 or i8", .dtype = SETT_F64),
    BAD(".c is i32: f32, f16, bf16, f8E4M3FN or f8E5M2; i8 with .quantise", .dtype = SETT_I8, .c = SETT_I32),
    BAD(".rows is 9: from 1 to 8", .dtype = SETT_F16, .rows = 9),
    BAD(".scaled is 2: from 0 to 1", .dtype = SETT_F16, .scaled = 2),
    BAD(".swiglu is 1: then .scaled is 0", .dtype = SETT_BF16, .swiglu = 1, .scaled = 1),
    BAD(".swiglu is 1: .dtype is a float then", .dtype = SETT_I8, .swiglu = 1),
    BAD(".residual is -1: from 0 to 1", .dtype = SETT_F16, .residual = -1),
    BAD(".k is -1: from 0 to 2147483647", .dtype = SETT_F16, .tuning.k = -1),
    BAD(".k is -1: from 0 to 2147483647", .dtype = SETT_F16, .tuning.k = -1),
    BAD(".threads: 48 threads are no multiple of 32, the threads of a warp", .dtype = SETT_F16, .tuning.threads = 48),
    BAD(".rows_per_warp is 3: 1, 2, 4, 8, 16 or 32", .dtype = SETT_F16, .tuning.rows_per_warp = 3),
    BAD(".rows_per_warp is 1: with .swiglu 2, 4, 8, 16 or 32", .dtype = SETT_F16, .swiglu = 1, .tuning.rows_per_warp = 1),
    BAD(".rows_per_warp is 8: of f32 at most 4", .dtype = SETT_F32, .tuning.rows_per_warp = 8),
    BAD(".vectors is 16: 1, 2, 4 or 8", .dtype = SETT_F16, .tuning.vectors = 16),
    BAD(".split is 3: a divisor of the 8 warps of 256 threads", .dtype = SETT_F16, .tuning.split = 3),
};
START_TEST(refused)
{
    char want[200];
    sett_gemm_few_rows_options o = bad[_i].o;
    snprintf(want, sizeof want, "sett_kernels_choose: gemm_few_rows: %s", bad[_i].text);
    ck_assert_int_eq(sett_kernels_choose(sett_gemm_few_rows, &o, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* Code for the targets at both ends, and for one between them. */
START_TEST(other_targets)
{
    static const struct { const char *target; sett_dtype t; } of[] = {{"sm_75", SETT_F16}, {"sm_75", SETT_I8}, {"sm_80", SETT_BF16}, {"sm_89", SETT_F8E4M3FN}, {"sm_100a", SETT_BF16}};
    const sett_gemm_few_rows_options o = {.size = sizeof o, .dtype = of[_i].t};
    sett_gemm_few_rows_options settled = o;
    sett_kernel *k = NULL;
    ck_assert_int_eq(sett_kernels_choose(sett_gemm_few_rows, &settled, of[_i].target, &err), SETT_OK);
    const sett_compile_options co = {.size = sizeof co, .target = of[_i].target, .user = &settled, .user_size = sizeof settled, .ptx_only = true};
    ck_assert_msg(!sett_compile(r.e, sett_gemm_few_rows, &co, &k, &err), "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

Suite *gemm_few_rows_suite(void)
{
    Suite *s = suite_create("gemm_few_rows");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, against_plain_c, 0, PRODUCTS);
    tcase_add_test(t, each_number_of_rows);
    tcase_add_loop_test(t, rows_by_themselves, 0, 5);
    tcase_add_loop_test(t, an_epilogue, 0, 2);
    tcase_add_test(t, an_epilogue_gives_numbers);
    tcase_add_test(t, refused_at_the_launch);
    tcase_add_test(t, chosen);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(t, other_targets, 0, 5);
    suite_add_tcase(s, t);
    return s;
}
