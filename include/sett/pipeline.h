/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers, and pipelines made of them: how some threads of a block fill stages of shared memory while
 * others read them.
 *
 * An MBARRIER lies in shared memory and counts: arrivals of threads, and bytes that copies write. When all
 * that its phase waits for has come, the phase ends and the next begins, with the same count. Phases have
 * parity 0, 1, 0 and so on. A wait names the parity of the phase whose end it waits for. Parity 1 counts as
 * ended before phase 0 ends.
 *
 *     sett_tensor *bar = sett_make_mbarriers(b, 2);            two of them, (2):(1)
 *     sett_if (b, sett_eq(thread, 0)) {
 *         sett_mbarrier_init(sett_slice(bar, 0), 1);           one arrival ends a phase
 *         sett_mbarrier_init(sett_slice(bar, 1), 128);
 *         sett_fence_mbarrier_init(b);                         (cluster.h) copies, and the cluster, see them
 *     }
 *     sett_sync_threads(b);                                    so do the other threads
 *     ...
 *     sett_mbarrier_arrive(sett_slice(bar, 1));                128 threads do
 *     sett_mbarrier_wait(sett_slice(bar, 1), 0);            phase 0 has ended: what they wrote before is seen
 *
 * The CPU engine has all of this. It reports more arrivals than the count, a wait that never ends and who
 * waits for what. A target that lacks an operation refuses the kernel when it is compiled: SETT_E_TARGET,
 * with the line of the call. */
#ifndef SETT_PIPELINE_H
#define SETT_PIPELINE_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- mbarriers ------------------------------------------------------------------------------------- */
/* n mbarriers, (n):(1), of shared memory that nothing else touches: loads, stores and views of another type
 * of them are SETT_E_SPACE. Every call below takes one of them: sett_slice(bars, i), i a C number or a value.
 * */
SETT_API sett_tensor *sett_make_mbarriers_at(sett_site, sett_build *, int n);
#define sett_make_mbarriers(b, n) sett_make_mbarriers_at(SETT_HERE, b, n)
/* Begins phase 0; every phase ends after `count` arrivals, 1 to 1048575, and the bytes that are expected. One
 * thread calls it for each mbarrier, then the threads meet. inval: its memory may become an mbarrier of
 * another count. */
SETT_API void sett_mbarrier_init_at(sett_site, const sett_tensor *bar, sett_arg count);
#define sett_mbarrier_init(bar, count) sett_mbarrier_init_at(SETT_HERE, bar, SETT_A(count))
SETT_API void sett_mbarrier_inval_at(sett_site, const sett_tensor *bar);
#define sett_mbarrier_inval(bar) sett_mbarrier_inval_at(SETT_HERE, bar)

/* Each thread that calls it arrives once. bar may be a peer's, sett_map_dsmem(bar, rank).
 * .count: arrives so often. .pred: arrives only where it is true.
 * An arrival releases what the thread wrote, and who waits then sees it. .relaxed: it does not. At a peer
 * this saves a fence, and is enough to say that memory has been read.
 * Loads and copies by TMA or in bulk access memory by different proxies, which an mbarrier does not order. A
 * thread that has loaded what such a copy then overwrites calls sett_fence_view_async_shared (mma.h) before
 * it arrives. */
typedef struct sett_mbarrier_args {
    size_t size;
    const sett_tensor *bar;
    sett_arg bytes; /* of expect_tx */
    int count;      /* of arrive; 0: 1 */
    sett_val *pred;
    bool relaxed;   /* of arrive */
} sett_mbarrier_args;
SETT_API void sett_mbarrier_arrive_at(sett_site, const sett_mbarrier_args *);
#define sett_mbarrier_arrive(...) \
    sett_mbarrier_arrive_at(SETT_HERE, &(sett_mbarrier_args){.size = sizeof(sett_mbarrier_args), \
        .bar = __VA_ARGS__})
/* The phase waits for so many bytes more, 0 to 1048575, of copies that name this barrier; with arrive, the
 * thread arrives as well. Expect before the phase can end without them. .pred as above: one thread calls it,
 * or one lane's predicate is true.
 *
 *     sett_mbarrier_arrive_and_expect_tx(full, 128 * 64 * 2, .pred = sett_elect_one(b)) */
