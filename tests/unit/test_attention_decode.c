/* SPDX-License-Identifier: Apache-2.0 */
/* sett_attention_decode and sett_attention_mla with all their options, at random, against sums of double; other requests, pages and blocks,
 * which may not change a bit; and what is refused. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. What a request has follows from its number, so that it may stand
 * alone, in a batch, and in pages. */
#include "tests/rig/kernels_rig.h"
#include <sett/build.h>
#include <sett/control.h>
#include <sett/layout.h>

static char said[600]; /* of the problem that is checked */
enum { MOST_REQUESTS = 6, ARGS = 20, FAR = 1 << 28 /* no page */, NEAR = 290 /* keys that functions of the caller's let a query see */ };

typedef struct problem {
    sett_attention_decode_options o;
    int latent; /* of sett_attention_mla, whose options are among these: columns of Q and K behind those that are V too */
    int requests, heads, shared, queries;
    int number[MOST_REQUESTS], keys[MOST_REQUESTS], prefix[MOST_REQUESTS]; /* number: the request's data */
    int window, by_rows, spare, one_scale, own; /* by_rows: heads stand beside each other, not rows; spare: keys behind the longest; one_scale: of all heads; own: functions of the caller's */
    double cap, scale;
    const char *target; /* that the kernel is chosen for; NULL: the device's own */
} problem;

/* ---- numbers -------------------------------------------------------------------------------------------------------- */
static double mixed(uint64_t x) /* [-1, 1) */
{
    x += 0x9e3779b97f4a7c15u, x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u, x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

typedef enum which { OF_Q, OF_K, OF_V } which;

/* What an element is, rounded to dtype. */
static double element_of(sett_dtype t, which w, int number, int head, int row, int column)
{
    unsigned char bytes[4];
    const uint64_t i = ((((uint64_t)w * 64 + (uint64_t)number) * 64 + (uint64_t)head) * 65536 + (uint64_t)row) * 1024 + (uint64_t)column;
    put(t, bytes, 0, mixed(i) * (w == OF_V ? 1 : 2));
    return get(t, bytes, 0);
}

/* A row has so many. */
static int columns_of(const problem *p, which w)
{
    return p->o.d + (w == OF_V ? 0 : p->latent);
}

/* Of K or V, scaled. */
static double times_scale(const problem *p, which w, int request, int head, int row, int column)
{
    const sett_attention_decode_options *o = &p->o;
    const int i = p->one_scale ? 0 : head;
    return element_of(o->kv ? o->kv : o->dtype, p->latent ? OF_K : w, p->number[request], head, row, column) * (o->scaled ? w == OF_K ? 0.75 + 0.5 * i : 1.5 - 0.25 * i : 1);
}

static int random_int(int from, int to)
{
    return from + (int)((uniform(&r.seed) + 1) / 2 * (to - from + 1)) % (to - from + 1);
}

/* ---- what is called ------------------------------------------------------------------------------------------------- */
static sett_attention_mla_options mla_of(const sett_attention_decode_options *o)
{
    return (sett_attention_mla_options){.size = sizeof(sett_attention_mla_options), .dtype = o->dtype, .exact = o->exact, .rows = o->rows, .lengths = o->lengths, .page = o->page, .causal = o->causal, .window = o->window, .sinks = o->sinks, .lse = o->lse,
        .tuning = {.split = o->tuning.split, .keys = o->tuning.keys, .stages = o->tuning.stages, .blocks = o->tuning.blocks}};
}

static sett_kernel *kernel_of(const problem *p)
{
    const sett_attention_mla_options mla = mla_of(&p->o);
    return p->latent ? compiled(sett_attention_mla, &mla) : compiled_as(sett_attention_decode, &p->o, p->target);
}

static void workspace_of(const problem *p, int keys, size_t *partial, size_t *left)
{
    const sett_attention_mla_options mla = mla_of(&p->o);
    ck_assert(!(p->latent ? sett_attention_mla_workspace(&mla, p->requests, p->heads, p->shared, p->queries, keys, partial, left, &err)
                          : sett_attention_decode_workspace(&p->o, p->requests, p->heads, p->shared, p->queries, keys, partial, left, &err)));
}

/* ---- arrays ------------------------------------------------------------------------------------------------------------ */
typedef struct box {
    sett_dtype type;
    int64_t shape[4], stride[4];
    size_t bytes;
    unsigned char *host;
    void *data;
    sett_buf buf;
} box;

/* All bytes are `fill`. */
static box make_box(sett_dtype t, int rank, const int64_t *shape, bool by_rows, int fill)
{
    box x = {.type = t};
    int64_t n = 1;
    const int order[2][4] = {{3, 2, 1, 0}, {3, 1, 2, 0}};
    x.buf = sett_buf_nd(NULL, t, rank, shape);
    for (int i = 0; i < rank; i++) {
        const int mode = rank == 4 ? order[by_rows][i] : rank - 1 - i;
        x.shape[mode] = shape[mode], x.stride[mode] = x.buf.stride[mode] = n;
        n *= shape[mode] + (rank == 4 && !i && by_rows ? 16 : 0);
    }
    x.bytes = (size_t)n * (size_t)sett_dtype_bits(t) / 8;
    x.host = malloc(x.bytes + 16);
    ck_assert(x.host != NULL);
    memset(x.host, fill, x.bytes + 16);
    return x;
}
#define BOX(t, by_rows, fill, ...) make_box(t, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}, by_rows, fill)

static size_t at_of(const box *x, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return (size_t)(i * x->stride[0] + j * x->stride[1] + k * x->stride[2] + l * x->stride[3]);
}

static void to_device(box *x)
{
    x->data = sett_alloc(r.e, r.stream.device, x->bytes + 16);
    ck_assert(x->data && !sett_memcpy(r.e, r.stream, x->data, x->host, x->bytes + 16) && !sett_sync(r.e, r.stream));
    x->buf.data = x->data;
}

static void fetch(box *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->host, x->data, x->bytes) && !sett_sync(r.e, r.stream));
}

