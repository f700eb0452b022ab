/* SPDX-License-Identifier: Apache-2.0 */
/* The checker on shared memory: what orders threads, lanes, copies and blocks of a cluster, and what does not. Each wrong kernel stands
 * beside the right one; both run in several orders of the CPU engine. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 6, N = 32, MOST = 4 };
static int mark[2]; /* lines of the two accesses of the kernel that was recorded last */
#define FIRST mark[0] = __LINE__
#define SECOND mark[1] = __LINE__

typedef struct found {
    int n;
    sett_status status; /* of the launch */
    char text[MOST][1600];
    sett_check_kind kind[MOST];
    sett_check_level level[MOST];
    int line[MOST][SETT_CHECK_SITES], sites[MOST];
} found;

static void keep(void *user, const sett_finding *f)
{
    found *to = user;
    if (f->level == SETT_CHECK_COST)
        return;
    ck_assert_msg(to->n < MOST, "%s", f->text);
    snprintf(to->text[to->n], sizeof to->text[0], "%s", f->text);
    to->kind[to->n] = f->kind;
    to->level[to->n] = f->level;
    to->sites[to->n] = f->n_site;
    for (int i = 0; i < f->n_site; i++)
        to->line[to->n][i] = f->site[i].line;
    to->n++;
}

typedef struct kernel {
    sett_tensor *X, *Y, *s, *ring, *full, *empty; /* s: 64 f32; ring: two stages of 32; barriers of each */
    sett_val *t, *lane, *warp;
    bool right;
} kernel;
typedef void (*body_fn)(sett_build *, const kernel *);
typedef struct plan {
    body_fn body;
    sett_check_kind kind;
    const char *says[3]; /* of the report */
    int threads, cluster;
    bool ends;  /* an order may end the launch, at the second line alone */
    bool alone; /* both accesses are at one line */
    bool right;
} plan;

static void record(sett_build *b, const void *user)
{
    const plan *p = user;
    kernel k = {.right = p->right};
    k.X = sett_param(b, "X", SETT_F32, sett_row_major(b, ROUNDS, N), .align = 16);
    k.Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, 2 * ROUNDS, N), .align = 16);
    if (p->cluster)
        sett_cluster(b, p->cluster);
    sett_grid(b, p->cluster ? p->cluster : 1);
    sett_block(b, p->threads ? p->threads : 64);
    k.s = sett_make_smem_tensor(b, SETT_F32, 2 * N, 128);
    k.ring = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(N, 2)), 128);
    k.t = sett_thread_idx(b, 0);
    k.lane = sett_lane_idx(b);
    k.warp = sett_warp_idx(b);
    p->body(b, &k);
}

