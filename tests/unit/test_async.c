/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine: copies that go on by themselves, and boxes of tensors. */
#include "tests/rig/async_rig.h"

enum { POLICIES = 102 };

START_TEST(transpose)
{
    enum { M = 77, N = 100, LA = 104, LD = 80 };
    static float a[M * LA], d[N * LD], want[N * LD];
    _Atomic uint64_t order;
    uint64_t seen[POLICIES];
    int n_seen = 0;
    task t = {.grid = {(N + 31) / 32, (M + 31) / 32}, .block = {256}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .sym = {M, N, LA, LD}, .threads = 2, .order = &order};
    char *text = read_text("tests/tape/transpose_tma.tape");
    sett_error e;
    t.text = text;
    memset(want, 0xff, sizeof want);
    for (int i = 0; i < M * LA; i++)
        a[i] = (float)i;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            want[n * LD + m] = a[m * LA + n];
    for (int n = 0; n < POLICIES; n++) {
        memset(d, 0xff, sizeof d);
        atomic_init(&order, 0);
        t.async = policy(n);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", n, e.text);
        ck_assert_mem_eq(d, want, sizeof d);
        int k = 0;
        while (k < n_seen && seen[k] != order)
            k++;
        seen[n_seen] = order;
        n_seen += k == n_seen;
    }
    ck_assert_int_ge(n_seen, 10);
    free(text);
}
END_TEST

/* ---- boxes, against a model ---------------------------------------------------------------------------------- */
/* Written from PTX's and the driver's rules of tiled tensor maps: element by element, with nothing of the engine's. */
enum { ROOM = 1 << 16, SHARED = 1 << 15 };
enum what { LOAD, STORE, ADD, MIN, MAX };
typedef struct drawn {
    int rank, size, swizzle, nan, step[5], box[5];
    long extent[5], stride[5], at[5]; /* stride: in bytes */
    const char *type;
    enum what what;
} drawn;
static const struct { const char *name; int size; char kind; } types[] = {{"u8", 1, '-'}, {"u16", 2, '-'}, {"u32", 4, 'u'}, {"i32", 4, 'i'},
    {"u64", 8, 'u'}, {"f16", 2, 'n'}, {"bf16", 2, 'n'}, {"f32", 4, 'f'}, {"f64", 8, 'n'}};

static uint64_t state;
static long draw(long n) /* 0 to n - 1 */
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (long)((state >> 33) % (uint64_t)n);
}

static long elements(const drawn *d, int k)
{
    return (d->box[k] + d->step[k] - 1) / d->step[k];
}

static long box_bytes(const drawn *d)
{
    long n = d->size;
    for (int k = 0; k < d->rank; k++)
        n *= elements(d, k);
    return n;
}

/* 16 << swizzle bytes: of an address, bits 4 on are exchanged with bits 7 on. */
static long swizzled(const drawn *d, long at)
{
    long bits = d->swizzle == 128 ? 7 : d->swizzle == 64 ? 3 : d->swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & bits) << 4);
}

static void draw_map(drawn *d)
{
    static const int swizzles[] = {0, 32, 64, 128};
    int t = (int)draw(sizeof types / sizeof *types);
    *d = (drawn){.rank = 1 + (int)draw(5), .size = types[t].size, .type = types[t].name, .swizzle = swizzles[draw(4)]};
    d->what = draw(2) ? LOAD : STORE;
    if (types[t].kind == 'u' || types[t].kind == 'i')
        d->what = (enum what)draw(5);
    else if (types[t].kind == 'f' && draw(3) == 0)
        d->what = ADD;
    d->nan = (types[t].kind == 'f' || types[t].kind == 'n') && draw(2);
    long pieces = d->swizzle ? d->swizzle / 16 : 16, far = 16;
    d->box[0] = (int)((1 + draw(pieces)) * 16 / d->size);
    d->box[0] = d->box[0] > 256 ? 256 / (16 / d->size ? 16 / d->size : 1) * (16 / d->size ? 16 / d->size : 1) : d->box[0];
    d->step[0] = 1;
    for (int k = 0; k < d->rank; k++) {
        if (k) {
            d->step[k] = draw(3) ? 1 : 1 + (int)draw(8);
            d->box[k] = 1 + (int)draw(k == 1 ? 40 : 4);
        }
        d->extent[k] = 1 + draw(k == 0 ? 300 : k == 1 ? 12 : 3);
        if (!k && d->what != LOAD) /* a row that is written is whole pieces of 16 bytes */
            d->extent[0] = (d->extent[0] * d->size + 15) / 16 * 16 / d->size;
        d->at[k] = draw(d->extent[k] + d->box[k] + 4) - d->box[k] - 1;
        if (k)
            d->stride[k] = far;
        far = k ? far * d->extent[k] : (d->extent[0] * d->size + 15) / 16 * 16 + 16 * draw(2);
    }
}

