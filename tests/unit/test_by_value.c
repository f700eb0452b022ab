/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch hands over besides tensors and numbers: structs by value, and the size of shared memory. Their kernels give the
 * same on both engines in conform_struct.c. */
#include "tests/rig/match.h"
#include "tests/rig/planned.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CPU ((sett_stream){SETT_CPU, NULL})
static sett_engine *engine;
static sett_error err;

static void set_up(void)
{
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
}

static void tear_down(void)
{
    sett_engine_close(engine);
}

static sett_kernel *compile_for(sett_body body, const char *name, const char *target)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = target, .ptx_only = *target == 's'};
    ck_assert_msg(!sett_compile(engine, body, &o, &k, &err), "%s", err.text);
    return k;
}
#define compile_cpu(body, name) compile_for(body, name, "cpu")

/* ---- structs by value ------------------------------------------------------------------ */
struct line {
    int8_t shift;
    double slope;
    int32_t steps[3];
};

static void on_line(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *Line = sett_make_struct(b, "line", SETT_FIELD("shift", SETT_I8), SETT_FIELD("slope", SETT_F64), SETT_FIELD("steps", SETT_I32, .count = 3));
    sett_tensor *L = sett_scalar_struct(b, "L", Line), *Out = sett_param(b, "Out", SETT_F64, sett_make_layout(b, SETT_T(3)));
    sett_tensor *M = sett_scalar_struct(b, "M", Line);
    sett_block(b, 3);
    sett_val *i = sett_thread_idx(b, 0), *step = sett_at(sett_field_tensor(L, Line, "steps"), i);
    sett_val *up = sett_mul(sett_to(step, SETT_F64), sett_field(L, Line, "slope"));
    sett_set(Out, sett_add(up, sett_to(sett_field(M, Line, "shift"), SETT_F64)), i);
}

static void number(sett_build *b, const void *user)
{
    (void)user;
    sett_scalar(b, "a", SETT_F32);
}

static double at_line[3];
static void expect_line(double slope, int shift)
{
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(at_line[i], (i + 5) * slope + shift);
}

START_TEST(structs_are_passed)
{
    struct line l = {1, 0.5, {5, 6, 7}}, m = {-9, 0, {0, 0, 0}};
    sett_buf Out = sett_buf_1d(at_line, SETT_F64, 3);
    sett_kernel *k = compile_cpu(on_line, "on_line");
    sett_param_info info = {.size = sizeof info};
    ck_assert(!sett_kernel_param(k, 1, &info) && info.rank == 1 && info.extent[0] == 3);
    ck_assert(!sett_kernel_param(k, 2, &info) && info.scalar && info.bytes == sizeof l && !strcmp(info.name, "M"));
    ck_assert_msg(!sett_launch(k, CPU, &err, SETT_STRUCT(l), &Out, SETT_STRUCT(m)), "%s", err.text);
    expect_line(0.5, -9);
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, SETT_STRUCT(l), &Out, SETT_STRUCT(m)), "%s", err.text);
    l.slope = 2, m.shift = 3;
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK); /* the call has copies */
    expect_line(0.5, -9);
    sett_prepared_struct(c, 2, &m, sizeof m);
    sett_prepared_struct(c, 0, &l, sizeof l);
    l.slope = 77;
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    expect_line(2, 3);
    sett_prepared_struct(c, 2, &m, 12);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_SHAPE);
    ck_assert_str_eq(err.text, "on_line: M is a struct of 32 bytes, the one given has 12 (argument 2)");
    sett_prepared_struct(c, 2, NULL, sizeof m);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_str_eq(err.text, "on_line: M: the struct given is NULL (argument 2)");
    sett_prepared_struct(c, 1, &m, sizeof m);
    sett_prepared_struct(c, 2, &m, sizeof m);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    ck_assert_str_eq(err.text, "on_line: Out is a tensor, and a struct was given (argument 1)");
    sett_prepared_struct(c, 3, &m, sizeof m);
    ck_assert_int_eq(sett_prepared_commit(c, &err), SETT_E_BIND);
    sett_prepared_free(c);
    ck_assert_int_eq(sett_launch(k, CPU, &err, 4, &Out, SETT_STRUCT(m)), SETT_E_BIND);
    ck_assert_str_eq(err.text, "on_line: L is a struct of 32 bytes, and a number was given (argument 0): SETT_STRUCT(x) gives one");
    sett_function *f;
    sett_status (*go)(const struct line *, const sett_buf *, const struct line *) = NULL;
    ck_assert_msg(!sett_kernel_function(k, CPU, &f, (void (**)(void)) & go, &err), "%s", err.text);
    l.slope = 4;
    ck_assert_int_eq(go(&l, &Out, &m), SETT_OK);
    expect_line(4, 3);
    ck_assert_int_eq(go(NULL, &Out, &m), SETT_E_BIND);
    sett_function_free(f);
    sett_kernel_release(k);
    k = compile_cpu(number, "number");
    ck_assert_int_eq(sett_launch(k, CPU, &err, SETT_STRUCT(m)), SETT_E_BIND);
    ck_assert_str_eq(err.text, "number: a is a number, and a struct was given (argument 0)");
    sett_kernel_release(k);
}
END_TEST

