/* SPDX-License-Identifier: Apache-2.0 */
/* Tiled operations of more threads than the block has, which are refused, and of fewer, of which the report has a line. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/mma.h>
#include <string.h>

enum { BIG = 256, BLOCK = 128, TILE = 1024 };
typedef enum how { PLAIN, BLOCK_LAST, TWO_PARTS, A_LOOP, EACH_IN_C, TWICE, DYNAMIC, GUARDED, PREDICATED, MODULO } how;
typedef struct kind { how how; int threads, block; bool product; } kind;

static void give_block(sett_build *b, const kind *k, bool first)
{
    if ((k->how == BLOCK_LAST) == first)
        return;
    sett_grid(b, 1);
    sett_block(b, k->how == DYNAMIC ? SETT_A(sett_sym(b, "threads")) : SETT_A(k->block));
}

/* Y = X by one tile of TILE elements, of which each of k->threads threads has its part; of TWICE two threads have one each. */
static sett_tiled_copy *copy_of(sett_build *b, const kind *k)
{
    const int n = k->how == TWICE ? k->threads / 2 : k->threads;
    sett_layout *tv = k->how == TWICE ? sett_make_layout(b, T(T(n, 2), TILE / n), T(T(TILE / n, 0), 1)) : sett_make_layout(b, T(n, TILE / n), T(TILE / n, 1));
    return sett_make_tiled_copy(sett_copy_universal(b, SETT_F32, 32), tv, T1(TILE));
}

static void copy_part(sett_tiled_copy *copy, sett_arg thread, sett_tensor *X, sett_tensor *Y, sett_val *pred)
{
    sett_thr_copy *mine = sett_get_slice(copy, thread);
    sett_copy(copy, sett_partition_S(mine, X), sett_partition_D(mine, Y), .pred = pred);
}

static void copy_body(sett_build *b, const void *user)
{
    const kind *k = user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, TILE)), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, TILE));
    give_block(b, k, true);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tiled_copy *copy = copy_of(b, k);
    switch (k->how) {
    case TWO_PARTS:
        copy_part(copy, SETT_A(t), X, Y, NULL);
        copy_part(copy_of(b, k), SETT_A(sett_add(t, k->block)), X, Y, NULL);
        break;
    case A_LOOP:
        sett_for (b, i, 0, k->threads / k->block, 1)
            copy_part(copy, SETT_A(sett_add(sett_mul(i, k->block), t)), X, Y, NULL);
        break;
    case EACH_IN_C:
        for (int i = 0; i < k->threads; i++)
            copy_part(copy, SETT_A(i), X, Y, NULL);
        break;
    case GUARDED:
        sett_if (b, sett_lt(t, k->threads))
            copy_part(copy, SETT_A(t), X, Y, NULL);
        break;
    case PREDICATED: copy_part(copy, SETT_A(t), X, Y, sett_lt(t, k->threads)); break;
    case MODULO: copy_part(copy, SETT_A(sett_mod(t, k->threads)), X, Y, NULL); break;
    default: copy_part(copy, SETT_A(t), X, Y, NULL); break;
    }
    give_block(b, k, false);
}

/* C = A B of warps of m16n8, one below the other, whose slices threads of the block take. */
static void product_body(sett_build *b, const void *user)
{
    const kind *k = user;
    const int rows = k->threads / 2;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_row_major(b, rows, 16), .align = 16), *B = sett_param(b, "B", SETT_F16, sett_row_major(b, 8, 16), .align = 16);
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, rows, 8), .align = 16);
    give_block(b, k, true);
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32), T(k->threads / 32, 1, 1), ALL);
    for (int i = 0; i < (k->how == TWO_PARTS ? 2 : 1); i++) {
        sett_thr_mma *s = sett_get_slice(mma, sett_add(sett_thread_idx(b, 0), i * k->block));
        sett_tensor *pa = sett_partition_A(s, A), *pb = sett_partition_B(s, B), *pc = sett_partition_C(s, C);
        sett_tensor *fa = sett_make_fragment_A(mma, pa), *fb = sett_make_fragment_B(mma, pb), *fc = sett_make_fragment_C(mma, pc);
        sett_copy(pa, fa), sett_copy(pb, fb);
        sett_gemm(mma, fc, fa, fb, fc, .overwrite = true);
        sett_copy(fc, pc);
    }
    give_block(b, k, false);
}

static sett_status compile_kind(sett_engine *e, const kind *k, sett_kernel **out, sett_error *err)
{
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = k, .user_size = sizeof *k};
    return sett_compile(e, k->product ? product_body : copy_body, &o, out, err);
}

