/* SPDX-License-Identifier: Apache-2.0 */
/* Launching on the CPU engine: one-off launches, prepared calls, kernels as C functions, buffers, DLPack. The
 * reference is a loop in C. */
#define SETT_SHORT
#include "third_party/dlpack/dlpack.h"
#include "tests/rig/axpy.h"
#include <check.h>
#include <errno.h>
#include <sett/dlpack.h>
#include <sett/sett.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 1000 };
#define CPU ((sett_stream){SETT_CPU, NULL})

/* Y = X of a stride. */
static void strided(sett_build *b, const void *stride)
{
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N), T1(*(const int64_t *)stride)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_grid(b, N);
    sett_block(b, 1);
    sett_set(Y, sett_at(X, sett_block_idx(b, 0)), sett_block_idx(b, 0));
}

/* Every scalar type of C: Out[j] = argument j as Float64. */
static const sett_dtype scalar_types[] = {SETT_BOOL, SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_U32, SETT_I64,
    SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};
enum { N_SCALARS = sizeof scalar_types / sizeof *scalar_types };

static void scalars(sett_build *b, const void *user)
{
    static const char *const names[N_SCALARS] = {
        "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12"};
    (void)user;
    sett_tensor *Out = sett_param(b, "Out", SETT_F64, sett_make_layout(b, T1(N_SCALARS)));
    sett_block(b, 1);
    for (int j = 0; j < N_SCALARS; j++)
        sett_set(Out, sett_to(sett_scalar(b, names[j], scalar_types[j]), SETT_F64), j);
}

/* A symbol that no buffer gives: Out[i] = i * scale for the 8 of it. */
static void scaled(sett_build *b, const void *user)
{
    (void)user;
    sett_val *scale = sett_sym(b, "scale");
    sett_tensor *Out = sett_param(b, "Out", SETT_I32, sett_make_layout(b, T1(8)));
    sett_block(b, 8);
    sett_val *i = sett_thread_idx(b, 0);
    sett_set(Out, sett_mul(i, scale), i);
}

/* Y[0] = an element of X, or of a copy of it in another space, at an index of 64 bits. */
typedef struct far_index {
    sett_dtype dtype;
    int how;
} far_index;

static void far_element(sett_build *b, const void *user)
{
    const far_index *f = user;
    sett_val *N = sett_sym(b, "N"), *i = sett_scalar(b, "i", f->dtype);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(4)));
    sett_layout *swizzled = sett_make_swizzled(1, 2, 1, sett_make_layout(b, T1(16)));
    sett_tensor *S = f->how < 3   ? X
                     : f->how < 4 ? sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(16)), 16)
                     : f->how < 5 ? sett_make_smem_tensor(b, SETT_F32, swizzled, 16)
                                  : sett_make_rmem_tensor(b, SETT_F32, 16);
    sett_block(b, 1);
    if (f->how >= 3)
        sett_fill(S, 1);
    if (f->how == 0)
        sett_set(Y, 1, i);
    else if (f->how == 1)
        sett_set(Y, sett_at(sett_local_tile(S, T1(4), T1(i)), 2), 0);
    else
        sett_set(Y, sett_at(S, i), 0);
}

/* Out = for the 4 elements of thread t of tile `first`: is the coordinate below N; then three quotients rounded up. */
typedef struct edge_of {
    bool wide;
    int64_t tile, extent; /* 0: the symbol N */
} edge_of;

static void edge(sett_build *b, const void *user)
{
    const edge_of *u = user;
    sett_val *N = sett_sym(b, "N", .wide = u->wide);
    sett_arg n = u->extent ? sett_arg_i(u->extent) : sett_arg_v(N);
    sett_tensor *Out = sett_param(b, "Out", SETT_I64, sett_make_layout(b, T1(7)));
    sett_val *first = sett_scalar(b, "first", SETT_I32), *t = sett_scalar(b, "t", SETT_I32), *d = sett_scalar(b, "d", SETT_I32);
    sett_tensor *tile = sett_local_tile(sett_identity_tensor(b, T1(n)), T1(u->tile), T1(first));
    sett_tensor *mine = sett_slice(sett_composition(tile, sett_make_layout(b, T(u->tile / 4, 4), T(4, 1))), t, ALL);
    sett_val *in = sett_where(sett_elem_less(mine, T1(n)), sett_const(b, SETT_I64, 1), 0);
    for (int i = 0; i < 4; i++)
        sett_set(Out, sett_element(in, i), i);
    sett_val *zero = sett_const(b, SETT_I64, 0);
    sett_set(Out, sett_add(zero, sett_ceil_div(N, u->tile)), 4);
    sett_set(Out, sett_add(zero, sett_ceil_div(N, d)), 5);
    sett_set(Out, sett_add(zero, sett_ceil_div(sett_sub(0, first), u->tile)), 6);
}

