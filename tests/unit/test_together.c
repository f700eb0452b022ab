/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: blocks of a cluster together, mbarriers, and waits that never end. */
#include "tests/rig/async_rig.h"

/* ---- whole programs ---------------------------------------------------------------------------- */
START_TEST(peer_sum)
{
    enum { N = 256 * 6 };
    static float x[N], d[N / 256], want[N / 256];
    task t = {.grid = {N / 128}, .block = {128}, .cluster = {2}, .data = {x, d}, .bytes = {sizeof x, sizeof d}, .sym = {N}, .threads = 2};
    char *text = read_text("tests/tape/peer_sum.tape");
    t.text = text;
    for (int i = 0; i < N; i++) {
        x[i] = (float)((7 * i + 3) % 9 - 4);
        want[i / 256] += x[i];
    }
    ck_assert_int_ge(orders_of(t, 1, want), 10);
    free(text);
}
END_TEST

/* Copies of cp.async, of blocks that two workers take as they come: one order a seed, whoever runs them, and many over the seeds. */
static const char piecewise[] = HEAD("param A i32 (4096):(1) align 16 read\nparam D i32 (4096):(1) align 16 write\n") "grid 16\nblock 64\nsmem 1024 align 16\n"
    "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param i32 A\n%3 = param i32 D\n%4 = smem i32x256 at 0\n%5 = const i32 256\n%6 = mul i32 %1, %5\n%7 = add i32 %6, %0\n"
    "cp.async %4[%0] %2[%7] bytes=4 of=4\ncp.async %4[%0 + 64] %2[%7 + 64] bytes=4 of=4\ncp.async.commit\n"
    "cp.async %4[%0 + 128] %2[%7 + 128] bytes=4 of=4\ncp.async %4[%0 + 192] %2[%7 + 192] bytes=4 of=4\ncp.async.commit\ncp.async.wait pending=1\n"
    "%10 = load i32 %4[%0] align 4\n%11 = load i32 %4[%0 + 64] align 4\nstore %3[%7] i32 %10 align 4\nstore %3[%7 + 64] i32 %11 align 4\ncp.async.wait\n"
    "%12 = load i32 %4[%0 + 128] align 4\n%13 = load i32 %4[%0 + 192] align 4\nstore %3[%7 + 128] i32 %12 align 4\nstore %3[%7 + 192] i32 %13 align 4\n";

START_TEST(copies_by_pieces)
{
    static int32_t a[4096], d[4096];
    _Atomic uint64_t order;
    uint64_t first = 0;
    sett_error e;
    task t = {.text = piecewise, .grid = {16}, .block = {64}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .threads = 2};
    for (int i = 0; i < 4096; i++)
        a[i] = 3 * i;
    ck_assert_int_ge(orders_of(t, 1, a), 100);
    t.order = &order, t.async = policy(7);
    for (int n = 0; n < 20; n++) {
        atomic_init(&order, 0);
        t.threads = 1 + n % 3;
        ck_assert_msg(!run_task(&t, &e), "%s", e.text);
        ck_assert_msg(!n || order == first, "run %d has another order", n);
        first = order;
    }
}
END_TEST

/* A wait for all groups but one leaves that one to the policy: lazily its copies have not come. */
START_TEST(the_newest_group_may_wait)
{
    static int32_t a[64], d[64];
    sett_error e;
    task t = {.text = HEAD("param A i32 (64):(1) align 16 read\nparam D i32 (64):(1) align 16 write\n") "block 32\nsmem 256 align 16\n"
        "%0 = tid.x i32\n%1 = param i32 A\n%2 = param i32 D\n%3 = smem i32x64 at 0\ncp.async %3[%0] %1[%0] bytes=4 of=4\ncp.async.commit\n"
        "cp.async %3[%0 + 32] %1[%0 + 32] bytes=4 of=4\ncp.async.commit\ncp.async.wait pending=1\n%4 = load i32 %3[%0] align 4\n%5 = load i32 %3[%0 + 32] align 4\n"
        "store %2[%0] i32 %4 align 4\nstore %2[%0 + 32] i32 %5 align 4\ncp.async.wait\n", .block = {32}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .threads = 1};
    for (int i = 0; i < 64; i++)
        a[i] = 7 * i;
    for (int lazy = 0; lazy < 2; lazy++) {
        t.async = policy(lazy);
        ck_assert_msg(!run_task(&t, &e), "%s", e.text);
        for (int i = 0; i < 64; i++)
            ck_assert_msg(d[i] == (lazy && i >= 32 ? -1 : 7 * i), "policy %d: word %d is %d", lazy, i, d[i]);
    }
}
END_TEST

