/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by tensor maps, in bulk and to a peer, as the language records them. The law of a map: whatever the tensor, the tile, its
 * layout in shared memory and the edge, a copy by it is the plain copy of the tile, with zeros outside. On the CPU engine, each under
 * another policy of what goes on by itself, or with SETT_TEST_GPU=1 on GPU 0. What is refused: test_tma_refused. */
#define SETT_SHORT
#include "tests/rig/policies.h"
#include "tests/rig/rig.h"
#include <sett/cluster.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/tma.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, MOST_RANK = 5, CASES = 70 };
typedef struct problem {
    sett_dtype dtype;
    int rank;
    int64_t extent[MOST_RANK], stride[MOST_RANK], tile[MOST_RANK];
    int order[MOST_RANK]; /* of modes in the tensor: the contiguous one first */
    int held[MOST_RANK];  /* the same in shared memory */
    int swizzle;          /* bytes; 0: plain */
    int blocks;           /* that share a tile */
    bool symbols, parts;  /* extents that a launch gives; copies of sett_tma_partition's parts */
    int out;              /* 0: none, 1: store, 2: reduce */
    sett_binary_op op;
} problem;

/* ---- the problem as C has it --------------------------------------------------------------------- */
static int64_t tiles_of(const problem *p, int mode)
{
    return (p->extent[mode] + p->tile[mode] - 1) / p->tile[mode];
}

static int64_t tile_count(const problem *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++)
        n *= tiles_of(p, i);
    return n;
}

static int64_t tile_size(const problem *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++)
        n *= p->tile[i];
    return n;
}

/* Element e of tile t: its offset; -1: outside. */
static int64_t place(const problem *p, int64_t t, int64_t e)
{
    int64_t at = 0;
    for (int i = 0; i < p->rank; i++) {
        const int64_t x = t % tiles_of(p, i) * p->tile[i] + e % p->tile[i];
        t /= tiles_of(p, i), e /= p->tile[i];
        at = x >= p->extent[i] || at < 0 ? -1 : at + x * p->stride[i];
    }
    return at;
}

static int64_t reach(const problem *p)
{
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++)
        n += (p->extent[i] - 1) * p->stride[i];
    return n;
}

/* ---- the kernel ------------------------------------------------------------------------------------- */
static sett_arg tuple_of(sett_build *b, const problem *p, const int64_t *x)
{
    sett_arg kid[MOST_RANK];
    for (int i = 0; i < p->rank; i++)
        kid[i] = sett_arg_i(x[i]);
    return sett_arg_keep(b, sett_arg_n(p->rank, kid));
}

static sett_tensor *tensor(sett_build *b, const problem *p, const char *name)
{
    static const char *const names[] = {"n0", "n1", "n2", "n3", "n4"};
    sett_arg shape[MOST_RANK];
    const int piece = 16 / sett__dtype_bytes(p->dtype);
    for (int i = 0; i < p->rank; i++)
        shape[i] = !p->symbols ? sett_arg_i(p->extent[i]) : SETT_A(sett_sym(b, names[i], .div = p->out && i == p->order[0] ? piece : 1));
    return sett_param(b, name, p->dtype, sett_make_layout(b, sett_arg_n(p->rank, shape), tuple_of(b, p, p->stride)), .align = 16);
}

static sett_layout *smem_layout(sett_build *b, const problem *p)
{
    int64_t rank[MOST_RANK];
    for (int i = 0; i < p->rank; i++)
        rank[p->held[i]] = i;
    if (!p->swizzle)
        return sett_make_ordered_layout(b, tuple_of(b, p, p->tile), tuple_of(b, p, rank));
    sett_layout *atom = sett_smem_layout_atom(b, p->dtype, p->order[0] ? SETT_K_MAJOR : SETT_MN_MAJOR, p->swizzle);
    return sett_tile_to_shape(atom, tuple_of(b, p, p->tile), tuple_of(b, p, rank));
}

/* The tile of this block, or cluster, of a tensor of coordinates. */
static sett_tensor *tile_at(sett_build *b, const problem *p, sett_tensor *x, sett_val *number)
{
    sett_arg at[MOST_RANK];
    for (int i = 0; i < p->rank; i++) {
        at[i] = SETT_A(sett_mod(number, tiles_of(p, i)));
        number = sett_floordiv(number, tiles_of(p, i));
    }
    return sett_local_tile(x, tuple_of(b, p, p->tile), sett_arg_n(p->rank, at));
}

static void load(sett_build *b, const problem *p, sett_tma *map, sett_tensor *from, sett_tensor *to, sett_tensor *bar)
{
    sett_tensor *s = to, *g = from;
    sett_val *mask = NULL;
    if (p->blocks > 1) {
        sett_layout *blocks = sett_make_layout(b, p->blocks, 1);
        sett_tma_partition(map, SETT_A(sett_block_idx_in_cluster(b)), blocks, to, from, &s, &g);
        mask = sett_create_tma_multicast_mask(b, sett_make_layout(b, T(p->blocks, 1)), T(0, 0), 0);
    } else if (p->parts) {
        sett_tma_partition(map, 0, NULL, to, from, &s, &g);
    }
    sett_mbarrier_arrive_and_expect_tx(bar, sett_tma_bytes(map), .pred = sett_elect_one(b));
    if (p->blocks > 1)
        sett_cluster_sync(b); /* the bytes of a peer's part come behind the announcement of each block */
    sett_tma_load(map, g, s, bar, .mask = mask);
}

