/* SPDX-License-Identifier: Apache-2.0 */
/* sett_attention with all its options, at random, against sums of double; batches, pages and places that may not change a bit; and what is
 * refused. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/kernels_rig.h"
#include <sett/build.h>
#include <sett/control.h>
#include <sett/layout.h>

static char said[600]; /* of the problem that is checked */
enum { MOST_REQUESTS = 5, ARGS = 20, FAR = 1 << 28 /* no page */ };

/* ---- a problem ---------------------------------------------------------------------------------------------------- */
/* What is called by a row: a request's rows of Q and O, or keys. */
typedef struct problem {
    sett_attention_options o;
    int requests, heads, shared, rows[MOST_REQUESTS], keys[MOST_REQUESTS]; /* alike where they are not ragged or paged */
    int window, prefix[MOST_REQUESTS], gap; /* gap: elements between rows in memory */
    double cap, scale;
} problem;

/* (outer,heads,rows,columns), whose rows lie by heads or beside each other; what lies between is NaN. */
typedef struct operand {
    sett_dtype type;
    int64_t shape[4], stride[4];
    size_t n;
    unsigned char *host;
    double *was;
    void *data;
    sett_buf buf;
} operand;

static double random_number(void)
{
    return uniform(&r.seed);
}

static int random_int(int from, int to)
{
    return from + (int)((random_number() + 1) / 2 * (to - from + 1)) % (to - from + 1);
}

static void to_device(operand *x)
{
    const size_t bytes = (x->n + 8) * (size_t)sett_dtype_bits(x->type) / 8;
    x->data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(x->data && !sett_memcpy(r.e, r.stream, x->data, x->host, bytes) && !sett_sync(r.e, r.stream));
    x->buf.data = x->data;
}

/* rank 4, or of one outer 3 where `flat`. */
static operand make_operand(sett_dtype t, int outer, int heads, int rows, int columns, int gap, bool by_rows, bool flat)
{
    operand x = {.type = t, .shape = {outer, heads, rows, columns}};
    const int64_t row = columns + gap;
    x.stride[3] = 1, x.stride[2] = by_rows ? row * heads : row, x.stride[1] = by_rows ? row : row * rows, x.stride[0] = row * rows * heads;
    x.n = (size_t)(x.stride[0] * outer);
    x.host = malloc((x.n + 8) * (size_t)sett_dtype_bits(t) / 8), x.was = malloc((x.n + 1) * sizeof *x.was);
    ck_assert(x.host && x.was);
    memset(x.host, 0xff, (x.n + 8) * (size_t)sett_dtype_bits(t) / 8); /* NaN */
    x.buf = sett_buf_nd(NULL, t, flat ? 3 : 4, x.shape + flat);
    for (int i = 0; i < 4 - flat; i++)
        x.buf.stride[i] = x.stride[i + flat];
    return x;
}

static size_t at_of(const operand *x, int64_t outer, int64_t head, int64_t row)
{
    return (size_t)(outer * x->stride[0] + head * x->stride[1] + row * x->stride[2]);
}

static void fill_row(operand *x, int64_t outer, int64_t head, int64_t row, double scale)
{
    for (int64_t c = 0; c < x->shape[3]; c++) {
        const size_t i = at_of(x, outer, head, row) + (size_t)c;
        put(x->type, x->host, i, random_number() * scale);
        x->was[i] = get(x->type, x->host, i);
    }
}

static void drop_operand(operand *x)
{
    sett_free(r.e, r.stream.device, x->data);
    free(x->host), free(x->was);
}

static void fetch(operand *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->host, x->data, x->n * (size_t)sett_dtype_bits(x->type) / 8) && !sett_sync(r.e, r.stream));
}

/* A vector or a matrix of numbers. */
static operand numbers(sett_dtype t, int rows, int columns)
{
    return make_operand(t, 1, 1, rows, columns, 0, false, true);
}

static void put_int(operand *x, int i, int32_t v)
{
    ((int32_t *)x->host)[i] = v;
}

/* All that a launch has. */
typedef struct launch {
    const problem *p;
    operand scales[3]; /* of Q, K and V */
    operand q, k, v, out, offsets, key_offsets, table, lengths, prefix, slopes, sinks, lse, next;
    int first_row[MOST_REQUESTS + 1], first_key[MOST_REQUESTS + 1], pages;
} launch;

static int pages_of(const problem *p, int request)
{
    return (p->keys[request] + p->o.page - 1) / p->o.page;
}

/* Where key j of a request lies: outer and row. */
static void key_place(const launch *x, int request, int j, int64_t *outer, int64_t *row)
{
    const problem *p = x->p;
    *outer = 0, *row = j;
    if (p->o.page) {
        *outer = ((const int32_t *)x->table.host)[request * x->table.shape[3] + j / p->o.page];
        *row = j % p->o.page;
    } else if (p->o.ragged)
        *row = x->first_key[request] + j;
    else
        *outer = request;
}

/* Pages in random order; what the table has behind them is no page. */
static void make_table(launch *x)
{
    const problem *p = x->p;
    int most = 1, *free_page = calloc((size_t)x->pages, sizeof *free_page), left = x->pages;
    for (int i = 0; i < p->requests; i++)
        most = pages_of(p, i) + 1 > most ? pages_of(p, i) + 1 : most;
    for (int i = 0; i < x->pages; i++)
        free_page[i] = i;
    x->table = numbers(SETT_I32, p->requests, most), x->lengths = numbers(SETT_I32, 1, p->requests);
    x->lengths.buf = sett_buf_nd(NULL, SETT_I32, 1, (const int64_t[]){p->requests});
    x->table.buf = sett_buf_nd(NULL, SETT_I32, 2, (const int64_t[]){p->requests, most});
    for (int i = 0; i < p->requests; i++) {
        put_int(&x->lengths, i, p->keys[i]);
        for (int j = 0; j < most; j++) {
            put_int(&x->table, i * most + j, FAR);
            if (j < pages_of(p, i)) {
                const int pick = random_int(0, left - 1);
                put_int(&x->table, i * most + j, free_page[pick]);
                free_page[pick] = free_page[--left];
            }
        }
    }
    free(free_page);
}