/* Of element `i` of the box: where it lies in the tensor; -1: outside. */
static long global_at(const drawn *d, long i)
{
    long at = 0;
    for (int k = 0; k < d->rank; k++) {
        long x = d->at[k] + i % elements(d, k) * d->step[k];
        i /= elements(d, k);
        if (x < 0 || x >= d->extent[k])
            return -1;
        at += x * (k ? d->stride[k] : d->size);
    }
    return at;
}

static void apply(const drawn *d, unsigned char *to, const unsigned char *from)
{
    uint64_t a = 0, b = 0;
    float x, y;
    memcpy(&a, to, (size_t)d->size), memcpy(&b, from, (size_t)d->size);
    int64_t p = d->type[0] == 'i' ? (int32_t)a : (int64_t)a, q = d->type[0] == 'i' ? (int32_t)b : (int64_t)b;
    bool less = d->type[0] == 'u' ? a < b : p < q;
    if (d->what == STORE)
        a = b;
    else if (d->type[0] == 'f') {
        memcpy(&x, to, 4), memcpy(&y, from, 4);
        x += y;
        memcpy(&a, &x, 4);
    } else
        a = d->what == ADD ? a + b : (d->what == MIN) == less ? a : b;
    memcpy(to, &a, (size_t)d->size);
}

static void model(const drawn *d, unsigned char *tensor, unsigned char *shared)
{
    for (long i = 0; i < box_bytes(d) / d->size; i++) {
        unsigned char *s = shared + swizzled(d, i * d->size / 16 * 16) + i * d->size % 16, fill[8];
        long g = global_at(d, i);
        memset(fill, d->nan ? 0xff : 0, sizeof fill);
        fill[d->size - 1] = d->nan ? 0x7f : 0;
        if (d->what == LOAD)
            memcpy(s, g < 0 ? fill : tensor + g, (size_t)d->size);
        else if (g >= 0)
            apply(d, tensor + g, s);
    }
}

static void list(char *to, size_t size, const drawn *d, const char *name, int what)
{
    size_t n = (size_t)snprintf(to, size, " %s(", name);
    for (int k = what == 1; k < d->rank; k++)
        n += (size_t)snprintf(to + n, size - n, "%s%ld", k > (what == 1) ? "," : "", what == 0 ? d->extent[k] : what == 1 ? d->stride[k] : what == 2 ? d->box[k] : d->step[k]);
    snprintf(to + n, size - n, ")");
}

