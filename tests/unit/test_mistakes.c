/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes seeded into the programs of tests/tape: each is a change of their text. Of each it is known how it is found: the tape is
 * refused; level 0 of the CPU engine reports it, with the line, under some policy; results differ under some policy; or nothing but a
 * checker of races can tell. None of them may hang. */
#include "tests/rig/async_rig.h"

#ifdef __SANITIZE_ADDRESS__ /* several times as slow: every fourth mistake */
enum { SELDOM = 1 };
#else
enum { SELDOM = 0 };
#endif
enum { POLICIES = 32, TENSORS = 4, ROOM = 1 << 17 };

/* ---- the programs, each at one small shape --------------------------------------------------------------- */
typedef struct size { const char *name; int value; } size;
typedef struct program {
    const char *name;
    uint32_t grid, block, cluster;
    size sym[9];
    int bytes[TENSORS]; /* of each tensor */
    int out;            /* the one that is written */
    char type;          /* of the others: h, bf16; f, f32 */
} program;

enum { GEMM_MMA, LOOP, ATTENTION, GEMM, PINGPONG, PEER_SUM, TRANSPOSE, GROUPED };
static const program programs[] = {
    [GEMM_MMA] = {"gemm_mma", 1, 256, 0, {{"M", 128}, {"N", 256}, {"K", 320}, {"LA", 320}, {"LB", 320}, {"LC", 256}}, {128 * 640, 256 * 640, 128 * 512}, 2, 'h'},
    [LOOP] = {"wgmma_loop", 1, 128, 0, {{"M", 64}, {"N", 256}, {"K", 256}}, {64 * 512, 256 * 512, 128 * 512}, 2, 'h'},
    [ATTENTION] = {"wgmma_attention", 1, 128, 0, {{"M", 64}, {"N", 256}}, {64 * 128, 256 * 128, 256 * 128, 64 * 256}, 3, 'h'},
    [GEMM] = {"gemm_wgmma", 2, 384, 2, {{"M", 256}, {"N", 512}, {"K", 256}, {"LA", 256}, {"LB", 256}, {"LC", 512}, {"R", 2}, {"W", 1}},
        {256 * 512, 512 * 512, 256 * 1024, 8}, 2, 'h'},
    [PINGPONG] = {"gemm_wgmma_pingpong", 2, 384, 2, {{"M", 256}, {"N", 512}, {"K", 192}, {"LA", 192}, {"LB", 192}, {"LC", 512}, {"R", 4}, {"W", 1}},
        {256 * 384, 512 * 384, 256 * 1024, 16}, 2, 'h'},
    [PEER_SUM] = {"peer_sum", 8, 128, 2, {{"N", 1024}}, {4096, 16}, 1, 'f'},
    [TRANSPOSE] = {"transpose_tma", 4, 256, 0, {{"M", 64}, {"N", 64}, {"LA", 64}, {"LD", 64}}, {64 * 256, 64 * 256}, 1, 'f'},
    [GROUPED] = {"grouped_copy", 2, 32, 0, {{"G", 2}, {"N", 4096}}, {16384, 16384, 2 * 32, 2 * 256}, 1, 'f'},
};
static const int32_t tiles[] = {0, 1, 2, 3};
static const int64_t groups[2][4] = {{0, 40, 64, 64}, {12288, 16, 36, 36}};

static uint64_t state;
static uint32_t draw(uint32_t n)
{
    return (uint32_t)(sett__random(&state) % n);
}

/* Small whole numbers, whose sums are exact. */
static void fill(void *to, int bytes, char type)
{
    for (int i = 0; i < bytes / (type == 'f' ? 4 : 2); i++) {
        float x = (float)((int)draw(9) - 4);
        uint32_t bits;
        memcpy(&bits, &x, 4);
        if (type == 'f')
            ((uint32_t *)to)[i] = bits;
        else
            ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    }
}

typedef struct bench {
    const program *p;
    task t;
    char *text, *want;
} bench;

