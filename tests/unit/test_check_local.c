/* SPDX-License-Identifier: Apache-2.0 */
/* The checker's findings that are of one block or less: what nobody has written, what accesses cost, lanes that are missing. */
#define SETT_SHORT
#include "tests/rig/recording.h"
#include "tests/rig/cost_cases.h"
#include <sett/check.h>
#include <sett/launch.h>
#include <sett/pipeline.h>
#include <sett/tma.h>
#include <string.h>

/* ---- launches -------------------------------------------------------------------------------------- */
enum { N = 64, MOST = 8 };
static struct { int n; sett_check_kind kind; sett_check_level level; int line[SETT_CHECK_SITES], n_site; sett_check_role role[SETT_CHECK_SITES]; char text[1024]; } found[MOST];
static int n_found;
static bool costs_alone; /* the stores of cost_cases.h are made again and again, and race */
static const sett_stream cpu = {SETT_CPU, NULL};

static void keep(void *user, const sett_finding *f)
{
    (void)user;
    if (n_found == MOST || (costs_alone && f->level != SETT_CHECK_COST))
        return;
    found[n_found].kind = f->kind;
    found[n_found].level = f->level;
    found[n_found].n_site = f->n_site;
    for (int i = 0; i < f->n_site; i++)
        found[n_found].line[i] = f->site[i].line, found[n_found].role[i] = f->site[i].role;
    snprintf(found[n_found].text, sizeof found->text, "%s", f->text);
    n_found++;
}

static sett_engine *engine(sett_checks checks, const char *policy)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = policy, .checks = checks, .finding = keep};
    sett_error err;
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    return e;
}

static sett_kernel *compile(sett_engine *e, sett_body body, const void *user)
{
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = user};
    sett_error err = {0};
    sett_kernel *k = NULL;
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    return k;
}

/* X and Y of N floats, on every policy's CPU. A finding is told once a process. */
static sett_status launch(sett_body body, const void *user, sett_checks checks)
{
    static const char *const policy[] = {"random:3", "eager", "lazy"};
    static _Alignas(128) float x[N * N], y[N * N];
    sett_status s = SETT_OK;
    n_found = 0;
    for (int p = 0; p < 3; p++) {
        sett_engine *e = engine(checks, policy[p]);
        sett_kernel *k = compile(e, body, user);
        sett_error err = {0};
        const sett_buf bx = sett_buf_1d(x, SETT_F32, N), by = sett_buf_1d(y, SETT_F32, N);
        memset(y, 0, sizeof y);
        for (int i = 0; i < N * N; i++)
            x[i] = (float)(i % 7);
        s = sett_launch(k, cpu, &err, &bx, &by);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    return s;
}

/* ---- uninit ------------------------------------------------------------------------------------------- */
static int read_at, use_at, made_at; /* lines */
#define READ (read_at = __LINE__)
#define USE (use_at = __LINE__)
typedef struct place {
    sett_build *b;
    sett_tensor *X, *Y, *s, *r;
    sett_val *t;
} place;
typedef void (*test_body)(const place *);

static void open_body(sett_build *b, const void *user)
{
    place p = {.b = b};
    const test_body *body = user;
    p.X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(N)));
    p.Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(N)));
    sett_grid(b, 1), sett_block(b, N);
    p.t = sett_thread_idx(b, 0);
    made_at = __LINE__, p.s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, N), 16), p.r = sett_make_rmem_tensor(b, SETT_F32, sett_make_layout(b, 4));
    (*body)(&p);
}