/* ---- small kernels ------------------------------------------------------------------------------- */
enum { WORDS = 1024 };
#define SMALL(lines) HEAD("param A i32 (1024):(1) align 128 read write\ngrid 4\nblock 64\ncluster 2\nsmem 2048 align 1024\nlaunch min_blocks 1\n") \
    "%0 = tid.x i32\n%1 = param i32 A\n%2 = smem i32x256 at 0\n%3 = smem u64x4 at 1024 mbarrier\n%4 = const i32 0\n%5 = const i32 1\n%6 = const i32 2\n" \
    "%7 = const i32 16\n%8 = const i32 64\n%9 = eq i1 %0, %4\n%10 = cluster_ctarank i32\n%11 = sub i32 %5, %10\n%12 = peer i32x256 %2, %11\n%13 = peer u64x4 %3, %11\n" \
    "%14 = const i32 256\n%15 = addr u64 A\n%16 = lane i32\n%17 = eq i1 %10, %4\n" lines
#define INIT(n) "if %9 {\n  mbarrier.init %3[0] " n "\n  fence.mbarrier_init\n}\ncluster.arrive\ncluster.wait\n"
#define WAIT_AS(n, bar, parity) "loop {\n  %" n "0 = mbarrier.try_wait i1 " bar " " parity "\n  %" n "1 = not i1 %" n "0\n  while %" n "1\n}\n"
#define WAIT(bar, parity) WAIT_AS("9", bar, parity)
#define DONE "cluster.arrive\ncluster.wait\n"

