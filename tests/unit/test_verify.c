/* SPDX-License-Identifier: Apache-2.0 */
/* .cache_verify: what is found on disk is compiled again, and is the same to the byte, for every kernel of
 * examples/kernels.warm; what is not the same is told. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/faces.h"
#include "jit/warm/inside.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <dlfcn.h>
#include <sett/kernels.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char manifest[] = "examples/kernels.warm";
static sett_error err;
static char said[1024];

static void note(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user;
    if (level <= SETT_LOG_WARNING && !strcmp(component, "cache"))
        snprintf(said, sizeof said, "%s", message);
}

/* real: the assembler of this machine, else the script that gives one cubin for all. */
static sett_engine *engine(bool verify, bool real)
{
    sett_engine_options o = options();
    o.cache_verify = verify;
    o.log = note;
    if (real)
        o.assembler = SETT_ASM_AUTO, o.ptxas = NULL;
    said[0] = 0;
    return open_with(&o);
}

static bool have_kernels(void)
{
    bool have = !access("build/release/libfamilies.so", R_OK) && !access("build/release/libsett-kernels.so", R_OK);
    if (!have)
        fprintf(stderr, "skipped, no build/release/libfamilies.so, which %s names\n", manifest);
    return have && have_compiler();
}

static bool have_assembler(void)
{
    sett_kernel *k = NULL;
    sett_engine *e = engine(false, true);
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a"};
    bool have = !sett_compile(e, scale, &o, &k, NULL);
    sett_kernel_release(k);
    sett_engine_close(e);
    return have;
}

/* Each kernel of the manifest, compiled or found; f sees it. How many. */
typedef void each_fn(sett_kernel *, size_t number, void *user);
static size_t each(sett_engine *e, bool ptx_only, each_fn *f, void *user)
{
    sett__manifest m;
    size_t n = 0;
    ck_assert_msg(!sett__manifest_read(&m, manifest, &err), "%s", err.text);
    for (int b = 0; b < m.n; b++)
        for (size_t point = 0; point < m.block[b].points; point++) {
            char text[SETT__WARM_TEXT];
            sett_compile_options o;
            sett_kernel *k;
            sett__warm_kernel which;
            sett__manifest_point(&m.block[b], point, text);
            ck_assert_msg(!sett__warm_kernel_of(&m.block[b], point, 0, "sm_90a", &which, &err), "%s: %s", text, err.text);
            if (!which.user)
                continue;
            sett__warm_compile_options(&m.block[b], &which, "sm_90a", &o);
            o.ptx_only = ptx_only;
            ck_assert_msg(!sett_compile(e, m.block[b].family->body, &o, &k, &err), "%s: %s", text, err.text);
            if (f)
                f(k, n, user);
            sett_kernel_release(k);
            n++;
            free(which.user);
        }
    sett__manifest_free(&m);
    return n;
}

START_TEST(nothing_differs)
{
    if (!have_kernels() || !have_assembler())
        return;
    sett_engine *e = engine(false, true);
    size_t n = each(e, false, NULL, NULL);
    ck_assert_uint_gt(n, 20);
    sett_engine_close(e);
    e = engine(true, true);
    ck_assert_uint_eq(each(e, false, NULL, NULL), n);
    sett_stats s = stats(e);
    ck_assert_uint_eq(s.disk_hits, n);
    ck_assert_uint_eq(s.verified, n);
    ck_assert_msg(s.differences == 0, "%llu differ: %s", (unsigned long long)s.differences, said);
    ck_assert_uint_eq(s.disk_writes, 0);
    sett_engine_close(e);
}
END_TEST

typedef struct texts {
    char *at[256];
} texts;
static void keep(sett_kernel *k, size_t i, void *user)
{
    texts *t = user;
    sett_kernel_info info = {.size = sizeof info};
    ck_assert(i < 256 && !sett_kernel_query(k, &info) && info.ptx);
    t->at[i] = strdup(info.ptx);
}
static void compare(sett_kernel *k, size_t i, void *user)
{
    texts *t = user;
    sett_kernel_info info = {.size = sizeof info};
    ck_assert(!sett_kernel_query(k, &info) && info.ptx);
    ck_assert_str_eq(info.ptx, t->at[i]);
    free(t->at[i]);
}

/* No assembler is needed to see that LLVM gives the same each time. */
START_TEST(ptx_is_the_same)
{
    texts t;
    if (!have_kernels())
        return;
    for (int turn = 0; turn < 2; turn++) {
        sett_engine *e = engine(false, false);
        ck_assert_uint_gt(each(e, true, turn ? compare : keep, &t), 20);
        sett_engine_close(e);
    }
}
END_TEST