static void body(sett_build *b, const void *user)
{
    const problem *p = user;
    const int64_t size = tile_size(p);
    sett_tensor *X = tensor(b, p, "X"), *Y = p->out ? sett_param(b, "Y", p->dtype, sett_tensor_layout(X), .align = 16) : NULL;
    sett_tensor *D = sett_param(b, "D", p->dtype, sett_row_major(b, tile_count(p) * p->blocks, size));
    sett_grid(b, tile_count(p) * p->blocks);
    sett_block(b, p->blocks > 1 ? 32 : THREADS);
    sett_cluster(b, p->blocks);
    sett_tensor *s = sett_make_smem_tensor(b, p->dtype, smem_layout(b, p), 1024), *bar = sett_make_mbarriers(b, 1);
    sett_tma *from = sett_make_tma(X, .smem = s, .tile = tuple_of(b, p, p->tile), .multicast = p->blocks);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *tile = p->blocks > 1 ? sett_floordiv(block, p->blocks) : block;
    sett_if (b, sett_eq(t, 0)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    if (p->blocks > 1)
        load(b, p, from, tile_at(b, p, sett_tma_tensor(from), tile), s, bar);
    else
        sett_if (b, sett_lt(t, 32))
            load(b, p, from, tile_at(b, p, sett_tma_tensor(from), tile), s, bar);
    sett_mbarrier_wait(bar, 0);
    sett_for (b, i, SETT_A(t), size, p->blocks > 1 ? 32 : THREADS)
        sett_set(D, sett_at(s, i), block, i);
    if (p->out) {
        sett_tma *to = sett_make_tma(Y, .layout = sett_tensor_layout(s), .tile = tuple_of(b, p, p->tile));
        sett_if (b, sett_lt(t, 32)) {
            sett_tensor *at = tile_at(b, p, sett_tma_tensor(to), tile), *part = s;
            if (p->parts)
                sett_tma_partition(to, 0, NULL, s, at, &part, &at);
            if (p->out == 1)
                sett_tma_store(to, part, at);
            else
                sett_tma_reduce(to, p->op, part, at);
            sett_tma_store_commit(b);
            sett_tma_store_wait(b, 0);
        }
    }
    if (p->blocks > 1)
        sett_cluster_sync(b);
}

/* ---- problems ------------------------------------------------------------------------------------------ */
static uint64_t state;
static int draw(int n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int)(state >> 33) % n;
}

static void shuffle(int *x, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = draw(i + 1), was = x[i];
        x[i] = x[k], x[k] = was;
    }
}

static void draw_tile(problem *p)
{
    const int bytes = sett__dtype_bytes(p->dtype), first = p->order[0], piece = 16 / bytes;
    for (int i = 0; i < p->rank; i++)
        p->tile[i] = 1 + draw(p->rank > 3 ? 3 : 5);
    p->tile[first] = piece * (1 + draw(p->rank > 3 ? 2 : 4));
    for (int i = 0; i < p->rank; i++)
        p->held[i] = p->order[i];
    shuffle(p->held + 1, p->rank - 1);
    if (p->rank < 2 || first > 1 || !draw(3))
        return;
    p->swizzle = 32 << draw(3);
    p->tile[first] = p->swizzle / bytes * (1 + draw(2));
    p->tile[!first] = 8 * (1 + draw(3));
    for (int i = 0, n = 2; i < p->rank; i++) /* the two modes of the atom first */
        if (p->order[i] > 1)
            p->held[n++] = p->order[i];
    p->held[0] = first, p->held[1] = !first;
    if (draw(2)) /* rows of atoms first: several copies a tile, if its rows are longer */
        p->held[0] = !first, p->held[1] = first;
}

static void draw_problem(problem *p, int number)
{
    static const sett_dtype types[] = {SETT_F16, SETT_F32, SETT_U8, SETT_F64, SETT_BF16, SETT_I32, SETT_I64, SETT_U16, SETT_F8E4M3FN};
    static const sett_dtype summed[] = {SETT_I32, SETT_U32, SETT_F32, SETT_U64};
    *p = (problem){.rank = 1 + number % MOST_RANK, .blocks = 1, .symbols = draw(2), .parts = draw(2), .out = draw(3)};
    p->dtype = p->out == 2 ? summed[draw(4)] : types[draw(9)];
    p->op = p->out == 2 && p->dtype != SETT_F32 ? (sett_binary_op[]){SETT_ADD, SETT_MIN, SETT_MAX}[draw(3)] : SETT_ADD;
    for (int i = 0; i < p->rank; i++)
        p->order[i] = i;
    shuffle(p->order, p->rank);
    draw_tile(p);
    const int piece = 16 / sett__dtype_bytes(p->dtype);
    int64_t next = 1;
    for (int i = 0; i < p->rank; i++) {
        const int m = p->order[i];
        p->extent[m] = 1 + draw((int)p->tile[m] * 2 + 3);
        if (!i && p->out)
            p->extent[m] = (p->extent[m] + piece - 1) / piece * piece;
        p->stride[m] = next;
        next = (next * p->extent[m] + piece - 1) / piece * piece + piece * draw(2);
    }
    if (number % 4 != 3 || p->out || tile_size(p) * sett__dtype_bytes(p->dtype) > (p->swizzle ? 8192 : 1024) || (p->swizzle && p->rank > 2))
        return;
    const int64_t blocks = 2 << draw(2), times = blocks * (p->swizzle ? 1 : 8); /* parts begin at 128 bytes, or with the swizzle */
    int64_t *shared = &p->tile[p->swizzle ? !p->order[0] : p->held[p->rank - 1]];
    if (*shared * times > SETT__MAP_BOX)
        return;
    p->blocks = (int)blocks;
    *shared *= times;
    if (p->swizzle)
        p->held[0] = !p->order[0], p->held[1] = p->order[0];
}