static operand table_of(sett_dtype t, int n)
{
    operand x = numbers(t, 1, n);
    x.buf = sett_buf_nd(NULL, t, 1, (const int64_t[]){n});
    return x;
}

static void make_vectors(launch *x)
{
    const problem *p = x->p;
    x->offsets = table_of(SETT_I32, p->requests + 1), x->key_offsets = table_of(SETT_I32, p->requests + 1), x->prefix = table_of(SETT_I32, p->requests);
    x->next = table_of(SETT_I32, 2);
    put_int(&x->next, 0, 0), put_int(&x->next, 1, 0);
    for (int i = 0; i < 3; i++) {
        x->scales[i] = table_of(SETT_F32, i ? p->shared : p->heads);
        for (int h = 0; h < (i ? p->shared : p->heads); h++)
            ((float *)x->scales[i].host)[h] = (float)(0.5 + 0.25 * random_number());
    }
    x->slopes = table_of(SETT_F32, p->heads), x->sinks = table_of(SETT_F32, p->heads);
    for (int i = 0; i <= p->requests; i++)
        put_int(&x->offsets, i, x->first_row[i]), put_int(&x->key_offsets, i, x->first_key[i]);
    for (int i = 0; i < p->requests; i++)
        put_int(&x->prefix, i, p->prefix[i]);
    for (int i = 0; i < p->heads; i++)
        ((float *)x->slopes.host)[i] = (float)ldexp(1, -1 - i), ((float *)x->sinks.host)[i] = random_int(0, 5) ? (float)(3 * random_number()) : -INFINITY;
}

static sett_dtype out_of(const problem *p)
{
    return p->o.out ? p->o.out : p->o.dtype == SETT_F8E4M3FN ? SETT_BF16 : p->o.dtype;
}

static launch make_launch(const problem *p)
{
    launch x = {.p = p, .pages = 2};
    for (int i = 0; i < p->requests; i++) {
        x.first_row[i + 1] = x.first_row[i] + p->rows[i], x.first_key[i + 1] = x.first_key[i] + p->keys[i];
        x.pages += p->o.page ? pages_of(p, i) : 0;
    }
    const int flat = p->o.ragged, q_rows = flat ? x.first_row[p->requests] : p->rows[0], outer = flat ? 1 : p->requests;
    const bool flat_keys = flat && !p->o.page, by_rows = p->gap > 0;
    const int k_rows = p->o.page ? p->o.page : flat ? x.first_key[p->requests] + 1 : p->keys[0], k_outer = p->o.page ? x.pages : outer;
    x.q = make_operand(p->o.dtype, outer, p->heads, q_rows, p->o.d, p->gap, by_rows, flat);
    x.out = make_operand(out_of(p), outer, p->heads, q_rows, p->o.dv ? p->o.dv : p->o.d, p->gap, by_rows, flat);
    x.k = make_operand(p->o.dtype, k_outer, p->shared, k_rows, p->o.d, p->gap, by_rows, flat_keys);
    x.v = make_operand(p->o.dtype, k_outer, p->shared, k_rows, p->o.dv ? p->o.dv : p->o.d, p->gap, !by_rows, flat_keys);
    x.lse = make_operand(SETT_F32, outer, p->heads, 1, q_rows, p->gap, false, flat);
    x.lse.buf = flat ? sett_buf_nd(NULL, SETT_F32, 2, (const int64_t[]){p->heads, q_rows}) : sett_buf_nd(NULL, SETT_F32, 3, (const int64_t[]){outer, p->heads, q_rows});
    for (int i = 0; i < 2 - flat; i++)
        x.lse.buf.stride[i] = x.lse.stride[i + flat];
    if (p->o.page)
        make_table(&x);
    make_vectors(&x);
    for (int i = 0; i < p->requests; i++) {
        for (int h = 0; h < p->heads; h++)
            for (int m = 0; m < p->rows[i]; m++)
                fill_row(&x.q, flat ? 0 : i, h, flat ? x.first_row[i] + m : m, 2);
        for (int h = 0; h < p->shared; h++)
            for (int j = 0; j < p->keys[i]; j++) {
                int64_t at, row;
                key_place(&x, i, j, &at, &row);
                fill_row(&x.k, at, h, row, 2), fill_row(&x.v, at, h, row, 1);
            }
    }
    operand *const all[] = {&x.q, &x.k, &x.v, &x.out, &x.offsets, &x.key_offsets, &x.prefix, &x.slopes, &x.sinks, &x.lse, &x.next, &x.scales[0], &x.scales[1], &x.scales[2], &x.table, &x.lengths};
    for (int i = 0; i < 14 + 2 * !!p->o.page; i++)
        to_device(all[i]);
    return x;
}

static void drop_launch(launch *x)
{
    operand *const all[] = {&x->q, &x->k, &x->v, &x->out, &x->offsets, &x->key_offsets, &x->prefix, &x->slopes, &x->sinks, &x->lse, &x->next, &x->scales[0], &x->scales[1], &x->scales[2], &x->table, &x->lengths};
    for (int i = 0; i < 14 + 2 * !!x->p->o.page; i++)
        drop_operand(all[i]);
}