/* ---- a launch ------------------------------------------------------------------------------------------------------------ */
enum { Q, K, V, O, KSCALES, VSCALES, TABLE, KEYS, PREFIX, SLOPES, SINKS, LSE, PARTIAL, LEFT, BOXES };
typedef struct launch {
    const problem *p;
    box x[BOXES];
} launch;

static int pages_of(const problem *p, int request)
{
    return (p->keys[request] + p->o.page - 1) / p->o.page;
}

static int longest(const problem *p)
{
    int most = 1;
    for (int i = 0; i < p->requests; i++)
        most = p->keys[i] > most ? p->keys[i] : most;
    return most;
}

/* Pages in random order; what the table has behind them is no page. */
static void make_table(launch *y, int pool)
{
    const problem *p = y->p;
    int *is_free = calloc((size_t)pool, sizeof *is_free), left = pool;
    int32_t *table = (int32_t *)y->x[TABLE].host;
    for (int i = 0; i < pool; i++)
        is_free[i] = i;
    for (int i = 0; i < p->requests; i++)
        for (int j = 0; j < y->x[TABLE].shape[1]; j++) {
            table[i * y->x[TABLE].shape[1] + j] = FAR;
            if (j < pages_of(p, i)) {
                const int pick = random_int(0, left - 1);
                table[i * y->x[TABLE].shape[1] + j] = is_free[pick];
                is_free[pick] = is_free[--left];
            }
        }
    free(is_free);
}

static void fill_operand(launch *y, which w, int request)
{
    const problem *p = y->p;
    box *x = &y->x[w == OF_Q ? Q : w == OF_K ? K : V];
    for (int h = 0; h < x->shape[1]; h++)
        for (int row = 0; row < (w == OF_Q ? p->queries : p->keys[request]); row++) {
            const bool paged = w != OF_Q && p->o.page;
            const int outer = paged ? ((const int32_t *)y->x[TABLE].host)[request * y->x[TABLE].shape[1] + row / p->o.page] : request;
            for (int c = 0; c < columns_of(p, w); c++)
                put(x->type, x->host, at_of(x, outer, h, paged ? row % p->o.page : row, c), element_of(x->type, w, p->number[request], h, row, c));
        }
}

static launch make_launch(const problem *p)
{
    launch y = {.p = p};
    const int most = longest(p) + p->spare;
    int pool = 2, columns = 1;
    size_t partial, left;
    for (int i = 0; i < p->requests && p->o.page; i++)
        pool += pages_of(p, i), columns = pages_of(p, i) > columns ? pages_of(p, i) : columns;
    const int outer = p->o.page ? pool : p->requests, rows = p->o.page ? p->o.page : most;
    workspace_of(p, p->o.page ? columns * p->o.page : most, &partial, &left);
    y.x[Q] = BOX(p->o.dtype, p->by_rows, 0xff, p->requests, p->heads, p->queries, columns_of(p, OF_Q)), y.x[O] = BOX(p->o.dtype, p->by_rows, 0xff, p->requests, p->heads, p->queries, p->o.d);
    y.x[KSCALES] = BOX(SETT_F32, false, 0, p->shared), y.x[VSCALES] = BOX(SETT_F32, false, 0, p->shared);
    for (int h = 0; h < p->shared; h++)
        ((float *)y.x[KSCALES].host)[h] = (float)(0.75 + 0.5 * h), ((float *)y.x[VSCALES].host)[h] = (float)(1.5 - 0.25 * h);
    if (p->one_scale)
        y.x[KSCALES].buf.stride[0] = y.x[VSCALES].buf.stride[0] = 0;
    const sett_dtype kv = p->o.kv ? p->o.kv : p->o.dtype;
    y.x[K] = BOX(kv, p->by_rows, 0xff, outer, p->shared, rows, columns_of(p, OF_K)), y.x[V] = BOX(kv, !p->by_rows, 0xff, outer, p->shared, rows, p->o.d);
    y.x[TABLE] = BOX(SETT_I32, false, 0, p->requests, columns), y.x[KEYS] = BOX(SETT_I32, false, 0, p->requests), y.x[PREFIX] = BOX(SETT_I32, false, 0, p->requests);
    y.x[SLOPES] = BOX(SETT_F32, false, 0, p->heads), y.x[SINKS] = BOX(SETT_F32, false, 0, p->heads);
    y.x[LSE] = BOX(SETT_F32, false, 0xff, p->requests, p->heads, p->queries);
    y.x[PARTIAL] = BOX(SETT_F32, false, 0xff, (int64_t)partial), y.x[LEFT] = BOX(SETT_U32, false, 0, (int64_t)left);
    if (p->o.page)
        make_table(&y, pool);
    for (int i = 0; i < p->requests; i++) {
        ((int32_t *)y.x[KEYS].host)[i] = p->keys[i], ((int32_t *)y.x[PREFIX].host)[i] = p->prefix[i];
        fill_operand(&y, OF_Q, i), fill_operand(&y, OF_K, i), fill_operand(&y, OF_V, i);
    }
    for (int h = 0; h < p->heads; h++)
        ((float *)y.x[SLOPES].host)[h] = (float)ldexp(1, -1 - h % 8), ((float *)y.x[SINKS].host)[h] = h % 5 == 1 ? -INFINITY : (float)(3 * mixed((uint64_t)h));
    for (int i = 0; i < BOXES; i++)
        to_device(&y.x[i]);
    return y;
}