static void describe(const problem *p, char *to, size_t size)
{
    int n = snprintf(to, size, "%s swizzle %d blocks %d symbols %d parts %d out %d:", sett_dtype_name(p->dtype), p->swizzle, p->blocks, p->symbols, p->parts, p->out);
    for (int i = 0; i < p->rank; i++)
        n += snprintf(to + n, size - (size_t)n, " %lld:%lld/%lld@%d", (long long)p->extent[i], (long long)p->stride[i], (long long)p->tile[i], p->held[i]);
}

/* ---- running them ----------------------------------------------------------------------------------------- */
static void fill(unsigned char *x, size_t n, int size, int salt)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < size; k++) /* small integers, whose sums are exact in every type that is added */
            x[i * (size_t)size + (size_t)k] = (unsigned char)(k ? 0 : (i * 7 + (size_t)salt) % 61 + 1);
}

static sett_buf buf_of(const problem *p, void *x)
{
    sett_buf b = sett_buf_nd(x, p->dtype, p->rank, p->extent);
    memcpy(b.stride, p->stride, (size_t)p->rank * sizeof *p->stride);
    return b;
}

static void number_of(const problem *p, const unsigned char *x, int64_t at, double *to)
{
    uint32_t bits = 0;
    float f;
    memcpy(&bits, x + at * sett__dtype_bytes(p->dtype), 4);
    memcpy(&f, &bits, 4);
    *to = p->dtype == SETT_F32 ? (double)f : (double)bits;
}

static void check_out(const problem *p, const unsigned char *x, const unsigned char *was, const unsigned char *y, const bool *inside, int64_t n, const char *what)
{
    const int size = sett__dtype_bytes(p->dtype);
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *want = inside[i] && p->out == 1 ? x : was;
        if (p->out == 2 && inside[i]) {
            double a, b, c;
            number_of(p, x, i, &a), number_of(p, was, i, &b), number_of(p, y, i, &c);
            ck_assert_msg(c == (p->op == SETT_ADD ? a + b : p->op == SETT_MIN ? (a < b ? a : b) : a > b ? a : b), "%s: element %lld: %g of %g and %g", what, (long long)i, c, a, b);
        } else {
            ck_assert_msg(!memcmp(y + i * size, want + i * size, (size_t)size), "%s: element %lld of what was written", what, (long long)i);
        }
    }
}

static void check_all(const problem *p, const unsigned char *x, const unsigned char *d, bool *inside, const char *what)
{
    static const unsigned char zeros[8];
    const int size = sett__dtype_bytes(p->dtype);
    for (int64_t t = 0; t < tile_count(p); t++)
        for (int64_t e = 0; e < tile_size(p); e++) {
            const int64_t at = place(p, t, e);
            if (at >= 0)
                inside[at] = true;
            for (int k = 0; k < p->blocks; k++)
                ck_assert_msg(!memcmp(d + ((t * p->blocks + k) * tile_size(p) + e) * size, at < 0 ? zeros : x + at * size, (size_t)size), "%s: block %d, tile %lld, element %lld", what, k,
                    (long long)t, (long long)e);
        }
}

static void run(const problem *p, sett_engine *e, sett_kernel *k, const char *what)
{
    const size_t size = (size_t)sett__dtype_bytes(p->dtype), n = (size_t)reach(p), all = (size_t)(tile_count(p) * tile_size(p) * p->blocks);
    unsigned char *x = aligned_alloc(64, (n * size + 127) / 64 * 64), *y = aligned_alloc(64, (n * size + 127) / 64 * 64), *was = calloc(n, size), *d = calloc(all, size);
    bool *inside = calloc(n, sizeof *inside);
    sett_error err = {0};
    fill(x, n, (int)size, 3), fill(y, n, (int)size, 29);
    if (p->dtype == SETT_F32 && p->out == 2)
        for (size_t i = 0; i < n; i++) {
            const float a = x[i * 4], b = y[i * 4];
            memcpy(x + i * 4, &a, 4), memcpy(y + i * 4, &b, 4);
        }
    memcpy(was, y, n * size);
    sett_buf X = buf_of(p, x), Y = buf_of(p, y), D = sett_buf_2d(d, p->dtype, tile_count(p) * p->blocks, tile_size(p));
    const sett_status s = p->out ? LAUNCH_HERE(e, k, &err, &X, &Y, &D) : LAUNCH_HERE(e, k, &err, &X, &D);
    ck_assert_msg(!s, "%s: %s", what, err.text);
    check_all(p, x, d, inside, what);
    if (p->out)
        check_out(p, x, was, y, inside, (int64_t)n, what);
    free(x), free(y), free(was), free(d), free(inside);
}

