/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of tests/tape: each is assembled by every assembler that is here, without a spill, local memory or a warning about
 * its products; and runs on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0, at three shapes, against plain C, and of a GPU that
 * the CPU engine models bit by bit against that; on the CPU engine under each policy of what goes on by itself too, in many orders. */
#include "jit/launch/launch.h"
#include "jit/sim/sim.h"
#include "tests/conform/conform.h"
#include "tests/rig/mma_truth.h"
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 3 };

/* ---- operands ------------------------------------------------------------------------------------- */
typedef struct matrix {
    char *data;
    sett_dtype dtype;
    int rows, cols, pitch; /* of whole rows, pitch elements each */
} matrix;

enum { POISON = -77 };

static matrix made(sett_dtype dtype, int rows, int cols, int pitch)
{
    matrix x = {malloc((size_t)rows * (size_t)pitch * (size_t)sett__dtype_bytes(dtype)), dtype, rows, cols, pitch};
    ck_assert_ptr_nonnull(x.data);
    for (int i = 0; i < rows * pitch; i++)
        conform_put(x.data, dtype, (size_t)i, sett__bits_of_float(dtype, POISON));
    return x;
}

static double at(const matrix *x, int row, int col)
{
    return conform_number(x->dtype, conform_get(x->data, x->dtype, (size_t)row * (size_t)x->pitch + (size_t)col));
}

static void set(const matrix *x, int row, int col, double v)
{
    conform_put(x->data, x->dtype, (size_t)row * (size_t)x->pitch + (size_t)col, sett__bits_of_float(x->dtype, v));
}

/* Exact: small integers that tell their place, whose sums are exact in f32. Else any numbers between -1 and 1. */
static matrix filled(sett_dtype dtype, int rows, int cols, int pitch, bool exact, uint64_t seed)
{
    matrix x = made(dtype, rows, cols, pitch);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            set(&x, i, j, exact ? (7 * i + 3 * j + (i * j) % 5 + (int)seed) % 9 - 4 : (double)((int64_t)conform_random(&seed) >> 32) * 0x1p-31);
    return x;
}

static sett_buf buf(const matrix *x)
{
    return (sett_buf){x->data, x->dtype, 2, {x->rows, x->cols}, {x->pitch, 1}};
}

/* What a kernel must not write: columns past the last. */
static void gaps_are_left(const matrix *x)
{
    for (int i = 0; i < x->rows; i++)
        for (int j = x->cols; j < x->pitch; j++)
            ck_assert_msg(at(x, i, j) == POISON, "(%d,%d) of %d columns was written", i, j, x->cols);
}

static void expect(double got, double want, double bound, int i, int j)
{
    ck_assert_msg(fabs(got - want) <= bound, "(%d,%d): got %.9g, want %.9g within %.3g", i, j, got, want, bound);
}

/* A row of A by a row of B, and how far a tensor core may be off: groups of 16, of which each is cut at 25 bits. */
static double dot(const matrix *a, int i, const matrix *b, int j, double *bound)
{
    double sum = 0, size = 0;
    for (int k = 0; i < a->rows && j < b->rows && k < a->cols; k++) {
        const double one = at(a, i, k) * at(b, j, k);
        sum += one;
        size += fabs(one);
    }
    *bound = ceil(a->cols / 16.) * (17 * 0x1p-25 + 0x1p-23) * size;
    return sum;
}

/* Have the products the rules that were measured of sm_90? The CPU engine does. */
static bool as_measured(void)
{
    char target[16] = "";
    sett_device_target(conform_engine(), conform_on_gpu() ? 0 : SETT_CPU, target, sizeof target);
    return !strcmp(target, "cpu") || !strcmp(target, "sm_90a");
}

/* As a tensor core sums it up, 16 of K after 16; of bf16. */
static double summed(const matrix *a, int i, const matrix *b, int j)
{
    const truth t = truth_of(90, false, SETT_BF16, SETT_BF16, SETT_F32, 16);
    uint64_t sum = 0;
    for (int k = 0; i < a->rows && j < b->rows && k < a->cols; k += 16) {
        uint64_t x[16] = {0}, y[16] = {0};
        for (int n = k; n < k + 16 && n < a->cols; n++) {
            x[n - k] = conform_get(a->data, SETT_BF16, (size_t)i * (size_t)a->pitch + (size_t)n);
            y[n - k] = conform_get(b->data, SETT_BF16, (size_t)j * (size_t)b->pitch + (size_t)n);
        }
        sum = truth_element(&t, x, y, sum);
    }
    return conform_number(SETT_F32, sum);
}

/* What a product is, and how far it may be off. Exact numbers are summed up plainly. */
static double product(const matrix *a, int i, const matrix *b, int j, bool exact, double *bound)
{
    *bound = 0;
    if (!exact && as_measured())
        return summed(a, i, b, j);
    double off, want = dot(a, i, b, j, &off);
    *bound = exact ? 0 : off;
    return want;
}

/* Rounded as the kernels do. */
static double in_bf16(double want, double *bound)
{
    *bound += *bound > 0 ? 0x1p-8 * fabs(want) : 0;
    return *bound > 0 ? want : conform_number(SETT_BF16, sett__bits_of_float(SETT_BF16, want));
}