static void text_of(const drawn *d, char *to, size_t size)
{
    static const char *const op[] = {"", "store", "reduce", "reduce", "reduce"}, *const how[] = {"", "", " op=add", " op=min", " op=max"};
    char extent[100], stride[100], box[100], step[100], more[40] = "", at[60] = "";
    list(extent, sizeof extent, d, "", 0), list(stride, sizeof stride, d, "bytes ", 1), list(box, sizeof box, d, "box ", 2), list(step, sizeof step, d, "step ", 3);
    if (d->swizzle)
        snprintf(more, sizeof more, " swizzle %d", d->swizzle);
    for (int k = 0; k < d->rank; k++)
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%%%d", k ? ", " : "", 20 + k);
    size_t n = (size_t)snprintf(to, size, HEAD("sym C0\nsym C1\nsym C2\nsym C3\nsym C4\nparam A %s (%d):(1) align 16 read write\nparam D u32 (%d):(1) align 16 read write\n")
        "map m A %s%s%s%s%s%s%s\nblock 32\nsmem %d align 1024\n%%0 = tid.x i32\n%%1 = param %s A\n%%2 = param u32 D\n%%3 = tmap %s m\n%%4 = smem u32x%d at 0\n"
        "%%5 = smem u64x1 at %d mbarrier\n%%6 = const i32 0\n%%7 = const i32 1\n%%8 = const i32 %d\n%%9 = const i32 %d\n%%10 = const i32 32\n%%11 = eq i1 %%0, %%6\n"
        "%%20 = sym i32 C0\n%%21 = sym i32 C1\n%%22 = sym i32 C2\n%%23 = sym i32 C3\n%%24 = sym i32 C4\n",
        d->type, ROOM / d->size, SHARED / 4, d->type, extent, d->rank > 1 ? stride : "", box, step, more, d->nan ? " nan" : "", SHARED + 8, d->type, d->type, SHARED / 4,
        SHARED, SHARED / 4, (int)box_bytes(d));
    if (d->what == LOAD)
        n += (size_t)snprintf(to + n, size - n, "if %%11 {\n  mbarrier.init %%5[0] %%7\n  mbarrier.expect_tx %%5[0] %%9 arrive\n}\n"
            "for %%30 = %%0 to %%8 step %%10 {\n  %%31 = load u32 %%2[%%30] align 4\n  store %%4[%%30] u32 %%31 align 4\n}\nfence.proxy kind=async\nbarrier\n"
            "tma.load %%4[0] from %%3 done %%5[0] pred %%11 at %s\nloop {\n  %%40 = mbarrier.try_wait i1 %%5[0] %%6\n  %%41 = not i1 %%40\n  while %%41\n}\n"
            "for %%50 = %%0 to %%8 step %%10 {\n  %%51 = load u32 %%4[%%50] align 4\n  store %%2[%%50] u32 %%51 align 4\n}\n", at);
    else
        n += (size_t)snprintf(to + n, size - n, "for %%30 = %%0 to %%8 step %%10 {\n  %%31 = load u32 %%2[%%30] align 4\n  store %%4[%%30] u32 %%31 align 4\n}\nfence.proxy kind=async\nbarrier\n"
            "tma.%s %%4[0] to %%3 pred %%11 at %s%s\nbulk.commit\nbulk.wait\n", op[d->what], at, how[d->what]);
    ck_assert_uint_lt(n, size);
}

/* Small whole numbers, whose sums every type holds. */
static void draw_bytes(const drawn *d, unsigned char *to)
{
    for (int i = 0; i < ROOM / d->size; i++) {
        float f = (float)(draw(17) - 8);
        uint64_t x = (uint64_t)draw(1l << 30);
        if (d->type[0] == 'f' && d->size == 4)
            memcpy(&x, &f, 4);
        memcpy(to + i * d->size, &x, (size_t)d->size);
    }
}

START_TEST(boxes)
{
    enum { MAPS = 400 };
    static _Alignas(64) unsigned char tensor[ROOM], want[ROOM], shared[ROOM], wanted[ROOM];
    char text[4096];
    state = 0x5e77u + (uint64_t)_i;
    for (int n = 0; n < MAPS; n++) {
        drawn d;
        sett_error e;
        do
            draw_map(&d);
        while (box_bytes(&d) > SHARED || (d.rank > 1 && d.stride[d.rank - 1] * d.extent[d.rank - 1] > ROOM));
        draw_bytes(&d, tensor), draw_bytes(&d, shared);
        memcpy(want, tensor, sizeof want), memcpy(wanted, shared, sizeof wanted);
        model(&d, want, wanted);
        text_of(&d, text, sizeof text);
        task t = {.text = text, .block = {32}, .data = {tensor, shared}, .bytes = {ROOM, SHARED}, .async = policy((int)draw(8)), .threads = 1};
        for (int k = 0; k < d.rank; k++)
            t.sym[k] = d.at[k];
        ck_assert_msg(!run_task(&t, &e), "seed %d map %d: %s\n%s", _i, n, e.text, text);
        ck_assert_msg(!memcmp(tensor, want, ROOM) && !memcmp(shared, wanted, SHARED), "seed %d map %d, at %ld %ld %ld %ld %ld:\n%s", _i, n, d.at[0], d.at[1], d.at[2],
            d.at[3], d.at[4], text);
    }
}
END_TEST

