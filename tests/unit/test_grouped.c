/* SPDX-License-Identifier: Apache-2.0 */
/* Products of groups and of batches by sett_gemm_wgmma: against plain C, and bit by bit against a launch for each group. On the CPU engine or,
 * with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/product_rig.h"

enum { MOST_GROUPS = 40, BATCHED = SETT_GROUPED_MASKED + 1, WAYS = 3, N = 80, K = 72, OUTSIDE = 3 /* rows before the first group, and behind the last */ };

/* ---- groups ---------------------------------------------------------------------------------------------------- */
/* way: a sett_grouped, or BATCHED, whose groups all have m rows. */
typedef struct groups {
    int way, n, m; /* m: rows of the problem: all, or the most of a group */
    int32_t first[MOST_GROUPS + 1], count[MOST_GROUPS];
} groups;

/* Rows of random groups of tiles of bm rows: none, one, a tile, less, more. */
static groups deal(int way, int n, int bm, uint64_t seed)
{
    groups g = {.way = way, .n = n};
    int at = OUTSIDE, most = 1;
    for (int i = 0; i < n; i++) {
        const int any = (int)((uniform(&seed) + 1) * bm) % (bm + 9), sizes[] = {0, 1, bm, any, n < 5 ? 2 * bm + 5 : any / 4};
        g.count[i] = sizes[(int)((uniform(&seed) + 1) * 2.5) % 5];
        g.first[i] = at, at += g.count[i];
        most = g.count[i] > most ? g.count[i] : most;
    }
    g.first[n] = at;
    g.m = way == SETT_GROUPED_CONTIGUOUS ? at + OUTSIDE : most + (way == SETT_GROUPED_MASKED ? OUTSIDE : 0);
    for (int i = 0; i < n && way == BATCHED; i++)
        g.count[i] = g.m;
    return g;
}

/* All rows that there are in memory, and the first one of a group there. */
static int64_t rows_in(const groups *g)
{
    return g->way == SETT_GROUPED_CONTIGUOUS ? g->m : (int64_t)g->m * g->n;
}

static int64_t row_in(const groups *g, int i)
{
    return g->way == SETT_GROUPED_CONTIGUOUS ? g->first[i] : (int64_t)g->m * i;
}

static int group_of(const groups *g, int64_t row)
{
    for (int i = 0; i < g->n; i++)
        if (row >= row_in(g, i) && row < row_in(g, i) + g->count[i])
            return i;
    return -1;
}

/* ---- operands -------------------------------------------------------------------------------------------------- */
typedef enum kind { ROWS, WEIGHTS, ROW_VECTOR, COLUMN_VECTOR } kind;

/* (rows, cols) that lie `apart`, as a whole launch takes them; of vectors cols is 1, of columns rows is N. */
static sett_buf whole(const groups *g, kind k, void *data, sett_dtype t, int64_t rows, int64_t cols, int64_t apart)
{
    const bool vector = k >= ROW_VECTOR, flat = g->way == SETT_GROUPED_CONTIGUOUS && (k == ROWS || k == ROW_VECTOR);
    const int64_t shape[] = {k == ROWS || k == ROW_VECTOR ? g->m : rows, vector ? g->n : cols, g->n};
    sett_buf b = sett_buf_nd(data, t, (vector ? 2 : 3) - flat, shape);
    b.stride[0] = vector ? 1 : apart;
    if (!vector)
        b.stride[1] = 1;
    if (!flat)
        b.stride[b.rank - 1] = shape[0] * apart;
    return b;
}

/* The part of a group, as a launch of its own takes it. */
static sett_buf part(const groups *g, int i, kind k, void *data, sett_dtype t, int64_t rows, int64_t cols, int64_t apart)
{
    const bool by_row = k == ROWS || k == ROW_VECTOR;
    const int64_t first = by_row ? row_in(g, i) : rows * i;
    char *at = (char *)data + first * apart * sett_dtype_bits(t) / 8;
    sett_buf b = k >= ROW_VECTOR ? sett_buf_1d(at, t, by_row ? g->count[i] : rows) : sett_buf_2d(at, t, by_row ? g->count[i] : rows, cols);
    if (k < ROW_VECTOR)
        b.stride[0] = apart;
    return b;
}