/* ---- launches ------------------------------------------------------------------------------------------ */
#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { POLICIES = 22, COMPARED = 1, ASSEMBLERS = 0 /* whose own memory is not checked */ };
#else
enum { POLICIES = 102, COMPARED = SHAPES /* shapes of a program in which machines are compared */, ASSEMBLERS = 2 };
#endif
enum { ORDERS = 10, MOST_BUFS = 5 };
static int orders = -1; /* how many distinct ones were seen; below 0: a launch goes by one policy alone */
static sett_kernel *model; /* another kernel of the text, for the CPU, with which a launch is compared; NULL: it is not */
static int own;            /* the argument that each machine writes in its own way; 0: none does */

typedef struct image { char *at, *before, *first; size_t bytes; } image;

static size_t bytes_of(const sett_buf *b)
{
    return (size_t)(b->shape[0] * (b->rank > 1 ? b->stride[0] : 1)) * (size_t)sett__dtype_bytes(b->dtype);
}

/* On the CPU engine by each policy: the same bytes in all buffers, whatever the order. Each begins with what was there before. */
static void by_policies(const sett_kernel *k, int n, const sett_launch_arg *bind)
{
    static sett__bound b;
    sett__extent extent[SETT__MAX_ARGS];
    image x[MOST_BUFS] = {{0}};
    _Atomic uint64_t order;
    uint64_t seen[POLICIES];
    sett_error err = {0};
    ck_assert_msg(n <= MOST_BUFS && !sett__bind_kernel(k, n, bind, &b, extent, &err) && !sett__maps_encode(k->plan, NULL, 0, &b, NULL, NULL, &err), "%s", err.text);
    for (int i = 0; i < n; i++) {
        x[i] = (image){.at = bind[i].u.t->data, .bytes = bytes_of(bind[i].u.t)};
        ck_assert((x[i].before = malloc(x[i].bytes)) && (x[i].first = malloc(x[i].bytes)));
        memcpy(x[i].before, x[i].at, x[i].bytes);
    }
    orders = 0;
    for (int p = 0; p < POLICIES; p++) {
        const sett__launch_dims *d = &b.dims;
        sett__checked check = {.to = {.checks = k->rest->cpu->checks}};
        const sett__sim_launch l = {.grid = {d->grid[0], d->grid[1], d->grid[2]}, .block = {d->block[0], d->block[1], d->block[2]},
            .cluster = {d->cluster[0], d->cluster[1], d->cluster[2]}, .params = b.params, .params_len = b.params_len, .extent = extent, .threads = 2, .name = "k",
            .async = {p == 0 ? SETT__ASYNC_EAGER : p == 1 ? SETT__ASYNC_LAZY : SETT__ASYNC_RANDOM, (uint64_t)p}, .order = &order,
            .check = check.to.checks > SETT_CHECKS_OFF ? &check : NULL};
        int at = 0;
        atomic_init(&order, 0);
        for (int i = 0; i < n; i++)
            memcpy(x[i].at, x[i].before, x[i].bytes);
        ck_assert_msg(!sett__sim_run(k->rest->cpu->program, &l, &err), "policy %d: %s", p, err.text);
        if (l.check)
            sett__findings_told(&check.to);
        sett__before_free(check.after);
        for (int i = 0; i < n; i++) {
            ck_assert_msg(!p || !memcmp(x[i].at, x[i].first, x[i].bytes), "argument %d differs under policy %d", i, p);
            memcpy(x[i].first, x[i].at, x[i].bytes);
        }
        for (seen[orders] = order; seen[at] != order;)
            at++;
        orders += at == orders;
    }
    for (int i = 0; i < n; i++)
        free(x[i].before), free(x[i].first);
}

/* Here and on the CPU engine the same bytes in all buffers, from what was there before. */
static void as_model(sett_kernel *k, int n, const sett_launch_arg *bind)
{
    image x[MOST_BUFS] = {{0}};
    ck_assert(n <= MOST_BUFS);
    for (int i = 0; i < n; i++) {
        x[i] = (image){.at = bind[i].u.t->data, .bytes = bytes_of(bind[i].u.t)};
        ck_assert((x[i].before = malloc(x[i].bytes)) && (x[i].first = malloc(x[i].bytes)));
        memcpy(x[i].before, x[i].at, x[i].bytes);
    }
    conform_launch(k, false, n, bind);
    for (int i = 0; i < n; i++) {
        memcpy(x[i].first, x[i].at, x[i].bytes);
        memcpy(x[i].at, x[i].before, x[i].bytes);
    }
    conform_launch(model, true, n, bind);
    for (int i = 0; i < n; i++) {
        size_t at = 0;
        while (at < x[i].bytes && x[i].at[at] == x[i].first[at])
            at++;
        ck_assert_msg(at == x[i].bytes || i == own, "byte %zu of argument %d is %d, and on the CPU engine %d", at, i, x[i].first[at], x[i].at[at]);
        free(x[i].before), free(x[i].first);
    }
}

static void launch_all(sett_kernel *k, int n, const sett_launch_arg *bind)
{
    if (model)
        as_model(k, n, bind);
    else if (orders < 0)
        conform_launch(k, false, n, bind);
    else
        by_policies(k, n, bind);
}
#define launch(k, ...) launch_all(k, SETT_LAUNCH_ARGS(__VA_ARGS__, 0))