static void never_written(const place *p)
{
    sett_val *x = (READ, sett_at(p->s, p->t));
    x = sett_add(x, 1.0);
    USE, sett_set(p->Y, x, p->t);
}
static void half_written(const place *p)
{
    sett_build *b = p->b;
    sett_if (b, sett_lt(p->t, 32))
        sett_set(p->s, sett_at(p->X, p->t), p->t);
    sett_sync_threads(b);
    sett_val *x = (READ, sett_at(p->s, sett_sub(63, p->t)));
    USE, sett_set(p->Y, x, p->t);
}
static void array(const place *p)
{
    sett_set(p->r, sett_at(p->X, p->t), 0);
    sett_val *x = (READ, sett_at(p->r, 1));
    x = sett_add(sett_at(p->r, 0), x);
    USE, sett_set(p->Y, x, p->t);
}
static void passed_on(const place *p) /* by shared memory: who read it first is told */
{
    sett_val *x = (READ, sett_at(p->r, 2));
    sett_set(p->s, x, p->t);
    sett_sync_threads(p->b);
    x = sett_at(p->s, sett_sub(63, p->t));
    USE, sett_set(p->Y, x, p->t);
}
static void branch(const place *p)
{
    sett_build *b = p->b;
    sett_val *x = (READ, sett_at(p->s, p->t)), *less = sett_lt(x, 1.0);
    sett_if ((USE, b), less)
        sett_set(p->Y, 1.0, p->t);
}
static void address(const place *p)
{
    sett_val *x = (READ, sett_at(p->s, p->t)), *i = sett_and(sett_to(x, SETT_I32), 7);
    x = (USE, sett_at(p->X, i));
    sett_set(p->Y, x, p->t);
}
static void predicate(const place *p)
{
    sett_val *x = (READ, sett_at(p->s, p->t)), *yes = sett_lt(x, 1.0);
    USE, sett_store(sett_composition(sett_domain_offset(p->Y, p->t), sett_make_layout(p->b, 1)), sett_full(p->b, SETT_F32, 1, 2.0), .pred = yes);
}
static void shuffled(const place *p)
{
    sett_build *b = p->b;
    sett_if (b, sett_gt(p->t, 0))
        sett_set(p->s, 1.0, p->t);
    sett_sync_threads(b);
    sett_val *x = (READ, sett_at(p->s, p->t));
    x = sett_warp_reduce(x, SETT_ADD, 32);
    USE, sett_set(p->Y, x, p->t);
}
static void loop_bound(const place *p)
{
    sett_build *b = p->b;
    sett_val *x = (READ, sett_at(p->s, 5)), *n = sett_and(sett_to(x, SETT_I32), 3);
    sett_for ((USE, b), i, 0, n, 1)
        sett_set(p->Y, 1.0, i);
}
static void atomic(const place *p)
{
    sett_val *x = (READ, sett_at(p->r, 3));
    USE, sett_atomic(p->Y, SETT_ADD, x, 0);
}
static void counter(const place *p) /* of shared memory, which nobody set to 0 */
{
    sett_build *b = p->b;
    READ, sett_atomic(p->s, SETT_ADD, 1.0, 0);
    sett_sync_threads(b);
    sett_val *x = sett_at(p->s, 0);
    USE, sett_set(p->Y, x, p->t);
}
static const struct { const char *name; test_body body; } wrong[] = {{"never written", never_written}, {"half", half_written}, {"array", array}, {"passed on", passed_on},
    {"branch", branch}, {"address", address}, {"predicate", predicate}, {"shuffled", shuffled}, {"loop bound", loop_bound}, {"atomic", atomic}, {"counter", counter}};

START_TEST(test_uninit)
{
    ck_assert_int_eq(launch(open_body, &wrong[_i].body, SETT_CHECKS_ERRORS), SETT_OK);
    ck_assert_msg(n_found == 1, "%s: %d findings: %s", wrong[_i].name, n_found, n_found ? found[0].text : "");
    ck_assert_msg(found[0].kind == SETT_CHECK_UNINIT && found[0].level == SETT_CHECK_ERROR, "%s: %s", wrong[_i].name, found[0].text);
    ck_assert_msg(found[0].line[0] == read_at && found[0].role[0] == SETT_CHECK_ROLE_READ, "%s: line %d, not %d: %s", wrong[_i].name, found[0].line[0], read_at, found[0].text);
    ck_assert_msg(found[0].line[1] == use_at && found[0].role[1] == SETT_CHECK_ROLE_USE, "%s: line %d, not %d: %s", wrong[_i].name, found[0].line[1], use_at, found[0].text);
    ck_assert_msg(found[0].n_site >= 3 && found[0].line[2] == made_at && found[0].role[2] == SETT_CHECK_ROLE_ALLOC, "%s: %s", wrong[_i].name, found[0].text);
}
END_TEST