START_TEST(more_threads_than_the_block)
{
    static const struct { kind kind; const char *why; } t[] = {
        {{PLAIN, BIG, BLOCK, false}, "sett_get_slice: (256,4):(4,1) has 256 threads, and the block has 128: the parts of threads 128 to 255 are nobody's"},
        {{BLOCK_LAST, BIG, BLOCK, false}, "sett_get_slice: (256,4):(4,1) has 256 threads, and the block has 128: the parts of threads 128 to 255 are nobody's"},
        {{PLAIN, 512, 480, false}, "sett_get_slice: (512,2):(2,1) has 512 threads, and the block has 480: the parts of threads 480 to 511 are nobody's"},
        {{PLAIN, BIG, BLOCK, true}, "sett_get_slice: (32,8,1,1):(1,32,0,0) has 256 threads, and the block has 128: the parts of threads 128 to 255 are nobody's"},
        {{BLOCK_LAST, 64, 32, true}, "sett_get_slice: (32,2,1,1):(1,32,0,0) has 64 threads, and the block has 32: the parts of threads 32 to 63 are nobody's"}};
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        ck_assert_int_eq(compile_kind(e, &t[i].kind, &k, &err), SETT_E_RANGE);
        ck_assert_msg(!strncmp(err.text, "tests/unit/test_share.c:", 24) && strstr(err.text, ": sett_get_slice") && !strcmp(strstr(err.text, "sett_get_slice"), t[i].why), "%s", err.text);
    }
    sett_engine_close(e);
}
END_TEST

/* What is complete, or may be, is compiled, and gives all of the result. */
START_TEST(parts_that_are_somebodys)
{
    static const kind t[] = {{TWO_PARTS, BIG, BLOCK, false}, {A_LOOP, BIG, 64, false}, {EACH_IN_C, BIG, BLOCK, false}, {TWICE, BIG, BLOCK, false}, {DYNAMIC, BIG, BIG, false},
        {PLAIN, BLOCK, BLOCK, false}, {GUARDED, 64, BLOCK, false}, {PREDICATED, 64, BLOCK, false}, {MODULO, 64, BLOCK, false}};
    static float x[TILE], y[TILE];
    sett_buf X = sett_buf_1d(x, SETT_F32, TILE), Y = sett_buf_1d(y, SETT_F32, TILE);
    sett_engine *e = open_engine();
    sett_error err = {0};
    for (int i = 0; i < TILE; i++)
        x[i] = (float)(i + 1);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        sett_kernel *k;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_msg(!compile_kind(e, &t[i], &k, &err), "%zu: %s", i, err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_msg(!strstr(info.report, "sett_get_slice"), "%zu: %s", i, info.report);
        memset(y, 0xff, sizeof y);
        if (t[i].how == DYNAMIC)
            ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y, t[i].block), "%zu: %s", i, err.text);
        else
            ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y), "%zu: %s", i, err.text);
        ck_assert_msg(!memcmp(x, y, sizeof x), "%zu", i);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

START_TEST(a_product_in_two_parts)
{
    enum { ROWS = BIG / 2 };
    static const kind parts = {TWO_PARTS, BIG, BLOCK, true};
    static uint16_t a[ROWS * 16], w[8 * 16];
    static float c[ROWS * 8];
    sett_buf A = sett_buf_2d(a, SETT_F16, ROWS, 16), B = sett_buf_2d(w, SETT_F16, 8, 16), C = sett_buf_2d(c, SETT_F32, ROWS, 8);
    sett_engine *e = open_engine();
    sett_error err = {0};
    sett_kernel *k;
    for (int i = 0; i < ROWS * 16; i++)
        a[i] = i / 16 % 3 ? 0x3c00 : 0x4000; /* 1 and 2 */
    for (int i = 0; i < 8 * 16; i++)
        w[i] = 0x3c00;
    ck_assert_msg(!compile_kind(e, &parts, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B, &C), "%s", err.text);
    for (int i = 0; i < ROWS * 8; i++)
        ck_assert_msg(c[i] == (i / 8 % 3 ? 16 : 32), "%d", i);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(fewer_threads_are_reported)
{
    static const struct { kind kind; const char *call, *line; } t[] = {
        {{PLAIN, 64, BLOCK, false}, "sett_copy", "(64,16):(16,1)@ has 64 threads, and the block has 128: no sett_if or predicate keeps out a thread of index 64 or more, which has what lies behind the tile\n"},
        {{PLAIN, 32, BLOCK, true}, "sett_copy", "(32,1,1,1):(1,0,0,0)@ has 32 threads, and the block has 128: no sett_if or predicate keeps out a thread of index 32 or more, which has the parts of the first threads again\n"}};
    sett_engine *e = open_engine();
    sett_error err = {0};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        sett_kernel *k;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_msg(!compile_kind(e, &t[i].kind, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        const char *line = strstr(info.report, ", of sett_get_slice at tests/unit/test_share.c:");
        ck_assert_msg(line && !strstr(line + 1, ", of sett_get_slice at"), "%zu: %s", i, info.report);
        const char *mid = strchr(t[i].line, '@'), *has = strstr(line, " has ");
        ck_assert_msg(!strncmp(line - (mid - t[i].line), t[i].line, (size_t)(mid - t[i].line)) && !strncmp(has, mid + 1, strlen(mid + 1)), "%zu: %s", i, info.report);
        for (; line > info.report && line[-1] != '\n'; line--)
            ;
        ck_assert_msg(!strncmp(line, "tests/unit/test_share.c:", 24) && !strncmp(strchr(line + 24, ' ') + 1, t[i].call, strlen(t[i].call)), "%s", line);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

Suite *share_suite(void);
Suite *share_suite(void)
{
    Suite *s = suite_create("share");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_test(t, more_threads_than_the_block);
    tcase_add_test(t, parts_that_are_somebodys);
    tcase_add_test(t, a_product_in_two_parts);
    tcase_add_test(t, fewer_threads_are_reported);
    suite_add_tcase(s, t);
    return s;
}
