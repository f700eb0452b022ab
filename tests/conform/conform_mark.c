/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters made after a buffer: the layouts that marks give address what the buffers hold, whatever the launch binds.
 */
#include "tests/conform/conform.h"
#include <sett/mark.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    sett_marked x, y;
} pair;

/* Y = X + 1, element by element of (M,(N,K)) in threads of 32. */
static void add_one(sett_build *b, const void *user)
{
    const pair *p = user;
    sett_tensor *X = sett_param_marked(b, "X", &p->x), *Y = sett_param_marked(b, "Y", &p->y);
    sett_arg M = sett_get(sett_shape(X), 0), N = sett_get(sett_shape(X), 1), K = sett_get(sett_shape(X), 2);
    sett_grid(b, M, N);
    sett_block(b, 32);
    sett_val *i = sett_block_idx(b, 0), *j = sett_block_idx(b, 1);
    sett_for (b, k, sett_thread_idx(b, 0), K, 32)
        sett_set(Y, sett_add(sett_at(X, i, j, k), 1), i, j, k);
}

/* Y a multiple of 16 bytes a row: a tile of 4 neighbours a thread, as wide as what is marked proves. */
static void add_four(sett_build *b, const void *user)
{
    const pair *p = user;
    sett_tensor *t[2] = {sett_param_marked(b, "X", &p->x), sett_param_marked(b, "Y", &p->y)}, *my[2];
    sett_grid(b, sett_get(sett_shape(t[0]), 0), sett_get(sett_shape(t[0]), 1));
    sett_block(b, 32);
    sett_for (b, tile, 0, sett_floordiv(sett_get(sett_shape(t[0]), 2), 128), 1) {
        for (int n = 0; n < 2; n++)
            my[n] = sett_slice(sett_composition(sett_slice(sett_local_tile(t[n], T(1, 1, 128),
                                                               T(sett_block_idx(b, 0), sett_block_idx(b, 1), tile)),
                                                    0, 0, ALL),
                                   sett_make_layout(b, T(32, 4), T(4, 1))),
                sett_thread_idx(b, 0), ALL);
        sett_store(my[1], sett_add(sett_load(my[0]), 1));
    }
}

static sett_buf array(int64_t m, int64_t n, int64_t k, int64_t dm, int64_t dn, int64_t dk)
{
    int64_t size = (m - 1) * dm + (n - 1) * dn + (k - 1) * dk + 1;
    float *data = aligned_alloc(16, ((size_t)size * sizeof *data + 15) / 16 * 16);
    ck_assert_ptr_nonnull(data);
    for (int64_t i = 0; i < size; i++)
        data[i] = (float)i;
    return (sett_buf){data, SETT_F32, 3, {m, n, k}, {dm, dn, dk}};
}

static float element(const sett_buf *t, int64_t i, int64_t j, int64_t k)
{
    return ((const float *)t->data)[i * t->stride[0] + j * t->stride[1] + k * t->stride[2]];
}

static void run(sett_kernel *k, sett_buf X, sett_buf Y)
{
    int wrong = 0;
    conform_run(k, &X, &Y);
    for (int64_t i = 0; i < X.shape[0]; i++)
        for (int64_t j = 0; j < X.shape[1]; j++)
            for (int64_t l = 0; l < X.shape[2]; l++)
                wrong += element(&Y, i, j, l) != element(&X, i, j, l) + 1;
    ck_assert_int_eq(wrong, 0);
    free(X.data);
    free(Y.data);
}

static sett_marked mark(const sett_buf *t, bool narrow, int compact_mode, int64_t div)
{
    sett_error err;
    sett_marked m;
    ck_assert_msg(!sett_from_buf(t, 16, narrow, &m, &err), "%s", err.text);
    if (compact_mode < 0)
        ck_assert_msg(!sett_mark_layout_dynamic(&m, SETT_DEDUCE, &err), "%s", err.text);
    else
        ck_assert_msg(!sett_mark_compact_shape_dynamic(&m, compact_mode, NULL, div, &err), "%s", err.text);
    return m;
}

START_TEST(marked_parameters)
{
    const bool narrow = _i;
    sett_buf X = array(3, 5, 40, 200, 40, 1), Y = array(3, 5, 40, 1, 3, 15);
    pair p = {mark(&X, narrow, -1, 1), mark(&Y, narrow, 2, 1)};
    ck_assert(!sett_mark_compact_shape_dynamic(&p.y, 0, NULL, 1, NULL)); /* (?,5,?):(1,?,?) */
    sett_kernel *k = conform_compile(add_one, &p, (conform_how){0});
    run(k, X, Y);
    run(k, array(7, 5, 33, 300, 50, 1), array(7, 5, 33, 1, 7, 35));
    run(k, array(1, 5, 1, 5, 1, 1), array(1, 5, 1, 1, 1, 5));
    sett_kernel_release(k);
}
END_TEST

START_TEST(marked_parameters_are_wide)
{
    const bool narrow = _i;
    sett_buf X = array(2, 3, 128, 384, 128, 1), Y = array(2, 3, 128, 384, 128, 1);
    pair p = {mark(&X, narrow, 2, 128), mark(&Y, narrow, 2, 128)};
    sett_kernel *k = conform_compile(add_four, &p, (conform_how){0});
    sett_kernel_info info = {.size = sizeof info};
    ck_assert(!sett_kernel_query(k, &info));
    ck_assert_msg(strstr(info.report, ": 1 x 16 bytes\n") && !strstr(info.report, "have"), "%s", info.report);
    run(k, X, Y);
    run(k, array(2, 3, 384, 1152, 384, 1), array(2, 3, 384, 1152, 384, 1));
    sett_kernel_release(k);
}
END_TEST

void conform_add_mark(TCase *t)
{
    tcase_add_loop_test(t, marked_parameters, 0, 2);
    tcase_add_loop_test(t, marked_parameters_are_wide, 0, 2);
}
