/* SPDX-License-Identifier: Apache-2.0 */
/* .quantise 2 of sett_product, whose D is scaled by the largest of a row's 128 columns: D and scales bit by bit against plain C, however operands lie, of
 * groups, batches and arrays of pointers too; products that take such a D and such scales as they are. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/plan_rig.h"

enum { BLOCK = 128, KINDS = 3, MOST = 170, GREATEST_N = 400 };
static const double LEAST = 1e-12f;

static void *on_device(const void *host, size_t bytes)
{
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static void from_device(void *host, const void *data, size_t bytes)
{
    ck_assert(!sett_memcpy(r.e, r.stream, host, data, bytes) && !sett_sync(r.e, r.stream));
}

static int blocks_of(int n)
{
    return (n + BLOCK - 1) / BLOCK;
}

/* ---- what should be ----------------------------------------------------------------------------------------- */
static double greatest_of(sett_dtype d)
{
    return d == SETT_F8E4M3FN ? 448 : 57344;
}

static double value_of_code(sett_dtype d, unsigned char code)
{
    const unsigned char word[4] = {code};
    return element(d, word);
}

/* The code of the nearest, of two as near the even one. */
static unsigned char nearest(sett_dtype d, double x)
{
    unsigned char best = 0;
    for (int i = 0; i < 128; i++) {
        const double off = fabs(value_of_code(d, (unsigned char)i) - fabs(x)), least = fabs(value_of_code(d, best) - fabs(x));
        if (off < least || (off == least && i % 2 == 0))
            best = (unsigned char)i;
    }
    return signbit(x) ? best | 128 : best;
}

/* ---- problems ----------------------------------------------------------------------------------------------- */
typedef struct shape {
    sett_dtype a, d;
    int n, k, scaled, residual, promote, blocks, batch, pointers, grouped, packed, align, more;
} shape;
static const shape shapes[] = {{.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 272, .k = 520}, {.a = SETT_F16, .d = SETT_F8E5M2, .n = 256, .k = 72, .scaled = 1, .more = 1}, {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 144, .k = 136, .residual = 1},
    {.a = SETT_F8E4M3FN, .d = SETT_F8E4M3FN, .n = 272, .k = 272, .promote = 1}, {.a = SETT_F8E4M3FN, .d = SETT_F8E5M2, .n = 400, .k = 144, .blocks = 1, .residual = 1}, {.a = SETT_I8, .d = SETT_F8E4M3FN, .n = 272, .k = 144, .scaled = 1},
    {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 131, .k = 37, .align = 1, .more = 1}, {.a = SETT_F32, .d = SETT_F8E4M3FN, .n = 257, .k = 40, .residual = 1}, {.a = SETT_F8E5M2, .d = SETT_F8E5M2, .n = 128, .k = 65, .align = 1},
    {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 144, .k = 72, .batch = 1, .more = 1}, {.a = SETT_F16, .d = SETT_F8E4M3FN, .n = 150, .k = 33, .batch = 1, .scaled = 1, .align = 2},
    {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 160, .k = 40, .batch = 1, .pointers = 1, .residual = 1}, {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 272, .k = 128, .packed = 1},
    {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 144, .k = 72, .grouped = SETT_GROUPED_CONTIGUOUS, .residual = 1}, {.a = SETT_F16, .d = SETT_F8E5M2, .n = 272, .k = 72, .grouped = SETT_GROUPED_MASKED, .scaled = 1},
    {.a = SETT_F8E4M3FN, .d = SETT_F8E4M3FN, .n = 272, .k = 160, .grouped = SETT_GROUPED_CONTIGUOUS, .blocks = 1}, {.a = SETT_F8E4M3FN, .d = SETT_F8E4M3FN, .n = 144, .k = 160, .grouped = SETT_GROUPED_MASKED, .blocks = 1},
    {.a = SETT_BF16, .d = SETT_F8E4M3FN, .n = 272, .k = 128, .packed = 1, .grouped = SETT_GROUPED_CONTIGUOUS}};

/* Rows of a group: of a run of m rows, the first begin outside. */
typedef struct dealt {
    int m, kinds_a, kinds_b;
    int32_t table[KINDS + 1];
} dealt;

