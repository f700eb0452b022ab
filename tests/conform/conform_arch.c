/* SPDX-License-Identifier: Apache-2.0 */
/* What a warp, a block and the machine are asked: votes, matches, folds, elections, named barriers, fences, registers. */
#include "tests/conform/conform.h"
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

/* ---- votes and matches: of three warps, the last not whole ------------------------------------------------ */
enum { THREADS = 80, VOTES = 4, ROUNDS = 6 };

/* What lane t says in a round: nobody, everybody, one, all but one, half, anything. */
static bool says(int round, int t, uint64_t noise)
{
    const bool said[ROUNDS] = {false, true, t % 32 == 7, t % 32 != 7, t % 2 == 0, noise >> t % 64 & 1};
    return said[round];
}

static void votes(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_BOOL, sett_make_layout(b, T(THREADS, ROUNDS)));
    sett_tensor *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T(THREADS, ROUNDS, VOTES)));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, r, 0, ROUNDS, 1) {
        sett_val *p = sett_at(P, t, r), *v[VOTES] = {sett_vote_all_sync(p), sett_vote_any_sync(p), sett_vote_uni_sync(p), sett_vote_ballot_sync(p)};
        for (int k = 0; k < VOTES; k++)
            sett_set(D, sett_to(v[k], SETT_U32), t, r, k);
    }
}

START_TEST(every_vote)
{
    static uint8_t p[ROUNDS][THREADS];
    static uint32_t d[VOTES][ROUNDS][THREADS];
    uint64_t state = 9, noise = conform_random(&state);
    for (int i = 0; i < ROUNDS * THREADS; i++)
        p[i / THREADS][i % THREADS] = says(i / THREADS, i % THREADS, noise);
    sett_buf P = {p, SETT_BOOL, 2, {THREADS, ROUNDS}, {1, THREADS}}, D = {d, SETT_U32, 3, {THREADS, ROUNDS, VOTES}, {1, THREADS, THREADS * ROUNDS}};
    conform_body(votes, NULL, &P, &D);
    for (int i = 0; i < ROUNDS * THREADS; i++) {
        int r = i / THREADS, t = i % THREADS, yes = 0, n = 0;
        uint32_t ballot = 0;
        for (int u = t / 32 * 32; u < t / 32 * 32 + 32 && u < THREADS; u++, n++)
            yes += p[r][u], ballot |= (uint32_t)p[r][u] << u % 32;
        const uint32_t want[VOTES] = {yes == n, yes != 0, yes == n || !yes, ballot};
        for (int k = 0; k < VOTES; k++)
            ck_assert_msg(d[k][r][t] == want[k], "vote %d, round %d, thread %d: got %x, want %x", k, r, t, d[k][r][t], want[k]);
    }
}
END_TEST

static void matches(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T(THREADS, 2))), *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T(THREADS, 2, 2)));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0);
    for (int k = 0; k < 2; k++) {
        sett_set(D, sett_match_any_sync(sett_at(X, t, k)), t, k, 0);
        sett_set(D, sett_match_all_sync(sett_at(X, t, k)), t, k, 1);
    }
}

/* Column 0: seven values; column 1: of the first warp one, of the others two. Floats by their bits: 0 and -0 differ. */
START_TEST(every_match)
{
    sett_dtype type = conform_types[_i];
    char *x = calloc(2 * THREADS, (size_t)sett__dtype_bytes(type));
    static uint32_t d[2][2][THREADS];
    uint64_t state = 4, pool[7];
    for (int i = 0; i < 7; i++)
        pool[i] = i < 2 && sett__dtype_is_float(type) ? sett__bits_of_float(type, i ? -0.0 : 0.0) : conform_random(&state) & conform_mask(type);
    for (int i = 0; i < 2 * THREADS; i++)
        conform_put(x, type, (size_t)i, i < THREADS ? pool[conform_random(&state) % 7] : pool[i - THREADS < 32 ? 0 : i % 5 == 0]);
    sett_buf X = {x, type, 2, {THREADS, 2}, {1, THREADS}}, D = {d, SETT_U32, 3, {THREADS, 2, 2}, {1, THREADS, 2 * THREADS}};
    conform_body(matches, &type, &X, &D);
    for (int i = 0; i < 2 * THREADS; i++) {
        int k = i / THREADS, t = i % THREADS, first = t / 32 * 32, n = THREADS - first < 32 ? THREADS - first : 32;
        uint32_t any = 0, all = n == 32 ? UINT32_MAX : (1u << n) - 1;
        for (int u = 0; u < n; u++)
            any |= (uint32_t)(conform_get(x, type, (size_t)(k * THREADS + first + u)) == conform_get(x, type, (size_t)i)) << u;
        ck_assert_msg(d[0][k][t] == any && d[1][k][t] == (any == all ? all : 0), "%s, column %d, thread %d: got %x and %x, want %x of %x",
            sett_dtype_name(type), k, t, d[0][k][t], d[1][k][t], any, all);
    }
    free(x);
}
END_TEST