/* Kernels that end in a fault, by some policy; the text begins with the operation's place. */
static const struct {
    const char *lines, *text;
} wrong[] = {
    /* mbarriers */
    {"mbarrier.arrive %3[0]", "mbarrier.arrive: the mbarrier at byte 1024 was not initialised"},
    {"mbarrier.expect_tx %3[1] %7 arrive", "mbarrier.expect_tx: the mbarrier at byte 1032 was not initialised"},
    {"%30 = mbarrier.test_wait i1 %3[2] %4", "mbarrier.test_wait: the mbarrier at byte 1040 was not initialised"},
    {"mbarrier.inval %3[0]", "mbarrier.inval: the mbarrier at byte 1024 was not initialised"},
    {INIT("%5") "if %9 {\n  mbarrier.init %3[0] %5\n}", "mbarrier.init: there is an mbarrier at byte 1024 already, from line 27: mbarrier.inval ends it"},
    {"mbarrier.init %3[0] %5", "mbarrier.init: there is an mbarrier at byte 1024 already"},
    {"if %9 {\n  mbarrier.init %3[0] %16\n}", "mbarrier.init: a count of 0 is not 1 to 1048575"},
    {INIT("%6") "barrier\nmbarrier.expect_tx %3[0] %7 pred %9 arrive\nmbarrier.arrive %3[0] count %6 pred %9",
        "2 arrivals at an mbarrier whose phase 0 waits for 1 of 2"},
    {INIT("%5") "mbarrier.expect_tx %3[0] %7 pred %9 arrive\nmbarrier.arrive %3[0] pred %9", "1 arrival too many: phase 0 of the mbarrier has all that it counts, 1 from"},
    {INIT("%5") "%30 = const i32 1048575\nmbarrier.expect_tx %3[0] %30 pred %9\nmbarrier.expect_tx %3[0] %7 pred %9",
        "phase 0 of the mbarrier waits for 1048591 bytes, and at most 1048575 are counted"},
    {INIT("%5") "%30 = add i32 %6, %4\n%31 = mbarrier.test_wait i1 %3[0] %30", "mbarrier.test_wait: a parity is 0 or 1, not 2"},
    {INIT("%5") "mbarrier.expect_tx %3[0] %7 pred %9 arrive\n%30 = const i32 32\nbulk.load %2[0] from %1[0] done %3[0] bytes %30 pred %9\n" WAIT("%3[0]", "%4") DONE,
        "phase 0 of the mbarrier gets 16 bytes more than were announced"},
    {INIT("%5") "bulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9\nmbarrier.inval %3[0]", "mbarrier.inval: the mbarrier at byte 1024 was ended by mbarrier.inval at"},
    {"bulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9", "bulk.load: the mbarrier at byte 1024 was not initialised"},
    {INIT("%5") "%30 = add i32 %4, %4\nmbarrier.arrive %3[0] count %30 pred %9", "mbarrier.arrive: 0 is not 1 to 1048575"},
    {INIT("%5") "%30 = sub i32 %4, %5\n%31 = mbarrier.test_wait i1 %3[0] %30", "mbarrier.test_wait: a parity is 0 or 1, not -1"},
    {INIT("%5") "%30 = const i32 1100\n%31 = const i32 1024\nfor %32 = %4 to %30 step %5 {\n  bulk.load %2[0] from %1[0] done %3[0] bytes %31 pred %9\n}",
        "phase 0 of the mbarrier gets ahead by 1048576 bytes, and at most 1048575 are counted"},
    /* waits that never end */
    {INIT("%5") WAIT("%3[0]", "%4"), "a wait that never ends: block 0 warps 0-1 at line 33: mbarrier at byte 1024, phase 0: 1 of 1 arrivals missing; block 1 warps 0-1 at line 33"},
    {INIT("%5") "%30 = const i32 48\nmbarrier.expect_tx %3[0] %30 pred %9 arrive\nbulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9\n" WAIT("%3[0]", "%4") DONE,
        "mbarrier at byte 1024, phase 0: 0 of 1 arrivals and 32 bytes missing"},
    {INIT("%5") "mbarrier.arrive %3[0] pred %9\n" WAIT_AS("10", "%3[0]", "%5") WAIT_AS("11", "%3[0]", "%4") WAIT_AS("12", "%3[0]", "%5"), "mbarrier at byte 1024, phase 1: 1 of 1 arrivals missing"},
    {INIT("%5") "loop {\n  %30 = mbarrier.test_wait i1 %3[0] %4\n  %31 = not i1 %30\n  while %31\n}", "a wait that never ends: block 0 warps 0-1 at line 33: mbarrier at byte 1024"},
    {INIT("%5") "if %17 {\n  cluster.arrive\n  cluster.wait\n}\n" WAIT("%3[0]", "%4"), "a wait that never ends: block 0 warps 0-1 at line 34: the cluster; block 1 warps 0-1 at line 37: mbarrier"},
    {"%30 = const i32 32\n%31 = lt i1 %0, %30\nif %31 {\n  barrier\n}", "a wait that never ends: block 0 warp 0 at line 29: the barrier"},
    {"%30 = const i32 32\n%31 = lt i1 %0, %30\nif %31 {\n  barrier.sync %5, %8\n}", "warp 0 at line 29: barrier 1; block 0 warp 1 ended"},
    /* clusters */
    {"cluster.wait", "cluster.wait: the thread has not arrived"},
    {"cluster.arrive\ncluster.arrive", "cluster.arrive: the thread has arrived already, and not waited since"},
    {"cluster.arrive\nbarrier\nbarrier\ncluster.arrive", "cluster.arrive: the thread has arrived already, and not waited since"},
    {"barrier\nbarrier\nstore %12[%0] i32 %0 align 4\n" DONE, "store touches shared memory of block 1 of the cluster, and nothing says that it has begun"},
    {"%29 = add i32 %6, %4\n%30 = peer i32x256 %2, %29\n%31 = load i32 %30[%0] align 4", "load of shared memory of a peer: there is no block 2 in a cluster of 2"},
    {"%30 = sub i32 %4, %5\n%31 = peer i32x256 %2, %30\nstore %31[%0] i32 %0 align 4", "store to shared memory of a peer: there is no block -1 in a cluster of 2"},
    {DONE "%30 = mul i32 %0, %7\n%31 = load i32 %12[%30] align 4", "load of shared memory of a peer: bytes 1024 to 1027 of 1024 are outside"},
    {DONE "%30 = add i32 %0, %5\n%31 = load i32x2 %12[%30] align 8", "load of shared memory: byte 4 is not aligned to 8 bytes"},
    {DONE "if %17 {\n  store %12[%0] i32 %0 align 4\n  barrier\n  barrier\n  store %12[%0] i32 %0 align 4\n}", "store to shared memory of a peer: block 1 of the cluster has ended, and its memory is gone"},
    {INIT("%5") "if %17 {\n  barrier\n  mbarrier.arrive %13[0] pred %9 scope=cluster\n}", "mbarrier.arrive: shared memory of a peer: block 1 of the cluster has ended, and its memory is gone"},
    /* peers that have not begun, or may end too early */
    {"store %12[%0] i32 %0 align 4\n" DONE, "store touches shared memory of block 1 of the cluster, and nothing says that it has begun: cluster.arrive and cluster.wait come before"},
    {DONE "if %17 {\n  %30 = load i32 %12[%0] align 4\n}", "load: block 1 of the cluster ended, and had not waited for this access to its shared memory: cluster.arrive and cluster.wait at the end of the kernel keep it"},
    {INIT("%5") "if %17 {\n  mbarrier.arrive %13[0] pred %9 scope=cluster\n}", "mbarrier.arrive: block 1 of the cluster ended, and had not waited for this access"},
    /* what copies, and wgmma, do not see */
    {"store %2[%0] i32 %0 align 4\nbarrier\nbulk.store %1[0] from %2[0] bytes %8 pred %9\nbulk.commit\nbulk.wait",
        "bulk.store reads byte 0 of shared memory, which `store` at line 26 wrote, and no fence.proxy kind=async.shared came in between: who writes executes it before the barrier"},
    {"store %2[%0] i32 %0 align 4\nfence.proxy kind=async.global\nbarrier\nbulk.store %1[0] from %2[0] bytes %8 pred %9\nbulk.commit\nbulk.wait",
        "which `store` at line 26 wrote, and no fence.proxy kind=async.shared"},
    {"%30 = atom.add i32 %2[%4] i32 %5\nbarrier\nbulk.store %1[0] from %2[0] bytes %8 pred %9\nbulk.commit\nbulk.wait", "which `atom` at line 26 wrote, and no fence.proxy"},
    {"cp.async %2[%0] %1[%0] bytes=4 of=4\ncp.async.wait\nbarrier\nbulk.store %1[0] from %2[0] bytes %8 pred %9\nbulk.commit\nbulk.wait", "which `cp.async` at line 26 wrote, and no fence.proxy"},
    {INIT("%5") "store %2[%0] i32 %0 align 4\nbarrier\nbulk.peer %12[64] from %2[0] done %13[0] bytes %7 pred %9\n", "bulk.peer reads byte 0 of shared memory, which `store` at line 32 wrote"},
    {"if %9 {\n  mbarrier.init %3[0] %5\n}\n" DONE "bulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9",
        "bulk.load: no fence.mbarrier_init came since the mbarrier at byte 1024 was made at line 27: the copy may not see it"},
    /* copies */
    {INIT("%5") "bulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9", "block 0 of its cluster ended before this had written its shared memory: nothing waited for it"},
    {"bulk.store %1[0] from %2[0] bytes %7 pred %9\nbulk.commit", "block 0 of its cluster ended before this had read its shared memory: nothing waited for it"},
    {INIT("%5") "%30 = add i32 %8, %4\nbulk.load %2[0] from %1[0] done %3[0] bytes %8 pred %9 mask %30\n", "bulk.load: mask 0x40 is none of the blocks of a cluster of 2"},
    {INIT("%5") "%30 = sub i32 %4, %5\nbulk.load %2[0] from %1[0] done %3[0] bytes %8 pred %9 mask %30\n", "bulk.load: mask 0xffffffffffffffff is none of the blocks of a cluster of 2"},
    {INIT("%5") "%30 = add i32 %4, %4\nbulk.load %2[0] from %1[0] done %3[0] bytes %8 pred %9 mask %30\n", "bulk.load: mask 0x0 is none of the blocks of a cluster of 2"},
    {INIT("%5") "%30 = const i32 3\nif %17 {\n  barrier\n  barrier\n  bulk.load %2[0] from %1[0] done %3[0] bytes %7 pred %9 mask %30\n}",
        "bulk.load: block 1 of the cluster has ended, and its memory is gone"},
    {"%30 = const i32 1048576\n%31 = add i32 %30, %4\nbulk.store %1[0] from %2[0] bytes %31", "bulk.store: 1048576 bytes: it takes a multiple of 16, less than 2^20"},
    {INIT("%5") "%30 = peer u64x4 %3, %10\nbulk.peer %12[0] from %2[0] done %30[0] bytes %7 pred %9", "bulk.peer: it writes block 1 of the cluster, and its mbarrier is in block 0"},
    {INIT("%5") "%30 = peer u64x4 %3, %10\nst.async %12[0] done %30[0] i32 %0", "st.async: it writes block 1 of the cluster, and its mbarrier is in block 0"},
    {DONE "st.async %12[0] done %13[0] i32 %0", "st.async: the mbarrier at byte 1024 was not initialised"},
    {INIT("%5") "%30 = load i32x4 %2[0] align 16\nst.async %12[%0] done %13[0] i32x4 %30", "st.async: shared memory: byte 4 is not aligned to 16 bytes"},
    {INIT("%5") "st.async %12[%14] done %13[0] i32 %0", "st.async: shared memory of a peer: bytes 1024 to 1027 of 1024 are outside"},
    {"st.async %12[0] done %13[0] i32 %0", "st.async touches shared memory of block 0 of the cluster, and nothing says that it has begun"},
    {INIT("%5") "mbarrier.expect_tx %3[0] %14 pred %9 arrive\nst.async %12[%0] done %13[0] i32 %0\n" WAIT("%3[0]", "%4") "barrier\nbulk.store %1[0] from %2[0] bytes %7 pred %9\nbulk.commit\nbulk.wait\n" DONE,
        "bulk.store reads byte 0 of shared memory, which `st.async` at line"},
    {"bulk.store %1[%0] from %2[0] bytes %7", "bulk.store: A: byte 4 is not aligned to 16 bytes"},
    {"%30 = mul i32 %0, %8\nbulk.store %1[%30] from %2[0] bytes %8", "bulk.store: A: bytes 4096 to 4159 of 4096 are outside"},
    {"%30 = mul i32 %0, %7\nbulk.store %1[0] from %2[%30] bytes %8", "bulk.store: shared memory: bytes 1024 to 1087 of 1024 are outside"},
    {"%30 = add i32 %0, %7\nbulk.store %1[0] from %2[0] bytes %30", "bulk.store: 17 bytes: it takes a multiple of 16, less than 2^20"},
    /* memory at addresses */
    {"%30 = const u64 64\n%31 = gmem i32x0 %30 align=4\n%32 = load i32 %31[0] align 4", "load of global memory: 0x40 is no address of it"},
    {"%30 = gmem i32x16 %15 align=16\n%32 = load i32 %30[%0] align 4", "load of global memory: bytes 64 to 67 of 64 are outside"},
    {"%30 = const u64 4\n%31 = add u64 %15, %30\n%32 = gmem i32x16 %31 align=16\n%33 = load i32 %32[0] align 4", "bytes behind a multiple of 16, and gmem promises such a multiple"},
    {"%30 = const u64 4080\n%31 = add u64 %15, %30\n%32 = gmem i32x16 %31 align=16\nstore %32[4] i32 %0 align 4", "store to global memory: bytes 4096 to 4099 of an allocation of 4096 are outside"},
    /* registers */
    {"setmaxnreg way=dec count=240\nsetmaxnreg way=inc count=40", "setmaxnreg: up to 40 registers, and the thread has 240"},
    {"setmaxnreg way=dec count=24\nsetmaxnreg way=dec count=40", "setmaxnreg: down to 40 registers, and the thread has 24"},
    {"setmaxnreg way=dec count=240\nbarrier\nsetmaxnreg way=inc count=256", "at line 28: registers"},
    {"if %9 {\n  setmaxnreg way=dec count=24\n}", "setmaxnreg: only 1 of the warp's 32 threads are here"},
    /* maps that are none */
    {INIT("%5") "tma.load %2[0] from %15 done %3[0] pred %9 at %4", "tma.load: there is no tensor map"},
    {"%30 = const u64 16\n%31 = add u64 %15, %30\ntma.prefetch_map %31 pred %9", "tma.prefetch_map: a map lies at a multiple of 64, not at 0x"},
};

