/* SPDX-License-Identifier: Apache-2.0 */
/* The checker on global memory: races of threads and blocks, atomics with order and scope, fences. Each wrong kernel stands beside the
 * right one. */
#define SETT_SHORT
#include <check.h>
#include <pthread.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, BLOCKS = 4, THREADS = 64 };
static int mark[4]; /* lines of the kernel that ran last */
#define MARK(n) (mark[n] = __LINE__)

typedef struct found {
    int n;
    char text[8][1000];
    sett_check_kind kind[8];
    int line[8][6], role[8][6], sites[8];
} found;

static void keep(void *user, const sett_finding *f)
{
    found *to = user;
    ck_assert_int_lt(to->n, 8);
    snprintf(to->text[to->n], sizeof to->text[0], "%s", f->text);
    to->kind[to->n] = f->kind;
    to->sites[to->n] = f->n_site;
    for (int i = 0; i < f->n_site; i++) {
        ck_assert_msg(strstr(f->site[i].file, "test_check_global.c") != NULL, "%s", f->site[i].file);
        to->line[to->n][i] = f->site[i].line;
        to->role[to->n][i] = (int)f->site[i].role;
    }
    to->n++;
}

typedef struct kernel {
    sett_tensor *X, *D, *flag;
    sett_val *t, *i, *at; /* thread, block, both */
    bool right;
} kernel;
typedef void (*body_fn)(sett_build *, const kernel *);
typedef struct plan {
    body_fn body;
    bool right;
    int blocks, threads, launches;
    bool synced; /* the host waits between two */
} plan;

static void record(sett_build *b, const void *user)
{
    const plan *p = user;
    kernel k = {.right = p->right};
    k.X = sett_param(b, "X", SETT_I32, sett_make_layout(b, N));
    k.D = sett_param(b, "D", SETT_I32, sett_make_layout(b, N));
    k.flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, 16));
    sett_grid(b, p->blocks ? p->blocks : BLOCKS);
    sett_block(b, p->threads ? p->threads : THREADS);
    k.t = sett_thread_idx(b, 0);
    k.i = sett_block_idx(b, 0);
    k.at = sett_add(sett_mul(k.i, p->threads ? p->threads : THREADS), k.t);
    p->body(b, &k);
}

static void run_with(found *to, const plan *p, sett_checks checks)
{
    static int32_t x[N], d[N], flag[16];
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    memset(to, 0, sizeof *to);
    memset(mark, 0, sizeof mark);
    memset(d, 0, sizeof d);
    memset(flag, 0, sizeof flag);
    for (int i = 0; i < N; i++)
        x[i] = i;
    const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .checks = checks, .finding = keep, .user = to};
    const sett_compile_options c = {.size = sizeof c, .name = "k", .target = "cpu", .user = p};
    const sett_buf bx = sett_buf_1d(x, SETT_I32, N), bd = sett_buf_1d(d, SETT_I32, N), bf = sett_buf_1d(flag, SETT_I32, 16);
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, record, &c, &k, &err), "%s", err.text);
    for (int i = 0; i < (p->launches ? p->launches : 1); i++) {
        ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &bx, &bd, &bf), "%s", err.text);
        if (p->synced)
            sett_sync(e, sett_stream_of(SETT_CPU, NULL));
    }
    sett_kernel_release(k);
    sett_engine_close(e);
}

/* ---- kernels: the right one, and one mistake ---------------------------------------------------------------------- */
/* Blocks write what their neighbour writes, too. */
static void overlap(sett_build *b, const kernel *k)
{
    (void)b;
    sett_val *at = k->right ? k->at : sett_add(sett_mul(k->i, THREADS / 2), k->t);
    MARK(0), MARK(1), sett_set(k->D, k->i, at);
}

static void same_value(sett_build *b, const kernel *k)
{
    (void)b;
    MARK(0), MARK(1), sett_set(k->D, k->right ? SETT_A(7) : SETT_A(k->i), k->t);
}

/* A counter that all add to, and one sets. */
static void counter(sett_build *b, const kernel *k)
{
    MARK(0), sett_atomic_add(k->flag, 1, 0);
    sett_if (b, sett_and(sett_eq(k->t, 0), sett_eq(k->i, 1)))
        MARK(1), sett_set(k->flag, 5, k->right ? 3 : 0);
}

static void lanes(sett_build *b, const kernel *k)
{
    MARK(0), sett_set(k->D, k->t, k->at);
    if (k->right)
        sett_sync_warp(b);
    MARK(1), sett_set(k->X, sett_at(k->D, sett_xor(k->at, 1)), k->at);
}