/* The assembler gives other bytes than it did when the entry was made. */
START_TEST(a_difference_is_told)
{
    sett_kernel_info info = {.size = sizeof info};
    if (!have_compiler())
        return;
    sett_engine *e = engine(false, false);
    sett_kernel_release(compile(e, &sm90));
    sett_engine_close(e);
    e = engine(true, false);
    sett_kernel_release(compile(e, &sm90));
    ck_assert_uint_eq(stats(e).verified, 1);
    ck_assert_uint_eq(stats(e).differences, 0);
    sett_engine_close(e);
    unsigned char other[80] = {0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190, [20] = 1, [52] = 64, [79] = 1};
    write_file(in_root("cubin"), other, sizeof other, 0600);
    e = engine(true, false);
    sett_kernel *k = compile(e, &sm90);
    ck_assert_uint_eq(stats(e).verified, 1);
    ck_assert_uint_eq(stats(e).differences, 1);
    ck_assert_msg(strstr(said, "scale for sm_90a: the cubin in ") && strstr(said, "is not what is compiled here"), "%s", said);
    ck_assert(!sett_kernel_query(k, &info) && info.origin == SETT_FROM_DISK && info.cubin_size == 64); /* as before */
    sett_kernel_release(k);
    sett_engine_close(e);
    e = engine(true, false);
    sett_engine_seal(e, true);
    sett_kernel_release(compile(e, &sm90));
    ck_assert_uint_eq(stats(e).verified, 0);
    sett_engine_close(e);
    write_file(in_root("ptxas"), "#!/bin/sh\nexit 1\n", 17, 0700); /* it cannot be compiled: told, and no difference */
    e = engine(true, false);
    sett_kernel_release(compile(e, &sm90));
    ck_assert_uint_eq(stats(e).verified, 0);
    ck_assert_uint_eq(stats(e).differences, 0);
    ck_assert_msg(strstr(said, "scale for sm_90a is not verified: ") != NULL, "%s", said);
    sett_engine_close(e);
    ck_assert(!setenv("SETT_CACHE_VERIFY", "1", 1));
    e = engine(false, false);
    ck_assert(e->opt.cache_verify);
    sett_engine_close(e);
    unsetenv("SETT_CACHE_VERIFY");
}
END_TEST

/* What sett warm wrote of an equal tape has no lines of accesses: a body that finds it adds its own, a tape gets what is there. */
START_TEST(a_tape_is_warmed)
{
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    void *tape;
    size_t len;
    if (!have_compiler())
        return;
    ck_assert_msg(!sett_record(scale, &sm90, true, &tape, &len, &err), "%s", err.text);
    for (int i = 0; i < 2; i++) {
        sett_engine *e = engine(false, false);
        ck_assert_msg(!sett_compile_tape(e, tape, len, &sm90, &k, &err), "%s", err.text);
        ck_assert(!sett_kernel_query(k, &info) && !strncmp(info.report, "assembler: ", 11));
        sett_kernel_release(k);
        sett_engine_close(e);
        e = engine(false, false);
        k = compile(e, &sm90);
        ck_assert(!sett_kernel_query(k, &info) && stats(e).compiles == 0);
        ck_assert_msg(strstr(info.report, ": sett_at: X") && strstr(info.report, "\nassembler: "), "%s", info.report);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    sett_text_free(tape);
}
END_TEST

/* A part of a warp would store its sum behind the slots of the whole ones. */
START_TEST(softmax_takes_whole_warps)
{
    void *so = have_kernels() ? dlopen("build/release/libfamilies.so", RTLD_NOW) : NULL;
    const sett_family *f = so ? dlsym(so, "softmax_family") : NULL;
    if (!f)
        return;
    for (int threads = 512; threads <= 544; threads += 16) {
        const sett_softmax_options p = {.size = sizeof p, .dtype = SETT_BF16, .cols = 1024, .tuning.threads = threads};
        const sett_compile_options o = {.size = sizeof o, .user = &p, .user_size = sizeof p};
        void *tape = NULL;
        size_t len;
        sett_status s = sett_record(f->body, &o, false, &tape, &len, &err);
        ck_assert_msg(s == (threads % 32 ? SETT_E_ARGUMENT : SETT_OK), "%s", err.text);
        ck_assert_msg(!s || strstr(err.text, "528 threads are no multiple of 32, the threads of a warp"), "%s", err.text);
        sett_text_free(tape);
    }
    dlclose(so);
}
END_TEST

Suite *verify_suite(void)
{
    Suite *s = suite_create("verify");
    TCase *t = tcase_create("cache");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_test(t, nothing_differs);
    tcase_add_test(t, ptx_is_the_same);
    tcase_add_test(t, a_difference_is_told);
    tcase_add_test(t, a_tape_is_warmed);
    tcase_add_test(t, softmax_takes_whole_warps);
    suite_add_tcase(s, t);
    return s;
}
