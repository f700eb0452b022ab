/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of the CPU engine that are ended: by sett_cancel from another thread, by the limit of time, by closing the engine.
 * Every body here runs for ever, or for longer than anybody waits, unless it is ended. What several blocks of one write is written
 * never: thread sanitizers see the memory of kernels. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include "tests/rig/match.h"
#include <check.h>
#include <pthread.h>
#include <sett/sett.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of CPU time, which a launch that does not end uses on. One that waits for what does not come is the runner's to end. */
#ifdef __SANITIZE_THREAD__
enum { SOON_MS = 10000 };
#else
enum { SOON_MS = 2000 };
#endif
enum { ELEMENTS = 1024, EVER = INT32_MAX, WORKERS = 4 };

/* ---- bodies ------------------------------------------------------------------------------- */
static sett_tensor *numbers(sett_build *b)
{
    return sett_param(b, "X", SETT_I32, sett_make_layout(b, ELEMENTS), .align = 16);
}

static void for_loop(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, i, 0, EVER, 1)
        sett_set(X, sett_add(sett_at(X, t), i), t);
}

/* The inner loop is short: what does not end is around it. */
static void nested(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_block(b, 32);
    sett_while (b, sett_ge(sett_at(X, 0), 0))
        sett_for (b, i, 0, 3, 1)
            sett_set(X, i, 1);
}

static void while_loop(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_block(b, 64);
    sett_while (b, sett_eq(sett_at(X, sett_thread_idx(b, 0)), 0))
        sett_sync_warp(b);
}

/* Three warps wait for one that never comes. */
static void barrier(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_block(b, 128);
    sett_if (b, sett_lt(sett_thread_idx(b, 0), 32)) {
        sett_while (b, sett_eq(sett_at(X, 0), 0))
            sett_set(X, 1, 1);
    }
    sett_sync_threads(b);
}

/* Every block waits for one that never comes. */
static void blocks(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_grid(b, 64);
    sett_block(b, 64);
    sett_while (b, sett_eq(sett_atomic_or(X, 0, 0), 0))
        sett_fence_acq_rel_gpu(b);
}

static void print(sett_build *b, const void *user)
{
    (void)user;
    sett_block(b, 32);
    sett_grid(b, 64);
    sett_for (b, i, 0, EVER, 1)
        sett_printf(b, "{}", i);
}

/* Neighbouring blocks run as one (jit/sim/fast/strip.c); by one worker, as the blocks write the same. */
static void strips(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_grid(b, ELEMENTS / 64, 65535, 65535);
    sett_block(b, 16);
    sett_tensor *tile = sett_local_tile(X, T1(64), T1(sett_block_idx(b, 0)));
    sett_tensor *mine = sett_slice(sett_zipped_divide(tile, T1(4)), ALL, sett_thread_idx(b, 0));
    sett_store(mine, sett_add(sett_load(mine), 1));
}

/* Bounds that hold for most blocks (range.c), and accesses that strips do not take. */
static void guarded(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_grid(b, 17, 65535, 65535);
    sett_block(b, 64);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 64), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, ELEMENTS))
        sett_if (b, sett_ne(sett_at(X, i), 0))
            sett_set(X, 3, i);
}

/* A block takes seconds without a round of any loop; the loop before makes a value of which no element is known. */
static void straight(sett_build *b, const void *user)
{
    (void)user;
    enum { WIDTH = 8192, OPS = 6000 };
    sett_tensor *X = numbers(b), *r = sett_make_rmem_tensor(b, SETT_F32, WIDTH);
    sett_grid(b, 16);
    sett_block(b, 512);
    sett_for (b, i, 0, WIDTH, 1)
        sett_set(r, sett_to(i, SETT_F32), i);
    sett_val *v = sett_load(r);
    for (int i = 0; i < OPS; i++)
        v = sett_div(1.0, sett_add(v, i));
    sett_if (b, sett_lt(sett_element(v, 5), 0))
        sett_set(X, 1, sett_thread_idx(b, 0));
}

static uint32_t slow_or(uint32_t x, uint32_t y)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    return x | y;
}