/* What is read and never used, or not in the lanes that count. */
static void tail(const place *p) /* of a wide load */
{
    sett_build *b = p->b;
    sett_if (b, sett_lt(sett_mod(p->t, 4), 3))
        sett_set(p->s, sett_at(p->X, p->t), p->t);
    sett_sync_threads(b);
    sett_if (b, sett_lt(p->t, N / 4)) {
        sett_val *four = sett_load(sett_composition(sett_domain_offset(p->s, sett_mul(p->t, 4)), sett_make_layout(b, 4)));
        sett_set(p->Y, sett_add(sett_add(sett_element(four, 0), sett_element(four, 1)), sett_element(four, 2)), p->t);
    }
}
static void chosen(const place *p)
{
    sett_build *b = p->b;
    sett_if (b, sett_lt(p->t, 32))
        sett_set(p->s, sett_at(p->X, p->t), p->t);
    sett_sync_threads(b);
    sett_set(p->Y, sett_where(sett_lt(p->t, 32), sett_at(p->s, p->t), 0.0), p->t);
}
static void cut_off(const place *p) /* bits that an AND takes away */
{
    sett_build *b = p->b;
    sett_tensor *bytes = sett_recast_tensor(p->s, SETT_U8), *words = sett_recast_tensor(p->s, SETT_U32);
    sett_set(bytes, sett_to(p->t, SETT_U8), sett_mul(p->t, 4));
    sett_sync_threads(b);
    sett_val *x = sett_and(sett_at(words, sett_sub(63, p->t)), 255);
    sett_set(p->Y, sett_to(x, SETT_F32), p->t);
}
static void behind_a_test(const place *p)
{
    sett_build *b = p->b;
    sett_if (b, sett_lt(p->t, 32))
        sett_set(p->s, 3.0, p->t);
    sett_sync_threads(b);
    sett_val *x = sett_at(p->s, p->t), *yes = sett_and(sett_lt(p->t, 32), sett_lt(x, 5.0));
    sett_if (b, yes)
        sett_set(p->Y, x, p->t);
}
static void written_later(const place *p) /* an array, on every path */
{
    sett_build *b = p->b;
    sett_if (b, sett_lt(p->t, 10))
        sett_set(p->r, 1.0, 0);
    sett_else(b)
        sett_set(p->r, 2.0, 0);
    sett_set(p->Y, sett_at(p->r, 0), p->t);
}
static void copied(const place *p) /* in the background */
{
    sett_build *b = p->b;
    sett_thr_copy *mine = sett_get_slice(sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F32, 32), sett_make_layout(b, N), sett_make_layout(b, 1)), p->t);
    sett_copy(sett_make_tiled_copy_tv(sett_copy_async(b, SETT_F32, 32), sett_make_layout(b, N), sett_make_layout(b, 1)), sett_partition_S(mine, p->X), sett_partition_D(mine, p->s));
    sett_cp_async_commit_group(b);
    sett_cp_async_wait_group(b, 0);
    sett_sync_threads(b);
    sett_set(p->Y, sett_at(p->s, sett_sub(63, p->t)), p->t);
}
static const struct { const char *name; test_body body; } right[] = {{"tail", tail}, {"chosen", chosen}, {"cut off", cut_off}, {"behind a test", behind_a_test},
    {"written later", written_later}, {"copied", copied}};

START_TEST(test_initialised)
{
    ck_assert_int_eq(launch(open_body, &right[_i].body, SETT_CHECKS_ERRORS), SETT_OK);
    ck_assert_msg(!n_found, "%s: %s", right[_i].name, found[0].text);
}
END_TEST

/* ---- uninit: products ------------------------------------------------------------------------------------ */
enum { BM = 64, BN = 16, BK = 64 };
typedef struct product { /* rows of A and of B that are written, and of C those that are stored */
    const char *name;
    bool group; /* by wgmma; else by ldmatrix and mma.sync */
    int a, b, rows, columns;
    bool wrong;
} product;
static const product products[] = {
    {"all", true, BM, BN, BM, BN, false}, {"rows of A", true, 48, BN, BM, BN, true}, {"rows that are not stored", true, 48, BN, 48, BN, false},
    {"columns of B", true, BM, 8, BM, BN, true}, {"columns that are not stored", true, BM, 8, BM, 8, false},
    {"all", false, BM, BN, BM, BN, false}, {"rows of A", false, 40, BN, BM, BN, true}, {"rows that are not stored", false, 40, BN, 40, BN, false},
    {"columns of B", false, BM, 8, BM, BN, true}, {"columns that are not stored", false, BM, 8, BM, 8, false},
};

