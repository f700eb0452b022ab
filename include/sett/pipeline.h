/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers, and pipelines made of them: how some threads of a block fill stages of shared memory while others read them.
 *
 * An MBARRIER lies in shared memory and counts: arrivals of threads, and bytes that copies write. When all that its phase
 * waits for has come, the phase ends and the next begins, with the same count. Phases have parity 0, 1, 0 and so on. A
 * wait names the parity of the phase whose end it waits for. Parity 1 counts as ended before phase 0 ends.
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
 *     sett_mbarrier_wait(sett_slice(bar, 1), 0);               phase 0 has ended: what they wrote before is seen
 *
 * The CPU engine has all of this. It reports more arrivals than the count, a wait that never ends and who waits for what. A
 * target that lacks an operation refuses the kernel when it is compiled: SETT_E_TARGET, with the line of the call. */
#ifndef SETT_PIPELINE_H
#define SETT_PIPELINE_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- mbarriers ------------------------------------------------------------------------------------- */
/* n mbarriers, (n):(1), of shared memory that nothing else touches: loads, stores and views of another type of them are
 * SETT_E_SPACE. Every call below takes one of them: sett_slice(bars, i), i a C number or a value. */
SETT_API sett_tensor *sett_make_mbarriers_at(sett_site, sett_build *, int n);
#define sett_make_mbarriers(b, n) sett_make_mbarriers_at(SETT_HERE, b, n)
/* Begins phase 0; every phase ends after `count` arrivals, 1 to 1048575, and the bytes that are expected. One thread calls
 * it for each mbarrier, then the threads meet. inval: its memory may become an mbarrier of another count. */
SETT_API void sett_mbarrier_init_at(sett_site, const sett_tensor *bar, sett_arg count);
#define sett_mbarrier_init(bar, count) sett_mbarrier_init_at(SETT_HERE, bar, SETT_A(count))
SETT_API void sett_mbarrier_inval_at(sett_site, const sett_tensor *bar);
#define sett_mbarrier_inval(bar) sett_mbarrier_inval_at(SETT_HERE, bar)

/* Each thread that calls it arrives once. bar may be a peer's, sett_map_dsmem(bar, rank).
 * .count: arrives so often. .pred: arrives only where it is true.
 * An arrival releases what the thread wrote, and who waits then sees it. .relaxed: it does not. At a peer this saves a
 * fence, and is enough to say that memory has been read. */
typedef struct sett_mbarrier_args {
    size_t size;
    const sett_tensor *bar;
    sett_arg bytes; /* of expect_tx */
    int count;      /* of arrive; 0: 1 */
    sett_val *pred;
    bool relaxed;   /* of arrive */
} sett_mbarrier_args;
SETT_API void sett_mbarrier_arrive_at(sett_site, const sett_mbarrier_args *);
#define sett_mbarrier_arrive(...) sett_mbarrier_arrive_at(SETT_HERE, &(sett_mbarrier_args){.size = sizeof(sett_mbarrier_args), .bar = __VA_ARGS__})
/* The phase waits for so many bytes more, 0 to 1048575, of copies that name this barrier; with arrive, the thread arrives as
 * well. Expect before the phase can end without them. .pred as above: one thread calls it, or one lane's predicate is true.
 *
 *     sett_mbarrier_arrive_and_expect_tx(full, 128 * 64 * 2, .pred = sett_elect_one(b)) */
SETT_API void sett_mbarrier_expect_tx_at(sett_site, const char *func, bool arrive, const sett_mbarrier_args *);
#define sett_mbarrier_expect_tx(barrier, ...) SETT_EXPECT_("sett_mbarrier_expect_tx", false, barrier, __VA_ARGS__, .size = sizeof(sett_mbarrier_args))
#define sett_mbarrier_arrive_and_expect_tx(barrier, ...) \
    SETT_EXPECT_("sett_mbarrier_arrive_and_expect_tx", true, barrier, __VA_ARGS__, .size = sizeof(sett_mbarrier_args))
#define SETT_EXPECT_(func, arrive, barrier, n, ...) \
    sett_mbarrier_expect_tx_at(SETT_HERE, func, arrive, &(sett_mbarrier_args){.bar = barrier, .bytes = SETT_A(n), __VA_ARGS__})

/* wait: goes on when the phase of this parity, 0 or 1, has ended. try_wait waits for a while, test_wait not at all: Boolean,
 * has it ended? Where the answer is true, what was released there and what copies wrote is seen.
 * .cluster = true: also what threads of other blocks released. */
typedef enum sett_mbarrier_ask { SETT_MBARRIER_WAIT, SETT_MBARRIER_TRY_WAIT, SETT_MBARRIER_TEST_WAIT } sett_mbarrier_ask;
typedef struct sett_mbarrier_wait_args {
    size_t size;
    sett_arg phase;
    bool cluster;
} sett_mbarrier_wait_args;
SETT_API sett_val *sett_mbarrier_wait_at(sett_site, sett_mbarrier_ask, const sett_tensor *bar, const sett_mbarrier_wait_args *);
#define sett_mbarrier_wait(bar, ...) ((void)SETT_ASK_(SETT_MBARRIER_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args)))
#define sett_mbarrier_try_wait(bar, ...) SETT_ASK_(SETT_MBARRIER_TRY_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args))
#define sett_mbarrier_test_wait(bar, ...) SETT_ASK_(SETT_MBARRIER_TEST_WAIT, bar, __VA_ARGS__, .size = sizeof(sett_mbarrier_wait_args))
#define SETT_ASK_(ask, bar, parity, ...) \
    sett_mbarrier_wait_at(SETT_HERE, ask, bar, &(sett_mbarrier_wait_args){.phase = SETT_A(parity), __VA_ARGS__})

/* The thread arrives when its cp.async copies so far have ended. Without noinc the phase's count grows by this arrival; with
 * noinc the count of init has it already. */
SETT_API void sett_cp_async_mbarrier_arrive_at(sett_site, const sett_tensor *bar, bool noinc);
#define sett_cp_async_mbarrier_arrive(bar) sett_cp_async_mbarrier_arrive_at(SETT_HERE, bar, false)
#define sett_cp_async_mbarrier_arrive_noinc(bar) sett_cp_async_mbarrier_arrive_at(SETT_HERE, bar, true)

#endif /* __cplusplus */
#endif
