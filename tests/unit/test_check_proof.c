/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch without findings proves, and where the proof ends. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 64 };
static int ends; /* line of the kernel that was recorded last at which the proof should end; 0: nowhere */
#define HERE ends = __LINE__
typedef struct args {
    sett_tensor *X, *I, *Y, *C, *s;
    sett_val *t;
} args;

static void reverse(sett_build *b, const args *a)
{
    sett_set(a->s, sett_at(a->X, a->t), a->t);
    sett_sync_threads(b);
    sett_set(a->Y, sett_at(a->s, sett_sub(N - 1, a->t)), a->t);
}

/* An address that memory decides. */
static void gather(sett_build *b, const args *a)
{
    (void)b;
    HERE, sett_set(a->Y, sett_at(a->X, sett_at(a->I, a->t)), a->t);
}

/* A place that who comes first decides. */
static void append(sett_build *b, const args *a)
{
    (void)b;
    sett_val *at;
    HERE, at = sett_atomic_add(a->C, 1, 0);
    sett_set(a->Y, sett_at(a->X, a->t), at);
}

/* Sums in any order are the same of integers, and not of floats. */
static void count(sett_build *b, const args *a)
{
    (void)b;
    sett_atomic_add(a->C, 1, 0);
    sett_set(a->Y, sett_at(a->X, a->t), a->t);
}
static void sum(sett_build *b, const args *a)
{
    HERE, sett_atomic_add(a->s, sett_at(a->X, a->t), 0);
    sett_sync_threads(b);
    sett_set(a->Y, sett_at(a->s, 0), a->t);
}

/* One warp fills, the other reads, in turns: each arrival is ordered behind the end of the phase before. */
static void ring(sett_build *b, const args *a)
{
    sett_tensor *bars = sett_make_mbarriers(b, 2), *full = sett_slice(bars, 0), *empty = sett_slice(bars, 1);
    sett_val *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(a->t, 0))
        sett_mbarrier_init(full, 32), sett_mbarrier_init(empty, 32);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_for (b, k, 0, 4, 1) {
            sett_set(a->s, sett_at(a->X, lane), lane);
            sett_mbarrier_arrive(full);
            sett_mbarrier_wait(empty, sett_mod(k, 2));
        }
    sett_else (b)
        sett_for (b, k, 0, 4, 1) {
            sett_mbarrier_wait(full, sett_mod(k, 2));
            sett_set(a->Y, sett_at(a->s, lane), lane);
            sett_mbarrier_arrive(empty);
        }
}

static void race(sett_build *b, const args *a)
{
    (void)b;
    sett_set(a->s, sett_at(a->X, a->t), 0);
}
static void race_that_is_known(sett_build *b, const args *a)
{
    sett_race_ok (b, "any of them will do")
        sett_set(a->s, sett_at(a->X, a->t), 0);
}

typedef struct plan {
    void (*body)(sett_build *, const args *);
    sett_check_proof proof;
    bool found;
} plan;
static const plan plans[] = {{reverse, SETT_PROVED_DATA, false}, {gather, SETT_PROVED_ORDERS, false}, {append, SETT_PROVED_NOTHING, false}, {count, SETT_PROVED_DATA, false},
    {sum, SETT_PROVED_NOTHING, false}, {ring, SETT_PROVED_DATA, false}, {race, SETT_PROVED_NOTHING, true}, {race_that_is_known, SETT_PROVED_NOTHING, false}};
enum { PLANS = sizeof plans / sizeof *plans };

static void record(sett_build *b, const void *user)
{
    const plan *p = user;
    sett_layout *n = sett_row_major(b, N);
    args a = {.X = sett_param(b, "X", SETT_F32, n), .I = sett_param(b, "I", SETT_I32, n), .Y = sett_param(b, "Y", SETT_F32, n), .C = sett_param(b, "C", SETT_I32, sett_row_major(b, 1))};
    sett_block(b, N);
    a.s = sett_make_smem_tensor(b, SETT_F32, N, 16);
    a.t = sett_thread_idx(b, 0);
    ends = 0;
    if (p->body == sum)
        sett_set(a.s, 0.0, a.t), sett_sync_threads(b);
    p->body(b, &a);
}

static void quiet(void *user, const sett_finding *f)
{
    (void)user, (void)f;
}

static void run(const plan *p, sett_check_result *r)
{
    sett_error err;
    sett_engine *e;
    sett_kernel *k;
    float *x, *y;
    int32_t *i, *c;
    const sett_check_options how = {.size = sizeof how, .checks = SETT_CHECKS_ERRORS, .finding = quiet, .result = r};
    ck_assert_msg(!sett_engine_open(&e, &(sett_engine_options){.size = sizeof(sett_engine_options), .no_gpu = true}, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, record, &(sett_compile_options){.size = sizeof(sett_compile_options), .name = "proof", .user = p, .target = "cpu"}, &k, &err), "%s", err.text);
    x = sett_alloc(e, SETT_CPU, N * sizeof *x), y = sett_alloc(e, SETT_CPU, N * sizeof *y);
    i = sett_alloc(e, SETT_CPU, N * sizeof *i), c = sett_alloc(e, SETT_CPU, sizeof *c);
    for (int n = 0; n < N; n++)
        x[n] = (float)n, i[n] = N - 1 - n;
    *c = 0;
    const sett_buf X = sett_buf_1d(x, SETT_F32, N), I = sett_buf_1d(i, SETT_I32, N), Y = sett_buf_1d(y, SETT_F32, N), C = sett_buf_1d(c, SETT_I32, 1);
    ck_assert_msg(!sett_check(k, &how, &err, &X, &I, &Y, &C), "%s", err.text);
    sett_free(e, SETT_CPU, x), sett_free(e, SETT_CPU, y), sett_free(e, SETT_CPU, i), sett_free(e, SETT_CPU, c);
    ck_assert_int_eq(r->because.line, ends);
    ck_assert(!ends || strstr(r->because.file, "test_check_proof.c"));
    sett_kernel_release(k);
    sett_engine_close(e);
}

START_TEST(proofs)
{
    sett_check_result r = {.findings = 99};
    run(&plans[_i], &r);
    ck_assert_int_eq(r.proof, plans[_i].proof);
    ck_assert_int_eq(r.findings != 0, plans[_i].found);
}
END_TEST

/* $SETT_CHECK_PROOFS: a line for each kernel. */
START_TEST(lines)
{
    char path[] = "/tmp/sett_proofs_XXXXXX", text[2000];
    const int fd = mkstemp(path);
    sett_check_result r;
    ck_assert_int_ge(fd, 0);
    setenv("SETT_CHECK_PROOFS", path, 1);
    for (int k = 0; k < PLANS; k++)
        run(&plans[k], &r);
    FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f), close(fd), unlink(path);
    unsetenv("SETT_CHECK_PROOFS");
    ck_assert_msg(!strncmp(text, "proof: proved for all orders and for all data of these extents\n", 63), "%s", text);
    ck_assert_msg(strstr(text, "\nproof: proved for all orders; other data may take another way from ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "\nproof: this order alone: another may do otherwise from ") != NULL, "%s", text);
}
END_TEST

Suite *check_proof_suite(void)
{
    Suite *s = suite_create("check_proof");
    TCase *t = tcase_create("check_proof");
    tcase_add_loop_test(t, proofs, 0, PLANS);
    tcase_add_test(t, lines);
    suite_add_tcase(s, t);
    return s;
}