static void run_with(found *to, const plan *p, sett_checks checks, const char *order)
{
    static _Alignas(128) float x[ROUNDS * N], y[2 * ROUNDS * N];
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    memset(to, 0, sizeof *to);
    memset(mark, 0, sizeof mark);
    for (int i = 0; i < ROUNDS * N; i++)
        x[i] = (float)i;
    const sett_engine_options o = {.size = sizeof o, .no_gpu = true, .cache_dir = "", .cpu_async = order, .checks = checks, .finding = keep, .user = to};
    const sett_compile_options c = {.size = sizeof c, .name = "k", .target = "cpu", .user = p};
    const sett_buf X = sett_buf_2d(x, SETT_F32, ROUNDS, N), Y = sett_buf_2d(y, SETT_F32, 2 * ROUNDS, N);
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(e, record, &c, &k, &err), "%s", err.text);
    to->status = sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y);
    ck_assert_msg(!to->status || p->ends, "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}

/* Two barriers a stage, and who waits for their first phases may go on. */
static void make_ring(sett_build *b, kernel *k, int fills, int frees)
{
    k->full = sett_make_mbarriers(b, 2);
    k->empty = sett_make_mbarriers(b, 2);
    sett_if (b, sett_eq(k->t, 0)) {
        for (int i = 0; i < 2; i++) {
            sett_mbarrier_init(sett_slice(k->full, i), fills);
            sett_mbarrier_init(sett_slice(k->empty, i), frees);
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */
static void warps(sett_build *b, const kernel *k)
{
    FIRST, sett_set(k->s, 1.0, k->t);
    if (k->right)
        sett_sync_threads(b);
    SECOND, sett_set(k->Y, sett_at(k->s, sett_xor(k->t, 32)), k->warp, k->lane);
}

static void lanes(sett_build *b, const kernel *k)
{
    FIRST, sett_set(k->s, 1.0, k->t);
    if (k->right)
        sett_sync_warp(b);
    SECOND, sett_set(k->Y, sett_at(k->s, sett_xor(k->t, 1)), k->warp, k->lane);
}

/* The second round writes what the first one still reads. */
static void rounds(sett_build *b, const kernel *k)
{
    sett_for (b, r, 0, ROUNDS, 1) {
        SECOND, sett_set(k->s, 1.0, k->t);
        sett_sync_threads(b);
        FIRST, sett_set(k->Y, sett_at(k->s, sett_xor(k->t, 32)), r, k->lane);
        if (k->right)
            sett_sync_threads(b);
    }
}

static void named(sett_build *b, const kernel *k)
{
    sett_if (b, sett_eq(k->warp, 0)) {
        sett_for (b, r, 0, ROUNDS, 1) {
            if (k->right)
                sett_if (b, sett_gt(r, 0))
                    sett_barrier(b, 2, 64);
            SECOND, sett_set(k->s, 1.0, k->lane);
            sett_barrier(b, 1, 64);
        }
    }
    sett_else (b) {
        sett_for (b, r, 0, ROUNDS, 1) {
            sett_barrier(b, 1, 64);
            FIRST, sett_set(k->Y, sett_at(k->s, k->lane), r, k->lane);
            if (k->right)
                sett_if (b, sett_lt(r, ROUNDS - 1))
                    sett_barrier_arrive(b, 2, 64);
        }
    }
}

static void atomics(sett_build *b, const kernel *k)
{
    sett_if (b, sett_eq(k->t, 0))
        sett_set(k->s, 0.0, 0);
    sett_sync_threads(b);
    FIRST, sett_atomic_add(k->s, 1.0, 0);
    if (k->right)
        sett_sync_threads(b);
    SECOND, sett_set(k->Y, sett_at(k->s, 0), k->warp, k->lane);
}

/* Four warps write the bytes of each word: no race. Two that write one byte do. */
static void bytes(sett_build *b, const kernel *k)
{
    sett_tensor *x = sett_smem_alias(k->s, SETT_I8, sett_make_layout(b, 256));
    FIRST, SECOND, sett_set(x, sett_to(k->warp, SETT_I8), sett_add(sett_mul(k->lane, 4), k->right ? k->warp : sett_floordiv(k->warp, 2)));
}

/* ---- mbarriers ---------------------------------------------------------------------------------------------------------- */
static void ring(sett_build *b, kernel k, bool lane_frees, bool relaxed, bool fenced)
{
    make_ring(b, &k, N, lane_frees ? 1 : N);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_val *stage = sett_mod(r, 2), *parity = sett_mod(sett_floordiv(r, 2), 2);
        sett_if (b, sett_eq(k.warp, 0)) {
            sett_mbarrier_wait(sett_slice(k.empty, stage), sett_sub(1, parity));
            mark[lane_frees] = __LINE__, sett_set(k.ring, sett_at(k.X, r, k.lane), k.lane, stage);
            if (fenced)
                sett_fence_acq_rel_cta(b);
            sett_mbarrier_arrive(sett_slice(k.full, stage), .relaxed = relaxed);
        }
        sett_else (b) {
            sett_mbarrier_wait(sett_slice(k.full, stage), parity);
            mark[!lane_frees] = __LINE__, sett_set(k.Y, sett_at(k.ring, sett_xor(k.lane, 5), stage), r, k.lane);
            if (!lane_frees || k.right)
                sett_sync_warp(b);
            if (lane_frees)
                sett_mbarrier_arrive(sett_slice(k.empty, stage), .pred = sett_eq(k.lane, 0));
            else
                sett_mbarrier_arrive(sett_slice(k.empty, stage));
        }
    }
}

static void one_lane_frees(sett_build *b, const kernel *k)
{
    ring(b, *k, true, false, false);
}

static void relaxed(sett_build *b, const kernel *k)
{
    ring(b, *k, false, !k->right, false);
}

/* A fence makes a release of it. */
static void relaxed_behind_fence(sett_build *b, const kernel *k)
{
    ring(b, *k, false, true, k->right);
}

static void one_lane_waits(sett_build *b, const kernel *x)
{
    kernel k = *x;
    make_ring(b, &k, N, N);
    sett_if (b, sett_eq(k.warp, 0)) {
        FIRST, sett_set(k.s, 1.0, k.lane);
        sett_mbarrier_arrive(sett_slice(k.full, 0));
    }
    sett_else (b) {
        sett_if (b, sett_eq(k.lane, 0))
            sett_mbarrier_wait(sett_slice(k.full, 0), 0);
        if (k.right)
            sett_sync_warp(b);
        SECOND, sett_set(k.Y, sett_at(k.s, k.lane), 0, k.lane);
    }
}

static void init(sett_build *b, const kernel *k)
{
    sett_tensor *bar = sett_slice(sett_make_mbarriers(b, 1), 0);
    sett_if (b, sett_eq(k->t, 0))
        FIRST, sett_mbarrier_init(bar, N);
    if (k->right)
        sett_sync_threads(b);
    sett_if (b, sett_eq(k->warp, 1))
        SECOND, sett_mbarrier_arrive(bar);
}

/* ---- copies -------------------------------------------------------------------------------------------------------------- */
static void cp_async(sett_build *b, const kernel *k)
{
    FIRST, sett_cp_async(sett_local_tile(sett_slice(k->X, k->warp, ALL), T1(1), T1(k->lane)), sett_local_tile(k->s, T1(1), T1(k->t)));
    sett_cp_async_wait_all(b);
    if (k->right)
        sett_sync_threads(b);
    SECOND, sett_set(k->Y, sett_at(k->s, sett_xor(k->t, 32)), k->warp, k->lane);
}

/* A store in bulk reads its source until it was waited for. */
static void refill(sett_build *b, const kernel *k)
{
    sett_tensor *s = sett_local_tile(k->s, T1(N), T1(0));
    sett_for (b, r, 0, ROUNDS, 1) {
        if (k->right)
            sett_if (b, sett_eq(k->warp, 0))
                sett_tma_store_wait_read(b, 0);
        sett_sync_threads(b);
        sett_if (b, sett_eq(k->warp, 1))
            SECOND, sett_set(s, 1.0, k->lane);
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, sett_eq(k->warp, 0)) {
            FIRST, sett_bulk_store(s, sett_slice(k->Y, r, ALL));
            sett_tma_store_commit(b);
        }
    }
    sett_if (b, sett_eq(k->warp, 0))
        sett_tma_store_wait(b, 0);
}

static void stored(sett_build *b, const kernel *k, bool writer, bool issuer, bool waits)
{
    sett_tensor *s = sett_local_tile(k->s, T1(N), T1(0));
    sett_if (b, sett_eq(k->warp, 1)) {
        FIRST, sett_set(s, 1.0, k->lane);
        if (writer)
            sett_fence_view_async_shared(b);
    }
    sett_sync_threads(b);
    sett_if (b, sett_eq(k->warp, 0)) {
        if (issuer)
            sett_fence_view_async_shared(b);
        SECOND, sett_bulk_store(s, sett_slice(k->Y, 0, ALL));
        sett_tma_store_commit(b);
        if (waits)
            sett_tma_store_wait_read(b, 0);
    }
}

static void no_fence(sett_build *b, const kernel *k)
{
    stored(b, k, k->right, false, true);
}

static void fence_of_the_issuer(sett_build *b, const kernel *k)
{
    stored(b, k, k->right, !k->right, true);
}

static void left_under_way(sett_build *b, const kernel *k)
{
    stored(b, k, true, false, k->right);
    mark[0] = mark[1];
}

/* What threads have read, a copy overwrites: between the two lies a fence of theirs. */
static void read_then_loaded(sett_build *b, const kernel *x)
{
    kernel k = *x;
    make_ring(b, &k, 1, N);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_val *stage = sett_mod(r, 2), *parity = sett_mod(sett_floordiv(r, 2), 2);
        sett_if (b, sett_eq(k.warp, 0)) {
            sett_mbarrier_wait(sett_slice(k.empty, stage), sett_sub(1, parity));
            sett_mbarrier_arrive_and_expect_tx(sett_slice(k.full, stage), N * 4, .pred = sett_elect_one(b));
            SECOND, sett_bulk_load(sett_slice(k.X, r, ALL), sett_slice(k.ring, ALL, stage), sett_slice(k.full, stage));
        }
        sett_else (b) {
            sett_mbarrier_wait(sett_slice(k.full, stage), parity);
            FIRST, sett_set(k.Y, sett_at(k.ring, k.lane, stage), r, k.lane);
            if (k.right)
                sett_fence_view_async_shared(b);
            sett_mbarrier_arrive(sett_slice(k.empty, stage));
        }
    }
}

/* A stage is given back before it is read: what tells of the read is the arrival of the next round. */
static void freed_early(sett_build *b, const kernel *x)
{
    kernel k = *x;
    make_ring(b, &k, 1, N);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_val *stage = sett_mod(r, 2), *parity = sett_mod(sett_floordiv(r, 2), 2);
        sett_if (b, sett_eq(k.warp, 0)) {
            sett_mbarrier_wait(sett_slice(k.empty, stage), sett_sub(1, parity));
            sett_mbarrier_arrive_and_expect_tx(sett_slice(k.full, stage), N * 4, .pred = sett_elect_one(b));
            SECOND, sett_bulk_load(sett_slice(k.X, r, ALL), sett_slice(k.ring, ALL, stage), sett_slice(k.full, stage));
        }
        sett_else (b) {
            sett_mbarrier_wait(sett_slice(k.full, stage), parity);
            if (!k.right)
                sett_fence_view_async_shared(b), sett_mbarrier_arrive(sett_slice(k.empty, stage));
            FIRST, sett_set(k.Y, sett_at(k.ring, k.lane, stage), r, k.lane);
            if (k.right)
                sett_fence_view_async_shared(b), sett_mbarrier_arrive(sett_slice(k.empty, stage));
        }
    }
}