static int arguments(const launch *x, sett_launch_arg *to)
{
    const sett_attention_options *o = &x->p->o;
    const struct { bool is; const operand *buf; sett_launch_arg number; } all[] = {{true, &x->q, {0}}, {true, &x->k, {0}}, {true, &x->v, {0}}, {true, &x->out, {0}}, {o->ragged, &x->offsets, {0}}, {o->ragged && !o->page, &x->key_offsets, {0}},
        {o->page, &x->table, {0}}, {o->page, &x->lengths, {0}}, {o->scaled, &x->scales[0], {0}}, {o->scaled, &x->scales[1], {0}}, {o->scaled, &x->scales[2], {0}}, {o->scale, NULL, sett_launch_arg_float(x->p->scale)}, {o->window, NULL, sett_launch_arg_int(x->p->window)}, {o->prefix, &x->prefix, {0}}, {o->softcap, NULL, sett_launch_arg_float(x->p->cap)},
        {o->alibi, &x->slopes, {0}}, {o->sinks, &x->sinks, {0}}, {o->lse, &x->lse, {0}}, {o->dynamic, &x->next, {0}}};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is)
            to[n++] = all[i].buf ? sett_launch_arg_buf(&all[i].buf->buf) : all[i].number;
    return n;
}

static void launch_by(sett_kernel *k, const launch *x)
{
    sett_launch_arg arg[ARGS];
    const int n = arguments(x, arg);
    ck_assert_msg(!sett_launch_n(k, r.stream, n, arg, &err), "%s: %s", said, err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
}

/* ---- what is right -------------------------------------------------------------------------------------------------- */
typedef struct right {
    bool (*sees)(const problem *, int request, int head, int query, int key); /* NULL: as the options say */
    double (*score)(const problem *, double score, int head, int query, int key);
} right;

static bool sees(const problem *p, int request, int head, int query, int key)
{
    (void)head;
    const int own = query + p->keys[request] - p->rows[request];
    if (p->o.prefix && key < p->prefix[request])
        return true;
    if ((p->o.causal || p->o.prefix) && key > own)
        return false;
    return !p->o.window || abs(own - key) < p->window;
}

static double score_of(const launch *x, int request, int head, int query, int key)
{
    const problem *p = x->p;
    const int d = p->o.d, flat = p->o.ragged;
    int64_t at, row;
    key_place(x, request, key, &at, &row);
    const double *q = x->q.was + at_of(&x->q, flat ? 0 : request, head, flat ? x->first_row[request] + query : query), *k = x->k.was + at_of(&x->k, at, head / (p->heads / p->shared), row);
    double s = 0;
    for (int c = 0; c < d; c++)
        s += q[c] * k[c];
    s *= p->o.scale ? p->scale : 1 / sqrt(d);
    s *= p->o.scaled ? (double)((float *)x->scales[0].host)[head] * (double)((float *)x->scales[1].host)[head / (p->heads / p->shared)] : 1;
    if (p->o.softcap)
        s = p->cap * tanh(s / p->cap);
    if (p->o.alibi)
        s -= ldexp(1, -1 - head) * abs(query + p->keys[request] - p->rows[request] - key);
    return s;
}

static void check_row(const launch *x, const right *y, int request, int head, int query)
{
    const problem *p = x->p;
    const int n = p->keys[request], dv = (int)x->v.shape[3], flat = p->o.ragged, row = flat ? x->first_row[request] + query : query, outer = flat ? 0 : request;
    double *w = calloc((size_t)n + 1, sizeof *w), most = p->o.sinks ? (double)((float *)x->sinks.host)[head] : -INFINITY, sum = 0, largest = 0;
    for (int j = 0; j < n; j++) {
        w[j] = (y->sees ? y->sees : sees)(p, request, head, query, j) ? score_of(x, request, head, query, j) : -INFINITY;
        w[j] = y->score && w[j] > -INFINITY ? y->score(p, w[j], head, query, j) : w[j];
        most = fmax(most, w[j]);
    }
    sum = p->o.sinks && most > -INFINITY ? exp((double)((float *)x->sinks.host)[head] - most) : 0;
    for (int j = 0; j < n; j++)
        sum += w[j] = most == -INFINITY ? 0 : exp(w[j] - most);
    for (int c = 0; c < dv; c++) {
        double want = 0;
        for (int j = 0; j < n; j++) {
            int64_t at, of;
            key_place(x, request, j, &at, &of);
            const double v = (p->o.scaled ? (double)((float *)x->scales[2].host)[head / (p->heads / p->shared)] : 1) * x->v.was[at_of(&x->v, at, head / (p->heads / p->shared), of) + (size_t)c];
            largest = fmax(largest, w[j] > 0 ? fabs(v) : 0);
            want += sum > 0 ? w[j] / sum * v : 0;
        }
        const double got = get(x->out.type, x->out.host, at_of(&x->out, outer, head, row) + (size_t)c), far = (p->o.dtype == SETT_F8E4M3FN ? 1.0 / 16 : p->o.dtype == SETT_BF16 ? 1.0 / 128 : 1.0 / 1024) * largest;
        ck_assert_msg(fabs(got - want) <= far, "%s: request %d, head %d, query %d, column %d: %g, should be %g", said, request, head, query, c, got, want);
    }
    if (p->o.lse) {
        const double want = sum > 0 ? most + log(sum) : -INFINITY, got = get(SETT_F32, x->lse.host, at_of(&x->lse, outer, head, 0) + (size_t)row);
        ck_assert_msg(want == -INFINITY ? got == want : fabs(got - want) <= (1 + fabs(want)) / (p->o.dtype == SETT_F8E4M3FN ? 256 : 4096) /* tensor cores keep 13 bits of sums of fp8, which are up to 64 here, times a scale of up to 0.2 */, "%s: request %d, head %d, query %d: the logarithm is %g, should be %g", said, request, head, query, got, want);
    }
    free(w);
}

/* What no request has is as it was: NaN. */
static void check_gaps(const operand *x)
{
    for (int64_t o = 0; o < x->shape[0]; o++)
        for (int64_t h = 0; h < x->shape[1]; h++)
            for (int64_t row = 0; row < x->shape[2]; row++)
                memset(x->host + (at_of(x, o, h, row)) * (size_t)sett_dtype_bits(x->type) / 8, 0xff, (size_t)(x->shape[3] * sett_dtype_bits(x->type) / 8));
    for (size_t i = 0; i < x->n * (size_t)sett_dtype_bits(x->type) / 8; i++)
        ck_assert_msg(x->host[i] == 0xff, "byte %zu, between rows, was written", i);
}

static void check_launch(launch *x, const right *y)
{
    const problem *p = x->p;
    fetch(&x->out), fetch(&x->lse), fetch(&x->next);
    ck_assert_msg(!((int32_t *)x->next.host)[0] && !((int32_t *)x->next.host)[1], "%s: the counters are left as %d, %d", said, ((int32_t *)x->next.host)[0], ((int32_t *)x->next.host)[1]);
    for (int i = 0; i < p->requests; i++)
        for (int h = 0; h < p->heads; h++)
            for (int m = 0; m < p->rows[i]; m++)
                check_row(x, y, i, h, m);
    check_gaps(&x->out), check_gaps(&x->lse);
}

static const right by_options = {NULL, NULL};

/* ---- random problems -------------------------------------------------------------------------------------------------- */
static int random_length(void)
{
    static const int most[] = {0, 3, 20, 140, 300};
    return random_int(0, most[random_int(0, 4)]);
}

/* What a kernel is not compiled for. */
static void draw_lengths(problem *p)
{
    p->requests = random_int(1, 3), p->shared = random_int(1, 2), p->heads = p->shared * (p->o.group ? p->o.group : random_int(1, 2));
    p->window = random_int(0, 9) ? random_int(1, 200) : INT_MAX;
    for (int i = 0; i < p->requests; i++) {
        p->rows[i] = p->o.ragged || !i ? random_length() : p->rows[0];
        p->keys[i] = p->o.ragged || p->o.page || !i ? random_length() : p->keys[0];
        p->prefix[i] = random_length();
    }
}

static problem random_problem(void)
{
    static const int heads_of[][2] = {{64, 64}, {64, 64}, {128, 128}, {128, 128}, {96, 96}, {192, 192}, {192, 128}, {256, 256}}, pages[] = {16, 32, 48, 64, 128, 256};
    const int *d = heads_of[random_int(0, 7)], mask = random_int(0, 5), score = random_int(0, 3), source = random_int(0, 3);
    problem p = {.gap = random_int(0, 1) * 8, .cap = 1 + random_int(0, 3)};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = random_int(0, 1) ? SETT_BF16 : SETT_F16, .d = d[0], .dv = d[1], .causal = mask == 1 || mask == 2, .window = mask == 2 || mask == 3, .prefix = mask == 4,
        .softcap = score == 1, .alibi = score == 2, .sinks = !random_int(0, 2), .lse = random_int(0, 1), .ragged = source & 1, .page = source & 2 ? pages[random_int(0, 5)] : 0};
    p.o.tuning.blocks = random_int(0, 1) ? 3 : 0, p.o.tuning.rows = random_int(0, 5) ? 0 : 64;
    p.o.group = random_int(0, 1) ? 1 << random_int(1, 3) : 0;
    p.o.dynamic = random_int(0, 1), p.o.scale = !random_int(0, 2), p.scale = 0.05 * random_int(1, 4);
    p.o.exact = !random_int(0, 3);
    if (d[0] == d[1] && d[0] != 96 && d[0] != 192 && !random_int(0, 2))
        p.o.dtype = SETT_F8E4M3FN, p.o.exact &= d[0] < 256 || !p.o.softcap, p.o.out = random_int(0, 1) ? SETT_F16 : 0, p.o.scaled = random_int(0, 1), p.gap *= 2; /* 16 bytes */
    draw_lengths(&p);
    return p;
}