static void stand_in(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_block(b, 32);
    sett_for (b, i, 0, EVER, 1) {
        sett_val *x = sett_to(i, SETT_U32);
        sett_val *y = sett_inline_ptx(b, "or.b32 $0, $1, $2;", .result = {SETT_U32}, .in = SETT_IN(x, x), .stand_in = "slow_or");
        sett_set(X, sett_to(y, SETT_I32), 0);
    }
}

static void one_more(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_val *i = sett_thread_idx(b, 0);
    sett_block(b, ELEMENTS);
    sett_set(X, sett_add(sett_at(X, i), 1), i);
}

/* where: what the report of its end holds beside the reason, in the order of match.h */
static const struct endless {
    const char *name;
    sett_body body;
    bool no_argument;
    const char *where;
} endless[] = {
    {"for_loop", for_loop, false, "it was in a for loop at {{*}}, which ends at 2147483647, block (0,0,0) thread (0,0,0), kernel for_loop"},
    {"nested", nested, false, "it was in a {{*}}, block (0,0,0) thread (0,0,0), kernel nested"},
    {"while_loop", while_loop, false, "it was in a while loop, after {{*}} rounds, block (0,0,0) thread ({{*}},0,0), kernel while_loop"},
    {"barrier", barrier, false, "it was in a while loop, after {{*}} rounds, block (0,0,0) thread (0,0,0), kernel barrier"},
    {"blocks", blocks, false, "block ({{*}},0,0){{*}}, kernel blocks"},
    {"print", print, true, ", kernel print"},
    {"strips", strips, false, " before this block began, block ({{*}}), kernel strips"},
    {"guarded", guarded, false, " before this block began, block ({{*}}), kernel guarded"},
    {"straight", straight, false, ", kernel straight"},
    {"stand_in", stand_in, false, "it was in a stand-in of inline PTX, inside the loop at {{*}}test_cancel.c:{{*}}, block (0,0,0) thread (0,0,0), kernel stand_in"},
};
enum { N_ENDLESS = sizeof endless / sizeof *endless };

/* ---- running them ------------------------------------------------------------------------------- */
static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void slow_print(void *user, const char *text, size_t len)
{
    (void)text, (void)len;
    if (user)
        atomic_fetch_add((atomic_int *)user, 1);
    sleep_ms(5);
}

static sett_engine *open_polled(const struct endless *b, int timeout_ms, sett_poll_fn poll, void *user)
{
    sett_engine *e;
    sett_error err;
    const sett_engine_options o = {
        .size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = b && b->body == strips ? 1 : WORKERS, .print = slow_print, .cpu_timeout_ms = timeout_ms,
        .cpu_poll = poll, .user = user};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    ck_assert_msg(!sett_engine_stand_in(e, "slow_or", "u32(u32,u32)", (void (*)(void))slow_or, &err), "%s", err.text);
    return e;
}

static sett_engine *open_for(const struct endless *b, int timeout_ms)
{
    return open_polled(b, timeout_ms, NULL, NULL);
}

static sett_engine *open_engine(void)
{
    return open_for(NULL, 0);
}

static sett_kernel *compile(sett_engine *e, sett_body body, const char *name)
{
    sett_kernel *k;
    sett_error err;
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = "cpu"};
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

/* A launch on a thread of its own. */
typedef struct runner {
    sett_kernel *kernel;
    bool no_argument;
    void *handle;
    _Alignas(64) int32_t x[ELEMENTS];
    pthread_t thread;
    atomic_bool done;
    double ended; /* by cpu_ms() */
    sett_status status;
    sett_error err;
} runner;

static void *launch(void *user)
{
    runner *r = user;
    sett_buf X = sett_buf_1d(r->x, SETT_I32, ELEMENTS);
    sett_stream s = sett_stream_of(SETT_CPU, r->handle);
    r->status = r->no_argument ? sett_launch(r->kernel, s, &r->err) : sett_launch(r->kernel, s, &r->err, &X);
    r->ended = cpu_ms();
    atomic_store(&r->done, true);
    return NULL;
}