static sett_engine *engine;
static sett_error err;
static float x[N_MAX], y[N_MAX], was[N_MAX];

static void set_up(void)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
}

static void tear_down(void)
{
    sett_engine_close(engine);
    engine = NULL;
}

static sett_kernel *compile(sett_body body, const char *name)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = "cpu"};
    ck_assert_msg(!sett_compile(engine, body, &o, &k, &err), "%s", err.text);
    return k;
}

static void refill(void)
{
    axpy_fill(x, y, was, N_MAX);
}

static void expect_step(int n, float a)
{
    axpy_expect(x, y, was, N_MAX, n, 1, a);
}


/* ---- one-off launches -------------------------------------------------------------- */
START_TEST(launch_steps)
{
    static const int sizes[] = {1, 63, 64, 65, 1000};
    sett_kernel *k = compile(axpy, "axpy");
    refill();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sett_buf X = sett_buf_1d(x, SETT_F32, sizes[i]), Y = sett_buf_1d(y, SETT_F32, sizes[i]);
        errno = 4242;
        ck_assert_msg(!sett_launch(k, CPU, &err, &X, &Y, 0.5), "%s", err.text);
        ck_assert_int_eq(errno, 4242);
        expect_step(sizes[i], 0.5f);
    }
    sett_kernel_release(k);
}
END_TEST

START_TEST(launch_of_nothing)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 0), Y = sett_buf_1d(y, SETT_F32, 0);
    refill();
    ck_assert_msg(!sett_launch(k, CPU, &err, &X, &Y, 2), "%s", err.text);
    expect_step(0, 2);
    sett_kernel_release(k);
}
END_TEST

START_TEST(launch_default_device)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 10), Y = sett_buf_1d(y, SETT_F32, 10);
    refill();
    ck_assert_msg(!sett_launch(k, ((sett_stream){SETT_DEFAULT_DEVICE, NULL}), &err, &X, &Y, 2.0f), "%s", err.text);
    expect_step(10, 2);
    sett_kernel_release(k);
}
END_TEST

/* No index of any type is cut to 32 bits, where 2^32 would be element 0: not of a small parameter, nor of shared
 * memory or registers. */
START_TEST(far_index_is_caught)
{
    static const struct {
        sett_dtype dtype;
        int64_t far;
    } cases[] = {{SETT_I64, INT64_C(1) << 32}, {SETT_I64, INT64_C(1) << 40}, {SETT_U64, INT64_C(1) << 32},
        {SETT_U32, INT64_C(1) << 31}, {SETT_I16, -1}, {SETT_U8, 255}};
    for (int how = 0; how < 6; how++)
        for (size_t d = 0; d < sizeof cases / sizeof *cases; d++) {
            far_index f = {cases[d].dtype, how};
            sett_compile_options o = {
                .size = sizeof o, .name = "far_element", .target = "cpu", .user = &f, .user_size = sizeof f};
            sett_kernel *k = NULL;
            ck_assert_msg(!sett_compile(engine, far_element, &o, &k, &err), "%d: %s", how, err.text);
            sett_buf X = sett_buf_1d(x, SETT_F32, 16), Y = sett_buf_1d(y, SETT_F32, 4);
            ck_assert_msg(!sett_launch(k, CPU, &err, 0, &X, &Y), "%d: %s", how, err.text);
            sett_status status = sett_launch(k, CPU, &err, cases[d].far, &X, &Y);
            ck_assert_msg(status == SETT_E_FAULT, "%d by %zu: %s", how, d, err.text);
            sett_kernel_release(k);
        }
}
END_TEST