static void describe(const problem *p, char *text, size_t size)
{
    const sett_attention_options *o = &p->o;
    int at = snprintf(text, size, "%s d=%d dv=%d exact=%d causal=%d window=%d prefix=%d softcap=%d alibi=%d sinks=%d lse=%d ragged=%d page=%d dynamic=%d group=%d scale=%g scaled=%d blocks=%d rows=%d, %d requests, heads %d/%d, window %d, gap %d, rows x keys", sett_dtype_name(o->dtype), o->d,
        o->dv, o->exact, o->causal, o->window, o->prefix, o->softcap, o->alibi, o->sinks, o->lse, o->ragged, o->page, o->dynamic, o->group, o->scale ? p->scale : 0, o->scaled, o->tuning.blocks, o->tuning.rows, p->requests, p->heads, p->shared, p->window, p->gap);
    for (int i = 0; i < p->requests; i++)
        at += snprintf(text + at, size - (size_t)at, " %dx%d", p->rows[i], p->keys[i]);
}

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { RANDOM = 4 };
#else
enum { RANDOM = 12 /* of each test of the loop */ };
#endif
enum { RANDOM_TESTS = 8 };

/* The CPU engine does what goes on in the background at once, late, or in a random order. */
static void in_order(int number)
{
    char random[32];
    const char *const orders[] = {"lazy", "eager", random, random}, *more = getenv("ATTENTION_SEED");
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 2, .cpu_async = orders[number % 4]};
    snprintf(random, sizeof random, "random:%d", 1 + number + (more ? 100 * atoi(more) : 0));
    if (r.stream.device != SETT_CPU)
        return;
    sett_engine_close(r.e);
    ck_assert_msg(!sett_engine_open(&r.e, &o, &err), "%s", err.text);
}