/* What is compared with a model bit by bit has been judged by plain C in `computes`: a few rows are again. */
static int rows_judged(int rows)
{
    return model && rows > 16 ? 16 : rows;
}

/* ---- each program against plain C -------------------------------------------------------------------- */
static void run_gemm_mma(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES][4] = {{128, 256, 64, 0}, {256, 520, 320, 0}, {201, 301, 200, 8}}; /* M, N, K and more of a pitch */
    const int M = sizes[shape][0], N = sizes[shape][1], K = sizes[shape][2], more = sizes[shape][3];
    matrix a = filled(SETT_BF16, M, K, K + more, exact, 1), b = filled(SETT_BF16, N, K, K + 2 * more, exact, 2);
    matrix c = made(SETT_BF16, M, N, (N + 7) / 8 * 8 + more);
    const sett_buf A = buf(&a), B = buf(&b), C = buf(&c);
    launch(k, &A, &B, &C);
    for (int i = 0; i < rows_judged(M); i++)
        for (int j = 0; j < N; j++) {
            double bound, want = in_bf16(product(&a, i, &b, j, exact, &bound), &bound);
            expect(at(&c, i, j), want, bound, i, j);
        }
    gaps_are_left(&c);
    free(a.data), free(b.data), free(c.data);
}

/* Tiles of 256 rows and so many columns, for five clusters: more tiles than clusters, and clusters without one. */
static void run_tiles(sett_kernel *k, int shape, bool exact, int columns)
{
    /* M, N, K and more of a pitch; on the CPU and on a GPU. K of 320 goes round all stages. */
    static const int both[2][SHAPES][4] = {{{256, 256, 64, 0}, {768, 512, 320, 0}, {520, 400, 328, 8}}, {{256, 256, 64, 0}, {768, 512, 640, 0}, {1000, 1192, 1096, 8}}};
    const int(*sizes)[4] = both[conform_on_gpu()];
    enum { CLUSTERS = 5, MOST = 1 << 16 /* results are looked at, else a part of them */ };
    const int M = sizes[shape][0], N = sizes[shape][1], K = sizes[shape][2], more = sizes[shape][3];
    const int down = (M + 255) / 256, across = (N + columns - 1) / columns, rounds = (down * across + CLUSTERS - 1) / CLUSTERS;
    matrix a = filled(SETT_BF16, M, K, K + more, exact, 1), b = filled(SETT_BF16, N, K, K + 2 * more, exact, 2), c = made(SETT_BF16, M, N, N + more);
    int32_t *tile = malloc((size_t)(rounds * CLUSTERS) * sizeof *tile);
    ck_assert_ptr_nonnull(tile);
    for (int i = 0; i < rounds * CLUSTERS; i++)
        tile[i] = i < down * across ? i % down << 16 | i / down : -1;
    const sett_buf A = buf(&a), B = buf(&b), C = buf(&c), T = sett_buf_2d(tile, SETT_I32, rounds, CLUSTERS);
    launch(k, &A, &B, &C, &T);
    for (int e = 0; e < rows_judged(M) * N; e += M * N > MOST ? 101 : 1) {
        double bound, want = in_bf16(product(&a, e / N, &b, e % N, exact, &bound), &bound);
        expect(at(&c, e / N, e % N), want, bound, e / N, e % N);
    }
    gaps_are_left(&c);
    free(a.data), free(b.data), free(c.data), free(tile);
}

static void run_gemm_wgmma(sett_kernel *k, int shape, bool exact)
{
    run_tiles(k, shape, exact, 256);
}

static void run_pingpong(sett_kernel *k, int shape, bool exact)
{
    run_tiles(k, shape, exact, 128);
}

/* Element (i, j, n) of thread (x, y, z) is of row y + 8 j + 16 z and column 2 x + i + 8 n. */
static void run_wgmma_loop(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES][3] = {{64, 256, 64}, {128, 512, 320}, {77, 301, 136}};
    const int M = sizes[shape][0], N = sizes[shape][1], K = sizes[shape][2], across = (M + 63) / 64, blocks = across * ((N + 255) / 256);
    matrix a = filled(SETT_BF16, M, K, K, exact, 3), b = filled(SETT_BF16, N, K, K, exact, 4), d = made(SETT_F32, blocks * 128, 128, 128);
    const sett_buf A = buf(&a), B = buf(&b), D = buf(&d);
    launch(k, &A, &B, &D);
    for (int t = 0; t < blocks * 128; t++)
        for (int e = 0; e < 128; e++) {
            int block = t / 128, row = t % 32 / 4 + 8 * (e / 2 % 2) + 16 * (t % 128 / 32), col = 2 * (t % 4) + e % 2 + 8 * (e / 4);
            double bound, want = product(&a, block % across * 64 + row, &b, block / across * 256 + col, exact, &bound);
            expect(at(&d, t, e), want, bound, t, e);
        }
    free(a.data), free(b.data), free(d.data);
}