START_TEST(launch_refusals)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 10), Y = sett_buf_1d(y, SETT_F32, 10), shorter = sett_buf_1d(y, SETT_F32, 9);
    sett_buf nothing = sett_buf_nd(y, SETT_F32, 9, (const int64_t[9]){0});
    refill();
    ck_assert_int_eq(sett_launch_n(NULL, CPU, 0, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_launch(k, ((sett_stream){0, NULL}), &err, &X, &Y, 1.0), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_launch(k, ((sett_stream){-7, NULL}), &err, &X, &Y, 1.0), SETT_E_NO_DEVICE);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &Y), SETT_E_BIND);
    ck_assert_msg(strstr(err.text, "axpy takes 3 arguments (X, Y, a), 2 were given") != NULL, "%s", err.text);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &shorter, 1.0), SETT_E_SHAPE);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &nothing, 1.0), SETT_E_RANK);
    ck_assert_int_eq(sett_launch_n(k, CPU, 3, NULL, &err), SETT_E_BIND);
    ck_assert_int_eq(sett_launch(k, CPU, NULL, &X, &Y), SETT_E_BIND); /* without a place for the text */
    expect_step(0, 0);
    sett_kernel_release(k);
}
END_TEST

/* What sett_alloc gave is known: a buffer that claims more is refused before anything is touched, at its ends and from
 * within. Memory from elsewhere is taken at its word. */
START_TEST(short_allocations)
{
    static const struct {
        int64_t from, stride;
        const char *text;
    } cases[] = {
        {0, 1, NULL},
        {1, 1, "axpy: X spans 40 bytes from its address, its allocation has 36"},
        {9, 1, "axpy: X spans 40 bytes from its address, its allocation has 4"},
        {0, 2, "axpy: X spans 76 bytes from its address, its allocation has 40"},
        {9, -1, NULL},
        {8, -1, "axpy: X reaches 36 bytes below its address, its allocation 32"},
    };
    float *own = sett_alloc(engine, SETT_CPU, 10 * sizeof *own);
    sett_buf Y = sett_buf_1d(y, SETT_F32, 10), none = {own + 9, SETT_F32, 1, {0}, {1}}, empty = {y, SETT_F32, 1, {0}, {1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sett_compile_options o = {.size = sizeof o, .name = "axpy", .user = &cases[i].stride};
        sett_kernel *k;
        ck_assert_msg(!sett_compile(engine, strided, &o, &k, &err), "%s", err.text);
        sett_buf X = {own + cases[i].from, SETT_F32, 1, {10}, {cases[i].stride}};
        sett_prepared *c;
        refill();
        memcpy(own, x, 10 * sizeof *own);
        sett_status s = sett_launch(k, CPU, &err, &X, &Y);
        ck_assert_msg(s == (cases[i].text ? SETT_E_RANGE : SETT_OK), "%zu: %s", i, err.text);
        if (cases[i].text) {
            ck_assert_str_eq(err.text, cases[i].text);
            expect_step(0, 0);
            ck_assert_int_eq(sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y), SETT_E_RANGE);
            ck_assert_str_eq(err.text, cases[i].text);
        }
        ck_assert_msg(!sett_launch(k, CPU, &err, &none, &empty), "%s", err.text); /* touches nothing */
        sett_kernel_release(k);
    }
    sett_free(engine, SETT_CPU, own);
}
END_TEST

/* What was never written is no zero that passes unseen: NaN, -1, in each block anew. */
static void unwritten(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(2, 3)));
    sett_tensor *f = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(4)), 0);
    sett_tensor *i = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(4)), 0);
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_F32, 4);
    sett_grid(b, 2);
    sett_block(b, 1);
    sett_val *block = sett_block_idx(b, 0);
    sett_set(Y, sett_at(f, 3), block, 0);
    sett_set(Y, sett_to(sett_at(i, 3), SETT_F32), block, 1);
    sett_set(Y, sett_at(r, 3), block, 2);
    sett_set(f, 7, 3);
    sett_set(i, 7, 3);
    sett_set(r, 7, 3);
}

START_TEST(unwritten_memory_is_nan)
{
    sett_kernel *k = compile(unwritten, "unwritten");
    float to[6] = {0};
    sett_buf Y = {to, SETT_F32, 2, {2, 3}, {1, 2}};
    ck_assert_msg(!sett_launch(k, CPU, &err, &Y), "%s", err.text);
    for (int block = 0; block < 2; block++)
        ck_assert_msg(isnan(to[block]) && to[2 + block] == -1 && isnan(to[4 + block]), "block %d: %g %g %g", block,
            (double)to[block], (double)to[2 + block], (double)to[4 + block]);
    sett_kernel_release(k);
}
END_TEST