START_TEST(random_problems)
{
    in_order(_i);
    r.seed = 77 + (unsigned)_i * 1000;
    const char *more = getenv("ATTENTION_SEED"), *shapes = getenv("ATTENTION_SHAPES"); /* of each kernel */
    r.seed += more ? (unsigned)atoi(more) * 100000 : 0;
    for (int i = 0; has_wgmma() && i < (r.stream.device == SETT_CPU ? RANDOM : RANDOM / 3) /* an assembler takes a second for each */; i++) {
        problem p = random_problem();
        sett_kernel *k = compiled(sett_attention, &p.o);
        for (int shape = 0; shape < (shapes ? atoi(shapes) : r.stream.device == SETT_CPU ? 1 : 10); shape++, draw_lengths(&p)) {
            describe(&p, said, sizeof said);
            launch x = make_launch(&p);
            for (int again = 0; again <= p.o.dynamic; again++)
                launch_by(k, &x);
            check_launch(&x, &by_options);
            drop_launch(&x);
        }
        sett_kernel_release(k);
    }
}
END_TEST

/* Tiles of which no query sees a key follow each other fast: no warp of a group may be left behind. */
START_TEST(tiles_without_keys)
{
    problem p = {.requests = 5, .heads = 2, .shared = 1, .rows = {70, 3, 260, 1, 64}};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_BF16, .d = _i % 2 ? 64 : 128, .ragged = 1, .lse = 1, .tuning.blocks = 1};
    for (int order = 2; has_wgmma() && order < 40; order += 4) {
        in_order(order + _i % 2);
        sett_kernel *k = compiled(sett_attention, &p.o);
        launch x = make_launch(&p);
        launch_by(k, &x);
        check_launch(&x, &by_options);
        drop_launch(&x);
        sett_kernel_release(k);
    }
}
END_TEST

/* K and V without a key: nothing in memory, and no address. */
START_TEST(no_keys_at_all)
{
    static const struct { int ragged, page; } ways[] = {{0, 0}, {1, 0}, {0, 32}, {1, 16}};
    problem p = {.requests = 3, .heads = 2, .shared = 1, .rows = {70, 70, 70}};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .lse = 1, .ragged = ways[_i].ragged, .page = ways[_i].page, .group = 2, .causal = 1};
    if (!has_wgmma())
        return;
    sett_kernel *k = compiled(sett_attention, &p.o);
    launch x = make_launch(&p);
    operand *const of[] = {&x.k, &x.v};
    for (int i = 0; i < 2; i++)
        of[i]->buf.data = NULL, of[i]->buf.shape[p.o.page ? 0 : p.o.ragged ? 1 : 2] = 0;
    launch_by(k, &x);
    check_launch(&x, &by_options);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

/* ---- masks and scores of the caller's ------------------------------------------------------------------------------------ */
enum { DOCUMENT = 37 };

/* Documents of so many keys, each causal: the bounds are those of the query's own place. */
static sett_attention_keys of_document(const sett_attention_at *at, sett_val *query, void *user)
{
    sett_val *own = sett_add(query, sett_sub(at->keys, at->queries));
    (void)user;
    return (sett_attention_keys){SETT_A(sett_mul(sett_floordiv(own, DOCUMENT), DOCUMENT)), SETT_A(sett_add(own, 1))};
}

static bool in_document(const problem *p, int request, int head, int query, int key)
{
    (void)head;
    const int own = query + p->keys[request] - p->rows[request], first = own < 0 ? own : own / DOCUMENT * DOCUMENT;
    return key >= first && key <= own;
}

static sett_attention_keys first_half(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)query, (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_floordiv(at->keys, 2))};
}

static sett_val *every_third(const sett_attention_at *at, sett_val *query, sett_val *key, void *user)
{
    (void)user;
    return sett_ne(sett_mod(sett_add(sett_add(query, key), at->head), 3), 0);
}

static bool is_every_third(const problem *p, int request, int head, int query, int key)
{
    (void)p;
    (void)request;
    return (query + key + head) % 3 != 0;
}

static bool is_third_of_half(const problem *p, int request, int head, int query, int key)
{
    return key < p->keys[request] / 2 && (query + key + head) % 3 != 0;
}

static sett_val *bent(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)user;
    return sett_sub(sett_mul(score, 0.5), sett_mul(sett_to(sett_sub(query, key), SETT_F32), 1.0 / 64));
}

static double is_bent(const problem *p, double score, int head, int query, int key)
{
    (void)p, (void)head;
    return score / 2 - (query - key) / 64.0;
}