static void drop_launch(launch *y)
{
    for (int i = 0; i < BOXES; i++) {
        sett_free(r.e, r.stream.device, y->x[i].data);
        free(y->x[i].host);
    }
}

static sett_status try_launch(sett_kernel *k, const launch *y)
{
    const problem *p = y->p;
    const sett_attention_decode_options *o = &p->o;
    const struct { bool is; int box; sett_launch_arg number; } all[] = {{true, Q, {0}}, {true, K, {0}}, {!p->latent, V, {0}}, {true, O, {0}}, {o->scaled, KSCALES, {0}}, {o->scaled, VSCALES, {0}}, {o->page, TABLE, {0}}, {o->page || o->lengths, KEYS, {0}},
        {o->scale || p->latent, -1, sett_launch_arg_float(p->scale)}, {o->window, -1, sett_launch_arg_int(p->window)}, {o->prefix, PREFIX, {0}}, {o->softcap, -1, sett_launch_arg_float(p->cap)}, {o->alibi, SLOPES, {0}},
        {o->sinks, SINKS, {0}}, {o->lse, LSE, {0}}, {true, PARTIAL, {0}}, {true, LEFT, {0}}};
    sett_launch_arg arg[ARGS];
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is)
            arg[n++] = all[i].box >= 0 ? sett_launch_arg_buf(&y->x[all[i].box].buf) : all[i].number;
    sett_status status = sett_launch_n(k, r.stream, n, arg, &err);
    return status ? status : sett_sync_error(r.e, r.stream, &err);
}

static void run_launch(sett_kernel *k, launch *y)
{
    ck_assert_msg(!try_launch(k, y), "%s: %s", said, err.text);
    fetch(&y->x[O]), fetch(&y->x[LSE]), fetch(&y->x[LEFT]);
}

/* ---- what is right -------------------------------------------------------------------------------------------------- */
static bool sees(const problem *p, int request, int head, int query, int key)
{
    const int own = query + p->keys[request] - p->queries;
    if (p->own)
        return key >= own - NEAR && key <= own && (query + key + head) % 3;
    if (p->o.prefix && key < p->prefix[request])
        return true;
    if ((p->o.causal || p->o.prefix) && key > own)
        return false;
    return !p->o.window || abs(own - key) < p->window;
}

static double score_of(const problem *p, int request, int head, int query, int key)
{
    double s = 0;
    for (int c = 0; c < columns_of(p, OF_K); c++)
        s += element_of(p->o.dtype, OF_Q, p->number[request], head, query, c) * times_scale(p, OF_K, request, head / (p->heads / p->shared), key, c);
    s *= p->o.scale || p->latent ? p->scale : 1 / sqrt(p->o.d);
    if (p->own)
        s = s / 2 - head * (query - key) / 64.0;
    if (p->o.softcap)
        s = p->cap * tanh(s / p->cap);
    return p->o.alibi ? s - ldexp(1, -1 - head % 8) * abs(query + p->keys[request] - p->queries - key) : s;
}

static void check_row(const launch *y, int request, int head, int query)
{
    const problem *p = y->p;
    const int n = p->keys[request];
    const double sink = p->o.sinks ? (double)((const float *)y->x[SINKS].host)[head] : -INFINITY;
    double *w = calloc((size_t)n + 1, sizeof *w), most = sink, sum = 0, largest = 0;
    for (int j = 0; j < n; j++) {
        w[j] = sees(p, request, head, query, j) ? score_of(p, request, head, query, j) : -INFINITY;
        most = fmax(most, w[j]);
    }
    sum = p->o.sinks && most > -INFINITY ? exp(sink - most) : 0;
    for (int j = 0; j < n; j++)
        sum += w[j] = most == -INFINITY ? 0 : exp(w[j] - most);
    for (int c = 0; c < p->o.d; c++) {
        double want = 0;
        for (int j = 0; j < n; j++) {
            const double v = w[j] > 0 ? times_scale(p, OF_V, request, head / (p->heads / p->shared), j, c) : 0;
            largest = fmax(largest, fabs(v));
            want += w[j] > 0 ? w[j] / sum * v : 0;
        }
        const double got = get(p->o.dtype, y->x[O].host, at_of(&y->x[O], request, head, query, c)), far = (p->o.dtype == SETT_BF16 ? 1.0 / 128 : 1.0 / 1024) * largest;
        ck_assert_msg(fabs(got - want) <= far, "%s: request %d, head %d, query %d, column %d: %g, should be %g", said, request, head, query, c, got, want);
    }
    const double want = sum > 0 ? most + log(sum) : -INFINITY, got = p->o.lse ? get(SETT_F32, y->x[LSE].host, at_of(&y->x[LSE], request, head, query, 0)) : want;
    ck_assert_msg(want == -INFINITY ? got == want : fabs(got - want) <= (1 + fabs(want)) / 4096, "%s: request %d, head %d, query %d: the logarithm is %g, should be %g", said, request, head, query, got, want);
    free(w);
}

static void check_launch(launch *y)
{
    const problem *p = y->p;
    for (int i = 0; i < p->requests; i++)
        for (int h = 0; h < p->heads; h++)
            for (int m = 0; m < p->queries; m++)
                check_row(y, i, h, m);
    for (size_t i = 0; i < y->x[LEFT].bytes; i++)
        ck_assert_msg(!y->x[LEFT].host[i], "%s: counter %zu is not 0 behind the launch", said, i / 4);
}