/* ---- maps in memory, multicast, prefetch ----------------------------------------------------------------------- */
/* A map in global memory, of which each block of the cluster changes the box's place, and which then brings the tile to both. */
static const char changed[] = HEAD("param A f32 (4096):(1) align 16 read write\nparam M u8 (1024):(1) align 128 read write\nparam D f32 (4096):(1) align 16 read write\n")
    "map other A f32 (64,64) bytes (256) box (32,8)\ngrid 4\nblock 32\ncluster 2\nsmem 2304 align 1024\n"
    "%0 = tid.x i32\n%1 = param u8 M\n%2 = param f32 D\n%3 = smem f32x512 at 0\n%4 = smem u64x1 at 2048 mbarrier\n%5 = const i32 0\n%6 = const i32 1\n%7 = eq i1 %0, %5\n"
    "%8 = bid.x i32\n%9 = const i32 128\n%10 = mul i32 %8, %9\n%11 = const i32 32\n%12 = const i32 256\n%13 = const i32 512\n%14 = const i32 64\n%15 = addr u64 A\n"
    "%16 = cluster_ctarank i32\n%17 = const i32 3\n%18 = mul i32 %16, %12\n%19 = const i64 1024\n%20 = addr u64 M\n%21 = const i32 1024\n%22 = tmap f32 other\n"
    "%24 = const u64 512\n%30 = const i32 2\n%31 = const i32 8\n"
    "if %7 {\n  mbarrier.init %4[0] %6\n  mbarrier.expect_tx %4[0] %21 arrive\n"
    "  tensormap.replace %1[%10] with %15 field=address\n  tensormap.replace %1[%10] with %30 field=rank\n  tensormap.replace %1[%10] with %11 field=box\n"
    "  tensormap.replace %1[%10] with %31 field=box ordinal=1\n  tensormap.replace %1[%10] with %14 field=extent\n"
    "  tensormap.replace %1[%10] with %11 field=extent ordinal=1\n  tensormap.replace %1[%10] with %24 field=stride\n  tensormap.replace %1[%10] with %30 field=step ordinal=1\n"
    "  fence.proxy kind=tensormap.release\n}\n"
    "cluster.arrive\ncluster.wait\n"
    "if %7 {\n  fence.proxy map %1[%10] kind=tensormap.acquire\n  %40 = tmap.at u64 %1[%10]\n  tma.prefetch_map %40\n  tma.prefetch %22 at %5, %5\n  tma.prefetch %40 at %5, %6\n"
    "  tma.load %3[%18] from %40 done %4[0] mask %17 at %11, %16\n}\n"
    "loop {\n  %50 = mbarrier.try_wait i1 %4[0] %5\n  %51 = not i1 %50\n  while %51\n}\n"
    "%60 = mul i32 %8, %13\nfor %61 = %0 to %13 step %11 {\n  %62 = load f32 %3[%61] align 4\n  %63 = add i32 %60, %61\n  store %2[%63] f32 %62 align 4\n}\ncluster.arrive\ncluster.wait\n";