/* Row by row, 8 elements a thread: the first so many rows. */
static void fill_rows(sett_build *b, sett_tensor *s, sett_val *t, int rows)
{
    sett_for (b, i, t, rows * BK / 8, 128)
        sett_store(sett_local_tile(s, T(1, 8), T(sett_floordiv(i, BK / 8), sett_mod(i, BK / 8))), 1.0);
}

static void product_body(sett_build *b, const void *user)
{
    const product *x = user;
    sett_tensor *C = sett_param(b, "C", SETT_F32, sett_row_major(b, BM, BN));
    sett_grid(b, 1), sett_block(b, 128);
    made_at = __LINE__ + 1;
    sett_tensor *sA = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BM, BK), 1024), *sB = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, BN, BK), 1024);
    sett_val *t = sett_thread_idx(b, 0);
    fill_rows(b, sA, t, x->a), fill_rows(b, sB, t, x->b);
    sett_fence_view_async_shared(b);
    sett_sync_threads(b);
    sett_mma_atom *atom = x->group ? sett_wgmma(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .n = BN) : sett_mma_sync(b, .a = SETT_F16, .b = SETT_F16, .acc = SETT_F32, .m = 16, .n = 8, .k = 16);
    sett_tiled_mma *mma = x->group ? sett_make_tiled_mma(atom, T(1, 1, 1), ALL) : sett_make_tiled_mma(atom, T(4, 1, 1), ALL);
    sett_thr_mma *mine = sett_get_slice(mma, t);
    sett_tensor *acc = sett_make_fragment_C(mma, sett_partition_shape_C(mma, T(BM, BN)));
    sett_fill(acc, 0.0);
    sett_tensor *fA = sett_make_fragment_A(mma, sett_partition_A(mine, sA)), *fB = sett_make_fragment_B(mma, sett_partition_B(mine, sB));
    if (x->group) {
        READ, sett_gemm(mma, acc, fA, fB, acc);
        sett_mma_commit(b);
        sett_mma_wait(b, 0);
    } else {
        sett_tiled_copy *ca = sett_make_tiled_copy_A(sett_ldmatrix(b, SETT_F16, 4, false), mma), *cb = sett_make_tiled_copy_B(sett_ldmatrix(b, SETT_F16, 2, false), mma);
        sett_thr_copy *ta = sett_get_slice(ca, t), *tb = sett_get_slice(cb, t);
        READ, sett_copy(ca, sett_partition_S(ta, sA), sett_retile(ta, fA)), sett_copy(cb, sett_partition_S(tb, sB), sett_retile(tb, fB));
        sett_gemm(mma, acc, fA, fB, acc);
    }
    sett_tensor *crd = sett_partition_C(mine, sett_identity_tensor(b, BM, BN));
    USE, sett_store(sett_partition_C(mine, C), sett_load(acc), .pred = sett_elem_less(crd, sett_tuple(b, x->rows, x->columns)));
}