/* ---- folds of a warp by one instruction, of a block ----------------------------------------------------------- */
static const sett_binary_op fold[] = {SETT_ADD, SETT_MIN, SETT_MAX, SETT_AND, SETT_OR, SETT_XOR};
static const sett__code fold_code[] = {SETT__ADD, SETT__MIN, SETT__MAX, SETT__AND, SETT__OR, SETT__XOR};
enum { FOLDS = 6, BLOCK = 96 };

static void reduxes(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(BLOCK))), *D = sett_param(b, "D", d, sett_make_layout(b, T(BLOCK, FOLDS, 2)));
    sett_block(b, 16, 6);
    sett_val *t = sett_add(sett_thread_idx(b, 0), sett_mul(sett_thread_idx(b, 1), 16)), *x = sett_at(X, t);
    for (int k = 0; k < FOLDS; k++) {
        sett_set(D, sett_warp_redux_sync(x, fold[k]), t, k, 0);
        sett_set(D, sett_block_reduce(x, fold[k]), t, k, 1);
    }
}

START_TEST(integer_folds)
{
    sett_dtype type = _i ? SETT_U32 : SETT_I32;
    static uint32_t d[2][FOLDS][BLOCK];
    uint32_t *x = conform_array(type, BLOCK, 8);
    sett_buf X = sett_buf_1d(x, type, BLOCK), D = {d, type, 3, {BLOCK, FOLDS, 2}, {1, BLOCK, BLOCK * FOLDS}};
    conform_body(reduxes, &type, &X, &D);
    for (int k = 0; k < FOLDS; k++)
        for (int t = 0; t < BLOCK; t++)
            for (int whole = 0; whole < 2; whole++) {
                int first = whole ? 0 : t / 32 * 32, end = whole ? BLOCK : first + 32;
                uint64_t in[3] = {x[first], 0, 0};
                for (int u = first + 1; u < end; u++) {
                    in[1] = x[u];
                    ck_assert(conform_reference(fold_code[k], type, type, in, &in[0]));
                }
                ck_assert_msg(d[whole][k][t] == (uint32_t)in[0], "%s, block %d, thread %d: got %x, want %x", sett__ops[fold_code[k]].text, whole, t,
                    d[whole][k][t], (uint32_t)in[0]);
            }
    free(x);
}
END_TEST

/* In a loop, so that one round's slots are read before the next one writes them; floats whose sums are exact. */
static void sums(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(256, 5)));
    sett_block(b, 256);
    sett_val *t = sett_thread_idx(b, 0);
    sett_for (b, r, 0, 5, 1)
        sett_set(D, sett_block_reduce(sett_to(sett_add(sett_mod(t, 3), r), d), SETT_ADD), t, r);
}

START_TEST(float_folds)
{
    static const sett_dtype types[] = {SETT_F16, SETT_F32, SETT_F64, SETT_I64};
    static uint64_t d[5 * 256];
    sett_buf D = {d, types[_i], 2, {256, 5}, {1, 256}};
    conform_body(sums, &types[_i], &D);
    for (size_t i = 0; i < 5 * 256; i++) {
        uint64_t bits = conform_get(d, types[_i], i);
        double got = types[_i] == SETT_I64 ? (double)(int64_t)bits : conform_number(types[_i], bits);
        ck_assert_double_eq(got, 255.0 + 256.0 * (double)(i / 256));
    }
}
END_TEST