static const struct own { sett_attention_functions f; right y; int flags; } own[] = {
    {{.size = sizeof(sett_attention_functions), .bounds = of_document}, {in_document, NULL}, 1},
    {{.size = sizeof(sett_attention_functions), .predicate = every_third}, {is_every_third, NULL}, 0},
    {{.size = sizeof(sett_attention_functions), .score = bent}, {NULL, is_bent}, 2},
    {{.size = sizeof(sett_attention_functions), .bounds = of_document, .score = bent}, {in_document, is_bent}, 1},
    {{.size = sizeof(sett_attention_functions), .bounds = first_half, .predicate = every_third}, {is_third_of_half, NULL}, 0},
};

typedef struct with { sett_attention_options o; int own; } with;

static void with_own(sett_build *b, const void *user)
{
    const with *w = user;
    sett_attention_with(b, &w->o, &own[w->own].f);
}

START_TEST(functions_of_the_caller)
{
    static const int shapes[][4] = {{1, 1, 100, 100}, {2, 1, 70, 300}, {1, 1, 300, 200}, {2, 1, 5, 0}};
    for (int i = 0; has_wgmma() && i < 4; i++) {
        const int group = i == 1 || i == 3 ? 2 : 0;
        problem p = {.requests = shapes[i][0], .heads = group ? group : 1, .shared = shapes[i][1], .gap = 8};
        with w = {.own = _i, .o = {.size = sizeof w.o, .dtype = SETT_F16, .d = i % 2 ? 128 : 64, .lse = 1, .page = i % 2 ? 32 : 0, .ragged = i == 3, .causal = own[_i].flags == 2, .sinks = i == 2, .group = group}};
        for (int k = 0; k < p.requests; k++)
            p.rows[k] = shapes[i][2], p.keys[k] = shapes[i][3];
        p.o = w.o;
        describe(&p, said, sizeof said);
        const sett_compile_options co = {.size = sizeof co, .user = &w, .user_size = sizeof w};
        sett_kernel *k;
        ck_assert_msg(!sett_compile(r.e, with_own, &co, &k, &err), "%s", err.text);
        launch x = make_launch(&p);
        launch_by(k, &x);
        check_launch(&x, &own[_i].y);
        drop_launch(&x);
        sett_kernel_release(k);
    }
}
END_TEST

/* Functions that give what cannot be are the error of the line that names them. */
static sett_attention_keys by_floats(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_to(sett_add(query, at->keys), SETT_F32))};
}

static sett_attention_keys by_fraction(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)at, (void)query, (void)user;
    return (sett_attention_keys){SETT_A(0.5), SETT_A(8)};
}

static sett_val *a_number(const sett_attention_at *at, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)user;
    return sett_add(query, key);
}

static sett_val *no_score(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)score, (void)query, (void)key, (void)user;
    return NULL;
}

static sett_val *one_score(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)query, (void)key, (void)user;
    return sett_element(score, 0);
}

static int odd_line;
static const struct odd { sett_attention_functions f; sett_attention_options o; const char *text; } odd[] = {
    {{.bounds = by_floats}, {.d = 64}, "sett_attention_with: .bounds gives a .last that is no scalar of i32"},
    {{.bounds = by_fraction}, {.d = 64}, "sett_attention_with: .bounds gives a .first that is no scalar of i32"},
    {{.predicate = a_number}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .predicate gives i32 of shape ((2,2,2),1,1), and it is asked about ((2,2,2),1,1): it gives i1 of that shape"},
    {{.score = no_score}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .score gives NULL, and it is asked about ((2,2,2),1,1): it gives f32 of that shape"},
    {{.score = one_score}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .score gives f32 of shape (), and it is asked about ((2,2,2),1,1): it gives f32 of that shape"},
    {{.bounds = of_document}, {.causal = 1}, "sett_attention_with: .bounds is given: then .causal is 0"},
    {{.predicate = every_third}, {.prefix = 1}, "sett_attention_with: .predicate is given: then .prefix is 0"},
    {{.score = bent}, {.alibi = 1}, "sett_attention_with: .score is given: then .alibi is 0"},
};

static void with_odd(sett_build *b, const void *user)
{
    const struct odd *x = &odd[*(const int *)user];
    sett_attention_options o = x->o;
    o.size = sizeof o, o.dtype = SETT_BF16;
    odd_line = __LINE__ + 1;
    sett_attention_with(b, &o, &x->f);
}

START_TEST(functions_that_cannot_be)
{
    const sett_compile_options co = {.size = sizeof co, .user = &_i, .user_size = sizeof _i};
    char want[400];
    void *tape = NULL;
    size_t len;
    ck_assert_int_eq(sett_record(with_odd, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "%s:%d: %s", __FILE__, odd_line, odd[_i].text);
    ck_assert_str_eq(err.text, want);
}
END_TEST

static void send(operand *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, x->n * (size_t)sett_dtype_bits(x->type) / 8) && !sett_sync(r.e, r.stream));
}

/* What is chosen for options that can be is a tile that can be. */
START_TEST(tiles_that_are_chosen)
{
    static const sett_attention_options types[] = {{.dtype = SETT_F16, .d = 64}, {.dtype = SETT_F16, .d = 96}, {.dtype = SETT_F16, .d = 128}, {.dtype = SETT_BF16, .d = 192}, {.dtype = SETT_BF16, .d = 192, .dv = 128},
        {.dtype = SETT_BF16, .d = 256}, {.dtype = SETT_F8E4M3FN, .d = 64}, {.dtype = SETT_F8E4M3FN, .d = 128}, {.dtype = SETT_F8E4M3FN, .d = 256}};
    for (int i = 0; i < 9; i++)
        for (int flags = 0; flags < 32; flags++) {
            sett_attention_options o = types[i];
            o.size = sizeof o, o.exact = flags & 1, o.softcap = flags >> 1 & 1, o.window = flags >> 2 & 1, o.ragged = flags >> 3 & 1, o.page = flags & 16 ? 48 : 0;
            if (o.d != 256 || o.dtype != SETT_F8E4M3FN || !o.exact || !o.softcap)
                ck_assert_msg(!sett_kernels_choose(sett_attention, &o, NULL, &err), "%s", err.text);
        }
}
END_TEST

/* What lies in memory and cannot be: the CPU engine says which number it is. */
static sett_attention_keys falling(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_sub(at->keys, query))};
}

