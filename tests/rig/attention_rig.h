/* SPDX-License-Identifier: Apache-2.0 */
/* For suites of sett_attention: a problem, what a launch of it has in memory, and whether what it gives is right, by sums of double. */
#ifndef ATTENTION_RIG_H
#define ATTENTION_RIG_H
#include "tests/rig/kernels_rig.h"

static char said[600]; /* of the problem that is checked */
enum { MOST_REQUESTS = 5, ARGS = 20, FAR = 1 << 28 /* no page */ };

/* ---- a problem ---------------------------------------------------------------------------------------------------- */
/* What is called by a row: a request's rows of Q and O, or keys. */
typedef struct problem {
    sett_attention_options o;
    int requests, heads, shared, rows[MOST_REQUESTS], keys[MOST_REQUESTS]; /* alike where they are not ragged or paged */
    int window, prefix[MOST_REQUESTS], gap; /* gap: elements between rows in memory */
    double cap, scale;
    const char *target; /* that the kernel is chosen for; NULL: the device's own */
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
            ((float *)x->scales[i].host)[h] = i == 1 && !random_int(0, 3) ? 0 : (float)(0.5 + 0.25 * random_number()); /* a head of K may be 0 altogether */
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
#endif