static void set_up(bench *b, const program *p)
{
    char file[80];
    *b = (bench){.p = p, .t = {.grid = {p->grid}, .block = {p->block}, .cluster = {p->cluster}, .threads = 1}};
    snprintf(file, sizeof file, "tests/tape/%s.tape", p->name);
    b->text = read_text(file);
    state = 17;
    for (int i = 0; i < TENSORS && p->bytes[i]; i++) {
        ck_assert((b->t.data[i] = aligned_alloc(128, (size_t)(p->bytes[i] + 127) / 128 * 128)));
        b->t.bytes[i] = (size_t)p->bytes[i];
        fill(b->t.data[i], p->bytes[i], p->type);
    }
    if (p == &programs[GEMM] || p == &programs[PINGPONG])
        memcpy(b->t.data[3], tiles, (size_t)p->bytes[3]);
    if (p == &programs[GROUPED])
        memcpy(b->t.data[2], groups, sizeof groups);
    if (p == &programs[TRANSPOSE])
        b->t.grid[0] = b->t.grid[1] = 2;
}

static void take_down(bench *b)
{
    for (int i = 0; i < TENSORS; i++)
        free(b->t.data[i]);
    free(b->text), free(b->want);
}

/* SETT_E_VERIFY, SETT_E_SYNTAX...: refused; SETT_E_TARGET: the engine cannot run the program. */
static sett_status run_text(bench *b, const char *text, int by, sett_error *e)
{
    sett__tape tape = {0};
    sett__program *p;
    *e = (sett_error){.status = SETT_OK};
    b->t.async = policy(by);
    memset(b->t.data[b->p->out], 0xff, b->t.bytes[b->p->out]);
    if (b->p == &programs[GROUPED]) /* where the kernel makes its maps */
        memset(b->t.data[3], 0, b->t.bytes[3]);
    sett_status s = sett__tape_parse(&tape, text, e);
    if (s)
        return SETT_E_VERIFY;
    for (uint32_t i = 0; i < tape.sig.n_sym; i++)
        for (const size *x = b->p->sym; x->name; x++)
            if (!strcmp(x->name, tape.sig.sym[i].name))
                b->t.sym[i] = x->value;
    s = sett__program_make(&tape, false, &p, e);
    if (!s) {
        s = run_task_program(p, &tape.sig, &b->t, e);
        sett__program_free(p);
    }
    sett__tape_free(&tape);
    return s;
}

/* What the program gives as it is, under each policy. False: it cannot run here. */
static bool learn(bench *b, int policies)
{
    const size_t bytes = b->t.bytes[b->p->out];
    sett_error e;
    ck_assert((b->want = malloc(bytes)));
    for (int n = 0; n < policies; n++) {
        sett_status s = run_text(b, b->text, n, &e);
        if (s == SETT_E_TARGET)
            fprintf(stderr, "skipped: %s: %s\n", b->p->name, e.text);
        if (s == SETT_E_TARGET)
            return false;
        ck_assert_msg(!s, "%s, policy %d: %s", b->p->name, n, e.text);
        if (!n)
            memcpy(b->want, b->t.data[b->p->out], bytes);
        ck_assert_msg(!memcmp(b->want, b->t.data[b->p->out], bytes), "%s, policy %d", b->p->name, n);
    }
    return true;
}

START_TEST(right)
{
    bench b;
    set_up(&b, &programs[_i]);
    learn(&b, POLICIES);
    take_down(&b);
}
END_TEST