static int32_t *words_of(sett__allocations *blocks)
{
    int32_t *words = aligned_alloc(128, WORDS * 4);
    ck_assert(words && sett__allocation_add(blocks, words, WORDS * 4));
    for (int i = 0; i < WORDS; i++)
        words[i] = i;
    return words;
}

START_TEST(wrong_kernels)
{
    sett__allocations blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int32_t *words = words_of(&blocks);
    bool told = !*wrong[_i].text;
    char text[4096];
    sett_error e = {0};
    snprintf(text, sizeof text, "%s%s\n", SMALL(""), wrong[_i].lines);
    for (int n = 0; n < 8 && !told; n++) {
        const task t = {.text = text, .grid = {4}, .block = {64}, .cluster = {2}, .data = {words}, .bytes = {WORDS * 4}, .async = policy(n), .threads = 1, .blocks = &blocks};
        sett_status s = run_task(&t, &e);
        ck_assert_msg(!s || s == SETT_E_FAULT, "%s", e.text);
        told = s && strstr(e.text, wrong[_i].text) && !strncmp(e.text, "line ", 5);
    }
    ck_assert_msg(told, "`%s` gives: %s", wrong[_i].lines, e.text);
    sett__allocations_clear(&blocks);
    free(words);
}
END_TEST