/* One thread waits for the copy, the others of its warp read. */
static void one_lane_waits_for_a_copy(sett_build *b, const kernel *x)
{
    kernel k = *x;
    make_ring(b, &k, 1, N);
    sett_if (b, sett_eq(k.warp, 0)) {
        sett_mbarrier_arrive_and_expect_tx(sett_slice(k.full, 0), N * 4, .pred = sett_elect_one(b));
        FIRST, sett_bulk_load(sett_slice(k.X, 0, ALL), sett_slice(k.ring, ALL, 0), sett_slice(k.full, 0));
    }
    sett_if (b, k.right ? sett_ge(k.t, 0) : sett_eq(k.lane, 0))
        sett_mbarrier_wait(sett_slice(k.full, 0), 0);
    SECOND, sett_set(k.Y, sett_at(k.ring, k.lane, 0), k.warp, k.lane);
}

/* Both halves of a pass are in branches: the barrier stands outside. */
static void in_branches(sett_build *b, const kernel *k)
{
    sett_val *mine = sett_lt(k->lane, 16);
    sett_if (b, mine)
        FIRST, sett_set(k->s, 1.0, k->t);
    if (k->right)
        sett_sync_threads(b);
    sett_if (b, mine)
        SECOND, sett_set(k->Y, sett_at(k->s, sett_xor(k->t, 32)), k->warp, k->lane);
}