SETT_API void sett_mbarrier_expect_tx_at(sett_site, const char *func, bool arrive,
    const sett_mbarrier_args *);
#define sett_mbarrier_expect_tx(barrier, ...) \
    SETT_EXPECT_("sett_mbarrier_expect_tx", false, barrier, __VA_ARGS__, .size = sizeof(sett_mbarrier_args))
#define sett_mbarrier_arrive_and_expect_tx(barrier, ...) \
    SETT_EXPECT_("sett_mbarrier_arrive_and_expect_tx", true, barrier, __VA_ARGS__, \
        .size = sizeof(sett_mbarrier_args))
#define SETT_EXPECT_(func, arrive, barrier, n, ...) \
    sett_mbarrier_expect_tx_at(SETT_HERE, func, arrive, &(sett_mbarrier_args){.bar = barrier, \
        .bytes = SETT_A(n), __VA_ARGS__})

/* wait: goes on when the phase of this parity, 0 or 1, has ended. try_wait waits for a while (from sm_90 on),
 * test_wait not at all: Boolean, has it ended? Where the answer is true, what was released there and what
 * copies wrote is seen. .cluster = true: also what threads of other blocks released. */
typedef enum sett_mbarrier_ask { SETT_MBARRIER_WAIT, SETT_MBARRIER_TRY_WAIT,
    SETT_MBARRIER_TEST_WAIT } sett_mbarrier_ask;
typedef struct sett_mbarrier_wait_args {
    size_t size;
    sett_arg phase;
    bool cluster;
} sett_mbarrier_wait_args;
SETT_API sett_val *sett_mbarrier_wait_at(sett_site, sett_mbarrier_ask, const sett_tensor *bar,
    const sett_mbarrier_wait_args *);
#define sett_mbarrier_wait(bar, ...) \
    ((void)SETT_ASK_(SETT_MBARRIER_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args)))
#define sett_mbarrier_try_wait(bar, ...) \
    SETT_ASK_(SETT_MBARRIER_TRY_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args))
#define sett_mbarrier_test_wait(bar, ...) \
    SETT_ASK_(SETT_MBARRIER_TEST_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args))
#define SETT_ASK_(ask, bar, parity, ...) \
    sett_mbarrier_wait_at(SETT_HERE, ask, bar, &(sett_mbarrier_wait_args){.phase = SETT_A(parity), \
        __VA_ARGS__})

/* The thread arrives when its cp.async copies so far have ended. Without noinc the phase's count grows by
 * this arrival; with noinc the count of init has it already. */
SETT_API void sett_cp_async_mbarrier_arrive_at(sett_site, const sett_tensor *bar, bool noinc);
#define sett_cp_async_mbarrier_arrive(bar) sett_cp_async_mbarrier_arrive_at(SETT_HERE, bar, false)
#define sett_cp_async_mbarrier_arrive_noinc(bar) sett_cp_async_mbarrier_arrive_at(SETT_HERE, bar, true)