static dealt deal(const shape *s, int m)
{
    dealt x = {.m = m, .kinds_a = s->batch || s->grouped == SETT_GROUPED_MASKED ? KINDS : 1, .kinds_b = s->batch || s->grouped ? KINDS : 1};
    const int32_t flat[] = {m / 5, m / 5 + m / 3, m / 5 + m / 3, m - m / 7}, masked[] = {m, 0, m / 2};
    memcpy(x.table, s->grouped == SETT_GROUPED_MASKED ? masked : flat, s->grouped == SETT_GROUPED_MASKED ? sizeof masked : sizeof flat);
    return x;
}

/* The B that a row has; -1: it is of no group. */
static int b_of(const shape *s, const dealt *x, int kind, int row)
{
    if (s->grouped == SETT_GROUPED_MASKED)
        return row < x->table[kind] ? kind : -1;
    for (int i = 0; i < KINDS && s->grouped; i++)
        if (row >= x->table[i] && row < x->table[i + 1])
            return i;
    return s->grouped ? -1 : kind;
}

/* Exact in Float32, in any order. */
static double value_at(const shape *s, int kind, int b, int row, int col)
{
    double sum = 0;
    for (int i = 0; i < s->k; i++)
        sum += factor((size_t)row, (size_t)i, (size_t)kind, 0) * factor((size_t)col, (size_t)i, (size_t)b, 3) * (s->blocks ? scale_of((size_t)row + (size_t)(i / BLOCK), (size_t)kind) * scale_of((size_t)(col / BLOCK + i / BLOCK), (size_t)b) : 1);
    if (s->scaled)
        sum *= scale_of((size_t)row, (size_t)kind) * scale_of((size_t)col + 1, (size_t)b);
    return sum + (s->residual ? factor((size_t)row, (size_t)col, (size_t)kind, 1) : 0);
}

static const char *name_of(const shape *s)
{
    static char text[120];
    snprintf(text, sizeof text, "shape %d, %s to %s", (int)(s - shapes), sett_dtype_name(s->a), sett_dtype_name(s->d));
    return text;
}

typedef struct result {
    placed *d;
    unsigned char *seen;
    float *sd; /* (ldsd,blocks,kinds) */
    int64_t ldsd;
} result;

/* A row's block: its scale, and D. */
static void check_block(const shape *s, const result *x, int kind, int b, int row, int block)
{
    const int first = block * BLOCK, n = first + BLOCK < s->n ? BLOCK : s->n - first;
    double v[BLOCK], most = LEAST;
    for (int i = 0; i < n; i++)
        v[i] = value_at(s, kind, b, row, first + i), most = fmax(most, fabs(v[i]));
    const float scale = (float)most / (float)greatest_of(s->d), by = (float)greatest_of(s->d) / (float)most, got = x->sd[row + x->ldsd * (block + (int64_t)kind * blocks_of(s->n))];
    ck_assert_msg(!memcmp(&scale, &got, 4), "%s, row %d of %d, block %d: scale %.9g, not %.9g", name_of(s), row, kind, block, (double)got, (double)scale);
    for (int i = 0; i < n; i++) {
        unsigned char *at = at_of(x->d, (size_t)row, (size_t)(first + i), (size_t)kind);
        const float want = (float)v[i] * by;
        ck_assert_msg(element(s->d, at) == value_of_code(s->d, nearest(s->d, (double)want)), "%s, (%d,%d) of %d: %g, of %g", name_of(s), row, first + i, kind, element(s->d, at), (double)want);
        x->seen[at - x->d->host] = 1;
    }
}

/* All of it, and nothing beside it: scales of rows that are of no group, and what lies between columns, are NaN as before. */
static void check_all(const shape *s, const dealt *g, const result *x)
{
    for (int i = 0; i < (int)x->ldsd * blocks_of(s->n) * g->kinds_a; i++) {
        const int row = i % (int)x->ldsd, block = i / (int)x->ldsd % blocks_of(s->n), kind = i / (int)x->ldsd / blocks_of(s->n), b = row < g->m ? b_of(s, g, kind, row) : -1;
        if (b >= 0)
            check_block(s, x, kind, b, row, block);
        else
            ck_assert_msg(isnan(x->sd[i]), "%s, row %d of %d: a scale that is nobody's was written", name_of(s), row, kind);
    }
    for (size_t i = 0; i < x->d->bytes; i++)
        ck_assert_msg(x->seen[i] || x->d->host[i] == NOBODYS, "%s: byte %zu of D, which is no element, was written", name_of(s), i);
}