/* One row: the weights in double, then their sum over V. */
static void attend(const matrix *q, const matrix *k, const matrix *v, int i, double *out)
{
    double *p = malloc((size_t)k->rows * sizeof *p), most = -INFINITY, sum = 0;
    ck_assert_ptr_nonnull(p);
    for (int j = 0; j < k->rows; j++) {
        p[j] = 0;
        for (int c = 0; c < q->cols; c++)
            p[j] += at(q, i, c) * at(k, j, c);
        most = fmax(most, p[j]);
    }
    memset(out, 0, (size_t)v->cols * sizeof *out);
    for (int j = 0; j < k->rows; j++) {
        p[j] = exp((p[j] - most) / 8);
        sum += p[j];
        for (int c = 0; c < v->cols; c++)
            out[c] += p[j] * at(v, j, c);
    }
    for (int c = 0; c < v->cols; c++)
        out[c] /= sum;
    free(p);
}

/* Exact: all queries are 0, so that all keys weigh the same, and P is exact in bf16. Else the queries are large enough for few keys
 * to weigh more than others; P is rounded to 8 bits. */
static void run_attention(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES][2] = {{64, 64}, {128, 320}, {75, 201}}; /* queries, keys */
    const int M = sizes[shape][0], N = sizes[shape][1];
    matrix q = filled(SETT_BF16, M, 64, 64, false, 5), key = filled(SETT_BF16, N, 64, 64, exact, 6), v = filled(SETT_BF16, N, 64, 64, exact, 7);
    matrix o = made(SETT_F32, M, 64, 64);
    const sett_buf Q = buf(&q), K = buf(&key), V = buf(&v), O = buf(&o);
    for (int i = 0; i < M; i++)
        for (int c = 0; c < 64; c++)
            set(&q, i, c, exact ? 0 : 8 * at(&q, i, c));
    launch(k, &Q, &K, &V, &O);
    for (int i = 0; i < M; i++) {
        double want[64];
        attend(&q, &key, &v, i, want);
        for (int c = 0; c < 64; c++)
            expect(at(&o, i, c), want[c], exact ? 0x1p-20 * fabs(want[c]) : 0x1p-7, i, c);
    }
    free(q.data), free(key.data), free(v.data), free(o.data);
}

static void run_peer_sum(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES] = {256, 25600, 1111};
    const int n = sizes[shape], sums = (n + 255) / 256;
    matrix x = filled(SETT_F32, 1, n, n, exact, 8), d = made(SETT_F32, 1, sums, sums);
    const sett_buf X = sett_buf_1d(x.data, SETT_F32, n), D = sett_buf_1d(d.data, SETT_F32, sums);
    launch(k, &X, &D);
    for (int i = 0; i < sums; i++) {
        double want = 0, size = 0;
        for (int j = 256 * i; j < n && j < 256 * i + 256; j++)
            want += at(&x, 0, j), size += fabs(at(&x, 0, j));
        expect(at(&d, 0, i), want, exact ? 0 : 16 * 0x1p-24 * size, 0, i);
    }
    free(x.data), free(d.data);
}

static void run_transpose(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES][2] = {{32, 32}, {128, 96}, {76, 131}};
    const int M = sizes[shape][0], N = sizes[shape][1];
    matrix a = filled(SETT_F32, M, N, (N + 3) / 4 * 4 + 4, exact, 9), d = made(SETT_F32, N, M, (M + 3) / 4 * 4 + 8);
    const sett_buf A = buf(&a), D = buf(&d);
    launch(k, &A, &D);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            expect(at(&d, i, j), at(&a, j, i), 0, i, j);
    gaps_are_left(&d);
    free(a.data), free(d.data);
}

/* Of a group the first byte, which is a multiple of 16, rows, and columns and a pitch of multiples of 4. */
static void run_grouped_copy(sett_kernel *k, int shape, bool exact)
{
    static const int sizes[SHAPES][3][2] = {{{16, 32}, {16, 32}, {16, 32}}, {{64, 32}, {16, 160}, {48, 96}}, {{1, 4}, {23, 44}, {50, 100}}};
    enum { G = 3, EACH = 8192 };
    int64_t table[G][4];
    _Alignas(64) static uint64_t maps[G][32];
    matrix a = filled(SETT_F32, 1, G * EACH, G * EACH, exact, 10), d = made(SETT_F32, 1, G * EACH, G * EACH);
    for (int g = 0; g < G; g++)
        memcpy(table[g], (int64_t[]){g * EACH * 4 + 16 * g, sizes[shape][g][0], sizes[shape][g][1], (sizes[shape][g][1] + 3) / 4 * 4 + 4 * g}, sizeof table[g]);
    const sett_buf A = sett_buf_1d(a.data, SETT_F32, G * EACH), D = sett_buf_1d(d.data, SETT_F32, G * EACH);
    const sett_buf T = sett_buf_2d(table, SETT_I64, G, 4), W = sett_buf_2d(maps, SETT_U64, G, 32);
    launch(k, &A, &D, &T, &W);
    for (int i = 0; i < G * EACH; i++) {
        const int64_t *t = table[i / EACH], e = i - t[0] / 4;
        bool in = e >= 0 && e / t[3] < t[1] && e % t[3] < t[2];
        expect(at(&d, 0, i), in ? at(&a, 0, i) : POISON, 0, i / EACH, i % EACH);
    }
    free(a.data), free(d.data);
}