/* ---- pipelines ---------------------------------------------------------------------------------------- */
/* A ring of stages of shared memory that producers fill and consumers read, each stage with an mbarrier FULL
 * and one EMPTY. A STATE is a place in the ring, a stage and a parity, in registers; each side has its own,
 * and advances it. The copies, the ring itself and what is computed are the user's:
 *
 *     sett_pipeline *pipe = sett_pipeline_tma_async(b, .stages = 4, .tx_bytes = 128 * 64 * 2,
 *         .consumers = SETT_WARP_GROUPS(2));
 *     sett_if (b, sett_eq(warp, 8)) {                             the producer, one warp
 *         sett_pipeline_state *put = sett_pipeline_producer_state(pipe);
 *         sett_for (b, k, 0, tiles, 1) {
 *             sett_producer_acquire(put);                  waits until the stage is empty, and expects 16 KiB
 *             sett_tma_load(map, sett_slice(g, ALL, ALL, k), sett_slice(ring, ALL, ALL,
 *                 sett_pipeline_stage(put)), sett_pipeline_barrier(put));
 *             sett_pipeline_advance(put);
 *         }
 *         sett_producer_tail(put);
 *     }
 *     sett_else (b) {                                             the consumers, eight warps
 *         sett_pipeline_state *get = sett_pipeline_consumer_state(pipe);
 *         sett_for (b, k, 0, tiles, 1) {
 *             sett_consumer_wait(get);                            until the bytes are there
 *             ... reads sett_slice(ring, ALL, ALL, sett_pipeline_stage(get)) ...
 *             sett_consumer_release(get);                         it may be filled again
 *             sett_pipeline_advance(get);
 *         }
 *     }
 *
 *     pipeline        full when                          empty when                     for
 *     async           the producers have committed       the consumers have released    stores by threads
 *     cp_async        the producers' cp.async have come  the same                       sett_cp_async
 *     tma_async       the bytes of a stage have come     the same, in every block   copies by TMA and in
 *                                                        that this block's copies   bulk
 *                                                        write
 *     tma_store       (no mbarriers)              the thread's stores have read  stores by TMA, by one thread
 *     order           (no ring) it is the group's turn                                 groups that take turns
 *
 * A GROUP says who arrives. SETT_THREADS(n): each of n threads. SETT_WARPS(n): one lane of each of n
 * warps, behind a sett_sync_warp. SETT_WARP_GROUPS(n): one thread of each of n warp groups of 128 threads,
 * which do not meet before: for consumers that read by wgmma, after their sett_mma_wait. All threads of a
 * group make the calls, together. If more threads arrive than the group says, a phase ends too early; if
 * fewer, never. The CPU engine reports an arrival that the count does not have, a phase that ends by other
 * threads than the one before it, for which nobody has waited, and a wait that never ends, with the lines
 * of those who wait. It does not see each stage that is used too early: then the results are wrong.
 *
 * Copies of a tma_async overwrite what consumers have loaded, by another proxy than loads. So a release by
 * SETT_THREADS and SETT_WARPS begins with sett_fence_view_async_shared of each thread; then the warp of
 * SETT_WARPS meets; then they arrive. A release by SETT_WARP_GROUPS has neither fence nor meeting, for
 * wgmma reads by the proxy of copies. If threads of a warp group load from a stage, each calls
 * sett_fence_view_async_shared, then sett_barrier for the 128 threads, before the release. (Without the
 * barrier a warp may also wait for a phase that ended twice.) The other pipelines have no such fence:
 * stores by threads and sett_cp_async access memory by the proxy of loads. */
typedef struct sett_pipeline sett_pipeline;
typedef struct sett_pipeline_state sett_pipeline_state;
typedef struct sett_group { int count, threads; } sett_group;
#define SETT_THREADS(n) ((sett_group){n, 1})
#define SETT_WARPS(n) ((sett_group){n, 32})
#define SETT_WARP_GROUPS(n) ((sett_group){n, 128})

/* Makes a pipeline: all threads of the block call it, at the top of the body. One thread initialises its
 * mbarriers, then all threads of the cluster meet, or of the block where there is no cluster.
 * .stages: 1 to 64. .producers, .consumers: who arrives at FULL and at EMPTY; a tma_async has one producer, a
 * warp of which one lane acts, and does not take .producers; a tma_store has neither.
 * .tx_bytes: of tma_async, the bytes of all copies to one stage of one block, those that other blocks
 * multicast too: sett_tma_bytes of each (tma.h).
 * .multicast: of tma_async in a cluster, the modes of the cluster along which copies go to several blocks, as
 * bits: 1 << i for mode i. Whoever releases a stage releases it to each block whose copies may write it:
 * those that differ from this one in such a mode alone. With A to all blocks of a row and B to all of a
 * column of a cluster of 2 x 2: 1 << 0 | 1 << 1.
 * .cluster_layout: the layout, static, of the ranks of the blocks; 0: that of sett_cluster, (x,y,z).
 * .relaxed: releases to other blocks promise nothing about memory, and cost no fence of the cluster: enough
 * if the stage was read by wgmma and sett_mma_wait has come. Of loads by threads they do not tell, whatever
 * became of the values: the checker reports kind order.
 * .commit_to, .release_to: of async, the rank of the block at whose barriers producers, or consumers, arrive;
 * NULL: the own.
 * .defer_sync: the threads do not meet here; sett_pipeline_init_arrive and _wait do it, for many pipelines at
 * once. */