static void with_falling(sett_build *b, const void *user)
{
    sett_attention_with(b, user, &(sett_attention_functions){.size = sizeof(sett_attention_functions), .bounds = falling});
}

static const struct in_memory { int page, ragged, window, falls; int at; int32_t is; const char *text; } in_memory[] = {
    {16, 0, 0, 0, 1, 9, "TABLE[0,1] is 9, and there are 9 pages"},
    {16, 1, 0, 0, 2, -1, "TABLE[0,2] is -1, and there are 9 pages"},
    {0, 1, 0, 0, 2, 30, "QOFFSETS[1] and the next are 40, 30: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 2, 45, "QOFFSETS[1] and the next are 40, 45: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 0, -1, "QOFFSETS[0] and the next are -1, 40: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 0, -1, "KOFFSETS[0] and the next are -1, 60: they do not fall, from 0 on, and end within 101 keys"},
    {0, 1, 0, 0, 1, 101, "KOFFSETS[1] and the next are 101, 100: they do not fall, from 0 on, and end within 101 keys"},
    {16, 0, 0, 0, 1, 81, "KEYS[1] is 81, and a row of TABLE has 5 pages"},
    {0, 0, 1, 0, 0, 0, "window is 0: 1 or more"},
    {0, 0, 0, 1, 0, 0, ".bounds: from query 0 on they fall"},
};

START_TEST(numbers_in_memory)
{
    const struct in_memory *y = &in_memory[_i];
    problem p = {.requests = 2, .heads = 1, .shared = 1, .rows = {40, y->ragged ? 4 : 40}, .keys = {60, y->ragged || y->page ? 40 : 60}, .window = 0};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .page = y->page, .ragged = y->ragged, .window = y->window};
    const sett_compile_options co = {.size = sizeof co, .user = &p.o, .user_size = sizeof p.o};
    sett_kernel *k;
    sett_launch_arg arg[ARGS];
    if (r.stream.device != SETT_CPU)
        return; /* a GPU has no assertions if they are not asked for */
    launch x = make_launch(&p);
    operand *of = *y->text == 'T' ? &x.table : *y->text == 'Q' ? &x.offsets : *y->text == 'K' && y->page ? &x.lengths : *y->text == 'K' ? &x.key_offsets : NULL;
    if (of)
        put_int(of, y->at, y->is), send(of);
    ck_assert_msg(!(y->falls ? sett_compile(r.e, with_falling, &co, &k, &err) : sett_kernels_compile(r.e, sett_attention, &p.o, NULL, &k, &err)), "%s", err.text);
    sett_status s = sett_launch_n(k, r.stream, arguments(&x, arg), arg, &err);
    s = s ? s : sett_sync_error(r.e, r.stream, &err);
    ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, y->text), "%s", err.text);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

static const struct number { int window; double cap, scale; const char *text; } number[] = {{0, 3, 1, "window is 0: 1 or more"}, {INT_MIN, 3, 1, "window is -2147483648: 1 or more"},
    {4, 0, 1, "cap is 0.000000: above 0, and finite"}, {4, NAN, 1, "cap is nan: above 0, and finite"}, {4, INFINITY, 1, "cap is inf: above 0, and finite"}, {4, 3, -0.5, "scale is -0.500000: above 0, and finite"}};

START_TEST(numbers_of_a_launch)
{
    const struct number *y = &number[_i];
    problem p = {.requests = 1, .heads = 1, .shared = 1, .rows = {3}, .keys = {3}, .window = y->window, .cap = y->cap, .scale = y->scale};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .window = 1, .softcap = 1, .scale = 1};
    sett_launch_arg arg[ARGS];
    if (r.stream.device != SETT_CPU)
        return;
    launch x = make_launch(&p);
    sett_kernel *k = compiled(sett_attention, &p.o);
    sett_status s = sett_launch_n(k, r.stream, arguments(&x, arg), arg, &err);
    s = s ? s : sett_sync_error(r.e, r.stream, &err);
    ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, y->text), "%s", err.text);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

/* A ragged O may span more than 2^31 elements, though threads store to it. */
START_TEST(far_rows)
{
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_BF16, .ragged = 1};
    sett_kernel *k;
    sett_prepared *c;
    if (r.stream.device != SETT_CPU)
        return;
    ck_assert_msg(!sett_kernels_compile(r.e, sett_attention, &o, "cpu", &k, &err), "%s", err.text);
    void *any = (void *)(uintptr_t)4096; /* nothing is read before a run */
    sett_buf q = sett_buf_nd(any, SETT_BF16, 3, (const int64_t[]){64, 1 << 20, 128}), kv = sett_buf_nd(any, SETT_BF16, 3, (const int64_t[]){8, 1 << 20, 128}), offsets = sett_buf_1d(any, SETT_I32, 9);
    ck_assert_msg(!sett_prepared_make(k, SETT_CPU, &c, &err, &q, &kv, &kv, &q, &offsets, &offsets), "%s", err.text);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------------------------------------- */