/* Of what the problems were, how many: none of these goes without a case. */
enum { SHARED, SHARED_AND_SWIZZLED, SEVERAL_COPIES, STORED, REDUCED, FIVE_MODES, EDGES, N_KINDS };
static void count(const problem *p, int kinds[N_KINDS])
{
    const int first = p->order[0];
    kinds[SHARED] += p->blocks > 1;
    kinds[SHARED_AND_SWIZZLED] += p->blocks > 1 && p->swizzle;
    kinds[SEVERAL_COPIES] += p->swizzle && p->tile[first] * sett__dtype_bytes(p->dtype) > p->swizzle;
    kinds[STORED] += p->out == 1;
    kinds[REDUCED] += p->out == 2;
    kinds[FIVE_MODES] += p->rank == 5;
    kinds[EDGES] += p->extent[first] % p->tile[first] != 0;
}

START_TEST(copies_are_plain_copies)
{
    int kinds[N_KINDS] = {0};
    char what[300];
    sett_engine *e[3] = {engine_of(0), engine_of(1), engine_of(2 + _i)};
    state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    for (int i = 0; i < CASES; i++) {
        problem p;
        draw_problem(&p, i);
        describe(&p, what, sizeof what);
        sett_kernel *k = kernel_of(e[i % 3], body, &p, 0);
        run(&p, e[i % 3], k, what);
        count(&p, kinds);
        sett_kernel_release(k);
    }
    for (int i = 0; i < 3; i++)
        sett_engine_close(e[i]);
    for (int i = 0; i < N_KINDS; i++)
        ck_assert_int_ge(kinds[i], 1);
}
END_TEST

/* ---- bytes ------------------------------------------------------------------------------------------------ */
/* Blocks of a cluster of two load their row of X in bulk, store it, add it to another, and send it to each other: in bulk, and each
 * thread `each` elements of it. */
typedef struct bytes {
    sett_dtype dtype;
    int each;
    bool apart;       /* what a thread sends lies apart: one store an element */
    const char *sent; /* by this instruction */
} bytes;
enum { ROW = 128, SENDERS = 32 };

static sett_tensor *rows(sett_build *b, const bytes *p, const char *name)
{
    return sett_slice(sett_param(b, name, p->dtype, sett_row_major(b, sett_sym(b, "B"), ROW), .align = 16), sett_block_idx(b, 0), ALL);
}

static void bytes_body(sett_build *b, const void *user)
{
    const bytes *p = user;
    const int size = sett__dtype_bytes(p->dtype), sent = SENDERS * p->each;
    sett_cluster(b, 2);
    sett_tensor *X = rows(b, p, "X"), *Y = rows(b, p, "Y"), *Z = rows(b, p, "Z"), *P = rows(b, p, "P"), *Q = rows(b, p, "Q");
    sett_grid(b, sett_sym(b, "B"));
    sett_block(b, SENDERS);
    sett_tensor *s = sett_make_smem_tensor(b, p->dtype, ROW, 16), *r = sett_make_smem_tensor(b, p->dtype, ROW, 16), *q = sett_make_smem_tensor(b, p->dtype, sent, 16);
    sett_tensor *bars = sett_make_mbarriers(b, 3), *bar[3];
    sett_val *t = sett_thread_idx(b, 0), *other = sett_sub(1, sett_block_idx_in_cluster(b));
    for (int i = 0; i < 3; i++)
        bar[i] = sett_slice(bars, i);
    sett_if (b, sett_eq(t, 0)) {
        for (int i = 0; i < 3; i++) {
            sett_mbarrier_init(bar[i], 1);
        }
        sett_fence_mbarrier_init(b);
        for (int i = 0; i < 3; i++) {
            sett_mbarrier_arrive_and_expect_tx(bar[i], i < 2 ? ROW * size : sent * size);
        }
    }
    sett_cluster_sync(b);
    sett_bulk_load(X, s, bar[0], .policy = sett_cache_policy(b, SETT_EVICT_FIRST, 100));
    sett_mbarrier_wait(bar[0], 0);
    sett_bulk_store(s, Y);
    sett_bulk_reduce(SETT_ADD, s, Z);
    sett_tma_store_commit(b);
    sett_bulk_peer(s, sett_map_dsmem(r, other), sett_map_dsmem(bar[1], other));
    sett_layout *mine = p->apart ? sett_make_layout(b, T(SENDERS, p->each)) : sett_make_layout(b, T(SENDERS, p->each), T(p->each, 1));
    sett_tensor *from = sett_slice(sett_composition(s, mine), t, ALL), *to = sett_slice(sett_composition(q, mine), t, ALL);
    sett_store_async(sett_map_dsmem(to, other), sett_load(from), sett_map_dsmem(bar[2], other));
    sett_tma_store_wait(b, 0);
    for (int i = 1; i < 3; i++)
        sett_mbarrier_wait(bar[i], 0, .cluster = true);
    sett_for (b, i, SETT_A(t), ROW, SENDERS) {
        sett_set(P, sett_at(r, i), i);
        sett_set(Q, sett_at(q, sett_mod(i, sent)), i);
    }
    sett_cluster_sync(b);
}