/* ---- the programs --------------------------------------------------------------------------------------- */
static const struct program {
    const char *name, *targets; /* of those that it needs */
    int registers;              /* of an assembler, at most */
    const char *product;        /* the loop that has it has at most so many moves in PTX */
    int moves;
    void (*run)(sett_kernel *, int shape, bool exact);
    int some; /* the shape that runs by all policies */
    const char *checks; /* of the PTX */
} programs[] = {
    {"gemm_mma", "sm_80 sm_90a", 255, "mma.sync", 2, run_gemm_mma, 0,
        "CHECK: cp.async.cg.shared.global\nCHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16\nCHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n"},
    {"wgmma_loop", "sm_90a", 160, "wgmma.mma_async", 1, run_wgmma_loop, 0,
        "CHECK: wgmma.fence.sync.aligned;\nCHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16\nCHECK: wgmma.wait_group.sync.aligned 1;\n"
        "CHECK: wgmma.wait_group.sync.aligned 0;\n"},
    {"wgmma_attention", "sm_90a", 124, "wgmma.mma_async", 3, run_attention, 2,
        "CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16\nCHECK: wgmma.wait_group.sync.aligned 1;\nCHECK: wgmma.wait_group.sync.aligned 0;\n"},
    {"gemm_wgmma", "sm_90a", 168, "wgmma.wait_group.sync.aligned 1", 1, run_gemm_wgmma, 0,
        "CHECK: .reqnctapercluster 2\nCHECK: fence.mbarrier_init\nCHECK: barrier.cluster.wait\nCHECK: setmaxnreg.dec\nCHECK: multicast::cluster\n"
        "CHECK: setmaxnreg.inc\nCHECK: wgmma.fence.sync.aligned;\nCHECK: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16\nCHECK: wgmma.wait_group.sync.aligned 1;\n"
        "CHECK: mbarrier.arrive.relaxed.cluster.shared::cluster.b64\nCHECK: stmatrix.sync.aligned.m8n8.x4\nCHECK: cp.async.bulk.tensor.2d.global.shared::cta\n"},
    {"gemm_wgmma_pingpong", "sm_90a", 168, "wgmma.wait_group.sync.aligned 1", 1, run_pingpong, 0,
        "CHECK: .reqnctapercluster 2\nCHECK: fence.mbarrier_init\nCHECK: barrier.cluster.wait\nCHECK: setmaxnreg.dec\nCHECK: multicast::cluster\n"
        "CHECK: setmaxnreg.inc\nCHECK: wgmma.fence.sync.aligned;\nCHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16\nCHECK: wgmma.wait_group.sync.aligned 1;\n"
        "CHECK: mbarrier.arrive.relaxed.cluster.shared::cluster.b64\nCHECK: stmatrix.sync.aligned.m8n8.x4\nCHECK: cp.async.bulk.tensor.2d.global.shared::cta\n"},
    {"peer_sum", "sm_90 sm_90a", 32, NULL, 0, run_peer_sum, 2,
        "CHECK: .reqnctapercluster 2\nCHECK: mbarrier.init.shared.b64\nCHECK: fence.mbarrier_init.release.cluster\nCHECK: barrier.cluster.arrive\n"
        "CHECK: barrier.cluster.wait\nCHECK: mapa.shared::cluster\nCHECK: st.shared::cluster.b32\nCHECK: mbarrier.arrive.release.cluster.shared::cluster.b64\n"
        "CHECK: mbarrier.try_wait.parity.acquire.cluster.shared.b64\n"},
    {"peer_send", "sm_90 sm_90a", 32, NULL, 0, run_peer_sum, 2,
        "CHECK: mbarrier.arrive.expect_tx\nCHECK: barrier.cluster.wait\nCHECK: mapa.shared::cluster\nCHECK: st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [\n"
        "CHECK: mbarrier.try_wait.parity.acquire.cluster.shared.b64\n"},
    {"transpose_tma", "sm_90 sm_90a", 32, NULL, 0, run_transpose, 2,
        "CHECK: .param .align 64 .b8\nCHECK: mbarrier.init\nCHECK: cp.async.bulk.tensor.2d.shared::cluster\nCHECK: mbarrier.try_wait.parity\n"
        "CHECK: cp.async.bulk.tensor.2d.global.shared::cta\nCHECK: cp.async.bulk.commit_group\nCHECK: cp.async.bulk.wait_group\n"},
    {"grouped_copy", "sm_90a", 64, NULL, 0, run_grouped_copy, 2,
        "CHECK: ld.param.v2.b64\nCHECK: st.global.v2.b64\nCHECK: tensormap.replace.tile.global_address.global\nCHECK: fence.proxy.tensormap::generic.release.gpu\n"
        "CHECK: fence.proxy.tensormap::generic.acquire.gpu\nCHECK: cp.async.bulk.tensor.2d.shared::cluster\nCHECK: cp.async.bulk.tensor.2d.global.shared::cta\n"},
};
enum { N_PROGRAMS = SETT__COUNT(programs) };