/* ---- random problems -------------------------------------------------------------------------------------------------- */
static void describe(const problem *p)
{
    const sett_attention_decode_options *o = &p->o;
    int at = snprintf(said, sizeof said, "%s %s%s d=%d rows=%d kv=%s scaled=%d lengths=%d page=%d causal=%d window=%d prefix=%d softcap=%d alibi=%d scale=%d sinks=%d lse=%d split=%d blocks=%d, %d requests, heads %d/%d, %d queries, window %d, by_rows %d, keys",
        p->target ? p->target : "", p->latent ? "mla " : "", sett_dtype_name(o->dtype), o->d, o->rows, o->kv ? sett_dtype_name(o->kv) : "dtype", o->scaled, o->lengths, o->page, o->causal, o->window, o->prefix, o->softcap, o->alibi, o->scale, o->sinks, o->lse, o->tuning.split, o->tuning.blocks, p->requests, p->heads, p->shared, p->queries, p->window, p->by_rows);
    for (int i = 0; i < p->requests; i++)
        at += snprintf(said + at, sizeof said - (size_t)at, " %d", p->keys[i]);
}

static int random_length(int page)
{
    static const int most[] = {0, 3, 20, 300, 700};
    const int n = random_int(0, most[random_int(0, 4)]);
    return page && !random_int(0, 2) ? n / page * page + random_int(0, 1) : n; /* at an edge of a page */
}

static problem random_problem(const char *target)
{
    static const int heads_of[] = {64, 128, 128, 256}, pages[] = {16, 32, 48, 64, 128, 256}, groups[] = {1, 2, 4, 5, 8}, queries[] = {1, 1, 1, 2, 4, 8};
    const int mask = random_int(0, 5), score = random_int(0, 3), source = random_int(0, 2);
    problem p = {.requests = random_int(1, 4), .shared = random_int(1, 2), .queries = queries[random_int(0, 5)], .by_rows = random_int(0, 1), .cap = 1 + random_int(0, 3), .scale = 0.1, .window = random_int(1, 400), .target = target};
    p.heads = p.shared * groups[random_int(0, 4)], p.spare = source == 1 ? random_int(0, 40) : 0;
    p.o = (sett_attention_decode_options){.size = sizeof p.o, .dtype = random_int(0, 1) ? SETT_BF16 : SETT_F16, .d = heads_of[random_int(0, 3)], .lengths = source == 1, .page = source == 2 ? pages[random_int(0, 5)] : 0,
        .causal = mask == 1 || mask == 2, .window = mask == 2 || mask == 3, .prefix = mask == 4, .softcap = score == 1, .alibi = score == 2, .scale = !random_int(0, 2), .sinks = !random_int(0, 2), .lse = random_int(0, 1)};
    p.o.rows = random_int(0, 1) ? 0 : 16 << random_int(0, target && p.o.d == 256 ? 1 : 2);
    p.o.kv = target || random_int(0, 2) ? 0 : SETT_F8E4M3FN, p.o.scaled = p.o.kv && random_int(0, 2), p.one_scale = random_int(0, 1);
    p.o.tuning.split = random_int(0, 3) ? 256 : 0, p.o.tuning.blocks = random_int(0, 1) ? 3 : 0, p.o.exact = !random_int(0, 3);
    for (int i = 0; i < p.requests; i++) {
        p.number[i] = i, p.prefix[i] = random_length(0);
        p.keys[i] = source || !i ? random_length(p.o.page) : p.keys[0];
        p.keys[i] += !source && !p.keys[i];
    }
    return p;
}

static problem random_latent(void)
{
    static const int heads[] = {16, 16, 128, 5, 40}, queries[] = {1, 1, 2, 4};
    problem p = random_problem(NULL);
    const sett_attention_decode_options was = p.o;
    p.latent = 64, p.shared = 1, p.heads = heads[random_int(0, 4)], p.queries = queries[random_int(0, 3)];
    p.o = (sett_attention_decode_options){.size = sizeof p.o, .dtype = was.dtype, .d = 512, .lengths = was.lengths, .page = was.page, .causal = was.causal, .window = was.window, .sinks = was.sinks, .lse = was.lse, .exact = was.exact};
    p.o.rows = random_int(0, 1) ? 16 << random_int(0, 2) : 0, p.o.tuning.keys = random_int(0, 1) ? 32 : 0, p.o.tuning.split = random_int(0, 3) ? 128 << random_int(0, 1) : 0, p.o.tuning.blocks = was.tuning.blocks;
    p.scale = 0.05;
    return p;
}

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { RANDOM = 4, RANDOM_LATENT = 1, BITS_OF = 1 /* of Hopper alone */ };
#else
enum { RANDOM = 10, RANDOM_LATENT = 3 /* of each test of the loop */, BITS_OF = 2 };
#endif
enum { RANDOM_TESTS = 8, OTHER_TESTS = 6 /* of other targets, behind these */ };

START_TEST(random_problems)
{
    in_order(_i, getenv("ATTENTION_SEED"));
    const char *more = getenv("ATTENTION_SEED");
    r.seed = 91 + (unsigned)_i * 1000 + (more ? (unsigned)atoi(more) * 100000 : 0);
    const char *target = target_of(_i, RANDOM_TESTS);
    for (int i = 0; runs(target) && i < RANDOM + (target ? 0 : RANDOM_LATENT); i++) {
        const problem p = i < RANDOM ? random_problem(target) : random_latent();
        describe(&p);
        sett_kernel *k = kernel_of(&p);
        launch y = make_launch(&p);
        run_launch(k, &y);
        check_launch(&y);
        drop_launch(&y);
        sett_kernel_release(k);
    }
}
END_TEST