START_TEST(test_products)
{
    static float c[BM * BN];
    const product *x = &products[_i];
    n_found = 0;
    for (int p = 0; p < 3; p++) {
        sett_engine *e = engine(SETT_CHECKS_ERRORS, p == 0 ? "random:5" : p == 1 ? "eager" : "lazy");
        sett_kernel *k = compile(e, product_body, x);
        sett_error err = {0};
        const sett_buf bc = sett_buf_2d(c, SETT_F32, BM, BN);
        ck_assert_msg(!sett_launch(k, cpu, &err, &bc), "%s", err.text);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
    ck_assert_msg(n_found == x->wrong, "%s: %d findings: %s", x->name, n_found, n_found ? found[0].text : "");
    if (!x->wrong)
        return;
    ck_assert_msg(found[0].kind == SETT_CHECK_UNINIT && found[0].line[0] == read_at && found[0].line[1] == use_at && found[0].line[2] == made_at, "%s: lines %d %d %d of %d %d %d: %s", x->name,
        found[0].line[0], found[0].line[1], found[0].line[2], read_at, use_at, made_at, found[0].text);
}
END_TEST

/* ---- costs ---------------------------------------------------------------------------------------------- */
START_TEST(test_costs)
{
    static _Alignas(128) unsigned char x[COST_GLOBAL];
    static _Alignas(128) float y[64];
    const cost_case *c = &cost_cases[_i];
    int line = 0;
    unsigned cycles;
    const cost_run run = {c, 2, COST_ROUNDS, &line};
    costs_alone = true;
    sett_engine *e = engine(SETT_CHECKS_ALL, NULL);
    sett_kernel *k = compile(e, cost_body, &run);
    const sett_buf bx = sett_buf_1d(x, c->dtype, COST_GLOBAL * 8 / sett_dtype_bits(c->dtype)), by = sett_buf_1d(y, SETT_F32, 64), bt = sett_buf_1d(&cycles, SETT_U32, 1);
    sett_error err = {0};
    ck_assert_msg(!sett_launch(k, cpu, &err, &bx, &by, &bt), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
    if (2 * c->taken < 3 * c->ideal) {
        ck_assert_msg(!n_found, "%s: %s", c->name, found[0].text);
        return;
    }
    const long long requests = 2 * COST_ROUNDS;
    ck_assert_msg(n_found == 1, "%s: %d findings", c->name, n_found);
    ck_assert_int_eq(found[0].kind, c->global ? SETT_CHECK_SECTORS : SETT_CHECK_BANK_CONFLICT);
    ck_assert_int_eq(found[0].level, SETT_CHECK_COST);
    ck_assert_int_eq(found[0].line[0], line);
    char want[200];
    snprintf(want, sizeof want, " need: %lld, ideal %lld, in %lld requests\n  worst  a request takes %d where %d would do", c->taken * requests, c->ideal * requests, requests, c->taken, c->ideal);
    ck_assert_msg(strstr(found[0].text, want) != NULL, "%s:%s is not in %s", c->name, want, found[0].text);
}
END_TEST

/* Not looked for by ERRORS. */
START_TEST(test_no_costs)
{
    static _Alignas(128) unsigned char x[COST_GLOBAL];
    static _Alignas(128) float y[64];
    int line;
    unsigned cycles;
    const cost_run run = {&cost_cases[2], 2, COST_ROUNDS, &line};
    sett_engine *e = engine(SETT_CHECKS_ERRORS, NULL);
    sett_kernel *k = compile(e, cost_body, &run);
    const sett_buf bx = sett_buf_1d(x, SETT_F32, COST_GLOBAL / 4), by = sett_buf_1d(y, SETT_F32, 64), bt = sett_buf_1d(&cycles, SETT_U32, 1);
    ck_assert(!sett_launch(k, cpu, NULL, &bx, &by, &bt));
    sett_kernel_release(k);
    sett_engine_close(e);
    ck_assert_int_eq(n_found, 0);
}
END_TEST

static void narrow_body(sett_build *b, const void *aligned)
{
    sett_val *n = sett_sym(b, "n", .div = aligned ? 4 : 1);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(n)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(n)), .align = 16);
    sett_grid(b, 1), sett_block(b, 32);
    sett_val *at = sett_mul(sett_thread_idx(b, 0), sett_to(n, SETT_I32));
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0))
        USE, sett_store(sett_composition(sett_domain_offset(Y, at), sett_make_layout(b, 4)), sett_load(sett_composition(sett_domain_offset(X, at), sett_make_layout(b, 4))));
}

START_TEST(test_narrow)
{
    ck_assert_int_eq(launch(narrow_body, _i ? "" : NULL, SETT_CHECKS_ALL), SETT_OK);
    if (_i) {
        ck_assert_msg(!n_found, "%s", found[0].text);
        return;
    }
    ck_assert_int_ge(n_found, 1);
    ck_assert_int_eq(found[0].kind, SETT_CHECK_NARROW);
    ck_assert_int_eq(found[0].level, SETT_CHECK_COST);
    ck_assert_int_eq(found[0].line[0], use_at);
    ck_assert_msg(strstr(found[0].text, "needs .div = 4 on n") != NULL, "%s", found[0].text);
}
END_TEST

Suite *check_local_suite(void)
{
    Suite *s = suite_create("check_local");
    TCase *t = tcase_create("uninit");
    tcase_add_loop_test(t, test_uninit, 0, SETT__COUNT(wrong));
    tcase_add_loop_test(t, test_initialised, 0, SETT__COUNT(right));
    tcase_add_loop_test(t, test_products, 0, SETT__COUNT(products));
    suite_add_tcase(s, t);
    t = tcase_create("costs");
    tcase_add_loop_test(t, test_costs, 0, COST_CASES);
    tcase_add_test(t, test_no_costs);
    tcase_add_loop_test(t, test_narrow, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