static void warps(sett_build *b, const kernel *k)
{
    MARK(0), sett_set(k->D, k->t, k->at);
    if (k->right)
        sett_sync_threads(b);
    MARK(1), sett_set(k->X, sett_at(k->D, sett_xor(k->at, 32)), k->at);
}

/* Block 0 hands D to the others through a flag. */
typedef struct hand { sett_sem give, take; sett_scope give_at, take_at; bool fence_before, fence_behind, early; } hand;
static void pass(sett_build *b, const kernel *k, const hand *h)
{
    sett_tensor *seen = sett_var(b, SETT_I32, 0);
    sett_if (b, sett_eq(k->i, 0)) {
        MARK(0), sett_set(k->D, k->t, k->t);
        sett_sync_threads(b);
        sett_if (b, sett_eq(k->t, 0)) {
            if (h->fence_before)
                sett_fence_acq_rel_gpu(b);
            if (h->early)
                MARK(0), sett_set(k->D, 3, THREADS);
            MARK(2), sett_atomic_ordered(k->flag, SETT_ATOMIC_EXCH, h->give, h->give_at, 1, 0);
        }
    }
    sett_else (b) {
        sett_if (b, sett_eq(k->t, 0)) {
            sett_while (b, sett_eq(sett_at(seen, 0), 0))
                MARK(3), sett_set(seen, sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, h->take, h->take_at, 0, 0), 0);
            if (h->fence_behind)
                sett_fence_acq_rel_gpu(b);
        }
        sett_sync_threads(b);
        MARK(1), sett_set(k->X, sett_at(k->D, sett_add(k->t, h->early)), k->at);
    }
}
#define HANDS(name, ...) static void name(sett_build *b, const kernel *k) \
    { \
        static const hand right = {SETT_SEM_RELEASE, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 0, 0, 0}, wrong = {__VA_ARGS__}; \
        pass(b, k, k->right ? &right : &wrong); \
    }
HANDS(no_release, SETT_SEM_RELAXED, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 0, 0, 0)
HANDS(no_acquire, SETT_SEM_RELEASE, SETT_SEM_RELAXED, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 0, 0, 0)
HANDS(narrow_release, SETT_SEM_RELEASE, SETT_SEM_ACQUIRE, SETT_SCOPE_CTA, SETT_SCOPE_GPU, 0, 0, 0)
HANDS(narrow_acquire, SETT_SEM_RELEASE, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, SETT_SCOPE_CTA, 0, 0, 0)
HANDS(early_fence, SETT_SEM_RELAXED, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 1, 0, 1)
static void fences(sett_build *b, const kernel *k)
{
    static const hand right = {SETT_SEM_RELAXED, SETT_SEM_RELAXED, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 1, 1, 0}, wrong = {SETT_SEM_RELAXED, SETT_SEM_RELAXED, SETT_SCOPE_GPU, SETT_SCOPE_GPU, 1, 0, 0};
    pass(b, k, k->right ? &right : &wrong);
}

static void narrow_counter(sett_build *b, const kernel *k)
{
    (void)b;
    MARK(0), MARK(1), sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, SETT_SEM_RELAXED, k->right ? SETT_SCOPE_GPU : SETT_SCOPE_CTA, 1, 0);
}

/* Blocks pass a word on: what the first wrote reaches the last through the others. */
static void chain(sett_build *b, const kernel *k)
{
    sett_tensor *seen = sett_var(b, SETT_I32, 0);
    sett_if (b, sett_eq(k->t, 0)) {
        sett_if (b, sett_eq(k->i, 0))
            MARK(0), sett_set(k->D, 1, 0);
        sett_while (b, sett_ne(sett_at(seen, 0), k->i))
            MARK(3), sett_set(seen, sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, k->right ? SETT_SEM_ACQUIRE : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 0, 0), 0);
        sett_if (b, sett_eq(k->i, BLOCKS - 1))
            MARK(1), sett_set(k->X, sett_at(k->D, 0), 0);
        sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
}

/* The last block adds up what all others left. */
static void last_one(sett_build *b, const kernel *k)
{
    sett_tensor *last = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, 1), 4);
    MARK(0), sett_set(k->D, k->t, k->at);
    if (k->right)
        sett_sync_threads(b);
    sett_if (b, sett_eq(k->t, 0))
        sett_set(last, sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, 0), 0);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_at(last, 0), BLOCKS - 1)) {
        for (int i = 0; i < BLOCKS; i++)
            MARK(1), sett_set(k->X, sett_at(k->D, sett_add(k->t, i * THREADS)), sett_add(k->t, i * THREADS));
        sett_if (b, sett_eq(k->t, 0))
            sett_set(k->flag, 0, 0);
    }
}