/* A kernel outlives its engine as memory, and says why it does not run. */
START_TEST(launch_after_close)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 10), Y = sett_buf_1d(y, SETT_F32, 10);
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y, 1.0), "%s", err.text);
    tear_down();
    refill();
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &Y, 1.0), SETT_E_CLOSED);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_E_CLOSED);
    sett_prepared_float(c, 2, 3.0);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_CLOSED);
    sett_prepared *other = c;
    ck_assert_int_eq(sett_prepared_make(k, SETT_CPU, &other, &err, &X, &Y, 1.0), SETT_E_CLOSED);
    ck_assert_ptr_null(other);
    expect_step(0, 0);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

/* Y = X + 1, then X = 2 Y, of one number each. */
static void rank_zero(sett_build *b, const void *user)
{
    (void)user;
    sett_layout *one = sett_make_layout(b, sett_arg_n(0, NULL));
    sett_tensor *X = sett_param(b, "X", SETT_F32, one), *Y = sett_param(b, "Y", SETT_F32, one);
    sett_store(Y, sett_add(sett_load(X), 1.0));
    sett_set(X, sett_mul(sett_at(Y, sett_arg_n(0, NULL)), 2.0), 0);
}

START_TEST(buffers_of_rank_zero)
{
    float from = 3, to = 0;
    sett_kernel *k = compile(rank_zero, "rank_zero");
    sett_buf X = sett_buf_nd(&from, SETT_F32, 0, NULL), Y = sett_buf_nd(&to, SETT_F32, 0, NULL);
    ck_assert_msg(!sett_launch(k, CPU, &err, &X, &Y), "%s", err.text);
    ck_assert(from == 8 && to == 4);
    Y = sett_buf_1d(&to, SETT_F32, 1);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &X, &Y), SETT_E_RANK);
    sett_kernel_release(k);
}
END_TEST

START_TEST(symbol_without_a_buffer)
{
    sett_kernel *k = compile(scaled, "scaled");
    int32_t out[8] = {0};
    sett_buf Out = sett_buf_1d(out, SETT_I32, 8);
    ck_assert_int_eq(sett_kernel_argument(k, "scale"), 1);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &Out), SETT_E_BIND);
    ck_assert_msg(!sett_launch(k, CPU, &err, &Out, 7), "%s", err.text);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(out[i], i * 7);
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &Out, 3), "%s", err.text);
    sett_prepared_int(c, 1, 11);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(out[i], i * 11);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

/* ---- prepared calls ------------------------------------------------------------------ */
START_TEST(call_stages_and_commits)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 100), Y = sett_buf_1d(y, SETT_F32, 100);
    sett_prepared *c;
    refill();
    ck_assert_int_eq(sett_kernel_argument(k, "X"), 0);
    ck_assert_int_eq(sett_kernel_argument(k, "a"), 2);
    ck_assert_int_eq(sett_kernel_argument(k, "N"), 3);
    ck_assert_int_eq(sett_kernel_argument(k, "none"), -1);
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y, 0.5), "%s", err.text);
    X.rank = 77;            /* the call has its own copy */
    sett_kernel_release(k); /* and its own reference */
    errno = 4242;
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    ck_assert_int_eq(errno, 4242);
    expect_step(100, 0.5f);
    ck_assert_int_eq(sett_prepared_run(c, ((sett_stream){SETT_DEFAULT_DEVICE, NULL})), SETT_OK);
    expect_step(100, 0.5f);
    sett_prepared_free(c);
}
END_TEST

START_TEST(call_runs_what_was_committed)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 100), Y = sett_buf_1d(y, SETT_F32, 100);
    sett_buf X7 = sett_buf_1d(x, SETT_F32, 7), Y7 = sett_buf_1d(y, SETT_F32, 7);
    sett_prepared *c;
    refill();
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y, 0.5), "%s", err.text);
    sett_prepared_float(c, 2, 4);
    sett_prepared_buf(c, 0, &X7); /* staged: not seen by the next run */
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_step(100, 0.5f);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_SHAPE); /* X is 7, Y is 100 */
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_step(100, 0.5f);
    sett_prepared_buf(c, 1, &Y7);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_step(7, 4);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