static const bytes sends[] = {
    {SETT_F32, 4, false, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 ["},
    {SETT_U32, 2, false, "complete_tx::bytes.v2.b32 ["},
    {SETT_I32, 1, false, "complete_tx::bytes.b32 ["},
    {SETT_F64, 2, false, "complete_tx::bytes.v2.b64 ["},
    {SETT_U64, 1, false, "complete_tx::bytes.b64 ["},
    {SETT_U64, 4, false, "complete_tx::bytes.v2.b64 ["},
    {SETT_F32, 3, true, "complete_tx::bytes.b32 ["},
};

static void numbers(const bytes *p, void *x, int n, int salt)
{
    for (int i = 0; i < n; i++) {
        const int k = (i * 5 + salt) % 97;
        switch (p->dtype) {
        case SETT_F32: ((float *)x)[i] = (float)k; break;
        case SETT_F64: ((double *)x)[i] = k; break;
        case SETT_U64: ((uint64_t *)x)[i] = (uint64_t)k; break;
        default: ((int32_t *)x)[i] = k; break;
        }
    }
}

static double number(const bytes *p, const void *x, int i)
{
    return p->dtype == SETT_F32 ? (double)((const float *)x)[i] : p->dtype == SETT_F64 ? ((const double *)x)[i] : p->dtype == SETT_U64 ? (double)((const uint64_t *)x)[i] : ((const int32_t *)x)[i];
}

START_TEST(bytes_are_copied)
{
    enum { BLOCKS = 4 };
    const bytes *p = &sends[_i];
    static _Alignas(16) double x[5][BLOCKS * ROW];
    sett_error err = {0};
    sett_buf buf[5];
    for (int policy = 0; policy < policies(4); policy++) {
        sett_engine *e = engine_of(policy);
        sett_kernel *k = kernel_of(e, bytes_body, p, 0);
        for (int i = 0; i < 5; i++) {
            numbers(p, x[i], BLOCKS * ROW, i);
            buf[i] = sett_buf_2d(x[i], p->dtype, BLOCKS, ROW);
        }
        ck_assert_msg(!LAUNCH_HERE(e, k, &err, &buf[0], &buf[1], &buf[2], &buf[3], &buf[4]), "%s", err.text);
        for (int i = 0; i < BLOCKS * ROW; i++) {
            const int peer = (i / ROW ^ 1) * ROW, sent = SENDERS * p->each;
            ck_assert(number(p, x[1], i) == (i * 5) % 97);
            ck_assert(number(p, x[2], i) == (i * 5) % 97 + (i * 5 + 2) % 97);
            ck_assert(number(p, x[3], i) == (peer + i % ROW) * 5 % 97);
            ck_assert(number(p, x[4], i) == (peer + i % ROW % sent) * 5 % 97);
        }
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

static void holds(sett_body recorded, const void *user, const char *const *part)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = user};
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    if (!have_compiler())
        return;
    ck_assert(!sett_engine_open(&e, &eo, &err));
    sett_status s = sett_compile(e, recorded, &o, &k, &err);
    o.ptx_only = s == SETT_E_NO_ASSEMBLER;
    s = o.ptx_only ? sett_compile(e, recorded, &o, &k, &err) : s;
    ck_assert_msg(!s, "%s", err.text);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    for (; *part; part++)
        ck_assert_msg(strstr(info.ptx, *part), "no %s in\n%.3000s", *part, info.ptx);
    sett_kernel_release(k);
    sett_engine_close(e);
}

/* ---- maps in memory ---------------------------------------------------------------------------------------- */
enum { GROUPS = 5, ROWS = 16, COLUMNS = 32, POOL = 20000 };

/* D_g = A_g for matrices of different sizes, one a block: T has of each its first element, rows, columns and pitch. */
static void grouped(sett_build *b, const void *unused)
{
    (void)unused;
    sett_val *N = sett_sym(b, "N"), *g = sett_block_idx(b, 0);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, N), .align = 16), *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, N), .align = 16);
    sett_tensor *table = sett_param(b, "T", SETT_I32, sett_row_major(b, sett_sym(b, "G"), 4));
    sett_tensor *maps = sett_param(b, "maps", SETT_U64, sett_row_major(b, sett_sym(b, "G"), 2, 16), .align = 64);
    sett_grid(b, sett_sym(b, "G"));
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_smem_layout(b, SETT_F32, SETT_K_MAJOR, ROWS, COLUMNS), 1024), *bar = sett_make_mbarriers(b, 1);
    sett_layout *one = sett_row_major(b, ROWS, COLUMNS);
    sett_tma *from = sett_make_tma(sett_composition(A, one), .smem = s, .tile = T(ROWS, COLUMNS), .name = "from"), *to = sett_make_tma(sett_composition(D, one), .smem = s, .tile = T(ROWS, COLUMNS));
    sett_val *row[4], *at;
    for (int i = 0; i < 4; i++)
        row[i] = sett_at(table, g, i);
    sett_tensor *map[2] = {sett_slice(maps, g, 0, ALL), sett_slice(maps, g, 1, ALL)};
    for (int i = 0; i < 2; i++) {
        at = sett_address(i ? D : A, row[0]);
        sett_copy_tensormap(i ? to : from, map[i]);
        sett_update_tma_descriptor(i ? to : from, map[i], .address = at, .shape = sett_tuple(b, row[1], row[2]), .stride = sett_tuple(b, row[3], 1));
    }
    sett_fence_tma_desc_release(b);
    for (int i = 0; i < 2; i++)
        sett_fence_tma_desc_acquire(map[i]);
    sett_prefetch_descriptor_of(from, map[0]);
    sett_prefetch_descriptor(to);
    sett_if (b, sett_elect_one(b)) {
        sett_mbarrier_init(bar, 1);
        sett_fence_mbarrier_init(b);
    }
    sett_sync_threads(b);
    /* Coordinates of more rows and columns than the maps of the launch have: the map in memory says how many there are. */
    sett_tensor *phase = sett_var(b, SETT_I32, 0), *cf = sett_tma_tensor(from), *ct = sett_tma_tensor(to);
    sett_for (b, i, 0, sett_ceil_div(row[1], ROWS), 1) {
        sett_for (b, j, 0, sett_ceil_div(row[2], COLUMNS), 1) {
            sett_mbarrier_arrive_and_expect_tx(bar, sett_tma_bytes(from), .pred = sett_elect_one(b));
            sett_arg begin = sett_tuple(b, sett_mul(i, ROWS), sett_mul(j, COLUMNS));
            sett_tma_load(from, sett_domain_offset(cf, begin), s, bar, .map = map[0]);
            sett_mbarrier_wait(bar, sett_at(phase, 0));
            sett_tma_store(to, s, sett_domain_offset(ct, begin), .map = map[1]);
            sett_tma_store_commit(b);
            sett_tma_store_wait_read(b, 0);
            sett_sync_warp(b);
            sett_set(phase, sett_xor(sett_at(phase, 0), 1), 0);
        }
    }
    sett_tma_store_wait(b, 0);
}

