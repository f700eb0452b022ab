/* SPDX-License-Identifier: Apache-2.0 */
/* sett_assert on either engine: the same report, and a device that goes on. */
#include "tests/conform/conform.h"
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256, BLOCK = 64 };

/* What X holds decides which assertion fails, and where. */
static void guarded(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(n)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(n)));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(BLOCK)), 0);
    sett_grid(b, sett_ceil_div(n, BLOCK));
    sett_block(b, T(8, BLOCK / 8));
    sett_val *t = sett_add(sett_mul(sett_thread_idx(b, 1), 8), sett_thread_idx(b, 0));
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), t);
    sett_val *x = sett_at(X, i);
    sett_set(S, sett_to(x, SETT_F32), t);
#line 50 "guarded.c"
    sett_assert(b, sett_ge(x, 0));
    sett_sync_threads(b);
    sett_val *h = sett_mul(sett_to(x, SETT_F16), 0.5);
    sett_if (b, sett_gt(x, 100))
        sett_assert(b, sett_lt(x, 1000), "100%: x[{}] = {}, {} {} {} {}|%5.1f", i, x, h, sett_gt(x, 2000),
            sett_to(x, SETT_U64), T(1, t), h);
    sett_set(Y, sett_at(S, sett_xor(t, 1)), i);
}
#line 34 "tests/conform/conform_assert.c"

static sett_kernel *make(sett_body body, const char *name, const void *user)
{
    sett_compile_options o = {.size = sizeof o, .name = name, .asserts = SETT_ASSERTS_ON, .user = user};
    const char *other = getenv("SETT_TEST_TARGET");
    sett_kernel *k;
    sett_error err;
    if (other) {
        o.target = other;
        ck_assert_msg(!sett_compile(conform_engine(), body, &o, &k, &err), "%s", err.text);
        sett_kernel_release(k);
        o.target = NULL;
    }
    ck_assert_msg(!sett_compile(conform_engine(), body, &o, &k, &err), "%s", err.text);
    return k;
}

/* The status of a launch that has ended, and its report. */
static sett_status ran(sett_kernel *k, int32_t *x, float *y, sett_error *err)
{
    sett_engine *e = conform_engine();
    sett_stream s = {sett_default_device(e), NULL};
    sett_buf X = sett_buf_1d(sett_alloc(e, s.device, N * 4), SETT_I32, N), Y = X;
    Y.data = sett_alloc(e, s.device, N * 4), Y.dtype = SETT_F32;
    ck_assert(X.data && Y.data);
    ck_assert(!sett_memcpy(e, s, X.data, x, N * 4) && !sett_memcpy(e, s, Y.data, y, N * 4));
    sett_error plain = {0};
    float by_plain[N];
    if (s.device == SETT_CPU) {
        sett_launch(conform_plain(k), s, &plain, &X, &Y);
        ck_assert(!sett_memcpy(e, s, by_plain, Y.data, N * 4) && !sett_memcpy(e, s, Y.data, y, N * 4));
    }
    sett_status status = sett_launch(k, s, err, &X, &Y);
    if (!status)
        status = sett_sync_error(e, s, err);
    if (s.device == SETT_CPU) /* a fault ends either way where it is met */
        ck_assert_msg(status ? !strcmp(plain.text, err->text) : !plain.status && !memcmp(Y.data, by_plain, N * 4), "plain: %s", plain.text);
    ck_assert_int_eq(sett_poll(e, s.device, NULL), SETT_OK); /* told once */
    ck_assert(!sett_memcpy(e, s, y, Y.data, N * 4) && !sett_sync(e, s));
    sett_free(e, s.device, X.data);
    sett_free(e, s.device, Y.data);
    return status;
}

START_TEST(reports)
{
    static const struct { int at, x; const char *text; } t[] = {
        {77, -5, "guarded.c:50: assertion failed: sett_ge(x, 0), block (1,0,0) thread (5,1,0), kernel guarded"},
        {255, 1500, "guarded.c:54: assertion failed: 100%: x[255] = 1500, 750.000000 0 1500 (1,63)|750.0, "
                    "block (3,0,0) thread (7,7,0), kernel guarded"},
        {0, 999, NULL},
    };
    sett_kernel *k = make(guarded, "guarded", NULL);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < SETT__COUNT(t); i++) {
            int32_t x[N];
            float y[N];
            sett_error err = {0};
            for (int j = 0; j < N; j++)
                x[j] = j % 50, y[j] = -1;
            x[t[i].at] = t[i].x;
            ck_assert_int_eq(ran(k, x, y, &err), t[i].text ? SETT_E_FAULT : SETT_OK);
            if (t[i].text)
                ck_assert_str_eq(err.text, t[i].text);
            /* A GPU's other threads go on; the CPU engine stops where the first one failed. */
            for (int j = 0; j < N && (conform_on_gpu() || !t[i].text); j++)
                if (j != t[i].at || !t[i].text)
                    ck_assert_float_eq(y[j], (float)x[j ^ 1]);
        }
    sett_kernel_release(k);
}
END_TEST

/* Many fail: one is told. A value with a shape: all of it. */
static void shaped(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_composition(
                    sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(N))), sett_make_layout(b, T(4, N / 4))),
                *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_block(b, N / 4);
    sett_val *t = sett_thread_idx(b, 0);
    sett_assert(b, sett_lt(sett_load(sett_slice(X, ALL, t)), 9), "row {}", t);
    sett_set(Y, 3, t);
}

START_TEST(every_element)
{
    int32_t x[N] = {0};
    float y[N] = {0};
    sett_error err = {0};
    sett_kernel *k = make(shaped, "shaped", NULL);
    ck_assert_int_eq(ran(k, x, y, &err), SETT_OK);
    x[43] = 9;
    ck_assert_int_eq(ran(k, x, y, &err), SETT_E_FAULT);
    ck_assert_ptr_nonnull(strstr(err.text, "row 10, block (0,0,0) thread (10,0,0)"));
    for (int i = 0; i < N; i++)
        x[i] = 10;
    ck_assert_int_eq(ran(k, x, y, &err), SETT_E_FAULT);
    ck_assert_ptr_nonnull(strstr(err.text, "row "));
    sett_kernel_release(k);
}
END_TEST

void conform_add_assert(TCase *t)
{
    tcase_add_test(t, reports);
    tcase_add_test(t, every_element);
}