/* The store is waited for by its thread, and the other warps are not behind that wait. */
static void no_barrier_behind_wait(sett_build *b, const kernel *k)
{
    sett_tensor *two = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T(64, 2)), 128);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_if (b, sett_eq(k->warp, 0))
            sett_tma_store_wait_read(b, 1);
        if (k->right)
            sett_sync_threads(b);
        FIRST, sett_set(two, 1.0, k->t, sett_mod(r, 2));
        sett_fence_view_async_shared(b);
        sett_sync_threads(b);
        sett_if (b, sett_eq(k->warp, 0)) {
            SECOND, sett_bulk_store(sett_local_tile(sett_slice(two, ALL, sett_mod(r, 2)), T1(N), T1(1)), sett_slice(k->Y, r, ALL));
            sett_tma_store_commit(b);
        }
    }
    sett_tma_store_wait(b, 0);
}

/* ---- clusters ------------------------------------------------------------------------------------------------------------ */
static void peers(sett_build *b, const kernel *k)
{
    sett_val *rank = sett_block_idx_in_cluster(b);
    sett_cluster_sync(b);
    FIRST, sett_set(sett_map_dsmem(k->s, sett_xor(rank, 1)), 1.0, k->t);
    if (k->right)
        sett_cluster_sync(b);
    else
        sett_sync_threads(b);
    SECOND, sett_set(k->Y, sett_at(k->s, k->t), rank, k->lane);
    sett_cluster_sync(b);
}