static char *text_of(const struct program *p)
{
    char name[80];
    snprintf(name, sizeof name, "tests/tape/%s.tape", p->name);
    return tape_file(name);
}

/* Moves between the last label before the first product and the next label. */
static int moves(const char *ptx, const char *product)
{
    const char *first = strstr(ptx, product), *from = ptx, *label, *move;
    ck_assert_ptr_nonnull(first);
    while ((label = strstr(from + 1, "$L__BB")) && label < first)
        from = label;
    const char *end = strstr(first, "\n$L__BB");
    int n = 0;
    for (move = from; (move = strstr(move + 1, "\tmov.")) && move < end;)
        n++;
    return n;
}

START_TEST(comes_back)
{
    const struct program *p = &programs[_i];
    char *text = text_of(p), target[16], checks[1024];
    tape_comes_back(text);
    snprintf(checks, sizeof checks, "%sNOT: .local\nCHECK: ret", p->checks);
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    const char *targets = p->targets;
    for (int n; e && sscanf(targets, "%15s%n", target, &n) == 1; targets += n)
        tape_gives(e, text, target, checks);
    if (e)
        sett_engine_close(e);
    free(text);
}
END_TEST

static void check_assembled(const struct program *p, const sett_kernel *k)
{
    sett_kernel_info info = {.size = sizeof info};
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_ptr_nonnull(info.cubin);
    ck_assert_msg(info.registers <= p->registers && info.spill_stores <= 0 && info.spill_loads <= 0 && info.stack <= 0,
        "%s: %d registers, %d + %d bytes spilled, %d of stack", p->name, info.registers, info.spill_stores, info.spill_loads, info.stack);
    ck_assert_msg(!strstr(info.report, "(C75") && !strstr(info.report, "serialised"), "%s: %s", p->name, info.report);
    int n = p->product ? moves(info.ptx, p->product) : 0;
    ck_assert_msg(n <= p->moves, "%s: %d moves beside the products\n%s", p->name, n, info.ptx);
    printf("%s: %s, %d registers, %d moves\n", p->name, info.assembler, info.registers, n);
}

START_TEST(assembles)
{
    const struct program *p = &programs[_i / 2];
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .assembler = _i % 2 ? SETT_ASM_PTXAS : SETT_ASM_NVJITLINK};
    char *text = text_of(p), target[16];
    sett_error err = {0};
    sett_engine *e = have_compiler() ? open_with(&o) : NULL;
    const char *targets = p->targets;
    for (int n; e && sscanf(targets, "%15s%n", target, &n) == 1; targets += n) {
        const sett_compile_options c = {.size = sizeof c, .target = target};
        sett_kernel *k;
        sett_status s = sett_compile_tape(e, text, strlen(text), &c, &k, &err);
        if (s == SETT_E_NO_ASSEMBLER) {
            fprintf(stderr, "skipped: %s\n", err.text);
            break;
        }
        ck_assert_msg(!s, "%s for %s: %s", p->name, target, err.text);
        check_assembled(p, k);
        sett_kernel_release(k);
    }
    if (e)
        sett_engine_close(e);
    free(text);
}
END_TEST

/* For the device; NULL: a GPU has not what the text needs, which is printed. The CPU engine has all. */
static sett_kernel *for_device(const char *name, const char *text)
{
    const sett_compile_options o = {.size = sizeof o, .name = name};
    sett_kernel *k = NULL;
    sett_error err = {0};
    sett_status s = have_compiler() || !conform_on_gpu() ? sett_compile_tape(conform_engine(), text, strlen(text), &o, &k, &err) : SETT_E_TARGET;
    ck_assert_msg(!s || (s == SETT_E_TARGET && conform_on_gpu()), "%s: %s", name, err.text);
    if (s)
        fprintf(stderr, "skipped: %s: %s\n", name, err.text);
    return k;
}

START_TEST(computes)
{
    const struct program *p = &programs[_i / (2 * SHAPES)];
    char *text = text_of(p);
    sett_kernel *k = for_device(p->name, text);
    if (k)
        p->run(k, _i / 2 % SHAPES, _i % 2 == 0);
    sett_kernel_release(k);
    free(text);
}
END_TEST