/* K and V without a key: nothing in memory, and no address. */
START_TEST(no_keys_at_all)
{
    problem p = {.requests = 2, .heads = 4, .shared = 2, .queries = 3, .number = {1, 2}, .target = target_of(_i, 3)};
    p.o = (sett_attention_decode_options){.size = sizeof p.o, .dtype = SETT_BF16, .d = 64, .lengths = _i % 3 == 1, .page = _i % 3 == 2 ? 16 : 0, .lse = 1};
    if (!runs(p.target))
        return;
    sett_kernel *k = kernel_of(&p);
    describe(&p);
    launch y = make_launch(&p);
    for (int i = K; i <= V; i++)
        y.x[i].buf.data = NULL, y.x[i].buf.shape[p.o.page ? 0 : 2] = 0;
    run_launch(k, &y);
    check_launch(&y);
    drop_launch(&y);
    sett_kernel_release(k);
}
END_TEST

/* ---- masks and scores of the caller's ------------------------------------------------------------------------------------ */
static sett_attention_keys nearby(const sett_attention_at *at, sett_val *query, void *user)
{
    sett_val *own = sett_add(query, sett_sub(at->keys, at->queries));
    (void)user;
    return (sett_attention_keys){SETT_A(sett_sub(own, NEAR)), SETT_A(sett_add(own, 1))};
}

static sett_val *two_thirds(const sett_attention_at *at, sett_val *query, sett_val *key, void *user)
{
    (void)user;
    return sett_ne(sett_mod(sett_add(sett_add(query, key), at->head), 3), 0);
}

static sett_val *bent(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)user;
    return sett_sub(sett_mul(score, 0.5), sett_mul(sett_to(sett_mul(at->head, sett_sub(query, key)), SETT_F32), 1.0 / 64));
}

static void with_own(sett_build *b, const void *user)
{
    sett_attention_decode_with(b, user, &(sett_attention_functions){.size = sizeof(sett_attention_functions), .bounds = nearby, .predicate = two_thirds, .score = bent});
}

START_TEST(functions_of_the_caller)
{
    problem p = {.requests = 3, .heads = 6, .shared = 2, .queries = 2, .number = {1, 2, 3}, .keys = {700, 0, 35}, .own = 1, .target = target_of(_i, 2)};
    p.o = (sett_attention_decode_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .lengths = 1, .page = _i % 2 ? 16 : 0, .lse = 1, .tuning.split = 256};
    const sett_compile_options co = {.size = sizeof co, .user = &p.o, .user_size = sizeof p.o};
    sett_kernel *k;
    if (!runs(p.target))
        return;
    ck_assert_msg(!sett_kernels_choose(sett_attention_decode, &p.o, p.target, &err), "%s", err.text);
    ck_assert_msg(!sett_compile(r.e, with_own, &co, &k, &err), "%s", err.text);
    describe(&p);
    launch y = make_launch(&p);
    run_launch(k, &y);
    check_launch(&y);
    drop_launch(&y);
    sett_kernel_release(k);
}
END_TEST

static sett_attention_keys by_head(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)query, (void)user;
    return (sett_attention_keys){SETT_A(at->head), SETT_A(at->keys)};
}

static void with_heads(sett_build *b, const void *user)
{
    sett_attention_decode_with(b, user, &(sett_attention_functions){.size = sizeof(sett_attention_functions), .bounds = by_head});
}

static void with_two(sett_build *b, const void *user)
{
    sett_attention_decode_options o = *(const sett_attention_decode_options *)user;
    o.causal = 1;
    sett_attention_decode_with(b, &o, &(sett_attention_functions){.size = sizeof(sett_attention_functions), .bounds = nearby});
}

