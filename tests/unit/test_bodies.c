/* SPDX-License-Identifier: Apache-2.0 */
/* Whole bodies, and the instructions that an expert would write for them. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/sett.h>
#include <stdlib.h>
#include <string.h>

static char *ptx_of(sett_body body, const void *user, const char *target)
{
    sett_engine *e;
    sett_kernel *k;
    sett_error err;
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options opt = {.size = sizeof opt, .target = target, .user = user, .ptx_only = true};
    sett_kernel_info info = {.size = sizeof info};
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, body, &opt, &k, &err), "%s", err.text);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    char *text = strdup(info.ptx);
    sett_kernel_release(k);
    sett_engine_close(e);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* ---- pairs -------------------------------------------------------------------------------------------- */
/* H = X + R, rounded; Y = H max(H): what is stored is also used, each element by itself. */
static void residual(sett_build *b, const void *user)
{
    const sett_dtype type = *(const sett_dtype *)user;
    sett_tensor *t[4], *v[4];
    sett_block(b, 32);
    for (int i = 0; i < 4; i++) {
        t[i] = sett_param(b, &"X\0R\0H\0Y"[2 * i], type, sett_make_layout(b, T(256)), .align = 16);
        v[i] = sett_local_tile(t[i], T1(8), T1(sett_thread_idx(b, 0)));
    }
    sett_val *h = sett_to(sett_add(sett_to(sett_load(v[0]), SETT_F32), sett_to(sett_load(v[1]), SETT_F32)), type);
    sett_store(v[2], h);
    sett_val *f = sett_to(h, SETT_F32);
    sett_store(v[3], sett_to(sett_mul(f, sett_reduce(f, SETT_MAX, 0.0)), type));
}

START_TEST(rounded_in_pairs)
{
    static const struct {
        sett_dtype type;
        const char *target, *two, *one;
    } cases[] = {{SETT_BF16, "sm_90a", "cvt.rn.bf16x2.f32", "cvt.rn.bf16.f32"}, {SETT_F16, "sm_90a", "cvt.rn.f16x2.f32", "cvt.rn.f16.f32"},
        {SETT_BF16, "sm_80", "cvt.rn.bf16x2.f32", "cvt.rn.bf16.f32"}, {SETT_F16, "sm_80", "cvt.rn.f16x2.f32", "cvt.rn.f16.f32"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = ptx_of(residual, &cases[i].type, cases[i].target);
        ck_assert_msg(count(text, cases[i].two) == 8 && count(text, cases[i].one) == 0, "%.3000s", text);
        ck_assert_int_eq(count(text, "ld.global.v4"), 2);
        ck_assert_int_eq(count(text, "st.global.v4"), 2);
        free(text);
    }
}
END_TEST

/* ---- a stride of 0 -------------------------------------------------------------------------------------- */
/* Y = X S, a thread two rows of eight, a scale a row. ragged: neither extent is known to be a multiple of anything. */
typedef struct scaled {
    bool pred, ragged, boolean;
} scaled;

static sett_tensor *tile(sett_build *b, sett_tensor *t)
{
    return sett_local_tile(t, T(2, 8), T(sett_block_idx(b, 0), sett_thread_idx(b, 0)));
}

static void scale_rows(sett_build *b, const void *user)
{
    const scaled *s = user;
    sett_val *M = sett_sym(b, "M", .div = s->ragged ? 1 : 2), *N = sett_sym(b, "N", .div = s->ragged ? 1 : 8), *ld = sett_sym(b, "LD");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_row_major(b, sett_mul(M, 2), sett_mul(N, 8)), .align = 16);
    sett_tensor *S = sett_param(b, "S", SETT_F32, sett_make_layout(b, T(M, N), T(ld, 0)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, sett_mul(M, 2), sett_mul(N, 8)), .align = 16);
    sett_grid(b, sett_ceil_div(M, 2));
    sett_block(b, 32);
    sett_val *x = sett_load(tile(b, X)), *in = sett_elem_less(tile(b, sett_identity_tensor(b, M, N)), T(M, N));
    if (s->boolean)
        in = sett_gt(x, 0.0);
    sett_store(tile(b, Y), sett_mul(x, sett_load(tile(b, S), .pred = s->pred ? in : NULL, .fill = 3)));
}