/* ---- the mistakes --------------------------------------------------------------------------------------------- */
/* REFUSED and REPORTED: with this text; WRONG: results differ under some policy; RACE: none of this, and why. */
enum found { REFUSED, REPORTED, WRONG, RACE };
static const char *const found_word[] = {"refused", "reported", "wrong results", "only a checker of races sees it"};
static const struct mistake {
    int program;
    const char *what;
    enum found found;
    const char *text;
    const char *from, *to; /* each `from` in the text becomes `to` */
} mistakes[] = {
    /* ---- cp.async and ldmatrix */
    {GEMM_MMA, "the wait of the loop is dropped", WRONG, "", "    cp.async.wait pending=1\n    barrier\n", "    barrier\n"},
    {GEMM_MMA, "it waits for one group too few", WRONG, "", "cp.async.wait pending=1", "cp.async.wait pending=2"},
    {GEMM_MMA, "no barrier after the wait of the loop", WRONG, "", "    cp.async.wait pending=1\n    barrier\n", "    cp.async.wait pending=1\n"},
    {GEMM_MMA, "it copies to the stage that is computed", WRONG, "", "%199 = select i32 %198, %38, %197", "%199 = select i32 %198, %193, %193"},
    {GEMM_MMA, "the commit of the loop is dropped", WRONG, "", "    cp.async.commit\n", ""},
    {GEMM_MMA, "the next stage is the one after it", REPORTED, "is outside shared memory", "%194 = add i32 %193, %37", "%194 = add i32 %193, %38"},
    {GEMM_MMA, "ldmatrix in a branch", REPORTED, "ldmatrix: only 16 of the warp's 32 threads are here", "    %241 = add i32 %193, %120\n",
        "    %241 = add i32 %193, %120\n    %900 = lt i1 %98, %23\n    if %900 {\n        %901 = ldmatrix bf16x8 %11[%241]\n        store %13[0] bf16x8 %901 align 16\n    }\n"},
    /* ---- wgmma with plain stores */
    {LOOP, "no fence.proxy", REPORTED, "no fence.proxy kind=async.shared came in between", "    fence.proxy kind=async.shared\n", ""},
    {LOOP, "the fence is of global memory", REPORTED, "no fence.proxy kind=async.shared came in between", "fence.proxy kind=async.shared", "fence.proxy kind=async.global"},
    {LOOP, "no barrier before the products", RACE, "a product begins when all four warps are there, behind their stores", "    barrier\n\n", "\n"},
    {LOOP, "no barrier before the slot is written", RACE, "products end in all four warps at once, and the wait of one speaks for all", "    barrier ; all warps", "    ; all warps"},
    {LOOP, "a descriptor of another swizzle", WRONG, "", "%61 = desc u64 %5[%33] swizzle=128", "%61 = desc u64 %5[%33] swizzle=64"},
    {LOOP, "a stride of 4 rows", WRONG, "", "swizzle=128 stride=1024", "swizzle=128 stride=512"},
    {LOOP, "the copies go to the slot that is multiplied", WRONG, "", "%33 = mul i32 %32, %15", "%33 = mul i32 %7, %15"},
    {LOOP, "the slot is waited for one group too late", WRONG, "", "    wgmma.wait pending=1", "    wgmma.wait pending=2"},
    {LOOP, "the last wait is dropped", REFUSED, "is in flight since", "wgmma.wait %6 pending=0\n", ""},
    {LOOP, "the last wait leaves a group", REFUSED, "", "wgmma.wait %6 pending=0", "wgmma.wait %6 pending=1"},
    {LOOP, "no wgmma.fence", REFUSED, "wgmma.fence", "    wgmma.fence %6\n", ""},
    {LOOP, "no wgmma.commit", REFUSED, "", "    wgmma.commit\n", ""},
    {LOOP, "two warps do not multiply", REPORTED, "wgmma: warp 0 of its group is at another one", "    wgmma %6, %67, %68, %16 row=m64nNk16.f32.bf16.bf16 n=256\n",
        "    %900 = lt i1 %20, %9\n    if %900 {\n        wgmma %6, %67, %68, %16 row=m64nNk16.f32.bf16.bf16 n=256\n    }\n"},
    {ATTENTION, "no fence.proxy", REPORTED, "no fence.proxy kind=async.shared came in between", "    fence.proxy kind=async.shared\n", ""},
    {ATTENTION, "P is overwritten while it is read", REFUSED, "is in flight since", "    wgmma.wait %10, %11 pending=0\n", ""},
    {ATTENTION, "S is read one group too early", REFUSED, "pending", "wgmma.wait %9 pending=1", "wgmma.wait %9 pending=2"},
    {ATTENTION, "V of the wrong tile", WRONG, "", "select i32 %64, %54, %53", "select i32 %64, %53, %53"},
    {ATTENTION, "V is not transposed", REPORTED, "wgmma reads bytes", "n=64 a_at=8 trans_b", "n=64 a_at=8"},
    /* ---- a pipeline of boxes in a cluster */
    {GEMM, "no barrier of the cluster at the beginning", REPORTED, "", "syncwarp\ncluster.arrive\ncluster.wait\n\nif %56", "syncwarp\n\nif %56"},
    {GEMM, "no barrier of the cluster at the end", REPORTED, "cluster.arrive and cluster.wait at the end of the kernel keep it", "; No block leaves while its peer may arrive at its barriers, or load into its stages.\nsyncwarp\ncluster.arrive\ncluster.wait", ""},
    {GEMM, "an mbarrier is not made", REPORTED, "was not initialised", "    mbarrier.init %12[1] %21\n", ""},
    {GEMM, "an mbarrier is made twice", REPORTED, "there is an mbarrier at byte", "mbarrier.init %13[0] %24", "mbarrier.init %12[0] %24"},
    {GEMM, "no fence.mbarrier_init", REPORTED, "no fence.mbarrier_init came since the mbarrier at byte", "    fence.mbarrier_init\n", ""},
    {GEMM, "too few bytes are announced", REPORTED, "", "mbarrier.expect_tx %12[%84] %41 arrive", "mbarrier.expect_tx %12[%84] %40 arrive"},
    {GEMM, "too many bytes are announced", REPORTED, "missing", "%41 = const i32 49152", "%41 = const i32 65536"},
    {GEMM, "the loader does not arrive", REPORTED, "1 of 1 arrivals", "mbarrier.expect_tx %12[%84] %41 arrive", "mbarrier.expect_tx %12[%84] %41"},
    {GEMM, "the loader's parity stays", REPORTED, "", "%94 = xor i32 %85, %93", "%94 = xor i32 %85, %20"},
    {GEMM, "the readers' parity stays", REPORTED, "", "%141 = and i32 %137, %21", "%141 = and i32 %137, %20"},
    {GEMM, "the loader waits for no empty stage", REPORTED, "", "                    %87 = not i1 %86\n", "                    %87 = lt i1 %84, %20\n"},
    {GEMM, "the readers wait for no full stage", REPORTED, "a wait that never ends", "                %164 = not i1 %163\n", "                %164 = lt i1 %161, %20\n"},
    {GEMM, "a stage is given back one stage early", REPORTED, "", "mbarrier.arrive %102[%175]", "mbarrier.arrive %102[%161]"},
    {GEMM, "the last stage is not given back", REPORTED, "missing", "        %181 = load i32 %19[0] align 4\n        mbarrier.arrive %102[%181] pred %101 scope=cluster order=relaxed\n", ""},
    {GEMM, "a stage is given back to the own block alone", WRONG, "", "%102 = peer u64x3 %13, %100", "%102 = peer u64x3 %13, %1"},
    {GEMM, "half of the arrivals", REPORTED, "", " %24\n    mbarrier.init %13[1] %24\n    mbarrier.init %13[2] %24", " %22\n    mbarrier.init %13[1] %22\n    mbarrier.init %13[2] %22"},
    {GEMM, "one block is left out of the multicast", REPORTED, "missing", "done %12[%84] mask %23 at", "done %12[%84] mask %21 at"},
    {GEMM, "a multicast to blocks that are not there", REFUSED, "a mask has a bit for each of 2 blocks", "done %12[%84] mask %23 at", "done %12[%84] mask %27 at"},
    {GEMM, "more registers than there are", REPORTED, "registers", "setmaxnreg way=inc count=240", "setmaxnreg way=inc count=248"},
    {GEMM, "setmaxnreg of one thread", REPORTED, "setmaxnreg: only 1 of the warp's 32 threads are here", "    setmaxnreg way=dec count=24\n    if %57 {\n", "    if %57 {\n    setmaxnreg way=dec count=24\n"},
    {GEMM, "setmaxnreg of one warp", REPORTED, "registers", "    setmaxnreg way=dec count=24\n",
        "    %900 = eq i1 %53, %20\n    if %900 {\n    setmaxnreg way=dec count=24\n    }\n"},
    {GEMM, "a descriptor of another swizzle", REPORTED, "both must have the same", "%127 = desc u64 %10[%103] swizzle=128", "%127 = desc u64 %10[%103] swizzle=64"},
    {GEMM, "boxes without a swizzle", REPORTED, "both must have the same", "box (64,128) swizzle 128 l2 128", "box (64,128) l2 128"},
    {GEMM, "a box past the end of shared memory", REPORTED, "are outside", "tma.load %10[%89 + 8192] from", "tma.load %10[%89 + 32768] from"},
    {GEMM, "a box of twice the rows", REPORTED, "", "map mA A bf16 (K,M) bytes (LA*2) box (64,128)", "map mA A bf16 (K,M) bytes (LA*2) box (64,256)"},
    {GEMM, "no fence.proxy before the stores", REPORTED, "no fence.proxy kind=async.shared came in between", "        fence.proxy kind=async.shared\n", ""},
    {GEMM, "no barrier before a store", WRONG, "", "        fence.proxy kind=async.shared\n        barrier.sync %104, %34\n", "        fence.proxy kind=async.shared\n"},
    {GEMM, "the last wait for stores is dropped", REPORTED, "ended before this had read its shared memory", "    bulk.wait read\n", ""},
    {GEMM, "a panel is written while it is stored", WRONG, "", "        bulk.wait pending=3 read\n", ""},
    {GEMM, "stores of no group", REPORTED, "ended before this had read its shared memory", "        bulk.commit\n", ""},
    {GEMM, "stmatrix in a branch", REPORTED, "stmatrix: only", "        stmatrix %11[%115] bf16x8 %201\n", "        if %57 {\n        stmatrix %11[%115] bf16x8 %201\n        }\n"},
    {GEMM, "cluster.wait without cluster.arrive", REPORTED, "cluster.wait: the thread has not arrived", "syncwarp\ncluster.arrive\ncluster.wait\n\nif %56", "syncwarp\ncluster.wait\n\nif %56"},
    {PINGPONG, "a turn is not passed on", REPORTED, "missing", "        mbarrier.arrive %14[%118] pred %67\n", ""},
    {PINGPONG, "products of the stage before", WRONG, "", "%122 = desc u64 %10[0]", "%122 = desc u64 %10[16384]"},
    {PINGPONG, "two arrivals for a turn", REPORTED, "missing", "mbarrier.init %14[0] %31", "mbarrier.init %14[0] %32"},
    /* ---- memory of a peer */
    {PEER_SUM, "no barrier of the cluster", REPORTED, "", "syncwarp\ncluster.arrive\ncluster.wait\n", ""},
    {PEER_SUM, "half of the arrivals", REPORTED, "", "mbarrier.init %8[0] %13", "mbarrier.init %8[0] %12"},
    {PEER_SUM, "twice the arrivals", REPORTED, "missing", "mbarrier.init %8[0] %13", "mbarrier.init %8[0] %14"},
    {PEER_SUM, "nobody waits for the arrivals", WRONG, "", "        %63 = not i1 %62\n", "        %63 = ne i1 %9, %9\n"},
    {PEER_SUM, "the other parity", REPORTED, "", "mbarrier.try_wait i1 %8[0] %9", "mbarrier.try_wait i1 %8[0] %10"},
    {PEER_SUM, "the sum is stored in the own block", WRONG, "", "store %18[%53]", "store %7[%53]"},
    {PEER_SUM, "an arrival at a peer of the block's scope", REFUSED, "scope=cluster", "mbarrier.arrive %19[0] pred %50 scope=cluster", "mbarrier.arrive %19[0] pred %50"},
    {PEER_SUM, "an arrival that releases nothing", RACE, "the engine keeps what a thread writes from nobody", "mbarrier.arrive %19[0] pred %50 scope=cluster", "mbarrier.arrive %19[0] pred %50 scope=cluster order=relaxed"},
    {PEER_SUM, "a wait of the block's scope", RACE, "the engine keeps what a thread writes from nobody", "%8[0] %9 scope=cluster", "%8[0] %9"},
    {PEER_SUM, "a rank that is not there", REFUSED, "a rank in the cluster is 0 to 1", "%18 = peer f32x8 %7, %9", "%18 = peer f32x8 %7, %11"},
    /* ---- boxes */
    {TRANSPOSE, "too few bytes are announced", REPORTED, "", "%20 = const i32 4096", "%20 = const i32 2048"},
    {TRANSPOSE, "too many bytes are announced", REPORTED, "missing", "%20 = const i32 4096", "%20 = const i32 8192"},
    {TRANSPOSE, "no barrier after mbarrier.init", REPORTED, "was not initialised", "fence.mbarrier_init\nbarrier\n", "fence.mbarrier_init\n"},
    {TRANSPOSE, "every thread makes the mbarrier", REPORTED, "there is an mbarrier at byte", "if %11 {\n    mbarrier.init %7[0] %9\n}\n", "mbarrier.init %7[0] %9\n"},
    {TRANSPOSE, "the box is not waited for", WRONG, "", "    %25 = not i1 %24\n", "    %25 = ne i1 %8, %8\n"},
    {TRANSPOSE, "no fence.proxy", REPORTED, "no fence.proxy kind=async.shared came in between", "fence.proxy kind=async.shared\n", ""},
    {TRANSPOSE, "no barrier before the store", WRONG, "", "fence.proxy kind=async.shared\nbarrier\n", "fence.proxy kind=async.shared\n"},
    {TRANSPOSE, "the store is not waited for", REPORTED, "ended before this had read its shared memory", "bulk.wait\n", ""},
    {TRANSPOSE, "the store's group is not committed", REPORTED, "ended before this had read its shared memory", "bulk.commit\n", ""},
    {TRANSPOSE, "a box that is not aligned", REFUSED, "is not aligned to the 128 bytes", "tma.store %6[0]", "tma.store %6[4]"},
    {TRANSPOSE, "a coordinate is missing", REFUSED, "", "pred %11 at %12, %13", "pred %11 at %12"},
    /* ---- maps that the kernel changes */
    {GROUPED, "no release of the changed maps", REPORTED, "no fence.proxy kind=tensormap.release came since", "    fence.proxy kind=tensormap.release\n", ""},
    {GROUPED, "no acquire of a changed map", REPORTED, "no fence.proxy kind=tensormap.acquire of it came since", "    fence.proxy map %5[%35] kind=tensormap.acquire\n", ""},
    {GROUPED, "the parity stays", REPORTED, "", "%48 = xor i32 %45, %11", "%48 = xor i32 %45, %10"},
    {GROUPED, "nobody expects the bytes", REPORTED, "missing", "mbarrier.expect_tx %9[0] %14 arrive", "mbarrier.expect_tx %9[0] %14"},
    {GROUPED, "a box comes while the last one is stored", WRONG, "", "            bulk.wait read\n", ""},
    {GROUPED, "the pitch is not changed", WRONG, "", "    tensormap.replace %5[%35] with %34 field=stride\n", ""},
    {GROUPED, "no map is copied", REPORTED, "there is no tensor map", "    tmap.copy %5[%35] from %2\n", ""},
};
enum { N_MISTAKES = SETT__COUNT(mistakes) };