static void *on_device(const void *host, size_t bytes)
{
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static void *table_of(const groups *g)
{
    const bool contiguous = g->way == SETT_GROUPED_CONTIGUOUS;
    return on_device(contiguous ? g->first : g->count, (size_t)(g->n + contiguous) * 4);
}

static sett_buf table(const groups *g, void *data)
{
    return sett_buf_1d(data, SETT_I32, g->n + (g->way == SETT_GROUPED_CONTIGUOUS));
}

static void choose_way(sett_gemm_wgmma_options *o, int way)
{
    o->grouped = way == BATCHED ? SETT_GROUPED_NONE : (sett_grouped)way;
    o->batched = way == BATCHED;
}

static void launch(const sett_gemm_wgmma_options *o, int n, const sett_launch_arg *arg)
{
    sett_kernel *k = compiled(sett_gemm_wgmma, o);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, arg, &err), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    sett_kernel_release(k);
}

/* ---- against plain C ------------------------------------------------------------------------------------------- */
typedef struct shape { sett_dtype ab, c; int scaled, swiglu, residual, bm, bn, cluster, groups, stream_k, ping_pong; } shape; /* .stream_k: of batches alone */
static const shape shapes[] = {{.ab = SETT_BF16, .bm = 64, .bn = 64, .groups = 7}, {.ab = SETT_BF16, .swiglu = 1, .bm = 16, .bn = 128, .groups = 40}, {.ab = SETT_F16, .c = SETT_F32, .residual = 1, .bm = 40, .bn = 128, .groups = 3},
    {.ab = SETT_F8E4M3FN, .scaled = 1, .bm = 32, .bn = 128, .groups = 12}, {.ab = SETT_F8E5M2, .c = SETT_F8E4M3FN, .bm = 24, .bn = 64, .groups = 5}, {.ab = SETT_I8, .scaled = 1, .bm = 64, .bn = 64, .cluster = 2, .groups = 9},
    {.ab = SETT_I8, .c = SETT_F32, .scaled = 1, .residual = 1, .bm = 8, .bn = 256, .groups = 1}, {.ab = SETT_BF16, .bm = 128, .bn = 64, .cluster = 2, .groups = 2}, {.ab = SETT_BF16, .bm = 8, .bn = 64, .groups = 40},
    {.ab = SETT_BF16, .bm = 64, .bn = 64, .groups = 12, .ping_pong = 1}, {.ab = SETT_BF16, .swiglu = 1, .bm = 16, .bn = 128, .groups = 40, .ping_pong = 1}, {.ab = SETT_F16, .c = SETT_F32, .bm = 40, .bn = 128, .cluster = 1, .groups = 5, .ping_pong = 1},
    {.ab = SETT_BF16, .bm = 32, .bn = 64, .groups = 3, .stream_k = 1}, {.ab = SETT_BF16, .c = SETT_F32, .bm = 16, .bn = 64, .cluster = 2, .groups = 2, .stream_k = 1}};

static double factor_product(int64_t row, int64_t col)
{
    double sum = 0;
    for (size_t k = 0; k < K; k++)
        sum += factor_at((size_t)row, k, 0) * factor_at((size_t)col, k, 3);
    return sum;
}

static double scale_at(int64_t i)
{
    return ldexp(1, (int)(i % 4) - 2);
}

static double element_of(const shape *s, int group, int64_t row, int64_t col)
{
    const int64_t b = group * (N << s->swiglu);
    double x = factor_product(row, b + col);
    x *= s->scaled ? scale_at(row) * scale_at(group * N + col) : 1;
    x = s->swiglu ? x / (1 + exp(-x)) * factor_product(row, b + N + col) : x;
    return x + (s->residual ? residual_at((size_t)(row * N + col)) : 0);
}

static void *scales(int64_t n)
{
    float *host = malloc((size_t)n * sizeof *host);
    ck_assert_ptr_nonnull(host);
    for (int64_t i = 0; i < n; i++)
        host[i] = (float)scale_at(i);
    void *data = on_device(host, (size_t)n * sizeof *host);
    free(host);
    return data;
}