START_TEST(maps_that_a_kernel_changes)
{
    static _Alignas(128) float a[4096], d[4096];
    static _Alignas(128) unsigned char maps[1024];
    const sett__map m = {.dtype = SETT_F32, .rank = 3, .box = {4, 1, 1}, .step = {1, 1, 1}};
    sett__tape tape;
    sett_error e = {0};
    sett_status parsed = sett__tape_parse(&tape, changed, &e);
    ck_assert_msg(!parsed, "%s", e.text);
    sett__tape_free(&tape);
    for (int i = 0; i < 4096; i++)
        a[i] = (float)i;
    for (int n = 0; n < 20; n++) {
        const task t = {.text = changed, .grid = {4}, .block = {32}, .cluster = {2}, .data = {a, maps, d}, .bytes = {sizeof a, sizeof maps, sizeof d}, .async = policy(n), .threads = 1};
        memset(d, 0xff, sizeof d);
        for (int k = 0; k < 4; k++) /* each with an address that is none */
            sett__sim_map(&m, maps, (const uint64_t[5]){1, 1, 1}, (const uint64_t[4]){16, 16}, maps + 128 * k);
        ck_assert_msg(!run_task(&t, &e), "policy %d: %s", n, e.text);
        /* 32 columns from 32 on; every second row of 128 floats, four of each block's, from its rank on. */
        for (int i = 0; i < 2048; i++) {
            int rank = i % 512 / 256, row = i % 256 / 32, from = (rank + 2 * row) * 128 + 32 + i % 32;
            ck_assert_msg(row < 4 ? d[i] == (float)from : d[i] != d[i], "policy %d: %d is %g", n, i, (double)d[i]);
        }
    }
}
END_TEST

/* ---- what the engine is told ------------------------------------------------------------------------------------- */
START_TEST(options)
{
    static const struct { const char *text; int policy; uint64_t seed; } good[] = {{"eager", SETT__ASYNC_EAGER, 0}, {"lazy", SETT__ASYNC_LAZY, 0},
        {"random:0", SETT__ASYNC_RANDOM, 0}, {"random:18446744073709551615", SETT__ASYNC_RANDOM, UINT64_MAX}};
    static const char *const bad[] = {"", "Lazy", "random", "random:", "random:x", "random:1x", "random:-1", "eager ", "random: 1", "random:18446744073709551616"};
    sett_error err = {0};
    sett_engine *e;
    for (size_t i = 0; i < SETT__COUNT(good); i++) {
        sett__async a;
        ck_assert(sett__async_parse(&a, good[i].text) && a.policy == good[i].policy && a.seed == good[i].seed);
    }
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = bad[i]};
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
        ck_assert_msg(strstr(err.text, "it is eager, lazy or random:SEED"), "%s", err.text);
    }
}
END_TEST

static void transpose_by(sett_engine *e, const char *how)
{
    enum { M = 40, N = 70 };
    static float a[M * 72], d[N * 40];
    char *text = read_text("tests/tape/transpose_tma.tape");
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_error err = {0};
    sett_kernel *k;
    sett_buf A = sett_buf_2d(a, SETT_F32, M, N), D = sett_buf_2d(d, SETT_F32, N, M);
    A.stride[0] = 72;
    for (int i = 0; i < M * 72; i++)
        a[i] = (float)i;
    memset(d, 0xff, sizeof d);
    ck_assert_msg(!sett_compile_tape(e, text, strlen(text), &o, &k, &err), "%s", err.text);
    const sett_bind args[] = {{SETT_BIND_BUF, .u = {.t = &A}}, {SETT_BIND_BUF, .u = {.t = &D}}};
    ck_assert_msg(!sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 2, args, &err), "%s: %s", how, err.text);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            ck_assert_msg(d[n * M + m] == a[m * 72 + n], "%s", how);
    A.stride[0] = 71; /* refused as a GPU's launch is */
    ck_assert_int_eq(sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, 2, args, &err), SETT_E_ALIGN);
    ck_assert_msg(strstr(err.text, "A: map from: stride 1, LA*4, is 284 bytes, which is not a multiple of 16"), "%s", err.text);
    sett_kernel_release(k);
    free(text);
}

static void keep_log(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)level, (void)component;
    if (strstr(message, "SETT_CPU_ASYNC"))
        snprintf(user, 200, "%s", message);
}

START_TEST(by_the_engine)
{
    static const char *const how[] = {NULL, "eager", "lazy", "random:5"};
    char logged[200] = "";
    sett_error err = {0};
    sett_engine *e;
    for (size_t i = 0; i < SETT__COUNT(how); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = how[i]};
        ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
        transpose_by(e, how[i]);
        sett_engine_close(e);
    }
    for (size_t i = 1; i <= SETT__COUNT(how); i++) {
        const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .log = keep_log, .user = logged};
        setenv("SETT_CPU_ASYNC", i < SETT__COUNT(how) ? how[i] : "hasty", 1);
        ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
        transpose_by(e, "by the environment");
        sett_engine_close(e);
        ck_assert_str_eq(logged, i < SETT__COUNT(how) ? "" : "SETT_CPU_ASYNC: \"hasty\" is none of eager, lazy, random:SEED");
    }
    unsetenv("SETT_CPU_ASYNC");
}
END_TEST