static char *changed(const char *text, const struct mistake *m)
{
    char *to = calloc(1, ROOM);
    const char *at = strstr(text, m->from), *rest = text;
    ck_assert_ptr_nonnull(to);
    ck_assert_msg(at, "%s: %s: there is no `%s` any more", programs[m->program].name, m->what, m->from);
    for (; at; at = strstr(rest, m->from)) {
        strncat(to, rest, (size_t)(at - rest));
        strcat(to, m->to);
        rest = at + strlen(m->from);
    }
    strcat(to, rest);
    ck_assert_uint_lt(strlen(to), ROOM - 1);
    return to;
}

static enum found find(bench *b, const char *text, sett_error *e, int *by)
{
    bool wrong = false;
    sett_error now;
    for (*by = 0; *by < POLICIES; ++*by) {
        sett_status s = run_text(b, text, *by, &now);
        ck_assert_msg(!strstr(now.text, "not done after"), "%s", now.text);
        if (s)
            *e = now;
        if (s == SETT_E_VERIFY || s == SETT_E_FAULT)
            return s == SETT_E_VERIFY ? REFUSED : REPORTED;
        ck_assert_msg(!s, "%s", now.text);
        wrong |= memcmp(b->want, b->t.data[b->p->out], b->t.bytes[b->p->out]) != 0;
    }
    return wrong ? WRONG : RACE;
}

START_TEST(is_found)
{
    const struct mistake *m = &mistakes[_i];
    bench b;
    sett_error e = {0};
    int by;
    if (SELDOM && _i % 4)
        return;
    set_up(&b, &programs[m->program]);
    if (learn(&b, 1)) {
        char *text = changed(b.text, m);
        enum found f = find(&b, text, &e, &by);
        ck_assert_msg(f == m->found && (f >= WRONG || strstr(e.text, m->text)), "%s: %s: %s under policy %d: %s", b.p->name, m->what, found_word[f], by, e.text);
        ck_assert_msg(f != REPORTED || strstr(e.text, "line ") == e.text, "%s", e.text);
        free(text);
    }
    take_down(&b);
}
END_TEST

Suite *mistakes_suite(void);
Suite *mistakes_suite(void)
{
    Suite *s = suite_create("mistakes");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, right, 0, (int)SETT__COUNT(programs));
    tcase_add_loop_test(t, is_found, 0, N_MISTAKES);
    suite_add_tcase(s, t);
    return s;
}