/* (rows,blocks of K,kinds), powers of two; row, block: how far apart. */
static void *scales_of_blocks(int rows, int k, int kinds, int64_t row, int64_t block, int64_t kind)
{
    const size_t n = (size_t)(kind * kinds);
    float *host = malloc(n * sizeof *host);
    ck_assert_ptr_nonnull(host);
    for (size_t i = 0; i < n; i++)
        host[i] = NAN;
    for (int i = 0; i < rows * blocks_of(k) * kinds; i++) {
        const int at = i % rows, t = i / rows % blocks_of(k), l = i / rows / blocks_of(k);
        host[at * row + t * block + l * kind] = (float)scale_of((size_t)(at + t), (size_t)l);
    }
    void *data = on_device(host, n * sizeof *host);
    free(host);
    return data;
}

/* Weights of 8 bits that are B, of so many, and scales of 1. */
static void pack(const shape *s, int kinds, sett_product_operands *o)
{
    const sett_weights w = {.size = sizeof w, .dtype = s->a, .b = SETT_I8, .n = s->n, .k = s->k};
    const size_t n = (size_t)(s->n * s->k);
    size_t bytes, scale_bytes;
    char *codes = malloc(n);
    uint16_t *ones = malloc(n * 2);
    ck_assert_msg(codes && ones && !sett_product_weights_bytes(&w, &bytes, &scale_bytes, &err), "%s", err.text);
    char *packed = malloc(bytes * (size_t)kinds), *scales = malloc(scale_bytes * (size_t)kinds);
    ck_assert(packed && scales);
    for (size_t l = 0; l < (size_t)kinds; l++) {
        for (size_t i = 0; i < n; i++)
            codes[i] = (char)factor(i / (size_t)s->k, i % (size_t)s->k, l, 3), ones[i] = 0x3f80;
        ck_assert_msg(!sett_product_pack_weights(&w, codes, ones, NULL, packed + l * bytes, scales + l * scale_bytes, &err), "%s", err.text);
    }
    o->b = on_device(packed, bytes * (size_t)kinds), o->sw = on_device(scales, scale_bytes * (size_t)kinds);
    free(codes), free(ones), free(packed), free(scales);
}

/* n addresses. */
static void *addresses(const void *first, size_t apart)
{
    uint64_t at[KINDS];
    for (size_t i = 0; i < KINDS; i++)
        at[i] = (uintptr_t)first + i * apart;
    return on_device(at, sizeof at);
}

static void *array_of(const placed *x)
{
    return addresses(x->buf.data, x->stride[2] * bytes_of(x->t));
}

enum { OF_A, OF_B, OF_R, OF_D, MATRICES, FREED = 16 };
typedef struct bound {
    placed x[MATRICES];
    sett_product_problem p;
    sett_product_operands o;
    const void *freed[FREED];
    int n_freed;
    float *sd;
    int64_t ldsd;
} bound;

static void *keep(bound *y, const void *data)
{
    y->freed[y->n_freed++] = data;
    return (void *)(uintptr_t)data;
}

static void make_vectors(bound *y, const shape *s, const dealt *g)
{
    const int64_t ldsa = (g->m + 3) / 4 * 4, blocks = blocks_of(s->k), rows_b = blocks_of(s->n);
    if (s->blocks) {
        y->o.sa = keep(y, scales_of_blocks(g->m, s->k, g->kinds_a, 1, ldsa, ldsa * blocks));
        y->o.sb = keep(y, scales_of_blocks((int)rows_b, s->k, g->kinds_b, blocks, 1, rows_b * blocks));
    }
    for (int i = 0; i < 2 && s->scaled; i++) {
        const int n = i ? s->n : g->m, kinds = i ? g->kinds_b : g->kinds_a;
        float host[KINDS * GREATEST_N];
        for (int j = 0; j < n * kinds; j++)
            host[j] = (float)scale_of((size_t)(j % n + i), (size_t)(j / n));
        *(i ? &y->o.sb : &y->o.sa) = keep(y, on_device(host, sizeof *host * (size_t)(n * kinds)));
    }
    const size_t n_sd = (size_t)(y->ldsd * rows_b * g->kinds_a);
    y->sd = malloc(n_sd * sizeof *y->sd);
    for (size_t i = 0; i < n_sd; i++)
        y->sd[i] = NAN;
    y->o.sd = keep(y, on_device(y->sd, n_sd * sizeof *y->sd));
}