/* Row `row` of a request of an operand, in bytes. */
static const unsigned char *row_of(const launch *x, const operand *y, int request, int head, int row, size_t *bytes)
{
    const int flat = x->p->o.ragged;
    *bytes = (size_t)(y->shape[3] * sett_dtype_bits(y->type) / 8);
    return y->host + at_of(y, flat ? 0 : request, head, flat ? x->first_row[request] + row : row) * (size_t)sett_dtype_bits(y->type) / 8;
}

/* Q, K and V of request i of `from` to request j of `to`. */
static void copy_request(const launch *from, int i, launch *to, int j)
{
    size_t n;
    for (int h = 0; h < from->p->heads; h++)
        for (int m = 0; m < from->p->rows[i]; m++) {
            const unsigned char *source = row_of(from, &from->q, i, h, m, &n);
            memcpy((void *)(uintptr_t)row_of(to, &to->q, j, h, m, &n), source, n);
        }
    for (int h = 0; h < from->p->shared; h++)
        for (int key = 0; key < from->p->keys[i]; key++) {
            int64_t a, b, c, d;
            key_place(from, i, key, &a, &b), key_place(to, j, key, &c, &d);
            const size_t bytes = (size_t)sett_dtype_bits(from->k.type) / 8;
            memcpy(to->k.host + at_of(&to->k, c, h, d) * bytes, from->k.host + at_of(&from->k, a, h, b) * bytes, (size_t)from->k.shape[3] * bytes);
            memcpy(to->v.host + at_of(&to->v, c, h, d) * bytes, from->v.host + at_of(&from->v, a, h, b) * bytes, (size_t)from->v.shape[3] * bytes);
        }
}

/* Requests of a ragged batch, each by itself and not ragged, with pages and without, heads packed or not: all bits are the same. */
START_TEST(bits_of_a_request)
{
    static const struct { int d, dv, causal, window, softcap; sett_dtype type; } kinds[] = {{64, 64, 0, 0, 0, SETT_BF16}, {128, 128, 1, 0, 0, SETT_BF16}, {192, 128, 0, 1, 0, SETT_BF16},
        {256, 256, 1, 1, 0, SETT_F16}, {96, 96, 1, 0, 1, SETT_BF16}, {128, 128, 1, 0, 0, SETT_F8E4M3FN}};
    problem p = {.requests = 5, .heads = 2, .shared = 1, .window = 90, .cap = 2, .rows = {100, 0, 1, 130, 257}, .keys = {131, 50, 300, 128, 200}};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = kinds[_i].type, .d = kinds[_i].d, .dv = kinds[_i].dv, .causal = kinds[_i].causal, .window = kinds[_i].window, .softcap = kinds[_i].softcap, .ragged = 1, .lse = 1};
    if (!has_wgmma())
        return;
    launch all = make_launch(&p);
    sett_kernel *k = compiled(sett_attention, &p.o);
    launch_by(k, &all);
    sett_kernel_release(k);
    fetch(&all.out), fetch(&all.lse);
    static const struct { int page, ragged, group; } ways[] = {{0, 0, 0}, {16, 0, 0}, {64, 0, 2}, {256, 1, 0}, {0, 1, 2}};
    for (int way = 0; way < 5; way++)
        for (int i = 0; i < p.requests; i++) {
            problem one = p;
            one.requests = 1, one.rows[0] = p.rows[i], one.keys[0] = p.keys[i], one.gap = 16;
            one.o.ragged = ways[way].ragged, one.o.page = ways[way].page, one.o.group = ways[way].group;
            launch x = make_launch(&one);
            copy_request(&all, i, &x, 0);
            send(&x.q), send(&x.k), send(&x.v);
            k = compiled(sett_attention, &one.o);
            launch_by(k, &x);
            sett_kernel_release(k);
            fetch(&x.out), fetch(&x.lse);
            for (int h = 0; h < p.heads; h++)
                for (int m = 0; m < p.rows[i]; m++) {
                    size_t n;
                    const unsigned char *a = row_of(&all, &all.out, i, h, m, &n), *b = row_of(&x, &x.out, 0, h, m, &n);
                    ck_assert_msg(!memcmp(a, b, n), "way %d, request %d, head %d, query %d", way, i, h, m);
                    const float *la = (const float *)all.lse.host + at_of(&all.lse, 0, h, 0) + all.first_row[i] + m, *lb = (const float *)x.lse.host + at_of(&x.lse, 0, h, 0) + m;
                    ck_assert_msg(!memcmp(la, lb, sizeof *la), "way %d, request %d, head %d, query %d: the logarithm", way, i, h, m);
                }
            drop_launch(&x);
        }
    drop_launch(&all);
}
END_TEST

Suite *attention_suite(void)
{
    Suite *s = suite_create("attention");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, random_problems, 0, RANDOM_TESTS);
    tcase_add_loop_test(t, tiles_without_keys, 0, 2);
    tcase_add_loop_test(t, no_keys_at_all, 0, 4);
    tcase_add_loop_test(t, functions_of_the_caller, 0, (int)(sizeof own / sizeof *own));
    tcase_add_loop_test(t, functions_that_cannot_be, 0, (int)(sizeof odd / sizeof *odd));
    tcase_add_test(t, tiles_that_are_chosen);
    tcase_add_test(t, far_rows);
    tcase_add_loop_test(t, numbers_in_memory, 0, (int)(sizeof in_memory / sizeof *in_memory));
    tcase_add_loop_test(t, numbers_of_a_launch, 0, (int)(sizeof number / sizeof *number));
    tcase_add_loop_test(t, bits_of_a_request, 0, 6);
    suite_add_tcase(s, t);
    return s;
}