START_TEST(call_reports_setters)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 100), Y = sett_buf_1d(y, SETT_F32, 100);
    sett_prepared *c;
    refill();
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &Y, 0.5), "%s", err.text);
    ck_assert_int_eq(sett_prepared_int(c, 4, 1), SETT_E_BIND); /* there are 3 arguments and 1 symbol */
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_msg(strstr(err.text, "argument 4") != NULL, "%s", err.text);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text); /* it had no effect */
    ck_assert_int_eq(sett_prepared_buf(c, sett_kernel_argument(k, "none"), &X), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_buf(c, 3, &X), SETT_E_BIND); /* a symbol */
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_float(c, 9, 1), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_struct(c, 3, &X, sizeof X), SETT_E_BIND);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    sett_prepared_buf(c, 0, NULL);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    sett_prepared_int(c, 0, 5);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    sett_prepared_buf(c, 0, &X);
    sett_prepared_buf(c, 2, &X);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    sett_prepared_float(c, 2, 0.25);
    sett_prepared_int(c, 3, 99); /* N is 100 by X */
    ck_assert_int_ne(sett_prepared_commit(c, &err), SETT_OK);
    sett_prepared_int(c, 3, 100);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_step(100, 0.25f);
    ck_assert_int_eq(sett_prepared_run(c, ((sett_stream){3, NULL})), SETT_E_NO_DEVICE);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

START_TEST(call_made_empty)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X = sett_buf_1d(x, SETT_F32, 100), Y = sett_buf_1d(y, SETT_F32, 100);
    sett_prepared *c;
    refill();
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_E_BIND);
    sett_prepared_buf(c, 0, &X);
    sett_prepared_buf(c, 1, &Y);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_msg(strstr(err.text, "a (argument 2) was never given") != NULL, "%s", err.text);
    sett_prepared_float(c, 2, 2);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_step(100, 2);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