/* Literals: SETT_STRUCT takes one as it is, elsewhere it stands in parentheses. */
START_TEST(literals_are_passed)
{
    sett_kernel *k = compile_cpu(on_line, "on_line");
    ck_assert_msg(!sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &err, SETT_STRUCT((struct line){1, 0.5, {5, 6, 7}}),
                      (&(sett_buf){at_line, SETT_F64, 1, {3}, {1}}), SETT_STRUCT((struct line){.shift = 4})), "%s", err.text);
    expect_line(0.5, 4);
    sett_kernel_release(k);
}
END_TEST

static void field_of_grid(sett_build *b, const void *user)
{
    sett_struct *Inner = sett_make_struct(b, "inner", SETT_FIELD("pad", SETT_I32), SETT_FIELD("rows", SETT_I32, .count = 2));
    sett_struct *Outer = sett_make_struct(b, "outer", SETT_FIELD("a", SETT_F64), SETT_FIELD_OF("in", Inner), SETT_FIELD("cols", SETT_I32));
    sett_tensor *K = sett_scalar_struct(b, "knobs", Outer);
    sett_val *rows = sett_at(sett_field_tensor(K, Outer, "in.rows"), 1);
    if (*(const int *)user == 0)
        sett_grid(b, sett_ceil_div(sett_field(K, Outer, "cols"), 32));
    else if (*(const int *)user == 1)
        sett_grid(b, 1, rows);
    else
        sett_make_smem_tensor(b, SETT_F32, SETT_T1(rows), 0);
}

START_TEST(fields_are_no_grid)
{
    static const char *const text[] = {"sett_grid: extent 0 must be made of symbols, integer scalars and constants; knobs.cols, read at ",
        "sett_grid: extent 1 must be made of symbols, integer scalars and constants; knobs.in.rows, read at ",
        "sett_make_smem_tensor: the layout's size must be made of symbols, integer scalars and constants; knobs.in.rows, read at "};
    for (int i = 0; i < 3; i++) {
        sett_kernel *k;
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &i};
        ck_assert_int_eq(sett_compile(engine, field_of_grid, &o, &k, &err), SETT_E_STATIC);
        ck_assert_msg(strstr(err.text, text[i]) && strstr(err.text, "is a field of a struct, which the launch hands on unread: give this number as a sett_scalar too"),
            "%s", err.text);
    }
}
END_TEST

/* ---- shared memory that a launch sizes --------------------------------------------------- */
static void sized(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n");
    sett_tensor *Out = sett_param(b, "Out", SETT_I32, sett_make_layout(b, SETT_T(4)));
    sett_block(b, 4);
    sett_tensor *fixed = sett_make_smem_tensor(b, SETT_I32, 3, 0), *s = sett_make_smem_tensor(b, SETT_I32, SETT_T(n, 2), 0);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_eq(t, 0))
        sett_store(fixed, 7);
    sett_set(s, sett_add(t, 1), t, 1);
    sett_sync_threads(b);
    sett_val *sizes = sett_add(sett_to(sett_dynamic_smem_size(b), SETT_I32), sett_to(sett_total_smem_size(b), SETT_I32));
    sett_set(Out, sett_add(sett_add(sett_at(s, sett_sub(3, t), 1), sett_at(fixed, 1)), sizes), t);
}