/* All arrays of addresses, in place of what they are of. */
static void point(bound *y, const shape *s, const void *sd)
{
    y->o.a = keep(y, array_of(&y->x[OF_A])), y->o.b = keep(y, array_of(&y->x[OF_B])), y->o.d = keep(y, array_of(&y->x[OF_D]));
    y->o.r = s->residual ? keep(y, array_of(&y->x[OF_R])) : NULL;
    y->o.sd = keep(y, addresses(sd, (size_t)y->ldsd * (size_t)blocks_of(s->n) * 4));
}

static bound bind(const shape *s, const dealt *g, int64_t ldsd)
{
    const size_t m = (size_t)g->m, n = (size_t)s->n, k = (size_t)s->k, align = s->align ? (size_t)s->align : 16, more = (size_t)s->more;
    const size_t align_a = align > bytes_of(s->a) ? align : bytes_of(s->a);
    const bool deep_a = g->kinds_a > 1, deep_b = g->kinds_b > 1, strided = !s->pointers;
    bound y = {.ldsd = ldsd ? ldsd : (g->m + 3) / 4 * 4,
        .x = {place(s->a, (size_t[]){m, k, KINDS}, deep_a, 0, align_a, more), place(s->a, (size_t[]){n, k, KINDS}, deep_b, 0, align_a, more), place(s->d, (size_t[]){m, n, KINDS}, deep_a, 0, align, more),
            place(s->d, (size_t[]){m, n, KINDS}, deep_a, 0, align, more)}};
    const placed *x = y.x;
    fill_factors(&y.x[OF_A], 0), fill_factors(&y.x[OF_B], 3), fill_factors(&y.x[OF_R], 1), send(&y.x[OF_D]);
    y.p = (sett_product_problem){.size = sizeof y.p, .dtype = s->a, .b = s->packed ? SETT_I8 : 0, .d = s->d, .n = s->n, .k = s->k, .scaled = s->scaled, .residual = s->residual, .promote = s->promote, .block_scales = s->blocks,
        .batch = s->batch ? KINDS : 0, .pointer_array = s->pointers, .grouped = (sett_grouped)s->grouped, .groups = s->grouped ? KINDS : 0, .align = (int)align, .lda = (int64_t)x[OF_A].stride[0], .ldb = s->packed ? 0 : (int64_t)x[OF_B].stride[0],
        .ldr = (int64_t)x[OF_R].stride[0], .ldd = (int64_t)x[OF_D].stride[0], .batch_a = strided ? (int64_t)x[OF_A].stride[2] : 0, .batch_b = strided && !s->packed ? (int64_t)x[OF_B].stride[2] : 0,
        .batch_r = strided ? (int64_t)x[OF_R].stride[2] : 0, .batch_d = strided ? (int64_t)x[OF_D].stride[2] : 0, .terms = {.quantise = 2}};
    y.o = (sett_product_operands){.size = sizeof y.o, .a = x[OF_A].buf.data, .b = x[OF_B].buf.data, .r = s->residual ? x[OF_R].buf.data : NULL, .d = x[OF_D].buf.data, .ldsd = ldsd};
    make_vectors(&y, s, g);
    if (s->packed)
        pack(s, g->kinds_b, &y.o), keep(&y, y.o.b), keep(&y, y.o.sw);
    if (s->grouped)
        *(s->grouped == SETT_GROUPED_MASKED ? &y.o.counts : &y.o.offsets) = keep(&y, on_device(g->table, sizeof g->table));
    return y;
}

static void check_run(const shape *s, int m, int64_t ldsd)
{
    const dealt g = deal(s, m);
    bound y = bind(s, &g, ldsd);
    float *sd = y.o.sd;
    if (s->pointers)
        point(&y, s, sd);
    planned plan = prepare(&y.p, m);
    run_plan(&plan, m, &y.o);
    placed *d = &y.x[OF_D];
    result x = {.d = d, .seen = calloc(1, d->bytes), .sd = y.sd, .ldsd = y.ldsd};
    from_device(d->host, d->data, d->bytes), from_device(y.sd, sd, (size_t)(y.ldsd * blocks_of(s->n) * g.kinds_a) * 4);
    check_all(s, &g, &x);
    drop_plan(&plan), drop_placed(MATRICES, y.x);
    for (int i = 0; i < y.n_freed; i++)
        sett_free(r.e, r.stream.device, (void *)(uintptr_t)y.freed[i]);
    free(y.sd), free(x.seen);
}