/* ---- bit by bit ------------------------------------------------------------------------------------- */
static char *swapped(char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *all = malloc(strlen(text) + strlen(to) + 1);
    ck_assert_msg(at && all, "there is no `%s`", from);
    sprintf(all, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    free(text);
    return all;
}

/* %to = 2^%x of n elements, in operations of which each machine gives the same bits; `from`: the line that it stands for. Of x below
 * -126 it is 0. The sum with 1.5 * 2^23 has the nearest integer in its last bits, which become an exponent. */
static char *exactly_exp2(char *text, const char *from, int to, int x, int n, int first)
{
    char lines[2048];
    int at = 0, v = first;
#define LINE(...) at += snprintf(lines + at, sizeof lines - (size_t)at, __VA_ARGS__)
    LINE("%%%d = max f32x%d %%%d, %%900\n%%%d = add f32x%d %%%d, %%901\n", v, n, x, v + 1, n, v);
    LINE("%%%d = sub f32x%d %%%d, %%901\n%%%d = sub f32x%d %%%d, %%%d\n", v + 2, n, v + 1, v + 3, n, v, v + 2);
    LINE("%%%d = fma f32x%d %%%d, %%910, %%909\n", v + 4, n, v + 3);
    for (int k = 1; k < 6; k++)
        LINE("%%%d = fma f32x%d %%%d, %%%d, %%%d\n", v + 4 + k, n, v + 3, v + 3 + k, k < 5 ? 909 - k : 902);
    LINE("%%%d = bitcast i32x%d %%%d\n%%%d = shl i32x%d %%%d, %%903\n", v + 10, n, v + 1, v + 11, n, v + 10);
    LINE("%%%d = add i32x%d %%%d, %%904\n%%%d = bitcast f32x%d %%%d\n", v + 12, n, v + 11, v + 13, n, v + 12);
    LINE("%%%d = mul f32x%d %%%d, %%%d\n%%%d = lt i1x%d %%%d, %%900\n", v + 14, n, v + 9, v + 13, v + 15, n, x);
    LINE("%%%d = select f32x%d %%%d, %%25, %%%d", to, n, v + 15, v + 14);
#undef LINE
    return swapped(text, from, lines);
}

/* The program, and of attention one without the approximations, whose bits are each machine's own. */
static char *text_of_same_bits(const struct program *p)
{
    char *text = text_of(p);
    if (p->run != run_attention)
        return text;
    text = swapped(text, "%27 = const", "%900 = const f32 -126.0\n%901 = const f32 12582912.0\n%902 = const f32 1.0\n%903 = const i32 23\n%904 = const i32 0x3f800000\n%905 = const f32 0x3f317218\n%906 = const f32 0x3e75fdec\n%907 = const f32 0x3d6357bc\n%908 = const f32 0x3c1d9858\n%909 = const f32 0x3aaf8533\n%910 = const f32 0x391fc836\n"
        "%27 = const");
    text = exactly_exp2(text, "%97 = ex2.approx f32x32 %96", 97, 96, 32, 920);
    text = exactly_exp2(text, "%99 = ex2.approx f32x2 %98", 99, 98, 2, 940);
    return swapped(text, "%139 = rcp.approx f32x2 %134", "%139 = div f32x2 %902, %134");
}

/* By the CPU engine; where that runs the kernel too, by its plain interpreter. */
static sett_kernel *model_of(const char *name, const char *text)
{
    static sett_engine *plain;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_plain = true};
    const sett_compile_options o = {.size = sizeof o, .name = name, .target = "cpu"};
    sett_error err = {0};
    sett_kernel *k = NULL;
    if (!plain && !conform_on_gpu())
        ck_assert_msg(!sett_engine_open(&plain, &eo, &err), "%s", err.text);
    ck_assert_msg(!sett_compile_tape(plain ? plain : conform_engine(), text, strlen(text), &o, &k, &err), "%s", err.text);
    return k;
}

START_TEST(same_bits)
{
    const struct program *p = &programs[_i / SHAPES];
    if (_i % SHAPES >= COMPARED)
        return;
    char *text = text_of_same_bits(p);
    sett_kernel *k = as_measured() ? for_device(p->name, text) : NULL;
    model = k ? model_of(p->name, text) : NULL;
    own = p->run == run_grouped_copy ? 3 : 0; /* tensor maps */
    ck_assert(!strstr(text, ".approx"));
    if (k)
        p->run(k, _i % SHAPES, false);
    sett_kernel_release(model);
    model = NULL; /* the tests after it may run in this process */
    sett_kernel_release(k);
    free(text);
}
END_TEST

START_TEST(orders_do_not_matter)
{
    const struct program *p = &programs[_i];
    char *text = text_of(p);
    sett_kernel *k = conform_on_gpu() ? NULL : for_device(p->name, text);
    orders = k ? 0 : -1;
    if (k)
        p->run(k, p->some, false);
    ck_assert_msg(!k || orders >= ORDERS, "%d orders", orders);
    orders = -1; /* the tests after it may run in this process */
    sett_kernel_release(k);
    free(text);
}
END_TEST

/* ---- fields of maps that no program changes -------------------------------------------------------------- */
/* A box of 8 rows from row 12 on, of 16 rows and, by a map that is changed, 29 columns, in a swizzle of 128 bytes, with NaN outside;
 * then integers are added to E by a map of f32 that is changed to i32. */