/* The last of so many blocks that each has told by one word reads what the first wrote. */
enum { MANY = 700 };
static void many(sett_build *b, const kernel *k)
{
    sett_if (b, sett_eq(k->t, 0)) {
        MARK(0), sett_set(k->D, 1, k->i);
        sett_val *before;
        MARK(2), before = sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, k->right ? SETT_SEM_ACQ_REL : SETT_SEM_RELAXED, SETT_SCOPE_GPU, 1, 0);
        sett_if (b, sett_eq(before, MANY - 1))
            MARK(1), sett_set(k->X, sett_at(k->D, 0), 0);
    }
}

/* The last block to come reads what the first one wrote: one atomic tells, and learns. */
static void count_in(sett_build *b, const kernel *k, sett_sem wrong)
{
    sett_if (b, sett_eq(k->t, 0)) {
        MARK(0), sett_set(k->D, 1, k->i);
        MARK(3);
        sett_val *before = sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, k->right ? SETT_SEM_ACQ_REL : wrong, SETT_SCOPE_GPU, 1, 0);
        mark[3]++;
        sett_if (b, sett_eq(before, BLOCKS - 1))
            MARK(1), sett_set(k->X, sett_at(k->D, 0), 0);
    }
}

static void release_alone(sett_build *b, const kernel *k)
{
    count_in(b, k, SETT_SEM_RELEASE);
}

static void acquire_alone(sett_build *b, const kernel *k)
{
    count_in(b, k, SETT_SEM_ACQUIRE);
}

/* Thread 0 acquires, and the others are not behind it. */
static void one_lane_learns(sett_build *b, const kernel *k)
{
    sett_tensor *seen = sett_var(b, SETT_I32, 0);
    sett_if (b, sett_eq(k->i, 0)) {
        MARK(0), sett_set(k->D, k->t, k->t);
        sett_sync_threads(b);
        sett_if (b, sett_eq(k->t, 0))
            sett_atomic_ordered(k->flag, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, 0);
    }
    sett_else (b) {
        sett_if (b, sett_eq(k->t, 0))
            sett_while (b, sett_eq(sett_at(seen, 0), 0))
                MARK(3), sett_set(seen, sett_atomic_ordered(k->flag, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 0, 0), 0);
        if (k->right)
            sett_sync_threads(b);
        MARK(1), sett_set(k->X, sett_at(k->D, k->t), k->at);
    }
}

/* ---- launches that overlap --------------------------------------------------------------------------------------------- */
/* One thread waits, or none; the next launch reads D, which this one writes. */
static void overlapping(sett_build *b, const kernel *k)
{
    sett_griddepcontrol_launch_dependents(b);
    if (k->right) {
        sett_if (b, sett_eq(k->t, 0))
            sett_griddepcontrol_wait(b);
        sett_sync_threads(b);
    }
    MARK(0);
    sett_val *x = sett_at(k->D, k->at);
    if (!k->right)
        sett_griddepcontrol_wait(b);
    MARK(1), sett_set(k->D, sett_add(x, 1), k->at);
}

START_TEST(launches)
{
    found f;
    run_with(&f, &(plan){.body = overlapping, .right = true, .launches = 3}, SETT_CHECKS_ERRORS);
    ck_assert_msg(!f.n, "%s", f.text[0]);
    run_with(&f, &(plan){.body = overlapping, .launches = 3, .synced = true}, SETT_CHECKS_ERRORS);
    ck_assert_msg(!f.n, "%s", f.text[0]);
    run_with(&f, &(plan){.body = overlapping, .launches = 2}, SETT_CHECKS_ERRORS);
    ck_assert_int_eq(f.n, 1);
    ck_assert_int_eq(f.kind[0], SETT_CHECK_PDL);
    ck_assert_int_eq(f.line[0][0], mark[0] + 1);
    ck_assert_int_eq(f.line[0][1], mark[1]);
    ck_assert_int_eq(f.sites[0], 3);
}
END_TEST