START_TEST(bit_by_bit)
{
    static const struct { int m, ldsd; } of[] = {{1, 0}, {9, 12}, {33, 0}, {70, 80}, {100, 0}, {MOST, 0}};
    const shape *s = &shapes[_i];
    for (size_t i = 0; i < sizeof of / sizeof *of && (has_wgmma() || (!s->blocks && !s->grouped && !s->packed)); i++)
        check_run(s, of[i].m, of[i].ldsd);
}
END_TEST

/* ---- one after the other ------------------------------------------------------------------------------------ */
/* An expert's MLP in fp8: silu(A gate) (A up), and that, by its own scales, times B. Neither is copied between. */
enum { WIDTH = 272, DEPTH = 144, OUT = 48, CHAINED = 61 };

/* Of the second product, by what the first one wrote: exactly, but for the order of its sums. */
static double second_of(const unsigned char *h, const float *scale, int64_t ld, int row, int col, int kind, double *sizes)
{
    double sum = 0;
    *sizes = 0;
    for (int i = 0; i < WIDTH; i++) {
        const double x = element(SETT_F8E4M3FN, h + (size_t)row * WIDTH + (size_t)i) * (double)scale[row + ld * (i / BLOCK)] * factor((size_t)col, (size_t)i, (size_t)kind, 4) * scale_of((size_t)(i / BLOCK), (size_t)kind);
        sum += x, *sizes += fabs(x);
    }
    return sum;
}

/* And by what A and the weights are: each of the values between is off by half of its last bit, of 3, or of what is least beside the largest of its block. */
static double both_of(int a_row, int kind_a, int kind, int col, double *off)
{
    double h[WIDTH], sum = 0, most[(WIDTH + BLOCK - 1) / BLOCK] = {0};
    *off = 0;
    for (int i = 0; i < WIDTH; i++) {
        double gate = 0, up = 0;
        for (int k = 0; k < DEPTH; k++) {
            const double a = factor((size_t)a_row, (size_t)k, (size_t)kind_a, 0) / 4.0;
            gate += a * factor((size_t)i, (size_t)k, (size_t)kind, 3), up += a * factor((size_t)(i + WIDTH), (size_t)k, (size_t)kind, 3);
        }
        h[i] = gate / (1 + exp(-gate)) * up, most[i / BLOCK] = fmax(most[i / BLOCK], fabs(h[i]));
    }
    for (int i = 0; i < WIDTH; i++) {
        const double b = factor((size_t)col, (size_t)i, (size_t)kind, 4) * scale_of((size_t)(i / BLOCK), (size_t)kind);
        sum += h[i] * b, *off += (fabs(h[i]) * (0x1p-4 + 0x1p-12) + most[i / BLOCK] * 0x1p-18) * fabs(b);
    }
    return sum;
}