/* ---- all of them ---------------------------------------------------------------------------------------------------------- */
static const plan plans[] = {
    {.body = warps, .kind = SETT_CHECK_RACE, .says = {"nothing orders the two", "warp 1 lane 0", "sett_sync_threads(b)"}},
    {.body = lanes, .kind = SETT_CHECK_RACE, .says = {"store", "lane 1", "sett_sync_warp(b)"}, .threads = 32},
    {.body = rounds, .kind = SETT_CHECK_RACE, .says = {"round 2 of", "round 1 of", "barrier at"}},
    {.body = named, .kind = SETT_CHECK_RACE, .says = {"round 2 of", "barrier.sync at", ""}},
    {.body = atomics, .kind = SETT_CHECK_RACE, .says = {"updates", "atomic", ""}},
    {.body = bytes, .kind = SETT_CHECK_RACE, .says = {"byte 0 of shared memory", "element 0 of the f32 tensor of", ""}, .threads = 128, .alone = true},
    {.body = one_lane_frees, .kind = SETT_CHECK_RACE, .says = {"mbarrier.arrive at", "round 3 of", ""}},
    {.body = relaxed, .kind = SETT_CHECK_ORDER, .says = {"relaxed", "release and acquire", ""}},
    {.body = relaxed_behind_fence, .kind = SETT_CHECK_ORDER, .says = {"relaxed", "", ""}},
    {.body = one_lane_waits, .kind = SETT_CHECK_RACE, .says = {"lane 1", "", ""}},
    {.body = init, .kind = SETT_CHECK_INIT, .says = {"uses the mbarrier at byte", "behind its init", "sett_sync_threads(b)"}, .ends = true},
    {.body = cp_async, .kind = SETT_CHECK_RACE, .says = {"copied by cp.async", "sett_cp_async_wait_group", "then a barrier"}},
    {.body = refill, .kind = SETT_CHECK_RACE, .says = {"a bulk store", "sett_tma_store_wait_read", ""}},
    {.body = no_fence, .kind = SETT_CHECK_PROXY_FENCE, .says = {"no fence.proxy.async is on the way", "warp 1 lane 0", "fix"}},
    {.body = fence_of_the_issuer, .kind = SETT_CHECK_PROXY_FENCE_SIDE, .says = {"is not one of that thread", "", ""}},
    {.body = left_under_way, .kind = SETT_CHECK_LIFETIME, .says = {"the block ended", "", ""}, .alone = true},
    {.body = read_then_loaded, .kind = SETT_CHECK_PROXY_FENCE, .says = {"completes at the mbarrier at byte", "round 3 of", ""}},
    {.body = freed_early, .kind = SETT_CHECK_RACE, .says = {"tells of the read in round 2, as that of round 1 came before it", "behind the read", "(number 0 of the 2 of"}},
    {.body = one_lane_waits_for_a_copy, .kind = SETT_CHECK_RACE, .says = {"lane 0 is ordered behind the copy", "by each thread that needs it", "outside the branch at"}},
    {.body = in_branches, .kind = SETT_CHECK_RACE, .says = {"sett_sync_threads(b)", "outside the branches at", ""}},
    {.body = no_barrier_behind_wait, .kind = SETT_CHECK_RACE, .says = {"waits for the bulk store by bulk.wait at", "between bulk.wait at", "outside the branch at"}},
    {.body = peers, .kind = SETT_CHECK_RACE, .says = {"of block", "sett_cluster_sync(b)", ""}, .cluster = 2},
};
enum { PLANS = sizeof plans / sizeof *plans };
static const char *const orders[] = {"lazy", "eager", "random:1", "random:2"};