/* ---- one of a warp ------------------------------------------------------------------------------------------------ */
static void elections(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T1(THREADS))), *U = sett_param(b, "U", SETT_F64, sett_make_layout(b, T1(THREADS)));
    sett_block(b, THREADS);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(D, 0, t);
    sett_if (b, sett_elect_one(b))
        sett_set(D, 1, t);
    sett_set(U, sett_make_warp_uniform(sett_to(t, SETT_F64)), t);
}

START_TEST(election)
{
    static int32_t d[THREADS], won[3];
    static double u[THREADS];
    sett_buf D = sett_buf_1d(d, SETT_I32, THREADS), U = sett_buf_1d(u, SETT_F64, THREADS);
    conform_body(elections, NULL, &D, &U);
    for (int t = 0; t < THREADS; t++) {
        won[t / 32] += d[t];
        ck_assert_double_eq(u[t], t / 32 * 32);
    }
    for (int w = 0; w < 3; w++)
        ck_assert_int_eq(won[w], 1);
}
END_TEST

/* ---- named barriers: one warp produces, two consume; "full" is 1 + slot, "free" is 3 + slot ------------------------- */
enum { SLOTS = 2, ITEMS = 7 };

static void hand_over(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T(32, ITEMS))), *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T(64, ITEMS)));
    sett_block(b, 96);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T(32, SLOTS)), 16);
    sett_val *t = sett_thread_idx(b, 0), *lane = sett_lane_idx(b);
    sett_if (b, sett_lt(t, 32)) {
        sett_for (b, i, 0, ITEMS, 1) {
            sett_val *slot = sett_mod(i, SLOTS);
            sett_if (b, sett_ge(i, SLOTS))
                sett_barrier(b, sett_add(slot, 3), 96); /* until both consumers are done with it */
            sett_set(S, sett_at(X, lane, i), lane, slot);
            sett_barrier_arrive(b, sett_add(slot, 1), 96);
        }
    }
    sett_else (b) {
        sett_for (b, i, 0, ITEMS, 1) {
            sett_val *slot = sett_mod(i, SLOTS);
            sett_barrier(b, sett_add(slot, 1), 96);
            sett_set(D, sett_at(S, sett_sub(31, lane), slot), sett_sub(t, 32), i);
            sett_if (b, sett_lt(i, ITEMS - SLOTS))
                sett_barrier_arrive(b, sett_add(slot, 3), 96);
        }
    }
    sett_if (b, sett_ge(t, 32))
        sett_barrier(b, 15, 64);
    sett_sync_threads(b);
}

START_TEST(named_barriers)
{
    static int32_t x[ITEMS][32], d[ITEMS][64];
    for (int i = 0; i < ITEMS * 32; i++)
        x[i / 32][i % 32] = i * 3 + 1;
    sett_buf X = {x, SETT_I32, 2, {32, ITEMS}, {1, 32}}, D = {d, SETT_I32, 2, {64, ITEMS}, {1, 64}};
    conform_body(hand_over, NULL, &X, &D);
    for (int i = 0; i < ITEMS * 64; i++)
        ck_assert_msg(d[i / 64][i % 64] == x[i / 64][31 - i % 32], "item %d, thread %d: got %d", i / 64, i % 64, d[i / 64][i % 64]);
}
END_TEST

/* ---- fences: the block that comes last adds what all have written -------------------------------------------------------- */
enum { GRID = 40 };

static void last_block(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_I32, sett_make_layout(b, T1(GRID))), *C = sett_param(b, "C", SETT_I32, sett_make_layout(b, T1(1)));
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T1(2)));
    sett_block(b, 32);
    sett_grid(b, GRID);
    sett_tensor *acc = sett_var(b, SETT_I32, 0);
    sett_val *block = sett_block_idx(b, 0);
    sett_if (b, sett_elect_one(b)) {
        sett_set(P, sett_mul(block, block), block);
        sett_fence_acq_rel_cta(b);
        sett_fence_acq_rel_gpu(b);
        sett_if (b, sett_eq(sett_atomic(C, SETT_ADD, 1, 0), GRID - 1)) {
            sett_fence_acq_rel_sys(b);
            sett_for (b, i, 0, GRID, 1)
                sett_set(acc, sett_add(sett_at(acc, 0), sett_at(P, i)), 0);
            sett_set(D, sett_at(acc, 0), 0);
            sett_set(D, 1, 1);
        }
    }
}