static const char replaced[] =
    "sett tape 2\nparam A f32 (16,32):(32,1) align 16 read\nparam D f32 (256):(1) align 16 write\nparam E i32 (8,32):(32,1) align 16 read write\n"
    "param F f32 (8,32):(32,1) align 16 read\nparam W u64 (32):(1) align 64 read write\n"
    "map from A f32 (32,16) bytes (128) box (32,8)\nmap to F f32 (32,8) bytes (128) box (32,8)\ngrid 1\nblock 32\nsmem 1032 align 1024\n\n"
    "%0 = tid.x i32\n%1 = tmap f32 from\n%2 = tmap f32 to\n%3 = param f32 D\n%4 = param u64 W\n%5 = smem f32x256 at 0\n%6 = smem i32x256 at 0\n"
    "%7 = smem u64x1 at 1024 mbarrier\n%8 = const i32 0\n%9 = const i32 1\n%10 = const i32 3\n%11 = const i32 29\n%12 = const i32 12\n%13 = const i32 1024\n"
    "%14 = const i32 8\n%15 = eq i1 %0, %8\n%16 = addr u64 E\n%17 = tmap.at u64 %4[0]\n%18 = tmap.at u64 %4[16]\n"
    "if %15 {\n"
    "    tmap.copy %4[0] from %1\n    tensormap.replace %4[0] with %10 field=swizzle\n    tensormap.replace %4[0] with %9 field=fill\n"
    "    tensormap.replace %4[0] with %11 field=extent\n    tmap.copy %4[16] from %2\n    tensormap.replace %4[16] with %16 field=address\n"
    "    tensormap.replace %4[16] with %10 field=type\n    fence.proxy kind=tensormap.release\n    fence.proxy map %4[0] kind=tensormap.acquire\n"
    "    fence.proxy map %4[16] kind=tensormap.acquire\n    mbarrier.init %7[0] %9\n    fence.mbarrier_init\n    mbarrier.expect_tx %7[0] %13 arrive\n"
    "    tma.load %5[0] from %17 done %7[0] at %8, %12\n"
    "}\nbarrier\nloop {\n    %20 = mbarrier.try_wait i1 %7[0] %8\n    %21 = not i1 %20\n    while %21\n}\n"
    "%22 = mul i32 %0, %14\n%23 = load f32x8 %5[%22] align 16\nstore %3[%22] f32x8 %23 align 16\nbarrier\n"
    "%24 = pick i32x8 %0 [0,0,0,0,0,0,0,0]\nstore %6[%22] i32x8 %24 align 16\nfence.proxy kind=async.shared\nbarrier\n"
    "if %15 {\n    tma.reduce %5[0] to %18 at %8, %8 op=add\n    bulk.commit\n    bulk.wait\n}\n";

START_TEST(fields_are_replaced)
{
    _Alignas(64) static uint64_t maps[32];
    int32_t sums[256];
    sett_kernel *k = for_device("replaced", replaced);
    if (!k)
        return;
    matrix a = filled(SETT_F32, 16, 32, 32, false, 11), d = made(SETT_F32, 1, 256, 256), f = made(SETT_F32, 8, 32, 32);
    for (int i = 0; i < 256; i++)
        sums[i] = 0x40000001 + 3 * i;
    const sett_buf A = buf(&a), D = sett_buf_1d(d.data, SETT_F32, 256), E = sett_buf_2d(sums, SETT_I32, 8, 32), F = buf(&f), W = sett_buf_1d(maps, SETT_U64, 32);
    launch(k, &A, &D, &E, &F, &W);
    for (int i = 0; i < 256; i++) {
        const int row = i / 32, col = (i % 32 / 4 ^ row) * 4 + i % 4;
        const double got = at(&d, 0, i);
        ck_assert_msg(row >= 4 || col >= 29 ? isnan(got) : got == at(&a, 12 + row, col), "(%d,%d): %g", row, col, got);
        ck_assert_msg(sums[i] == 0x40000001 + 3 * i + i / 8, "sum %d: %x", i, (unsigned)sums[i]);
    }
    free(a.data), free(d.data), free(f.data);
    sett_kernel_release(k);
}
END_TEST

START_TEST(types_that_flush)
{
    char text[sizeof replaced];
    _Alignas(64) static float numbers[16 * 32];
    sett_error err = {0};
    if (conform_on_gpu())
        return;
    memcpy(text, replaced, sizeof text);
    memcpy(strstr(text, "%10 field=type"), "%14", 3); /* 8: f32.ftz */
    sett_kernel *k = for_device("flushes", text);
    const sett_buf A = sett_buf_2d(numbers, SETT_F32, 16, 32), D = sett_buf_1d(numbers, SETT_F32, 256), E = sett_buf_2d(numbers, SETT_I32, 8, 32);
    const sett_buf F = sett_buf_2d(numbers, SETT_F32, 8, 32), W = sett_buf_1d(numbers, SETT_U64, 32);
    const sett_status s = sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &D, &E, &F, &W);
    ck_assert_int_eq(s, SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "tensormap.replace: types that flush to zero are not modelled"), "%s", err.text);
    sett_kernel_release(k);
}
END_TEST

Suite *programs_suite(void)
{
    Suite *s = suite_create("programs");
    for (int i = 0; i < N_PROGRAMS; i++) {
        TCase *t = tcase_create(programs[i].name);
        tcase_set_timeout(t, 300);
        tcase_add_loop_test(t, comes_back, i, i + 1);
        tcase_add_loop_test(t, assembles, ASSEMBLERS * i, ASSEMBLERS * (i + 1));
        tcase_add_loop_test(t, computes, 2 * SHAPES * i, 2 * SHAPES * (i + 1));
        tcase_add_loop_test(t, same_bits, SHAPES * i, SHAPES * (i + 1));
        tcase_add_loop_test(t, orders_do_not_matter, i, i + 1);
        suite_add_tcase(s, t);
    }
    TCase *t = tcase_create("fields");
    tcase_add_test(t, fields_are_replaced);
    tcase_add_test(t, types_that_flush);
    suite_add_tcase(s, t);
    return s;
}
