/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads on one engine: compile equal and different keys, launch, make calls, release, read counters, in an
 * order that differs from run to run; results are compared. The thread sanitizer's run of this suite is its point. */
#define SETT_SHORT
#include <check.h>
#include <pthread.h>
#include <sett/sett.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, KEYS = 5, N = 300 };

typedef struct factor {
    int64_t by;
} factor;

/* Y = by * X; the keys differ by the factor. */
static void scale(sett_build *b, const void *user)
{
    const factor *f = user;
    sett_val *n = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(n)));
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_make_layout(b, T1(n)));
    sett_grid(b, sett_ceil_div(n, 64));
    sett_block(b, 64);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), 64), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, n))
        sett_set(Y, sett_mul(sett_at(X, i), f->by), i);
}

typedef struct member {
    sett_engine *e;
    sett_kernel *shared; /* factor 0 + 2, compiled before: launched by all at once */
    uint64_t seed;
    struct timespec end;
    long rounds;
    uint64_t remembered; /* rounds that gave their bytes */
    const char *wrong;
    sett_error err;
} member;

static uint64_t next(member *m)
{
    m->seed ^= m->seed << 13, m->seed ^= m->seed >> 7, m->seed ^= m->seed << 17;
    return m->seed;
}

static bool all_scaled(const int32_t *y, int64_t by)
{
    for (int i = 0; i < N; i++)
        if (y[i] != (int32_t)(i * by))
            return false;
    return true;
}

static const char *launch_and_compare(member *m, sett_kernel *k, int64_t by, bool prepared)
{
    int32_t x[N] = {0}, y[N];
    const sett_stream cpu = {SETT_CPU, NULL};
    const sett_buf X = sett_buf_1d(x, SETT_I32, N), Y = sett_buf_1d(y, SETT_I32, N);
    sett_prepared *c = NULL;
    sett_status s;
    for (int i = 0; i < N; i++)
        x[i] = i, y[i] = -1;
    if (prepared) {
        s = sett_prepared_make(k, SETT_CPU, &c, &m->err, &X, &Y);
        s = s ? s : sett_prepared_run(c, cpu);
        sett_prepared_free(c);
    } else {
        s = sett_launch(k, cpu, &m->err, &X, &Y);
    }
    return s ? "a launch failed" : all_scaled(y, by) ? NULL : "a result is wrong";
}

static const char *one_round(member *m)
{
    uint64_t dice = next(m);
    factor f = {(int64_t)(dice % KEYS) + 2};
    sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &f, .user_size = dice >> 8 & 1 ? sizeof f : 0};
    sett_kernel *k, *found;
    sett_kernel_info info = {.size = sizeof info};
    sett_stats st = {.size = sizeof st};
    m->remembered += o.user_size > 0;
    if (sett_compile(m->e, scale, &o, &k, &m->err))
        return "a compile failed";
    const char *wrong = launch_and_compare(m, k, f.by, dice >> 9 & 1);
    if (!wrong && (dice >> 10 & 3) == 0)
        wrong = launch_and_compare(m, m->shared, 2, dice >> 12 & 1);
    if (!wrong && (sett_kernel_query(k, &info) || sett_kernel_get(m->e, info.key, &found, &m->err)))
        wrong = "a kernel is not found by its key";
    else if (!wrong)
        sett_kernel_release(found);
    sett_engine_stats(m->e, &st);
    if (!wrong && st.misses > KEYS)
        wrong = "a key was compiled twice";
    sett_kernel_release(k);
    return wrong;
}

static void *work(void *user)
{
    member *m = user;
    struct timespec now;
    do {
        m->wrong = one_round(m);
        m->rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!m->wrong && (now.tv_sec < m->end.tv_sec || (now.tv_sec == m->end.tv_sec && now.tv_nsec < m->end.tv_nsec)));
    return NULL;
}

/* Nothing that many count at once is lost: each compile was remembered or recorded, and each body that was recorded was in memory, made
 * or waited for; each kernel that was asked for by key was in memory. */
static void counted(const sett_engine *e, const member *m)
{
    sett_stats st = {.size = sizeof st};
    uint64_t rounds = 0, remembered = 0;
    for (int i = 0; i < THREADS; i++)
        rounds += (uint64_t)m[i].rounds, remembered += m[i].remembered;
    sett_engine_stats(e, &st);
    ck_assert_uint_eq(st.memo_hits + st.records, rounds + 1);
    ck_assert_uint_eq(st.memory_hits + st.misses + st.joined, rounds + st.records);
    ck_assert_uint_le(st.memo_hits, remembered);
    ck_assert_uint_ge(st.memo_hits + KEYS * THREADS, remembered);
}

START_TEST(one_engine_many_threads)
{
    sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 2};
    const factor two = {2};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &two};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *shared;
    member m[THREADS];
    pthread_t t[THREADS];
    struct timespec end;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, scale, &o, &shared, &err), "%s", err.text);
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t seed = (uint64_t)end.tv_nsec + 1;
    end.tv_sec += 1;
    printf("stress: seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < THREADS; i++) {
        m[i] = (member){.e = e, .shared = shared, .seed = seed + (uint64_t)i * 0x9e3779b97f4a7c15u, .end = end};
        ck_assert_int_eq(pthread_create(&t[i], NULL, work, &m[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_msg(!m[i].wrong, "thread %d, round %ld: %s: %s", i, m[i].rounds, m[i].wrong, m[i].err.text);
        ck_assert_int_gt(m[i].rounds, 0);
    }
    counted(e, m);
    sett_kernel_release(shared);
    sett_engine_close(e);
}
END_TEST

/* Engines come and go beside each other; kernels outlive theirs on other threads. */
static void *open_and_close(void *user)
{
    member *m = user;
    for (int i = 0; i < 20 && !m->wrong; i++) {
        const factor f = {2 + i % KEYS};
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &f, .user_size = sizeof f};
        sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 2};
        sett_kernel *k = NULL;
        if (sett_engine_open(&m->e, &eo, &m->err) || sett_compile(m->e, scale, &o, &k, &m->err)) {
            m->wrong = "opening or compiling failed";
            break;
        }
        m->wrong = launch_and_compare(m, k, f.by, i & 1);
        sett_engine_close(m->e);
        if (!m->wrong && sett_launch(k, ((sett_stream){SETT_CPU, NULL}), &m->err) != SETT_E_CLOSED)
            m->wrong = "a kernel of a closed engine was launched";
        sett_kernel_release(k);
    }
    return NULL;
}

START_TEST(many_engines)
{
    member m[THREADS];
    pthread_t t[THREADS];
    memset(m, 0, sizeof m);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, open_and_close, &m[i]), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_msg(!m[i].wrong, "thread %d: %s: %s", i, m[i].wrong, m[i].err.text);
}
END_TEST

Suite *stress_suite(void);
Suite *stress_suite(void)
{
    Suite *s = suite_create("stress");
    TCase *t = tcase_create("stress");
    tcase_add_test(t, one_engine_many_threads);
    tcase_add_test(t, many_engines);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