/* Kernels that end well under every policy, and leave these words. */
#define OUT(value) "%80 = bid.x i32\n%81 = mul i32 %80, %8\n%82 = add i32 %81, %0\nstore %1[%82] i32 " value " align 4\n"
static int32_t other(int block, int thread)
{
    return 1000 * (block ^ 1) + thread;
}
static int32_t ranks(int block, int thread)
{
    return block % 2 + 10 * 2 + 100 * (block / 2) + 1000 * 2 + 10000 * (block % 2) + 100000 * 2 + 0 * thread;
}
static int32_t added(int block, int thread)
{
    return 64 * 3 + 0 * (block + thread);
}
static int32_t both(int block, int thread)
{
    return thread / 4 % 4 == 0 ? thread % 16 : -1 - 0 * block;
}
static int32_t first(int block, int thread)
{
    return thread + 0 * block;
}
static int32_t one(int block, int thread)
{
    return 1 + 0 * (block + thread);
}
static const struct {
    const char *lines;
    int32_t (*want)(int block, int thread);
} right[] = { /* what they read of X, nobody writes meanwhile: from word 512 on */
    /* A peer reads what the other wrote. */
    {"%30 = bid.x i32\n%31 = const i32 1000\n%32 = mul i32 %30, %31\n%33 = add i32 %32, %0\nstore %2[%0] i32 %33 align 4\ncluster.arrive\ncluster.wait\n"
     "%34 = load i32 %12[%0] align 4\ncluster.arrive\ncluster.wait\n" OUT("%34"), other},
    {"%30 = cluster_ctaid i32\n%31 = cluster_nctaid i32\n%32 = clusterid i32\n%33 = nclusterid i32\n%34 = cluster_nctarank i32\n%35 = const i32 10\n"
     "%36 = mul i32 %34, %35\n%37 = add i32 %36, %10\n%38 = mul i32 %30, %35\n%39 = add i32 %33, %38\n%40 = mul i32 %31, %35\n%41 = mul i32 %40, %35\n"
     "%42 = add i32 %39, %41\n%43 = mul i32 %42, %35\n%44 = add i32 %43, %32\n%45 = mul i32 %44, %35\n%46 = mul i32 %45, %35\n%47 = add i32 %46, %37\n" OUT("%47"), ranks},
    /* All threads of the peer add to a word, then arrive with a count. */
    {"store %2[%0] i32 %4 align 4\n%30 = const i32 32\n%31 = const i32 3\n" INIT("%8") "%32 = atom.add i32 %12[%4] i32 %31\nmbarrier.arrive %13[0] scope=cluster\n"
     "loop {\n  %90 = mbarrier.try_wait i1 %3[0] %4 scope=cluster\n  %91 = not i1 %90\n  while %91\n}\n%35 = load i32 %2[0] align 4\n" DONE OUT("%35"), added},
    /* A load to both blocks, by one. */
    {INIT("%5") "%30 = const i32 3\n%31 = and i1 %9, %17\nmbarrier.expect_tx %3[0] %8 pred %9 arrive\nbulk.load %2[0] from %1[512] done %3[0] bytes %8 pred %31 mask %30\n" WAIT("%3[0]", "%4")
     "%32 = const i32 15\n%33 = and i32 %0, %32\n%34 = load i32 %2[%33] align 4\n%35 = const i32 4\n%36 = div i32 %0, %35\n%37 = rem i32 %36, %35\n%38 = eq i1 %37, %4\n"
     "%39 = const i32 -1\n%40 = select i32 %38, %34, %39\n" DONE OUT("%40"), both},
    /* To the peer, whose barrier it completes. */
    {"store %2[%0] i32 %0 align 4\nfence.proxy kind=async.shared\n" INIT("%5") "mbarrier.expect_tx %3[0] %14 pred %9 arrive\nbulk.peer %12[64] from %2[0] done %13[0] bytes %14 pred %9\n" WAIT("%3[0]", "%4")
     "%33 = load i32 %2[%0 + 64] align 4\n" DONE OUT("%33"), first},
    /* Stores by groups; a reduction. */
    {"%31 = add i32 %0, %4\nstore %2[%0] i32 %31 align 4\nfence.proxy kind=async.shared\nbarrier\n%80 = bid.x i32\n%81 = mul i32 %80, %8\n"
     "bulk.store %1[%81] from %2[0] bytes %14 pred %9\nbulk.commit\nbulk.wait\nbarrier\n%32 = load i32 %1[%81] align 4\n", first},
    {"%80 = bid.x i32\n%81 = mul i32 %80, %8\n%82 = add i32 %81, %0\nstore %1[%82] i32 %4 align 4\nstore %2[%0] i32 %5 align 4\nfence.proxy kind=async\nbarrier\n"
     "bulk.reduce %1[%81] from %2[0] bytes %14 pred %9 op=max\nbulk.commit\nbulk.wait pending=1\nbulk.wait pending=0 read\nbulk.wait\n", one},
    /* What has been read may be written after the block's end. */
    {"store %2[%0] i32 %0 align 4\nfence.proxy kind=async.shared\nbarrier\n%80 = bid.x i32\n%81 = mul i32 %80, %8\nbulk.store %1[%81] from %2[0] bytes %14 pred %9\n"
     "bulk.commit\nbulk.wait read\n", first},
    /* Who ends has arrived at the cluster's barrier, also after the others have begun to wait. */
    {"if %17 {\n  cluster.arrive\n  cluster.wait\n} else {\n  barrier\n  barrier\n  barrier\n}\n" OUT("%0"), first},
    /* A block is its own peer, and knows of itself. */
    {"%30 = peer i32x256 %2, %10\nstore %30[%0] i32 %0 align 4\n%31 = load i32 %2[%0] align 4\n" OUT("%31"), first},
    /* A fence between proxies shows mbarriers too. */
    {"if %9 {\n  mbarrier.init %3[0] %5\n}\nfence.proxy kind=async.shared\n" DONE "mbarrier.expect_tx %3[0] %14 pred %9 arrive\nbulk.load %2[0] from %1[512] done %3[0] bytes %14 pred %9\n"
     WAIT("%3[0]", "%4") "%33 = load i32 %2[%0] align 4\n" DONE OUT("%33"), first},
    /* As many registers as there are. */
    {"setmaxnreg way=dec count=248\nsetmaxnreg way=inc count=248\n" OUT("%0"), first},
    /* Registers that one warp takes when the other gave them. */
    {"%31 = const i32 32\n%32 = lt i1 %0, %31\nsetmaxnreg way=dec count=120\nsetmaxnreg way=inc count=240\n" OUT("%0"), first},
    /* cp.async that arrives, both ways. */
    {INIT("%8") "cp.async %2[%0] %1[%0 + 512] bytes=4 of=4\ncp.async.mbarrier.arrive %3[0] noinc\n" WAIT("%3[0]", "%4") "%33 = load i32 %2[%0] align 4\n" DONE "barrier\n" OUT("%33"), NULL},
    {INIT("%8") "cp.async %2[%0] %1[%0 + 512] bytes=4 of=4\ncp.async.mbarrier.arrive %3[0]\nmbarrier.arrive %3[0]\n" WAIT("%3[0]", "%4") "%33 = load i32 %2[%0] align 4\n" DONE OUT("%33"), NULL},
    /* At an address that each thread computes. */
    {"%80 = bid.x i32\n%81 = mul i32 %80, %8\n%82 = add i32 %81, %0\n%83 = convert u64 %82\n%84 = const u64 4\n%85 = mul u64 %83, %84\n%86 = add u64 %15, %85\n%87 = gmem i32x1 %86 align=4\nstore %87[0] i32 %0 align 4", first},
    /* A test that fails does other work meanwhile. */
    {INIT("%8") "mbarrier.arrive %3[0]\nloop {\n  %90 = mbarrier.test_wait i1 %3[0] %4\n  %91 = not i1 %90\n  while %91\n}\n" DONE OUT("%0"), first},
    /* A test that is made so many times, and no more. */
    {INIT("%5") "%30 = rmem i32x1\n%31 = const i32 5000\nstore %30[0] %4 align 4\nloop {\n  %90 = mbarrier.test_wait i1 %3[0] %4\n  %91 = not i1 %90\n  %92 = load i32 %30[0] align 4\n"
     "  %93 = add i32 %92, %5\n  store %30[0] %93 align 4\n  %94 = lt i1 %93, %31\n  %95 = and i1 %91, %94\n  while %95\n}\n" DONE OUT("%0"), first},
    /* A warp goes round for a word that another writes when its copy has come. */
    {"%31 = const i32 32\n%32 = lt i1 %0, %31\nif %9 {\n  store %2[255] i32 %4 align 4\n}\n" INIT("%5") "if %32 {\n  mbarrier.expect_tx %3[0] %8 pred %9 arrive\n"
     "  bulk.load %2[0] from %1[512] done %3[0] bytes %8 pred %9\n" WAIT("%3[0]", "%4") "  if %9 {\n    store %2[255] i32 %5 align 4 volatile\n  }\n} else {\n"
     "  loop {\n    %40 = load i32 %2[255] align 4 volatile\n    %41 = eq i1 %40, %4\n    while %41\n  }\n}\n" DONE OUT("%0"), first},
};

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* many times as slow */
enum { POLICIES = 10 };
#else
enum { POLICIES = 30 };
#endif
START_TEST(right_kernels)
{
    sett__allocations blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int32_t *words = words_of(&blocks);
    char text[4096];
    sett_error e = {0};
    snprintf(text, sizeof text, "%s%s\n", SMALL(""), right[_i].lines);
    for (int n = 0; n < POLICIES; n++) {
        const task t = {.text = text, .grid = {4}, .block = {64}, .cluster = {2}, .data = {words}, .bytes = {WORDS * 4}, .async = policy(n), .threads = 1 + n % 2, .blocks = &blocks};
        for (int i = 0; i < WORDS; i++)
            words[i] = i % 64;
        ck_assert_msg(!run_task(&t, &e), "`%s`, policy %d: %s", right[_i].lines, n, e.text);
        for (int i = 0; i < 256; i++)
            ck_assert_msg(words[i] == (right[_i].want ? right[_i].want(i / 64, i % 64) : i % 64), "`%s`, policy %d: word %d is %d", right[_i].lines, n, i, words[i]);
    }
    sett__allocations_clear(&blocks);
    free(words);
}
END_TEST