START_TEST(functions_that_cannot_be)
{
    static const struct { sett_body body; const char *text; } all[] = {{with_heads, ".bounds gives a .first that is no scalar of i32"}, {with_two, "sett_attention_decode_with: .bounds is given: then .causal is 0"}};
    const sett_attention_decode_options o = {.size = sizeof o, .dtype = SETT_F16, .d = 64};
    const sett_compile_options co = {.size = sizeof co, .user = &o, .user_size = sizeof o};
    void *tape = NULL;
    size_t len;
    ck_assert_int_eq(sett_record(all[_i].body, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    ck_assert_msg(strstr(err.text, all[_i].text) != NULL, "%s", err.text);
}
END_TEST

/* Splits that are combined in two steps, as there are more than a block takes at once; and a second launch, which finds the counters at 0. */
START_TEST(many_splits)
{
    problem p = {.o = {.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .lengths = 1, .lse = 1, .tuning = {.split = 16, .keys = 16, .warps = 1, .blocks = 5}}, .requests = 3, .heads = 4, .shared = 2, .queries = 1, .number = {3, 1, 2},
        .keys = {1100, 512, 529}, .target = target_of(_i, 2)};
    if (_i == 1)
        p.latent = 64, p.o.d = 512, p.o.tuning.split = p.o.tuning.keys = 32, p.shared = 1, p.scale = 0.1;
    if (!runs(p.target))
        return;
    describe(&p);
    sett_kernel *k = kernel_of(&p);
    launch y = make_launch(&p);
    for (int i = 0; i < 2; i++) {
        run_launch(k, &y);
        check_launch(&y);
    }
    drop_launch(&y);
    sett_kernel_release(k);
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------------------------------------- */
/* Requests of a batch, each by itself, with pages and without, by one block, which takes some splits at once, and by many: all bits are the same. */
enum { BITS = 5 };
START_TEST(bits_of_a_request)
{
    static const struct { int d, rows, causal, window, queries; sett_dtype kv; int latent, heads, split, most; } kinds[] = {{128, 0, 0, 0, 1, 0, 0, 8, 64, 2200}, {64, 32, 1, 0, 5, 0, 0, 8, 128, 700}, {256, 0, 1, 1, 2, 0, 0, 8, 64, 700}, {128, 64, 1, 0, 3, SETT_F8E4M3FN, 0, 8, 256, 700}, {512, 0, 1, 0, 5, 0, 64, 16, 256, 700}};
    static const struct { int lengths, page, blocks, by_rows; } ways[] = {{0, 0, 1, 0}, {1, 0, 7, 1}, {0, 16, 0, 0}, {0, 64, 2, 1}, {0, 256, 3, 0}};
    problem all = {.target = target_of(_i, BITS), .latent = kinds[_i % BITS].latent, .scale = 0.1, .requests = 5, .heads = kinds[_i % BITS].heads, .shared = kinds[_i % BITS].latent ? 1 : 2, .queries = kinds[_i % BITS].queries, .window = 500, .number = {0, 1, 2, 3, 4}, .keys = {531, 50, 300, 0, kinds[_i % BITS].most}};
    all.o = (sett_attention_decode_options){.size = sizeof all.o, .dtype = SETT_BF16, .d = kinds[_i % BITS].d, .rows = kinds[_i % BITS].rows, .kv = kinds[_i % BITS].kv, .scaled = kinds[_i % BITS].kv != 0, .causal = kinds[_i % BITS].causal, .window = kinds[_i % BITS].window, .lengths = 1, .lse = 1, .tuning = {.split = kinds[_i % BITS].split}};
    if (!runs(all.target) || (all.target && (all.o.kv || all.latent)))
        return;
    describe(&all);
    sett_kernel *k = kernel_of(&all);
    launch y = make_launch(&all);
    run_launch(k, &y);
    sett_kernel_release(k);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (int i = 0; i < all.requests; i++) {
            problem one = all;
            one.requests = 1, one.number[0] = i, one.keys[0] = all.keys[i], one.by_rows = ways[way].by_rows, one.spare = ways[way].lengths * 9;
            one.o.lengths = ways[way].lengths, one.o.page = ways[way].page, one.o.tuning.blocks = ways[way].blocks;
            if (!one.keys[0] && !one.o.lengths && !one.o.page)
                continue; /* a tensor map has no extent of 0 */
            k = kernel_of(&one);
            launch z = make_launch(&one);
            run_launch(k, &z);
            sett_kernel_release(k);
            for (int h = 0; h < all.heads; h++)
                for (int m = 0; m < all.queries; m++) {
                    ck_assert_msg(!memcmp(y.x[O].host + 2 * at_of(&y.x[O], i, h, m, 0), z.x[O].host + 2 * at_of(&z.x[O], 0, h, m, 0), 2 * (size_t)all.o.d), "way %zu, request %d, head %d, query %d", way, i, h, m);
                    ck_assert_msg(!memcmp(y.x[LSE].host + 4 * at_of(&y.x[LSE], i, h, m, 0), z.x[LSE].host + 4 * at_of(&z.x[LSE], 0, h, m, 0), 4), "way %zu, request %d, head %d, query %d: the logarithm", way, i, h, m);
                }
            drop_launch(&z);
        }
    drop_launch(&y);
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------------------------------------- */
static const struct refused { sett_attention_decode_options o; const char *text; } refused[] = {
    {{.dtype = SETT_F32}, ".dtype is f32: f16 or bf16"},
    {{.dtype = SETT_BF16, .d = 96}, ".d is 96: 64, 128 or 256"},
    {{.dtype = SETT_BF16, .rows = 48}, ".rows is 48: 16, 32 or 64"},
    {{.dtype = SETT_BF16, .rows = 64, .tuning = {.warps = 6}}, ".warps is 6: a multiple of 4, .rows / 16"},
    {{.dtype = SETT_BF16, .lse = 2}, ".lse is 2: from 0 to 1"},
    {{.dtype = SETT_BF16, .kv = SETT_F16}, ".kv is f16: bf16, or f8E4M3FN"},
    {{.dtype = SETT_BF16, .scaled = 1}, ".scaled is 1: of .kv f8E4M3FN alone"},
    {{.dtype = SETT_BF16, .page = 20}, ".page is 20: 0, or a multiple of 16, up to 256"},
    {{.dtype = SETT_BF16, .prefix = 1, .window = 1}, ".prefix is 1: then .window is 0"},
    {{.dtype = SETT_BF16, .softcap = 1, .alibi = 1}, ".softcap is 1: then .alibi is 0"},
    {{.dtype = SETT_BF16, .tuning = {.keys = 48}}, ".keys is 48: a multiple of 64, 16 times .warps 4 / (.rows 16 / 16), up to 256"},
    {{.dtype = SETT_BF16, .tuning = {.split = 100}}, ".split is 100: a multiple of .keys 64, up to 65536"},
    {{.dtype = SETT_BF16, .tuning = {.stages = 7}}, ".stages is 7: with .d 128, .rows 16 and .keys 64 more shared memory than a block has"},
    {{.dtype = SETT_BF16, .tuning = {.warps = 9}}, ".warps is 9: from 1 to 8"},
};

static const struct refused_mla { sett_attention_mla_options o; const char *text; } refused_mla[] = {
    {{.dtype = SETT_F32}, ".dtype is f32: f16 or bf16"},
    {{.dtype = SETT_BF16, .rows = 48}, ".rows is 48: 16, 32 or 64"},
    {{.dtype = SETT_BF16, .causal = 2}, ".causal is 2: from 0 to 1"},
    {{.dtype = SETT_BF16, .page = 20}, ".page is 20: 0, or a multiple of 16, up to 256"},
    {{.dtype = SETT_BF16, .tuning = {.keys = 48}}, ".keys is 48: 32 or 64"},
    {{.dtype = SETT_BF16, .tuning = {.stages = 3}}, ".stages is 3: from 2 to 2"},
    {{.dtype = SETT_BF16, .tuning = {.split = 100}}, ".split is 100: a multiple of .keys 64, up to 65536"},
    {{.dtype = SETT_BF16, .tuning = {.blocks = -1}}, ".blocks is -1: from 1 to 65535"},
};

START_TEST(options_of_mla_that_cannot_be)
{
    sett_attention_mla_options o = refused_mla[_i].o;
    o.size = sizeof o;
    check_not_chosen(sett_attention_mla, "attention_mla", &o, NULL, refused_mla[_i].text);
}
END_TEST

/* Every pair of options at the ends of what an int holds and around what is allowed: taken or refused, and no arithmetic overflows. */
static void extremes(sett_body body, int words, size_t size, int second)
{
    static const int ends[] = {INT_MIN, -1, 0, 1, 2, 8, 9, 16, 32, 64, 128, 256, 1 << 16, 1 << 29, INT_MAX};
    enum { ENDS = sizeof ends / sizeof *ends, FIRST = sizeof(size_t) / sizeof(int), MOST = sizeof(sett_attention_decode_options) / sizeof(int) };
    for (int pair = 0; pair < words * words * ENDS * ENDS; pair++) {
        union { sett_attention_decode_options o; int word[MOST]; } u = {.o = {.size = size, .dtype = SETT_BF16}};
        const int a = pair / (ENDS * ENDS) / words, b = pair / (ENDS * ENDS) % words;
        if (second && pair % 2)
            u.word[second] = SETT_F8E4M3FN;
        if (a < FIRST || b < a)
            continue;
        u.word[a] = ends[pair / ENDS % ENDS], u.word[b] = ends[pair % ENDS];
        const sett_status s = sett_kernels_choose(body, &u.o, pair % 3 ? NULL : "sm_89", &err);
        const bool of_other = s == SETT_E_TARGET && pair % 3 == 0 && body == sett_attention_mla; /* what can be is of sm_90a */
        ck_assert_msg(s == SETT_OK || s == SETT_E_ARGUMENT || of_other, "options %d and %d: %s", a, b, err.text);
    }
}

START_TEST(extreme_options)
{
    extremes(sett_attention_decode, sizeof(sett_attention_decode_options) / sizeof(int), sizeof(sett_attention_decode_options), offsetof(sett_attention_decode_options, kv) / sizeof(int));
    extremes(sett_attention_mla, sizeof(sett_attention_mla_options) / sizeof(int), sizeof(sett_attention_mla_options), 0);
}
END_TEST

START_TEST(options_that_cannot_be)
{
    sett_attention_decode_options o = refused[_i].o;
    o.size = sizeof o;
    check_not_chosen(sett_attention_decode, "attention_decode", &o, NULL, refused[_i].text);
}
END_TEST

/* What a launch cannot know is told by the CPU engine. at -1: so many elements has the array. */
static const struct in_memory { int page, window, box, at; int32_t is; const char *text; } in_memory[] = {
    {0, 0, KEYS, 1, 71, "KEYS[1] is 71, and there is room for 70"},
    {0, 0, KEYS, 0, -1, "KEYS[0] is -1, and there is room for 70"},
    {16, 0, KEYS, 1, 81, "KEYS[1] is 81, and a row of TABLE has 5 pages"},
    {16, 0, TABLE, 6, 50, "TABLE[1,1] is 50, and there are 12 pages"},
    {0, 1, -1, 0, 0, "window is 0: 1 or more"},
    {0, 0, PARTIAL, -1, 271, "PARTIAL has 271 elements, and the launch needs 272"},
    {0, 0, LEFT, -1, 5, "LEFT has 5 elements, and the launch needs 6"},
    {0, 0, LEFT, 4, 3, "LEFT counts to 5, and units are 2: LEFT was not 0 before the launch"},
};

enum { IN_MEMORY = sizeof in_memory / sizeof *in_memory };
START_TEST(memory_that_cannot_be)
{
    const struct in_memory *x = &in_memory[_i % IN_MEMORY];
    problem p = {.o = {.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .lengths = 1, .page = x->page, .window = x->window}, .requests = 2, .heads = 2, .shared = 1, .queries = 1, .number = {0, 1}, .keys = {70, 70}, .target = target_of(_i, IN_MEMORY)};
    if (r.stream.device != SETT_CPU)
        return; /* a GPU has no assertions if they are not asked for */
    sett_kernel *k = kernel_of(&p);
    launch y = make_launch(&p);
    if (x->at < 0)
        y.x[x->box].buf.shape[0] = x->is;
    else if (x->box >= 0) {
        ((int32_t *)y.x[x->box].host)[x->at] = x->is;
        ck_assert(!sett_memcpy(r.e, r.stream, y.x[x->box].data, y.x[x->box].host, y.x[x->box].bytes));
    }
    ck_assert_int_ne(try_launch(k, &y), SETT_OK);
    ck_assert_msg(strstr(err.text, x->text) != NULL, "%s, should say %s", err.text, x->text);
    drop_launch(&y);
    sett_kernel_release(k);
}
END_TEST

/* Splits of all requests that no int32 counts: tensors may be large where strides are 0. */
START_TEST(splits_that_are_too_many)
{
    problem p = {.o = {.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .tuning = {.split = 1024}}, .requests = 1, .heads = 1, .shared = 1, .queries = 1, .keys = {70}, .target = target_of(_i, 1)};
    if (r.stream.device != SETT_CPU)
        return;
    sett_kernel *k = kernel_of(&p);
    launch y = make_launch(&p);
    for (int i = Q; i <= O; i++) {
        y.x[i].buf.shape[0] = 1 << 21, y.x[i].buf.stride[0] = 0;
        if (i == K || i == V)
            y.x[i].buf.shape[2] = 1 << 20, y.x[i].buf.stride[2] = 0;
    }
    ck_assert_int_ne(try_launch(k, &y), SETT_OK);
    ck_assert_msg(strstr(err.text, "elements, and the launch needs 146028888064") != NULL, "%s", err.text);
    drop_launch(&y);
    sett_kernel_release(k);
}
END_TEST

/* Of as many, and of those whose PARTIAL no launch takes; of one fewer there is one. */
static const struct { int counts[5]; bool fit; } many[] = {{{1000000000, 1, 1, 1, 1000000000}, false}, {{INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX}, false}, {{1, INT_MAX, 1, INT_MAX, 1}, false},
    {{1, 1, 1, 1, INT_MAX}, true}, {{INT_MAX, 1, 1, 1, 1}, false}, {{31580641, 1, 1, 1, 1}, true}, {{31580642, 1, 1, 1, 1}, false}};
START_TEST(workspaces_that_are_too_large)
{
    const sett_attention_decode_options o = {.size = sizeof o, .dtype = SETT_BF16, .d = 64};
    const sett_attention_mla_options mla = {.size = sizeof mla, .dtype = SETT_BF16};
    const int *n = many[_i].counts;
    char want[300];
    size_t partial = 1, left = 1;
    ck_assert_int_eq(sett_attention_decode_workspace(&o, n[0], n[1], n[2], n[3], n[4], &partial, &left, &err), many[_i].fit ? SETT_OK : SETT_E_RANGE);
    ck_assert(many[_i].fit ? partial <= INT_MAX && partial / 68 * 2 + 2 == left : !partial && !left);
    if (!many[_i].fit) {
        snprintf(want, sizeof want, "sett_attention_decode_workspace: requests %d, heads %d, heads_k %d, queries %d, keys %d: PARTIAL would have more than 2^31 - 1 elements, which no launch takes", n[0], n[1], n[2], n[3], n[4]);
        ck_assert_str_eq(err.text, want);
        ck_assert_int_eq(sett_attention_mla_workspace(&mla, n[0], n[1], n[2], n[3], n[4], &partial, &left, &err), SETT_E_RANGE);
        ck_assert_msg(!strncmp(err.text, "sett_attention_mla_workspace: requests ", 39), "%s", err.text);
    }
}
END_TEST

START_TEST(the_workspace)
{
    const sett_attention_decode_options o = {.size = sizeof o, .dtype = SETT_BF16}, odd = {.size = sizeof o};
    size_t partial = 7, left = 7;
    ck_assert(!sett_attention_decode_workspace(&o, 32, 32, 8, 1, 4096, &partial, &left, &err));
    ck_assert_uint_eq(left, 2 * 32 * 8 * 8 + 2);
    ck_assert_uint_eq(partial, 32 * 8 * 8 * 4 * 132);
    ck_assert_int_eq(sett_attention_decode_workspace(&o, 32, 32, 5, 1, 4096, &partial, &left, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_attention_decode_workspace: heads is 32: a multiple of heads_k");
    ck_assert_uint_eq(partial + left, 0);
    ck_assert_int_eq(sett_attention_decode_workspace(&o, 32, 32, 8, 0, 4096, &partial, &left, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_attention_decode_workspace: queries is 0: 1 or more");
    ck_assert_int_eq(sett_attention_decode_workspace(&odd, 1, 1, 1, 1, 1, &partial, &left, NULL), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_attention_decode_workspace(&odd, 1, 1, 1, 1, 1, &partial, &left, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_attention_decode_workspace: attention_decode: .dtype is not given: f16 or bf16");
    const sett_attention_mla_options mla = {.size = sizeof mla, .dtype = SETT_BF16};
    ck_assert(!sett_attention_mla_workspace(&mla, 64, 128, 1, 1, 4096, &partial, &left, &err));
    ck_assert_uint_eq(left, 2 * 64 * 2 + 2);
    ck_assert_uint_eq(partial, 64 * 2 * 64 * 516);
    ck_assert_int_eq(sett_attention_mla_workspace(&mla, 64, 128, 1, 1, 0, &partial, &left, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_attention_mla_workspace: keys is 0: 1 or more");
}
END_TEST

Suite *attention_decode_suite(void)
{
    Suite *s = suite_create("attention_decode");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, random_problems, 0, RANDOM_TESTS + OTHER_TESTS);
    tcase_add_loop_test(t, no_keys_at_all, 0, 6);
    tcase_add_loop_test(t, functions_of_the_caller, 0, 4);
    tcase_add_loop_test(t, functions_that_cannot_be, 0, 2);
    tcase_add_loop_test(t, many_splits, 0, 3);
    tcase_add_loop_test(t, bits_of_a_request, 0, BITS_OF * BITS);
    tcase_add_test(t, extreme_options);
    tcase_add_loop_test(t, options_that_cannot_be, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(t, options_of_mla_that_cannot_be, 0, (int)(sizeof refused_mla / sizeof *refused_mla));
    tcase_add_loop_test(t, memory_that_cannot_be, 0, 2 * IN_MEMORY);
    tcase_add_loop_test(t, splits_that_are_too_many, 0, 2);
    tcase_add_loop_test(t, workspaces_that_are_too_large, 0, (int)(sizeof many / sizeof *many));
    tcase_add_test(t, the_workspace);
    suite_add_tcase(s, t);
    return s;
}