static runner *start(sett_engine *e, const struct endless *b, void *handle)
{
    runner *r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
    ck_assert_ptr_nonnull(r);
    memset(r, 0, sizeof *r);
    r->kernel = compile(e, b->body, b->name);
    r->no_argument = b->no_argument;
    r->handle = handle;
    ck_assert_int_eq(pthread_create(&r->thread, NULL, launch, r), 0);
    return r;
}

static void finish(runner *r)
{
    sett_kernel_release(r->kernel);
    free(r);
}

/* Again until it has ended: the first call may come before the launch has begun. Milliseconds of CPU time since the first. */
static double cancel(sett_engine *e, runner *r)
{
    double from = cpu_ms();
    while (!atomic_load(&r->done)) {
        ck_assert_int_eq(sett_cancel(e, sett_stream_of(SETT_CPU, r->handle), NULL), SETT_OK);
        sleep_ms(1);
    }
    pthread_join(r->thread, NULL);
    return r->ended - from;
}

static void says(const char *text, const char *why, const char *where)
{
    char checks[512];
    snprintf(checks, sizeof checks, "CHECK: %s\nCHECK: %s\n", why, where);
    char *wrong = match(text, checks);
    ck_assert_msg(!wrong, "%s", wrong);
}

static void works(sett_engine *e)
{
    sett_error err;
    _Alignas(64) int32_t x[ELEMENTS] = {0};
    sett_buf X = sett_buf_1d(x, SETT_I32, ELEMENTS);
    sett_kernel *k = compile(e, one_more, "one_more");
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X), "%s", err.text);
    for (int i = 0; i < ELEMENTS; i++)
        ck_assert_int_eq(x[i], 1);
    sett_kernel_release(k);
}

/* ---- tests --------------------------------------------------------------------------------------------- */
START_TEST(a_call_ends_it)
{
    const struct endless *b = &endless[_i];
    sett_engine *e = open_for(b, 0);
    runner *r = start(e, b, NULL);
    sleep_ms(200);
    ck_assert_msg(!atomic_load(&r->done), "%s has ended by itself: %s", b->name, r->err.text);
    double ms = cancel(e, r);
    printf("cancel: %s ended after %.2f ms of CPU time\n", b->name, ms);
    ck_assert_int_eq(r->status, SETT_E_CANCELLED);
    ck_assert_int_eq(r->err.status, SETT_E_CANCELLED);
    says(r->err.text, "cancelled by sett_cancel", b->where);
    ck_assert_msg(ms < SOON_MS, "%s: %.0f ms", b->name, ms);
    works(e);
    finish(r);
    sett_engine_close(e);
}
END_TEST

/* The third question ends it. The launching thread alone is asked, whether it runs a block or waits for other threads. */
typedef struct polled {
    atomic_int printed; /* of slow_print */
    pthread_t launcher;
    int asked;
} polled;

static bool end_it(void *user)
{
    polled *p = user;
    ck_assert(pthread_equal(pthread_self(), p->launcher));
    return ++p->asked == 3;
}

static void first_block(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = numbers(b);
    sett_grid(b, 2);
    sett_block(b, 1);
    sett_if (b, sett_eq(sett_block_idx(b, 0), 0))
        sett_while (b, sett_eq(sett_at(X, 0), 0))
            sett_sync_warp(b);
}

START_TEST(a_poll_ends_it)
{
    static const struct endless half = {"first_block", first_block, false, "it was in a while loop, after {{*}} rounds, block (0,0,0) thread (0,0,0), kernel first_block"};
    const struct endless *b = _i < N_ENDLESS ? &endless[_i] : &half;
    polled p = {.launcher = pthread_self()};
    runner r = {.no_argument = b->no_argument};
    sett_engine *e = open_polled(b, 0, end_it, &p);
    r.kernel = compile(e, b->body, b->name);
    for (int i = 0; i < (b == &half ? 8 : 1); i++) {
        p.asked = 0;
        launch(&r);
        ck_assert_int_eq(r.status, SETT_E_CANCELLED);
        says(r.err.text, "cancelled by .cpu_poll", b->where);
        ck_assert_int_eq(p.asked, 3);
    }
    works(e);
    sett_kernel_release(r.kernel);
    sett_engine_close(e);
}
END_TEST