/* A warp waits for an mbarrier in a loop that ends otherwise too, for a word that nobody writes: no deadlock that could be known. */
START_TEST(limit_of_time)
{
    static int32_t words[WORDS];
    char text[4096];
    sett_error e;
    snprintf(text, sizeof text, "%s%s\n", SMALL(""), INIT("%5") "loop {\n  %30 = mbarrier.try_wait i1 %3[0] %4\n  %31 = load i32 %1[0] align 4 volatile\n  %32 = eq i1 %31, %4\n"
             "  %33 = not i1 %30\n  %34 = and i1 %32, %33\n  while %34\n}\n" DONE);
    task t = {.text = text, .grid = {4}, .block = {64}, .cluster = {2}, .data = {words}, .bytes = {sizeof words}, .async = policy(1), .timeout_ms = 100};
    char said[100];
    do { /* a busy machine may not get to the loop in so long */
        ck_assert_int_eq(run_task(&t, &e), SETT_E_FAULT);
        snprintf(said, sizeof said, "not done after %d ms, the limit of a launch: it was ", t.timeout_ms);
        ck_assert_msg(!strncmp(e.text, "line ", 5) && strstr(e.text, said), "%s", e.text);
    } while (!strstr(e.text, " at line 33: mbarrier at byte 1024, phase 0: 1 of 1 arrivals missing") && (t.timeout_ms *= 4) < 60000);
    ck_assert_msg(t.timeout_ms < 60000, "%s", e.text);
}
END_TEST

