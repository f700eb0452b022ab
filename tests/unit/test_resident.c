/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the CPU engine that wait for each other: all of a grid finish, however few workers there are, and what a block has in
 * registers, arrays and shared memory is there when it goes on. */
#define SETT_SHORT
#include <check.h>
#include <sett/sett.h>
#include <string.h>

enum { THREADS = 96, PHASES = 3, MOST = 5000 };
/* CPU time in which thousands meet: a fifth of it with turns of 64 rounds, more than it with turns of 1024. A chain of blocks costs
 * the square of their number. */
#ifdef __SANITIZE_ADDRESS__
enum { MEET_CPU_MS = 15000, CHAIN = 2000 };
#else
enum { MEET_CPU_MS = 1500, CHAIN = MOST };
#endif

/* How one waits: ATOMS reads by an atomic and does nothing else; COUNTS counts its rounds, too. By one worker alone: LOADS reads by a load,
 * which sanitizers of threads see; SYNCS has a barrier in the loop, so that all warps are in it and must see the same. */
typedef enum way { ATOMS, COUNTS, LOADS, SYNCS, WAYS } way;
typedef struct plan {
    int blocks;
    way way;
    bool down;    /* of a chain: each waits for the next block, not for the one before */
} plan;

static sett_val *seen(sett_tensor *flag, way w, sett_arg at)
{
    return w == LOADS ? sett_at(flag, at) : sett_atomic_or(flag, 0, at);
}

/* Until flag[at] is at least `least`. */
static void await(sett_build *b, sett_tensor *flag, way w, sett_arg at, sett_arg least)
{
    sett_tensor *rounds = w == COUNTS ? sett_var(b, SETT_I32, 0) : NULL;
    sett_while (b, sett_lt(seen(flag, w, at), least)) {
        if (w == COUNTS)
            sett_set(rounds, sett_add(sett_at(rounds, 0), 1), 0);
        if (w == LOADS)
            sett_fence_acq_rel_gpu(b);
        if (w == SYNCS)
            sett_sync_threads(b);
    }
}

static void meet(sett_build *b, sett_tensor *flag, const plan *p, int phase)
{
    sett_val *first = sett_eq(sett_thread_idx(b, 0), 0);
    sett_sync_threads(b);
    sett_if (b, first)
        sett_atomic_ordered(flag, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, 0);
    if (p->way == SYNCS)
        await(b, flag, p->way, SETT_A(0), SETT_A(p->blocks * (phase + 1)));
    else
        sett_if (b, first)
            await(b, flag, p->way, SETT_A(0), SETT_A(p->blocks * (phase + 1)));
    sett_sync_threads(b);
}

/* All blocks meet after each phase, and each reads then what the next one wrote before. */
static void phases(sett_build *b, const void *user)
{
    const plan *p = user;
    const int n = p->blocks;
    sett_tensor *flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, MOST));
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T(THREADS, n, PHASES)));
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T(THREADS, n)));
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, THREADS), 16);
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_I32, 4);
    sett_grid(b, n);
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0), *i = sett_block_idx(b, 0), *other = sett_mod(sett_add(i, 1), n);
    sett_set(S, sett_mul(i, 7), t);
    sett_for (b, k, 0, 4, 1)
        sett_set(r, sett_mul(t, k), k);
    sett_val *sum = sett_add(sett_mul(i, t), 5);
    for (int phase = 0; phase < PHASES; phase++) {
        sett_set(X, sett_add(sett_mul(i, 1000), sett_add(t, phase)), t, i, phase);
        meet(b, flag, p, phase);
        sum = sett_add(sum, sett_at(X, t, other, phase));
    }
    sett_for (b, k, 0, 4, 1)
        sett_set(r, sett_add(sett_at(r, k), sett_at(S, t)), k);
    sett_set(D, sett_add(sum, sett_add(sett_at(r, 1), sett_at(r, 3))), t, i);
}

/* Each block waits for its neighbour: block i for block i - 1, or, of a chain that goes down, for block i + 1. Then it writes its part of D
 * and sets flag[i], for which the next block of the chain waits. D ends within the last block, whose threads behind its end do not write. */