/* Each row of a group is its product; each other byte is as it was. */
static void check_rows(const shape *s, const groups *g, sett_dtype c, const unsigned char *host, int64_t apart)
{
    const double half = c == SETT_F32 ? 0 : c == SETT_F16 ? 0x1p-11 : c == SETT_BF16 ? 0x1p-8 : 0x1p-4, close = half + (s->swiglu ? 0x1p-20 : 0);
    const int64_t bytes = sett_dtype_bits(c) / 8;
    for (int64_t row = 0; row < rows_in(g); row++) {
        const int group = group_of(g, row);
        for (int64_t col = 0; col < N && group >= 0; col++) {
            const double sum = element_of(s, group, row, col), want = c == SETT_F8E4M3FN ? fmax(-448, fmin(448, sum)) : sum, got = element(c, host, (size_t)(row * apart + col));
            ck_assert_msg(fabs(got - want) <= fabs(want) * close + (close > 0 ? 0x1p-10 : 0), "group %d, row %d of %d, column %d: %g, not %g", group, (int)(row - row_in(g, group)), g->count[group], (int)col, got, want);
        }
        for (int64_t i = group < 0 ? 0 : N * bytes; i < apart * bytes; i++)
            ck_assert_msg(host[row * apart * bytes + i] == UNTOUCHED, "row %d, byte %d of no group was written", (int)row, (int)i);
    }
}

enum { SUMS = 1 << 17, SLOTS = 64 };
static void *workspace(size_t bytes)
{
    void *zero = calloc(1, bytes), *data = on_device(zero, bytes);
    free(zero);
    return data;
}

static void check_groups(const shape *s, const groups *g)
{
    const sett_dtype c = s->c ? s->c : s->ab == SETT_F16 ? s->ab : SETT_BF16;
    const int64_t rows = rows_in(g), vec = 128 / sett_dtype_bits(s->ab), lk = (K + vec - 1) / vec * vec, lc = N + 128 / sett_dtype_bits(c), rows_b = N << s->swiglu;
    unsigned char *host = malloc((size_t)(rows * lc) * 4);
    ck_assert_ptr_nonnull(host);
    void *mem[] = {factors(s->ab, (size_t)rows, K, (size_t)lk, 0), factors(s->ab, (size_t)(rows_b * g->n), K, (size_t)lk, 3), table_of(g), s->residual ? fill(c, host, (size_t)rows, N, N) : NULL,
        fill(c, host, (size_t)rows, 0, (size_t)lc), scales(rows), scales((int64_t)N * g->n)};
    const sett_buf buf[] = {whole(g, ROWS, mem[0], s->ab, 0, K, lk), whole(g, WEIGHTS, mem[1], s->ab, rows_b, K, lk), table(g, mem[2]), whole(g, ROWS, mem[3], c, 0, N, N), whole(g, ROWS, mem[4], c, 0, N, lc),
        whole(g, ROW_VECTOR, mem[5], SETT_F32, 0, 1, 1), whole(g, COLUMN_VECTOR, mem[6], SETT_F32, N, 1, 1)};
    const bool given[] = {true, true, g->way != BATCHED, s->residual, true, s->scaled, s->scaled}, streams = s->stream_k && g->way == BATCHED;
    const sett_buf space[] = {sett_buf_1d(workspace(SUMS * 4), SETT_F32, SUMS), sett_buf_1d(workspace(SLOTS * 4), SETT_U32, SLOTS)};
    sett_launch_arg arg[11];
    int n = 0;
    for (int i = 0; i < 7; i++)
        if (given[i])
            arg[n++] = sett_launch_arg_buf(&buf[i]);
    for (int i = 0; i < 2 && streams; i++)
        arg[n++] = sett_launch_arg_buf(&space[i]);
    for (int i = 0; i < 2 && streams; i++)
        arg[n++] = sett_launch_arg_int(i ? 6 : 5); /* tiles to workers */
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = s->ab, .c = s->c, .scaled = s->scaled, .swiglu = s->swiglu, .residual = s->residual, .stream_k = streams,
        .tuning = {.bm = s->bm, .bn = s->bn, .cluster = s->cluster, .clusters = 3, .ping_pong = s->ping_pong}};
    choose_way(&o, g->way);
    launch(&o, n, arg);
    ck_assert(!sett_memcpy(r.e, r.stream, host, mem[4], (size_t)(rows * lc * sett_dtype_bits(c) / 8)) && !sett_sync(r.e, r.stream));
    check_rows(s, g, c, host, lc);
    for (int i = 0; i < 7; i++)
        sett_free(r.e, r.stream.device, mem[i]);
    for (int i = 0; i < 2; i++)
        sett_free(r.e, r.stream.device, space[i].data);
    free(host);
}

START_TEST(groups_against_plain_c)
{
    const shape *s = &shapes[_i / WAYS];
    const int way = 1 + _i % WAYS, n = way == BATCHED && s->groups > 3 ? 3 : s->groups;
    for (uint64_t seed = 1; has_wgmma() && seed < 4; seed++) {
        const groups g = deal(way, n, s->bm, seed * 77);
        check_groups(s, &g);
    }
}
END_TEST