/* Thousands of copies, of which only the reading is waited for: their writes do not pile up. */
START_TEST(many_stores)
{
    enum { N = 3000, ROW = 128 };
    static float d[N * ROW];
    sett_error e;
    const char text[] = HEAD("sym N\nparam D f32 (N,128):(128,1) align 128 write\ngrid 1\nblock 32\nsmem 512 align 128\n")
        "%0 = tid.x i32\n%1 = param f32 D\n%2 = smem f32x128 at 0\n%3 = const i32 0\n%4 = const i32 1\n%5 = sym i32 N\n%7 = const i32 16\n%8 = const i32 128\n%14 = const i32 4\n"
        "%15 = mul i32 %0, %14\n%16 = const f32 2.0\nstore %2[%15] f32 %16 align 4\nstore %2[%15 + 1] f32 %16 align 4\nstore %2[%15 + 2] f32 %16 align 4\n"
        "store %2[%15 + 3] f32 %16 align 4\nfence.proxy kind=async.shared\n"
        "for %11 = %3 to %5 step %4 {\n  %12 = mul i32 %11, %8\n  %13 = add i32 %12, %15\n  bulk.store %1[%13] from %2[%15] bytes %7\n  bulk.commit\n  bulk.wait read\n}\nbulk.wait\n";
    for (int n = 0; n < 3; n++) {
        const task t = {.text = text, .grid = {1}, .block = {32}, .data = {d}, .bytes = {sizeof d}, .sym = {N}, .async = policy(n)};
        memset(d, 0, sizeof d);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", n, e.text);
        for (int i = 0; i < N * ROW; i++)
            ck_assert_float_eq(d[i], 2);
    }
}
END_TEST