static void chain(sett_build *b, const void *user)
{
    const plan *p = user;
    sett_val *M = sett_sym(b, "M");
    sett_tensor *flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, MOST));
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T1(M)));
    sett_grid(b, p->blocks);
    sett_block(b, 32);
    sett_val *i = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0), *at = sett_add(sett_mul(i, 32), t);
    sett_val *from = p->down ? sett_add(i, 1) : sett_sub(i, 1);
    sett_if (b, sett_eq(t, 0)) {
        sett_if (b, sett_ne(i, p->down ? p->blocks - 1 : 0))
            await(b, flag, p->way, SETT_A(from), SETT_A(1));
    }
    sett_sync_warp(b);
    sett_if (b, sett_lt(at, M))
        sett_set(D, at, at);
    sett_sync_warp(b);
    sett_if (b, sett_eq(t, 0))
        sett_atomic_ordered(flag, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, i);
}

/* Two blocks, in turns. */
static void rally(sett_build *b, const void *user)
{
    const plan *p = user;
    sett_tensor *flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, MOST));
    sett_grid(b, p->blocks);
    sett_block(b, 1);
    sett_val *i = sett_block_idx(b, 0), *pair = sett_floordiv(i, 2), *side = sett_mod(i, 2);
    sett_for (b, k, 0, 50, 1) {
        await(b, flag, p->way, SETT_A(pair), SETT_A(sett_add(sett_mul(k, 2), side)));
        sett_atomic_ordered(flag, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, pair);
    }
}

/* The last block never tells what all others wait for. */
static void broken(sett_build *b, const void *user)
{
    const plan *p = user;
    sett_tensor *flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, MOST));
    sett_grid(b, p->blocks);
    sett_block(b, 64);
    sett_val *i = sett_block_idx(b, 0), *last = sett_eq(i, p->blocks - 1);
    sett_assert(b, sett_not(last), "the last block");
    sett_if (b, sett_not(last))
        await(b, flag, p->way, SETT_A(0), SETT_A(1));
}

/* A barrier of all blocks whose threads wait with what they have seen in a register, as control.h shows: KEEPS_ATOM reads by an
 * atomic, KEEPS_LOAD by loads in a loop of its own, KEEPS_COUNT counts its rounds beside it. */
enum { KEEPS_ATOM, KEEPS_LOAD, KEEPS_COUNT, KEEPS };
static void keeping(sett_build *b, const void *user)
{
    const plan *p = user;
    int how = (int)p->way;
    sett_tensor *flag = sett_param(b, "flag", SETT_I32, sett_make_layout(b, MOST));
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, p->blocks));
    sett_tensor *go = sett_var(b, SETT_I32, 0), *rounds = sett_var(b, SETT_I32, 0);
    sett_grid(b, p->blocks);
    sett_block(b, 32);
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 0)) {
        sett_atomic_ordered(flag, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_GPU, 1, 0);
        sett_while (b, sett_lt(sett_at(go, 0), p->blocks)) {
            if (how == KEEPS_COUNT)
                sett_set(rounds, sett_add(sett_at(rounds, 0), 1), 0);
            sett_fence_acq_rel_gpu(b);
            if (how == KEEPS_LOAD)
                sett_for (b, i, 0, 4, 1)
                    sett_set(go, sett_at(flag, 0), 0);
            else
                sett_set(go, sett_atomic_add(flag, 0, 0), 0);
        }
        sett_set(D, sett_at(go, 0), sett_block_idx(b, 0));
    }
}

/* ---- running them ---------------------------------------------------------------------------- */
static int32_t flag[MOST], x[PHASES * THREADS * 40], d[32 * MOST];

static sett_status run(sett_body body, const plan *p, int workers, int n, const sett_launch_arg *args, sett_error *err)
{
    sett_engine *e;
    sett_kernel *k;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = workers};
    const sett_compile_options c = {.size = sizeof c, .name = "resident", .target = "cpu", .user = p};
    memset(flag, 0, sizeof flag);
    memset(d, 0, sizeof d);
    ck_assert_msg(!sett_engine_open(&e, &o, err), "%s", err->text);
    ck_assert_msg(!sett_compile(e, body, &c, &k, err), "%s", err->text);
    sett_status s = sett_launch_n(k, sett_stream_of(SETT_CPU, NULL), n, args, err);
    sett_kernel_release(k);
    sett_engine_close(e);
    return s;
}
#define RUN(body, p, workers, err, ...) run(body, p, workers, SETT_LAUNCH_ARGS(__VA_ARGS__, 0), err)

