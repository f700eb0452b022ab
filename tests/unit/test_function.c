/* SPDX-License-Identifier: Apache-2.0 */
/* Why a call of a kernel as a C function failed: sett_function_error. */
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef sett_status scale_fn(const sett_buf *x, const sett_buf *y);
static const sett_stream cpu = {SETT_CPU, NULL};
static const sett_compile_options on_cpu = {.size = sizeof(sett_compile_options), .name = "scale", .target = "cpu"};
static float data[16];

static sett_function *function_of(sett_kernel *k, scale_fn **call)
{
    sett_function *f;
    sett_error err = {0};
    ck_assert_msg(!sett_kernel_function(k, cpu, &f, (void (**)(void))call, &err), "%s", err.text);
    return f;
}

/* The status and text that sett_launch gives for the same arguments; what succeeds leaves them. */
START_TEST(as_a_launch_says)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, &on_cpu);
    scale_fn *call;
    sett_function *f = function_of(k, &call), *other = function_of(k, &(scale_fn *){NULL});
    sett_error why = {.text = "as it was"}, err = {0};
    const sett_buf right = sett_buf_2d(data, SETT_F32, 4, 4), wrong[] = {sett_buf_2d(data, SETT_F64, 4, 4), sett_buf_1d(data, SETT_F32, 4),
        sett_buf_2d(data, SETT_F32, 4, 2), sett_buf_2d(NULL, SETT_F32, 4, 4), sett_buf_2d((char *)data + 1, SETT_F32, 2, 2)};
    ck_assert_int_eq(sett_function_error(f, &why), SETT_OK);
    ck_assert_str_eq(why.text, "as it was");
    for (size_t i = 0; i < SETT__COUNT(wrong); i++) {
        sett_status s = sett_launch(k, cpu, &err, &right, &wrong[i]);
        ck_assert_int_ne(s, SETT_OK);
        ck_assert_int_eq(call(&right, &wrong[i]), s);
        ck_assert_int_eq(sett_function_error(f, NULL), s);
        ck_assert_int_eq(sett_function_error(f, &why), s);
        ck_assert_int_eq(why.status, s);
        ck_assert_str_eq(why.text, err.text);
        ck_assert_int_eq(call(&right, &right), SETT_OK);
        ck_assert_int_eq(sett_function_error(f, NULL), s);
    }
    ck_assert_int_eq(sett_function_error(other, &why), SETT_OK);
    ck_assert_int_eq(sett_function_error(NULL, &why), SETT_E_ARGUMENT);
    ck_assert_str_eq(why.text, "sett_function_error: the function is NULL");
    sett_engine_close(e);
    ck_assert_int_eq(call(&right, &right), SETT_E_CLOSED);
    ck_assert_int_eq(sett_function_error(f, &why), SETT_E_CLOSED);
    ck_assert_ptr_nonnull(strstr(why.text, "closed"));
    sett_function_free(f), sett_function_free(other);
    sett_kernel_release(k);
}
END_TEST

typedef struct caller {
    sett_function *f;
    scale_fn *call;
    int rank; /* that its buffers have */
    char text[508];
} caller;

static void *call_wrongly(void *user)
{
    caller *c = user;
    sett_error why = {0};
    const sett_buf bad = sett_buf_nd(data, SETT_F32, c->rank, (const int64_t[]){1, 1, 1, 1, 1, 1});
    bool own = true;
    for (int i = 0; i < 100; i++) {
        sett_status s = c->call(&bad, &bad);
        own &= s == SETT_E_RANK && sett_function_error(c->f, &why) == s && why.status == s;
    }
    snprintf(c->text, sizeof c->text, "%s", own ? why.text : "another thread's");
    return NULL;
}

/* Threads that come and go, many at once: each has its own text. */
START_TEST(each_thread_its_own)
{
    enum { THREADS = 4, ROUNDS = 25 };
    caller c[THREADS];
    pthread_t thread[THREADS];
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, &on_cpu);
    scale_fn *call;
    sett_function *f = function_of(k, &call);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++) {
            c[i] = (caller){.f = f, .call = call, .rank = 3 + i};
            ck_assert(!pthread_create(&thread[i], NULL, call_wrongly, &c[i]));
        }
        for (int i = 0; i < THREADS; i++) {
            char want[30];
            pthread_join(thread[i], NULL);
            snprintf(want, sizeof want, "the buffer given %d", 3 + i);
            ck_assert_msg(strstr(c[i].text, want) != NULL, "%s", c[i].text);
        }
    }
    ck_assert_int_eq(sett_function_error(f, NULL), SETT_OK); /* this thread's calls have not failed */
    sett_function_free(f);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* In a forked child, whatever the parent's threads were at. */
START_TEST(in_a_forked_child)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, &on_cpu);
    scale_fn *call;
    sett_function *f = function_of(k, &call);
    const sett_buf b = sett_buf_2d(data, SETT_F32, 4, 4), bad = sett_buf_1d(data, SETT_F32, 4);
    ck_assert_int_eq(call(&b, &bad), SETT_E_RANK);
    int status;
    pid_t child = fork();
    if (!child) {
        sett_error why = {0};
        _exit(call(&b, &b) != SETT_E_FORKED || sett_function_error(f, &why) != SETT_E_FORKED || !why.text[0]);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
    ck_assert_int_eq(sett_function_error(f, NULL), SETT_E_RANK);
    sett_function_free(f);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(function, as_a_launch_says, each_thread_its_own, in_a_forked_child)