/* By the option, and by the environment. False: it was not yet where it stays. */
static bool clock_ends(const struct endless *b, int ms, bool by_option)
{
    char text[12], why[100];
    snprintf(text, sizeof text, "%d", ms);
    ck_assert_int_eq(by_option ? unsetenv("SETT_CPU_TIMEOUT_MS") : setenv("SETT_CPU_TIMEOUT_MS", text, 1), 0);
    sett_engine *e = open_for(b, by_option ? ms : 0);
    double from = cpu_ms(), began = sett__now_ms();
    runner *r = start(e, b, NULL);
    pthread_join(r->thread, NULL);
    ck_assert_int_eq(r->status, SETT_E_FAULT);
    ck_assert_double_ge(sett__now_ms() - began, ms - 1);
    snprintf(why, sizeof why, "CHECK: not done after %d ms, the limit of a launch: it \n", ms);
    char *wrong = match(r->err.text, why);
    ck_assert_msg(!wrong, "%s", wrong);
    snprintf(why, sizeof why, "CHECK: %s\n", b->where);
    bool there = !(wrong = match(r->err.text, why));
    free(wrong);
    ck_assert_msg(r->ended - from < WORKERS * (ms + SOON_MS), "%s: %.0f ms of CPU time", b->name, r->ended - from);
    finish(r);
    works(e);
    sett_engine_close(e);
    return there;
}

START_TEST(the_clock_ends_it)
{
    int ms = 150;
    while (!clock_ends(&endless[_i], ms, !(_i & 1)) && ms < 60000) /* a busy machine may not have begun in so long */
        ms *= 4;
    ck_assert_int_lt(ms, 60000);
}
END_TEST

START_TEST(closing_ends_all)
{
    sett_engine *e = open_engine();
    runner *r[N_ENDLESS];
    for (int i = 0; i < N_ENDLESS; i++)
        r[i] = endless[i].body == strips ? NULL : start(e, &endless[i], (void *)(intptr_t)i);
    sleep_ms(300);
    double from = cpu_ms();
    sett_engine_close(e);
    double ms = cpu_ms() - from;
    printf("cancel: %d launches ended in a close of %.2f ms of CPU time\n", N_ENDLESS - 1, ms);
    for (int i = 0; i < N_ENDLESS; i++) {
        if (!r[i])
            continue;
        pthread_join(r[i]->thread, NULL);
        ck_assert_int_eq(r[i]->status, SETT_E_CLOSED);
        says(r[i]->err.text, "ended as the engine was closed", endless[i].where);
        ck_assert_int_eq(sett_launch(r[i]->kernel, sett_stream_of(SETT_CPU, NULL), NULL), SETT_E_CLOSED);
        finish(r[i]);
    }
    ck_assert_msg(ms < 2 * SOON_MS, "%.0f ms", ms);
}
END_TEST

/* Launches that begin while the engine closes: each ends, with what it was told. */
static void *launch_often(void *user)
{
    runner *r = user;
    sett_status s = SETT_OK;
    sett_buf X = sett_buf_1d(r->x, SETT_I32, ELEMENTS);
    while (!s)
        s = sett_launch(r->kernel, sett_stream_of(SETT_CPU, NULL), &r->err, &X);
    r->status = s;
    return NULL;
}

START_TEST(closing_and_launching)
{
    for (int round = 0; round < 20; round++) {
        sett_engine *e = open_engine();
        static runner r[3];
        memset(r, 0, sizeof r);
        for (int i = 0; i < 3; i++) {
            r[i].kernel = compile(e, one_more, "one_more");
            ck_assert_int_eq(pthread_create(&r[i].thread, NULL, launch_often, &r[i]), 0);
        }
        sleep_ms(round % 4);
        sett_engine_close(e);
        for (int i = 0; i < 3; i++) {
            pthread_join(r[i].thread, NULL);
            ck_assert_msg(r[i].status == SETT_E_CLOSED, "%s", r[i].err.text);
            sett_kernel_release(r[i].kernel);
        }
    }
}
END_TEST