START_TEST(call_of_null)
{
    sett_prepared *c = NULL;
    sett_kernel *k = compile(axpy, "axpy");
    ck_assert_int_eq(sett_prepared_make(NULL, SETT_CPU, &c, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_make(k, SETT_CPU, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_make(k, 5, &c, &err), SETT_E_NO_DEVICE);
    const sett_status many = sett_prepared_make(k, SETT_CPU, &c, &err, 1, 2, 3, 4, 5, 6);
    ck_assert_int_eq(many, SETT_E_BIND);
    ck_assert_ptr_null(c);
    ck_assert_int_eq(sett_prepared_buf(NULL, 0, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_int(NULL, 0, 0), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_float(NULL, 0, 0), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_struct(NULL, 0, NULL, 0), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_commit(NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepared_run(NULL, CPU), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_kernel_argument(NULL, "X"), -1);
    ck_assert_int_eq(sett_kernel_argument(k, NULL), -1);
    sett_prepared_free(NULL);
    sett_kernel_release(k);
}
END_TEST

/* ---- C functions ------------------------------------------------------------------------ */
START_TEST(function_of_tensors)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_function *f;
    sett_status (*step)(const sett_buf *, const sett_buf *, float) = NULL;
    sett_buf X = sett_buf_1d(x, SETT_F32, 100), Y = sett_buf_1d(y, SETT_F32, 100), Z = sett_buf_1d(y, SETT_F64, 100);
    refill();
    ck_assert_msg(!sett_kernel_function(k, CPU, &f, (void (**)(void)) & step, &err), "%s", err.text);
    sett_kernel_release(k);
    ck_assert_int_eq(step(&X, &Y, 3), SETT_OK);
    expect_step(100, 3);
    ck_assert_int_eq(step(&X, &Z, 3), SETT_E_DTYPE);
    ck_assert_int_eq(step(&X, NULL, 3), SETT_E_BIND);
    expect_step(0, 0);
    sett_function_free(f);
    sett_function_free(NULL);
}
END_TEST

START_TEST(function_of_scalars)
{
    typedef sett_status fn(const sett_buf *, bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
        uint64_t, float, float, float, double);
    sett_kernel *k = compile(scalars, "scalars");
    sett_function *f;
    fn *call = NULL;
    double out[N_SCALARS] = {0};
    sett_buf Out = sett_buf_1d(out, SETT_F64, N_SCALARS);
    ck_assert_msg(!sett_kernel_function(k, CPU, &f, (void (**)(void)) & call, &err), "%s", err.text);
    ck_assert_int_eq(call(&Out, true, -128, 255, -32768, 65535, INT32_MIN, UINT32_MAX, -(INT64_C(1) << 52),
                         UINT64_C(1) << 63, 1.5f, -2.5f, 0.1f, 0.1),
        SETT_OK);
    const double want[N_SCALARS] = {1, -128, 255, -32768, 65535, -2147483648.0, 4294967295.0, -4503599627370496.0,
        9223372036854775808.0, 1.5, -2.5, (double)0.1f, 0.1};
    for (int i = 0; i < N_SCALARS; i++)
        ck_assert_msg(out[i] == want[i], "%d: %.17g, not %.17g", i, out[i], want[i]);
    sett_function_free(f);
    sett_kernel_release(k);
}
END_TEST

START_TEST(function_refusals)
{
    sett_kernel *k = compile(axpy, "axpy");
    sett_function *f;
    void (*p)(void);
    ck_assert_int_eq(sett_kernel_function(NULL, CPU, &f, &p, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_kernel_function(k, CPU, NULL, &p, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_kernel_function(k, CPU, &f, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_kernel_function(k, ((sett_stream){0, NULL}), &f, &p, &err), SETT_E_NO_DEVICE);
    ck_assert_ptr_null(f);
    ck_assert(p == NULL);
    sett_kernel_release(k);
}
END_TEST

/* ---- buffers ------------------------------------------------------------------------------ */
START_TEST(buffers_are_compact)
{
    sett_buf t = sett_buf_nd(x, SETT_F16, 4, (const int64_t[]){2, 1, 0, 5});
    const int64_t want[] = {5, 5, 5, 1};
    ck_assert_int_eq(t.rank, 4);
    ck_assert_mem_eq(t.stride, want, sizeof want);
    t = sett_buf_2d(x, SETT_F16, 3, 7);
    ck_assert(t.rank == 2 && t.shape[0] == 3 && t.shape[1] == 7 && t.stride[0] == 7 && t.stride[1] == 1 && t.data == x);
    t = sett_buf_nd(x, SETT_F16, 0, NULL);
    ck_assert_int_eq(t.rank, 0);
    ck_assert_int_eq(sett_buf_nd(x, SETT_F16, -1, NULL).rank, -1);
    ck_assert_int_eq(sett_buf_nd(x, SETT_F16, 2, NULL).rank, -1);
    t = sett_buf_nd(x, SETT_F16, 3, (const int64_t[]){2, INT64_MAX, 3});
    ck_assert_int_eq(t.stride[0], INT64_MAX); /* of no tensor, and no overflow */
}
END_TEST

static int64_t dl_shape[2] = {4, 6}, dl_strides[2] = {1, 4};

static DLManagedTensorVersioned dl_tensor(void)
{
    return (DLManagedTensorVersioned){.version = {1, 3},
        .dl_tensor = {.data = x,
            .device = {kDLCPU, 0},
            .ndim = 2,
            .dtype = {kDLFloat, 32, 1},
            .shape = dl_shape,
            .strides = dl_strides,
            .byte_offset = 8}};
}

START_TEST(dlpack_is_taken)
{
    DLManagedTensorVersioned m = dl_tensor();
    sett_buf t;
    int device = 99;
    bool read_only = true;
    ck_assert_msg(!sett_buf_dlpack(&m, &t, &device, &read_only, &err), "%s", err.text);
    ck_assert(t.data == x + 2 && t.dtype == SETT_F32 && t.rank == 2 && device == SETT_CPU && !read_only);
    ck_assert_mem_eq(t.shape, dl_shape, sizeof dl_shape);
    ck_assert_mem_eq(t.stride, dl_strides, sizeof dl_strides);
    m.dl_tensor.strides = NULL;
    m.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    m.dl_tensor.device = (DLDevice){kDLCUDA, 3};
    ck_assert_msg(!sett_buf_dlpack(&m, &t, &device, &read_only, &err), "%s", err.text);
    ck_assert(t.stride[0] == 6 && t.stride[1] == 1 && device == 3 && read_only);
    m.dl_tensor.device = (DLDevice){kDLCUDAHost, 3};
    ck_assert_msg(!sett_buf_dlpack(&m, &t, &device, NULL, NULL), "%s", err.text);
    ck_assert_int_eq(device, SETT_CPU);
    m.dl_tensor.ndim = 0; /* a number: no shape at all */
    m.dl_tensor.shape = NULL;
    ck_assert_msg(!sett_buf_dltensor(&m.dl_tensor, &t, NULL, &err), "%s", err.text);
    ck_assert_int_eq(t.rank, 0);
}
END_TEST

static const struct {
    DLDataType from;
    int to;
} dl_types[] = {
    {{kDLBool, 8, 1}, SETT_BOOL},
    {{kDLInt, 8, 1}, SETT_I8},
    {{kDLInt, 16, 1}, SETT_I16},
    {{kDLInt, 32, 1}, SETT_I32},
    {{kDLInt, 64, 1}, SETT_I64},
    {{kDLUInt, 8, 1}, SETT_U8},
    {{kDLUInt, 16, 1}, SETT_U16},
    {{kDLUInt, 32, 1}, SETT_U32},
    {{kDLUInt, 64, 1}, SETT_U64},
    {{kDLFloat, 16, 1}, SETT_F16},
    {{kDLBfloat, 16, 1}, SETT_BF16},
    {{kDLFloat, 32, 1}, SETT_F32},
    {{kDLFloat, 64, 1}, SETT_F64},
    {{kDLFloat8_e4m3fn, 8, 1}, SETT_F8E4M3FN},
    {{kDLFloat8_e5m2, 8, 1}, SETT_F8E5M2},
    {{kDLFloat8_e8m0fnu, 8, 1}, SETT_F8E8M0FNU},
    {{kDLFloat4_e2m1fn, 4, 1}, SETT_F4E2M1FN},
    {{kDLFloat, 80, 1}, 0},
    {{kDLComplex, 64, 1}, 0},
    {{kDLFloat, 32, 4}, 0},
    {{kDLFloat4_e2m1fn, 4, 2}, 0},
    {{kDLFloat8_e4m3fnuz, 8, 1}, 0},
    {{kDLInt, 7, 1}, 0},
    {{kDLFloat, 32, 0}, 0},
    {{200, 8, 1}, 0},
};

START_TEST(dlpack_types)
{
    DLManagedTensorVersioned m = dl_tensor();
    sett_buf t = {.rank = 42};
    m.dl_tensor.dtype = dl_types[_i].from;
    sett_status s = sett_buf_dlpack(&m, &t, NULL, NULL, &err);
    ck_assert_int_eq(s, dl_types[_i].to ? SETT_OK : SETT_E_DTYPE);
    if (s)
        ck_assert_int_eq(t.rank, 42); /* untouched */
    else
        ck_assert_int_eq(t.dtype, dl_types[_i].to);
}
END_TEST

START_TEST(dlpack_refusals)
{
    int64_t negative[2] = {4, -1};
    sett_buf t;
    DLManagedTensorVersioned m = dl_tensor();
    ck_assert_int_eq(sett_buf_dlpack(NULL, &t, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_buf_dlpack(&m, NULL, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_buf_dltensor(NULL, &t, NULL, &err), SETT_E_ARGUMENT);
    m.version.major = 2;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_ARGUMENT);
    m = dl_tensor(), m.dl_tensor.data = NULL;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_ARGUMENT);
    m = dl_tensor(), m.dl_tensor.shape = NULL;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_ARGUMENT);
    m = dl_tensor(), m.dl_tensor.shape = negative;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_SHAPE);
    m = dl_tensor(), m.dl_tensor.ndim = 9;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_RANK);
    m = dl_tensor(), m.dl_tensor.ndim = -1;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_RANK);
    m = dl_tensor(), m.dl_tensor.device.device_type = kDLROCM;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_NO_DEVICE);
    m = dl_tensor(), m.dl_tensor.byte_offset = UINT64_MAX;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_RANGE);
    m = dl_tensor(), m.dl_tensor.dtype = (DLDataType){kDLFloat4_e2m1fn, 4, 1};
    m.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
    ck_assert_int_eq(sett_buf_dlpack(&m, &t, NULL, NULL, &err), SETT_E_DTYPE);
}
END_TEST