/* Counts of 0 alone: nothing is written. */
START_TEST(no_rows_at_all)
{
    for (int way = SETT_GROUPED_CONTIGUOUS; has_wgmma() && way <= SETT_GROUPED_MASKED; way++) {
        groups g = {.way = way, .n = 5, .m = 20};
        for (int i = 0; i <= g.n; i++)
            g.first[i] = OUTSIDE;
        check_groups(&shapes[0], &g);
    }
}
END_TEST

/* ---- bit by bit ------------------------------------------------------------------------------------------------ */
/* Random numbers, so that the order of sums shows: a row has the bits of a launch of its group alone, with another tile. Both launches
 * begin with the same bytes, and what is not of a group is compared as well. */
typedef struct variant { sett_dtype ab; int scaled, swiglu, residual, bm, bn, groups; sett_gemm_terms terms; } variant;
static const variant variants[] = {{.ab = SETT_BF16, .bm = 48, .bn = 128, .groups = 6}, {.ab = SETT_F8E4M3FN, .scaled = 1, .residual = 1, .bm = 32, .bn = 64, .groups = 11},
    {.ab = SETT_F16, .bm = 72, .bn = 64, .groups = 4, .terms = {.bias = 1, .aux = 1, .activation = SETT_ACTIVATION_GELU, .amax = 2}},
    {.ab = SETT_BF16, .swiglu = 1, .bm = 32, .bn = 256, .groups = 8, .terms = {.scale = 1, .amax = 1}},
    {.ab = SETT_BF16, .residual = 1, .bm = 128, .bn = 128, .groups = 3, .terms = {.bias = 1, .softcap = 1, .beta = 1, .clamp = 1}}};

enum { OPERANDS = 16, TABLE = 2 };
typedef struct operand {
    const char *name; /* of none, a number */
    bool given;
    kind kind;
    sett_dtype type;
    int64_t rows, cols;
    bool written;
    void *data[2]; /* of both launches */
    size_t bytes;
} operand;