/* A prepared call encodes its maps again when a tensor moves. */
START_TEST(prepared)
{
    enum { M = 32, N = 32 };
    static float a[2][M * N], d[2][N * M];
    char *text = read_text("tests/tape/transpose_tma.tape");
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    sett_call *c;
    ck_assert(!sett_engine_open(&e, &eo, &err) && !sett_compile_tape(e, text, strlen(text), &o, &k, &err));
    ck_assert(!sett_call_make_n(k, SETT_CPU, 0, NULL, &c, &err));
    for (int i = 0; i < 2 * M * N; i++)
        a[i / (M * N)][i % (M * N)] = (float)i;
    for (int round = 0; round < 6; round++) {
        const int from = round % 2, to = round / 2 % 2;
        const sett_buf A = sett_buf_2d(a[from], SETT_F32, M, N), D = sett_buf_2d(d[to], SETT_F32, N, M);
        memset(d, 0xff, sizeof d);
        sett_call_buf(c, 0, &A), sett_call_buf(c, 1, &D);
        ck_assert_msg(!sett_call_commit(c, &err), "%s", err.text);
        ck_assert_int_eq(sett_call_run(c, (sett_stream){SETT_CPU, NULL}), SETT_OK);
        for (int i = 0; i < M * N; i++)
            ck_assert(d[to][i % N * M + i / N] == a[from][i] && d[!to][i] != d[!to][i]);
    }
    sett_call_free(c);
    sett_kernel_release(k);
    sett_engine_close(e);
    free(text);
}
END_TEST

/* All blocks of such a grid run at once: they may wait for each other, and too many are refused. */
START_TEST(cooperative)
{
    static int32_t flag[2];
    static const char text[] = HEAD("sym N\nparam F i32 (2):(1) align 8 read write\ngrid N\nblock 1024\nlaunch cooperative\n")
        "%0 = tid.x i32\n%1 = param i32 F\n%2 = const i32 0\n%3 = const i32 1\n%4 = eq i1 %0, %2\n%5 = gdim.x i32\n%6 = cluster_nctarank i32\n"
        "if %4 {\n  %10 = atom.add i32 %1[0] i32 %6 order=acq_rel scope=gpu\n  loop {\n    %11 = atom.or i32 %1[0] i32 %2 order=acq_rel scope=gpu\n    %12 = lt i1 %11, %5\n    while %12\n  }\n"
        "  %13 = atom.add i32 %1[1] i32 %3\n}\n";
    task t = {.text = text, .block = {1024}, .data = {flag}, .bytes = {sizeof flag}};
    sett_error e;
    for (int blocks = 1; blocks <= 265; blocks += 88) {
        memset(flag, 0, sizeof flag);
        t.grid[0] = (uint32_t)blocks;
        t.threads = 1 + blocks % 2;
        t.sym[0] = blocks;
        sett_status s = run_task(&t, &e);
        ck_assert_msg(s == (blocks > 264 ? SETT_E_LIMIT : SETT_OK), "%d: %s", blocks, e.text);
        ck_assert_int_eq(flag[1], s ? 0 : blocks);
    }
    ck_assert_str_eq(e.text, "k: all of its 265 blocks run at once, and the modelled device has room for 264");
}
END_TEST

Suite *async_suite(void);
Suite *async_suite(void)
{
    Suite *s = suite_create("async");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, transpose);
    tcase_add_loop_test(t, boxes, 0, 8);
    tcase_add_test(t, maps_that_a_kernel_changes);
    tcase_add_test(t, options);
    tcase_add_test(t, by_the_engine);
    tcase_add_test(t, prepared);
    tcase_add_test(t, cooperative);
    suite_add_tcase(s, t);
    return s;
}