/* A DLPack tensor all the way through a kernel. */
START_TEST(dlpack_is_launched)
{
    int64_t n = 50;
    DLTensor t = {
        .data = x, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &n, .byte_offset = 40};
    sett_kernel *k = compile(axpy, "axpy");
    sett_buf X, Y = sett_buf_1d(y, SETT_F32, n);
    int device;
    refill();
    ck_assert_msg(!sett_buf_dltensor(&t, &X, &device, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, ((sett_stream){device, NULL}), &err, &X, &Y, 1), "%s", err.text);
    for (int i = 0; i < 50; i++)
        ck_assert(y[i] == was[i] + x[i + 10]);
    sett_kernel_release(k);
}
END_TEST

/* Coordinates of a wide extent have 64 bits; of a narrow one 32, which must not matter at its end either. */
static const struct {
    edge_of of;
    int64_t n;
    int32_t first, t, d;
} edges[] = {
    {{true, 1024, 0}, (INT64_C(1) << 31) + 100, 1 << 21, 20, 3},
    {{true, 1024, 0}, (INT64_C(1) << 31) + 100, 1 << 21, 25, 4},
    {{true, 1024, 0}, (INT64_C(1) << 31) + 101, 1 << 21, 25, 1},
    {{true, 1000, 0}, INT64_C(5) << 31, 10737418, 60, 7},
    {{true, 1 << 20, 0}, INT64_C(1) << 40, (1 << 20) - 1, (1 << 18) - 1, 2},
    {{true, 1 << 20, 0}, INT64_C(1) << 40, 1 << 20, 0, 2},
    {{false, 1000, 0}, INT32_MAX, 2147483, 161, INT32_MAX},
    {{false, 1000, 0}, INT32_MAX, 2147483, 162, INT32_MAX - 1},
    {{false, 1000, 0}, INT32_MAX, 2147483, 249, 1000},
    {{false, 1 << 20, 0}, INT32_MAX, 2047, (1 << 18) - 1, 2},
    {{false, 1 << 20, 0}, 0, 0, 0, 5},
    {{false, 1024, INT64_C(1) << 32}, 1025, 1 << 21, 3, 1024},
    {{false, 1024, (INT64_C(1) << 31) + 14}, 1023, 1 << 21, 3, 1022},
};