typedef enum sett_pipeline_kind {
    SETT_PIPELINE_ASYNC, SETT_PIPELINE_CP_ASYNC, SETT_PIPELINE_TMA_ASYNC, SETT_PIPELINE_TMA_STORE,
        SETT_PIPELINE_ORDER
} sett_pipeline_kind;
typedef struct sett_pipeline_args {
    size_t size;
    int stages, turns;
    sett_group producers, consumers;
    int64_t tx_bytes;
    unsigned multicast;
    const sett_layout *cluster_layout;
    bool relaxed, defer_sync;
    sett_val *commit_to, *release_to;
} sett_pipeline_args;
SETT_API sett_pipeline *sett_pipeline_at(sett_site, sett_build *, sett_pipeline_kind,
    const sett_pipeline_args *);
#define SETT_PIPELINE_(b, kind, ...) \
    sett_pipeline_at(SETT_HERE, b, kind, &(sett_pipeline_args){.size = sizeof(sett_pipeline_args), \
        __VA_ARGS__})
#define sett_pipeline_async(b, ...) SETT_PIPELINE_(b, SETT_PIPELINE_ASYNC, __VA_ARGS__)
#define sett_pipeline_cp_async(b, ...) SETT_PIPELINE_(b, SETT_PIPELINE_CP_ASYNC, __VA_ARGS__)
#define sett_pipeline_tma_async(b, ...) SETT_PIPELINE_(b, SETT_PIPELINE_TMA_ASYNC, __VA_ARGS__)
#define sett_pipeline_tma_store(b, ...) SETT_PIPELINE_(b, SETT_PIPELINE_TMA_STORE, __VA_ARGS__)
#define sett_pipeline_order(b, ...) SETT_PIPELINE_(b, SETT_PIPELINE_ORDER, __VA_ARGS__)
SETT_API void sett_pipeline_init_at(sett_site, sett_build *, bool wait);
#define sett_pipeline_init_arrive(b) sett_pipeline_init_at(SETT_HERE, b, false)
#define sett_pipeline_init_wait(b) sett_pipeline_init_at(SETT_HERE, b, true)

/* ---- states
 * ------------------------------------------------------------------------------------------------ */
/* At stage 0. A producer's first waits end at once, since all stages are empty. Make a state in the region
 * that uses it, or in one around it: all threads of the side call it, and a TMA producer's elects its lane
 * here.
 * sett_pipeline_stage: the index of the stage, Int32; it names no memory, slice the ring with it.
 * sett_pipeline_phase: the parity that is waited for. sett_pipeline_advance: the next stage; behind the last
 * the first, with the other parity. sett_pipeline_state_set(s, n): n advances after the start, whatever it
 * was; for tile after tile it lets the compiler see that all threads have one stage.
 * sett_pipeline_state_copy: dst becomes src, a state of the same pipeline and side; one state may wait while
 * an older one releases. */
SETT_API sett_pipeline_state *sett_pipeline_state_at(sett_site, const sett_pipeline *, const char *func,
    bool producer);
#define sett_pipeline_producer_state(pipe) \
    sett_pipeline_state_at(SETT_HERE, pipe, "sett_pipeline_producer_state", true)
#define sett_pipeline_consumer_state(pipe) \
    sett_pipeline_state_at(SETT_HERE, pipe, "sett_pipeline_consumer_state", false)
SETT_API sett_val *sett_pipeline_stage_at(sett_site, const sett_pipeline_state *, bool phase);
#define sett_pipeline_stage(state) sett_pipeline_stage_at(SETT_HERE, state, false)
#define sett_pipeline_phase(state) sett_pipeline_stage_at(SETT_HERE, state, true)
SETT_API void sett_pipeline_advance_at(sett_site, sett_pipeline_state *);
#define sett_pipeline_advance(state) sett_pipeline_advance_at(SETT_HERE, state)
SETT_API void sett_pipeline_state_set_at(sett_site, sett_pipeline_state *, sett_arg count);
#define sett_pipeline_state_set(state, count) sett_pipeline_state_set_at(SETT_HERE, state, SETT_A(count))
SETT_API void sett_pipeline_state_copy_at(sett_site, const sett_pipeline_state *src,
    sett_pipeline_state *dst);
