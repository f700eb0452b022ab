/* SPDX-License-Identifier: Apache-2.0 */
/* The assertions of sett/check_unit.h: what they say where they fail, and that they pass where they should. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/check_unit.h>
#include <sett/pipeline.h>

enum { N = 64 };

static void turn(sett_build *b, bool barrier)
{
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, N)), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, N));
    sett_block(b, N);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, N, 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, t), t);
    if (barrier)
        sett_sync_threads(b);
    sett_set(Y, sett_at(S, sett_sub(N - 1, t)), t);
}
static void right(sett_build *b, const void *user)
{
    (void)user;
    turn(b, true);
}
static void wrong(sett_build *b, const void *user)
{
    (void)user;
    turn(b, false);
}
static void for_ever(sett_build *b, const void *user)
{
    (void)user;
    turn(b, true);
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        sett_mbarrier_init(bar, 1);
    sett_sync_threads(b);
    sett_mbarrier_wait(bar, 0);
}

static sett_engine *e;
static float x[N], y[N];
static sett_kernel *compiled(sett_body body)
{
    const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .cpu_async = "lazy"};
    const sett_compile_options c = {.size = sizeof c, .target = "cpu"};
    sett_error err;
    sett_kernel *k;
    ck_assert_msg(e || !sett_engine_open(&e, &o, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, body, &c, &k, &err), "%s", err.text);
    return k;
}
static void close_engine(void)
{
    sett_engine_close(e);
    e = NULL;
}

/* ---- with Check's own assertion: they pass -------------------------------------------------------------------------- */
START_TEST(passes)
{
    sett_kernel *good = compiled(right), *bad = compiled(wrong), *stuck = compiled(for_ever);
    const sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N);
    sett_ck_assert_clean(good, &X, &Y);
    for (int i = 0; i < 2; i++) { /* a finding is told of each launch */
        sett_ck_assert_finds(bad, SETT_CHECK_RACE, &X, &Y);
        sett_ck_assert_finds(bad, SETT_CHECK_UNINIT, &X, &Y);
    }
    sett_ck_assert_finds(stuck, SETT_CHECK_DEADLOCK, &X, &Y);
    sett_kernel_release(good), sett_kernel_release(bad), sett_kernel_release(stuck);
    close_engine();
}
END_TEST

/* ---- with one that notes what it would say ------------------------------------------------------------------------------ */
static char said[8000];
#pragma push_macro("ck_assert_msg")
#undef ck_assert_msg
#define ck_assert_msg(holds, ...) \
    do { \
        if (!(holds) && !*said) \
            snprintf(said, sizeof said, __VA_ARGS__); \
    } while (0)
static const char *of_clean(sett_kernel *k, const sett_buf *X, const sett_buf *Y)
{
    *said = 0;
    sett_ck_assert_clean(k, X, Y);
    return said;
}
static const char *of_finds(sett_kernel *k, sett_check_kind kind, const sett_buf *X, const sett_buf *Y)
{
    *said = 0;
    sett_ck_assert_finds(k, kind, X, Y);
    return said;
}
#pragma pop_macro("ck_assert_msg")

static void has(const char *text, const char *word)
{
    ck_assert_msg(strstr(text, word), "\"%s\" is not in \"%s\"", word, text);
}

START_TEST(fails)
{
    sett_kernel *good = compiled(right), *bad = compiled(wrong), *stuck = compiled(for_ever);
    const sett_buf X = sett_buf_1d(x, SETT_F32, N), Y = sett_buf_1d(y, SETT_F32, N), shorter = sett_buf_1d(y, SETT_F32, N - 1);
    ck_assert_str_eq(of_clean(good, &X, &Y), "");
    has(of_clean(bad, &X, &Y), "test_check_unit.c:");
    has(said, ": race: ");
    has(said, ": uninit: ");
    has(of_clean(stuck, &X, &Y), ": deadlock: ");
    has(of_clean(good, &X, &shorter), "Y"); /* the launch is refused */
    ck_assert_str_eq(of_finds(bad, SETT_CHECK_RACE, &X, &Y), "");
    ck_assert_str_eq(of_finds(good, SETT_CHECK_RACE, &X, &Y), "no race was found, but no error");
    has(of_finds(bad, SETT_CHECK_DEADLOCK, &X, &Y), "no deadlock was found, but ");
    has(said, ": race: ");
    has(of_finds(good, SETT_CHECK_RACE, &X, &shorter), "no race was found, but ");
    has(said, "Y");
    sett_kernel_release(good), sett_kernel_release(bad), sett_kernel_release(stuck);
    close_engine();
}
END_TEST

Suite *check_unit_suite(void)
{
    Suite *s = suite_create("check_unit");
    TCase *t = tcase_create("assertions");
    tcase_add_test(t, passes);
    tcase_add_test(t, fails);
    suite_add_tcase(s, t);
    return s;
}