START_TEST(fences)
{
    for (int round = 0; round < 20; round++) {
        int32_t p[GRID] = {0}, c = 0, d[2] = {0}, sum = 0;
        sett_buf P = sett_buf_1d(p, SETT_I32, GRID), C = sett_buf_1d(&c, SETT_I32, 1), D = sett_buf_1d(d, SETT_I32, 2);
        conform_body(last_block, NULL, &P, &C, &D);
        for (int i = 0; i < GRID; i++)
            sum += i * i;
        ck_assert_int_eq(d[0], sum);
        ck_assert_int_eq(d[1], 1);
    }
}
END_TEST

/* ---- lanes before and behind ------------------------------------------------------------------------------------------ */
static void masks(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T(64, 6)));
    sett_block(b, 64);
    sett_val *t = sett_thread_idx(b, 0);
    sett_val *of[] = {sett_lanemask_eq(b), sett_lanemask_lt(b), sett_lanemask_le(b), sett_lanemask_gt(b), sett_lanemask_ge(b),
        sett_popc(sett_and(sett_vote_ballot_sync(sett_eq(sett_mod(t, 3), 0)), sett_lanemask_lt(b)))}; /* a place in what is kept */
    for (int k = 0; k < 6; k++)
        sett_set(D, sett_to(of[k], SETT_U32), t, k);
}

START_TEST(lane_masks)
{
    static uint32_t d[6][64];
    sett_buf D = {d, SETT_U32, 2, {64, 6}, {1, 64}};
    conform_body(masks, NULL, &D);
    for (int t = 0; t < 64; t++) {
        uint32_t want[6] = {0};
        for (int lane = 0; lane < 32; lane++) {
            const int own = t % 32;
            const bool in[5] = {lane == own, lane < own, lane <= own, lane > own, lane >= own};
            for (int k = 0; k < 5; k++)
                want[k] |= (uint32_t)in[k] << lane;
            want[5] += lane < own && (t - own + lane) % 3 == 0;
        }
        for (int k = 0; k < 6; k++)
            ck_assert_msg(d[k][t] == want[k], "mask %d of thread %d: %08x, not %08x", k, t, d[k][t], want[k]);
    }
}
END_TEST

/* ---- kernels that follow each other: each reads what other blocks of the one before wrote -------------------------------- */
enum { LINKS = 60 };

static void link(sett_build *b, const void *user)
{
    const int plain = *(const int *)user, threads = 128;
    sett_val *N = sett_sym(b, "N", .div = 128);
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_make_layout(b, T1(N))), *Y = sett_param(b, "Y", SETT_U32, sett_make_layout(b, T1(N)));
    sett_block(b, threads);
    sett_grid(b, sett_ceil_div(N, threads));
    if (!plain) {
        sett_griddepcontrol_launch_dependents(b);
        sett_griddepcontrol_wait(b);
    }
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), threads), sett_thread_idx(b, 0));
    sett_set(Y, sett_add(sett_mul(sett_at(X, sett_sub(sett_sub(N, 1), i)), 3), 1), i);
}

/* every: each so many-th is launched as any kernel, 0: none. plain: by the plain interpreter. */
static void chain(int every, int64_t n, bool plain)
{
    static const int no = 0, yes = 1;
    sett_engine *e = conform_engine();
    const sett_stream s = {conform_on_gpu() ? 0 : SETT_CPU, NULL};
    sett_kernel *k[2] = {conform_compile(link, &no, (conform_how){0}), conform_compile(link, &yes, (conform_how){0})};
    sett_kernel *const run[2] = {plain ? conform_plain(k[0]) : k[0], plain ? conform_plain(k[1]) : k[1]};
    const size_t bytes = (size_t)n * sizeof(uint32_t);
    uint32_t *host = malloc(bytes);
    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < n; i++)
        host[i] = (uint32_t)i * 2654435761u;
    sett_buf X = sett_buf_1d(sett_alloc(e, s.device, bytes), SETT_U32, n), Y = sett_buf_1d(sett_alloc(e, s.device, bytes), SETT_U32, n);
    sett_error err = {0};
    ck_assert(X.data && Y.data && !sett_memcpy(e, s, X.data, host, bytes));
    for (int i = 0; i < LINKS; i++)
        ck_assert_msg(!sett_launch(run[every && i % every == 0], s, &err, i % 2 ? &Y : &X, i % 2 ? &X : &Y), "%s", err.text);
    ck_assert_msg(!sett_memcpy(e, s, host, X.data, bytes) && !sett_sync_error(e, s, &err), "%s", err.text);
    for (int64_t i = 0; i < n; i++) { /* an even number of turns puts each in its place again */
        uint32_t want = (uint32_t)i * 2654435761u;
        for (int j = 0; j < LINKS; j++)
            want = 3 * want + 1;
        ck_assert_msg(host[i] == want, "element %lld of a chain with every %d-th plain: %u, not %u", (long long)i, every, host[i], want);
    }
    free(host);
    sett_free(e, s.device, X.data), sett_free(e, s.device, Y.data);
    sett_kernel_release(k[0]), sett_kernel_release(k[1]);
}