START_TEST(chain)
{
    const sett_grouped way = (sett_grouped)_i;
    const bool masked = way == SETT_GROUPED_MASKED;
    const int kinds_a = masked ? KINDS : 1, kinds = way ? KINDS : 1;
    const shape s = {.grouped = (int)way};
    const dealt g = deal(&s, CHAINED);
    const size_t m = CHAINED, ld = (CHAINED + 3) / 4 * 4, n_h = m * WIDTH * (size_t)kinds_a, n_sd = ld * 3 * (size_t)kinds_a;
    if (!has_wgmma())
        return;
    placed a = place(SETT_BF16, (size_t[]){m, DEPTH, KINDS}, masked, 0, 16, 0), up = place(SETT_BF16, (size_t[]){2 * WIDTH, DEPTH, KINDS}, way != 0, 0, 16, 0), down = place(SETT_F8E4M3FN, (size_t[]){OUT, WIDTH, KINDS}, way != 0, 0, 16, 0);
    placed d = place(SETT_F32, (size_t[]){m, OUT, KINDS}, masked, 0, 16, 0);
    fill_factors(&a, 0), fill_factors(&up, 3), fill_factors(&down, 4), send(&d);
    unsigned char *h = calloc(1, n_h);
    float *scale = calloc(n_sd, 4), quarter = 0.25f;
    const sett_product_problem first = {.size = sizeof first, .dtype = SETT_BF16, .d = SETT_F8E4M3FN, .n = WIDTH, .k = DEPTH, .swiglu = 1, .grouped = way, .groups = way ? KINDS : 0, .terms = {.quantise = 2, .scale = 1}};
    const sett_product_problem second = {.size = sizeof second, .dtype = SETT_F8E4M3FN, .d = SETT_F32, .n = OUT, .k = WIDTH, .block_scales = 1, .grouped = way, .groups = way ? KINDS : 0};
    sett_product_operands o = {.size = sizeof o, .a = a.buf.data, .b = up.buf.data, .d = on_device(h, n_h), .s = on_device(&quarter, 4), .sd = on_device(scale, n_sd * 4)};
    sett_product_operands then = {.size = sizeof then, .a = o.d, .b = down.buf.data, .d = d.buf.data, .sa = o.sd, .sb = scales_of_blocks(1, WIDTH, kinds, 1, 1, 3)};
    void *table = on_device(g.table, sizeof g.table);
    if (way)
        *(masked ? &o.counts : &o.offsets) = table, *(masked ? &then.counts : &then.offsets) = table;
    planned x = prepare(&first, CHAINED), y = prepare(&second, CHAINED);
    run_plan(&x, CHAINED, &o), run_plan(&y, CHAINED, &then);
    from_device(h, o.d, n_h), from_device(scale, o.sd, n_sd * 4), from_device(d.host, d.data, d.bytes);
    for (int i = 0; i < CHAINED * kinds_a; i++) {
        const int kind = i / CHAINED, row = i % CHAINED, group = b_of(&s, &g, kind, row);
        for (int col = 0; col < OUT && group >= 0; col++) {
            double sizes, off;
            const double got = element(SETT_F32, at_of(&d, (size_t)row, (size_t)col, (size_t)kind));
            const double of_both = second_of(h + (size_t)kind * m * WIDTH, scale + (size_t)kind * ld * 3, (int64_t)ld, row, col, group, &sizes), want = both_of(row, kind, group, col, &off);
            ck_assert_msg(fabs(got - of_both) <= sizes * 0x1p-9, "row %d of %d, column %d: %g, not %g, by what lies between", row, kind, col, got, of_both);
            ck_assert_msg(fabs(got - want) <= off + sizes * 0x1p-9, "row %d of %d, column %d: %g, not %g (within %g)", row, kind, col, got, want, off);
        }
    }
    const void *freed[] = {o.d, o.s, o.sd, then.sb, table};
    for (int i = 0; i < 5; i++)
        sett_free(r.e, r.stream.device, (void *)(uintptr_t)freed[i]);
    placed all[] = {a, up, down, d};
    drop_placed(4, all), drop_plan(&x), drop_plan(&y);
    free(h), free(scale);
}
END_TEST

/* ---- bits, kernels, refusals -------------------------------------------------------------------------------- */
/* Tiles of whole blocks, and no kernel of few rows. */
START_TEST(kernels_of_blocks)
{
    static const struct { sett_product_problem p; const char *target; int n; } of[] = {{{.dtype = SETT_BF16}, "sm_90a", 8}, {{.dtype = SETT_BF16, .swiglu = 1}, "sm_90a", 8}, {{.dtype = SETT_BF16, .lda = 4104}, "sm_90a", 8},
        {{.dtype = SETT_F8E4M3FN, .promote = 1}, "sm_90a", 6}, {{.dtype = SETT_F8E4M3FN, .promote = 1, .swiglu = 1}, "sm_90a", 3}, {{.dtype = SETT_F8E4M3FN, .block_scales = 1}, "sm_90a", 4},
        {{.dtype = SETT_F8E4M3FN, .block_scales = 1, .swiglu = 1}, "sm_90a", 3}, {{.dtype = SETT_BF16, .b = SETT_I4}, "sm_90a", 7}, {{.dtype = SETT_BF16, .b = SETT_I4, .swiglu = 1}, "sm_90a", 3}, {{.dtype = SETT_BF16}, "sm_80", 0},
        {{.dtype = SETT_F32, .swiglu = 1}, "sm_90a", 0}, {{.dtype = SETT_I8}, "sm_80", 0}, {{.dtype = SETT_F8E5M2, .swiglu = 1}, "sm_89", 0}, {{.dtype = SETT_BF16, .grouped = SETT_GROUPED_MASKED, .groups = 4}, "sm_90a", 8}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        sett_product_kernel k[SETT_PRODUCT_KERNELS];
        sett_product_problem p = of[i].p;
        p.size = sizeof p, p.n = p.k = 4096, p.d = SETT_F8E4M3FN, p.terms.quantise = 2;
        const int n = sett_product_kernels(&p, of[i].target, k, &err);
        ck_assert_msg(n > 0 && (!of[i].n || n == of[i].n), "problem %zu: %d kernels, %s", i, n, n < 0 ? err.text : "");
        for (int j = 0; j < n; j++) {
            const bool tma = k[j].family->body == sett_gemm_wgmma;
            ck_assert(tma || k[j].family->body == sett_gemm_mma);
            ck_assert_int_eq(((tma ? k[j].options.wgmma.tuning.bn : k[j].options.mma.tuning.bn) >> p.swiglu) % BLOCK, 0);
        }
    }
}
END_TEST