static int list_operands(const variant *v, const groups *g, operand *list)
{
    const sett_dtype c = v->ab == SETT_F16 ? SETT_F16 : SETT_BF16;
    const int64_t m = rows_in(g), n = (int64_t)N * g->n;
    const operand all[] = {{"A", true, ROWS, v->ab, m, 80, .written = false}, {"B", true, WEIGHTS, v->ab, n << v->swiglu, 80, .written = false}, {"table", g->way != BATCHED, .kind = ROWS},
        {"R", v->residual, ROWS, c, m, N, .written = false}, {"C", true, ROWS, c, m, N, .written = true}, {"SA", v->scaled, ROW_VECTOR, SETT_F32, m, 1, .written = false},
        {"SB", v->scaled, COLUMN_VECTOR, SETT_F32, n, 1, .written = false}, {"S", v->terms.scale, .type = SETT_F32, .rows = 1, .cols = 1}, {"BIAS", v->terms.bias, COLUMN_VECTOR, c, n, 1, .written = false},
        {NULL, v->terms.softcap, .kind = ROWS}, {"AUX", v->terms.aux, ROWS, c, m, N, .written = true}, {NULL, v->terms.beta, .kind = ROWS}, {NULL, v->terms.clamp, .kind = ROWS}, {NULL, v->terms.clamp, .kind = ROWS},
        {"AMAX", v->terms.amax, ROW_VECTOR, SETT_F32, v->terms.amax == 2 ? m : 1, 1, .written = true}};
    memcpy(list, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

static void fill_operand(operand *x)
{
    if (!x->given || !x->type)
        return;
    const uint64_t seed = r.seed;
    for (int i = 0; i < 1 + x->written; i++) {
        r.seed = seed;
        matrix m = matrix_random(&r, x->type, x->rows, x->cols);
        x->data[i] = m.buf.data, x->bytes = m.bytes;
        if (!strcmp(x->name, "AMAX"))
            ck_assert(!sett_memcpy(r.e, r.stream, m.buf.data, memset(m.host, 0, m.bytes), m.bytes) && !sett_sync(r.e, r.stream));
        free(m.host);
    }
}

/* Arguments of the whole launch, group -1, or of a group's. */
static int arguments(const groups *g, int group, const operand *list, int n, void *where, sett_buf *buf, sett_launch_arg *arg)
{
    int k = 0;
    for (int i = 0; i < n; i++) {
        const operand *x = &list[i];
        const bool one = x->type && x->rows == 1 && x->cols == 1, kept = x->kind == WEIGHTS || x->kind == COLUMN_VECTOR;
        if (!x->given || (i == TABLE && group >= 0))
            continue;
        if (!x->name) {
            arg[k++] = (sett_launch_arg){.kind = SETT_LAUNCH_ARG_FLOAT, .u = {.f = i == 12 ? -0.75 : 0.75}};
            continue;
        }
        void *data = x->data[group >= 0 && x->written];
        const int64_t rows = kept ? x->rows / g->n : x->rows;
        buf[k] = i == TABLE ? table(g, where) : one ? sett_buf_1d(data, x->type, 1) : group < 0 ? whole(g, x->kind, data, x->type, rows, x->cols, x->cols) : part(g, group, x->kind, data, x->type, rows, x->cols, x->cols);
        arg[k] = sett_launch_arg_buf(&buf[k]);
        k++;
    }
    return k;
}

static void check_bits(const variant *v, const groups *g)
{
    operand list[OPERANDS];
    sett_buf buf[OPERANDS];
    sett_launch_arg arg[OPERANDS];
    const int n = list_operands(v, g, list);
    void *where = table_of(g);
    for (int i = 0; i < n; i++)
        fill_operand(&list[i]);
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = v->ab, .scaled = v->scaled, .swiglu = v->swiglu, .residual = v->residual, .terms = v->terms, .tuning = {.bm = v->bm, .bn = v->bn, .clusters = 5}};
    choose_way(&o, g->way);
    launch(&o, arguments(g, -1, list, n, where, buf, arg), arg);
    choose_way(&o, SETT_GROUPED_NONE);
    o.tuning.bm = 64, o.tuning.bn = v->swiglu ? 128 : 64;
    for (int i = 0; i < g->n; i++)
        if (g->count[i])
            launch(&o, arguments(g, i, list, n, where, buf, arg), arg);
    for (int i = 0; i < n; i++) {
        if (list[i].given && list[i].written) {
            unsigned char *got = malloc(2 * list[i].bytes);
            ck_assert(got && !sett_memcpy(r.e, r.stream, got, list[i].data[0], list[i].bytes) && !sett_memcpy(r.e, r.stream, got + list[i].bytes, list[i].data[1], list[i].bytes) && !sett_sync(r.e, r.stream));
            for (size_t x = 0; x < list[i].bytes; x++)
                ck_assert_msg(got[x] == got[x + list[i].bytes], "%s, byte %zu of %zu", list[i].name, x, list[i].bytes);
            free(got);
        }
        for (int x = 0; x < 2 && list[i].given && list[i].type; x++)
            sett_free(r.e, r.stream.device, list[i].data[x]);
    }
    sett_free(r.e, r.stream.device, where);
}

START_TEST(bits_of_a_launch_for_each)
{
    const variant *v = &variants[_i / WAYS];
    const int way = 1 + _i % WAYS;
    const groups g = deal(way, way == BATCHED ? 3 : v->groups, v->bm, (uint64_t)_i + 5);
    if (has_wgmma())
        check_bits(v, &g);
}
END_TEST

/* ---- scales of blocks ------------------------------------------------------------------------------------------ */
enum { BLOCK_N = 208, BLOCK_K = 304, K_TILES = 3, N_BLOCKS = 2 };
typedef struct blocks { int swiglu, bm, bn, groups; } blocks;
static const blocks of_blocks[] = {{0, 64, 64, 4}, {1, 16, 128, 9}, {0, 72, 128, 3}};

static sett_buf view(const matrix *m, int rank, const int64_t extents[3], const int64_t stride[3], int64_t first)
{
    sett_buf b = sett_buf_nd((char *)m->buf.data + first * sett_dtype_bits(m->buf.dtype) / 8, m->buf.dtype, rank, extents);
    memcpy(b.stride, stride, (size_t)rank * sizeof *stride);
    return b;
}

/* Of each group, all rows that lie where its own do are multiplied with its weights alone, and its rows have the same bits. */
static void check_blocks(const blocks *p, const groups *g)
{
    const int64_t m = g->m, flat = g->way == SETT_GROUPED_CONTIGUOUS, kinds = flat ? 1 : g->n, lsa = (m + 3) / 4 * 4, rows_b = BLOCK_N << p->swiglu, blocks_b = N_BLOCKS << p->swiglu;
    matrix A = matrix_random(&r, SETT_F8E4M3FN, m * kinds, BLOCK_K), B = matrix_random(&r, SETT_F8E4M3FN, rows_b * g->n, BLOCK_K), C = matrix_random(&r, SETT_F32, m * kinds, BLOCK_N), D = matrix_random(&r, SETT_F32, m, BLOCK_N);
    matrix SA = matrix_random(&r, SETT_F32, K_TILES * kinds, lsa), SB = matrix_random(&r, SETT_F32, blocks_b * g->n, K_TILES);
    const int64_t a[] = {m, BLOCK_K, g->n}, la[] = {BLOCK_K, 1, m * BLOCK_K}, b[] = {rows_b, BLOCK_K, g->n}, lb[] = {BLOCK_K, 1, rows_b * BLOCK_K}, c[] = {m, BLOCK_N, g->n}, lc[] = {BLOCK_N, 1, m * BLOCK_N};
    const int64_t sa[] = {m, K_TILES, g->n}, lsas[] = {1, lsa, lsa * K_TILES}, sb[] = {blocks_b, K_TILES, g->n}, lsb[] = {K_TILES, 1, blocks_b * K_TILES};
    void *where = table_of(g);
    const int rank = flat ? 2 : 3;
    const sett_buf all[] = {view(&A, rank, a, la, 0), view(&B, 3, b, lb, 0), table(g, where), view(&C, rank, c, lc, 0), view(&SA, rank, sa, lsas, 0), view(&SB, 3, sb, lsb, 0)};
    sett_launch_arg arg[6];
    int n = 0;
    for (int i = 0; i < 6; i++)
        if (i != TABLE || g->way != BATCHED)
            arg[n++] = sett_launch_arg_buf(&all[i]);
    sett_gemm_wgmma_options o = {.size = sizeof o, .dtype = SETT_F8E4M3FN, .c = SETT_F32, .swiglu = p->swiglu, .block_scales = 1, .tuning = {.bm = p->bm, .bn = p->bn, .clusters = 3}};
    choose_way(&o, g->way);
    launch(&o, n, arg);
    float *was = malloc(C.bytes);
    ck_assert_ptr_nonnull(was);
    memcpy(was, C.host, C.bytes);
    matrix_fetch(&r, &C);
    choose_way(&o, SETT_GROUPED_NONE);
    for (int i = 0; i < g->n; i++) {
        const int64_t at = flat ? 0 : i;
        const sett_buf one[] = {view(&A, 2, a, la, at * la[2]), view(&B, 2, b, lb, i * lb[2]), view(&D, 2, c, lc, 0), view(&SA, 2, sa, lsas, at * lsas[2]), view(&SB, 2, sb, lsb, i * lsb[2])};
        for (int j = 0; j < 5; j++)
            arg[j] = sett_launch_arg_buf(&one[j]);
        launch(&o, 5, arg);
        matrix_fetch(&r, &D);
        memcpy(was + row_in(g, i) * BLOCK_N, (float *)D.host + (flat ? g->first[i] : 0) * BLOCK_N, (size_t)g->count[i] * BLOCK_N * sizeof *was);
    }
    for (int64_t i = 0; i < rows_in(g) * BLOCK_N; i++)
        ck_assert_msg(!memcmp(&was[i], (float *)C.host + i, sizeof *was), "row %d of group %d, column %d: %g, not %g", (int)(i / BLOCK_N), group_of(g, i / BLOCK_N), (int)(i % BLOCK_N), (double)((float *)C.host)[i], (double)was[i]);
    matrix *mem[] = {&A, &B, &C, &D, &SA, &SB};
    for (int i = 0; i < 6; i++)
        matrix_free(&r, mem[i]);
    sett_free(r.e, r.stream.device, where);
    free(was);
}

START_TEST(scales_of_blocks)
{
    const blocks *p = &of_blocks[_i / WAYS];
    const int way = 1 + _i % WAYS;
    const groups g = deal(way, way == BATCHED ? 2 : p->groups, p->bm, (uint64_t)_i + 11);
    if (has_wgmma())
        check_blocks(p, &g);
}
END_TEST

Suite *grouped_suite(void)
{
    Suite *s = suite_create("grouped");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, groups_against_plain_c, 0, WAYS * (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(t, no_rows_at_all);
    tcase_add_loop_test(t, bits_of_a_launch_for_each, 0, WAYS * (int)(sizeof variants / sizeof *variants));
    tcase_add_loop_test(t, scales_of_blocks, 0, WAYS * (int)(sizeof of_blocks / sizeof *of_blocks));
    suite_add_tcase(s, t);
    return s;
}