#define sett_pipeline_state_copy(src, dst) sett_pipeline_state_copy_at(SETT_HERE, src, dst)
/* The FULL of the stage: the mbarrier that a copy to it names. */
SETT_API sett_tensor *sett_pipeline_barrier_at(sett_site, const sett_pipeline_state *);
#define sett_pipeline_barrier(state) sett_pipeline_barrier_at(SETT_HERE, state)

/* ---- the steps
 * ---------------------------------------------------------------------------------------------- */
/* acquire: waits until the stage is empty; of tma_async it then expects the bytes of a stage. commit: the
 * producer has filled the stage, or has begun to; of tma_async nothing, since bytes end its phase. tail:
 * waits until the consumers have released all stages: in a cluster no block may end before. SETT_E_REGION: a
 * producer that acquires in a cluster has neither tail nor a later sett_cluster_wait.
 * wait: until the stage is full. release: the consumer has read it; the stage may be written from here on. A
 * stage is read when what was read is in registers, and by wgmma when its sett_mma_wait has come.
 * try_acquire and try_wait ask whether the wait would end now: a Boolean, which acquire and wait take as a
 * token, to wait only if it is false. It may be kept in a sett_var over a round. SETT_E_ARGUMENT: the token
 * is another pipeline's.
 *
 *     sett_val *came = sett_consumer_try_wait(get);      ... something else ...  sett_consumer_wait(get,
 *         came);
 *
 * Of a tma_store: acquire waits until at most stages - 1 groups of the thread's stores have not read their
 * stage, commit makes one group of the stores since the last, tail waits until all have read. */
typedef enum sett_pipeline_step {
    SETT_PIPELINE_ACQUIRE, SETT_PIPELINE_TRY_ACQUIRE, SETT_PIPELINE_COMMIT, SETT_PIPELINE_TAIL,
        SETT_PIPELINE_WAIT, SETT_PIPELINE_TRY_WAIT, SETT_PIPELINE_RELEASE, SETT_PIPELINE_ORDER_WAIT,
    SETT_PIPELINE_ORDER_ARRIVE
} sett_pipeline_step;
SETT_API sett_val *sett_pipeline_step_at(sett_site, sett_pipeline_state *, sett_pipeline_step,
    sett_val *token_or_null);
#define SETT_STEP1(step, state) sett_pipeline_step_at(SETT_HERE, state, step, NULL)
#define SETT_STEP2(step, state, token) sett_pipeline_step_at(SETT_HERE, state, step, SETT_COND(token))
#define sett_producer_acquire(...) \
    ((void)SETT_CAT(SETT_STEP, SETT_NARG(__VA_ARGS__))(SETT_PIPELINE_ACQUIRE, __VA_ARGS__))
/* As sett_producer_acquire, of a tma_async pipeline: the stage expects so many bytes, 0 to .tx_bytes, in
 * place of .tx_bytes, where fewer copies come to it, as those of a tile at an edge. They may be a value of
 * the kernel. Copies that bring more end the phase before the last of them has come. */
SETT_API void sett_producer_acquire_tx_at(sett_site, sett_pipeline_state *, sett_arg bytes);
#define sett_producer_acquire_tx(state, bytes) \
    sett_producer_acquire_tx_at(SETT_HERE, state, SETT_A(bytes))
#define sett_producer_try_acquire(state) SETT_STEP1(SETT_PIPELINE_TRY_ACQUIRE, state)
#define sett_producer_commit(state) ((void)SETT_STEP1(SETT_PIPELINE_COMMIT, state))
#define sett_producer_tail(state) ((void)SETT_STEP1(SETT_PIPELINE_TAIL, state))
#define sett_consumer_wait(...) \
    ((void)SETT_CAT(SETT_STEP, SETT_NARG(__VA_ARGS__))(SETT_PIPELINE_WAIT, __VA_ARGS__))
#define sett_consumer_try_wait(state) SETT_STEP1(SETT_PIPELINE_TRY_WAIT, state)
#define sett_consumer_release(state) ((void)SETT_STEP1(SETT_PIPELINE_RELEASE, state))

/* ---- participants
 * --------------------------------------------------------------------------------------------- */