/* The finding at both lines, which may stand in either order: the last, as the compile may suspect what the run sees. */
static int finding_of(const found *f, const plan *p)
{
    for (int i = f->n - 1; i >= 0; i--) {
        int has[2] = {0};
        for (int k = 0; k < f->sites[i]; k++)
            has[0] |= f->line[i][k] == mark[0], has[1] |= f->line[i][k] == mark[1];
        if (f->kind[i] == p->kind && (has[0] || (p->ends && f->status)) && (p->alone || has[1] || (p->ends && f->status)))
            return i;
    }
    return -1;
}

START_TEST(wrong_kernels)
{
    found f;
    const plan *p = &plans[_i / 4];
    run_with(&f, p, SETT_CHECKS_ALL, orders[_i % 4]);
    const int at = finding_of(&f, p);
    ck_assert_msg(at >= 0, "%s: lines %d and %d, of %d: %s", orders[_i % 4], mark[0], mark[1], f.n, f.text[0]);
    ck_assert_int_eq(f.level[at], p->kind == SETT_CHECK_PROXY_FENCE_SIDE ? SETT_CHECK_WARNING : SETT_CHECK_ERROR);
    for (int i = 0; i < 3 && !(_i % 4); i++)
        ck_assert_msg(strstr(f.text[at], p->says[i]), "%s is not in %s", p->says[i], f.text[at]);
}
END_TEST

START_TEST(right_kernels)
{
    found f;
    plan p = plans[_i / 4];
    p.right = true;
    run_with(&f, &p, SETT_CHECKS_ALL, orders[_i % 4]);
    ck_assert_msg(!f.n, "%s: %s", orders[_i % 4], f.text[0]);
}
END_TEST

/* Threads that store one value to one place: an error only where it is asked for. */
static void one_value(sett_build *b, const kernel *k)
{
    (void)b;
    FIRST, SECOND, sett_set(k->s, k->right ? SETT_A(3.0) : SETT_A(sett_to(k->t, SETT_F32)), 0);
}

START_TEST(equal_values)
{
    static const struct { bool right, races; sett_checks checks; } cases[] = {
        {true, false, SETT_CHECKS_ERRORS}, {true, true, SETT_CHECKS_STRICT}, {false, true, SETT_CHECKS_ERRORS}};
    found f;
    run_with(&f, &(plan){.body = one_value, .right = cases[_i].right}, cases[_i].checks, "lazy");
    ck_assert_msg(!f.n == !cases[_i].races, "%s", f.text[0]);
    ck_assert(!f.n || f.kind[0] == SETT_CHECK_RACE);
}
END_TEST

/* One seed, one report: of two processes, since one tells a finding once. */
START_TEST(reports_are_the_same)
{
    found *f = mmap(NULL, 2 * sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(f != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (!child) {
            run_with(&f[i], &plans[_i], SETT_CHECKS_ALL, "random:3");
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
    }
    ck_assert_int_ge(f[0].n, 1);
    ck_assert(!memcmp(&f[0], &f[1], sizeof *f));
    munmap(f, 2 * sizeof *f);
}
END_TEST

Suite *check_suite(void)
{
    Suite *s = suite_create("check");
    TCase *t = tcase_create("check");
    tcase_add_loop_test(t, wrong_kernels, 0, 4 * PLANS);
    tcase_add_loop_test(t, right_kernels, 0, 4 * PLANS);
    tcase_add_loop_test(t, equal_values, 0, 3);
    tcase_add_loop_test(t, reports_are_the_same, 0, PLANS);
    suite_add_tcase(s, t);
    return s;
}