START_TEST(groups_by_maps_in_memory)
{
    static _Alignas(64) float a[POOL], d[POOL], want[POOL];
    static _Alignas(64) uint64_t maps[GROUPS * 2 * 16];
    static int32_t table[GROUPS][4] = {{0, 16, 32, 32}, {1024, 1, 4, 4}, {2048, 40, 36, 44}, {6000, 17, 100, 100}, {9000, 64, 64, 128}};
    sett_engine *e = engine_of(_i);
    sett_error err = {0};
    sett_kernel *k = kernel_of(e, grouped, NULL, 0);
    for (int i = 0; i < POOL; i++)
        a[i] = (float)i, d[i] = want[i] = -1;
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < table[g][1]; i++)
            for (int j = 0; j < table[g][2]; j++)
                want[table[g][0] + i * table[g][3] + j] = a[table[g][0] + i * table[g][3] + j];
    sett_buf A = sett_buf_1d(a, SETT_F32, POOL), D = sett_buf_1d(d, SETT_F32, POOL), T_ = sett_buf_2d(table, SETT_I32, GROUPS, 4), M = sett_buf_nd(maps, SETT_U64, 3, (int64_t[]){GROUPS, 2, 16});
    ck_assert_msg(!LAUNCH_HERE(e, k, &err, &A, &D, &T_, &M), "%s", err.text);
    for (int i = 0; i < POOL; i++)
        ck_assert_msg(d[i] == want[i], "element %d: %g, should be %g", i, (double)d[i], (double)want[i]);
    sett_kernel_release(k);
    sett_engine_close(e);
    holds(grouped, NULL, (const char *const[]){"tensormap.replace.tile.global_address.global.b1024.b64", "tensormap.replace.tile.global_dim.global.b1024.b32",
        "tensormap.replace.tile.global_stride.global.b1024.b64", "fence.proxy.tensormap::generic.release.gpu", "fence.proxy.tensormap::generic.acquire.gpu [", "prefetch.tensormap", NULL});
}
END_TEST

