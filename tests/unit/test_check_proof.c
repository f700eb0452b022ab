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

/* ---- all orders ------------------------------------------------------------------------------------------------------- */
/* Four warps take a ticket each. Y(t) is 1 if they came in the reverse order, which is one of 24. */
static void tickets(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 4)), *s = NULL;
    sett_block(b, 128);
    s = sett_make_smem_tensor(b, SETT_I32, 8, 16);
    sett_val *t = sett_thread_idx(b, 0), *warp = sett_warp_idx(b), *first = sett_eq(sett_lane_idx(b), 0);
    sett_if (b, sett_lt(t, 8))
        sett_set(s, 0, t);
    sett_sync_threads(b);
    sett_if (b, first)
        sett_set(s, sett_atomic_add(s, 1, 4), warp);
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, 4)) {
        sett_val *turned = sett_and(sett_and(sett_eq(sett_at(s, 0), 3), sett_eq(sett_at(s, 1), 2)), sett_and(sett_eq(sett_at(s, 2), 1), sett_eq(sett_at(s, 3), 0)));
        sett_set(Y, sett_where(turned, 1.0, 0.0), t);
    }
}
/* A barrier of the block is the same in each order: there is one. */
static void no_choice(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 4)), *s = sett_make_smem_tensor(b, SETT_F32, 128, 16);
    sett_block(b, 128);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(s, 1.0, t);
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, 4))
        sett_set(Y, sett_at(s, sett_sub(127, t)), t);
}
/* A ring of one stage: the lone producer and its consumer take turns, however they are chosen. */
static void in_turns(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 4)), *s = sett_make_smem_tensor(b, SETT_F32, 32, 16), *bars = sett_make_mbarriers(b, 2);
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_eq(t, 0))
        sett_mbarrier_init(sett_slice(bars, 0), 32), sett_mbarrier_init(sett_slice(bars, 1), 32);
    sett_sync_threads(b);
    sett_if (b, sett_eq(sett_warp_idx(b), 0))
        sett_for (b, k, 0, 3, 1) {
            sett_mbarrier_wait(sett_slice(bars, 1), sett_sub(1, sett_mod(k, 2)));
            sett_set(s, sett_to(k, SETT_F32), lane);
            sett_mbarrier_arrive(sett_slice(bars, 0));
        }
    sett_else (b)
        sett_for (b, k, 0, 3, 1) {
            sett_mbarrier_wait(sett_slice(bars, 0), sett_mod(k, 2));
            sett_if (b, sett_lt(lane, 4))
                sett_set(Y, sett_at(s, lane), lane);
            sett_mbarrier_arrive(sett_slice(bars, 1));
        }
}
/* Whoever comes second of two warps waits for what nobody does if it is warp 0: that hangs in some orders, and not in the first. */
static void hangs(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 4)), *s = sett_make_smem_tensor(b, SETT_I32, 1, 16), *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0), *first = sett_eq(sett_lane_idx(b), 0);
    sett_if (b, sett_eq(t, 0))
        sett_set(s, 0, 0), sett_mbarrier_init(bar, 1);
    sett_sync_threads(b);
    sett_if (b, first) {
        sett_val *came = sett_atomic_add(s, 1, 0);
        sett_if (b, sett_and(sett_eq(came, 1), sett_eq(sett_warp_idx(b), 0)))
            sett_mbarrier_wait(bar, 0);
    }
    sett_if (b, sett_lt(t, 4))
        sett_set(Y, 0.0, t);
}

static const struct {
    sett_body body;
    sett_status status;
    uint64_t least, most, others;
    float y;
} ordered[] = {{tickets, SETT_OK, 24, 24, 1, 1}, {no_choice, SETT_OK, 1, 1, 0, 1}, {in_turns, SETT_OK, 1, 200, 0, 2}, {hangs, SETT_E_FAULT, 0, 0, 0, 0}};

START_TEST(all_orders)
{
    sett_error err;
    sett_engine *e;
    sett_kernel *k;
    sett_check_result r = {.findings = 0}, again = r;
    float y[4] = {7, 7, 7, 7};
    const sett_buf Y = sett_buf_1d(y, SETT_F32, 4);
    const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = ""};
    const sett_compile_options c = {.size = sizeof c, .name = "ordered", .target = "cpu"};
    sett_check_options how = {.size = sizeof how, .checks = SETT_CHECKS_ERRORS, .order = "systematic", .finding = quiet, .result = &r};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, ordered[_i].body, &c, &k, &err), "%s", err.text);
    const sett_status s = sett_check(k, &how, &err, &Y);
    ck_assert_msg(s == ordered[_i].status, "%d: %s", s, err.text);
    if (!s) {
        ck_assert_msg(r.orders >= ordered[_i].least && r.orders <= ordered[_i].most, "%llu orders", (unsigned long long)r.orders);
        ck_assert_uint_eq(r.others, ordered[_i].others);
        ck_assert(r.all && !r.findings);
        for (int i = 0; i < 4; i++)
            ck_assert_float_eq(y[i], ordered[_i].y);
        how.result = &again;
        ck_assert_int_eq(sett_check(k, &how, &err, &Y), SETT_OK);
        ck_assert(again.orders == r.orders && again.others == r.others);
        how.order = "lazy";
        ck_assert_int_eq(sett_check(k, &how, &err, &Y), SETT_OK);
        ck_assert(!again.orders && !again.others && !again.all);
    }
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *check_proof_suite(void)
{
    Suite *s = suite_create("check_proof");
    TCase *t = tcase_create("check_proof");
    tcase_add_loop_test(t, proofs, 0, PLANS);
    tcase_add_test(t, lines);
    tcase_add_loop_test(t, all_orders, 0, sizeof ordered / sizeof *ordered);
    suite_add_tcase(s, t);
    return s;
}