START_TEST(grids_in_a_chain)
{
    for (int every = 0; every < 5; every++)
        for (int plain = 0; plain < (conform_on_gpu() ? 1 : 2); plain++)
            chain(every, conform_on_gpu() ? 1 << 22 : 1 << 11, plain);
}
END_TEST

/* ---- registers of the machine: what holds of them anywhere ------------------------------------------------------------------ */
enum { IDS = 13 };

static void machine(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_U64, sett_make_layout(b, T(64, IDS)));
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_I32, sett_make_layout(b, T1(64)), 16);
    sett_val *t = sett_thread_idx(b, 0);
    sett_val *first[] = {sett_clock(b), sett_clock64(b), sett_globaltimer(b)};
    sett_set(S, t, t);
    sett_sync_threads(b);
    sett_val *x = sett_at(S, sett_sub(63, t));
    sett_val *id[IDS] = {sett_smid(b), sett_nsmid(b), sett_physical_warp_id(b), sett_nwarpid(b), sett_gridid(b), sett_sub(sett_clock(b), first[0]),
        sett_sub(sett_clock64(b), first[1]), sett_sub(sett_globaltimer(b), first[2]), sett_activemask(b), sett_dynamic_smem_size(b), sett_total_smem_size(b), x};
    for (int k = 0; k < 12; k++)
        sett_set(D, sett_to(id[k], SETT_U64), t, k);
    sett_if (b, sett_eq(sett_mod(sett_lane_idx(b), 2), 0))
        sett_set(D, sett_to(sett_activemask(b), SETT_U64), t, 12);
}

START_TEST(registers)
{
    static uint64_t d[IDS][64];
    sett_buf D = {d, SETT_U64, 2, {64, IDS}, {1, 64}};
    conform_body(machine, NULL, &D);
    for (int t = 0; t < 64; t++) {
        ck_assert_uint_lt(d[0][t], d[1][t]);
        ck_assert_uint_lt(d[2][t], d[3][t]);
        ck_assert_uint_eq(d[4][t], d[4][0]);
        for (int k = 5; k < 8; k++)
            ck_assert_uint_lt(d[k][t], UINT64_C(1) << 40); /* forward, and not for long */
        ck_assert_uint_ne(d[8][t] >> t % 32 & 1, 0);
        ck_assert_uint_eq(d[9][t], 0);
        ck_assert_uint_ge(d[10][t], 256);
        ck_assert_uint_eq(d[11][t], 63 - (uint64_t)t);
        if (t % 2 == 0)
            ck_assert_uint_eq(d[12][t] & ~UINT64_C(0x55555555), 0);
    }
}
END_TEST

void conform_add_arch(TCase *t)
{
    tcase_add_test(t, every_vote);
    tcase_add_loop_test(t, every_match, 0, CONFORM_TYPES);
    tcase_add_loop_test(t, integer_folds, 0, 2);
    tcase_add_loop_test(t, float_folds, 0, 4);
    tcase_add_test(t, election);
    tcase_add_test(t, named_barriers);
    tcase_add_test(t, fences);
    tcase_add_test(t, lane_masks);
    tcase_add_test(t, grids_in_a_chain);
    tcase_add_test(t, registers);
}
