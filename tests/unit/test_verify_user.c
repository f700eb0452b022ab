/* SPDX-License-Identifier: Apache-2.0 */
/* .verify_user: a body that depends on more than its user bytes is told, with the first operation that differs. */
#include "tests/rig/faces.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static sett_error err;
static int64_t global = 2;
static _Thread_local int64_t of_thread;

static sett_engine *verifying(void)
{
    sett_engine_options o = options();
    o.verify_user = true;
    return open_with(&o);
}

/* X[t] = X[t] * factor, on its line. */
static void by(sett_build *b, int64_t factor)
{
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, 32));
    sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t);
    sett_set(X, sett_mul(x, (int)factor), t);
}
enum { LINE = __LINE__ - 2 };

static void reads_global(sett_build *b, const void *user)
{
    (void)user;
    by(b, global);
}

typedef struct pointing {
    const int64_t *factor;
} pointing;
static void reads_through(sett_build *b, const void *user)
{
    by(b, *((const pointing *)user)->factor);
}

static void reads_thread(sett_build *b, const void *user)
{
    (void)user;
    by(b, of_thread);
}

/* One more operation at the end for 3 than for 2, and another block with the same ones for 4. */
static void longer(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, 32));
    sett_block(b, global == 4 ? 64 : 32);
    sett_set(X, 1, 0);
    if (global == 3)
        sett_set(X, 1, 1);
}
enum { LONGER = __LINE__ - 2 };

static sett_status compiled(sett_engine *e, sett_body body, const sett_compile_options *o)
{
    sett_kernel *k;
    err = (sett_error){0};
    sett_status s = sett_compile(e, body, o, &k, &err);
    ck_assert_int_eq(s == SETT_OK, k != NULL);
    sett_kernel_release(k);
    return s;
}

static void told(int line, const char *rest)
{
    char want[400];
    snprintf(want, sizeof want, "tests/unit/test_verify_user.c:%d: sett_compile: %s", line, rest);
    ck_assert_msg(!strncmp(err.text, want, strlen(want)), "%s\nwant: %s", err.text, want);
}

/* Without the option the first kernel is the answer, whatever the global says. */
START_TEST(a_global)
{
    static const char *const targets[] = {"cpu", "sm_90a"};
    const char user[3] = "ab";
    for (int i = 0; i < (have_compiler() ? 2 : 1); i++) {
        const sett_compile_options o = {.size = sizeof o, .name = "g", .target = targets[i], .user = user, .user_size = sizeof user, .ptx_only = i == 1};
        char want[300];
        snprintf(want, sizeof want, "g for %s: the body reads something that is not in its 3 bytes of .user (put it there, or leave .user_size 0): it records ", targets[i]);
        for (int on = 0; on < 2; on++) {
            global = 2;
            sett_engine *e = on ? verifying() : open_engine();
            ck_assert_msg(!compiled(e, reads_global, &o), "%s", err.text);
            ck_assert_msg(!compiled(e, reads_global, &o), "%s", err.text);
            global = 3;
            ck_assert_int_eq(compiled(e, reads_global, &o), on ? SETT_E_ARGUMENT : SETT_OK);
            if (on) {
                told(LINE, want);
                ck_assert_msg(strstr(err.text, " 3, and for the same bytes it recorded ") != NULL, "%s", err.text);
            }
            global = 2; /* the first recording is what counts */
            ck_assert_msg(!compiled(e, reads_global, &o), "%s", err.text);
            sett_stats s = stats(e);
            ck_assert_uint_eq(s.memo_checks, on ? 3 : 0);
            ck_assert_uint_eq(s.memo_differences, on);
            ck_assert_uint_eq(s.records, on ? 4 : 1);
            ck_assert_uint_eq(s.memo_hits, on ? 0 : 3);
            sett_engine_close(e);
        }
    }
}
END_TEST

START_TEST(a_pointer)
{
    int64_t factor = 5;
    const pointing p = {&factor};
    sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &p, .user_size = sizeof p};
    sett_engine *e = verifying();
    ck_assert_msg(!compiled(e, reads_through, &o), "%s", err.text);
    factor = 6;
    ck_assert_int_eq(compiled(e, reads_through, &o), SETT_E_ARGUMENT);
    told(LINE, "kernel for cpu: the body reads something that is not in its 8 bytes of .user (put it there, or leave .user_size 0): it records ");
    o.user_size = 0; /* nothing is remembered, and each call stands for itself */
    ck_assert_msg(!compiled(e, reads_through, &o), "%s", err.text);
    sett_engine_close(e);
}
END_TEST