/* The same steps in CuTe's other form: the one that begins a stage also advances the state, and gives that
 * stage. It is read, and committed or released, as a state is, and stays where it is: sett_pipeline_stage,
 * sett_pipeline_phase, sett_pipeline_barrier, the source of sett_pipeline_state_copy, sett_producer_commit
 * and sett_consumer_release take it. A token is taken as above.
 * sett_make_participants: a state of each side. All threads of the block call it, before they part.
 *
 *     sett_participants side = sett_make_participants(pipe);
 *     sett_if (b, sett_eq(warp, 8)) {
 *         sett_for (b, k, 0, tiles, 1) {
 *             sett_pipeline_state *to = sett_producer_acquire_and_advance(side.producer);
 *             sett_tma_load(map, sett_slice(g, ALL, ALL, k), sett_slice(ring, ALL, ALL,
 *                 sett_pipeline_stage(to)), sett_pipeline_barrier(to));
 *         }
 *         sett_producer_tail(side.producer);
 *     }
 *     sett_else (b)
 *         sett_for (b, k, 0, tiles, 1) {
 *             sett_pipeline_state *from = sett_consumer_wait_and_advance(side.consumer);
 *             ... reads sett_slice(ring, ALL, ALL, sett_pipeline_stage(from)) ...
 *             sett_consumer_release(from);
 *         }
 *
 * SETT_E_ARGUMENT: a pipeline without producers or consumers, a state of the other side, a stage in place of
 * a state. */
typedef struct sett_participants { sett_pipeline_state *producer, *consumer; } sett_participants;
SETT_API sett_participants sett_make_participants_at(sett_site, const sett_pipeline *);
#define sett_make_participants(pipe) sett_make_participants_at(SETT_HERE, pipe)
SETT_API sett_pipeline_state *sett_pipeline_take_at(sett_site, sett_pipeline_state *, sett_pipeline_step,
    sett_val *token_or_null);
#define SETT_TAKE1(step, state) sett_pipeline_take_at(SETT_HERE, state, step, NULL)
#define SETT_TAKE2(step, state, token) sett_pipeline_take_at(SETT_HERE, state, step, SETT_COND(token))
#define sett_producer_acquire_and_advance(...) \
    SETT_CAT(SETT_TAKE, SETT_NARG(__VA_ARGS__))(SETT_PIPELINE_ACQUIRE, __VA_ARGS__)
#define sett_consumer_wait_and_advance(...) \
    SETT_CAT(SETT_TAKE, SETT_NARG(__VA_ARGS__))(SETT_PIPELINE_WAIT, __VA_ARGS__)

/* ---- turns
 * --------------------------------------------------------------------------------------------------- */
/* A pipeline_order lets groups of threads take turns (CuTe's PipelineOrder): two warp groups that each
 * multiply while the other one stores, say. .turns: how many groups there are, 2 to 16; .producers: the
 * threads of one group, as they arrive; .stages: in how many things they take turns, one after the other. In
 * each stage group 0 goes first.
 *
 *     sett_pipeline *order = sett_pipeline_order(b, .stages = 2, .turns = 2, .producers = SETT_WARPS(4));
 *     sett_pipeline_state *turn = sett_order_state(order, group);          group: 0 or 1, of this thread
 *     sett_for (b, k, 0, tiles, 1) {
 *         sett_order_wait(turn);    ... products ...    sett_order_arrive(turn);  stage 0: the other group
 *             may multiply
 *         sett_order_wait(turn);    ... stores ...      sett_order_arrive(turn);     stage 1
 *     }
 *
 * arrive lets the next group go, and advances the state. group: a C number, or an integer that is the same in
 * all threads of a group. */
SETT_API sett_pipeline_state *sett_order_state_at(sett_site, const sett_pipeline *, sett_arg group);
#define sett_order_state(pipe, group) sett_order_state_at(SETT_HERE, pipe, SETT_A(group))
#define sett_order_wait(state) ((void)SETT_STEP1(SETT_PIPELINE_ORDER_WAIT, state))
#define sett_order_arrive(state) ((void)SETT_STEP1(SETT_PIPELINE_ORDER_ARRIVE, state))

#endif /* __cplusplus */
#endif