START_TEST(launches_size_shared_memory)
{
    int32_t out[4] = {0};
    sett_buf Out = sett_buf_1d(out, SETT_I32, 4);
    sett_kernel *k = compile_cpu(sized, "sized");
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel_query(k, &info);
    ck_assert_int_eq(info.smem, 16); /* 12, and where the rest begins */
    ck_assert_msg(strstr(info.report, "\nshared memory: 12 bytes a block, and n*8 that the launch adds\n") != NULL, "%s", info.report);
    ck_assert_msg(!sett_launch(k, CPU, &err, &Out, 4), "%s", err.text);
    for (int t = 0; t < 4; t++)
        ck_assert_int_eq(out[t], 4 - t + 7 + 2 * (16 + 32));
    ck_assert_int_eq(sett_launch(k, CPU, &err, &Out, 3), SETT_E_FAULT); /* thread 3's is at 6 */
    ck_assert_msg(strstr(err.text, "store to shared memory: element 6 of 6 (byte 24) is outside, block (0,0,0) thread (3,0,0), kernel sized") != NULL, "%s",
        err.text);
    ck_assert_int_eq(sett_launch(k, CPU, &err, &Out, 200000), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "sized: 16 bytes of shared memory and n*8 = 1600000 that the launch adds; the limit is 232448");
    sett_prepared *c;
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &Out, 4), "%s", err.text);
    sett_prepared_int(c, sett_kernel_argument(k, "n"), 5);
    ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, CPU), SETT_OK);
    ck_assert_int_eq(out[0], 4 + 7 + 2 * (16 + 40));
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

/* ---- the fast way, jit/kernel/plan.c ---------------------------------------------------------------- */
/* An odd number of bytes before what is aligned: gaps. */
static void odd(sett_build *b, const void *user)
{
    (void)user;
    sett_struct *Three = sett_make_struct(b, "three", SETT_FIELD("c", SETT_U8, .count = 3));
    sett_scalar(b, "x", SETT_U8);
    sett_scalar_struct(b, "T", Three);
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_grid(b, sett_ceil_div(n, 7));
    sett_make_smem_tensor(b, SETT_I8, sett_make_layout(b, SETT_T1(n)), 0);
    sett_block(b, 32);
}

static sett_status bind_to(const sett_kernel *k, int n, const sett_launch_arg *arg)
{
    static sett__bound out;
    return bind_beside(k->plan->sig, "k", n, arg, true, &out, NULL, NULL);
}

