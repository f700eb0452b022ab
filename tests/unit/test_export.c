/* SPDX-License-Identifier: Apache-2.0 */
/* sett_export as a call: what it refuses, whose names it takes, equal bytes. tests/export.sh compiles and runs what it writes. */
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/export.h>
#include <stdlib.h>
#include <string.h>

static sett_engine *engine;
static sett_error err;
static char *header, *source;

static void set_up(void)
{
    make_root();
    engine = open_engine();
}

static void tear_down(void)
{
    sett_engine_close(engine);
    drop_root();
}

static void plain(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T1(sett_sym(b, "N"))));
    sett_set(X, 1.0, 0);
}

static void other(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T1(sett_sym(b, "N"))));
    sett_set(X, sett_scalar(b, "a", SETT_F32), 0);
}

static sett_kernel *make(sett_body body, const char *target, bool ptx_only)
{
    const sett_compile_options o = {.size = sizeof o, .name = "k", .target = target, .ptx_only = ptx_only};
    sett_kernel *k = NULL;
    ck_assert_msg(!sett_compile(engine, body, &o, &k, &err), "%s", err.text);
    return k;
}

static sett_status write_one(const char *name, const char *function, sett_kernel *k)
{
    const sett_export_options o = {.size = sizeof o, .name = name};
    const sett_export_kernel one = {function, k};
    header = source = (char *)&err;
    return sett_export(&one, 1, &o, &header, &source, &err);
}

static void refused(sett_status want, sett_status got, const char *text)
{
    ck_assert_int_eq(got, want);
    ck_assert_int_eq(err.status, want);
    ck_assert_msg(strstr(err.text, text), "%s", err.text);
    ck_assert(!header && !source);
}

START_TEST(what_it_refuses)
{
    sett_kernel *k = make(plain, "sm_90a", false), *cpu = make(plain, "cpu", false), *ptx = make(other, "sm_80", true);
    const sett_export_options o = {.size = sizeof o, .name = "x"}, none = {.size = sizeof none}, size = {.name = "x"};
    const sett_export_kernel one = {"f", k};
    refused(SETT_E_ARGUMENT, write_one("x", "f", NULL), "kernel 0 is NULL");
    refused(SETT_E_ARGUMENT, write_one("x", "f", cpu), "f, for cpu, has no cubin: compile it for a GPU's target");
    refused(SETT_E_ARGUMENT, write_one("x", "f", ptx), "f, for sm_80, has no cubin");
    static const char *const names[] = {"", "_x", "2x", "x-y", "sett", "settx", "SETT", "class", "a2345678901234567890123456789012345678901234567890123456789012345"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refused(SETT_E_ARGUMENT, write_one(names[i], "f", k), "cannot begin the names of an export");
    static const char *const functions[] = {"", "_f", "f g", "1"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        refused(SETT_E_ARGUMENT, write_one("x", functions[i], k), "is no name for a function");
    refused(SETT_E_ARGUMENT, write_one("x", "buf", k), "x_buf is what every export declares");
    refused(SETT_E_ARGUMENT, write_one("x", "error", k), "x_error is what every export declares");
    refused(SETT_E_ARGUMENT, write_one("X", "F32", k), "X_F32 is written as constants are");
    header = source = NULL;
    refused(SETT_E_ARGUMENT, sett_export(&one, 1, &none, &header, &source, &err), "cannot begin");
    refused(SETT_E_ARGUMENT, sett_export(&one, 1, &size, &header, &source, &err), "sett_export_options.size is 0");
    refused(SETT_E_ARGUMENT, sett_export(&one, 0, &o, &header, &source, &err), "there is no kernel");
    refused(SETT_E_ARGUMENT, sett_export(NULL, 1, &o, &header, &source, &err), "an argument is NULL");
    refused(SETT_E_ARGUMENT, sett_export(&one, 1, NULL, &header, &source, &err), "an argument is NULL");
    refused(SETT_E_ARGUMENT, sett_export(&one, 1, &o, NULL, &source, &err), "an argument is NULL");
    refused(SETT_E_ARGUMENT, sett_export(&one, 1, &o, &header, NULL, &err), "an argument is NULL");
    sett_kernel_release(k), sett_kernel_release(cpu), sett_kernel_release(ptx);
}
END_TEST

START_TEST(one_function_of_several_targets)
{
    sett_kernel *a = make(plain, "sm_80", false), *b = make(plain, "sm_90a", false), *c = make(other, "sm_90a", false);
    const sett_export_options o = {.size = sizeof o, .name = "x"};
    const sett_export_kernel good[] = {{"f", a}, {NULL, c}, {"f", b}}, twice[] = {{"f", a}, {"f", a}}, differ[] = {{"f", a}, {"f", c}};
    ck_assert_msg(!sett_export(good, 3, &o, &header, &source, &err), "%s", err.text);
    ck_assert(strstr(header, "/* For sm_80, sm_90a") && strstr(header, "x_status x_f(x_stream, const x_buf *X);\n"));
    ck_assert(strstr(header, "x_status x_k(x_stream, const x_buf *X, float a);\n")); /* its own name */
    ck_assert(!strstr(header, "sett_") && !strstr(source, "sett__"));
    char *again_header, *again_source;
    ck_assert(!sett_export(good, 3, &o, &again_header, &again_source, &err));
    ck_assert_str_eq(header, again_header);
    ck_assert_str_eq(source, again_source);
    sett_text_free(header), sett_text_free(source), sett_text_free(again_header), sett_text_free(again_source);
    header = source = NULL;
    refused(SETT_E_ARGUMENT, sett_export(twice, 2, &o, &header, &source, &err), "f is there twice for sm_80");
    refused(SETT_E_SHAPE, sett_export(differ, 2, &o, &header, &source, &err), "f has other parameters for sm_90a than for sm_80");
    sett_kernel_release(a), sett_kernel_release(b), sett_kernel_release(c);
}
END_TEST

Suite *export_suite(void);
Suite *export_suite(void)
{
    Suite *s = suite_create("export");
    TCase *t = tcase_create("export");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, what_it_refuses);
    tcase_add_test(t, one_function_of_several_targets);
    suite_add_tcase(s, t);
    return s;
}