/* The handle says which. */
START_TEST(one_of_two)
{
    sett_engine *e = open_engine();
    int request[2];
    runner *a = start(e, &endless[0], &request[0]), *b = start(e, &endless[2], &request[1]);
    sleep_ms(100);
    cancel(e, a);
    ck_assert_int_eq(a->status, SETT_E_CANCELLED);
    ck_assert_int_eq(sett_cancel(e, sett_stream_of(SETT_CPU, NULL), NULL), SETT_OK);
    sleep_ms(200);
    ck_assert(!atomic_load(&b->done));
    cancel(e, b);
    ck_assert_int_eq(b->status, SETT_E_CANCELLED);
    finish(a);
    finish(b);
    sett_engine_close(e);
}
END_TEST

static void cancel_from_print(void *user, const char *text, size_t len)
{
    (void)text, (void)len;
    sett_engine *const *e = user;
    ck_assert_int_eq(sett_cancel(*e, sett_stream_of(SETT_CPU, NULL), NULL), SETT_OK);
}

/* What a launch calls may end it; a prepared call is told the status. */
START_TEST(from_within)
{
    sett_engine *e;
    sett_error err;
    sett_prepared *c;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .print = cancel_from_print, .user = &e};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    sett_kernel *k = compile(e, print, "print");
    ck_assert_int_eq(sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err), SETT_E_CANCELLED);
    says(err.text, "test_cancel.c:", "cancelled by sett_cancel: it was in sett_printf, inside the loop at {{*}}, block ({{*}}), kernel print");
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err), "%s", err.text);
    ck_assert_int_eq(sett_prepared_run(c, sett_stream_of(SETT_CPU, NULL)), SETT_E_CANCELLED);
    sett_prepared_free(c);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(refusals)
{
    sett_error err;
    sett_engine *e = (sett_engine *)&err;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_timeout_ms = -1};
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "cpu_timeout_ms -1 is negative");
    e = open_engine();
    ck_assert_int_eq(sett_cancel(NULL, sett_stream_of(SETT_CPU, NULL), &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_cancel(e, sett_stream_of(0, NULL), &err), SETT_E_TARGET); /* of an engine without a GPU too */
    ck_assert_str_eq(err.text, "sett_cancel: device 0 is a GPU, whose driver ends no launch from outside; launches on SETT_CPU can be cancelled");
    ck_assert_int_eq(sett_cancel(e, sett_stream_of(-7, NULL), &err), SETT_E_NO_DEVICE);
    ck_assert_str_eq(err.text, "device -7 is none: GPUs count from 0, the CPU is SETT_CPU (-1)");
    ck_assert_int_eq(sett_cancel(e, sett_stream_of(SETT_CPU, NULL), &err), SETT_OK); /* nothing runs there */
    works(e);
    sett_engine_close(e);
}
END_TEST

/* What was found stops a grid of any size. */
static void broken(sett_build *b, const void *user)
{
    (void)user;
    sett_grid(b, EVER, 65535, 65535);
    sett_block(b, 1);
    sett_set(numbers(b), 0, sett_block_idx(b, 0));
}

START_TEST(a_fault_ends_a_large_grid)
{
    sett_error err;
    _Alignas(64) int32_t x[ELEMENTS] = {0};
    sett_buf X = sett_buf_1d(x, SETT_I32, ELEMENTS);
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, broken, "broken");
    ck_assert_int_eq(sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X), SETT_E_FAULT);
    says(err.text, "store to X: element 1024 of 1024 (byte 4096) is outside", ", block (1024,0,0) thread (0,0,0), kernel broken");
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *cancel_suite(void);
Suite *cancel_suite(void)
{
    Suite *s = suite_create("cancel");
    TCase *c = tcase_create("ended");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_call_ends_it, 0, N_ENDLESS);
    tcase_add_loop_test(c, a_poll_ends_it, 0, N_ENDLESS + 1);
    tcase_add_loop_test(c, the_clock_ends_it, 0, N_ENDLESS);
    tcase_add_test(c, closing_ends_all);
    tcase_add_test(c, closing_and_launching);
    tcase_add_test(c, one_of_two);
    tcase_add_test(c, from_within);
    tcase_add_test(c, refusals);
    tcase_add_test(c, a_fault_ends_a_large_grid);
    suite_add_tcase(s, c);
    return s;
}