/* ---- memory that nobody wrote --------------------------------------------------------------------------------------- */
/* X has N elements, of which the host wrote half; what is behind them is used by the wrong kernel alone. */
static void unwritten(sett_build *b, const kernel *k)
{
    sett_val *at = sett_add(k->at, N / 2 - BLOCKS * THREADS / (k->right ? 1 : 2));
    MARK(0);
    sett_val *x = sett_at(k->X, at);
    if (k->right)
        sett_at(k->X, sett_add(k->at, N / 2)); /* read, and used by nobody */
    MARK(1), sett_set(k->D, x, k->at);
    (void)b;
}

static void added(sett_build *b, const kernel *k)
{
    (void)b;
    if (k->right)
        sett_atomic_exch(k->X, 1, sett_add(k->at, N / 2));
    else
        MARK(0), MARK(1), sett_atomic_add(k->X, 1, sett_add(k->at, N / 2));
}

START_TEST(never_written)
{
    static const body_fn body[] = {unwritten, added};
    static int32_t half[N / 2];
    for (int right = 1; right >= 0; right--) {
        found f = {.n = 0};
        const plan p = {.body = body[_i], .right = right};
        sett_error err = {0};
        sett_engine *e;
        sett_kernel *k;
        const sett_stream s = sett_stream_of(SETT_CPU, NULL);
        const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .checks = SETT_CHECKS_ERRORS, .finding = keep, .user = &f};
        const sett_compile_options c = {.size = sizeof c, .name = "k", .target = "cpu", .user = &p};
        ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
        ck_assert_msg(!sett_compile(e, record, &c, &k, &err), "%s", err.text);
        int32_t *x = sett_alloc(e, SETT_CPU, N * sizeof *x), *d = sett_alloc(e, SETT_CPU, N * sizeof *d), *flag = sett_alloc(e, SETT_CPU, 64);
        ck_assert(x && d && flag);
        ck_assert(!sett_memcpy(e, s, x, half, sizeof half));
        const sett_buf bx = sett_buf_1d(x, SETT_I32, N), bd = sett_buf_1d(d, SETT_I32, N), bf = sett_buf_1d(flag, SETT_I32, 16);
        ck_assert_msg(!sett_launch(k, s, &err, &bx, &bd, &bf), "%s", err.text);
        ck_assert_msg(f.n == !right, "right %d: %d, %s", right, f.n, f.text[0]);
        if (!right) {
            ck_assert_int_eq(f.kind[0], SETT_CHECK_UNINIT);
            ck_assert_int_eq(f.line[0][0], mark[0] + (_i == 0));
            ck_assert_int_eq(f.line[0][1], mark[1]);
        }
        sett_kernel_release(k);
        sett_free(e, SETT_CPU, x);
        sett_free(e, SETT_CPU, d);
        sett_free(e, SETT_CPU, flag);
        sett_engine_close(e);
    }
}
END_TEST

static const struct {
    const char *name;
    body_fn body;
    sett_check_kind kind;
    int third; /* the mark that the third site is at; 0: none */
    const char *says; /* of the report; NULL: anything */
} table[] = {
    {"overlap", overlap, SETT_CHECK_RACE, 0, NULL},
    {"same value", same_value, SETT_CHECK_RACE, 0, NULL},
    {"counter", counter, SETT_CHECK_RACE, 0, NULL},
    {"lanes", lanes, SETT_CHECK_RACE, 0, NULL},
    {"warps", warps, SETT_CHECK_RACE, 0, NULL},
    {"no release", no_release, SETT_CHECK_ORDER, 2, "releases nothing: it is SETT_SEM_RELAXED"},
    {"no acquire", no_acquire, SETT_CHECK_ORDER, 3, "sett_atomic_ordered(flag, SETT_ATOMIC_ADD, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, ...)"},
    {"narrow release", narrow_release, SETT_CHECK_ORDER, 2, "sett_atomic_ordered(flag, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, ...)"},
    {"narrow acquire", narrow_acquire, SETT_CHECK_ORDER, 3, NULL},
    {"early fence", early_fence, SETT_CHECK_ORDER, 2, "releases what came before its fence"},
    {"fences", fences, SETT_CHECK_ORDER, 3, NULL},
    {"narrow counter", narrow_counter, SETT_CHECK_ORDER, 0, NULL},
    {"chain", chain, SETT_CHECK_ORDER, 3, NULL},
    {"last one", last_one, SETT_CHECK_RACE, 0, "releases what its own thread did"},
    {"release alone", release_alone, SETT_CHECK_ORDER, 3, "acquires nothing: it is SETT_SEM_RELEASE"},
    {"acquire alone", acquire_alone, SETT_CHECK_ORDER, 3, "sett_atomic_ordered(flag, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, ...)"},
    {"one lane learns", one_lane_learns, SETT_CHECK_RACE, 3, "lane 0 is ordered behind the write, by atom at"},
    {"many", many, SETT_CHECK_ORDER, 2, NULL},
};