/* An operation that is missing, and a signature in which alone they differ. */
START_TEST(what_differs)
{
    const sett_compile_options o = {.size = sizeof o, .name = "l", .target = "cpu", .user = "x", .user_size = 1};
    sett_engine *e = verifying();
    global = 2;
    ck_assert_msg(!compiled(e, longer, &o), "%s", err.text);
    global = 4;
    ck_assert_int_eq(compiled(e, longer, &o), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_compile: l for cpu: the body reads something that is not in its 1 bytes of .user (put it there, or leave .user_size 0): it records block 64, and "
                               "for the same bytes it recorded block 32");
    global = 3;
    ck_assert_int_eq(compiled(e, longer, &o), SETT_E_ARGUMENT);
    told(LONGER, "l for cpu: ");
    ck_assert_msg(strstr(err.text, ", and for the same bytes it recorded nothing") != NULL, "%s", err.text);
    sett_engine_close(e);
    e = verifying();
    ck_assert_msg(!compiled(e, longer, &o), "%s", err.text);
    global = 2;
    ck_assert_int_eq(compiled(e, longer, &o), SETT_E_ARGUMENT);
    told(LONGER, "l for cpu: ");
    ck_assert_msg(strstr(err.text, "it records nothing, and ") != NULL, "%s", err.text);
    sett_engine_close(e);
}
END_TEST

/* Nothing is said of a body that reads its bytes alone, nor of others' bytes, and it gets one kernel. */
START_TEST(an_honest_body)
{
    variant v = {48, 64, 2.0};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &v, .user_size = sizeof v};
    setenv("SETT_VERIFY_USER", "1", 1);
    sett_engine *e = open_engine();
    unsetenv("SETT_VERIFY_USER");
    sett_kernel *first = compile(e, &o), *again = compile(e, &o);
    ck_assert_ptr_eq(first, again);
    v.factor = 3;
    sett_kernel *other = compile(e, &o);
    ck_assert_ptr_ne(first, other);
    sett_engine_seal(e, true); /* what it has is compared, and given */
    sett_kernel_release(compile(e, &o));
    ck_assert_uint_eq(stats(e).memo_checks, 2);
    ck_assert_uint_eq(stats(e).memo_differences, 0);
    sett_kernel_release(first), sett_kernel_release(again), sett_kernel_release(other);
    sett_engine_close(e);
}
END_TEST

enum { THREADS = 8, TIMES = 40 };
typedef struct job {
    sett_engine *e;
    pthread_barrier_t *at_once;
    int64_t number;
    int refused;
} job;

static void *work(void *arg)
{
    job *j = arg;
    sett_error why;
    sett_kernel *k;
    of_thread = 7 + j->number;
    pthread_barrier_wait(j->at_once);
    for (int i = 0; i < TIMES; i++) {
        const variant v = {48, 64, i % 4};
        const sett_compile_options honest = {.size = sizeof honest, .target = "cpu", .user = &v, .user_size = sizeof v},
                                   not = {.size = sizeof not, .target = "cpu", .user = "x", .user_size = 1};
        ck_assert_msg(!sett_compile(j->e, scale, &honest, &k, &why), "%s", why.text);
        sett_kernel_release(k);
        j->refused += sett_compile(j->e, reads_thread, &not, &k, &why) == SETT_E_ARGUMENT;
        sett_kernel_release(k);
    }
    return NULL;
}

/* Of threads that compile at once one is the first, and all the others are told, each time. */
START_TEST(threads)
{
    pthread_t thread[THREADS];
    pthread_barrier_t at_once;
    job jobs[THREADS];
    int refused = 0;
    sett_engine *e = verifying();
    pthread_barrier_init(&at_once, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){e, &at_once, i, 0};
        ck_assert(!pthread_create(&thread[i], NULL, work, &jobs[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_msg(!jobs[i].refused || jobs[i].refused == TIMES, "%d of %d", jobs[i].refused, TIMES);
        refused += jobs[i].refused;
    }
    ck_assert_int_eq(refused, (THREADS - 1) * TIMES);
    ck_assert_uint_eq(stats(e).memo_checks, 2 * THREADS * TIMES - 4 - 1);
    ck_assert_uint_eq(stats(e).memo_differences, (uint64_t)refused);
    pthread_barrier_destroy(&at_once);
    sett_engine_close(e);
}
END_TEST

Suite *verify_user_suite(void)
{
    Suite *s = suite_create("verify_user");
    TCase *t = tcase_create("user");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_add_test(t, a_global);
    tcase_add_test(t, a_pointer);
    tcase_add_test(t, what_differs);
    tcase_add_test(t, an_honest_body);
    tcase_add_test(t, threads);
    suite_add_tcase(s, t);
    return s;
}