START_TEST(blocks_meet)
{
    static const int blocks[] = {2, 7, 40};
    sett_error err;
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        for (int workers = 1; workers <= (_i >= LOADS ? 1 : 3); workers += 2) {
            const plan p = {.blocks = blocks[k], .way = (way)_i};
            sett_buf F = sett_buf_1d(flag, SETT_I32, MOST), X = sett_buf_nd(x, SETT_I32, 3, (const int64_t[]){THREADS, p.blocks, PHASES});
            sett_buf D = sett_buf_nd(d, SETT_I32, 2, (const int64_t[]){THREADS, p.blocks});
            X.stride[0] = D.stride[0] = 1, X.stride[1] = D.stride[1] = THREADS, X.stride[2] = THREADS * p.blocks;
            ck_assert_msg(!RUN(phases, &p, workers, &err, &F, &X, &D), "%d blocks, %d workers: %s", p.blocks, workers, err.text);
            for (int i = 0; i < p.blocks; i++)
                for (int t = 0; t < THREADS; t++) {
                    int want = i * t + 5 + PHASES * ((i + 1) % p.blocks * 1000 + t) + 3 + t + 3 * t + 2 * i * 7;
                    ck_assert_int_eq(d[i * THREADS + t], want);
                }
        }
}
END_TEST

/* More of them than may be resident, where none waits for one that begins later. */
START_TEST(chains)
{
    sett_error err;
    for (int down = 0; down < 2; down++)
        for (int workers = 1; workers <= (_i >= LOADS ? 1 : 3); workers++) {
            const plan p = {.blocks = _i != ATOMS ? 60 : down ? 300 : CHAIN, .way = (way)_i, .down = down};
            int m = p.blocks * 32 - 5;
            sett_buf F = sett_buf_1d(flag, SETT_I32, MOST), D = sett_buf_1d(d, SETT_I32, m);
            ck_assert_msg(!RUN(chain, &p, workers, &err, &F, &D), "down %d, %d workers: %s", down, workers, err.text);
            for (int i = 0; i < m; i++)
                ck_assert_int_eq(d[i], i);
        }
}
END_TEST

START_TEST(rallies)
{
    sett_error err;
    for (int workers = 1; workers <= (_i >= LOADS ? 1 : 3); workers++) {
        const plan p = {.blocks = 20, .way = (way)_i};
        sett_buf F = sett_buf_1d(flag, SETT_I32, MOST);
        ck_assert_msg(!RUN(rally, &p, workers, &err, &F), "%d workers: %s", workers, err.text);
        for (int i = 0; i < p.blocks / 2; i++)
            ck_assert_int_eq(flag[i], 100);
    }
}
END_TEST

/* A turn of a block that waits is short also where it keeps what it reads: thousands meet within CPU time that long turns
 * pass. */
START_TEST(waits_with_registers)
{
    sett_error err;
    for (int workers = 1; workers <= (_i == KEEPS_LOAD ? 1 : 2); workers++) {
        const plan p = {.blocks = 4096, .way = (way)_i};
        sett_buf F = sett_buf_1d(flag, SETT_I32, MOST), D = sett_buf_1d(d, SETT_I32, p.blocks);
        double from = cpu_ms();
        ck_assert_msg(!RUN(keeping, &p, workers, &err, &F, &D), "%d workers: %s", workers, err.text);
        ck_assert_msg(cpu_ms() - from < MEET_CPU_MS, "%d workers: %.0f ms of CPU time", workers, cpu_ms() - from);
        for (int i = 0; i < p.blocks; i++)
            ck_assert_int_eq(d[i], p.blocks);
    }
}
END_TEST

/* Who waits for a block that has faulted need not end. */
START_TEST(a_fault_ends_who_waits)
{
    sett_error err;
    for (int workers = 1; workers <= 3; workers++) {
        const plan p = {.blocks = 50, .way = ATOMS};
        sett_buf F = sett_buf_1d(flag, SETT_I32, MOST);
        ck_assert_int_eq(RUN(broken, &p, workers, &err, &F), SETT_E_FAULT);
        ck_assert_msg(strstr(err.text, "assertion failed: the last block, block (49,0,0) thread (0,0,0), kernel resident"), "%s", err.text);
    }
}
END_TEST

Suite *resident_suite(void);
Suite *resident_suite(void)
{
    Suite *s = suite_create("resident");
    TCase *c = tcase_create("blocks that wait");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, blocks_meet, 0, WAYS);
    tcase_add_loop_test(c, chains, 0, SYNCS);
    tcase_add_loop_test(c, rallies, 0, SYNCS);
    tcase_add_loop_test(c, waits_with_registers, 0, KEEPS);
    tcase_add_test(c, a_fault_ends_who_waits);
    suite_add_tcase(s, c);
    return s;
}