START_TEST(right_and_wrong)
{
    found f;
    plan p = {.body = table[_i].body, .right = true, .blocks = table[_i].body == many ? MANY : 0};
    run_with(&f, &p, SETT_CHECKS_ERRORS);
    ck_assert_msg(!f.n, "%s, right: %s", table[_i].name, f.text[0]);
    p.right = false;
    run_with(&f, &p, SETT_CHECKS_ERRORS);
    bool told = false;
    for (int i = 0; i < f.n; i++) {
        const bool both = (f.line[i][0] == mark[1] && f.line[i][1] == mark[0]) || (f.line[i][0] == mark[0] && f.line[i][1] == mark[1]);
        told |= (!table[_i].says || strstr(f.text[i], table[_i].says)) && f.kind[i] == table[_i].kind && f.sites[i] >= 2 && both && (!table[_i].third || (f.sites[i] > 2 && f.line[i][2] == mark[table[_i].third]));
        if (getenv("SHOW"))
            printf("%s: %s\n", table[_i].name, f.text[i]);
    }
    ck_assert_msg(told, "%s, wrong: %d findings, %s", table[_i].name, f.n, f.text[0]);
}
END_TEST

START_TEST(strict)
{
    found f;
    run_with(&f, &(plan){.body = same_value, .right = true}, SETT_CHECKS_STRICT);
    ck_assert_int_eq(f.n, 1);
    ck_assert_int_eq(f.kind[0], SETT_CHECK_RACE);
}
END_TEST

/* ---- many threads ------------------------------------------------------------------------------------------------------------ */
enum { CHECKERS = 8, ROUNDS = 125 };
typedef struct checker {
    sett_kernel *k[2]; /* wrong, right */
    int told, wrong;
} checker;

static void count(void *user, const sett_finding *f)
{
    ((checker *)user)->told += f->kind == SETT_CHECK_ORDER;
}

/* Whoever found it before, each launch is told what it finds. */
static void *launch_checked(void *user)
{
    checker *m = user;
    int32_t x[N] = {0}, d[N] = {0}, flag[16];
    const sett_buf bx = sett_buf_1d(x, SETT_I32, N), bd = sett_buf_1d(d, SETT_I32, N), bf = sett_buf_1d(flag, SETT_I32, 16);
    const sett_check_options how = {.size = sizeof how, .checks = SETT_CHECKS_ERRORS, .finding = count, .user = m};
    for (int i = 0; i < ROUNDS; i++) {
        memset(flag, 0, sizeof flag);
        m->told = 0;
        m->wrong += sett_check(m->k[i & 1], &how, NULL, &bx, &bd, &bf) || (m->told == 0) != (i & 1);
    }
    return NULL;
}

START_TEST(threads_that_check)
{
    checker m[CHECKERS];
    pthread_t t[CHECKERS];
    sett_kernel *k[2];
    sett_engine *e;
    sett_error err = {0};
    const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = ""};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    for (int right = 0; right < 2; right++) {
        const plan p = {.body = chain, .right = right};
        ck_assert_msg(!sett_compile(e, record, &(sett_compile_options){.size = sizeof(sett_compile_options), .name = "k", .target = "cpu", .user = &p}, &k[right], &err), "%s", err.text);
    }
    for (int i = 0; i < CHECKERS; i++) {
        m[i] = (checker){.k = {k[0], k[1]}};
        ck_assert_int_eq(pthread_create(&t[i], NULL, launch_checked, &m[i]), 0);
    }
    for (int i = 0; i < CHECKERS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < CHECKERS; i++)
        ck_assert_msg(!m[i].wrong, "thread %d: %d of %d launches", i, m[i].wrong, ROUNDS);
    sett_kernel_release(k[0]), sett_kernel_release(k[1]);
    sett_engine_close(e);
}
END_TEST

Suite *check_global_suite(void)
{
    Suite *s = suite_create("check_global");
    TCase *t = tcase_create("check_global");
    tcase_add_loop_test(t, right_and_wrong, 0, (int)(sizeof table / sizeof *table));
    tcase_add_test(t, strict);
    tcase_add_test(t, launches);
    tcase_add_loop_test(t, never_written, 0, 2);
    tcase_add_test(t, threads_that_check);
    suite_add_tcase(s, t);
    return s;
}
