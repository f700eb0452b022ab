/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the CPU engine: what was freed and is used all the same; how much of it shared memory may be. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sett_engine *engine;
static sett_error err;
static char logged[512];
#define CPU ((sett_stream){SETT_CPU, NULL})

static void keep_log(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user, (void)level, (void)component;
    snprintf(logged, sizeof logged, "%s", message);
}

static void set_up(void)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1, .log = keep_log, .log_level = SETT_LOG_ERROR};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
}

static void tear_down(void)
{
    sett_engine_close(engine);
}

static sett_status compile_to(sett_body body, const char *name, sett_kernel **k)
{
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = "cpu"};
    return sett_compile(engine, body, &o, k, &err);
}

static sett_kernel *compile(sett_body body, const char *name)
{
    sett_kernel *k;
    ck_assert_msg(!compile_to(body, name, &k), "%s", err.text);
    return k;
}

static void copy(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N"), *i = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_block(b, 64);
    sett_if (b, sett_lt(i, N))
        sett_set(Y, sett_at(X, i), i);
}

static float *given(size_t n)
{
    float *p = sett_alloc(engine, SETT_CPU, n * sizeof *p);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (float)i;
    return p;
}

/* Small blocks, and large ones, whose pages the system gets back at once. */
static const size_t sizes[] = {10, 64, 100000, 4 << 20};

START_TEST(freed_is_told)
{
    size_t n = sizes[_i];
    float *x = given(n), *y = given(n);
    char want[200];
    sett_buf X = sett_buf_1d(x + 3, SETT_F32, 7), Y = sett_buf_1d(y, SETT_F32, 7);
    sett_kernel *k = compile(copy, "copy");
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    ck_assert(y[6] == 9);
    sett_free(engine, SETT_CPU, x);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &Y), SETT_E_RANGE);
    snprintf(want, sizeof want, "copy: X was freed: it starts at byte 12 of %zu that sett_free took back", n * sizeof *x);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_E_RANGE);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_RANGE);
    ck_assert_int_eq(sett_memcpy(engine, CPU, y, x, 4), SETT_E_RANGE);
    ck_assert_str_eq(logged, "");
    sett_free(engine, SETT_CPU, x);
    ck_assert_ptr_nonnull(strstr(logged, "was not given by sett_alloc, or was freed before"));
    sett_prepared_free(c);
    sett_free(engine, SETT_CPU, y);
    sett_kernel_release(k);
}
END_TEST

/* What is remembered is bounded, and addresses that are given anew are not freed. */
START_TEST(given_anew)
{
    enum { ROUNDS = 5000, KEPT = 8 };
    float *p[KEPT] = {NULL};
    sett_kernel *k = compile(copy, "copy");
    for (int i = 0; i < ROUNDS; i++) {
        float **x = &p[i % KEPT], **y = &p[(i + 1) % KEPT];
        size_t n = i % 50 == 0 ? 1 << 20 : 64;
        sett_free(engine, SETT_CPU, *x);
        *x = given(n);
        if (!*y)
            *y = given(64);
        sett_buf X = sett_buf_1d(*x, SETT_F32, 64), Y = sett_buf_1d(*y, SETT_F32, 64);
        ck_assert_msg(!sett_launch(k, CPU, &err, &X, &Y), "%s", err.text);
        ck_assert((*y)[63] == 63);
        float *own = malloc(300); /* an address of libc's is never one that is remembered */
        ck_assert_ptr_nonnull(own);
        memset(own, 0, 300);
        sett_buf Z = sett_buf_1d(own, SETT_F32, 64);
        ck_assert_msg(!sett_launch(k, CPU, &err, &Z, &Y), "%s", err.text);
        free(own);
    }
    for (int i = 0; i < KEPT; i++)
        sett_free(engine, SETT_CPU, p[i]);
    sett_kernel_release(k);
}
END_TEST

/* Resident bytes of this process. */
static long resident(void)
{
    long total, now = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%ld %ld", &total, &now), 2);
    fclose(f);
    return now * 4096;
}

START_TEST(freed_pages_go_back)
{
    enum { BYTES = 32 << 20 };
    long before = resident();
    for (int i = 0; i < 40; i++)
        sett_free(engine, SETT_CPU, given(BYTES / 4));
    ck_assert_int_lt(resident() - before, BYTES);
}
END_TEST

/* ---- shared memory ------------------------------------------------------------------------------ */
static void shared(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, 200000), 16), *t = sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, 100000), 16);
    sett_set(s, 1, 0);
    sett_set(t, 1, 0);
}

static void most(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_set(sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, 227 * 1024), 16), 1, 0);
}

static void asked(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_set(sett_make_smem_tensor(b, SETT_U8, sett_make_layout(b, T1(sett_sym(b, "n"))), 16), 1, 0);
}

START_TEST(more_than_any_gpu_has)
{
    sett_kernel *k;
    ck_assert_int_eq(compile_to(shared, "shared", &k), SETT_E_LIMIT);
    ck_assert_msg(strstr(err.text, "300000 bytes of shared memory, and no GPU, which the CPU engine stands for, gives a block at most 232448: 200000 at ") != NULL, "%s", err.text);
    k = compile(most, "most");
    ck_assert_msg(!sett_launch(k, CPU, &err), "%s", err.text);
    sett_kernel_release(k);
    k = compile(asked, "asked");
    ck_assert_msg(!sett_launch(k, CPU, &err, 227 * 1024), "%s", err.text);
    ck_assert_int_eq(sett_launch(k, CPU, &err, 227 * 1024 + 16), SETT_E_LIMIT);
    ck_assert_msg(strstr(err.text, "that the launch adds; the limit is 232448") != NULL, "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

Suite *memory_suite(void);
Suite *memory_suite(void)
{
    Suite *s = suite_create("memory");
    TCase *c = tcase_create("freed");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, freed_is_told, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(c, given_anew);
    tcase_add_test(c, freed_pages_go_back);
    suite_add_tcase(s, c);
    c = tcase_create("shared");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, more_than_any_gpu_has);
    suite_add_tcase(s, c);
    return s;
}