/* ---- code ----------------------------------------------------------------------------------------------------- */
START_TEST(code_of_bytes)
{
    holds(bytes_body, &sends[_i],
        (const char *const[]){sends[_i].sent, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [", "cp.async.bulk.global.shared::cta.bulk_group [",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add", "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [", NULL});
}
END_TEST

START_TEST(code_of_boxes)
{
    const problem shared = {.dtype = SETT_F16, .rank = 2, .extent = {100, 200}, .stride = {200, 1}, .tile = {64, 64}, .order = {1, 0}, .held = {0, 1}, .swizzle = 128, .blocks = 2, .symbols = true};
    const problem summed = {.dtype = SETT_U32, .rank = 3, .extent = {8, 16, 4}, .stride = {1, 8, 128}, .tile = {8, 4, 2}, .order = {0, 1, 2}, .held = {0, 1, 2}, .blocks = 1, .out = 2, .op = SETT_MAX};
    holds(body, &shared, (const char *const[]){"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [", NULL});
    holds(body, &summed,
        (const char *const[]){"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [", "cp.reduce.async.bulk.tensor.3d.global.shared::cta.max.tile.bulk_group [", NULL});
}
END_TEST

/* ---- texts ------------------------------------------------------------------------------------------------------ */
/* The coordinates of a map, what sett_tma_partition makes of a tile and of its coordinates, and the map. */
static const struct {
    const char *gmem, *tile, *smem, *coords, *parts, *memory, *map;
} texts[] = {
    {"(?,64):(64,1)", "(128,64)", "S<3,3,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))", "(?,64):(1@1,1@0)", "(((64,128),1)):(((1@0,1@1),0))", "((8192,1)):((1,0))", "f16 (64,n) bytes (128) box (64,128) swizzle 128 l2 128"},
    {"(?,256):(256,1)", "(64,128)", "S<3,3,3> o 0 o ((8,8),(64,2)):((64,512),(1,4096))", "(?,256):(1@1,1@0)", "(((64,64),2)):(((1@0,1@1),64@0))", "((4096,2)):((1,4096))", "f16 (256,n) bytes (512) box (64,64) swizzle 128 l2 128"},
    {"(256,?):(1,256)", "(128,16)", "S<3,3,3> o 0 o ((64,2),(8,2)):((1,1024),(64,512))", "(256,?):(1@0,1@1)", "(((64,16),2)):(((1@0,1@1),64@0))", "((1024,2)):((1,1024))", "f16 (256,n) bytes (512) box (64,16) swizzle 128 l2 128"},
    {"(?,64,5):(64,1,4096)", "(8,32)", "S<2,3,3> o 0 o (8,32):(32,1)", "(?,64,5):(1@1,1@0,1@2)", "(((32,8),1)):(((1@0,1@1),0))", "((256,1)):((1,0))", "f16 (64,n,5) bytes (128,8192) box (32,8,1) swizzle 64 l2 128"},
    {"(64,(4,?)):(1,(64,256))", "(64,(4,2))", "(64,(4,2)):(1,(64,256))", "(64,(4,?)):(1@0,(1@1,1@2))", "(((64,4,2),1)):(((1@0,1@1,1@2),0))", "((512,1)):((1,0))", "f16 (64,4,n) bytes (128,512) box (64,4,2) l2 128"},
    {"(64,1,?):(1,7,64)", "(64,1,8)", "(64,1,8):(1,0,64)", "(64,1,?):(1@0,0,1@1)", "(((64,8),1)):(((1@0,1@1),0))", "((512,1)):((1,0))", "f16 (64,n) bytes (128) box (64,8) l2 128"},
    {"(?):(1)", "(128)", "(128):(1)", "(?):(1@0)", "((128,1)):((1@0,0))", "((128,1)):((1,0))", "f16 (n) box (128) l2 128"},
};

static bool symbol(void *user, const char **at, sett_arg *leaf)
{
    ++*at;
    *leaf = SETT_A((sett_val *)user);
    return true;
}

START_TEST(as_cute_has_them)
{
    sett_build *b = kernel();
    const sett__ctx c = {b, SETT_HERE, "test"};
    char text[300];
    sett_val *n = sett_sym(b, "n");
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett__parse(&c, texts[_i].gmem, symbol, n).u.l, .align = 16), *s, *g, *coords;
    sett_layout *l = sett_layout_parse(b, texts[_i].smem);
    sett_tensor *smem = sett_make_smem_tensor(b, SETT_F16, l, 1024);
    sett_tma *t = sett_make_tma(X, .smem = smem, .tile = sett_arg_parse(b, texts[_i].tile), .name = "m");
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    coords = sett_tma_tensor(t);
    sett_layout_str(sett_tensor_layout(coords), text, sizeof text);
    ck_assert_str_eq(text, texts[_i].coords);
    const int modes = sett_rank(l);
    sett_arg at[3] = {sett_arg_i(0), sett_arg_i(0), sett_arg_i(0)};
    sett_tma_partition(t, 0, NULL, smem, sett_local_tile(coords, sett_arg_parse(b, texts[_i].tile), sett_arg_n(modes, at)), &s, &g);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    sett_layout_str(sett_get_nonswizzle_portion(sett_tensor_layout(s)), text, sizeof text);
    ck_assert_str_eq(text, texts[_i].memory);
    sett_layout_str(sett_tensor_layout(g), text, sizeof text);
    if (modes == sett_rank(X))
        ck_assert_str_eq(text, texts[_i].parts);
    sett_if (b, sett_elect_one(b))
        sett_tma_prefetch(t, g);
    sett__tape tape;
    sett_error err;
    ck_assert_msg(!sett__build_finish(b, &tape, &err), "%s", err.text);
    char *all;
    ck_assert(!sett__tape_print(&tape, false, NULL, &all, &err));
    snprintf(text, sizeof text, "\nmap m X %s\n", texts[_i].map);
    ck_assert_msg(strstr(all, text), "no %s in %.600s", text, all);
    free(all);
    sett__tape_free(&tape);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- stages ------------------------------------------------------------------------------------------------------ */
/* Tiles of two boxes each, by parts of all tiles and of a ring, at an index that only the kernel knows. */
static void ring(sett_build *b, const void *unused)
{
    enum { M = 64, K = 128, STAGES = 2 };
    char text[200];
    (void)unused;
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, M, sett_sym(b, "K", .div = 8)), .align = 16), *D = sett_param(b, "D", SETT_F16, sett_row_major(b, M, sett_sym(b, "K", .div = 8)));
    sett_grid(b, 1), sett_block(b, 32);
    sett_tensor *r = sett_make_smem_tensor(b, SETT_F16, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, M, K, STAGES), 1024), *bars = sett_make_mbarriers(b, STAGES), *s, *g;
    sett_tma *map = sett_make_tma(X, .smem = r, .tile = T(M, K));
    sett_tma_partition(map, 0, NULL, r, sett_local_tile(sett_tma_tensor(map), T(M, K), T(0, ALL)), &s, &g);
    sett_layout_str(sett_get_nonswizzle_portion(sett_tensor_layout(s)), text, sizeof text);
    ck_assert_str_eq(text, "((4096,2),(1,2)):((1,4096),(0,8192))");
    sett_layout_str(sett_tensor_layout(g), text, sizeof text);
    ck_assert_str_eq(text, "(((64,64),2),?):(((1@0,1@1),64@0),128@0)");
    sett_if (b, sett_elect_one(b)) {
        for (int i = 0; i < STAGES; i++) {
            sett_mbarrier_init(sett_slice(bars, i), 1);
        }
        sett_fence_mbarrier_init(b);
    }
    sett_sync_warp(b);
    sett_for (b, k, 0, sett_ceil_div(sett_sym(b, "K", .div = 8), K), 1) {
        sett_val *stage = sett_mod(k, STAGES), *t = sett_lane_idx(b);
        sett_tensor *bar = sett_slice(bars, stage), *to = sett_slice(s, ALL, stage), *from = sett_slice(g, ALL, k);
        sett_mbarrier_arrive_and_expect_tx(bar, sett_tma_bytes(map), .pred = sett_elect_one(b));
        sett_tma_load(map, sett_slice(from, T1(T(ALL, 1))), sett_slice(to, T1(T(ALL, 1))), bar); /* one of the two copies by itself, */
        sett_tma_load(map, sett_slice(from, T1(T(ALL, 0))), sett_slice(to, T1(T(ALL, 0))), bar); /* then the other */
        sett_mbarrier_wait(bar, sett_mod(sett_floordiv(k, STAGES), 2));
        sett_layout *threads = sett_make_layout(b, T(1, 32));
        sett_tensor *crd = sett_local_partition(sett_local_tile(sett_identity_tensor(b, M, sett_sym(b, "K", .div = 8)), T(M, K), T(0, k)), threads, t);
        sett_copy_if(sett_elem_less(crd, T(M, sett_sym(b, "K", .div = 8))), sett_local_partition(sett_slice(r, ALL, ALL, stage), threads, t), sett_local_partition(sett_local_tile(D, T(M, K), T(0, k)), threads, t));
        sett_fence_view_async_shared(b); /* the stage is loaded, and a copy may overwrite it */
        sett_sync_warp(b);
    }
}

