/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by tensor maps, in bulk and to a peer, as the language records them. The law of a map: whatever the tensor, the tile, its
 * layout in shared memory and the edge, a copy by it is the plain copy of the tile, with zeros outside. On the CPU engine, each under
 * another policy of what goes on by itself. What is refused, with its text: mistakes. */
#define SETT_SHORT
#include "tests/rig/recording.h"
#include "tests/rig/rig.h"
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
    p->blocks = 2 << draw(2);
    p->tile[p->swizzle ? !p->order[0] : p->held[p->rank - 1]] *= p->blocks * (p->swizzle ? 1 : 8); /* parts begin at 128 bytes, or with the swizzle */
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

static void run(const problem *p, sett_kernel *k, const char *what)
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
    const sett_status s = p->out ? sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y, &D) : sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &D);
    ck_assert_msg(!s, "%s: %s", what, err.text);
    check_all(p, x, d, inside, what);
    if (p->out)
        check_out(p, x, was, y, inside, (int64_t)n, what);
    free(x), free(y), free(was), free(d), free(inside);
}

static sett_engine *engine_of(int policy)
{
    char text[20];
    sett_engine *e;
    sett_error err = {0};
    snprintf(text, sizeof text, policy == 0 ? "eager" : policy == 1 ? "lazy" : "random:%d", policy);
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_async = text};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    return e;
}

START_TEST(copies_are_plain_copies)
{
    char what[300];
    sett_error err = {0};
    sett_engine *e[3] = {engine_of(0), engine_of(1), engine_of(2 + _i)};
    state = 0x9e3779b97f4a7c15u * (uint64_t)(_i + 1);
    for (int i = 0; i < CASES; i++) {
        problem p;
        draw_problem(&p, i);
        describe(&p, what, sizeof what);
        sett_kernel *k;
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &p};
        const sett_status s = sett_compile(e[i % 3], body, &o, &k, &err);
        ck_assert_msg(!s, "%s: %s", what, err.text);
        run(&p, k, what);
        sett_kernel_release(k);
    }
    for (int i = 0; i < 3; i++)
        sett_engine_close(e[i]);
}
END_TEST

Suite *tma_copies_suite(void)
{
    Suite *s = suite_create("tma_copies");
    TCase *t = tcase_create("tma_copies");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, copies_are_plain_copies, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