/* Beside the reference. */
START_TEST(binds_structs_and_sizes)
{
    static struct line l = {1, 0.5, {5, 6, 7}}, m = {-9, 2, {1, 2, 3}}; /* static: what pads them is set, as it is compared */
    int32_t out[4];
    char three[3] = "abc";
    sett_buf Line = sett_buf_1d(at_line, SETT_F64, 3), Out = sett_buf_1d(out, SETT_I32, 4);
    sett_kernel *k = compile_cpu(on_line, "on_line");
    const sett_launch_arg good[3] = {
        {SETT_LAUNCH_ARG_STRUCT, sizeof l, {.p = &l}}, {SETT_LAUNCH_ARG_BUF, 0, {.t = &Line}}, {SETT_LAUNCH_ARG_STRUCT, sizeof m, {.p = &m}}};
    const sett_launch_arg wrong[] = {{SETT_LAUNCH_ARG_STRUCT, sizeof m - 1, {.p = &m}}, {SETT_LAUNCH_ARG_STRUCT, sizeof m, {.p = NULL}},
        {SETT_LAUNCH_ARG_INT, 0, {.i = 3}}, {SETT_LAUNCH_ARG_BUF, 0, {.t = &Line}}, {SETT_LAUNCH_ARG_FLOAT, sizeof m, {.f = 2}}, {0}};
    ck_assert_int_eq(bind_to(k, 3, good), SETT_OK);
    for (size_t i = 0; i < SETT__COUNT(wrong); i++) {
        ck_assert_int_ne(bind_to(k, 3, (const sett_launch_arg[]){good[0], good[1], wrong[i]}), SETT_OK);
        ck_assert_int_ne(bind_to(k, 3, (const sett_launch_arg[]){wrong[i], good[1], good[2]}), SETT_OK);
    }
    ck_assert_int_eq(bind_to(k, 2, good), SETT_E_BIND);
    sett_kernel_release(k);
    k = compile_cpu(sized, "sized");
    for (int64_t n = -1; n < 40000; n = n < 20 ? n + 1 : n * 3 / 2) {
        const sett_launch_arg arg[] = {{SETT_LAUNCH_ARG_BUF, 0, {.t = &Out}}, {SETT_LAUNCH_ARG_INT, 0, {.i = n}}};
        ck_assert_int_eq(!bind_to(k, 2, arg), n >= 0 && n * 8 + 16 <= SETT__SMEM_MAX);
    }
    sett_kernel_release(k);
    k = compile_cpu(odd, "odd");
    for (int64_t n = 0; n < 100; n += 13) {
        const sett_launch_arg arg[] = {{SETT_LAUNCH_ARG_INT, 0, {.i = 200}}, {SETT_LAUNCH_ARG_STRUCT, 3, {.p = three}}, {SETT_LAUNCH_ARG_INT, 0, {.i = n}}};
        ck_assert_int_eq(bind_to(k, 3, arg), SETT_OK);
    }
    const sett_launch_arg wide[] = {{SETT_LAUNCH_ARG_INT, 0, {.i = 256}}, {SETT_LAUNCH_ARG_STRUCT, 3, {.p = three}}, {SETT_LAUNCH_ARG_INT, 0, {.i = 9}}};
    ck_assert_int_eq(bind_to(k, 3, wide), SETT_E_RANGE);
    sett_kernel_release(k);
}
END_TEST

/* ---- as PTX -------------------------------------------------------------------------------- */
static void ptx_holds(sett_body body, const char *want)
{
    sett_kernel_info info = {.size = sizeof info};
    if (!have_compiler())
        return;
    sett_kernel *k = compile_for(body, "k", "sm_90a");
    sett_kernel_query(k, &info);
    char *bad = match(info.ptx, want);
    ck_assert_msg(!bad, "%s\n%s", bad, info.ptx);
    sett_kernel_release(k);
}

/* A struct's bytes are read where the driver put them, at an index of the thread's too. */
START_TEST(ptx_of_structs)
{
    ptx_holds(on_line, "CHECK: .param .align 8 .b8 k_param_0[32],\nCHECK: .param .align 8 .b8 k_param_2[32]\nNOT: .local\n"
                       "CHECK: ld.param.b32 {{*}}+16];\nNOT: .local\nCHECK: ret;");
}
END_TEST

START_TEST(ptx_of_sizes)
{
    ptx_holds(sized, "CHECK: .extern .shared .align 16 .b8 smem[]\nCHECK: st.shared\nCHECK: +16], \nCHECK: %dynamic_smem_size\nCHECK: ret;");
}
END_TEST

Suite *by_value_suite(void);
Suite *by_value_suite(void)
{
    Suite *s = suite_create("by_value");
    TCase *t = tcase_create("by_value");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, structs_are_passed);
    tcase_add_test(t, literals_are_passed);
    tcase_add_test(t, fields_are_no_grid);
    tcase_add_test(t, launches_size_shared_memory);
    tcase_add_test(t, binds_structs_and_sizes);
    tcase_add_test(t, ptx_of_structs);
    tcase_add_test(t, ptx_of_sizes);
    suite_add_tcase(s, t);
    return s;
}