START_TEST(scales_load_once)
{
    static const struct {
        scaled s;
        int loads; /* of the arm for what is all inside, and of the others */
    } cases[] = {{{false, false, false}, 6}, {{true, false, false}, 6}, {{true, false, true}, 6}, {{true, true, false}, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = ptx_of(scale_rows, &cases[i].s, "sm_90a");
        ck_assert_msg(count(text, "ld.global.v4") == 4, "%.3000s", text);
        ck_assert_msg(count(text, "ld.global") == cases[i].loads, "%d, not %d in\n%.3000s", count(text, "ld.global"), cases[i].loads, text);
        free(text);
    }
}
END_TEST

/* ---- rows that begin anywhere ----------------------------------------------------------------------------- */
enum { ODD = 8191, PEEL_THREADS = 352, PARTS = 3 };

static void odd_rows(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M"), *t = sett_thread_idx(b, 0), *row = sett_block_idx(b, 0); /* before the block is known */
    sett_tensor *X = sett_param(b, "X", SETT_BF16, sett_row_major(b, M, ODD), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_BF16, sett_row_major(b, M, ODD), .align = 16);
    sett_grid(b, M);
    sett_block(b, PEEL_THREADS);
    sett_layout *tv = sett_make_layout(b, T(PEEL_THREADS, T(8, PARTS)), T(8, T(1, 8 * PEEL_THREADS)));
    sett_peeled x = sett_peel(sett_slice(X, row, ALL), 16), y = sett_peel(sett_slice(Y, row, ALL), 16);
    sett_arg end = sett_add(x.skip, ODD);
    sett_tensor *my[3] = {x.tensor, y.tensor, sett_identity_tensor(b, T1(end))};
    for (int i = 0; i < 3; i++)
        my[i] = sett_slice(sett_composition(sett_local_tile(my[i], T1(8 * PEEL_THREADS * PARTS), T1(0)), tv), t, ALL);
    sett_val *in = sett_and(sett_elem_at_least(my[2], T1(x.skip)), sett_elem_less(my[2], T1(end)));
    sett_store(my[1], sett_load(my[0], .pred = in), .pred = in);
}

/* The middle part is always wide; the first and the last are where all is inside, and by element where not. */
START_TEST(odd_rows_are_wide)
{
    void *text;
    size_t len;
    sett_error err;
    ck_assert_msg(!sett_record(odd_rows, NULL, true, &text, &len, &err), "%s", err.text);
    ck_assert_int_eq(count(text, "load bf16x8 "), 1 + 2 + 2); /* the middle; both others inside; one of them */
    ck_assert_int_eq(count(text, "load bf16 "), 2 * 8);
    ck_assert_int_eq(count(text, " div i"), 0);
    ck_assert_int_eq(count(text, " rem i"), 0);
    sett_text_free(text);
}
END_TEST

static void peel_matrix(sett_build *b, sett_tensor **t) { *t = sett_param(b, "X", SETT_BF16, sett_row_major(b, 4, 5), .align = 16); }
static void peel_strided(sett_build *b, sett_tensor **t) { *t = sett_param(b, "X", SETT_BF16, sett_make_layout(b, T1(8), T1(2)), .align = 16); }
static void peel_unaligned(sett_build *b, sett_tensor **t) { *t = sett_param(b, "X", SETT_BF16, sett_make_layout(b, T1(8)), .align = 4); }
static void peel_packed(sett_build *b, sett_tensor **t) { *t = sett_param(b, "X", SETT_I4, sett_make_layout(b, T1(8)), .align = 16); }
static void peel_row(sett_build *b, sett_tensor **t) { *t = sett_param(b, "X", SETT_BF16, sett_make_layout(b, T1(8)), .align = 16); }

START_TEST(peel_misused)
{
    static const struct {
        void (*make)(sett_build *, sett_tensor **);
        int bytes;
        sett_status status;
        const char *text;
    } cases[] = {{peel_matrix, 16, SETT_E_SHAPE, "sett_peel: X (4,5):(5,1) is no row of one mode with stride 1"},
        {peel_strided, 16, SETT_E_SHAPE, "sett_peel: X (8):(2) is no row of one mode with stride 1"},
        {peel_unaligned, 16, SETT_E_ALIGN, "sett_peel: the alignment of X is 4 bytes: give it .align = 16"},
        {peel_packed, 16, SETT_E_DTYPE, "sett_peel: elements of i4 are no whole bytes"},
        {peel_row, 12, SETT_E_ARGUMENT, "sett_peel: 12 bytes: a power of two up to 16"},
        {peel_row, 32, SETT_E_ARGUMENT, "sett_peel: 32 bytes: a power of two up to 16"},
        {peel_row, 16, SETT_OK, ""}, {peel_row, 1, SETT_OK, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sett_build *b = sett_build_begin();
        sett_tensor *t;
        sett_error err = {0};
        cases[i].make(b, &t);
        sett_peeled p = sett_peel(t, cases[i].bytes);
        ck_assert(cases[i].status || (p.skip.kind == SETT_INT && p.skip.u.i == 0));
        ck_assert_int_eq(sett_build_end(b, &err), cases[i].status);
        ck_assert_msg(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
    }
}
END_TEST

SUITE_IN_ROOT(bodies, rounded_in_pairs, scales_load_once, odd_rows_are_wide, peel_misused)
