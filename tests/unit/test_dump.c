/* SPDX-License-Identifier: Apache-2.0 */
/* $SETT_DUMP, and the source lines of a cubin. */
#include "tests/rig/rig.h"
#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char logged[1000];
static void keep_log(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user, (void)level;
    if (!strcmp(component, "dump"))
        snprintf(logged, sizeof logged, "%s", message);
}

/* The file of a kind, by its suffix, NUL-ended; NULL: there is none. */
static char *dumped(const char *suffix, size_t *len)
{
    DIR *d = opendir(in_root(""));
    char *data = NULL;
    for (struct dirent *f; (f = readdir(d));) {
        const char *dot = strrchr(f->d_name, '.');
        if (strncmp(f->d_name, "scaled-", 7) || !dot || strcmp(dot + 1, suffix))
            continue;
        ck_assert_uint_eq(strcspn(f->d_name + 7, "."), 16);
        *len = file_size(in_root(f->d_name));
        data = calloc(1, *len + 1);
        FILE *in = fopen(in_root(f->d_name), "rb");
        ck_assert(in && data && fread(data, 1, *len, in) == *len);
        fclose(in);
    }
    closedir(d);
    return data;
}

static void compile_with(const char *dump, const char *target)
{
    char env[300];
    snprintf(env, sizeof env, "%s:%s", dump, in_root(""));
    setenv("SETT_DUMP", env, 1);
    sett_engine_options eo = options();
    eo.log = keep_log;
    sett_engine *e = open_with(&eo);
    sett_compile_options co = {.size = sizeof co, .name = "scaled", .target = target};
    sett_kernel *k;
    sett_error err;
    ck_assert_msg(!sett_compile(e, scale, &co, &k, &err), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
    unsetenv("SETT_DUMP");
}

START_TEST(each_kind)
{
    static const struct { const char *kind, *suffix, *holds; } t[] = {{"tape", "tape", "sett tape"}, {"llvm", "ll", "define "},
        {"ptx", "ptx", ".entry scaled"}, {"cubin", "cubin", "\177ELF"}};
    size_t len;
    if (!have_compiler())
        return;
    compile_with(t[_i].kind, "sm_80");
    for (int i = 0; i < (int)SETT__COUNT(t); i++) {
        char *got = dumped(t[i].suffix, &len);
        ck_assert_msg((got != NULL) == (i == _i), "%s: %s", t[_i].kind, t[i].suffix);
        ck_assert(!got || strstr(got, t[i].holds));
        free(got);
    }
}
END_TEST

/* Its tape is what a tape file is: with the lines of the body. */
START_TEST(tape_again)
{
    size_t len;
    compile_with("tape,cubin", "cpu");
    char *text = dumped("tape", &len), *no = dumped("cubin", &len);
    ck_assert(text && !no);
    ck_assert_ptr_nonnull(strstr(text, "rig.c:"));
    sett__tape t;
    sett_error err;
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    sett__tape_free(&t);
    free(text);
}
END_TEST

/* A kernel that is in memory is dumped under the name that it is asked for by, too. */
START_TEST(hits_too)
{
    char env[300];
    size_t len;
    snprintf(env, sizeof env, "tape:%s", in_root(""));
    setenv("SETT_DUMP", env, 1);
    sett_engine *e = open_engine();
    for (int i = 0; i < 3; i++) {
        const sett_compile_options co = {.size = sizeof co, .name = i < 2 ? "first" : "scaled", .target = "cpu"};
        char *text = dumped("tape", &len);
        ck_assert_ptr_null(text);
        sett_kernel_release(compile(e, &co));
    }
    ck_assert_uint_eq(stats(e).memory_hits, 2);
    char *text = dumped("tape", &len);
    ck_assert_ptr_nonnull(text);
    free(text);
    sett_engine_close(e);
    unsetenv("SETT_DUMP");
}
END_TEST

START_TEST(wrong)
{
    sett_error err;
    sett_engine *refused;
    char made[300], longer[5000] = "tape:";
    memset(longer + 5, 'x', sizeof longer - 6);
    setenv("SETT_DUMP", longer, 1);
    ck_assert_int_eq(sett_engine_open(&refused, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "SETT_DUMP in the environment: its folder's name is longer than 3799 bytes");
    snprintf(made, sizeof made, "tape:%s/new", in_root("")); /* a folder that is not there is made */
    setenv("SETT_DUMP", made, 1);
    sett_engine_options quiet = options();
    sett_engine_close(open_with(&quiet));
    ck_assert_int_eq(access(made + 5, W_OK | X_OK), 0);
    setenv("SETT_DUMP", "all:/nowhere/at/all", 1); /* a compile goes on */
    sett_engine_options eo = options();
    eo.log = keep_log;
    sett_engine *e = open_with(&eo);
    sett_kernel *k;
    sett_compile_options co = {.size = sizeof co, .name = "scaled", .target = "cpu"};
    ck_assert_int_eq(sett_compile(e, scale, &co, &k, NULL), SETT_OK);
    ck_assert_ptr_nonnull(strstr(logged, "/nowhere/at/all/scaled-"));
    sett_kernel_release(k);
    sett_engine_close(e);
    unsetenv("SETT_DUMP");
}
END_TEST

/* A real assembler's cubin has the table of lines, and the file's name in it, if they were asked for. */
START_TEST(lines_in_the_cubin)
{
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_engine *e = open_with(&eo);
    sett_compile_options co = {.size = sizeof co, .target = "sm_90a", .line_info = _i};
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err;
    sett_status s = sett_compile(e, scale, &co, &k, &err);
    if (s == SETT_E_NO_ASSEMBLER || s == SETT_E_NO_COMPILER)
        puts(err.text);
    else {
        ck_assert_msg(!s, "%s", err.text);
        sett_kernel_query(k, &info);
        ck_assert_int_eq(memmem(info.cubin, info.cubin_size, ".debug_line", 11) != NULL, _i);
        ck_assert_int_eq(memmem(info.cubin, info.cubin_size, "rig.c", 5) != NULL, _i);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

Suite *dump_suite(void)
{
    Suite *s = suite_create("dump");
    TCase *t = tcase_create("dump");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_loop_test(t, each_kind, 0, 4);
    tcase_add_test(t, tape_again);
    tcase_add_test(t, hits_too);
    tcase_add_test(t, wrong);
    tcase_add_loop_test(t, lines_in_the_cubin, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