static const struct { sett_product_problem p; const char *target, *text; } bad[] = {
    {{.dtype = SETT_BF16, .terms.quantise = 2}, "sm_90a", ".quantise is 2: .d is f8E4M3FN or f8E5M2 then, and not bf16"},
    {{.dtype = SETT_BF16, .d = SETT_I8, .terms.quantise = 2}, "sm_90a", ".quantise is 2: .d is f8E4M3FN or f8E5M2 then, and not i8"},
    {{.dtype = SETT_BF16, .d = SETT_F8E5M2, .terms.quantise = 3}, "sm_90a", ".quantise is 3: from 0 to 2"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .d = SETT_F8E5M2, .terms.quantise = 2}, "sm_80", ".quantise is 2, of packed weights: products with them need sm_90a, the target is sm_80"},
    {{.dtype = SETT_BF16, .b = SETT_I4, .d = SETT_F8E5M2, .ldd = 264, .terms.quantise = 2}, "sm_90a", ".quantise is 2, of packed weights: .ldd is 264, 264 bytes: a multiple of 16 then"}};

START_TEST(refused)
{
    sett_product_problem p = bad[_i].p;
    char want[300];
    p.size = sizeof p, p.n = 256, p.k = 64;
    snprintf(want, sizeof want, "sett_product_kernels: %s", bad[_i].text);
    ck_assert_int_eq(sett_product_kernels(&p, bad[_i].target, NULL, &err), -1);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(refused_at_a_run)
{
    const sett_product_problem p = {.size = sizeof p, .dtype = SETT_BF16, .d = SETT_F8E4M3FN, .n = 64, .k = 64, .terms.quantise = 2}, by = {.size = sizeof p, .dtype = SETT_BF16, .d = SETT_F8E4M3FN, .n = 64, .k = 64, .terms.quantise = 1};
    planned x = prepare(&p, 16), y = prepare(&by, 16);
    char some[16];
    float *f = (float *)some;
#define WITH(...) {.size = sizeof(sett_product_operands), .a = some, .b = some, .d = some, __VA_ARGS__}
    const struct { const planned *of; sett_product_operands o; const char *text; } of[] = {{&x, WITH(.sd = NULL), ".sd is NULL"}, {&x, WITH(.sd = f, .qs = f), ".qs is given, and .terms.quantise is not 1"},
        {&y, WITH(.qs = f, .sd = f), ".sd is given, and .terms.quantise is not 2"}, {&y, WITH(.sd = NULL), ".qs is NULL"}, {&x, WITH(.sd = f, .ldsd = 8), ".ldsd is 8: a multiple of 4, at least m, 9, or 0 for that"},
        {&x, WITH(.sd = f, .ldsd = 10), ".ldsd is 10: a multiple of 4, at least m, 9, or 0 for that"}, {&x, WITH(.sd = f, .ldsd = -4), ".ldsd is -4: a multiple of 4, at least m, 9, or 0 for that"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char want[120];
        snprintf(want, sizeof want, "sett_product_run: %s", of[i].text);
        ck_assert_int_eq(sett_product_run(of[i].of->plan, 9, &of[i].o, of[i].of->workspace, of[i].of->bytes, r.stream, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, want);
    }
    drop_plan(&x), drop_plan(&y);
}
END_TEST

Suite *product_blocks_suite(void)
{
    Suite *s = suite_create("product_blocks");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, bit_by_bit, 0, sizeof shapes / sizeof *shapes);
    tcase_add_loop_test(t, chain, SETT_GROUPED_NONE, SETT_GROUPED_MASKED + 1);
    tcase_add_test(t, kernels_of_blocks);
    tcase_add_loop_test(t, refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(t, refused_at_a_run);
    suite_add_tcase(s, t);
    return s;
}