START_TEST(stages_of_parts)
{
    enum { M = 64, K = 488 };
    static _Alignas(16) uint16_t x[M * K], d[M * K];
    sett_engine *e = engine_of(_i);
    sett_error err = {0};
    sett_kernel *k = kernel_of(e, ring, NULL, 0);
    for (int i = 0; i < M * K; i++)
        x[i] = (uint16_t)(i * 13), d[i] = 0;
    sett_buf X = sett_buf_2d(x, SETT_F16, M, K), D = sett_buf_2d(d, SETT_F16, M, K);
    ck_assert_msg(!LAUNCH_HERE(e, k, &err, &X, &D), "%s", err.text);
    ck_assert_mem_eq(d, x, sizeof d);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

Suite *tma_copies_suite(void)
{
    Suite *s = suite_create("tma_copies");
    TCase *t = tcase_create("tma_copies");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, copies_are_plain_copies, 0, 3);
    tcase_add_loop_test(t, as_cute_has_them, 0, SETT__COUNT(texts));
    tcase_add_loop_test(t, bytes_are_copied, 0, SETT__COUNT(sends));
    tcase_add_loop_test(t, code_of_bytes, 0, SETT__COUNT(sends));
    tcase_add_test(t, code_of_boxes);
    tcase_add_loop_test(t, stages_of_parts, 0, 3);
    tcase_add_loop_test(t, groups_by_maps_in_memory, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