START_TEST(coordinates_past_31_bits)
{
    int64_t out[7] = {0};
    const edge_of *of = &edges[_i].of;
    const int64_t n = edges[_i].n, bound = of->extent ? of->extent : n, d = edges[_i].d;
    for (int no_fold = 0; no_fold < 2; no_fold++) {
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = of, .no_fold = no_fold};
        sett_kernel *k = NULL;
        ck_assert_msg(!sett_compile(engine, edge, &o, &k, &err), "%s", err.text);
        sett_buf Out = sett_buf_1d(out, SETT_I64, 7);
        ck_assert_msg(
            !sett_launch(k, CPU, &err, &Out, edges[_i].first, edges[_i].t, edges[_i].d, n), "%s", err.text);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(out[i], edges[_i].first * of->tile + edges[_i].t * 4 + i < bound);
        ck_assert_int_eq(out[4], n / of->tile + (n % of->tile != 0));
        ck_assert_int_eq(out[5], n / d + (n % d != 0));
        ck_assert_int_eq(out[6], -(edges[_i].first / of->tile));
        sett_kernel_release(k);
    }
}
END_TEST

Suite *launch_suite(void)
{
    Suite *s = suite_create("launch");
    TCase *t = tcase_create("cpu");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, launch_steps);
    tcase_add_test(t, launch_of_nothing);
    tcase_add_test(t, launch_default_device);
    tcase_add_test(t, far_index_is_caught);
    tcase_add_test(t, launch_refusals);
    tcase_add_test(t, short_allocations);
    tcase_add_test(t, unwritten_memory_is_nan);
    tcase_add_test(t, launch_after_close);
    tcase_add_test(t, buffers_of_rank_zero);
    tcase_add_test(t, symbol_without_a_buffer);
    tcase_add_loop_test(t, coordinates_past_31_bits, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_test(t, call_stages_and_commits);
    tcase_add_test(t, call_runs_what_was_committed);
    tcase_add_test(t, call_reports_setters);
    tcase_add_test(t, call_made_empty);
    tcase_add_test(t, call_of_null);
    tcase_add_test(t, function_of_tensors);
    tcase_add_test(t, function_of_scalars);
    tcase_add_test(t, function_refusals);
    tcase_add_test(t, dlpack_is_launched);
    suite_add_tcase(s, t);
    t = tcase_create("buffers");
    tcase_add_test(t, buffers_are_compact);
    tcase_add_test(t, dlpack_is_taken);
    tcase_add_loop_test(t, dlpack_types, 0, (int)(sizeof dl_types / sizeof *dl_types));
    tcase_add_test(t, dlpack_refusals);
    suite_add_tcase(s, t);
    return s;
}