/* As many blocks as an H200 has room for meet, each with megabytes of registers. */
START_TEST(large_blocks_meet)
{
    enum { BLOCKS = 132, THREADS = 1024 };
    static int32_t met[4], done[BLOCKS];
    sett_error e;
    const char text[] = HEAD("param F i32 (4):(1) align 16 read write\nparam D i32 (132):(1) align 4 write\ngrid 132\nblock 1024\nlaunch min_blocks 1\n")
        "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param i32 F\n%3 = param i32 D\n%4 = const i32 0\n%5 = const i32 1\n%6 = const i32 132\n%20 = rmem i32x512\n%7 = eq i1 %0, %4\n"
        "store %20[0] i32 %1 align 4\nif %7 {\n  %9 = atom.add i32 %2[0] %5 order=acq_rel scope=gpu\n  loop {\n    %10 = atom.add i32 %2[0] %4 order=acq_rel scope=gpu\n"
        "    %11 = lt i1 %10, %6\n    while %11\n  }\n}\n%30 = load i32 %20[0] align 4\nstore %3[%1] i32 %30 align 4 pred %7\n";
    const task t = {.text = text, .grid = {BLOCKS}, .block = {THREADS}, .data = {met, done}, .bytes = {sizeof met, sizeof done}, .async = policy(1), .threads = 2};
    met[0] = 0;
    ck_assert_msg(!run_task(&t, &e), "%s", e.text);
    for (int i = 0; i < BLOCKS; i++)
        ck_assert_int_eq(done[i], i);
}
END_TEST

/* Each block stores 4 words twice, by two threads: what nobody waits for happens when the policy lets it. The words are overwritten
 * before the last wait, so that 1 is a copy that had read them, and 2 one that had not. */
#define STORED(other, lines) \
    "%30 = bid.x i32\n%31 = mul i32 %30, %8\n%32 = const i32 " other "\n%33 = eq i1 %0, %32\nstore %2[%0] i32 %5 align 4\nfence.proxy kind=async.shared\nbarrier\n" \
    "bulk.store %1[%31 + 16] from %2[16] bytes %7 pred %33\nbulk.store %1[%31] from %2[0] bytes %7 pred %9\n" lines \
    "barrier\nstore %2[%0] i32 %6 align 4\nfence.proxy kind=async.shared\nbarrier\nbulk.commit\nbulk.wait\n"
static const char *const stored[] = {
    STORED("1", "bulk.commit\nif %9 {\n  bulk.wait\n}\n"),   /* the other lane does not wait */
    STORED("1", "if %9 {\n  bulk.commit\n}\nbulk.wait\n"),   /* its store is of no group yet */
    STORED("32", "bulk.commit\nif %9 {\n  bulk.wait\n}\n"),  /* the other warp does not wait */
};

START_TEST(only_what_is_waited_for)
{
    sett__allocations blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};
    int32_t *words = words_of(&blocks);
    char text[4096];
    sett_error e = {0};
    snprintf(text, sizeof text, "%s%s", SMALL(""), stored[_i]);
    for (int lazy = 0; lazy < 2; lazy++) {
        const task t = {.text = text, .grid = {4}, .block = {64}, .cluster = {2}, .data = {words}, .bytes = {WORDS * 4}, .async = policy(lazy), .threads = 1, .blocks = &blocks};
        ck_assert_msg(!run_task(&t, &e), "%s: %s", text, e.text);
        for (int i = 0; i < 4 * 64; i++)
            ck_assert_msg(words[i] == (i % 64 < 4 ? 1 : i % 64 >= 16 && i % 64 < 20 ? 1 + lazy : i), "policy %d: word %d is %d", lazy, i, words[i]);
    }
    sett__allocations_clear(&blocks);
    free(words);
}
END_TEST

Suite *together_suite(void);
Suite *together_suite(void)
{
    Suite *s = suite_create("together");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, peer_sum);
    tcase_add_test(t, copies_by_pieces);
    tcase_add_test(t, the_newest_group_may_wait);
    tcase_add_loop_test(t, wrong_kernels, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, only_what_is_waited_for, 0, (int)SETT__COUNT(stored));
    tcase_add_loop_test(t, right_kernels, 0, (int)SETT__COUNT(right));
    tcase_add_test(t, limit_of_time);
    tcase_add_test(t, many_stores);
    tcase_add_test(t, large_blocks_meet);
    suite_add_tcase(s, t);
    return s;
}
